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
from tbgen.packed.kernels.rans import LOW, Model, checksum, find, refill, without
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
def _symbol(model: Model, context: int, state: int, data: Codes, at: int, end: int) -> tuple[int, int, int]:
    """The symbol of a context that a state begins with, the state after it, and where the next byte lies."""
    place = find(model, context, state)
    state, at = refill(without(model, context, place, state), data, at, end)
    return int(model.symbol[context, place]), state, at


@inlined
def _decode(coding: Coding, functions: bool, number: int, last: int, room: Room) -> bool:
    """Decode a block's functions, or else its symbols and halves, as far as the place ``last``."""
    values, depths, escape_bytes = coding.values, coding.depths, coding.escape_bytes
    stream, nowhere = (coding.function_stream, -1) if functions else (coding.value_stream, NOWHERE)
    data, block, above = stream.data, room.block, room.above
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
def decode_values(coding: Coding, number: int, last: int, room: Room) -> bool:
    """Decode a block's symbols and halves, its masks being known, as far as the place ``last``; return
    whether its bytes are those that were written."""
    return _decode(coding, False, number, last, room)


@kernel
def decode_functions(coding: Coding, number: int, last: int, room: Room) -> bool:
    """Decode a block's functions as far as the place ``last``, its masks and symbols being known; return
    whether its bytes are those that were written."""
    return _decode(coding, True, number, last, room)
