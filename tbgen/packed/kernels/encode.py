"""Counting, encoding and decoding many blocks at once.

A *step* is the unit of coding: a symbol in a context, or a byte. The possible steps of a table are numbered:
first the steps of values, then the steps of depths, functions and bytes. A function gives V(P, A) for each
accrued score A.

The arrays contain the positions with the *stored side* to move, the only positions that a packed table
stores.
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
    HALF_DEPTH_BYTES,
    HALF_ESCAPE,
    LOW,
    NOWHERE,
    RECIPROCAL,
    RECIPROCAL_BITS,
    SELF,
    STATE_BYTES,
    TOTAL,
    TOTAL_BITS,
    Buffers,
    Coding,
    Content,
    Frequencies,
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

VALUE_STEP, DEPTH_STEP, FUNCTION_STEP, BYTE_STEP = range(4)
"""Types of steps. All steps of bytes have the same context."""


@dataclass(frozen=True, eq=False)
class Encoding(Struct):
    """The data needed to encode a table."""

    rows: Rows
    symbol_of_code: Ints
    """int64 (256,): value symbol of each code that occurs; -1 for other codes."""
    escape_bytes: int
    """Number of bytes of a function number after FUNCTION_ESCAPE."""
    first_step: Ints
    """int64 (4,): first step of each type."""
    symbol_count: Ints
    """int64 (4,): number of symbols in a context, for each type of step."""
    share_start: Frequencies
    """uint16 (steps,): start of the share of each step; shares are fractions of ``TOTAL``."""
    share: Frequencies
    """uint16 (steps,): share of each step; 0 if the step never occurs."""


@kernel
def count_codes(content: Content, frequencies: Ints, start: int, stop: int) -> None:
    """Add the frequencies of explicit values in a range of slots to ``frequencies``, int64 (256,).

    A value is explicit if its depth is not 0 and has no flag.
    """
    for slot in range(start, stop):
        if 0 < content.depth[slot] < CAPTURE_FLAG:
            frequencies[content.value[slot]] += 1


@kernel
def toggle_flags(content: Content, captures: Words, start: int, stop: int) -> None:
    """Toggle CAPTURE_FLAG in the depths of the slots whose bits are set in ``captures``, uint64
    (slots / 64,).

    Only the words ``start`` to ``stop`` - 1 are processed.
    """
    for word in range(start, stop):
        if captures[word]:
            # A second addition overflows, which clears the flag.
            add(content.depth, word * 64, captures[word], CAPTURE_FLAG)


@inlined
def _prefetch_block(rows: Rows, content: Content, number: int, squares: Ints) -> None:
    """Prefetch the slots of a block if the slots of each row are adjacent."""
    if rows.row_shift:
        return
    for row in range(number * BLOCK_ROWS, (number + 1) * BLOCK_ROWS):
        place_row(rows, row, squares)
        first = first_slot(rows, row, squares)
        prefetch(content.value, first)
        for line in range(first, first + 64, 32):
            prefetch(content.depth, line)
        if len(content.function_number):
            for line in range(first, first + 64, 16):
                prefetch(content.function_number, line)


@inlined
def _read_slots(encoding: Encoding, content: Content, number: int, buffers: Buffers) -> int:
    """Fill a block from the arrays of the stored side. Return its number of positions, or -1 if a position
    has no value."""
    rows, block, value, depth, count = encoding.rows, buffers.block, content.value, content.depth, 0
    for block_row in range(len(block.masks)):
        row = number * BLOCK_ROWS + block_row
        find_mask(rows, row, block_row, buffers)
        mask = block.masks[block_row]
        first = first_slot(rows, row, buffers.squares)
        put(block.symbol, block_row * 64, ALL, NOWHERE)
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            slot, place = first + (square << rows.row_shift), block_row * 64 + square
            if value[slot] == NONE:
                return -1
            count += 1
            symbol, half_depth = SELF, int64(depth[slot]) >> 1
            if depth[slot] & CAPTURE_FLAG:
                symbol, half_depth = CAPTURE, 0
            elif depth[slot]:
                symbol = encoding.symbol_of_code[value[slot]]
            block.symbol[place], block.half_depth[place] = symbol, half_depth
            if len(content.function_number):
                block.function_number[place] = content.function_number[slot]
    return count


@inlined
def _step(encoding: Encoding, kind: int, context: int, symbol: int) -> int:
    """Number of the step of a symbol in a context."""
    return int(encoding.first_step[kind]) + context * int(encoding.symbol_count[kind]) + symbol


@inlined
def _add_bytes(encoding: Encoding, steps: Ints, count: int, number: int, size: int) -> int:
    """Append the steps of the bytes of a number to ``steps``, least significant first. Return the new
    count."""
    for byte in range(size):
        steps[count + byte] = _step(encoding, BYTE_STEP, 0, (number >> (8 * byte)) & 255)
    return count + size


@kernel
def _list_steps(encoding: Encoding, of_functions: bool, buffers: Buffers) -> int:
    """List the steps of a block: those of its functions if ``of_functions``, else those of its values and
    depths. Return the number of steps."""
    block, steps, above, count = buffers.block, buffers.steps, buffers.above, 0
    no_neighbour = -1 if of_functions else NOWHERE
    above[2 if of_functions else 0, :] = no_neighbour
    for block_row in range(len(block.masks)):
        left, left_half, mask = no_neighbour, 0, block.masks[block_row]
        checks, captures = block.checks[block_row], block.captures[block_row]
        while mask:
            square = lowest(mask)
            mask &= mask - ONE
            place = block_row * 64 + square
            symbol, half_depth, up = int(block.symbol[place]), int(block.half_depth[place]), above[0, square]
            if of_functions:
                function = int(block.function_number[place])
                context = function_context(symbol, left, above[2, square])
                steps[count] = _step(encoding, FUNCTION_STEP, context, min(function, FUNCTION_ESCAPE))
                count += 1
                if function >= FUNCTION_ESCAPE:
                    count = _add_bytes(encoding, steps, count, function, encoding.escape_bytes)
                left = above[2, square] = function
                continue
            context = value_context(checks, captures, square, left, up)
            steps[count] = _step(encoding, VALUE_STEP, context, symbol)
            count += 1
            if symbol >= FIRST_VALUE:
                context = depth_context(symbol, left, left_half, up, above[1, square])
                steps[count] = _step(encoding, DEPTH_STEP, context, min(half_depth, HALF_ESCAPE))
                count += 1
                if half_depth >= HALF_ESCAPE:
                    count = _add_bytes(encoding, steps, count, half_depth, HALF_DEPTH_BYTES)
            left, left_half = symbol, half_depth
            above[0, square], above[1, square] = symbol, half_depth
    return count


@kernel
def count_blocks(
    encoding: Encoding, content: Content, counts: Ints, buffers: Buffers, first: int, end: int
) -> int:
    """Add the frequencies of the steps in the blocks ``first`` to ``end`` - 1 to ``counts``, int64 (steps,).

    Return the number of positions, or -1 if a position has no value.
    """
    total = 0
    for number in range(first, end):
        _prefetch_block(encoding.rows, content, min(number + 1, end - 1), buffers.squares)
        positions = _read_slots(encoding, content, number, buffers)
        if positions < 0:
            return -1
        total += positions
        for kind in range(2 if len(content.function_number) else 1):
            for index in range(_list_steps(encoding, kind == 1, buffers)):
                counts[buffers.steps[index]] += 1
    return total


@kernel
def _write_steps(encoding: Encoding, stream: Stream, number: int, steps: Ints, count: int, begin: int) -> int:
    """Encode the first ``count`` of ``steps`` as the block ``number`` of a stream.

    The bytes are written to the data of the stream, beginning at index ``begin``; the length and the checksum
    of the block are also stored.
    The shares of the steps must not be 0. Return the index after the last byte. The element at this index may
    also have been overwritten.
    """
    out, end, state = stream.data, begin, LOW
    for back in range(count):
        step = steps[count - 1 - back]
        start, size = int64(encoding.share_start[step]), int64(encoding.share[step])
        limit = size * ((LOW >> TOTAL_BITS) << 8)
        # At most two bytes are emitted. Bytes written after them are overwritten later.
        out[end] = state & 255
        out[end + 1] = state >> 8 & 255
        emitted = int64(state >= limit) + int64(state >> 8 >= limit)
        end += emitted
        state >>= 8 * emitted
        quotient = (state * RECIPROCAL[size]) >> RECIPROCAL_BITS
        state += quotient * (TOTAL - size) + start
    for _ in range(STATE_BYTES if count else 0):
        out[end] = state & 255
        end += 1
        state >>= 8
    for place in range((end - begin) // 2):
        out[begin + place], out[end - 1 - place] = out[end - 1 - place], out[begin + place]
    stream.length[number] = end - begin
    stream.checksum[number] = checksum(out, begin, end)
    return end


@kernel
def encode_blocks(
    encoding: Encoding,
    content: Content,
    values: Stream,
    functions: Stream,
    buffers: Buffers,
    first: int,
    end: int,
) -> tuple[int, int]:
    """Encode the values and depths of the blocks ``first`` to ``end`` - 1, and their functions.

    The bytes are written to the data of the two streams, beginning at index 0. Return the number of bytes in
    each.
    """
    size, function_size, steps = 0, 0, buffers.steps
    for number in range(first, end):
        _prefetch_block(encoding.rows, content, min(number + 1, end - 1), buffers.squares)
        _read_slots(encoding, content, number, buffers)
        size = _write_steps(encoding, values, number, steps, _list_steps(encoding, False, buffers), size)
        if len(content.function_number):
            count = _list_steps(encoding, True, buffers)
            function_size = _write_steps(encoding, functions, number, steps, count, function_size)
    return size, function_size


@kernel
def _store_or_compare(
    coding: Coding, content: Content, compare_only: bool, buffers: Buffers, slot: int, place: int
) -> bool:
    """Write one position of a block to the arrays, or compare it with them.

    Return False if the symbol of the position does not exist, or if the position differs from the arrays.
    """
    block, symbol = buffers.block, int64(buffers.block.symbol[place])
    if symbol >= len(coding.code):
        return False
    code, depth, equal = int64(coding.code[symbol]), int64(0), True
    if symbol == CAPTURE:
        depth = int64(CAPTURE_FLAG)
    elif symbol != SELF:
        depth = depth_of_half(coding.rows.side, code, int64(block.half_depth[place]))
    if compare_only:
        stored = int64(content.depth[slot])
        equal = stored & CAPTURE_FLAG == CAPTURE_FLAG if symbol == CAPTURE else stored == depth
        equal &= symbol <= CAPTURE or content.value[slot] == code
        if len(content.function_number):
            equal &= content.function_number[slot] == block.function_number[place]
        return equal
    content.value[slot], content.depth[slot] = code, depth
    if len(content.function_number):
        content.function_number[slot] = block.function_number[place]
    return True


@kernel
def decode_blocks(
    coding: Coding, content: Content, compare_only: bool, buffers: Buffers, first: int, end: int
) -> bool:
    """Decode the blocks ``first`` to ``end`` - 1 into the arrays, or only compare them with the arrays.

    Explicit values get a code and a depth. The depth is CAPTURE_FLAG if the best capture gives the value, and
    0 if the value is the position score. Functions are omitted if their array is empty. Return whether all
    blocks are undamaged and, if they are compared, equal the arrays.
    """
    rows, block, correct = coding.rows, buffers.block, True
    # With plain constants, the compiler would unroll all loops over rows, which would take twenty seconds.
    size, last = len(block.masks), len(block.symbol) - 1
    for number in range(first, end):
        _prefetch_block(rows, content, min(number + 1, end - 1), buffers.squares)
        for block_row in range(size):
            find_mask(rows, number * BLOCK_ROWS + block_row, block_row, buffers)
        correct &= decode_values(coding, number, last, buffers)
        if len(content.function_number):
            correct &= decode_functions(coding, number, last, buffers)
        for block_row in range(size):
            place_row(rows, number * BLOCK_ROWS + block_row, buffers.squares)
            slot_of_row = first_slot(rows, number * BLOCK_ROWS + block_row, buffers.squares)
            mask = block.masks[block_row]
            while mask:
                square = lowest(mask)
                mask &= mask - ONE
                slot, place = slot_of_row + (square << rows.row_shift), block_row * 64 + square
                correct &= _store_or_compare(coding, content, compare_only, buffers, slot, place)
    return correct
