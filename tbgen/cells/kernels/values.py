"""Arrays of a cell's values and depths: filling blocks, and packing.

A block has the bounds of all positions that a route leads to (``Block`` of :mod:`tbgen.cells.bounds`).
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import jit
from tbgen.moves.geometry import BIT, IMAGES, SYMMETRY_OF, TRIANGLE_OF
from tbgen.moves.kernels.words import ZERO, Codes, Ints, Plies, Words, image
from tbgen.moves.structs import NO_EXIT, Exits

Numbers: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.bool_]
NO_NUMBER = np.uint32((1 << 32) - 1)
"""Entry number of a slot without a position."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of the hash function (Knuth, *The Art of Computer Programming*, volume 3, 6.4)."""


@jit
def gather(
    stored: tuple[Codes, Plies, Codes],
    shifts: Ints,
    squares: Ints,
    symmetry: int,
    pawnless: bool,
    worst: int,
    block_value: Codes,
    block_depth: Plies,
) -> None:
    """Fill a block with the values and depths of a stored phase or cell.

    :param stored: the values and depths of one end, and the values of the other end; all by stored slot.
    :param shifts: int64 (men,): for each man of the stored slot, the right shift of the block's slot that
        brings the man's square to the lowest bits; -1 for a man that stands still.
    :param squares: int64 (men,): the squares of the men that stand still.
    :param symmetry: number of the symmetry that maps the block's squares to the stored squares; if it mirrors
        the ranks, colours are swapped.
    :param pawnless: whether the square of the first man determines a further symmetry, as in tables without
        pawns.
    :param worst: code of the worst bound. The depth becomes 0 where the stored value is ``worst`` and the
        value of the other end is not.
    """
    value, depth, other = stored
    swapped = symmetry & 2 != 0
    men = len(shifts)
    lowest_man = -1
    for man in range(men):
        if shifts[man] == 0 and not (pawnless and man == 0):
            lowest_man = man
    # In a run of slots only the square of the man in the lowest bits changes.
    run_length, step = (64, 6 * (men - 1 - lowest_man)) if lowest_man >= 0 else (1, 0)
    for first_slot in range(0, len(block_value), run_length):
        base, image = 0, 0
        for man in range(men):
            square = squares[man] if shifts[man] < 0 else (first_slot >> shifts[man]) & 63
            square = IMAGES[symmetry, square]
            if pawnless and man == 0:
                image = SYMMETRY_OF[square]
                base = TRIANGLE_OF[square]
            elif man == lowest_man:
                base <<= 6
            else:
                base = base << 6 | IMAGES[image, square]
        for slot in range(first_slot, first_slot + run_length):
            source = base
            if lowest_man >= 0:
                source |= IMAGES[image, IMAGES[symmetry, slot & 63]] << step
            code = value[source]
            block_value[slot] = np.uint8(255) - code if swapped and code != NONE else code
            is_open = code == worst and other[source] != worst
            block_depth[slot] = np.uint16(0) if is_open else depth[source]


@jit
def fill_with_exits(exits: Exits, side: int, bound: int, block_value: Codes, block_depth: Plies) -> None:
    """Fill a block with the exits of a side: their values, and their depths with the exit move counted.

    :param exits: the exits of the side, with one element for each slot.
    :param bound: code to store for positions without an exit, or with an exit that is worse for the side;
        their depth is 0. If ``bound`` is ``NONE``, no exit counts as worse.
    """
    for slot in range(len(block_value)):
        code, depth = exits.value[slot], exits.min_depth[slot]
        worse = bound != NONE and (code < bound if side else code > bound)
        use_bound = depth == NO_EXIT or worse
        block_value[slot] = bound if use_bound else code
        block_depth[slot] = np.uint16(0) if use_bound else depth + np.uint16(1)


@jit
def gather_bits(stored: Words, shifts: Ints, squares: Ints, symmetry: int, gathered: Words) -> None:
    """Fill a block with one bit for each slot from the bits of a stored cell.

    The other parameters are as for :func:`gather`.

    :param stored: uint64 (n,): the bits, by stored slot.
    :param gathered: output, uint64 (m,): the bits by the block's slot.
    """
    men = len(shifts)
    lowest_man = -1
    for man in range(men):
        if shifts[man] == 0:
            lowest_man = man
    step = 6 * (men - 1 - lowest_man)
    for word in range(len(gathered)):
        base = 0
        for man in range(men):
            square = squares[man] if shifts[man] < 0 else (word << 6) >> shifts[man] & 63
            base = base << 6 | (0 if man == lowest_man else IMAGES[symmetry, square])
        result = ZERO
        if lowest_man >= 0 and step == 0:
            result = image(stored[base >> 6], symmetry)
        else:
            for bit in range(64 if lowest_man >= 0 else 1):
                source = base | IMAGES[symmetry, bit] << step if lowest_man >= 0 else base
                if stored[source >> 6] & BIT[source & 63]:
                    result |= BIT[bit]
        gathered[word] = result


@jit
def mark_proved(value: Codes, bound: int, is_lower: bool, proved: Words) -> None:
    """Mark the slots whose bound, uint8 (n,), proves the bound with the code ``bound`` at the same end.

    :param proved: output, uint64 (n / 64,), filled with 0.
    """
    for slot in range(len(value)):
        code = value[slot]
        if code != NONE and (code <= bound if is_lower else code >= bound):
            proved[slot >> 6] |= BIT[slot & 63]


@jit
def number_entries(
    value: tuple[Codes, Codes],
    depth: tuple[Plies, Plies],
    worst: tuple[int, int],
    hash_table: Ints,
    entries: Words,
    counts: Ints,
    numbers: Numbers,
) -> int:
    """Find the distinct entries of positions, and number them in the order in which they first occur.

    An entry packs the values and depths of both ends into 64 bits: lower value, upper value, lower depth and
    upper depth, 16 bits each, the most significant first. The depth of a worst bound is stored as 0 if the
    other end has a better bound.

    :param value: uint8 (slots,) for each end.
    :param depth: uint16 (slots,) for each end.
    :param worst: codes of the worst bound at each end.
    :param hash_table: buffer for entry numbers, int64 (size,), filled with -1. The size is a power of two and
        greater than the number of entries.
    :param entries: output, uint64 (capacity,): the distinct entries by number.
    :param counts: output, int64 (capacity,): frequency of each entry; filled with 0 before the call.
    :param numbers: output, uint32 (slots,): the entry number of each slot; ``NO_NUMBER`` if the slot is not a
        position.
    :returns: the number of distinct entries; -1 if there are more than ``capacity``.
    """
    entry_count = 0
    mask = len(hash_table) - 1
    last_entry, last_number = np.uint64(0), 0
    for slot in range(len(numbers)):
        lower, upper = value[0][slot], value[1][slot]
        if lower == NONE:
            numbers[slot] = NO_NUMBER
            continue
        entry = np.uint64(lower) << np.uint64(48) | np.uint64(upper) << np.uint64(32)
        if lower == upper or lower != worst[0]:
            entry |= np.uint64(depth[0][slot]) << np.uint64(16)
        if lower == upper or upper != worst[1]:
            entry |= np.uint64(depth[1][slot])
        if not entry_count or entry != last_entry:
            bucket = np.int64((entry * _MIX) >> np.uint64(33)) & mask
            while hash_table[bucket] >= 0 and entries[hash_table[bucket]] != entry:
                bucket = (bucket + 1) & mask
            if hash_table[bucket] < 0:
                if entry_count == len(entries):
                    return -1
                hash_table[bucket] = entry_count
                entries[entry_count] = entry
                entry_count += 1
            last_entry, last_number = entry, hash_table[bucket]
        numbers[slot] = np.uint32(last_number)
        counts[last_number] += 1
    return entry_count


@jit
def renumber(numbers: Numbers, new_numbers: Numbers) -> None:
    """Replace each entry number by the element of ``new_numbers`` at this index.

    A slot without a position gets the number of the last position before it, because repetitions compress
    best.
    """
    last = np.uint32(0)
    for slot in range(len(numbers)):
        if numbers[slot] != NO_NUMBER:
            last = new_numbers[numbers[slot]]
        numbers[slot] = last


@jit
def unpack_entries(
    numbers: Numbers, entries: Words, is_legal: Flags, value: tuple[Codes, Codes], depth: tuple[Plies, Plies]
) -> bool:
    """Fill arrays of values and depths from entry numbers. This is the inverse of :func:`number_entries`.

    :param entries: the distinct entries by number.
    :param is_legal: whether each slot is a position. The other slots get the value ``NONE`` and depth 0.
    :returns: whether ``entries`` has an element for every number.
    """
    for slot in range(len(numbers)):
        if not is_legal[slot]:
            value[0][slot] = value[1][slot] = np.uint8(NONE)
            depth[0][slot] = depth[1][slot] = np.uint16(0)
            continue
        index = np.uint64(numbers[slot])
        if index >= len(entries):
            return False
        entry = entries[index]
        value[0][slot], value[1][slot] = np.uint8(entry >> np.uint64(48)), np.uint8(entry >> np.uint64(32))
        depth[0][slot], depth[1][slot] = np.uint16(entry >> np.uint64(16)), np.uint16(entry)
    return True
