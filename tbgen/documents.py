"""Documents: the JSON that tbgen writes, each described once by a struct of msgspec.

The fields of a struct are the keys of the document, in their order, and its class says so in JSON Schema. A
field that may be left out is ``UNSET`` then.
"""

from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

__all__ = [
    "UNSET",
    "Count",
    "Document",
    "EndsDocument",
    "Plies",
    "ScoreText",
    "Share",
    "SideName",
    "UnsetType",
]

End = TypeVar("End")

ScoreText: TypeAlias = Annotated[str, Meta(pattern=r"^-?G[0-9]+\.[05]$")]
"""A G-score as it is printed."""
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Plies: TypeAlias = Annotated[int, Meta(ge=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0)]
SideName: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": ["white", "black"]})]


class Document(Struct, forbid_unknown_fields=True):
    """Base of all documents."""

    def plain(self) -> dict[str, Any]:
        """Return the document as dicts, lists, texts and numbers."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class EndsDocument(Document, Generic[End]):
    """Something of both ends of an interval."""

    lower: End
    upper: End
