"""Counting, encoding and decoding many blocks at once."""

import numpy as np
from numpy.typing import NDArray

from tbgen.accelerate import jit
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    CAPTURE,
    CAPTURE_FLAG,
    FIRST_VALUE,
    SELF,
    Stream,
    Symbols,
    count_functions,
    count_values,
    decode_functions,
    decode_values,
    find_masks,
    make_block,
    make_scratch,
    read_functions,
    read_slots,
    write_functions,
    write_values,
)
from tbgen.packed.kernels.rans import Model, checksum
from tbgen.packed.kernels.rows import Rows, first_slot, place_row
from tbgen.retro.kernels.bits import ONE, Codes, Ints, Plies, lowest


@jit
def count_blocks(
    rows: Rows,
    symbols: Symbols,
    value: Codes,
    depth: Plies,
    part: tuple[int, int],
    values: Ints,
    depths: Ints,
) -> bool:
    """Add the symbols of the blocks ``part`` (first, last + 1) to the counts; return whether the arrays have
    positions just where the rows have them."""
    block, scratch, agree = make_block(), make_scratch(), True
    for number in range(part[0], part[1]):
        agree &= read_slots(rows, symbols, number, value, depth, scratch, block)
        count_values(block, values, depths, scratch)
    return agree


@jit
def count_function_blocks(
    rows: Rows,
    symbols: Symbols,
    value: Codes,
    depth: Plies,
    function: NDArray[np.uint32],
    part: tuple[int, int],
    functions: Ints,
) -> None:
    """Add the functions of the blocks ``part`` to the counts."""
    block, scratch = make_block(), make_scratch()
    for number in range(part[0], part[1]):
        read_slots(rows, symbols, number, value, depth, scratch, block)
        read_functions(rows, number, function, scratch, block)
        count_functions(block, functions, scratch)


@jit
def encode_blocks(
    rows: Rows,
    symbols: Symbols,
    value: Codes,
    depth: Plies,
    part: tuple[int, int],
    values: Model,
    depths: Model,
    stream: Stream,
    out: Codes,
) -> int:
    """Encode the values of the blocks ``part`` to ``out``; return how many bytes.

    Length and checksum of each block go to ``stream``.
    """
    block, scratch, end = make_block(), make_scratch(), 0
    for number in range(part[0], part[1]):
        read_slots(rows, symbols, number, value, depth, scratch, block)
        begin = end
        end = write_values(block, values, depths, scratch, out, end)
        stream.length[number] = end - begin
        stream.check[number] = checksum(out, begin, end)
    return end


@jit
def encode_function_blocks(
    rows: Rows,
    symbols: Symbols,
    value: Codes,
    depth: Plies,
    function: NDArray[np.uint32],
    part: tuple[int, int],
    model: Model,
    stream: Stream,
    out: Codes,
) -> int:
    """Encode the functions of the blocks ``part`` to ``out``; return how many bytes."""
    block, scratch, end = make_block(), make_scratch(), 0
    for number in range(part[0], part[1]):
        read_slots(rows, symbols, number, value, depth, scratch, block)
        read_functions(rows, number, function, scratch, block)
        begin = end
        end = write_functions(block, model, symbols.escape_bytes, scratch, out, end)
        stream.length[number] = end - begin
        stream.check[number] = checksum(out, begin, end)
    return end


@jit
def compare_blocks(
    rows: Rows,
    symbols: Symbols,
    arrays: tuple[Codes, Plies, NDArray[np.uint32]],
    part: tuple[int, int],
    models: tuple[Model, Model, Model],
    streams: tuple[Stream, Stream],
) -> bool:
    """Decode the blocks ``part``; return whether that gives what the arrays hold: values, depths and
    functions, the last empty if there are none."""
    value, depth, function = arrays
    wanted, found, scratch = make_block(), make_block(), make_scratch()
    last, good = BLOCK_ROWS - 1, True
    for number in range(part[0], part[1]):
        read_slots(rows, symbols, number, value, depth, scratch, wanted)
        find_masks(rows, number, scratch, found)
        good &= decode_values(streams[0], number, models[0], models[1], last, scratch, found)
        if len(function):
            read_functions(rows, number, function, scratch, wanted)
            good &= decode_functions(
                streams[1], number, models[2], symbols.escape_bytes, last, scratch, found
            )
        for at in range(BLOCK_ROWS):
            good &= wanted.masks[at] == found.masks[at]
            mask = wanted.masks[at]
            while mask:
                place = at * 64 + lowest(mask)
                mask &= mask - ONE
                good &= wanted.symbol[place] == found.symbol[place]
                if wanted.symbol[place] >= FIRST_VALUE:
                    good &= wanted.half[place] == found.half[place]
                if len(function):
                    good &= wanted.function[place] == found.function[place]
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
        good &= decode_values(stream, number, values, depths, BLOCK_ROWS - 1, scratch, block)
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
    shift, last = rows.row_shift, BLOCK_ROWS - 1
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
