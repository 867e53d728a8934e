"""What the parts of a report are made of: structs that become JSON and are read from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import UnionType
from typing import Any, Final, Generic, Self, TypeVar, Union, get_args, get_origin

import msgspec

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.documents import Document

T = TypeVar("T")


class ReportPart(Document, rename={"variant": "rules"}):
    """Base of the parts of a report: documents in which scores and materials, also as keys, become text."""

    def plain(self, *names: str) -> dict[str, Any]:
        """Return the part, or some fields of it, as dicts, lists, texts and numbers."""
        fields = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        return {name: _plain(getattr(self, field)) for name, field in fields if not names or name in names}

    @classmethod
    def read(cls, found: Any) -> Self:
        """Return a part from what :meth:`plain` has made of it; fields with a default may be missing.

        :raises KeyError: if another field is missing.
        :raises ValidationError: if something is of another type than its field; where the types are those of
            containers, AttributeError or TypeError.
        :raises UsageError: if a score or material means nothing.
        """
        part: Self = _reader(cls)(found)
        return part


class Sides(ReportPart, Generic[T]):
    """The same of both sides: of those to move, or of the holders of a score."""

    white: T
    black: T

    def __iter__(self) -> Iterator[T]:
        return iter((self.white, self.black))

    def __getitem__(self, side: int | str) -> T:
        """Return what is of White (0) or of Black (1), or of a side by its name."""
        found: T = getattr(self, side if isinstance(side, str) else SIDES[side])
        return found

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield the name of each side, and what is of it."""
        return zip(SIDES, self, strict=True)


SIDES: Final = Sides.__struct_fields__
"""Names of the sides, White's first."""


def _plain(found: Any) -> Any:
    if isinstance(found, dict):
        return {str(key): _plain(value) for key, value in found.items()}
    if isinstance(found, tuple):
        return [_plain(value) for value in found]
    if isinstance(found, ReportPart):
        return found.plain()
    return str(found) if isinstance(found, GScore | Material) else found


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return what reads a type: the inverse of :func:`_plain`."""
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType, tuple, Mapping):
        first, second = map(_reader, get_args(kind))
        if origin in (Union, UnionType):
            return lambda found: None if found is None else first(found)
        if origin is tuple:
            return lambda found: tuple(map(first, found))
        return lambda found: {first(key): second(value) for key, value in found.items()}
    if isinstance(origin, type) and issubclass(origin, ReportPart):
        fields = msgspec.structs.fields(kind)
        readers = [(field, _reader(field.type)) for field in fields]
        return lambda found: origin(
            **{
                field.name: read(found[field.encode_name])
                for field, read in readers
                if field.required or field.encode_name in found
            }
        )
    texts: dict[Any, Callable[[str], Any]] = {GScore: cache(GScore), Material: Material.parse}
    return texts.get(kind) or partial(msgspec.convert, type=kind, strict=False)
