"""Blocks: sixteen rows of a packed table, coded and decoded as one.

Each position of the stored side has a *value symbol*: SELF, CAPTURE, or what stands for one value. A value is
followed by half its depth; whether the depth is odd follows from the side to move and the value's holder.
Contexts are the last position of the row and of the same column before it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.packed.kernels.rans import LOW, RECIPROCAL, RECIPROCAL_BITS, STATE_BYTES, TOTAL, TOTAL_BITS, Model
from tbgen.packed.kernels.rows import Rows, first_slot, row_hints, row_mask
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Codes, Ints, Plies, Word, Words, lowest
from tbgen.retro.kernels.lanes import equal, put

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


OF_VALUE, OF_DEPTH, OF_FUNCTION, OF_BYTE = range(4)
"""What a step tells: a value symbol, a half depth, a function, or a byte of one of these."""


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
    """All that is needed to decode a table, or to encode it."""

    rows: Rows
    of_code: Ints
    """int64 (256,): value symbol of each code that occurs."""
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
    """int64 (5120,): steps of a block in the order in which a decoder meets them; each is
    ``context << 10 | symbol << 2 |`` what it tells."""
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


@kernel
def read_slots(coding: Coding, content: Content, number: int, room: Room) -> bool:
    """Fill a block from the arrays of the stored side, by slot; a depth has CAPTURE_FLAG where the value need
    not be stored. Returns whether the arrays have positions just where the rows have them."""
    rows, block, value, depth = coding.rows, room.block, content.value, content.depth
    shift, agree = rows.row_shift, True
    for at in range(BLOCK_ROWS):
        row = number * BLOCK_ROWS + at
        find_mask(rows, row, at, room)
        mask = block.masks[at]
        first = first_slot(rows, row, room.squares)
        if shift == 0:
            agree &= mask == ~equal(value, first, NONE)
        else:
            for square in range(64):
                agree &= (mask >> np.uint64(square) & ONE != ZERO) == (
                    value[first + (square << shift)] != NONE
                )
        put(block.symbol, at * 64, ALL, NOWHERE)
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            slot, place = first + (square << shift), at * 64 + square
            symbol, half = SELF, int64(depth[slot]) >> 1
            if depth[slot] & CAPTURE_FLAG:
                symbol, half = CAPTURE, 0
            elif depth[slot]:
                symbol = coding.of_code[value[slot]]
            block.symbol[place], block.half[place] = symbol, half
            if len(content.function):
                block.function[place] = content.function[slot]
    return agree


@inlined
def _step(steps: Ints, count: int, kind: int, context: int, symbol: int) -> int:
    steps[count] = context << 10 | symbol << 2 | kind
    return count + 1


@inlined
def _bytes(steps: Ints, count: int, number: int, size: int) -> int:
    """Add the bytes of a number, the least significant first."""
    for byte in range(size):
        count = _step(steps, count, OF_BYTE, 0, (number >> (8 * byte)) & 255)
    return count


@kernel
def value_steps(room: Room) -> int:
    """List the steps of a block's values and depths; return how many."""
    block, steps, above, count = room.block, room.steps, room.above, 0
    above[0, :] = NOWHERE
    for at in range(BLOCK_ROWS):
        left, left_half, mask = NOWHERE, 0, block.masks[at]
        checks, captures = block.checks[at], block.captures[at]
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            symbol, up = int(block.symbol[place]), above[0, square]
            context = value_context(checks, captures, square, left, up)
            count = _step(steps, count, OF_VALUE, context, symbol)
            half = int(block.half[place])
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                count = _step(steps, count, OF_DEPTH, context, min(half, HALF_ESCAPE))
                if half >= HALF_ESCAPE:
                    count = _bytes(steps, count, half, HALF_BYTES)
            left, left_half = symbol, half
            above[0, square], above[1, square] = symbol, half
    return count


@kernel
def function_steps(escape_bytes: int, room: Room) -> int:
    """List the steps of a block's functions; return how many."""
    block, steps, above, count = room.block, room.steps, room.above, 0
    above[2, :] = -1
    for at in range(BLOCK_ROWS):
        left, mask = -1, block.masks[at]
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            function = int(block.function[place])
            context = function_context(int(block.symbol[place]), left, above[2, square])
            count = _step(steps, count, OF_FUNCTION, context, min(function, FUNCTION_ESCAPE))
            if function >= FUNCTION_ESCAPE:
                count = _bytes(steps, count, function, escape_bytes)
            left = function
            above[2, square] = function
    return count


@inlined
def _share(coding: Coding, step: int) -> tuple[int, int]:
    """Where the share of a step begins, and its size."""
    kind, symbol, context = step & 3, step >> 2 & 255, step >> 10
    if kind == OF_BYTE:
        return symbol << 4, 16
    if kind == OF_VALUE:
        return int(coding.values.start[context, symbol]), int(coding.values.size[context, symbol])
    if kind == OF_DEPTH:
        return int(coding.depths.start[context, symbol]), int(coding.depths.size[context, symbol])
    return int(coding.functions.start[context, symbol]), int(coding.functions.size[context, symbol])


@kernel
def write_steps(coding: Coding, steps: Ints, count: int, out: Codes, at: int) -> int:
    """Encode ``count`` steps, whose shares are not 0, to ``out`` from ``at`` on; return the end of what was
    written, beyond which one byte more may have been touched."""
    if count == 0:
        return at
    state = LOW
    end = at
    for number in range(count - 1, -1, -1):
        start, size = _share(coding, steps[number])
        most = size * ((LOW >> TOTAL_BITS) << 8)
        # No more than two bytes have to go; what is written beyond them is written again.
        out[end] = state & 255
        out[end + 1] = state >> 8 & 255
        gone = int64(state >= most) + int64(state >> 8 >= most)
        end += gone
        state >>= 8 * gone
        times = (state * RECIPROCAL[size]) >> RECIPROCAL_BITS
        state += times * (TOTAL - size) + start
    for _ in range(STATE_BYTES):
        out[end] = state & 255
        end += 1
        state >>= 8
    first, last = at, end - 1
    while first < last:
        out[first], out[last] = out[last], out[first]
        first += 1
        last -= 1
    return end
