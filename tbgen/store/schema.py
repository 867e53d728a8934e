"""The schemas of files (name, type and shape of all attributes and datasets), and the text of the manifest.

Writers and readers follow these schemas. docs/format.md contains the docstrings of attributes and datasets,
and explains the notation. :mod:`tbgen.store.dataset` collects the data to write.
"""

import hashlib
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tbgen.system.memory import unload

U1: Final = np.dtype("u1")
U2: Final = np.dtype("<u2")
I4: Final = np.dtype("<i4")
U4: Final = np.dtype("<u4")
U8: Final = np.dtype("<u8")

_LONG_STEP: Final = 65535
"""A step of this size skips this number of slots and does not end at a listed slot. Another step follows
it."""
_DTYPES: Final = (U1, U2)
_HEADLINE: Final = "tbgen table 2"
_ACCRUED_LINE_PREFIXES: Final = ("accrued", "runs ", "max_depth ")
"""Prefixes of the manifest lines that depend on whether a table stores values for accrued scores."""
_PIECE_ELEMENTS: Final = 1 << 18
"""Number of elements of a dataset to hash at once."""


class AttributeType(Enum):
    """The type of an attribute, as named in docs/format.md."""

    TEXT = "string"
    INTEGER = "integer"
    PAIR = "2 integers"
    REAL = "real"
    JSON = "string (JSON)"


def _decode_text(stored: Any) -> str:
    if not isinstance(stored, bytes):
        raise TypeError(f"text is stored as bytes, not as {type(stored)}")
    return stored.decode()


def _decode_pair(stored: Any) -> tuple[int, int]:
    white, black = stored
    return operator.index(white), operator.index(black)


def _decode_json(stored: Any) -> dict[str, Any]:
    try:
        return dict(json.loads(_decode_text(stored)))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


_DECODERS: Final[Mapping[AttributeType, Callable[[Any], Any]]] = {
    AttributeType.TEXT: _decode_text,
    AttributeType.INTEGER: operator.index,
    AttributeType.PAIR: _decode_pair,
    AttributeType.REAL: float,
    AttributeType.JSON: _decode_json,
}
"""Maps each type to the function that converts what h5py returns for an attribute to its value."""


class AttributeSchema(NamedTuple):
    """The schema of an attribute."""

    name: str
    type: AttributeType = AttributeType.TEXT


class DatasetSchema(Struct, frozen=True, eq=False):
    """The schema of a dataset."""

    name: str
    types: tuple[np.dtype[Any], ...]
    """The possible types, little-endian, narrowest first. A file uses the first type that fits all datasets
    of the ``type_group``."""
    shape: tuple[int | str, ...]
    """Length of each axis, as a number or a name. Axes of the same name have the same length in a file."""
    type_group: str = ""
    """Name of the group of datasets that have the same type in a file; empty if only one type is possible."""
    single_chunk: bool = False
    """Whether the dataset is stored as one chunk, because it is small."""
    sparse: bool = False
    """Whether chunks that contain only zeros are omitted from the file."""
    raw: bool = False
    """Whether the dataset is stored contiguously, without chunks and filters."""


FORMAT: Final = AttributeSchema("format")
"""Kind of file."""
FORMAT_VERSION: Final = AttributeSchema("format_version", AttributeType.INTEGER)
"""Version; a reader must refuse any other."""
MANIFEST: Final = AttributeSchema("manifest")
"""The text whose SHA-256 is the digest."""
DIGEST: Final = AttributeSchema("digest")
"""SHA-256 of the manifest."""
COMPLETE: Final = AttributeSchema("complete", AttributeType.INTEGER)
"""1; written last, so a file without it is unfinished."""


def _types(*attributes: AttributeSchema) -> dict[str, AttributeType]:
    return dict(attributes)


class Schema(Struct, frozen=True):
    """The schema of a kind of file."""

    format: str
    """Value of the attribute ``format``."""
    version: int
    """Version of the format. It increases with every change that an older reader would misread."""
    headline: str
    """First line of the manifest. It stays the same in a new version that stores the same content
    differently."""
    manifest_attributes: dict[str, AttributeType]
    """The attributes that the manifest repeats, in the order of the manifest."""
    other_attributes: dict[str, AttributeType]
    """The other attributes of this kind of file, without those that all kinds of files have."""
    datasets: tuple[DatasetSchema, ...]

    @property
    def attributes(self) -> dict[str, AttributeType]:
        """All attributes of the root group; ``complete`` is written last."""
        tail = _types(MANIFEST, DIGEST, COMPLETE)
        return _types(FORMAT, FORMAT_VERSION) | self.manifest_attributes | self.other_attributes | tail

    def decode(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all attributes of a file.

        :raises KeyError, ValueError, TypeError: if an attribute is missing or has another type.
        """
        return {name: _DECODERS[kind](stored[name]) for name, kind in self.attributes.items()}


PLACEMENTS: Final = DatasetSchema("placements", (U1,), ("placements", "pawns"), single_chunk=True)
"""Squares of the pawns of every placement, in the order of the attribute ``pawns``."""
VALUE: Final = DatasetSchema("value", (U1,), (2, "size"))
"""By side and slot: W(P), or NONE where there is no position."""
DEPTH: Final = DatasetSchema("depth", _DTYPES, (2, "size"), type_group="depth")
"""By side and slot: D(P) in plies, or 0."""
RUN_MASK: Final = DatasetSchema("accrued/mask", (U1,), (2, 2, "size / 8"), sparse=True)
"""By holder of A (0 White, 1 Black), side and byte: a bit per slot, set if it has runs."""
RUN_START: Final = DatasetSchema("accrued/start", (U8,), (2, 2, "blocks"))
"""By holder, side and block of slots: number of runs before the block."""
RUN_RANK: Final = DatasetSchema("accrued/rank", (U1,), ("runs",))
"""Rank of A at which the run begins, plus 128 in a slot's last run."""
RUN_VALUE: Final = DatasetSchema("accrued/value", (U1,), ("runs",))
"""V(P, A); NONE for A itself, FRESH for W(P) and D(P)."""
RUN_DEPTH: Final = DatasetSchema("accrued/depth", _DTYPES, ("runs",), type_group="run depth")
"""D(P, A) in plies; 0 with NONE and FRESH."""
EP_CONFIG: Final = DatasetSchema("ep/config", (I4,), ("configurations", 2), single_chunk=True)
"""Phase and target square of every possible en passant capture."""
EP_VALUE: Final = DatasetSchema("ep/value", (U1,), ("configurations", "phase_size"))
"""By capture, and slot less ``phase * phase_size``: W(P), or NONE where there is no such position."""
EP_DEPTH: Final = DatasetSchema("ep/depth", _DTYPES, ("configurations", "phase_size"), type_group="depth")
"""By capture and slot, likewise: D(P) in plies, or 0."""

RULES: Final = AttributeSchema("rules")
"""``r`` or ``wg``."""
MATERIAL: Final = AttributeSchema("material")
"""Canonical name: the side with more men first or, if both have equally many, the stronger one in the order
K Q R B N P; described men as in docs/described.md#materials-and-positions."""
FREE_MEN: Final = AttributeSchema("free_men")
"""Men that are not pawns in the order of the index, White's in upper case: ``K k B``."""
PAWNS: Final = AttributeSchema("pawns")
"""Pawns in the order of a placement: ``P p``, or empty."""
SIZE: Final = AttributeSchema("size", AttributeType.INTEGER)
"""Slots per side to move."""
PHASE_SIZE: Final = AttributeSchema("phase_size", AttributeType.INTEGER)
"""Slots per side to move and pawn placement."""
POSITIONS: Final = AttributeSchema("positions", AttributeType.PAIR)
"""Positions with White and with Black to move, up to symmetry, without en passant right."""
EP_POSITIONS: Final = AttributeSchema("ep_positions", AttributeType.INTEGER)
"""Positions with an en passant right, up to symmetry."""
ACCRUED: Final = AttributeSchema("accrued", AttributeType.INTEGER)
"""1 if values of accrued scores are stored, else 0."""
RUNS: Final = AttributeSchema("runs", AttributeType.INTEGER)
"""Number of runs; in a packed table, of entries of all functions."""
MAX_DEPTH: Final = AttributeSchema("max_depth", AttributeType.INTEGER)
"""Greatest depth in the file, in plies; in a packed table, the greatest D(P)."""
TBGEN_VERSION: Final = AttributeSchema("tbgen_version")
"""Version of tbgen that built it."""
BUILD_SECONDS: Final = AttributeSchema("build_seconds", AttributeType.REAL)
"""Wall time of the build in seconds, from opening the sub-tables to the last computed value."""
PARAMETERS: Final = AttributeSchema("parameters", AttributeType.JSON)
"""Settings of the build."""
STORED_SIDE: Final = AttributeSchema("stored_side", AttributeType.INTEGER)
"""Side to move that is stored: 0 White, 1 Black."""
STORED: Final = AttributeSchema("stored")
"""A line as in the manifest for each dataset of the file, in their order."""

_MANIFEST_ATTRIBUTES: Final = _types(
    *(RULES, MATERIAL, FREE_MEN, PAWNS, SIZE, PHASE_SIZE, POSITIONS, EP_POSITIONS, ACCRUED, RUNS, MAX_DEPTH)
)
_OTHER_ATTRIBUTES: Final = _types(TBGEN_VERSION, BUILD_SECONDS, PARAMETERS)
"""``Schema.other_attributes`` that tables of both forms have."""

TABLE: Final = Schema(
    "tbgen table",
    3,
    _HEADLINE,
    _MANIFEST_ATTRIBUTES,
    _OTHER_ATTRIBUTES,
    (
        *(PLACEMENTS, VALUE, DEPTH),
        *(RUN_MASK, RUN_START, RUN_RANK, RUN_VALUE, RUN_DEPTH),
        *(EP_CONFIG, EP_VALUE, EP_DEPTH),
    ),
)
"""A table in plain form."""

FUNCTION_NUMBER: Final = DatasetSchema("accrued/function", (U4,), ("stored slots",))
"""By slot of the stored side: number of its function, or 0."""
FUNCTION_START: Final = DatasetSchema("accrued/start", (U4,), ("functions + 1",), single_chunk=True)
"""Number of entries that precede the first entry of each function."""
FUNCTION_ACCRUED: Final = DatasetSchema("accrued/from", (U1,), ("runs",))
"""Code of the A at which an entry begins."""
FUNCTION_VALUE: Final = DatasetSchema("accrued/value", (U1,), ("runs",))
"""Code of V(P, A); NONE for A itself, FRESH for W(P)."""

COUNT: Final = DatasetSchema("fresh/count", (U8,), (2, 256))
"""By side and code: number of positions with this W(P)."""
CODE: Final = DatasetSchema("fresh/code", (U1,), ("symbols",), single_chunk=True)
"""Code of each value symbol."""


class ModelSchema(NamedTuple):
    """The schemas of the datasets with the shares of one kind of symbols."""

    step: DatasetSchema
    """Number of contexts between one context with shares of its own and the next."""
    symbols: DatasetSchema
    """Number of symbols of each context with shares of its own."""
    symbol: DatasetSchema
    """The symbols of the contexts with shares of their own."""
    share: DatasetSchema
    """The share of each symbol."""


def _model_schema(kind: str) -> ModelSchema:
    def schema(part: str, dtype: np.dtype[Any], axis: str) -> DatasetSchema:
        return DatasetSchema(f"{kind}/{part}", (dtype,), (f"{kind} {axis}",), single_chunk=True)

    return ModelSchema(
        schema("step", U2, "steps"),
        schema("symbols", U2, "contexts"),
        schema("symbol", U1, "shares"),
        schema("share", U2, "shares"),
    )


VALUE_MODEL: Final = _model_schema("value")
DEPTH_MODEL: Final = _model_schema("depth")
FUNCTION_MODEL: Final = _model_schema("function")
BLOCK_VALUE_LENGTH: Final = DatasetSchema("block/value_length", (U2,), ("coded blocks",))
"""Number of bytes of the value symbols of each block."""
BLOCK_DEPTH_LENGTH: Final = DatasetSchema("block/depth_length", (U2,), ("coded blocks",))
"""Number of bytes of the half depths of each block."""
BLOCK_FUNCTION_LENGTH: Final = DatasetSchema("block/function_length", (U2,), ("function blocks",))
"""Number of bytes of the functions of each block."""
BLOCK_CHECK: Final = DatasetSchema("block/check", (U2,), ("coded blocks",))
"""CRC-16 of each block."""
BLOCK_DATA: Final = DatasetSchema("block/data", (U1,), ("block bytes",), raw=True)
"""The blocks."""
EXCEPTION_STEP: Final = DatasetSchema("exception/step", (U2,), ("steps",))
"""Number of slots between one exception of the derived side and the next."""
EXCEPTION_VALUE: Final = DatasetSchema("exception/value", (U1,), ("exceptions",))
"""W(P) of each exception."""
EXCEPTION_DEPTH: Final = DatasetSchema(
    "exception/depth", _DTYPES, ("exceptions",), type_group="exception depth"
)
"""D(P) of each exception, in plies."""
PACKED: Final = Schema(
    "tbgen packed table",
    5,
    _HEADLINE,
    _MANIFEST_ATTRIBUTES,
    _OTHER_ATTRIBUTES | _types(STORED_SIDE, STORED),
    (
        *(PLACEMENTS, COUNT, CODE, *VALUE_MODEL, *DEPTH_MODEL, *FUNCTION_MODEL),
        *(BLOCK_VALUE_LENGTH, BLOCK_DEPTH_LENGTH, BLOCK_FUNCTION_LENGTH, BLOCK_CHECK, BLOCK_DATA),
        *(EXCEPTION_STEP, EXCEPTION_VALUE, EXCEPTION_DEPTH),
        *(FUNCTION_START, FUNCTION_ACCRUED, FUNCTION_VALUE),
        *(EP_CONFIG, EP_VALUE, EP_DEPTH),
    ),
)
"""A table in packed form. Its datasets store the content of :data:`CONTENT` in another way."""

CONTENT: Final = (
    *(PLACEMENTS, VALUE, DEPTH),
    *(FUNCTION_NUMBER, FUNCTION_START, FUNCTION_ACCRUED, FUNCTION_VALUE),
    *(EP_CONFIG, EP_VALUE, EP_DEPTH),
)
"""The datasets that the manifest of a packed table describes: W and D for both sides to move, as in a plain
table, and functions of accrued scores."""

LAYER_TABLE: Final = AttributeSchema("table")
"""Digest of the table that the layer belongs to."""
LAYER_ACCRUED: Final = AttributeSchema("accrued")
"""A, as in the name."""
LAYER_PHASE: Final = AttributeSchema("phase", AttributeType.INTEGER)
"""Row of ``placements``, 0 without pawns."""
LAYER_VALUE: Final = DatasetSchema("value", (U1,), (2, "phase_size"))
"""By side, and slot less ``phase * phase_size``: V(P, A)."""
LAYER_DEPTH: Final = DatasetSchema("depth", _DTYPES, (2, "phase_size"), type_group="depth")
"""By side and slot, likewise: D(P, A) in plies."""

LAYER: Final = Schema(
    "tbgen layer",
    1,
    "tbgen layer 1",
    _types(LAYER_TABLE, LAYER_ACCRUED, LAYER_PHASE),
    {},
    (LAYER_VALUE, LAYER_DEPTH),
)
"""A layer: the values and depths for one accrued score in one phase of a table that does not store them."""


class Manifest(Struct, frozen=True):
    """A text with one line for each fact and each dataset. Tables with equal manifests have equal
    contents."""

    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def fresh(self) -> str:
        """SHA-256 of the lines that do not depend on whether values for accrued scores are stored."""
        fresh_lines = [line for line in self.lines if not line.startswith(_ACCRUED_LINE_PREFIXES)]
        return hashlib.sha256("".join(f"{line}\n" for line in fresh_lines).encode()).hexdigest()

    @property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.splitlines()

    def first_difference(self, other: "Manifest") -> str:
        """Return the name of the first fact or dataset in which two manifests differ.

        The result is "manifest" if they differ only in additional lines, and empty if the manifests are
        equal.
        """
        own_lines, other_lines = self.lines, other.lines
        for line, other_line in zip(own_lines, other_lines, strict=False):
            if line != other_line:
                return line.split(" ")[0]
        return "" if len(own_lines) == len(other_lines) else "manifest"


def manifest_of(schema: Schema, facts: Mapping[str, Any], lines: Iterable[str]) -> Manifest:
    """Return the manifest of a file.

    :param facts: the values of ``schema.manifest_attributes``, by name.
    :param lines: the lines of the datasets.
    """
    head = [schema.headline]
    for name in schema.manifest_attributes:
        fact = facts[name]
        head.append(f"{name} {' '.join(map(str, fact)) if isinstance(fact, tuple) else fact}")
    return Manifest("".join(f"{line}\n" for line in [*head, *lines]))


def manifest_line(
    name: str, dtype: np.dtype[Any], shape: Sequence[int], pieces: Iterable[bytes | memoryview]
) -> str:
    """Return the line of a dataset in the manifest: its name, type and shape, and the SHA-256 of its data.

    :param pieces: the data in C order, little-endian.
    """
    state = hashlib.sha256()
    for piece in pieces:
        state.update(piece)
    return f"{name} {dtype.name} {'x'.join(map(str, shape))} {state.hexdigest()}"


def pieces_of(data: Any, dtype: np.dtype[Any]) -> Iterator[memoryview]:
    """Yield a one-dimensional array or dataset in pieces, converted to ``dtype``.

    Pieces of a large mapped file are unloaded after their use.
    """
    for start in range(0, len(data), _PIECE_ELEMENTS):
        piece = data[start : start + _PIECE_ELEMENTS]
        yield np.ascontiguousarray(piece, dtype).data
        unload(piece)


def slots_in(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the slots of a set in which bit ``b`` of word ``w`` stands for slot ``64 * w + b``.

    >>> slots_in(np.array([5, 0, 1], np.uint64))
    array([  0,   2, 128])
    """
    non_empty = np.flatnonzero(words)
    bits = np.unpackbits(words[non_empty].view(np.uint8), bitorder="little").reshape(-1, 64)
    word, bit = np.nonzero(bits)
    return non_empty[word] * 64 + bit


def steps_of(slots: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Return the steps between ascending slots. A step is the number of slots between two successive slots.

    A gap of 65535 or more slots is stored as several steps.

    >>> steps_of(np.array([0, 1, 5, 70000]))
    array([    0,     0,     3, 65535,  4459], dtype=uint16)
    """
    gaps = np.diff(slots, prepend=-1) - 1
    long_steps = gaps // _LONG_STEP
    steps = np.full(len(slots) + int(long_steps.sum()), _LONG_STEP, np.uint16)
    steps[np.arange(len(slots)) + np.cumsum(long_steps)] = gaps % _LONG_STEP
    return steps


def slots_of(steps: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Return the slots with these steps between them; the inverse of :func:`steps_of`.

    >>> slots_of(steps_of(np.array([0, 1, 5, 70000])))
    array([    0,     1,     5, 70000])
    """
    ends = np.cumsum(steps.astype(np.int64) + (steps != _LONG_STEP)) - 1
    return np.asarray(ends[steps != _LONG_STEP], np.int64)
