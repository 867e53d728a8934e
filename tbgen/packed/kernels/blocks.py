"""Blocks: sixteen rows of a packed table, coded by rANS as one, and decoded as far as they are asked for.

Each position of the stored side has a *value symbol*: SELF, CAPTURE, or what stands for one value. A value is
followed by half its depth; whether the depth is odd follows from the side to move and the value's holder.
Contexts are the last position of the row and of the same column before it.

The entropy coder: rANS with static frequencies, byte by byte, and the checksum of a block. Asymmetric numeral
systems, Jarek Duda, arXiv:1311.2540. Frequencies of a context sum up to ``TOTAL``; the state lies in ``LOW``
... ``256 * LOW - 1``. An encoder begins with ``LOW`` and goes through the symbols backwards, so that a
decoder that has read all of them is left with ``LOW``.
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
"""Shares that are searched at once."""

RECIPROCAL_BITS = 36
RECIPROCAL = np.array([0, *(-(-(1 << RECIPROCAL_BITS) // share) for share in range(1, TOTAL + 1))], np.int64)
"""int64 (TOTAL + 1,): a state, which has 24 bits, times this and without the last 36 bits is the state
divided by the share, rounded down: what is added to 2**36 / share is too little to reach the next number."""

Frequencies = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class Model(Struct):
    """Frequencies of symbols by context, as a decoder looks at them: the symbols stand by falling share,
    filled up to a multiple of ``WIDE``."""

    symbol: Codes
    """uint8 (contexts, places): the symbols by falling share."""
    edge: Frequencies
    """uint16 (contexts, places + 1): where the shares of ``symbol`` begin, and ``TOTAL``."""
    mark: Frequencies
    """uint16 (contexts, WIDE): where the shares of every ``WIDE`` places end, ``TOTAL`` beyond them."""


@intrinsic
def _up_to(typing_context: Any, array: Any, first: Any, most: Any) -> Any:
    """How many of ``WIDE`` elements of a contiguous uint16 array, from the flat index ``first`` on, are at
    most ``most``: one comparison of all at once, which no branch has to guess."""

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
    """The place among ``model.symbol[context]`` of the symbol that a state begins with."""
    low, places = state & (TOTAL - 1), model.symbol.shape[1]
    first = context * (places + 1) + 1
    place: int = _up_to(model.edge, first, low)
    if place == WIDE:
        place = WIDE * _up_to(model.mark, context * WIDE, low)
        place += _up_to(model.edge, first + place, low)
    return place


@inlined
def without(model: Model, context: int, place: int, state: int) -> int:
    """The state without its first symbol; below ``LOW`` it wants bytes."""
    begin = int64(model.edge[context, place])
    size = int64(model.edge[context, place + 1]) - begin
    return size * (state >> TOTAL_BITS) + (state & (TOTAL - 1)) - begin


@inlined
def refill(state: int, data: Codes, at: int, end: int) -> tuple[int, int]:
    """A state with as many bytes as it wants of ``data[at:end]``, and where the next one lies."""
    if at + 2 <= end:  # it never wants more: no share is below 1
        wanted = int64(state < LOW) + int64(state < LOW >> 8)
        two = int64(data[at]) << 8 | int64(data[at + 1])
        return state << 8 * wanted | two >> 16 - 8 * wanted, at + wanted
    while state < LOW and at < end:
        state = state << 8 | int(data[at])
        at += 1
    return state, at


@inlined
def checksum(data: Codes, start: int, stop: int) -> int:
    """CRC-16 (polynomial 0x1021, from 0xFFFF): no change within two neighbouring bytes escapes it."""
    crc, at = 0xFFFF, start
    while at + 8 <= stop:  # a byte's share in the end does not depend on the others
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
class PackedBuffers(Struct):
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
def find_mask(rows: Rows, row: int, at: int, buffers: PackedBuffers) -> None:
    """Fill row ``at`` of a block's masks and hints from geometry alone."""
    block = buffers.block
    mask = row_mask(rows, row, buffers.squares, buffers.image)
    block.masks[at] = mask
    if mask:
        block.checks[at], block.captures[at] = row_hints(rows, row, buffers.squares)


@inlined
def value_context(checks: Word, captures: Word, square: int, left: int, up: int) -> int:
    """The context of the value symbol on a square of a row with these hints."""
    hints = 2 * int64(checks >> np.uint64(square) & ONE) + int64(captures >> np.uint64(square) & ONE)
    return (hints * VALUE_CLASSES + _value_class(left)) * VALUE_CLASSES + _value_class(up)


@inlined
def _begin(stream: Stream, number: int) -> tuple[int, int, bool]:
    """Where a block's bytes begin and end, and whether they are those that were written."""
    begin = stream.start[number >> 6]
    for before in range(number & ~63, number):
        begin += stream.length[before]
    end = begin + stream.length[number]
    return begin, end, checksum(stream.data, begin, end) == stream.check[number]


@inlined
def _as_far(at: int, last: int) -> Word:
    """The squares of row ``at`` of a block as far as the place ``last``."""
    return ALL if at < last // 64 else ALL >> np.uint64(63 - last % 64)


@inlined
def _bytes(size: int, state: int, data: Codes, at: int, end: int) -> tuple[int, int, int]:
    """A number of so many bytes, the least significant first, the state after them, and where the next byte
    lies."""
    number = 0
    for byte in range(size):
        low = state & 4095
        number |= (low >> 4) << (8 * byte)
        state, at = refill(16 * (state >> 12) + (low & 15), data, at, end)
    return number, state, at


@inlined
def _symbol(model: Model, context: int, state: int, data: Codes, at: int, end: int) -> tuple[int, int, int]:
    """The symbol of a context that a state begins with, the state after it, and where the next byte lies."""
    place = find(model, context, state)
    state, at = refill(without(model, context, place, state), data, at, end)
    return int(model.symbol[context, place]), state, at


@inlined
def _decode(coding: Coding, functions: bool, number: int, last: int, buffers: PackedBuffers) -> bool:
    """Decode a block's functions, or else its symbols and halves, as far as the place ``last``."""
    values, depths, escape_bytes = coding.values, coding.depths, coding.escape_bytes
    stream, nowhere = (coding.function_stream, -1) if functions else (coding.value_stream, NOWHERE)
    data, block, above = stream.data, buffers.block, buffers.above
    begin, end, good = _begin(stream, number)
    if not good:
        return False
    above[2 if functions else 0, :] = nowhere
    state, byte = refill(0, data, begin, end)  # two bytes of a state that has three
    state, byte = refill(state, data, byte, end)
    for at in range(last // 64 + 1):
        left, left_half, mask = nowhere, 0, block.masks[at] & _as_far(at, last)
        checks, captures = block.checks[at], block.captures[at]
        if not functions:
            block.symbol[at * 64 : at * 64 + 64] = NOWHERE
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            if functions:
                context = function_context(int(block.symbol[place]), left, above[2, square])
                left, state, byte = _symbol(coding.functions, context, state, data, byte, end)
                if left == FUNCTION_ESCAPE:
                    left, state, byte = _bytes(escape_bytes, state, data, byte, end)
                block.function[place] = above[2, square] = left
                continue
            up, half = above[0, square], 0
            context = value_context(checks, captures, square, left, up)
            symbol, state, byte = _symbol(values, context, state, data, byte, end)
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                half, state, byte = _symbol(depths, context, state, data, byte, end)
                if half == HALF_ESCAPE:
                    half, state, byte = _bytes(HALF_BYTES, state, data, byte, end)
            block.symbol[place], block.half[place] = symbol, half
            left, left_half = symbol, half
            above[0, square], above[1, square] = symbol, half
    return last < BLOCK_SLOTS - 1 or (byte == end and (state == LOW or begin == end))


@kernel
def decode_values(coding: Coding, number: int, last: int, buffers: PackedBuffers) -> bool:
    """Decode a block's symbols and halves, its masks being known, as far as the place ``last``; return
    whether its bytes are those that were written."""
    return _decode(coding, False, number, last, buffers)


@kernel
def decode_functions(coding: Coding, number: int, last: int, buffers: PackedBuffers) -> bool:
    """Decode a block's functions as far as the place ``last``, its masks and symbols being known; return
    whether its bytes are those that were written."""
    return _decode(coding, True, number, last, buffers)
