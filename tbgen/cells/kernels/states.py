"""Numbering what is known of the positions of a cell, for packing: many positions share a state."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import jit
from tbgen.retro.kernels.bits import Codes, Ints, Plies, Words

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
