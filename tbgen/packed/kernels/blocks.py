"""Blocks: sixteen rows of a packed table, coded together by rANS, and decoded only as far as needed.

Each position of the stored side has a *value symbol*: SELF, CAPTURE, or the symbol of an explicit value. An
explicit value is followed by half its depth; whether the depth is odd follows from the side to move and the
holder of the value. The context of a symbol includes the symbols of two *neighbours*: the previous position
in the row (left), and the previous position in the same column (up).

The entropy coder is rANS with static frequencies and bytes as units (asymmetric numeral systems, Jarek Duda,
arXiv:1311.2540). The frequencies of a context sum up to ``TOTAL``; the state is between ``LOW`` and
``256 * LOW - 1``. An encoder starts with the state ``LOW`` and encodes the symbols backwards, so a decoder
ends with the state ``LOW``. Each block has a checksum.
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
LOW = 1 << 16
STATE_BYTES = 3
WIDE = 16
"""Number of shares that are searched at once."""

RECIPROCAL_BITS = 36
RECIPROCAL = np.array([0, *(-(-(1 << RECIPROCAL_BITS) // share) for share in range(1, TOTAL + 1))], np.int64)
"""int64 (TOTAL + 1,): 2**36 / share, rounded up, by share. A state, which has 24 bits, times this number,
shifted right by 36 bits, is the state divided by the share, rounded down: the error by rounding is too small
to reach the next integer."""

Frequencies = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Model(Struct):
    """Frequencies of symbols by context, for decoders. The places have the symbols by falling share and are
    padded to a multiple of ``WIDE``."""

    symbol: Codes
    """uint8 (contexts, places): the symbols by falling share."""
    edge: Frequencies
    """uint16 (contexts, places + 1): lower bounds of the shares of ``symbol``, then ``TOTAL``."""
    mark: Frequencies
    """uint16 (contexts, WIDE): upper bound of the shares of each ``WIDE`` places, padded with ``TOTAL``."""


@intrinsic
def _count_up_to(typing_context: Any, array: Any, first: Any, most: Any) -> Any:
    """Number of elements that are at most ``most`` among ``WIDE`` elements of a contiguous uint16 array, from
    the flat index ``first`` on. One SIMD comparison without branches."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        kind = ir.VectorType(ir.IntType(16), WIDE)
        elements = builder.load(builder.bitcast(builder.gep(data, [args[1]]), kind.as_pointer()))
        cast(Any, elements).align = 2
        nothing = ir.Constant(kind, ir.Undefined)
        single = builder.insert_element(
            nothing, builder.trunc(args[2], ir.IntType(16)), ir.Constant(ir.IntType(32), 0)
        )
        places = ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
        bound = builder.shuffle_vector(single, nothing, places)
        found = builder.bitcast(builder.icmp_unsigned("<=", elements, bound), ir.IntType(WIDE))
        return builder.zext(builder.ctpop(found), ir.IntType(64))

    return types.int64(array, types.int64, types.int64), codegen


@inlined
def find(model: Model, context: int, state: int) -> int:
    """The index in ``model.symbol[context]`` of the first symbol of a state."""
    low, places = state & (TOTAL - 1), model.symbol.shape[1]
    first = context * (places + 1) + 1
    place: int = _count_up_to(model.edge, first, low)
    if place == WIDE:
        place = WIDE * _count_up_to(model.mark, context * WIDE, low)
        place += _count_up_to(model.edge, first + place, low)
    return place


@inlined
def without(model: Model, context: int, place: int, state: int) -> int:
    """The state after its first symbol is removed; if it is below ``LOW``, it must be refilled."""
    begin = int64(model.edge[context, place])
    size = int64(model.edge[context, place + 1]) - begin
    return size * (state >> TOTAL_BITS) + (state & (TOTAL - 1)) - begin


@inlined
def refill(state: int, data: Codes, at: int, end: int) -> tuple[int, int]:
    """The state after a refill from ``data[at:end]``, and the index of the next byte."""
    if at + 2 <= end:  # two bytes always suffice, because no share is below 1
        wanted = int64(state < LOW) + int64(state < LOW >> 8)
        two = int64(data[at]) << 8 | int64(data[at + 1])
        return state << 8 * wanted | two >> 16 - 8 * wanted, at + wanted
    while state < LOW and at < end:
        state = state << 8 | int(data[at])
        at += 1
    return state, at


@inlined
def checksum(data: Codes, start: int, stop: int) -> int:
    """CRC-16 (polynomial 0x1021, start 0xFFFF), which detects every change within two neighbouring bytes."""
    crc, at = 0xFFFF, start
    while at + 8 <= stop:  # the contribution of a byte does not depend on the other bytes
        two = crc ^ int64(data[at]) << 8 ^ int64(data[at + 1])
        crc = CRC_OF_BYTE[7, two >> 8] ^ CRC_OF_BYTE[6, two & 255]
        for byte in range(2, 8):
            crc ^= CRC_OF_BYTE[7 - byte, int64(data[at + byte])]
        at += 8
    while at < stop:
        crc = (crc << 8 & 0xFF00) ^ CRC_OF_BYTE[0, crc >> 8 ^ int64(data[at])]
        at += 1
    return crc


BLOCK_ROWS = 16
BLOCK_SLOTS = 64 * BLOCK_ROWS

SELF = 0
"""Value symbol: the value is the position score, at depth 0."""
CAPTURE = 1
"""Value symbol: the best capture gives value and depth, and no derived position depends on them."""
FIRST_VALUE = 2
"""First symbol of an explicit value; frequent values have lower symbols."""
NOWHERE = 255
"""Stands for a value symbol where a slot is no position."""

VALUE_CLASSES = 32
"""Number of classes of value symbols in contexts of other positions. Symbols from 30 on share class 30; class
31 is no neighbour."""
VALUE_CONTEXTS = 4 * VALUE_CLASSES * VALUE_CLASSES
"""A context of a value consists of two hints (whether the side to move is in check, whether it attacks a man)
and the classes of the two neighbours."""

_KINDS = 16
"""Number of classes of value symbols in contexts of the same position. Symbols from 15 on share class 15."""
_HALVES = 64
"""Number of classes of half depths."""
_NEARNESS = 5
"""Number of classes of differences between two half depths."""
_NEIGHBOURS = _HALVES * _NEARNESS + _HALVES + 1
DEPTH_CONTEXTS = _KINDS * _NEIGHBOURS
"""A context of a depth consists of the position's symbol and the neighbours with the same value: mean and
difference of the half depths of two, the half depth of one, or none."""

FUNCTION_CLASSES = 10
"""Number of classes of functions in contexts. Functions from 8 on share class 8; class 9 is no neighbour."""
FUNCTION_CONTEXTS = _KINDS * FUNCTION_CLASSES * FUNCTION_CLASSES
FUNCTION_ESCAPE = 255
"""Function symbol: the number of the function follows in bytes."""

HALF_ESCAPE = 255
"""Symbol of a half depth: the half depth follows in bytes."""
HALF_BYTES = 2
MAX_STEPS = 5
"""Most steps of one position: a value symbol and a half depth with its bytes, or a function with its four."""

CAPTURE_FLAG = 0x8000
"""Added to the depth of a position whose value symbol is CAPTURE."""


@dataclass(frozen=True, eq=False)
class Stream(Struct):
    """The coded blocks of one kind."""

    data: Codes
    """uint8 (n,)."""
    start: Ints
    """int64 (ceil(blocks / 64),): index of the first byte of every 64th block."""
    length: Plies
    """uint16 (blocks,): number of bytes of each block."""
    check: Plies
    """uint16 (blocks,): checksum of each block."""


@dataclass(frozen=True, eq=False)
class Coding(Struct):
    """The data needed to decode a table."""

    rows: Rows
    code: Codes
    """uint8 (symbols,): code of each value symbol; meaningless for SELF and CAPTURE."""
    escape_bytes: int
    """Number of bytes of a function number after FUNCTION_ESCAPE."""
    values: Model
    depths: Model
    functions: Model
    value_stream: Stream
    function_stream: Stream
    entry_start: Ints
    """int64 (functions + 1,): index of the first entry of each function, then the number of entries."""
    entry_accrued: Codes
    """uint8 (entries,): code of A."""
    entry_value: Codes
    """uint8 (entries,): code of V(P, A), NONE or FRESH."""


@dataclass(frozen=True, eq=False)
class Content(Struct):
    """The content of the stored side of a table, by slot."""

    value: Codes
    """uint8 (size,)."""
    depth: Plies
    """uint16 (size,): plies, with CAPTURE_FLAG if the value need not be stored."""
    function: NDArray[np.uint32]
    """uint32 (size,): numbers of functions, or empty without functions."""


@dataclass(frozen=True, eq=False)
class RowBlock(Struct):
    """A decoded block: sixteen rows of 64 slots."""

    masks: Words
    """uint64 (16,): positions of each row."""
    checks: Words
    """uint64 (16,): positions of each row in which the side to move is in check."""
    captures: Words
    """uint64 (16,): positions of each row in which the side to move attacks a man."""
    symbol: Codes
    """uint8 (1024,): value symbols, NOWHERE if the slot is no position."""
    half: Plies
    """uint16 (1024,): half the depth of each explicit value."""
    function: NDArray[np.uint32]
    """uint32 (1024,): numbers of functions."""


@dataclass(frozen=True, eq=False)
class Buffers(Struct):
    """Buffers of one thread to encode, decode and look up positions."""

    squares: Ints
    """int64 (5,): squares of the men in the current row or position."""
    child: Ints
    """int64 (5,): squares of the men after a move."""
    image: Ints
    """int64 (5,): squares of the men in an image."""
    moves: Ints
    """int64 (MAX_MOVES,): moves of the current position."""
    replies: Ints
    """int64 (MAX_MOVES,): moves of a position after a move."""
    steps: Ints
    """int64 (5120,): steps of a block in the order of decoding, as indices of ``Encoding.start``."""
    above: Ints
    """int64 (3, 64): symbol, half depth and function of the previous position in each column."""
    block: RowBlock


@inlined
def _value_class(symbol: int) -> int:
    return min(symbol, VALUE_CLASSES - 2) if symbol < NOWHERE else VALUE_CLASSES - 1


@inlined
def depth_context(symbol: int, left: int, left_half: int, up: int, up_half: int) -> int:
    """The context of a half depth, from the position's symbol and the symbols and half depths of its
    neighbours."""
    context = _HALVES * (_NEARNESS + 1)
    if left == symbol and up == symbol:
        mean = min((left_half + up_half + 1) >> 1, _HALVES - 1)
        difference = abs(left_half - up_half)
        nearness = difference if difference < 3 else (3 if difference < 6 else 4)
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
    """The context of a function, from the position's symbol and the functions of its neighbours, -1 without a
    neighbour."""
    at = min(symbol, _KINDS - 1) * FUNCTION_CLASSES + _function_class(left)
    return at * FUNCTION_CLASSES + _function_class(up)


@inlined
def find_mask(rows: Rows, row: int, at: int, buffers: Buffers) -> None:
    """Fill in the masks and hints of row ``at`` of a block, which do not depend on stored data."""
    block = buffers.block
    mask = row_mask(rows, row, buffers.squares, buffers.image)
    block.masks[at] = mask
    if mask:
        block.checks[at], block.captures[at] = row_hints(rows, row, buffers.squares)


@inlined
def value_context(checks: Word, captures: Word, square: int, left: int, up: int) -> int:
    """The context of the value symbol on a square, from the hints of its row and the symbols of its
    neighbours."""
    hints = 2 * int64(checks >> np.uint64(square) & ONE) + int64(captures >> np.uint64(square) & ONE)
    return (hints * VALUE_CLASSES + _value_class(left)) * VALUE_CLASSES + _value_class(up)


@inlined
def _locate_block(stream: Stream, number: int) -> tuple[int, int, bool]:
    """Start and stop of the bytes of a block, and whether their checksum is correct."""
    begin = stream.start[number >> 6]
    for before in range(number & ~63, number):
        begin += stream.length[before]
    end = begin + stream.length[number]
    return begin, end, checksum(stream.data, begin, end) == stream.check[number]


@inlined
def _squares_up_to(at: int, last: int) -> Word:
    """The squares of row ``at`` of a block up to and including the slot ``last`` of the block."""
    return ALL if at < last // 64 else ALL >> np.uint64(63 - last % 64)


@inlined
def _read_bytes(size: int, state: int, data: Codes, at: int, end: int) -> tuple[int, int, int]:
    """A number of ``size`` coded bytes, least significant first; the state after them; and the index of the
    next byte."""
    number = 0
    for byte in range(size):
        low = state & 4095
        number |= (low >> 4) << (8 * byte)
        state, at = refill(16 * (state >> 12) + (low & 15), data, at, end)
    return number, state, at


@inlined
def _read_symbol(
    model: Model, context: int, state: int, data: Codes, at: int, end: int
) -> tuple[int, int, int]:
    """The first symbol of a state in a context, the state after it, and the index of the next byte."""
    place = find(model, context, state)
    state, at = refill(without(model, context, place, state), data, at, end)
    return int(model.symbol[context, place]), state, at


@inlined
def _decode(coding: Coding, functions: bool, number: int, last: int, buffers: Buffers) -> bool:
    """Decode the functions of a block, or its symbols and half depths, up to the slot ``last`` of the block;
    return whether the bytes are undamaged."""
    values, depths, escape_bytes = coding.values, coding.depths, coding.escape_bytes
    stream, nowhere = (coding.function_stream, -1) if functions else (coding.value_stream, NOWHERE)
    data, block, above = stream.data, buffers.block, buffers.above
    begin, end, good = _locate_block(stream, number)
    if not good:
        return False
    above[2 if functions else 0, :] = nowhere
    state, byte = refill(0, data, begin, end)  # the state has three bytes, a refill reads two
    state, byte = refill(state, data, byte, end)
    for at in range(last // 64 + 1):
        left, left_half, mask = nowhere, 0, block.masks[at] & _squares_up_to(at, last)
        checks, captures = block.checks[at], block.captures[at]
        if not functions:
            block.symbol[at * 64 : at * 64 + 64] = NOWHERE
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            if functions:
                context = function_context(int(block.symbol[place]), left, above[2, square])
                left, state, byte = _read_symbol(coding.functions, context, state, data, byte, end)
                if left == FUNCTION_ESCAPE:
                    left, state, byte = _read_bytes(escape_bytes, state, data, byte, end)
                block.function[place] = above[2, square] = left
                continue
            up, half = above[0, square], 0
            context = value_context(checks, captures, square, left, up)
            symbol, state, byte = _read_symbol(values, context, state, data, byte, end)
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                half, state, byte = _read_symbol(depths, context, state, data, byte, end)
                if half == HALF_ESCAPE:
                    half, state, byte = _read_bytes(HALF_BYTES, state, data, byte, end)
            block.symbol[place], block.half[place] = symbol, half
            left, left_half = symbol, half
            above[0, square], above[1, square] = symbol, half
    return last < BLOCK_SLOTS - 1 or (byte == end and (state == LOW or begin == end))


@kernel
def decode_values(coding: Coding, number: int, last: int, buffers: Buffers) -> bool:
    """Decode the symbols and half depths of a block up to its slot ``last``; return whether the bytes are
    undamaged. The masks must have been found."""
    return _decode(coding, False, number, last, buffers)


@kernel
def decode_functions(coding: Coding, number: int, last: int, buffers: Buffers) -> bool:
    """Decode the functions of a block up to its slot ``last``; return whether the bytes are undamaged. The
    masks must have been found and the symbols decoded."""
    return _decode(coding, True, number, last, buffers)
