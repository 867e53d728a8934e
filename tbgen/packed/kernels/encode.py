"""Counting, encoding and decoding many blocks at once.

What a decoder meets is a symbol in a context, or a byte: a *step*. All steps of a table stand in one order,
those of values first, then those of depths, of functions and of bytes; a step is its place there.
"""

from dataclasses import dataclass

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    CAPTURE,
    CAPTURE_FLAG,
    FIRST_VALUE,
    FUNCTION_ESCAPE,
    HALF_BYTES,
    HALF_ESCAPE,
    LOW,
    NOWHERE,
    RECIPROCAL,
    RECIPROCAL_BITS,
    SELF,
    STATE_BYTES,
    TOTAL,
    TOTAL_BITS,
    Coding,
    Content,
    Frequencies,
    Room,
    Stream,
    checksum,
    decode_functions,
    decode_values,
    depth_context,
    find_mask,
    function_context,
    value_context,
)
from tbgen.packed.kernels.derive import depth_of_half
from tbgen.packed.kernels.rows import Rows, first_slot, place_row
from tbgen.retro.kernels.words import ALL, ONE, Ints, Words, add, lowest, prefetch, put

VALUES, DEPTHS, FUNCTIONS, BYTES = range(4)
"""What there are steps of; all bytes stand in one context."""


@dataclass(frozen=True, eq=False)
class Encoding(Struct):
    """All that is needed to encode a table."""

    rows: Rows
    of_code: Ints
    """int64 (256,): value symbol of each code that occurs."""
    escape_bytes: int
    """Bytes of a function's number after FUNCTION_ESCAPE."""
    first: Ints
    """int64 (4,): where the steps of each kind begin."""
    width: Ints
    """int64 (4,): how many symbols a context of theirs has."""
    start: Frequencies
    """uint16 (steps,): where the share of each step begins, of ``TOTAL``."""
    size: Frequencies
    """uint16 (steps,): its share; 0 where it never occurs."""


@kernel
def count_codes(content: Content, count: Ints, start: int, stop: int) -> None:
    """Add to ``count``, int64 (256,), how often each value is stored among the slots ``start`` to
    ``stop`` - 1: where the depth is not 0, and has no flag."""
    for slot in range(start, stop):
        if 0 < content.depth[slot] < CAPTURE_FLAG:
            count[content.value[slot]] += 1


@kernel
def turn_flags(content: Content, captures: Words, start: int, stop: int) -> None:
    """Flag the depths of the slots of ``captures``, uint64 (slots / 64,), or take their flags away; words
    ``start`` to ``stop`` - 1."""
    for word in range(start, stop):
        if captures[word]:
            add(content.depth, word * 64, captures[word], CAPTURE_FLAG)  # twice it is more than 16 bits hold


@inlined
def _ask_for(rows: Rows, content: Content, number: int, squares: Ints) -> None:
    """Ask the memory for the slots of a block ahead of its use, where those of a row are neighbours."""
    if rows.row_shift:
        return
    for row in range(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS):
        place_row(rows, row, squares)
        first = first_slot(rows, row, squares)
        prefetch(content.value, first)
        for line in range(first, first + 64, 32):
            prefetch(content.depth, line)
        if len(content.function):
            for line in range(first, first + 64, 16):
                prefetch(content.function, line)


@inlined
def _read_slots(encoding: Encoding, content: Content, number: int, room: Room) -> int:
    """Fill a block from the arrays of the stored side; return how many positions it has, -1 if the arrays
    lack one of them."""
    rows, block, value, depth, count = encoding.rows, room.block, content.value, content.depth, 0
    for at in range(len(block.masks)):
        row = number * BLOCK_ROWS + at
        find_mask(rows, row, at, room)
        mask = block.masks[at]
        first = first_slot(rows, row, room.squares)
        put(block.symbol, at * 64, ALL, NOWHERE)
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            slot, place = first + (square << rows.row_shift), at * 64 + square
            if value[slot] == NONE:
                return -1
            count += 1
            symbol, half = SELF, int64(depth[slot]) >> 1
            if depth[slot] & CAPTURE_FLAG:
                symbol, half = CAPTURE, 0
            elif depth[slot]:
                symbol = encoding.of_code[value[slot]]
            block.symbol[place], block.half[place] = symbol, half
            if len(content.function):
                block.function[place] = content.function[slot]
    return count


@inlined
def _step(encoding: Encoding, kind: int, context: int, symbol: int) -> int:
    """The step of a symbol in a context."""
    return int(encoding.first[kind]) + context * int(encoding.width[kind]) + symbol


@inlined
def _add_bytes(encoding: Encoding, steps: Ints, count: int, number: int, size: int) -> int:
    """Add the bytes of a number, the least significant first."""
    for byte in range(size):
        steps[count + byte] = _step(encoding, BYTES, 0, (number >> (8 * byte)) & 255)
    return count + size


@kernel
def _list_steps(encoding: Encoding, functions: bool, room: Room) -> int:
    """List the steps of a block's functions, or else of its values and depths; return how many."""
    block, steps, above, count = room.block, room.steps, room.above, 0
    nowhere = -1 if functions else NOWHERE
    above[2 if functions else 0, :] = nowhere
    for at in range(len(block.masks)):
        left, left_half, mask = nowhere, 0, block.masks[at]
        checks, captures = block.checks[at], block.captures[at]
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = at * 64 + square
            symbol, half, up = int(block.symbol[place]), int(block.half[place]), above[0, square]
            if functions:
                function = int(block.function[place])
                context = function_context(symbol, left, above[2, square])
                steps[count] = _step(encoding, FUNCTIONS, context, min(function, FUNCTION_ESCAPE))
                count += 1
                if function >= FUNCTION_ESCAPE:
                    count = _add_bytes(encoding, steps, count, function, encoding.escape_bytes)
                left = above[2, square] = function
                continue
            context = value_context(checks, captures, square, left, up)
            steps[count] = _step(encoding, VALUES, context, symbol)
            count += 1
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                steps[count] = _step(encoding, DEPTHS, context, min(half, HALF_ESCAPE))
                count += 1
                if half >= HALF_ESCAPE:
                    count = _add_bytes(encoding, steps, count, half, HALF_BYTES)
            left, left_half = symbol, half
            above[0, square], above[1, square] = symbol, half
    return count


@kernel
def count_blocks(encoding: Encoding, content: Content, counts: Ints, room: Room, first: int, end: int) -> int:
    """Add the steps of the blocks ``first`` to ``end`` - 1 to ``counts``, int64 (steps,); return how many
    positions these have, -1 if the arrays lack one of them."""
    total = 0
    for number in range(first, end):
        _ask_for(encoding.rows, content, min(number + 1, end - 1), room.squares)
        found = _read_slots(encoding, content, number, room)
        if found < 0:
            return -1
        total += found
        for kind in range(2 if len(content.function) else 1):
            for at in range(_list_steps(encoding, kind == 1, room)):
                counts[room.steps[at]] += 1
    return total


@kernel
def _write_steps(encoding: Encoding, stream: Stream, number: int, steps: Ints, count: int, at: int) -> int:
    """Encode a block's ``count`` steps, whose shares are not 0, to the stream's data from ``at`` on, and note
    length and checksum; return the end of what was written, beyond which one byte more may have been
    touched."""
    out, end, state = stream.data, at, LOW
    for back in range(count):
        step = steps[count - 1 - back]
        start, size = int64(encoding.start[step]), int64(encoding.size[step])
        most = size * ((LOW >> TOTAL_BITS) << 8)
        # No more than two bytes have to go; what is written beyond them is written again.
        out[end] = state & 255
        out[end + 1] = state >> 8 & 255
        gone = int64(state >= most) + int64(state >> 8 >= most)
        end += gone
        state >>= 8 * gone
        times = (state * RECIPROCAL[size]) >> RECIPROCAL_BITS
        state += times * (TOTAL - size) + start
    for _ in range(STATE_BYTES if count else 0):
        out[end] = state & 255
        end += 1
        state >>= 8
    for place in range((end - at) // 2):
        out[at + place], out[end - 1 - place] = out[end - 1 - place], out[at + place]
    stream.length[number] = end - at
    stream.check[number] = checksum(out, at, end)
    return end


@kernel
def encode_blocks(
    encoding: Encoding, content: Content, values: Stream, functions: Stream, room: Room, first: int, end: int
) -> tuple[int, int]:
    """Encode the values and depths of the blocks ``first`` to ``end`` - 1, and their functions, to the
    beginning of the streams' data; return how many bytes."""
    at, at_functions, steps = 0, 0, room.steps
    for number in range(first, end):
        _ask_for(encoding.rows, content, min(number + 1, end - 1), room.squares)
        _read_slots(encoding, content, number, room)
        at = _write_steps(encoding, values, number, steps, _list_steps(encoding, False, room), at)
        if len(content.function):
            count = _list_steps(encoding, True, room)
            at_functions = _write_steps(encoding, functions, number, steps, count, at_functions)
    return at, at_functions


@kernel
def _take(coding: Coding, content: Content, compared: bool, room: Room, slot: int, place: int) -> bool:
    """Write one position of a block to the arrays, or compare it with what they have."""
    block, symbol = room.block, int64(room.block.symbol[place])
    if symbol >= len(coding.code):
        return False
    code, depth, same = int64(coding.code[symbol]), int64(0), True
    if symbol == CAPTURE:
        depth = int64(CAPTURE_FLAG)
    elif symbol != SELF:
        depth = depth_of_half(coding.rows.side, code, int64(block.half[place]))
    if compared:
        known = int64(content.depth[slot])
        same = known & CAPTURE_FLAG == CAPTURE_FLAG if symbol == CAPTURE else known == depth
        same &= symbol <= CAPTURE or content.value[slot] == code
        if len(content.function):
            same &= content.function[slot] == block.function[place]
        return same
    content.value[slot], content.depth[slot] = code, depth
    if len(content.function):
        content.function[slot] = block.function[place]
    return True


@kernel
def decode_blocks(coding: Coding, content: Content, compared: bool, room: Room, first: int, end: int) -> bool:
    """Decode the blocks ``first`` to ``end`` - 1 to the arrays, by slot, functions only where there is room
    for them, or compare them with these: codes and depths of explicit values, CAPTURE_FLAG in the depth of
    captures, depth 0 for positions worth their own score. Returns whether all blocks are what was written,
    and what is compared is the same."""
    rows, block, good = coding.rows, room.block, True
    # A plain constant would have the compiler unroll all loops over rows, for twenty seconds.
    size, last = len(block.masks), len(block.symbol) - 1
    for number in range(first, end):
        _ask_for(rows, content, min(number + 1, end - 1), room.squares)
        for at in range(size):
            find_mask(rows, number * BLOCK_ROWS + at, at, room)
        good &= decode_values(coding, number, last, room)
        if len(content.function):
            good &= decode_functions(coding, number, last, room)
        for at in range(size):
            place_row(rows, number * BLOCK_ROWS + at, room.squares)
            slot_of_row = first_slot(rows, number * BLOCK_ROWS + at, room.squares)
            mask = block.masks[at]
            while mask:
                square = lowest(mask)
                mask &= mask - ONE
                slot, place = slot_of_row + (square << rows.row_shift), at * 64 + square
                good &= _take(coding, content, compared, room, slot, place)
    return good
