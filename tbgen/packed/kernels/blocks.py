"""Blocks: sixteen rows of a packed table, coded and decoded as one.

Each position of the stored side has a *value symbol*: SELF, CAPTURE, or what stands for one value. A value is
followed by half its depth; whether the depth is odd follows from the side to move and the value's holder.
Contexts are the last position of the row and of the same column before it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.packed.kernels.rans import (
    Model,
    Steps,
    write_steps,
)
from tbgen.packed.kernels.rows import MAX_FREE, Rows, first_slot, place_row, row_hints, row_mask
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Codes, Ints, Plies, Words, lowest
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


class Symbols(NamedTuple):
    """What symbols stand for in a table."""

    of_code: Ints
    """int64 (256,): value symbol of each code that occurs."""
    code: Codes
    """uint8 (symbols,): code of each value symbol; that of SELF and CAPTURE means nothing."""
    escape_bytes: int
    """Bytes of a function's number after FUNCTION_ESCAPE."""


class Block(NamedTuple):
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


class Stream(NamedTuple):
    """The coded blocks of one kind."""

    data: Codes
    """uint8 (n,)."""
    start: Ints
    """int64 (ceil(blocks / 64),): where every 64th block begins."""
    length: Plies
    """uint16 (blocks,): bytes of each block."""
    check: Plies
    """uint16 (blocks,): checksum of each block."""


class Scratch(NamedTuple):
    """Working memory of a thread."""

    squares: Ints
    """int64 (5,)."""
    image: Ints
    """int64 (5,)."""
    steps: Steps
    above: Ints
    """int64 (3, 64): symbol, half and function of the last position in each column."""


@jit
def make_block() -> Block:
    """Return room for a block."""
    return Block(
        np.zeros(BLOCK_ROWS, np.uint64),
        np.zeros(BLOCK_ROWS, np.uint64),
        np.zeros(BLOCK_ROWS, np.uint64),
        np.full(BLOCK_SLOTS, NOWHERE, np.uint8),
        np.zeros(BLOCK_SLOTS, np.uint16),
        np.zeros(BLOCK_SLOTS, np.uint32),
    )


@jit
def make_scratch() -> Scratch:
    """Return working memory for one thread."""
    room = MOST_STEPS * BLOCK_SLOTS
    return Scratch(
        np.zeros(MAX_FREE, np.int64),
        np.zeros(MAX_FREE, np.int64),
        Steps(np.zeros(room, np.int64), np.zeros(room, np.int64)),
        np.zeros((3, 64), np.int64),
    )


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
def find_mask(rows: Rows, row: int, at: int, scratch: Scratch, block: Block) -> None:
    """Fill row ``at`` of a block's masks and hints from geometry alone."""
    mask = row_mask(rows, row, scratch.squares, scratch.image)
    block.masks[at] = mask
    if mask:
        block.checks[at], block.captures[at] = row_hints(rows, row, scratch.squares)


@inlined
def value_context(block: Block, at: int, square: int, left: int, up: int) -> int:
    """The context of the value symbol on ``square`` of row ``at``."""
    hints = 2 * int64(block.checks[at] >> np.uint64(square) & ONE)
    hints += int64(block.captures[at] >> np.uint64(square) & ONE)
    return (hints * VALUE_CLASSES + _value_class(left)) * VALUE_CLASSES + _value_class(up)


@kernel
def read_slots(
    rows: Rows, symbols: Symbols, number: int, value: Codes, depth: Plies, scratch: Scratch, block: Block
) -> bool:
    """Fill a block's masks, symbols and halves from the arrays of the stored side, by slot; a depth has
    CAPTURE_FLAG where the value need not be stored. Returns whether the arrays have positions just where the
    rows have them."""
    shift, agree = rows.row_shift, True
    for at in range(BLOCK_ROWS):
        row = number * BLOCK_ROWS + at
        find_mask(rows, row, at, scratch, block)
        mask = block.masks[at]
        first = first_slot(rows, row, scratch.squares)
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
                symbol = symbols.of_code[value[slot]]
            block.symbol[place], block.half[place] = symbol, half
    return agree


@kernel
def read_functions(
    rows: Rows, number: int, function: NDArray[np.uint32], scratch: Scratch, block: Block
) -> None:
    """Fill a block's functions from an array by slot, after ``read_slots``."""
    shift = rows.row_shift
    for at in range(BLOCK_ROWS):
        row, left = number * BLOCK_ROWS + at, block.masks[at]
        if left:
            place_row(rows, row, scratch.squares)
            first = first_slot(rows, row, scratch.squares)
            while left:
                square = lowest(left)
                left &= left - ONE
                block.function[at * 64 + square] = function[first + (square << shift)]


@kernel
def count_values(block: Block, values: Ints, depths: Ints, scratch: Scratch) -> None:
    """Add a block's symbols to counts of shape (contexts, symbols)."""
    above = scratch.above
    above[0, :] = NOWHERE
    for at in range(BLOCK_ROWS):
        left, left_half, mask = NOWHERE, 0, block.masks[at]
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            symbol, up = int(block.symbol[place]), above[0, square]
            values[value_context(block, at, square, left, up), symbol] += 1
            half = int(block.half[place])
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                depths[context, min(half, HALF_ESCAPE)] += 1
            left, left_half = symbol, half
            above[0, square], above[1, square] = symbol, half


@kernel
def count_functions(block: Block, functions: Ints, scratch: Scratch) -> None:
    """Add a block's functions to counts of shape (contexts, symbols)."""
    above = scratch.above
    above[2, :] = -1
    for at in range(BLOCK_ROWS):
        left, mask = -1, block.masks[at]
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            function = int(block.function[place])
            context = function_context(int(block.symbol[place]), left, above[2, square])
            functions[context, min(function, FUNCTION_ESCAPE)] += 1
            left = function
            above[2, square] = function


@inlined
def _step(steps: Steps, count: int, model: Model, context: int, symbol: int) -> int:
    steps.start[count] = model.start[context, symbol]
    steps.size[count] = model.size[context, symbol]
    return count + 1


@inlined
def _bytes(steps: Steps, count: int, number: int, size: int) -> int:
    """Add the bytes of a number, the least significant first."""
    for byte in range(size):
        steps.start[count] = ((number >> (8 * byte)) & 255) << 4
        steps.size[count] = 16
        count += 1
    return count


@kernel
def write_values(block: Block, values: Model, depths: Model, scratch: Scratch, out: Codes, end: int) -> int:
    """Append a block's values and depths to ``out``; return its new end."""
    above, count = scratch.above, 0
    above[0, :] = NOWHERE
    for at in range(BLOCK_ROWS):
        left, left_half, mask = NOWHERE, 0, block.masks[at]
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            symbol, up = int(block.symbol[place]), above[0, square]
            context = value_context(block, at, square, left, up)
            count = _step(scratch.steps, count, values, context, symbol)
            half = int(block.half[place])
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                count = _step(scratch.steps, count, depths, context, min(half, HALF_ESCAPE))
                if half >= HALF_ESCAPE:
                    count = _bytes(scratch.steps, count, half, HALF_BYTES)
            left, left_half = symbol, half
            above[0, square], above[1, square] = symbol, half
    return write_steps(scratch.steps, count, out, end) if count else end


@kernel
def write_functions(
    block: Block, model: Model, escape_bytes: int, scratch: Scratch, out: Codes, end: int
) -> int:
    """Append a block's functions to ``out``; return its new end."""
    above, steps, count = scratch.above, scratch.steps, 0
    above[2, :] = -1
    for at in range(BLOCK_ROWS):
        left, mask = -1, block.masks[at]
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            function = int(block.function[place])
            context = function_context(int(block.symbol[place]), left, above[2, square])
            count = _step(steps, count, model, context, min(function, FUNCTION_ESCAPE))
            if function >= FUNCTION_ESCAPE:
                count = _bytes(steps, count, function, escape_bytes)
            left = function
            above[2, square] = function
    return write_steps(steps, count, out, end) if count else end
