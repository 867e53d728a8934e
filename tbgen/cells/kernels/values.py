"""Arrays of values of a cell: gathered into blocks for moves to look up, mapped to a window, and numbered."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import jit
from tbgen.retro.geometry import IMAGES, SYMMETRY_OF, TRIANGLE_OF
from tbgen.retro.kernels.best_exits import NO_EXIT, Exits
from tbgen.retro.kernels.words import Codes, Ints, Plies, Words


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

    :param stored: values, depths, and the values of the other end; all by stored slot.
    :param shifts: int64 (men,): for each man of the stored slot, the right shift that brings its square to
        the lowest bits of the block's slot; -1 for a man that stands still.
    :param squares: int64 (men,): the squares of the men that stand still.
    :param symmetry: maps the block's squares to the stored ones; if it mirrors ranks, colours are swapped.
    :param pawnless: whether the square of the first man determines further symmetries, as in pawnless tables.
    :param worst: code of the worst bound. The depth is 0 where the stored value is ``worst`` and that of the
        other end is not.
    """
    value, depth, other = stored
    swapped, men, low = symmetry & 2 != 0, len(shifts), -1
    for man in range(men):
        if shifts[man] == 0 and not (pawnless and man == 0):
            low = man
    # In a run of slots only the square of the man in the lowest bits changes.
    run, step = (64, 6 * (men - 1 - low)) if low >= 0 else (1, 0)
    for first in range(0, len(block_value), run):
        base, image = 0, 0
        for man in range(men):
            square = squares[man] if shifts[man] < 0 else (first >> shifts[man]) & 63
            square = IMAGES[symmetry, square]
            if pawnless and man == 0:
                image = SYMMETRY_OF[square]
                base = TRIANGLE_OF[square]
            elif man == low:
                base <<= 6
            else:
                base = base << 6 | IMAGES[image, square]
        for slot in range(first, first + run):
            source = base
            if low >= 0:
                source |= IMAGES[image, IMAGES[symmetry, slot & 63]] << step
            code = value[source]
            block_value[slot] = np.uint8(255) - code if swapped and code != NONE else code
            is_open = code == worst and other[source] != worst
            block_depth[slot] = np.uint16(0) if is_open else depth[source]


@jit
def best_block(
    exits: Exits, first: int, side: int, bound: int, block_value: Codes, block_depth: Plies
) -> None:
    """Fill a block with the exits of a side, and their depths with the move itself.

    :param first: index of the side's first exit.
    :param bound: the code, with depth 0, of positions without an exit or with a worse one. If it is ``NONE``,
        no exit counts as worse.
    """
    for slot in range(len(block_value)):
        code, depth = exits.value[first + slot], exits.nearest[first + slot]
        worse = bound != NONE and (code < bound if side else code > bound)
        nothing = depth == NO_EXIT or worse
        block_value[slot] = bound if nothing else code
        block_depth[slot] = np.uint16(0) if nothing else depth + np.uint16(1)


@jit
def seen_exits(
    value: Codes, depth: Plies, exits: Codes, lasts: Plies, seen_value: Codes, seen_depth: Plies
) -> None:
    """Fill arrays with the values, uint8 (n,), and depths, uint16 (n,) or (0,), that exits have in a window.

    :param exits: by code, the value in the window.
    :param lasts: by code, 1 if the depth is kept, and 0 if it becomes 0.
    """
    for slot in range(len(value)):
        seen_value[slot] = exits[value[slot]]
    for slot in range(len(depth)):
        seen_depth[slot] = depth[slot] * lasts[value[slot]]


@jit
def tell_proved(value: Codes, depth: Plies, proved: Codes, lasts: Codes, instead: int) -> None:
    """Replace values, uint8 (n,), and depths, uint16 (n,) or (0,), by the bounds that they prove.

    :param proved: by code, the bound that a value proves.
    :param lasts: by code, 1 if the depth is kept, and 0 if it becomes ``instead``.
    """
    for slot in range(len(depth)):
        if not lasts[value[slot]]:
            depth[slot] = instead
    for slot in range(len(value)):
        value[slot] = proved[value[slot]]


Numbers: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.bool_]

NOWHERE = np.uint32((1 << 32) - 1)
"""The number of slots without a position."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of the hash function (Knuth, The Art of Computer Programming 3, 6.4)."""


@jit
def number_states(
    value: tuple[Codes, Codes],
    depth: tuple[Plies, Plies],
    worst: tuple[int, int],
    places: Ints,
    keys: Words,
    counts: Ints,
    number: Numbers,
) -> int:
    """Number the states of positions in the order in which they occur.

    A state is a word of four fields of 16 bits: lower value, upper value, lower depth and upper depth, from
    the most significant field on. The depth of a worst bound is 0 if the other end has a better bound.

    :param value: uint8 (slots,) for each end.
    :param depth: uint16 (slots,) for each end.
    :param worst: codes of the worst bound at each end.
    :param places: a hash table, int64 (size,), filled with -1; the size is a power of two and greater than
        the number of states.
    :param keys: output, uint64 (capacity,): the states by number.
    :param counts: output, int64 (capacity,): how often each state occurs; filled with 0.
    :param number: output, uint32 (slots,): the state number of each slot, ``NOWHERE`` without a position.
    :returns: the number of states; -1 if there are more than ``capacity``.
    """
    found, mask, last, last_number = 0, len(places) - 1, np.uint64(0), 0
    for slot in range(len(number)):
        lower, upper = value[0][slot], value[1][slot]
        if lower == NONE:
            number[slot] = NOWHERE
            continue
        key = np.uint64(lower) << np.uint64(48) | np.uint64(upper) << np.uint64(32)
        if lower == upper or lower != worst[0]:
            key |= np.uint64(depth[0][slot]) << np.uint64(16)
        if lower == upper or upper != worst[1]:
            key |= np.uint64(depth[1][slot])
        if not found or key != last:
            place = np.int64((key * _MIX) >> np.uint64(33)) & mask
            while places[place] >= 0 and keys[places[place]] != key:
                place = (place + 1) & mask
            if places[place] < 0:
                if found == len(keys):
                    return -1
                places[place], keys[found] = found, key
                found += 1
            last, last_number = key, places[place]
        number[slot] = np.uint32(last_number)
        counts[last_number] += 1
    return found


@jit
def renumber(number: Numbers, rank: Numbers) -> None:
    """Replace the numbers of states by new ones, which ``rank`` has by old number.

    A slot without a position gets the number of the last slot with one, since repetitions compress best.
    """
    last = np.uint32(0)
    for slot in range(len(number)):
        if number[slot] != NOWHERE:
            last = rank[number[slot]]
        number[slot] = last


@jit
def spread_states(
    number: Numbers, states: Words, there: Flags, value: tuple[Codes, Codes], depth: tuple[Plies, Plies]
) -> bool:
    """Fill arrays of values and depths from state numbers, the inverse of :func:`number_states`.

    :param states: the states by number.
    :param there: which slots are positions; the others get ``NONE`` and depth 0.
    :returns: whether ``states`` has all numbers.
    """
    for slot in range(len(number)):
        if not there[slot]:
            value[0][slot] = value[1][slot] = np.uint8(NONE)
            depth[0][slot] = depth[1][slot] = np.uint16(0)
            continue
        state = np.uint64(number[slot])
        if state >= len(states):
            return False
        key = states[state]
        value[0][slot], value[1][slot] = np.uint8(key >> np.uint64(48)), np.uint8(key >> np.uint64(32))
        depth[0][slot], depth[1][slot] = np.uint16(key >> np.uint64(16)), np.uint16(key)
    return True
