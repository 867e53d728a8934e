"""What a file holds: name, type, shape and meaning of every attribute and dataset, in the order of the manifest.

Whoever writes, reads, describes or documents a file asks here: the tables of docs/format.md are made of the
same entries. A dataset that is added here is written once :mod:`tbgen.store.dataset` says what is in it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np

from tbgen.store.format import BLOCK

U1: Final = np.dtype("u1")
U2: Final = np.dtype("<u2")
I4: Final = np.dtype("<i4")
U8: Final = np.dtype("<u8")


class Kind(Enum):
    """What an attribute is, for a reader of the format."""

    TEXT = "string"
    INTEGER = "integer"
    PAIR = "2 integers"
    REAL = "real"
    JSON = "string (JSON)"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the root group."""

    name: str
    kind: Kind
    meaning: str
    """For docs/format.md, as Markdown."""
    fact: bool = False
    """Whether the manifest repeats it."""

    def decode(self, stored: Any) -> Any:
        """Return what an attribute as h5py gives it says.

        :raises ValueError, TypeError: if it is of another kind.
        """
        match self.kind:
            case Kind.TEXT:
                return bytes(stored).decode()
            case Kind.JSON:
                return dict(json.loads(bytes(stored)))
            case Kind.PAIR:
                first, second = stored
                return int(first), int(second)
            case Kind.INTEGER:
                return int(stored)
            case Kind.REAL:
                return float(stored)


@dataclass(frozen=True, slots=True)
class DatasetSchema:
    """A dataset, of whichever table."""

    name: str
    types: tuple[np.dtype[Any], ...]
    """Of several, narrowest first, the first that holds all values is taken, in all datasets of these
    ``alike``."""
    shape: tuple[int | str, ...]
    """Numbers, and the names of what :class:`Sizes` counts."""
    meaning: str
    """For docs/format.md, as Markdown."""
    alike: str = ""
    """What datasets that share one of several types have in common, if it is not the same in all tables."""
    whole: bool = False
    """Whether it is small and so is one chunk."""
    sparse: bool = False
    """Whether chunks that are all zero are left out of the file."""

    def sized(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape in a table of these sizes."""
        return tuple(axis if isinstance(axis, int) else sizes[axis] for axis in self.shape)


@dataclass(frozen=True, slots=True)
class Schema:
    """A kind of file."""

    format: str
    """What the attribute ``format`` says."""
    version: int
    attributes: tuple[Attribute, ...]
    datasets: tuple[DatasetSchema, ...]

    @property
    def facts(self) -> tuple[str, ...]:
        """Names of the attributes that the manifest repeats, in its order."""
        return tuple(attribute.name for attribute in self.attributes if attribute.fact)

    def decode(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return all attributes of a file.

        :raises KeyError, ValueError, TypeError: if one is missing or of another kind.
        """
        return {attribute.name: attribute.decode(stored[attribute.name]) for attribute in self.attributes}

    def manifest(self, facts: Mapping[str, Any], lines: Sequence[str]) -> str:
        """Return the text of the manifest from its facts and the lines of the datasets (docs/format.md)."""
        head = [f"{self.format} {self.version}"]
        for name in self.facts:
            fact = facts[name]
            head.append(f"{name} {' '.join(map(str, fact)) if isinstance(fact, tuple) else fact}")
        return "".join(f"{line}\n" for line in [*head, *lines])


_DEPTHS: Final = (U1, U2)

_HEAD: Final = (
    Attribute("format", Kind.TEXT, "which kind of file it is: `{format}`"),
    Attribute("format_version", Kind.INTEGER, "{version}; a reader must refuse any other"),
)
_TAIL: Final = (
    Attribute("manifest", Kind.TEXT, "what the digest is taken of (below)"),
    Attribute("digest", Kind.TEXT, "SHA-256 of the manifest"),
    Attribute("complete", Kind.INTEGER, "1; set last, a file without it is unfinished"),
)

TABLE: Final = Schema(
    FORMAT,
    FORMAT_VERSION,
    (
        *_HEAD,
        Attribute("rules", Kind.TEXT, "`r` or `wg`", fact=True),
        Attribute(
            "material",
            Kind.TEXT,
            "canonical name: the side with more men first, of equal ones the stronger in the order K Q R B N P",
            fact=True,
        ),
        Attribute(
            "free_men",
            Kind.TEXT,
            "men that are not pawns in the order of the index, White's in upper case: `K k B`",
            fact=True,
        ),
        Attribute("pawns", Kind.TEXT, "pawns in the order of a placement: `P p`, or empty", fact=True),
        Attribute("size", Kind.INTEGER, "slots per side to move", fact=True),
        Attribute("phase_size", Kind.INTEGER, "slots per side to move and pawn placement", fact=True),
        Attribute(
            "positions",
            Kind.PAIR,
            "positions with White and with Black to move, up to symmetry, without en passant rights",
            fact=True,
        ),
        Attribute(
            "ep_positions", Kind.INTEGER, "positions with an en passant right, up to symmetry", fact=True
        ),
        Attribute(
            "accrued",
            Kind.INTEGER,
            "1 if V(P, A) and D(P, A) are stored, 0 if they were left out, as always for `wg`",
            fact=True,
        ),
        Attribute("runs", Kind.INTEGER, "length of the `accrued` lists", fact=True),
        Attribute("max_depth", Kind.INTEGER, "greatest depth in the file, in plies", fact=True),
        Attribute("tbgen_version", Kind.TEXT, "what it was built by"),
        Attribute("build_seconds", Kind.REAL, "seconds that it took to solve"),
        Attribute("parameters", Kind.JSON, "how it was built"),
        *_TAIL,
    ),
    (
        DatasetSchema(
            "placements",
            (U1,),
            ("placements", "pawns"),
            "squares of the pawns of every placement, in the order of `pawns`",
            whole=True,
        ),
        DatasetSchema("value", (U1,), (2, "size"), "W(P) by side and slot; NONE where there is no position"),
        DatasetSchema("depth", _DEPTHS, (2, "size"), "D(P) in plies, 0 where there is no position", "depth"),
        DatasetSchema(
            "accrued/mask",
            (U1,),
            (2, 2, "size / 8"),
            "by holder of A (0 White, 1 Black), side and byte: which slots have runs, a bit each",
            sparse=True,
        ),
        DatasetSchema(
            "accrued/start",
            (U8,),
            (2, 2, "blocks"),
            f"by holder, side and block of {BLOCK} slots: number of runs before the block",
        ),
        DatasetSchema("accrued/rank", (U1,), ("runs",), "the first rank of A; 128 more on a slot's last run"),
        DatasetSchema(
            "accrued/value", (U1,), ("runs",), "V(P, A) from there on; NONE for A itself, FRESH for W(P)"
        ),
        DatasetSchema(
            "accrued/depth", _DEPTHS, ("runs",), "D(P, A) in plies, 0 with NONE and FRESH", "run depth"
        ),
        DatasetSchema(
            "ep/config",
            (I4,),
            ("configurations", 2),
            "phase and target square of every possible en passant capture",
            whole=True,
        ),
        DatasetSchema(
            "ep/value",
            (U1,),
            ("configurations", "phase_size"),
            "W(P) with that right; NONE where there is no such position",
        ),
        DatasetSchema("ep/depth", _DEPTHS, ("configurations", "phase_size"), "D(P) of the same", "depth"),
    ),
)
"""A table file."""

LAYER: Final = Schema(
    "tbgen layer",
    1,
    (
        *_HEAD,
        Attribute("table", Kind.TEXT, "digest of the table to which it belongs", fact=True),
        Attribute("accrued", Kind.TEXT, "A, as in the name", fact=True),
        Attribute("phase", Kind.INTEGER, "row of `placements`, 0 without pawns", fact=True),
        *_TAIL,
    ),
    (
        DatasetSchema(
            "value", (U1,), (2, "phase_size"), "V(P, A) by side, and slot less `phase * phase_size`"
        ),
        DatasetSchema("depth", _DEPTHS, (2, "phase_size"), "D(P, A) in plies", "depth"),
    ),
)
"""A layer file: one accrued score in one phase of a table that was built without them."""
