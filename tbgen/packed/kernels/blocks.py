"""Blocks of sixteen rows of a packed table. Each block is coded with rANS, and decoded only as far as needed.

Each position of the stored side has a *value symbol*: SELF, CAPTURE, or the symbol of an explicit value.
After the symbol of an explicit value, half the depth is coded. Whether the depth is odd is determined by the
side to move and the holder of the value. The *function* of a position gives V(P, A) for each accrued score A.
The context of a symbol includes the symbols of two *neighbours*: the previous position in the row (left), and
the previous position in the same column (up).

The entropy coder is rANS with static frequencies, byte by byte (asymmetric numeral systems, Jarek Duda,
arXiv:1311.2540). The *share* of a symbol is its scaled frequency in a context: the shares of a context sum to
``TOTAL``. Each symbol has an *interval* of the numbers below ``TOTAL``, which is as long as its share. The
state is between ``LOW`` and ``256 * LOW - 1``. An encoder starts with the state ``LOW`` and encodes the
symbols backwards, so a decoder ends with the state ``LOW``. Each block has a checksum.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, intrinsic, kernel
from tbgen.compiler.structs import Struct
from tbgen.packed.kernels.rows import Rows, row_hints, row_mask
from tbgen.retro.kernels.words import ALL, ONE, Codes, Ints, Plies, Word, Words, lowest
from tbgen.store.checksum import CRC_OF_BYTE

TOTAL_BITS = 12
TOTAL = 1 << TOTAL_BITS
"""Sum of the shares of all symbols in a context."""
LOW = 1 << 16
"""Smallest normalized state."""
STATE_BYTES = 3
"""Number of bytes of a state."""
SEARCH_WIDTH = 16
"""Number of symbols whose intervals are searched at once."""

RECIPROCAL_BITS = 36
RECIPROCAL = np.array([0, *(-(-(1 << RECIPROCAL_BITS) // share) for share in range(1, TOTAL + 1))], np.int64)
"""int64 (TOTAL + 1,): for each share, 2**36 / share, rounded up.

A state has 24 bits. The state times this number, shifted right by 36 bits, is the state divided by the share,
rounded down. The rounding error of the reciprocal is too small to change the result."""

Frequencies = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Model(Struct):
    """The shares of the symbols in each context, for decoders.

    In each context, the symbols are sorted by descending share. Their number is padded to ``places``, a
    multiple of ``SEARCH_WIDTH``.
    """

    symbol: Codes
    """uint8 (contexts, places): the symbols by descending share."""
    edge: Frequencies
    """uint16 (contexts, places + 1): start of the interval of each symbol of ``symbol``, then ``TOTAL``."""
    group_edge: Frequencies
    """uint16 (contexts, SEARCH_WIDTH): end of the last interval in each group of ``SEARCH_WIDTH`` places,
    padded with ``TOTAL``."""


@intrinsic
def _count_at_most(typing_context: Any, array: Any, first: Any, most: Any) -> Any:
    """Number of elements not above ``most`` among ``SEARCH_WIDTH`` elements of a contiguous uint16 array,
    from the flat index ``first`` on. The code is one SIMD comparison without branches."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        vector_type = ir.VectorType(ir.IntType(16), SEARCH_WIDTH)
        elements = builder.load(builder.bitcast(builder.gep(data, [args[1]]), vector_type.as_pointer()))
        cast(Any, elements).align = 2
        undefined = ir.Constant(vector_type, ir.Undefined)
        single = builder.insert_element(
            undefined, builder.trunc(args[2], ir.IntType(16)), ir.Constant(ir.IntType(32), 0)
        )
        first_lane = ir.Constant(ir.VectorType(ir.IntType(32), SEARCH_WIDTH), [0] * SEARCH_WIDTH)
        bound = builder.shuffle_vector(single, undefined, first_lane)
        is_counted = builder.bitcast(builder.icmp_unsigned("<=", elements, bound), ir.IntType(SEARCH_WIDTH))
        return builder.zext(builder.ctpop(is_counted), ir.IntType(64))

    return types.int64(array, types.int64, types.int64), codegen


@inlined
def find_place(model: Model, context: int, state: int) -> int:
    """The index in ``model.symbol[context]`` of the first symbol of a state."""
    remainder, places = state & (TOTAL - 1), model.symbol.shape[1]
    first = context * (places + 1) + 1
    place: int = _count_at_most(model.edge, first, remainder)
    if place == SEARCH_WIDTH:
        place = SEARCH_WIDTH * _count_at_most(model.group_edge, context * SEARCH_WIDTH, remainder)
        place += _count_at_most(model.edge, first + place, remainder)
    return place


@inlined
def remove_symbol(model: Model, context: int, place: int, state: int) -> int:
    """The state without its first symbol. A result below ``LOW`` must be refilled."""
    start = int64(model.edge[context, place])
    size = int64(model.edge[context, place + 1]) - start
    return size * (state >> TOTAL_BITS) + (state & (TOTAL - 1)) - start


@inlined
def refill(state: int, data: Codes, index: int, end: int) -> tuple[int, int]:
    """The state after it has been refilled from ``data[index:end]``, and the index of the next byte."""
    if index + 2 <= end:  # two bytes always suffice, because no share is below 1
        missing = int64(state < LOW) + int64(state < LOW >> 8)
        next_two = int64(data[index]) << 8 | int64(data[index + 1])
        return state << 8 * missing | next_two >> 16 - 8 * missing, index + missing
    while state < LOW and index < end:
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


BLOCK_ROWS = 16
BLOCK_SLOTS = 64 * BLOCK_ROWS

SELF = 0
"""Value symbol: the value is the position score, at depth 0."""
CAPTURE = 1
"""Value symbol: the best capture gives value and depth, and no position of the derived side depends on
this position."""
FIRST_VALUE = 2
"""First symbol of an explicit value. More frequent values have smaller symbols."""
NOWHERE = 255
"""Replaces the value symbol of a slot without a position."""

NEIGHBOUR_VALUE_CLASSES = 32
"""Number of classes of the value symbol of a neighbour. All symbols from 30 on have class 30; class 31 means
that there is no neighbour."""
VALUE_CONTEXTS = 4 * NEIGHBOUR_VALUE_CLASSES * NEIGHBOUR_VALUE_CLASSES
"""Number of contexts of a value symbol. A context consists of two hints and the classes of the two
neighbours. The hints are whether the side to move is in check, and whether it attacks a man."""

_SYMBOL_CLASSES = 16
"""Number of classes of the value symbol of the position itself. All symbols from 15 on have class 15."""
_HALF_CLASSES = 64
"""Number of classes of half depths."""
_DIFFERENCE_CLASSES = 5
"""Number of classes of differences between two half depths."""
_NEIGHBOUR_DEPTH_CLASSES = _HALF_CLASSES * _DIFFERENCE_CLASSES + _HALF_CLASSES + 1
"""Number of classes for the half depths of those neighbours that have the position's value symbol. If both
neighbours have it, the class consists of the mean and the difference of their half depths. If only one has
it, the class is its half depth. The last class is for positions without such a neighbour."""
DEPTH_CONTEXTS = _SYMBOL_CLASSES * _NEIGHBOUR_DEPTH_CLASSES
"""Number of contexts of a half depth. A context consists of the classes of the position's value symbol and of
the neighbours with the same symbol."""

FUNCTION_CLASSES = 10
"""Number of classes of the function of a neighbour. All functions from 8 on have class 8; class 9 means that
there is no neighbour."""
FUNCTION_CONTEXTS = _SYMBOL_CLASSES * FUNCTION_CLASSES * FUNCTION_CLASSES
"""Number of contexts of a function. A context consists of the classes of the position's value symbol and of
the neighbours' functions."""
FUNCTION_ESCAPE = 255
"""Function symbol: the number of the function follows as bytes."""

HALF_ESCAPE = 255
"""Symbol of a half depth: the half depth follows as bytes."""
HALF_DEPTH_BYTES = 2
"""Number of bytes of a half depth."""
MAX_STEPS = 5
"""Maximum number of symbols and bytes that encode one position: a function symbol and four bytes."""

CAPTURE_FLAG = 0x8000
"""Flag in the depth of a position whose value symbol is CAPTURE."""


@dataclass(frozen=True, eq=False)
class Stream(Struct):
    """The coded blocks of values and depths, or the coded blocks of functions."""

    data: Codes
    """uint8 (n,): the bytes of all blocks."""
    start: Ints
    """int64 (ceil(blocks / 64),): index of the first byte of every 64th block."""
    length: Plies
    """uint16 (blocks,): number of bytes of each block."""
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
    value_stream: Stream
    function_stream: Stream
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
    """uint16 (size,): D in plies; CAPTURE_FLAG is set if the value need not be stored."""
    function_number: NDArray[np.uint32]
    """uint32 (size,): number of the function of each position; empty if the table has no functions."""


@dataclass(frozen=True, eq=False)
class RowBlock(Struct):
    """A decoded block: sixteen rows of 64 slots."""

    masks: Words
    """uint64 (16,): positions of each row; bit s stands for the square s of the row man."""
    checks: Words
    """uint64 (16,): positions of each row in which the side to move is in check."""
    captures: Words
    """uint64 (16,): positions of each row in which the side to move attacks a man."""
    symbol: Codes
    """uint8 (1024,): value symbols; NOWHERE in slots without a position."""
    half_depth: Plies
    """uint16 (1024,): half the depth of each explicit value."""
    function_number: NDArray[np.uint32]
    """uint32 (1024,): number of the function of each position."""


@dataclass(frozen=True, eq=False)
class Buffers(Struct):
    """Buffers of one thread for encoding, decoding and looking up positions."""

    squares: Ints
    """int64 (MAX_MEN,): squares of the men in the current row or position."""
    child: Ints
    """int64 (MAX_MEN,): squares of the men after a move."""
    image: Ints
    """int64 (MAX_MEN,): squares of the men in the image of a position under a symmetry."""
    moves: Ints
    """int64 (MAX_MOVES,): moves of the current position."""
    replies: Ints
    """int64 (MAX_MOVES,): moves of the position after a move."""
    steps: Ints
    """int64 (5120,): coding steps (symbols and bytes) of a block in decoding order, as indices into
    ``Encoding.start``."""
    above: Ints
    """int64 (3, 64): symbol, half depth and function of the previous position in each column."""
    block: RowBlock


@inlined
def _value_class(symbol: int) -> int:
    return min(symbol, NEIGHBOUR_VALUE_CLASSES - 2) if symbol < NOWHERE else NEIGHBOUR_VALUE_CLASSES - 1


@inlined
def depth_context(symbol: int, left: int, left_half: int, up: int, up_half: int) -> int:
    """The context of a half depth, which follows from the position's symbol, and from the symbols and half
    depths of its neighbours."""
    context = _HALF_CLASSES * (_DIFFERENCE_CLASSES + 1)
    if left == symbol and up == symbol:
        mean = min((left_half + up_half + 1) >> 1, _HALF_CLASSES - 1)
        difference = abs(left_half - up_half)
        nearness = difference if difference < 3 else (3 if difference < 6 else 4)
        context = mean * _DIFFERENCE_CLASSES + nearness
    elif left == symbol:
        context = _HALF_CLASSES * _DIFFERENCE_CLASSES + min(left_half, _HALF_CLASSES - 1)
    elif up == symbol:
        context = _HALF_CLASSES * _DIFFERENCE_CLASSES + min(up_half, _HALF_CLASSES - 1)
    return min(symbol, _SYMBOL_CLASSES - 1) * _NEIGHBOUR_DEPTH_CLASSES + context


@inlined
def _function_class(function: int) -> int:
    return min(function, FUNCTION_CLASSES - 2) if function >= 0 else FUNCTION_CLASSES - 1


@inlined
def function_context(symbol: int, left: int, up: int) -> int:
    """The context of a function, which follows from the position's symbol and the functions of its
    neighbours.

    ``left`` and ``up`` are the numbers of these functions, -1 if there is no neighbour.
    """
    context = min(symbol, _SYMBOL_CLASSES - 1) * FUNCTION_CLASSES + _function_class(left)
    return context * FUNCTION_CLASSES + _function_class(up)


@inlined
def find_mask(rows: Rows, row: int, block_row: int, buffers: Buffers) -> None:
    """Fill in the mask and hints of the row ``row`` of the table, whose index in its block is ``block_row``.

    They do not depend on stored data.
    """
    block = buffers.block
    mask = row_mask(rows, row, buffers.squares, buffers.image)
    block.masks[block_row] = mask
    if mask:
        block.checks[block_row], block.captures[block_row] = row_hints(rows, row, buffers.squares)


@inlined
def value_context(checks: Word, captures: Word, square: int, left: int, up: int) -> int:
    """The context of the value symbol on a square, which follows from the hints of its row and the symbols of
    its neighbours."""
    hints = 2 * int64(checks >> np.uint64(square) & ONE) + int64(captures >> np.uint64(square) & ONE)
    return (hints * NEIGHBOUR_VALUE_CLASSES + _value_class(left)) * NEIGHBOUR_VALUE_CLASSES + _value_class(up)


@inlined
def _locate_block(stream: Stream, number: int) -> tuple[int, int, bool]:
    """Start and stop of the bytes of a block, and whether their checksum is correct."""
    start = stream.start[number >> 6]
    for earlier in range(number & ~63, number):
        start += stream.length[earlier]
    stop = start + stream.length[number]
    return start, stop, checksum(stream.data, start, stop) == stream.checksum[number]


@inlined
def _squares_up_to(block_row: int, last: int) -> Word:
    """The squares of row ``block_row`` of a block, up to and including the slot ``last`` of the block."""
    return ALL if block_row < last // 64 else ALL >> np.uint64(63 - last % 64)


@inlined
def _read_bytes(size: int, state: int, data: Codes, index: int, end: int) -> tuple[int, int, int]:
    """Decode a number of ``size`` bytes, least significant first; return it, the state after it, and the
    index of the next byte."""
    number = 0
    for byte in range(size):
        low = state & 4095
        number |= (low >> 4) << (8 * byte)
        state, index = refill(16 * (state >> 12) + (low & 15), data, index, end)
    return number, state, index


@inlined
def _read_symbol(
    model: Model, context: int, state: int, data: Codes, index: int, end: int
) -> tuple[int, int, int]:
    """The first symbol of a state in a context, the state after it, and the index of the next byte."""
    place = find_place(model, context, state)
    state, index = refill(remove_symbol(model, context, place, state), data, index, end)
    return int(model.symbol[context, place]), state, index


@inlined
def _decode(coding: Coding, for_functions: bool, number: int, last: int, buffers: Buffers) -> bool:
    """Decode the functions of a block, or its symbols and half depths, up to the slot ``last`` of the block.

    Return whether the bytes are undamaged.
    """
    value_model, depth_model, escape_bytes = coding.value_model, coding.depth_model, coding.escape_bytes
    stream, no_neighbour = (coding.function_stream, -1) if for_functions else (coding.value_stream, NOWHERE)
    data, block, above = stream.data, buffers.block, buffers.above
    begin, end, undamaged = _locate_block(stream, number)
    if not undamaged:
        return False
    above[2 if for_functions else 0, :] = no_neighbour
    state, byte = refill(0, data, begin, end)  # the state has three bytes, but a refill reads only two
    state, byte = refill(state, data, byte, end)
    for block_row in range(last // 64 + 1):
        left, left_half, mask = no_neighbour, 0, block.masks[block_row] & _squares_up_to(block_row, last)
        checks, captures = block.checks[block_row], block.captures[block_row]
        if not for_functions:
            block.symbol[block_row * 64 : block_row * 64 + 64] = NOWHERE
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = block_row * 64 + square
            if for_functions:
                context = function_context(int(block.symbol[place]), left, above[2, square])
                left, state, byte = _read_symbol(coding.function_model, context, state, data, byte, end)
                if left == FUNCTION_ESCAPE:
                    left, state, byte = _read_bytes(escape_bytes, state, data, byte, end)
                block.function_number[place] = above[2, square] = left
                continue
            up, half_depth = above[0, square], 0
            context = value_context(checks, captures, square, left, up)
            symbol, state, byte = _read_symbol(value_model, context, state, data, byte, end)
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                half_depth, state, byte = _read_symbol(depth_model, context, state, data, byte, end)
                if half_depth == HALF_ESCAPE:
                    half_depth, state, byte = _read_bytes(HALF_DEPTH_BYTES, state, data, byte, end)
            block.symbol[place], block.half_depth[place] = symbol, half_depth
            left, left_half = symbol, half_depth
            above[0, square], above[1, square] = symbol, half_depth
    return last < BLOCK_SLOTS - 1 or (byte == end and (state == LOW or begin == end))


@kernel
def decode_values(coding: Coding, number: int, last: int, buffers: Buffers) -> bool:
    """Decode the symbols and half depths of a block, whose masks have been found, up to its slot ``last``.

    Return whether the bytes are undamaged.
    """
    return _decode(coding, False, number, last, buffers)


@kernel
def decode_functions(coding: Coding, number: int, last: int, buffers: Buffers) -> bool:
    """Decode the functions of a block, whose symbols have been decoded, up to its slot ``last``.

    Return whether the bytes are undamaged.
    """
    return _decode(coding, True, number, last, buffers)
