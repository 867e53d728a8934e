"""Decoding a block of a packed table, as far as it is asked for."""

import numpy as np

from tbgen.compiler.jit import inlined, kernel
from tbgen.packed.kernels.blocks import (
    BLOCK_SLOTS,
    FIRST_VALUE,
    FUNCTION_ESCAPE,
    HALF_BYTES,
    HALF_ESCAPE,
    NOWHERE,
    Coding,
    Room,
    Stream,
    depth_context,
    function_context,
    value_context,
)
from tbgen.packed.kernels.rans import LOW, STATE_BYTES, Model, checksum, find, refill, without
from tbgen.retro.kernels.bits import ALL, ONE, Codes, Word, lowest


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
def _first_state(data: Codes, begin: int, end: int) -> tuple[int, int]:
    """The state that a block begins with, and where the next byte lies."""
    state, at = 0, begin
    while at < end and at < begin + STATE_BYTES:
        state = state << 8 | int(data[at])
        at += 1
    return state, at


@inlined
def _symbol(model: Model, context: int, state: int, data: Codes, at: int, end: int) -> tuple[int, int, int]:
    """The symbol of a context that a state begins with, the state after it, and where the next byte lies."""
    place = find(model, context, state)
    state, at = refill(without(model, context, place, state), data, at, end)
    return int(model.symbol[context, place]), state, at


@kernel
def decode_values(coding: Coding, number: int, last: int, room: Room) -> bool:
    """Decode a block's symbols and halves, its masks being known, as far as the place ``last``; return
    whether its bytes are those that were written."""
    stream, values, depths = coding.value_stream, coding.values, coding.depths
    data, block, above = stream.data, room.block, room.above
    begin, end, good = _begin(stream, number)
    if not good:
        return False
    above[0, :] = NOWHERE
    state, at_byte = _first_state(data, begin, end)
    for at in range(last // 64 + 1):
        left, left_half, mask = NOWHERE, 0, block.masks[at] & _as_far(at, last)
        checks, captures = block.checks[at], block.captures[at]
        block.symbol[at * 64 : at * 64 + 64] = NOWHERE
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place, up, half = at * 64 + square, above[0, square], 0
            context = value_context(checks, captures, square, left, up)
            symbol, state, at_byte = _symbol(values, context, state, data, at_byte, end)
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                half, state, at_byte = _symbol(depths, context, state, data, at_byte, end)
                if half == HALF_ESCAPE:
                    half, state, at_byte = _bytes(HALF_BYTES, state, data, at_byte, end)
            block.symbol[place], block.half[place] = symbol, half
            left, left_half = symbol, half
            above[0, square], above[1, square] = symbol, half
    return last < BLOCK_SLOTS - 1 or (at_byte == end and (state == LOW or begin == end))


@kernel
def decode_functions(coding: Coding, number: int, last: int, room: Room) -> bool:
    """Decode a block's functions as far as the place ``last``, its masks and symbols being known; return
    whether its bytes are those that were written."""
    stream, model, escape_bytes = coding.function_stream, coding.functions, coding.escape_bytes
    data, block, above = stream.data, room.block, room.above
    begin, end, good = _begin(stream, number)
    if not good:
        return False
    above[2, :] = -1
    state, at_byte = _first_state(data, begin, end)
    for at in range(last // 64 + 1):
        left, mask = -1, block.masks[at] & _as_far(at, last)
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            context = function_context(int(block.symbol[place]), left, above[2, square])
            function, state, at_byte = _symbol(model, context, state, data, at_byte, end)
            if function == FUNCTION_ESCAPE:
                function, state, at_byte = _bytes(escape_bytes, state, data, at_byte, end)
            block.function[place] = left = above[2, square] = function
    return last < BLOCK_SLOTS - 1 or (at_byte == end and (state == LOW or begin == end))
