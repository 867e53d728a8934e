"""What a file holds: name, type, shape and meaning of every attribute and dataset, in the manifest's order.

Whoever writes, reads, describes or documents a file asks here; the tables of docs/format.md are made of the
same entries. What is written for an entry stands in :mod:`tbgen.store.dataset`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np

from tbgen.store.format import BLOCK

U1: Final = np.dtype("u1")
U2: Final = np.dtype("<u2")
I4: Final = np.dtype("<i4")
U4: Final = np.dtype("<u4")
U8: Final = np.dtype("<u8")


class AttributeType(Enum):
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
    kind: AttributeType
    meaning: str
    """For docs/format.md, as Markdown."""
    fact: bool = False
    """Whether the manifest repeats it."""

    def decode(self, stored: Any) -> Any:
        """Return what an attribute as h5py gives it says.

        :raises ValueError, TypeError: if it is of another kind.
        """
        match self.kind:
            case AttributeType.TEXT:
                return bytes(stored).decode()
            case AttributeType.JSON:
                return dict(json.loads(bytes(stored)))
            case AttributeType.PAIR:
                first, second = stored
                return int(first), int(second)
            case AttributeType.INTEGER:
                return int(stored)
            case AttributeType.REAL:
                return float(stored)


@dataclass(frozen=True, slots=True, eq=False)
class DatasetSchema:
    """A dataset, of whichever table."""

    name: str
    types: tuple[np.dtype[Any], ...]
    """Little-endian; of several, narrowest first, the first that holds all values of datasets ``alike``."""
    shape: tuple[int | str, ...]
    """Numbers, and names: axes of one name are of one length in a file."""
    meaning: str
    """For docs/format.md, as Markdown."""
    alike: str = ""
    """Name of the type that it shares with others, if there is a choice of types."""
    whole: bool = False
    """Whether it is small and so is one chunk."""
    sparse: bool = False
    """Whether chunks that are all zero are left out of the file."""
    raw: bool = False
    """Whether it lies in the file as it is: in one piece, without filters."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A kind of file."""

    format: str
    """What the attribute ``format`` says."""
    version: int
    headline: str
    """First line of the manifest. It stays as it is where a new version stores the same content otherwise."""
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


_HEAD: Final = (
    Attribute("format", AttributeType.TEXT, "which kind of file it is: `{format}`"),
    Attribute("format_version", AttributeType.INTEGER, "{version}; a reader must refuse any other"),
)
_TAIL: Final = (
    Attribute("manifest", AttributeType.TEXT, "what the digest is taken of (below)"),
    Attribute("digest", AttributeType.TEXT, "SHA-256 of the manifest"),
    Attribute("complete", AttributeType.INTEGER, "1; set last, a file without it is unfinished"),
)
_DEPTHS: Final = (U1, U2)

PLACEMENTS: Final = DatasetSchema(
    "placements",
    (U1,),
    ("placements", "pawns"),
    "squares of the pawns of every placement, in the order of the attribute `pawns`",
    whole=True,
)
VALUE: Final = DatasetSchema(
    "value", (U1,), (2, "size"), "by side and slot: W(P), or NONE where there is no position"
)
DEPTH: Final = DatasetSchema("depth", _DEPTHS, (2, "size"), "the same: D(P) in plies, or 0", alike="depth")
RUN_MASK: Final = DatasetSchema(
    "accrued/mask",
    (U1,),
    (2, 2, "size / 8"),
    "by holder of A (0 White, 1 Black), side and byte: a bit per slot, set if it has runs",
    sparse=True,
)
RUN_START: Final = DatasetSchema(
    "accrued/start",
    (U8,),
    (2, 2, "blocks"),
    f"by holder, side and block of {BLOCK} slots: number of runs before the block",
)
RUN_RANK: Final = DatasetSchema(
    "accrued/rank", (U1,), ("runs",), "rank of A from which on the run counts, plus 128 in a slot's last run"
)
RUN_VALUE: Final = DatasetSchema(
    "accrued/value", (U1,), ("runs",), "V(P, A); NONE for A itself, FRESH for W(P) and D(P)"
)
RUN_DEPTH: Final = DatasetSchema(
    "accrued/depth", _DEPTHS, ("runs",), "D(P, A) in plies; 0 with NONE and FRESH", alike="run depth"
)
EP_CONFIG: Final = DatasetSchema(
    "ep/config",
    (I4,),
    ("configurations", 2),
    "phase and target square of every possible en passant capture",
    whole=True,
)
EP_VALUE: Final = DatasetSchema(
    "ep/value",
    (U1,),
    ("configurations", "phase_size"),
    "by capture, and slot less `phase * phase_size`: W(P), or NONE where there is no such position",
)
EP_DEPTH: Final = DatasetSchema(
    "ep/depth", _DEPTHS, ("configurations", "phase_size"), "the same: D(P) in plies, or 0", alike="depth"
)

_TABLE_HEADLINE: Final = "tbgen table 2"

_TABLE_ATTRIBUTES: Final = (
    Attribute("rules", AttributeType.TEXT, "`r` or `wg`", fact=True),
    Attribute(
        "material",
        AttributeType.TEXT,
        "canonical name: the side with more men first, of equal ones the stronger in the order K Q R B N P",
        fact=True,
    ),
    Attribute(
        "free_men",
        AttributeType.TEXT,
        "men that are not pawns in the order of the index, White's in upper case: `K k B`",
        fact=True,
    ),
    Attribute("pawns", AttributeType.TEXT, "pawns in the order of a placement: `P p`, or empty", fact=True),
    Attribute("size", AttributeType.INTEGER, "slots per side to move", fact=True),
    Attribute("phase_size", AttributeType.INTEGER, "slots per side to move and pawn placement", fact=True),
    Attribute(
        "positions",
        AttributeType.PAIR,
        "positions with White and with Black to move, up to symmetry, without en passant right",
        fact=True,
    ),
    Attribute(
        "ep_positions", AttributeType.INTEGER, "positions with an en passant right, up to symmetry", fact=True
    ),
    Attribute(
        "accrued",
        AttributeType.INTEGER,
        "1 if values of accrued scores are stored, 0 if they were left out, as always for `wg`",
        fact=True,
    ),
    Attribute(
        "runs", AttributeType.INTEGER, "length of the lists of accrued scores and their values", fact=True
    ),
    Attribute("max_depth", AttributeType.INTEGER, "greatest depth in the file, in plies", fact=True),
    Attribute("tbgen_version", AttributeType.TEXT, "what it was built by"),
    Attribute("build_seconds", AttributeType.REAL, "seconds from its sub-tables to its values, by the clock"),
    Attribute("parameters", AttributeType.JSON, "how it was built"),
)
"""Of a table in either form."""

TABLE: Final = Schema(
    "tbgen table",
    3,
    _TABLE_HEADLINE,
    (*_HEAD, *_TABLE_ATTRIBUTES, *_TAIL),
    (
        *(PLACEMENTS, VALUE, DEPTH),
        *(RUN_MASK, RUN_START, RUN_RANK, RUN_VALUE, RUN_DEPTH),
        *(EP_CONFIG, EP_VALUE, EP_DEPTH),
    ),
)
"""A table in plain form. The version is raised by every change that an older reader would misread."""

FUNCTION_NUMBER: Final = DatasetSchema(
    "accrued/function", (U4,), ("stored slots",), "by slot of the stored side: number of its function, or 0"
)
FUNCTION_START: Final = DatasetSchema(
    "accrued/start", (U4,), ("functions + 1",), "number of entries before each function's first", whole=True
)
FUNCTION_ACCRUED: Final = DatasetSchema(
    "accrued/from", (U1,), ("runs",), "code of the A from which on an entry counts"
)
FUNCTION_VALUE: Final = DatasetSchema(
    "accrued/value", (U1,), ("runs",), "code of V(P, A); NONE for A itself, FRESH for W(P)"
)

COUNT: Final = DatasetSchema(
    "fresh/count", (U8,), (2, 256), "by side and code: number of positions with this W(P)"
)
CODE: Final = DatasetSchema("fresh/code", (U1,), ("symbols",), "code of each value symbol", whole=True)
VALUE_SHARES: Final = DatasetSchema(
    "fresh/value_share",
    (U2,),
    ("value contexts", "symbols"),
    "share of each value symbol in each context",
    whole=True,
)
DEPTH_SHARES: Final = DatasetSchema(
    "fresh/depth_share",
    (U2,),
    ("depth contexts", "halves"),
    "share of each half depth in each context",
    whole=True,
)
FUNCTION_SHARES: Final = DatasetSchema(
    "accrued/share",
    (U2,),
    ("function contexts", "function symbols"),
    "share of each function symbol",
    whole=True,
)
VALUE_LENGTH: Final = DatasetSchema("fresh/length", (U2,), ("coded blocks",), "bytes of each block")
VALUE_CHECK: Final = DatasetSchema("fresh/check", (U2,), ("coded blocks",), "CRC-16 of each block")
VALUE_DATA: Final = DatasetSchema("fresh/data", (U1,), ("value bytes",), "the blocks", raw=True)
FUNCTION_LENGTH: Final = DatasetSchema("accrued/length", (U2,), ("function blocks",), "bytes of each block")
FUNCTION_CHECK: Final = DatasetSchema("accrued/check", (U2,), ("function blocks",), "CRC-16 of each block")
FUNCTION_DATA: Final = DatasetSchema("accrued/data", (U1,), ("function bytes",), "the blocks", raw=True)
EXCEPTION_STEP: Final = DatasetSchema(
    "exception/step",
    (U2,),
    ("steps",),
    "slots between one exception of the derived side and the next (below)",
)
EXCEPTION_VALUE: Final = DatasetSchema("exception/value", (U1,), ("exceptions",), "W(P) there")
EXCEPTION_DEPTH: Final = DatasetSchema(
    "exception/depth", _DEPTHS, ("exceptions",), "D(P) there, in plies", alike="exception depth"
)

PACKED: Final = Schema(
    "tbgen packed table",
    3,
    _TABLE_HEADLINE,
    (
        *_HEAD,
        *_TABLE_ATTRIBUTES,
        Attribute("stored_side", AttributeType.INTEGER, "side to move that is stored, 0 White or 1 Black"),
        Attribute("stored", AttributeType.TEXT, "a line as in the manifest for every dataset of the file"),
        *_TAIL,
    ),
    (
        *(PLACEMENTS, COUNT, CODE, VALUE_SHARES, DEPTH_SHARES, VALUE_LENGTH, VALUE_CHECK, VALUE_DATA),
        *(EXCEPTION_STEP, EXCEPTION_VALUE, EXCEPTION_DEPTH),
        *(FUNCTION_START, FUNCTION_ACCRUED, FUNCTION_VALUE, FUNCTION_SHARES),
        *(FUNCTION_LENGTH, FUNCTION_CHECK, FUNCTION_DATA),
        *(EP_CONFIG, EP_VALUE, EP_DEPTH),
    ),
)
"""A table in packed form: the same content as :data:`CONTENT` describes, in other datasets."""

CONTENT: Final = (
    *(PLACEMENTS, VALUE, DEPTH),
    *(FUNCTION_NUMBER, FUNCTION_START, FUNCTION_ACCRUED, FUNCTION_VALUE),
    *(EP_CONFIG, EP_VALUE, EP_DEPTH),
)
"""What the manifest of a packed table says it holds: W and D of both sides, as in a plain one, functions."""

LAYER_VALUE: Final = DatasetSchema(
    "value", (U1,), (2, "phase_size"), "by side, and slot less `phase * phase_size`: V(P, A)"
)
LAYER_DEPTH: Final = DatasetSchema(
    "depth", _DEPTHS, (2, "phase_size"), "the same: D(P, A) in plies", alike="depth"
)

LAYER: Final = Schema(
    "tbgen layer",
    1,
    "tbgen layer 1",
    (
        *_HEAD,
        Attribute("table", AttributeType.TEXT, "digest of the table to which it belongs", fact=True),
        Attribute("accrued", AttributeType.TEXT, "A, as in the name", fact=True),
        Attribute("phase", AttributeType.INTEGER, "row of `placements`, 0 without pawns", fact=True),
        *_TAIL,
    ),
    (LAYER_VALUE, LAYER_DEPTH),
)
"""A layer: the values of one accrued score in one phase of a table that was built without them."""
