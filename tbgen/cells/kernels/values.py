"""Values of the positions of a cell: copied to where moves look them up, seen in a window, and numbered."""

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
    open_end: int,
    block_value: Codes,
    block_depth: Plies,
) -> None:
    """Fill a block with the values and depths of a ``stored`` phase or cell.

    For each man of the stored slot, ``shifts`` int64 (men,) says where the block's slot has his square; -1
    if he always stands on the square in ``squares`` int64 (men,). ``symmetry`` leads from the block's squares
    to the stored ones; if it mirrors ranks, colours are swapped too. In ``pawnless`` tables the first man's
    square decides on more. Depths count as 0 where the stored value is ``open_end``, and that in
    the third array is not.
    """
    value, depth, other = stored
    swapped, men, low = symmetry & 2 != 0, len(shifts), -1
    for man in range(men):
        if shifts[man] == 0 and not (pawnless and man == 0):
            low = man
    # For so many slots only the square of one man changes.
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
            at = base
            if low >= 0:
                at |= IMAGES[image, IMAGES[symmetry, slot & 63]] << step
            code = value[at]
            block_value[slot] = np.uint8(255) - code if swapped and code != NONE else code
            settled = code == open_end and other[at] != open_end
            block_depth[slot] = np.uint16(0) if settled else depth[at]


@jit
def best_block(
    exits: Exits, first: int, side: int, bound: int, block_value: Codes, block_depth: Plies
) -> None:
    """Fill a block with the best exits of a side, which begin at ``first``, and their depths with the move
    itself.

    Where there is none, or one that is worse for the side than the code ``bound``, it gets ``bound`` with
    depth 0. With ``NONE``, no exit is.
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
    """Fill arrays with what takes the place of values, uint8 (n,), and depths, uint16 (n,) or (0,).

    By code, ``exits`` says what takes the place of a score, and ``lasts`` is 1 where its depth lasts, else 0.
    """
    for at in range(len(value)):
        seen_value[at] = exits[value[at]]
    for at in range(len(depth)):
        seen_depth[at] = depth[at] * lasts[value[at]]


@jit
def tell_proved(value: Codes, depth: Plies, proved: Codes, lasts: Codes, instead: int) -> None:
    """Put in the place of values, uint8 (n,), and depths, uint16 (n,) or (0,), what they prove.

    By code, ``proved`` says what a score proves, and ``lasts`` is 1 where its depth lasts; else it is
    ``instead``.
    """
    for at in range(len(depth)):
        if not lasts[value[at]]:
            depth[at] = instead
    for at in range(len(value)):
        value[at] = proved[value[at]]


Numbers: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.bool_]

NOWHERE = np.uint32((1 << 32) - 1)
"""The number where there is no position."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""Spreads keys over a table (Knuth, The Art of Computer Programming 3, 6.4)."""


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
    """Number the states of positions in the order in which they occur; return how many there are, or -1 if
    there are more than there is room for.

    A state is its values and depths in one word, ends as in ``value``, 16 bits each from the left. A depth
    is 0 at an end at which nothing better than the worst is known, if more is known at the other.

    :param value: uint8 (slots,) of each end; depths uint16 likewise.
    :param worst: what is known of everything at each end.
    :param places: int64 (a power of two,) of -1: a hash table with room for more than the states.
    :param keys: uint64 (states,): what the states are; ``counts`` int64 (states,): how often they occur.
    :param number: uint32 (slots,): of each slot, ``NOWHERE`` without a position.
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
    """Put the new numbers of states in place of the old ones, given by these; slots without a position get
    that of the last one before, so that fewer changes are left to compress."""
    last = np.uint32(0)
    for slot in range(len(number)):
        if number[slot] != NOWHERE:
            last = rank[number[slot]]
        number[slot] = last


@jit
def spread_states(
    number: Numbers, states: Words, there: Flags, value: tuple[Codes, Codes], depth: tuple[Plies, Plies]
) -> bool:
    """Put values and depths of slots in their places, as ``number_states`` takes them, or ``NONE`` and 0
    where nothing is ``there``; return whether all states are known."""
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
