"""Blocks of rows of a packed table. Each block is coded with rANS, and decoded only as far as needed.

Each position of the stored side has a *value symbol*: SELF, CAPTURE, or the symbol of an explicit value.
After the symbol of an explicit value, half the depth is coded. Whether the depth is odd is determined by the
side to move and the holder of the value. The *function* of a position gives V(P, A) for each accrued score A.

The context of a symbol includes the symbols of *neighbours*, which are decoded earlier: the previous position
in the row (left), the previous position in the same column (up), and the upper neighbour of the left one
(corner). Contexts form trees: each level divides a context of the level before into ``n`` contexts. A context
without shares of its own has those of its parent. The last level divides by the *king class*, which follows
from the squares of the kings and pawns.

The entropy coder is rANS with static frequencies, byte by byte (asymmetric numeral systems, Jarek Duda,
arXiv:1311.2540). The *share* of a symbol is its scaled frequency in a context: the shares of a context sum to
``TOTAL``. Each symbol has an *interval* of the numbers below ``TOTAL``, which is as long as its share. An
encoder starts with the state 0 and encodes the symbols backwards, so a decoder ends with the state 0. The
state is below ``256 * LOW``, and not below ``LOW`` while bytes of it have been written or remain to be read.
Value symbols, half depths and functions have states and bytes of their own, so a processor can decode a half
depth and the next value symbol at the same time. Each block has a checksum.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from tbgen.compiler.jit import inlined, int64, intrinsic, kernel
from tbgen.compiler.vectors import WORD, LaneCall, code_generator
from tbgen.moves.kernels.words import ALL, ONE, Word, lowest, put
from tbgen.store.checksum import CRC_OF_BYTE
from tbgen.tables.kernels.rows import king_class, kings_of, row_hints, row_mask
from tbgen.tables.structs import (
    CORNER_CLASSES,
    CORNER_FUNCTION_CLASSES,
    FIRST_SYMBOL,
    FIRST_VALUE,
    FROM_CORNER,
    FROM_NONE,
    FROM_ONE,
    FUNCTION_CLASSES,
    FUNCTION_ESCAPE,
    HALF_CLASSES,
    HALF_DEPTH_BYTES,
    HALF_ESCAPE,
    HIGH_BYTE_CONTEXT,
    LINE_BYTES,
    LINE_EDGES,
    LINE_WORDS,
    NOWHERE,
    SAME_AS_LEFT,
    SAME_AS_UP,
    SEARCH_WIDTH,
    SYMBOL_CLASSES,
    TOTAL,
    TOTAL_BITS,
    VALUE_CLASSES,
    Buffers,
    Bytes,
    Coding,
    Model,
    Rows,
    Stream,
)

LOW = 1 << 16
"""Smallest normalized state."""
RECIPROCAL_BITS = 36
RECIPROCAL = np.array([0, *(-(-(1 << RECIPROCAL_BITS) // share) for share in range(1, TOTAL + 1))], np.int64)
"""int64 (TOTAL + 1,): for each share, 2**36 / share, rounded up.

A state has 24 bits. The state times this number, shifted right by 36 bits, is the state divided by the share,
rounded down. The rounding error of the reciprocal is too small to change the result."""

Neighbour = tuple[int, int]
"""The value symbol and the half depth of a neighbour; NOWHERE and any number if there is none."""

NO_FUNCTION = -1
"""Replaces the function of a neighbour that does not exist."""


@intrinsic
def _count_at_most(typing_context: Any, array: Any, first: Any, most: Any) -> Any:
    """Number of elements not above ``most`` among ``SEARCH_WIDTH`` elements of an array from ``first`` on."""

    def generate(call: LaneCall) -> Any:
        counted = call.builder.ctpop(call.compare("<=", call.load(0), call.broadcast(2, 0)))
        return call.builder.zext(counted, WORD)

    return types.int64(array, types.int64, types.int64), code_generator(generate, SEARCH_WIDTH)


@intrinsic
def _find_equal(typing_context: Any, array: Any, first: Any, number: Any) -> Any:
    """Place of the first element equal to ``number`` among ``SEARCH_WIDTH`` elements of an array from
    ``first`` on; ``SEARCH_WIDTH`` if there is none."""

    def generate(call: LaneCall) -> Any:
        equal = call.compare("==", call.load(0), call.broadcast(2, 0))
        return call.builder.zext(call.builder.cttz(equal, ir.IntType(1)(0)), WORD)

    return types.int64(array, types.int64, types.int64), code_generator(generate, SEARCH_WIDTH)


@inlined
def first_line(model: Model, context: int, kings: int) -> int:
    """The first line of a context of the last level but one, refined by a king class."""
    tree_node = int64(model.tree_node[context])
    # Both are computed, because a branch would be mispredicted.
    divided = int64(model.first_line[kings * model.divided + min(tree_node, model.divided - 1)])
    return divided if tree_node < model.divided else tree_node - model.divided


@inlined
def find_symbol(model: Model, line: int, state: int) -> tuple[int, int, int]:
    """The first symbol of a state in the context with this first line, and the start and the size of its
    interval."""
    remainder = state & (TOTAL - 1)
    column: int = _count_at_most(model.edge, line * LINE_EDGES + 1, remainder)
    while column == SEARCH_WIDTH:
        line = int64(model.next_line[line * LINE_WORDS + LINE_WORDS - 1])
        column = _count_at_most(model.edge, line * LINE_EDGES + 1, remainder)
    return _interval(model, line, column)


@inlined
def interval_of(model: Model, line: int, symbol: int) -> tuple[int, int, int]:
    """A symbol that occurs in the context with this first line, and the start and the size of its
    interval."""
    column: int = _find_equal(model.symbol, line * LINE_BYTES + FIRST_SYMBOL, symbol)
    while column == SEARCH_WIDTH:
        line = int64(model.next_line[line * LINE_WORDS + LINE_WORDS - 1])
        column = _find_equal(model.symbol, line * LINE_BYTES + FIRST_SYMBOL, symbol)
    return _interval(model, line, column)


@inlined
def _interval(model: Model, line: int, column: int) -> tuple[int, int, int]:
    begin = int64(model.edge[line * LINE_EDGES + column])
    size = int64(model.edge[line * LINE_EDGES + column + 1]) - begin
    return int64(model.symbol[line * LINE_BYTES + FIRST_SYMBOL + column]), begin, size


@inlined
def _refill(state: int, data: Bytes, index: int, end: int) -> tuple[int, int]:
    """The state after it has been refilled from ``data``, and the index of the next byte. The bytes are read
    from ``index`` on, and never at ``end``."""
    if end - index >= 2:  # two bytes always suffice, because no share is below 1
        missing = int64(state < LOW) + int64(state < LOW >> 8)
        next_two = int64(data[index]) << 8 | int64(data[index + 1])
        return state << 8 * missing | next_two >> 16 - 8 * missing, index + missing
    if state < LOW and index < end:
        state = state << 8 | int(data[index])
        index += 1
    return state, index


@inlined
def checksum(data: Bytes, start: int, stop: int) -> int:
    """CRC-16 (polynomial 0x1021, start 0xFFFF), which detects every change within two neighbouring bytes."""
    crc = 0xFFFF
    index = start
    while index + 8 <= stop:  # the contribution of a byte does not depend on the other bytes
        first_two = crc ^ int64(data[index]) << 8 ^ int64(data[index + 1])
        crc = CRC_OF_BYTE[7, first_two >> 8] ^ CRC_OF_BYTE[6, first_two & 255]
        for byte in range(2, 8):
            crc ^= CRC_OF_BYTE[7 - byte, int64(data[index + byte])]
        index += 8
    while index < stop:
        crc = (crc << 8 & 0xFF00) ^ CRC_OF_BYTE[0, crc >> 8 ^ int64(data[index])]
        index += 1
    return crc


@inlined
def _class_of(symbol: int, missing: int, classes: int) -> int:
    """The class of a symbol or function, ``classes`` - 1 if there is no neighbour. ``missing`` replaces the
    symbol of a neighbour that does not exist."""
    return min(symbol, classes - 2) if symbol != missing else classes - 1


@inlined
def hints_of(checks: Word, captures: Word, square: int) -> int:
    """The hints of a square: 2 if the side to move is in check, plus 1 if it attacks a man."""
    return 2 * int64(checks >> np.uint64(square) & ONE) + int64(captures >> np.uint64(square) & ONE)


@inlined
def value_context(hints: int, left: int, up: int, corner: int) -> int:
    """The context of a value symbol, which follows from the hints and the symbols of the neighbours."""
    context = hints * VALUE_CLASSES + _class_of(left, NOWHERE, VALUE_CLASSES)
    context = context * VALUE_CLASSES + _class_of(up, NOWHERE, VALUE_CLASSES)
    return context * CORNER_CLASSES + _class_of(corner, NOWHERE, CORNER_CLASSES)


@inlined
def _half_class(half: int) -> int:
    """The class of a half depth."""
    coarse = 24 + (half >> 1) if half < 80 else min(44 + (half >> 2), HALF_CLASSES - 1)
    return half if half < 48 else coarse


@inlined
def depth_context(symbol: int, hints: int, left: Neighbour, up: Neighbour, corner: Neighbour) -> int:
    """The context of a half depth, which follows from the position's symbol and hints, and from the
    neighbours."""
    is_left, is_up, is_corner = left[0] == symbol, up[0] == symbol, corner[0] == symbol
    # Selections compile to code without branches, which would be mispredicted.
    expected = left[1] if is_left else (up[1] if is_up else (corner[1] if is_corner else 0))
    difference = abs(left[1] - up[1])
    nearness = difference if difference < 3 else (3 if difference < 6 else 4)
    source = FROM_ONE if is_left | is_up else (FROM_CORNER if is_corner else FROM_NONE)
    source = nearness if is_left & is_up else source
    expected = (left[1] + up[1] + 1) >> 1 if is_left & is_up else expected
    context = (min(symbol, SYMBOL_CLASSES - 1) * 8 + source) * HALF_CLASSES + _half_class(expected)
    comparison = 1 + int64(corner[1] > expected) - int64(corner[1] < expected) if is_corner else 3
    return (context * 4 + hints) * 4 + comparison


@inlined
def function_context(symbol: int, left: int, up: int, corner: int) -> int:
    """The context of a function, which follows from the position's symbol and the functions of its
    neighbours."""
    context = min(symbol, SYMBOL_CLASSES - 1) * FUNCTION_CLASSES
    context = (context + _class_of(left, NO_FUNCTION, FUNCTION_CLASSES)) * FUNCTION_CLASSES
    context += _class_of(up, NO_FUNCTION, FUNCTION_CLASSES)
    return context * CORNER_FUNCTION_CLASSES + _class_of(corner, NO_FUNCTION, CORNER_FUNCTION_CLASSES)


@inlined
def find_mask(rows: Rows, row: int, block_row: int, buffers: Buffers) -> None:
    """Fill in the mask, the hints and the kings of the row ``row`` of the table, whose index in its block is
    ``block_row``.

    None of these depends on stored data.
    """
    block = buffers.block
    mask = row_mask(rows, row, buffers.squares, buffers.image)
    block.masks[block_row] = mask
    if mask:
        block.checks[block_row], block.captures[block_row] = row_hints(rows, row, buffers.squares)
        block.kings[block_row] = kings_of(rows, row, buffers.squares)


@inlined
def _locate_block(stream: Stream, block: int) -> tuple[int, int, int, int]:
    """Start of the bytes of a block, starts of those of its half depths and of its functions, and stop."""
    start = stream.start[block >> 6]
    for earlier in range(block & ~63, block):
        start += int64(stream.value_length[earlier]) + int64(stream.depth_length[earlier])
        start += int64(stream.function_length[earlier])
    depths = start + int64(stream.value_length[block])
    functions = depths + int64(stream.depth_length[block])
    return start, depths, functions, functions + int64(stream.function_length[block])


@inlined
def _squares_up_to(block_row: int, last: int) -> Word:
    """The squares of row ``block_row`` of a block, up to and including the slot ``last`` of the block."""
    return ALL if block_row < last // 64 else ALL >> np.uint64(63 - last % 64)


@inlined
def _first_state(data: Bytes, index: int, end: int) -> tuple[int, int]:
    """The first state in ``data``, and the index of the next byte."""
    # The state has up to three bytes, but a refill reads at most two.
    state, index = _refill(0, data, index, end)
    return _refill(state, data, index, end)


@inlined
def _read_bytes(size: int, state: int, data: Bytes, index: int, end: int) -> tuple[int, int, int]:
    """Decode a number of ``size`` bytes, least significant first; return it, the state after it, and the
    index of the next byte."""
    value = 0
    for byte in range(size):
        low = state & 4095
        value |= (low >> 4) << (8 * byte)
        state, index = _refill(16 * (state >> 12) + (low & 15), data, index, end)
    return value, state, index


@inlined
def _read_symbol(
    model: Model, line: int, state: int, data: Bytes, index: int, end: int
) -> tuple[int, int, int]:
    """The first symbol of a state in the context with this first line, the state after it, and the index of
    the next byte."""
    symbol, begin, size = find_symbol(model, line, state)
    state = size * (state >> TOTAL_BITS) + (state & (TOTAL - 1)) - begin
    state, index = _refill(state, data, index, end)
    return symbol, state, index


@kernel
def decode_values(coding: Coding, block_number: int, last: int, buffers: Buffers) -> bool:
    """Decode the symbols and half depths of a block, whose masks have been found, up to its slot ``last``.

    Return whether the bytes are undamaged.
    """
    data = coding.stream.data
    block = buffers.block
    above = buffers.above
    depth_model = coding.depth_model
    begin, end, depth_end, stop = _locate_block(coding.stream, block_number)
    if checksum(data, begin, stop) != coding.stream.checksum[block_number]:
        return False
    state, byte = _first_state(data, begin, end)
    depth_state, depth_byte = _first_state(data, end, depth_end)
    above[0, :] = NOWHERE
    for block_row in range(last // 64 + 1):
        mask = block.masks[block_row] & _squares_up_to(block_row, last)
        nobody = (int64(NOWHERE), int64(0))
        left, corner = nobody, nobody
        put(block.symbol, block_row * 64, ALL, NOWHERE)
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            up = (above[0, square], above[1, square])
            half = int64(0)
            hints = hints_of(block.checks[block_row], block.captures[block_row], square)
            kings = king_class(coding.rows, block.kings[block_row], square)
            context = value_context(hints, left[0], up[0], corner[0])
            line = first_line(coding.value_model, context, kings)
            symbol, state, byte = _read_symbol(coding.value_model, line, state, data, byte, end)
            if symbol >= FIRST_VALUE:
                line = first_line(depth_model, depth_context(symbol, hints, left, up, corner), kings)
                half, depth_state, depth_byte = _read_symbol(
                    depth_model, line, depth_state, data, depth_byte, depth_end
                )
                if half == HALF_ESCAPE:
                    half, depth_state, depth_byte = _read_bytes(
                        HALF_DEPTH_BYTES, depth_state, data, depth_byte, depth_end
                    )
            block.symbol[block_row * 64 + square], block.half_depth[block_row * 64 + square] = symbol, half
            above[0, square], above[1, square] = symbol, half
            left = (int64(symbol), half)
            corner = up
    is_complete = byte == end and depth_byte == depth_end and state == depth_state == 0
    return is_complete or last < 64 * coding.rows.block_rows - 1


@kernel
def decode_functions(coding: Coding, block_number: int, last: int, buffers: Buffers) -> bool:
    """Decode the functions of a block up to its slot ``last``. The symbols must have been decoded, which
    includes the check of the checksum.

    Return whether the bytes are undamaged.
    """
    data = coding.stream.data
    block = buffers.block
    above = buffers.above
    model = coding.function_model
    _, _, byte, end = _locate_block(coding.stream, block_number)
    if byte == end:
        block.function_number[: last + 1] = 0
        return True
    state, byte = _first_state(data, byte, end)
    above[2, :] = NO_FUNCTION
    for block_row in range(last // 64 + 1):
        mask = block.masks[block_row] & _squares_up_to(block_row, last)
        left, corner = int64(NO_FUNCTION), int64(NO_FUNCTION)
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            index = block_row * 64 + square
            up = above[2, square]
            kings = king_class(coding.rows, block.kings[block_row], square)
            context = function_context(int64(block.symbol[index]), left, up, corner)
            line = first_line(model, context, kings)
            function, state, byte = _read_symbol(model, line, state, data, byte, end)
            if function == SAME_AS_LEFT:
                function = left
            elif function == SAME_AS_UP:
                function = up
            elif function == FUNCTION_ESCAPE:
                line = first_line(model, HIGH_BYTE_CONTEXT, 0)
                high, state, byte = _read_symbol(model, line, state, data, byte, end)
                low, state, byte = _read_bytes(coding.escape_bytes - 1, state, data, byte, end)
                function = high << 8 * (coding.escape_bytes - 1) | low
            block.function_number[index] = above[2, square] = function
            left, corner = function, up
    return last < 64 * coding.rows.block_rows - 1 or (byte == end and state == 0)
