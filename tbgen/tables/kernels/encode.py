"""Counting, encoding and decoding many blocks at once.

A *step* is the unit of coding: a symbol in a context, or a byte. Lists contain a step as an integer. Its
lowest eight bits are the symbol or byte, and the bits above are the number of the context of the last level.
Bytes have the context ``BYTE_CONTEXT``.

A function gives V(P, A) for each accrued score A.

The arrays contain the positions with the *stored side* to move, the only positions that a packed table
stores.
"""

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.moves.geometry import BIT
from tbgen.moves.kernels.words import ALL, ONE, Ints, lowest, prefetch_for_reading, prefetch_slots, put
from tbgen.tables.kernels.blocks import (
    LOW,
    NO_FUNCTION,
    RECIPROCAL,
    RECIPROCAL_BITS,
    checksum,
    decode_functions,
    decode_values,
    depth_context,
    find_mask,
    first_line,
    function_context,
    hints_of,
    interval_of,
    value_context,
)
from tbgen.tables.kernels.goals import depth_of_half
from tbgen.tables.kernels.rows import first_slot, king_class, place_row
from tbgen.tables.structs import (
    CAPTURE,
    CAPTURE_FLAG,
    FIRST_VALUE,
    FUNCTION_ESCAPE,
    HALF_DEPTH_BYTES,
    HALF_ESCAPE,
    HIGH_BYTE_CONTEXT,
    KING_CLASSES,
    MAX_STEPS,
    NOWHERE,
    SAME_AS_LEFT,
    SAME_AS_UP,
    SELF,
    TOTAL,
    TOTAL_BITS,
    Buffers,
    Bytes,
    Coding,
    Content,
    Encoding,
    Frequencies,
    Model,
    Rows,
    Stream,
)

VALUES, DEPTHS, FUNCTIONS = range(3)
"""Kinds of steps. The bytes of a number have the kind of the symbol before them."""
BYTE_CONTEXT = 1 << 32

Counts = NDArray[np.uint32]
"""uint32 (contexts + 1, 256): frequency by the first line of the context, and by symbol."""

_LOOK_AHEAD = 16
"""Number of steps by which prefetching is ahead of reading."""


@inlined
def _is_omitted(content: Content, slot: int) -> bool:
    """Whether the value of a slot is not stored."""
    return bool(content.omitted[slot >> 6] & BIT[slot & 63])


@kernel
def count_codes(content: Content, frequencies: Ints, start: int, stop: int) -> None:
    """Add the frequencies of explicit values in a range of slots to ``frequencies``, int64 (256,).

    A value is explicit if its depth is not 0 and it is not omitted.
    """
    for slot in range(start, stop):
        if content.depth[slot] and not _is_omitted(content, slot):
            frequencies[content.value[slot]] += 1


@inlined
def _prefetch_block(rows: Rows, content: Content, block_number: int, squares: Ints) -> None:
    """Prefetch the slots of a block if the slots of each row are adjacent."""
    if rows.row_shift:
        return
    for row in range(block_number * rows.block_rows, (block_number + 1) * rows.block_rows):
        place_row(rows, row, squares)
        row_slot = first_slot(rows, row, squares)
        prefetch_slots(content.value, content.depth, row_slot)
        if len(content.function_number):
            for line in range(row_slot, row_slot + 64, 16):
                prefetch_for_reading(content.function_number, line)


@inlined
def _read_slots(encoding: Encoding, content: Content, block_number: int, buffers: Buffers) -> int:
    """Fill a block from the arrays of the stored side. Return its number of positions, or -1 if a position
    has no value."""
    rows = encoding.rows
    block = buffers.block
    value = content.value
    depth = content.depth
    count = 0
    for block_row in range(rows.block_rows):
        row = block_number * rows.block_rows + block_row
        find_mask(rows, row, block_row, buffers)
        mask = block.masks[block_row]
        row_slot = first_slot(rows, row, buffers.squares)
        put(block.symbol, block_row * 64, ALL, NOWHERE)
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            slot = row_slot + (square << rows.row_shift)
            index = block_row * 64 + square
            if value[slot] == NONE:
                return -1
            count += 1
            symbol = SELF
            half_depth = int64(depth[slot]) >> 1
            if _is_omitted(content, slot):
                symbol, half_depth = CAPTURE, 0
            elif depth[slot]:
                symbol = encoding.symbol_of_code[value[slot]]
            block.symbol[index], block.half_depth[index] = symbol, half_depth
            if len(content.function_number):
                block.function_number[index] = content.function_number[slot]
    return count


@inlined
def _add_step(buffers: Buffers, kind: int, count: int, context: int, kings: int, symbol: int) -> int:
    """Append a step to the list of its kind. Return the new length of the list.

    :param context: the context of the last level but one, which the king class refines.
    """
    buffers.steps[kind, count] = (context * KING_CLASSES + kings) << 8 | symbol
    return count + 1


@inlined
def _add_number(buffers: Buffers, kind: int, count: int, value: int, size: int) -> int:
    """Append the steps of the bytes of a number, least significant first. Return the new length of the
    list."""
    for byte in range(size):
        buffers.steps[kind, count + byte] = BYTE_CONTEXT << 8 | (value >> (8 * byte)) & 255
    return count + size


@inlined
def _list_values(rows: Rows, buffers: Buffers) -> tuple[int, int]:
    """List the steps of the values and of the half depths of a block. Return the number of steps of each."""
    block = buffers.block
    above = buffers.above
    count = 0
    depth_count = 0
    above[0, :] = NOWHERE
    for block_row in range(rows.block_rows):
        mask = block.masks[block_row]
        no_neighbour = (int64(NOWHERE), int64(0))
        left, corner = no_neighbour, no_neighbour
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            index = block_row * 64 + square
            up = (above[0, square], above[1, square])
            symbol, half = int64(block.symbol[index]), int64(block.half_depth[index])
            hints = hints_of(block.checks[block_row], block.captures[block_row], square)
            kings = king_class(rows, block.kings[block_row], square)
            context = value_context(hints, left[0], up[0], corner[0])
            count = _add_step(buffers, VALUES, count, context, kings, symbol)
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, hints, left, up, corner)
                depth_count = _add_step(buffers, DEPTHS, depth_count, context, kings, min(half, HALF_ESCAPE))
                if half >= HALF_ESCAPE:
                    depth_count = _add_number(buffers, DEPTHS, depth_count, half, HALF_DEPTH_BYTES)
            above[0, square], above[1, square] = symbol, half
            left = (symbol, half)
            corner = up
    return count, depth_count


@inlined
def _list_functions(rows: Rows, escape_bytes: int, buffers: Buffers) -> int:
    """List the steps of the functions of a block. Return the number of steps, 0 if only function 0 occurs."""
    block = buffers.block
    above = buffers.above
    count = 0
    is_needed = False
    above[2, :] = NO_FUNCTION
    for block_row in range(rows.block_rows):
        mask = block.masks[block_row]
        left, corner = int64(NO_FUNCTION), int64(NO_FUNCTION)
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            index = block_row * 64 + square
            up = above[2, square]
            function = int64(block.function_number[index])
            kings = king_class(rows, block.kings[block_row], square)
            context = function_context(int64(block.symbol[index]), left, up, corner)
            symbol = function
            if function >= SAME_AS_LEFT:
                symbol = FUNCTION_ESCAPE if function != up else SAME_AS_UP
                symbol = SAME_AS_LEFT if function == left else symbol
            count = _add_step(buffers, FUNCTIONS, count, context, kings, symbol)
            if symbol == FUNCTION_ESCAPE:
                high = function >> 8 * (escape_bytes - 1)
                count = _add_step(buffers, FUNCTIONS, count, int64(HIGH_BYTE_CONTEXT), 0, high)
                count = _add_number(buffers, FUNCTIONS, count, function, escape_bytes - 1)
            is_needed |= function > 0
            left, corner = function, up
            above[2, square] = function
    return count if is_needed else 0


@inlined
def _list_steps(encoding: Encoding, with_functions: bool, buffers: Buffers) -> tuple[int, int, int]:
    """List the steps of a block. Return the number of steps of each kind."""
    values, depths = _list_values(encoding.rows, buffers)
    functions = _list_functions(encoding.rows, encoding.escape_bytes, buffers) if with_functions else 0
    return values, depths, functions


@inlined
def is_sampled(block_number: int, sampling_bits: int) -> bool:
    """Whether a block belongs to the sample: pseudo-randomly, one in 2 ** ``sampling_bits`` blocks does."""
    return (block_number * 0x9E3779B97F4A7C1 >> 20) & ((1 << sampling_bits) - 1) == 0


@kernel
def list_sampled_blocks(
    encoding: Encoding,
    content: Content,
    sampling_bits: int,
    buffers: Buffers,
    start: int,
    end: int,
    steps: Ints,
    lengths: Ints,
) -> int:
    """List the steps of the sampled blocks among the blocks ``start`` to ``end`` - 1. Bytes are omitted.

    :param steps: int64 (3, n): receives the steps of each kind.
    :param lengths: int64 (3,): number of listed steps of each kind; increased in place.
    :returns: the number of the next block. It is less than ``end`` if its steps may not fit into the array.
    """
    rows = encoding.rows
    for block_number in range(start, end):
        if not is_sampled(block_number, sampling_bits):
            continue
        if max(lengths) + MAX_STEPS * 64 * rows.block_rows > steps.shape[1]:
            return block_number
        if _read_slots(encoding, content, block_number, buffers) < 0:
            continue
        sizes = _list_steps(encoding, len(content.function_number) > 0, buffers)
        for kind in range(3):
            for index in range(sizes[kind]):
                step = buffers.steps[kind, index]
                if step >> 8 != BYTE_CONTEXT:
                    steps[kind, lengths[kind]] = step
                    lengths[kind] += 1
    return end


@inlined
def _line_of(model: Model, step: int) -> int:
    """The first line of a step's context."""
    context = step >> 8
    return first_line(model, context // KING_CLASSES, context % KING_CLASSES)


@inlined
def _count_steps(model: Model, steps: Ints, size: int, counts: Counts) -> None:
    for index in range(size):
        step = steps[index]
        if step >> 8 != BYTE_CONTEXT:
            counts[_line_of(model, step), step & 255] += 1


@kernel
def count_blocks(
    encoding: Encoding,
    content: Content,
    counts: tuple[Counts, Counts, Counts],
    buffers: Buffers,
    start: int,
    end: int,
) -> int:
    """Add the frequencies of the steps in the blocks ``start`` to ``end`` - 1 to the counts of each kind.

    :returns: the number of positions, or -1 if a position has no value.
    """
    positions = 0
    steps = buffers.steps
    for index in range(start, end):
        _prefetch_block(encoding.rows, content, min(index + 1, end - 1), buffers.squares)
        count = _read_slots(encoding, content, index, buffers)
        if count < 0:
            return -1
        positions += count
        values, depths, functions = _list_steps(encoding, len(content.function_number) > 0, buffers)
        _count_steps(encoding.value_model, steps[VALUES], values, counts[VALUES])
        _count_steps(encoding.depth_model, steps[DEPTHS], depths, counts[DEPTHS])
        _count_steps(encoding.function_model, steps[FUNCTIONS], functions, counts[FUNCTIONS])
    return positions


@kernel
def find_shares(first_symbols: Ints, count: Ints, share: Frequencies) -> None:
    """Find the share of each symbol from its frequency.

    The shares of each context add up to ``TOTAL``, and none is 0. The symbols of context c are the elements
    ``first_symbols[c]`` to ``first_symbols[c + 1]`` - 1 of ``count`` and ``share``.
    """
    for context in range(len(first_symbols) - 1):
        begin = first_symbols[context]
        end = first_symbols[context + 1]
        total = 0
        most_frequent = first_symbols[context]
        for symbol in range(begin, end):
            total += count[symbol]
            most_frequent = symbol if count[symbol] > count[most_frequent] else most_frequent
        excess = -TOTAL
        for symbol in range(begin, end):
            share[symbol] = max(count[symbol] * TOTAL // total, 1)
            excess += int64(share[symbol])
        if excess < 0:
            share[most_frequent] -= excess
        while excess > 0:  # reduce the share whose reduction costs least
            cheapest = begin
            least_loss = -1.0
            for symbol in range(begin, end):
                loss = count[symbol] / share[symbol]
                if share[symbol] > 1 and (least_loss < 0 or loss < least_loss):
                    cheapest, least_loss = symbol, loss
            share[cheapest] -= 1
            excess -= 1


@inlined
def _reverse(out: Bytes, begin: int, end: int) -> None:
    """Reverse the bytes ``begin`` to ``end`` - 1."""
    for distance in range((end - begin) // 2):
        out[begin + distance], out[end - 1 - distance] = out[end - 1 - distance], out[begin + distance]


@kernel
def _write_steps(model: Model, steps: Ints, count: int, out: Bytes, begin: int) -> int:
    """Encode the first ``count`` of ``steps``, and write the bytes to ``out`` from ``begin`` on.

    The shares of the steps must not be 0. Return the index after the last byte. Elements after this index may
    also have been overwritten.
    """
    end = begin
    state = int64(0)
    for back in range(count):
        later_context = steps[max(count - 1 - back - _LOOK_AHEAD, 0)] >> 8
        prefetch_for_reading(model.tree_node, min(later_context // KING_CLASSES, len(model.tree_node) - 1))
        step = steps[count - 1 - back]
        symbol = step & 255
        start = symbol * (TOTAL // 256)
        size = int64(TOTAL // 256)
        if step >> 8 != BYTE_CONTEXT:
            _, start, size = interval_of(model, _line_of(model, step), symbol)
        limit = size * ((LOW >> TOTAL_BITS) << 8)
        # At most two bytes are emitted. Bytes written after them are overwritten later.
        out[end] = state & 255
        out[end + 1] = state >> 8 & 255
        emitted = int64(state >= limit) + int64(state >> 8 >= limit)
        end += emitted
        state >>= 8 * emitted
        quotient = (state * RECIPROCAL[size]) >> RECIPROCAL_BITS
        state += quotient * (TOTAL - size) + start
    while state:
        out[end] = state & 255
        end += 1
        state >>= 8
    _reverse(out, begin, end)
    return end


@kernel
def encode_blocks(
    encoding: Encoding, content: Content, stream: Stream, buffers: Buffers, start: int, end: int
) -> int:
    """Encode the blocks ``start`` to ``end`` - 1.

    The bytes are written to the data of the stream, beginning at index 0; the lengths and the checksums of
    the blocks are also stored. Return the number of bytes.
    """
    out = stream.data
    size = 0
    steps = buffers.steps
    for index in range(start, end):
        _prefetch_block(encoding.rows, content, min(index + 1, end - 1), buffers.squares)
        _read_slots(encoding, content, index, buffers)
        values, depths, functions = _list_steps(encoding, len(content.function_number) > 0, buffers)
        depth_begin = _write_steps(encoding.value_model, steps[VALUES], values, out, size)
        depth_end = _write_steps(encoding.depth_model, steps[DEPTHS], depths, out, depth_begin)
        stop = _write_steps(encoding.function_model, steps[FUNCTIONS], functions, out, depth_end)
        if functions and stop == depth_end:  # a block without bytes of functions has only function 0
            out[stop] = 0
            stop += 1
        stream.value_length[index], stream.depth_length[index] = depth_begin - size, depth_end - depth_begin
        stream.function_length[index] = stop - depth_end
        stream.checksum[index] = checksum(out, size, stop)
        size = stop
    return size


@kernel
def _store_or_compare(
    coding: Coding, content: Content, compare_only: bool, buffers: Buffers, slot: int, index: int
) -> bool:
    """Write one position of a block to the arrays, or compare it with them.

    Return False if the symbol of the position does not exist, or if the position differs from the arrays.
    """
    block = buffers.block
    symbol = int64(buffers.block.symbol[index])
    if symbol >= len(coding.code):
        return False
    code = int64(coding.code[symbol])
    depth = int64(0)
    equal = True
    if symbol == CAPTURE:
        depth = int64(CAPTURE_FLAG)
    elif symbol != SELF:
        depth = depth_of_half(coding.rows.side, code, int64(block.half_depth[index]))
    if compare_only:
        omitted = _is_omitted(content, slot)
        equal = omitted if symbol == CAPTURE else not omitted and content.depth[slot] == depth
        equal &= symbol <= CAPTURE or content.value[slot] == code
        if len(content.function_number):
            equal &= content.function_number[slot] == block.function_number[index]
        return equal
    content.value[slot], content.depth[slot] = code, depth
    if len(content.function_number):
        content.function_number[slot] = block.function_number[index]
    return True


@kernel
def decode_blocks(
    coding: Coding, content: Content, compare_only: bool, buffers: Buffers, start: int, end: int
) -> bool:
    """Decode the blocks ``start`` to ``end`` - 1 into the arrays, or only compare them with the arrays.

    Explicit values get a code and a depth. The depth is CAPTURE_FLAG if the best capture gives the value, and
    0 if the value is the position score. Functions are omitted if their array is empty. Return whether all
    blocks are undamaged and, if they are compared, equal the arrays.
    """
    rows = coding.rows
    block = buffers.block
    correct = True
    size = rows.block_rows
    last = 64 * rows.block_rows - 1
    for index in range(start, end):
        _prefetch_block(rows, content, min(index + 1, end - 1), buffers.squares)
        for block_row in range(size):
            find_mask(rows, index * size + block_row, block_row, buffers)
        correct &= decode_values(coding, index, last, buffers)
        if len(content.function_number):
            correct &= decode_functions(coding, index, last, buffers)
        for block_row in range(size):
            place_row(rows, index * size + block_row, buffers.squares)
            slot_of_row = first_slot(rows, index * size + block_row, buffers.squares)
            mask = block.masks[block_row]
            while mask:
                square = lowest(mask)
                mask &= mask - ONE
                slot = slot_of_row + (square << rows.row_shift)
                slot_index = block_row * 64 + square
                correct &= _store_or_compare(coding, content, compare_only, buffers, slot, slot_index)
    return correct
