"""Blocks: sixteen rows of a packed table, encoded and decoded as one.

Each position of the stored side has a *value symbol*: SELF, CAPTURE, or what stands for one value. A value is
followed by half its depth; whether the depth is odd follows from the side to move and the value's holder.
Contexts are the last position of the row and of the same column before it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64
from tbgen.compiler.structs import Struct
from tbgen.packed.kernels.rans import Model
from tbgen.packed.kernels.rows import Rows, row_hints, row_mask
from tbgen.retro.kernels.bits import ONE, Codes, Ints, Plies, Word, Words

BLOCK_ROWS = 16
BLOCK_SLOTS = 64 * BLOCK_ROWS

SELF = 0
"""Value symbol: the position's own score at depth 0."""
CAPTURE = 1
"""Value symbol: the best capture says value and depth, and nothing derived rests on it."""
FIRST_VALUE = 2
"""Value symbols from here on stand for values, the frequent ones first."""
NOWHERE = 255
"""In the place of a value symbol: no position."""

VALUE_CLASSES = 32
"""Value symbols as contexts of others: those from 30 on are one, 31 is none."""
VALUE_CONTEXTS = 4 * VALUE_CLASSES * VALUE_CLASSES
"""Whether the side to move is in check, whether it attacks a man, and the two neighbours' symbols."""

_KINDS = 16
"""Value symbols as contexts of what is said of the same position: those from 15 on are one."""
_HALVES = 64
_NEARNESS = 5
_NEIGHBOURS = _HALVES * _NEARNESS + _HALVES + 1
DEPTH_CONTEXTS = _KINDS * _NEIGHBOURS
"""Two neighbours of the same value, by mean and distance of their depths; one, by its depth; none."""

FUNCTION_CLASSES = 10
"""Functions as contexts: those from 8 on are one, 9 is none."""
FUNCTION_CONTEXTS = _KINDS * FUNCTION_CLASSES * FUNCTION_CLASSES
FUNCTION_ESCAPE = 255
"""Function symbol: the number follows in bytes."""

HALF_ESCAPE = 255
"""Symbol of a half depth: it follows in bytes."""
HALF_BYTES = 2
MOST_STEPS = 5
"""Most steps that a position takes: a symbol and a half depth with its bytes, or a function with its four."""

CAPTURE_FLAG = 0x8000
"""Added to the depth of a position whose value symbol is CAPTURE."""


@dataclass(frozen=True, eq=False)
class Stream(Struct):
    """The coded blocks of one kind."""

    data: Codes
    """uint8 (n,)."""
    start: Ints
    """int64 (ceil(blocks / 64),): where every 64th block begins."""
    length: Plies
    """uint16 (blocks,): bytes of each block."""
    check: Plies
    """uint16 (blocks,): checksum of each block."""


@dataclass(frozen=True, eq=False)
class Coding(Struct):
    """All that is needed to decode a table."""

    rows: Rows
    code: Codes
    """uint8 (symbols,): code of each value symbol; that of SELF and CAPTURE means nothing."""
    escape_bytes: int
    """Bytes of a function's number after FUNCTION_ESCAPE."""
    values: Model
    depths: Model
    functions: Model
    value_stream: Stream
    function_stream: Stream
    entry_start: Ints
    """int64 (functions + 1,): where the entries of each function begin."""
    entry_accrued: Codes
    """uint8 (entries,): code of A."""
    entry_value: Codes
    """uint8 (entries,): code of V(P, A), NONE or FRESH."""


@dataclass(frozen=True, eq=False)
class Content(Struct):
    """What is packed of a table: its stored side, by slot."""

    value: Codes
    """uint8 (size,)."""
    depth: Plies
    """uint16 (size,): plies, with CAPTURE_FLAG where the value need not be stored."""
    function: NDArray[np.uint32]
    """uint32 (size,): functions, or empty if there are none."""


@dataclass(frozen=True, eq=False)
class RowBlock(Struct):
    """A decoded block; everything by slot, 64 to a row."""

    masks: Words
    """uint64 (16,): positions of each row."""
    checks: Words
    """uint64 (16,): those in which the side to move is in check."""
    captures: Words
    """uint64 (16,): those in which it attacks a man."""
    symbol: Codes
    """uint8 (1024,): value symbols, NOWHERE where there is no position."""
    half: Plies
    """uint16 (1024,): half the depth, of those with a value."""
    function: NDArray[np.uint32]
    """uint32 (1024,): functions."""


@dataclass(frozen=True, eq=False)
class Room(Struct):
    """Working memory of one thread."""

    squares: Ints
    """int64 (5,): men of the row or the position in hand."""
    child: Ints
    """int64 (5,): men after a move."""
    image: Ints
    """int64 (5,): men of an image."""
    moves: Ints
    """int64 (MAX_MOVES,): the position's moves."""
    replies: Ints
    """int64 (MAX_MOVES,): those of a position after a move."""
    steps: Ints
    """int64 (5120,): what a decoder meets of a block in this order, as places of ``Encoding.start``."""
    above: Ints
    """int64 (3, 64): symbol, half and function of the last position in each column."""
    block: RowBlock


@inlined
def _value_class(symbol: int) -> int:
    return min(symbol, VALUE_CLASSES - 2) if symbol < NOWHERE else VALUE_CLASSES - 1


@inlined
def depth_context(symbol: int, left: int, left_half: int, up: int, up_half: int) -> int:
    """The context of a half depth."""
    context = _HALVES * (_NEARNESS + 1)
    if left == symbol and up == symbol:
        mean = min((left_half + up_half + 1) >> 1, _HALVES - 1)
        apart = abs(left_half - up_half)
        nearness = apart if apart < 3 else (3 if apart < 6 else 4)
        context = mean * _NEARNESS + nearness
    elif left == symbol:
        context = _HALVES * _NEARNESS + min(left_half, _HALVES - 1)
    elif up == symbol:
        context = _HALVES * _NEARNESS + min(up_half, _HALVES - 1)
    return min(symbol, _KINDS - 1) * _NEIGHBOURS + context


@inlined
def _function_class(function: int) -> int:
    return min(function, FUNCTION_CLASSES - 2) if function >= 0 else FUNCTION_CLASSES - 1


@inlined
def function_context(symbol: int, left: int, up: int) -> int:
    """The context of a function; -1 stands for no neighbour."""
    at = min(symbol, _KINDS - 1) * FUNCTION_CLASSES + _function_class(left)
    return at * FUNCTION_CLASSES + _function_class(up)


@inlined
def find_mask(rows: Rows, row: int, at: int, room: Room) -> None:
    """Fill row ``at`` of a block's masks and hints from geometry alone."""
    block = room.block
    mask = row_mask(rows, row, room.squares, room.image)
    block.masks[at] = mask
    if mask:
        block.checks[at], block.captures[at] = row_hints(rows, row, room.squares)


@inlined
def value_context(checks: Word, captures: Word, square: int, left: int, up: int) -> int:
    """The context of the value symbol on a square of a row with these hints."""
    hints = 2 * int64(checks >> np.uint64(square) & ONE) + int64(captures >> np.uint64(square) & ONE)
    return (hints * VALUE_CLASSES + _value_class(left)) * VALUE_CLASSES + _value_class(up)
