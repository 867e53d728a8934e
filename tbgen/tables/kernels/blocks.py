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

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, intrinsic, kernel
from tbgen.compiler.structs import Struct
from tbgen.compiler.vectors import WORD, LaneCall, code_generator
from tbgen.retro.kernels.words import ALL, ONE, Codes, Ints, Plies, Word, Words, lowest, put
from tbgen.store.checksum import CRC_OF_BYTE
from tbgen.tables.kernels.rows import KING_CLASSES, Rows, king_class, kings_of, row_hints, row_mask

TOTAL_BITS = 12
TOTAL = 1 << TOTAL_BITS
"""Sum of the shares of all symbols in a context."""
LOW = 1 << 16
"""Smallest normalized state."""
SEARCH_WIDTH = 16
"""Number of symbols whose intervals are searched at once."""

RECIPROCAL_BITS = 36
RECIPROCAL = np.array([0, *(-(-(1 << RECIPROCAL_BITS) // share) for share in range(1, TOTAL + 1))], np.int64)
"""int64 (TOTAL + 1,): for each share, 2**36 / share, rounded up.

A state has 24 bits. The state times this number, shifted right by 36 bits, is the state divided by the share,
rounded down. The rounding error of the reciprocal is too small to change the result."""

Frequencies = NDArray[np.uint16]


LINE_BYTES = 64
"""Size in bytes of a *line* of a model, which is also that of a line in a processor's cache."""
LINE_EDGES = LINE_BYTES // 2
"""Number of uint16 elements of a line. The first ``SEARCH_WIDTH`` + 1 are edges."""
FIRST_SYMBOL = 2 * (SEARCH_WIDTH + 1)
"""Index of the first symbol among the bytes of a line."""
LINE_WORDS = LINE_BYTES // 4
"""Number of uint32 elements of a line. The last is the number of the line with the next symbols."""
MAX_CONTEXTS = (1 << 16) - 1
"""Maximum number of contexts of a model with shares of their own."""

MAX_BLOCK_ROWS = 64
MAX_BLOCK_SLOTS = 64 * MAX_BLOCK_ROWS

SELF = 0
"""Value symbol: the value is the position score, at depth 0."""
CAPTURE = 1
"""Value symbol: the best capture gives value and depth, and no position of the derived side depends on
this position."""
FIRST_VALUE = 2
"""First symbol of an explicit value. More frequent values have smaller symbols."""
NOWHERE = 255
"""Replaces the value symbol of a slot without a position."""

Levels = tuple[int, ...]
"""The number of contexts of the first level of a tree, and for each later level the number of contexts that
refine one context of the level before."""

_VALUE_CLASSES = 32
"""Number of classes of the value symbol of the left or upper neighbour. All symbols from 30 on have class 30;
class 31 means that there is no neighbour."""
_CORNER_CLASSES = 8
"""Number of classes of the value symbol of the corner. All symbols from 6 on have class 6; class 7 means that
there is no corner."""
VALUE_LEVELS = (4 * _VALUE_CLASSES, _VALUE_CLASSES, _CORNER_CLASSES, KING_CLASSES)
"""Levels of the contexts of a value symbol: first the two hints (whether the side to move is in check, and
whether it attacks a man) and the left neighbour, then the upper neighbour, then the corner, then the king
class."""

_SYMBOL_CLASSES = 16
"""Number of classes of the value symbol of the position itself. All symbols from 15 on have class 15."""
_FROM_ONE, _FROM_CORNER, _FROM_NONE = 5, 6, 7
"""How the expected half depth of a position follows from the neighbours with its symbol, if the left and the
upper neighbour do not both have it: from one of these two, from the corner, or not at all. Smaller numbers
are classes of the difference between the half depths of the left and the upper neighbour."""
_HALF_CLASSES = 108
"""Number of classes of half depths."""
DEPTH_LEVELS = (8 * _SYMBOL_CLASSES, _HALF_CLASSES, 4, 4, KING_CLASSES)
"""Levels of the contexts of a half depth: first the class of the position's value symbol and how the expected
half depth follows, then the class of the expected half depth, then the two hints, then how the corner
compares with the expected half depth, then the king class."""

_FUNCTION_CLASSES = 32
"""Number of classes of the function of the left or upper neighbour. All functions from 30 on have class 30;
class 31 means that there is no neighbour."""
_CORNER_FUNCTION_CLASSES = 16
"""Number of classes of the function of the corner. All functions from 14 on have class 14; class 15 means
that there is no corner."""
FUNCTION_LEVELS = (
    *(_SYMBOL_CLASSES * _FUNCTION_CLASSES + 1, _FUNCTION_CLASSES),
    *(_CORNER_FUNCTION_CLASSES, KING_CLASSES),
)
"""Levels of the contexts of a function: first the classes of the position's value symbol and of the left
neighbour's function, then the class of the upper neighbour's function, then that of the corner's function,
then the king class.
The last context of the first level is that of the highest byte of a function's number."""
HIGH_BYTE_CONTEXT = _SYMBOL_CLASSES * _FUNCTION_CLASSES * _FUNCTION_CLASSES * _CORNER_FUNCTION_CLASSES
"""Context of the highest byte of a function's number, on the last level but one. Its king class is 0."""
SAME_AS_LEFT, SAME_AS_UP, FUNCTION_ESCAPE = 253, 254, 255
"""Function symbols that do not stand for functions of the same number: the function is that of the left or
the upper neighbour, or its number follows as bytes."""

HALF_ESCAPE = 255
"""Symbol of a half depth: the half depth follows as bytes."""
HALF_DEPTH_BYTES = 2
"""Number of bytes of a half depth."""
MAX_STEPS = 5
"""Maximum number of steps of one kind that encode a position: a function symbol and four bytes."""

CAPTURE_FLAG = 0x8000
"""Flag in the depth of a position whose value symbol is CAPTURE."""

Neighbour = tuple[int, int]
"""The value symbol and the half depth of a neighbour; NOWHERE and any number if there is none."""

NO_FUNCTION = -1
"""Replaces the function of a neighbour that does not exist."""


@dataclass(frozen=True, eq=False)
class Model(Struct):
    """The shares of the symbols in each context.

    The symbols of a context are sorted by descending share. A line has up to ``SEARCH_WIDTH`` of them.
    """

    node: NDArray[np.uint16]
    """uint16 (contexts,): the node of each context of the last level but one. Contexts without shares of
    their own, also on the last level, have the node of their parent."""
    divided: int
    """Number of nodes that the king class divides, at least 1. They have the smallest numbers. The number of
    any other node, less ``divided``, is the first line of the context."""
    first: NDArray[np.uint16]
    """uint16 (``KING_CLASSES`` * divided,): by king class, then by node, the first line of the context."""
    edge: Frequencies
    """uint16 (lines * ``LINE_EDGES``,): in each line, the start of the first interval, then the end of each
    interval; ``TOTAL`` in unused places."""
    symbol: Codes
    """uint8 (lines * ``LINE_BYTES``,): the memory of ``edge``; in each line, the symbols of the intervals."""
    next_line: NDArray[np.uint32]
    """uint32 (lines * ``LINE_WORDS``,): the memory of ``edge``; in each line, the number of the next line."""


@intrinsic
def _count_at_most(typing_context: Any, array: Any, first: Any, most: Any) -> Any:
    """Number of elements not above ``most`` among ``SEARCH_WIDTH`` elements of an array from ``first`` on."""

    def write(call: LaneCall) -> Any:
        counted = call.builder.ctpop(call.compare("<=", call.load(0), call.broadcast(2, 0)))
        return call.builder.zext(counted, WORD)

    return types.int64(array, types.int64, types.int64), code_generator(write, SEARCH_WIDTH)


@intrinsic
def _find_equal(typing_context: Any, array: Any, first: Any, number: Any) -> Any:
    """Place of the first element equal to ``number`` among ``SEARCH_WIDTH`` elements of an array from
    ``first`` on; ``SEARCH_WIDTH`` if there is none."""

    def write(call: LaneCall) -> Any:
        equal = call.compare("==", call.load(0), call.broadcast(2, 0))
        return call.builder.zext(call.builder.cttz(equal, ir.IntType(1)(0)), WORD)

    return types.int64(array, types.int64, types.int64), code_generator(write, SEARCH_WIDTH)


@inlined
def first_line(model: Model, context: int, kings: int) -> int:
    """The first line of a context of the last level but one, refined by a king class."""
    node = int64(model.node[context])
    # Both are computed, because a branch would be mispredicted.
    divided = int64(model.first[kings * model.divided + min(node, model.divided - 1)])
    return divided if node < model.divided else node - model.divided


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
def _refill(state: int, data: Codes, index: int, end: int) -> tuple[int, int]:
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
def checksum(data: Codes, start: int, stop: int) -> int:
    """CRC-16 (polynomial 0x1021, start 0xFFFF), which detects every change within two neighbouring bytes."""
    crc, index = 0xFFFF, start
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


@dataclass(frozen=True, eq=False)
class Stream(Struct):
    """The coded blocks. The bytes of each block are those of its value symbols, followed by those of its half
    depths, followed by those of its functions."""

    data: Codes
    """uint8 (n,): the bytes of all blocks."""
    start: Ints
    """int64 (ceil(blocks / 64),): index of the first byte of every 64th block."""
    value_length: Plies
    """uint16 (blocks,): number of bytes of the value symbols of each block."""
    depth_length: Plies
    """uint16 (blocks,): number of bytes of the half depths of each block."""
    function_length: Plies
    """uint16 (blocks,): number of bytes of the functions of each block; 0 if all are function 0."""
    checksum: Plies
    """uint16 (blocks,): checksum of each block."""


@dataclass(frozen=True, eq=False)
class Coding(Struct):
    """The data needed to decode a table."""

    rows: Rows
    code: Codes
    """uint8 (symbols,): code of each value symbol; meaningless for SELF and CAPTURE."""
    escape_bytes: int
    """Number of bytes of a function number after FUNCTION_ESCAPE."""
    value_model: Model
    depth_model: Model
    function_model: Model
    stream: Stream
    entry_start: Ints
    """int64 (functions + 1,): index of the first entry of each function; the last element is the number of
    entries."""
    entry_accrued: Codes
    """uint8 (entries,): code of A."""
    entry_value: Codes
    """uint8 (entries,): code of V(P, A); NONE for A itself, FRESH for W."""


@dataclass(frozen=True, eq=False)
class Content(Struct):
    """The content of the stored side of a table. The arrays are indexed by slot."""

    value: Codes
    """uint8 (size,): codes of W."""
    depth: Plies
    """uint16 (size,): D in plies. CAPTURE_FLAG is set when a value that is not stored is decoded."""
    function_number: NDArray[np.uint32]
    """uint32 (size,): number of the function of each position; empty if the table has no functions."""
    omitted: Words
    """uint64 (size / 64,): positions whose values are not stored; empty if the blocks are to be decoded."""


@dataclass(frozen=True, eq=False)
class RowBlock(Struct):
    """A decoded block: at most ``MAX_BLOCK_ROWS`` rows of 64 slots."""

    masks: Words
    """uint64 (MAX_BLOCK_ROWS,): positions of each row; bit s stands for the square s of the row man."""
    checks: Words
    """uint64 (MAX_BLOCK_ROWS,): positions of each row in which the side to move is in check."""
    captures: Words
    """uint64 (MAX_BLOCK_ROWS,): positions of each row in which the side to move attacks a man."""
    kings: Ints
    """int64 (MAX_BLOCK_ROWS,): the data from which the king classes of each row follow (``kings_of``)."""
    symbol: Codes
    """uint8 (MAX_BLOCK_SLOTS,): value symbols; NOWHERE in slots without a position."""
    half_depth: Plies
    """uint16 (MAX_BLOCK_SLOTS,): half the depth of each explicit value."""
    function_number: NDArray[np.uint32]
    """uint32 (MAX_BLOCK_SLOTS,): number of the function of each position."""


@dataclass(frozen=True, eq=False)
class Buffers(Struct):
    """Buffers of one thread for encoding, decoding and looking up positions."""

    squares: Ints
    """int64 (MAX_MEN,): squares of the men in the current row or position."""
    child: Ints
    """int64 (MAX_MEN,): squares of the men after a move."""
    image: Ints
    """int64 (MAX_MEN,): squares of the men in the image of a position under a symmetry."""
    steps: Ints
    """int64 (3, MAX_STEPS * MAX_BLOCK_SLOTS): coding steps (symbols and bytes) of the value symbols, half
    depths and functions of a block in decoding order."""
    above: Ints
    """int64 (3, 64): symbol, half depth and function of the previous position in each column."""
    block: RowBlock


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
    context = hints * _VALUE_CLASSES + _class_of(left, NOWHERE, _VALUE_CLASSES)
    context = context * _VALUE_CLASSES + _class_of(up, NOWHERE, _VALUE_CLASSES)
    return context * _CORNER_CLASSES + _class_of(corner, NOWHERE, _CORNER_CLASSES)


@inlined
def _half_class(half: int) -> int:
    """The class of a half depth."""
    coarse = 24 + (half >> 1) if half < 80 else min(44 + (half >> 2), _HALF_CLASSES - 1)
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
    source = _FROM_ONE if is_left | is_up else (_FROM_CORNER if is_corner else _FROM_NONE)
    source = nearness if is_left & is_up else source
    expected = (left[1] + up[1] + 1) >> 1 if is_left & is_up else expected
    context = (min(symbol, _SYMBOL_CLASSES - 1) * 8 + source) * _HALF_CLASSES + _half_class(expected)
    comparison = 1 + int64(corner[1] > expected) - int64(corner[1] < expected) if is_corner else 3
    return (context * 4 + hints) * 4 + comparison


@inlined
def function_context(symbol: int, left: int, up: int, corner: int) -> int:
    """The context of a function, which follows from the position's symbol and the functions of its
    neighbours."""
    context = min(symbol, _SYMBOL_CLASSES - 1) * _FUNCTION_CLASSES
    context = (context + _class_of(left, NO_FUNCTION, _FUNCTION_CLASSES)) * _FUNCTION_CLASSES
    context += _class_of(up, NO_FUNCTION, _FUNCTION_CLASSES)
    return context * _CORNER_FUNCTION_CLASSES + _class_of(corner, NO_FUNCTION, _CORNER_FUNCTION_CLASSES)


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
def _first_state(data: Codes, index: int, end: int) -> tuple[int, int]:
    """The first state in ``data``, and the index of the next byte."""
    # The state has up to three bytes, but a refill reads at most two.
    state, index = _refill(0, data, index, end)
    return _refill(state, data, index, end)


@inlined
def _read_bytes(size: int, state: int, data: Codes, index: int, end: int) -> tuple[int, int, int]:
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
    model: Model, line: int, state: int, data: Codes, index: int, end: int
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
