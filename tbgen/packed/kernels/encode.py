"""Counting, encoding and decoding many blocks at once."""

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    CAPTURE,
    CAPTURE_FLAG,
    OF_DEPTH,
    OF_FUNCTION,
    OF_VALUE,
    SELF,
    Coding,
    Content,
    Room,
    Stream,
    find_mask,
    function_steps,
    read_slots,
    value_steps,
    write_steps,
)
from tbgen.packed.kernels.decode import decode_functions, decode_values
from tbgen.packed.kernels.rans import checksum
from tbgen.packed.kernels.rows import Rows, first_slot, place_row
from tbgen.packed.kernels.rule import depth_of_half
from tbgen.retro.kernels.bits import ONE, Codes, Ints, lowest, prefetch


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


@kernel
def count_codes(content: Content, start: int, stop: int, count: Ints) -> int:
    """Add the codes of the slots ``start`` to ``stop`` - 1 that need to be stored to ``count``, int64 (256,);
    return the greatest of all depths in plies."""
    deepest = int64(0)
    for slot in range(start, stop):
        depth = int64(content.depth[slot])
        deepest = max(deepest, depth & (CAPTURE_FLAG - 1))
        if 0 < depth < CAPTURE_FLAG:
            count[content.value[slot]] += 1
    return deepest


@inlined
def _count(steps: Ints, count: int, counts: tuple[Ints, Ints, Ints]) -> None:
    for number in range(count):
        step = steps[number]
        kind, symbol, context = step & 3, step >> 2 & 255, step >> 10
        if kind == OF_VALUE:
            counts[0][context, symbol] += 1
        elif kind == OF_DEPTH:
            counts[1][context, symbol] += 1
        elif kind == OF_FUNCTION:
            counts[2][context, symbol] += 1


@kernel
def count_blocks(
    coding: Coding, content: Content, counts: tuple[Ints, Ints, Ints], room: Room, first: int, end: int
) -> bool:
    """Add the symbols of the blocks ``first`` to ``end`` - 1 to the counts of values, depths and functions,
    shape (contexts, symbols) each; return whether the arrays have positions just where the rows have them."""
    agree = True
    for number in range(first, end):
        _ask_for(coding.rows, content, min(number + 1, end - 1), room.squares)
        agree &= read_slots(coding, content, number, room)
        _count(room.steps, value_steps(room), counts)
        if len(content.function):
            _count(room.steps, function_steps(coding.escape_bytes, room), counts)
    return agree


@inlined
def _note_block(stream: Stream, number: int, out: Codes, begin: int, end: int) -> None:
    """Note length and checksum of a block that has been written."""
    stream.length[number] = end - begin
    stream.check[number] = checksum(out, begin, end)


@kernel
def encode_blocks(
    coding: Coding, content: Content, out: tuple[Codes, Codes], room: Room, first: int, end: int
) -> tuple[int, int]:
    """Encode the values and depths of the blocks ``first`` to ``end`` - 1 to the one array, their functions
    to the other; return how many bytes. Lengths and checksums of the blocks go to their streams."""
    at, at_functions = 0, 0
    for number in range(first, end):
        _ask_for(coding.rows, content, min(number + 1, end - 1), room.squares)
        read_slots(coding, content, number, room)
        begin = at
        at = write_steps(coding, room.steps, value_steps(room), out[0], begin)
        _note_block(coding.value_stream, number, out[0], begin, at)
        if len(content.function):
            begin, count = at_functions, function_steps(coding.escape_bytes, room)
            at_functions = write_steps(coding, room.steps, count, out[1], begin)
            _note_block(coding.function_stream, number, out[1], begin, at_functions)
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
    if len(content.value):
        content.value[slot], content.depth[slot] = code, depth
    if len(content.function):
        content.function[slot] = block.function[place]
    return True


@kernel
def decode_blocks(coding: Coding, content: Content, compared: bool, room: Room, first: int, end: int) -> bool:
    """Decode the blocks ``first`` to ``end`` - 1 to those arrays that are not empty, by slot, or compare them
    with these: codes and depths of explicit values, CAPTURE_FLAG in the depth of captures, depth 0 for
    positions worth their own score. Returns whether all blocks are what was written, and what is compared is
    the same."""
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
