"""Counting, encoding and decoding many blocks at once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    BLOCK_SLOTS,
    CAPTURE,
    CAPTURE_FLAG,
    SELF,
    Stream,
    Symbols,
    count_functions,
    count_values,
    make_block,
    make_scratch,
    read_functions,
    read_slots,
    write_functions,
    write_values,
)
from tbgen.packed.kernels.decode import decode_functions, decode_values, find_masks
from tbgen.packed.kernels.rans import Model, checksum
from tbgen.packed.kernels.rows import Rows, first_slot, place_row
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Codes, Ints, Plies, lowest, prefetch
from tbgen.retro.kernels.lanes import same


class Content(NamedTuple):
    """What is packed of a table: its stored side, by slot."""

    value: Codes
    """uint8 (size,)."""
    depth: Plies
    """uint16 (size,): plies, with CAPTURE_FLAG where the value need not be stored."""
    function: NDArray[np.uint32]
    """uint32 (size,): functions, or empty if there are none."""


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


@jit
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


@jit
def count_blocks(
    rows: Rows, symbols: Symbols, content: Content, part: tuple[int, int], counts: tuple[Ints, Ints, Ints]
) -> bool:
    """Add the symbols of the blocks ``part`` (first, last + 1) to the counts of values, depths and functions;
    return whether the arrays have positions just where the rows have them."""
    block, scratch, agree = make_block(), make_scratch(), True
    for number in range(part[0], part[1]):
        _ask_for(rows, content, min(number + 1, part[1] - 1), scratch.squares)
        agree &= read_slots(rows, symbols, number, content.value, content.depth, scratch, block)
        count_values(block, counts[0], counts[1], scratch)
        if len(content.function):
            read_functions(rows, number, content.function, scratch, block)
            count_functions(block, counts[2], scratch)
    return agree


@inlined
def _note_block(stream: Stream, number: int, out: Codes, begin: int, end: int) -> None:
    """Note length and checksum of a block that has been written."""
    stream.length[number] = end - begin
    stream.check[number] = checksum(out, begin, end)


@jit
def encode_blocks(
    rows: Rows,
    symbols: Symbols,
    content: Content,
    part: tuple[int, int],
    models: tuple[Model, Model, Model],
    streams: tuple[Stream, Stream],
    out: tuple[Codes, Codes],
) -> tuple[int, int]:
    """Encode the values and depths of the blocks ``part`` to the one array, their functions to the other;
    return how many bytes.

    Lengths and checksums of the blocks go to ``streams``.
    """
    block, scratch, end, end_functions = make_block(), make_scratch(), 0, 0
    for number in range(part[0], part[1]):
        _ask_for(rows, content, min(number + 1, part[1] - 1), scratch.squares)
        read_slots(rows, symbols, number, content.value, content.depth, scratch, block)
        begin = end
        end = write_values(block, models[0], models[1], scratch, out[0], end)
        _note_block(streams[0], number, out[0], begin, end)
        if len(content.function):
            read_functions(rows, number, content.function, scratch, block)
            begin = end_functions
            end_functions = write_functions(block, models[2], symbols.escape_bytes, scratch, out[1], begin)
            _note_block(streams[1], number, out[1], begin, end_functions)
    return end, end_functions


@jit
def compare_blocks(
    rows: Rows,
    symbols: Symbols,
    content: Content,
    part: tuple[int, int],
    models: tuple[Model, Model, Model],
    streams: tuple[Stream, Stream],
) -> bool:
    """Decode the blocks ``part``; return whether that gives what the arrays hold."""
    wanted, found, scratch = make_block(), make_block(), make_scratch()
    last, good = BLOCK_SLOTS - 1, True
    for number in range(part[0], part[1]):
        _ask_for(rows, content, min(number + 1, part[1] - 1), scratch.squares)
        read_slots(rows, symbols, number, content.value, content.depth, scratch, wanted)
        find_masks(rows, number, scratch, found)
        good &= decode_values(streams[0], number, models[0], models[1], last, scratch, found)
        if len(content.function):
            read_functions(rows, number, content.function, scratch, wanted)
            good &= decode_functions(
                streams[1], number, models[2], symbols.escape_bytes, last, scratch, found
            )
        for at in range(BLOCK_ROWS):
            mask, first = wanted.masks[at], at * 64
            good &= mask == found.masks[at]
            good &= same(wanted.symbol, first, found.symbol, first) == ALL
            good &= mask & ~same(wanted.half, first, found.half, first) == ZERO
            if len(content.function):
                good &= mask & ~same(wanted.function, first, found.function, first) == ZERO
    return good


@jit
def decode_blocks(
    rows: Rows,
    symbols: Symbols,
    part: tuple[int, int],
    values: Model,
    depths: Model,
    stream: Stream,
    value: Codes,
    depth: Plies,
) -> bool:
    """Decode the blocks ``part`` to arrays by slot: codes and depths of explicit values, CAPTURE_FLAG in the
    depth of captures, and depth 0 for positions worth their own score. Returns whether all blocks are what
    was written."""
    block, scratch, good = make_block(), make_scratch(), True
    shift = rows.row_shift
    for number in range(part[0], part[1]):
        find_masks(rows, number, scratch, block)
        good &= decode_values(stream, number, values, depths, BLOCK_SLOTS - 1, scratch, block)
        for at in range(BLOCK_ROWS):
            place_row(rows, number * BLOCK_ROWS + at, scratch.squares)
            first = first_slot(rows, number * BLOCK_ROWS + at, scratch.squares)
            mask = block.masks[at]
            while mask:
                square = lowest(mask)
                mask &= mask - ONE
                slot, place = first + (square << shift), at * 64 + square
                symbol = int(block.symbol[place])
                code = symbols.code[symbol]
                value[slot] = code
                if symbol == CAPTURE:
                    depth[slot] = CAPTURE_FLAG
                elif symbol == SELF:
                    depth[slot] = 0
                else:
                    holder_moves = (code > 127) == (rows.side == 1)
                    depth[slot] = 2 * int(block.half[place]) + holder_moves
    return good


@jit
def decode_function_blocks(
    rows: Rows,
    symbols: Symbols,
    part: tuple[int, int],
    models: tuple[Model, Model, Model],
    streams: tuple[Stream, Stream],
    function: NDArray[np.uint32],
) -> bool:
    """Decode the functions of the blocks ``part`` to an array by slot; return whether all blocks are what was
    written."""
    block, scratch, good = make_block(), make_scratch(), True
    shift, last = rows.row_shift, BLOCK_SLOTS - 1
    for number in range(part[0], part[1]):
        find_masks(rows, number, scratch, block)
        good &= decode_values(streams[0], number, models[0], models[1], last, scratch, block)
        good &= decode_functions(streams[1], number, models[2], symbols.escape_bytes, last, scratch, block)
        for at in range(BLOCK_ROWS):
            place_row(rows, number * BLOCK_ROWS + at, scratch.squares)
            first = first_slot(rows, number * BLOCK_ROWS + at, scratch.squares)
            mask = block.masks[at]
            while mask:
                square = lowest(mask)
                mask &= mask - ONE
                function[first + (square << shift)] = block.function[at * 64 + square]
    return good
