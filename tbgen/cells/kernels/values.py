"""Arrays of a cell's values: gathering them into blocks, mapping them to a window, and numbering states."""

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
    :param worst: code of the worst bound. The depth is 0 where the stored value is ``worst`` and the value of
        the other end is not.
    """
    value, depth, other = stored
    swapped, men, lowest_man = symmetry & 2 != 0, len(shifts), -1
    for man in range(men):
        if shifts[man] == 0 and not (pawnless and man == 0):
            lowest_man = man
    # In a run of slots only the square of the man in the lowest bits changes.
    run_length, step = (64, 6 * (men - 1 - lowest_man)) if lowest_man >= 0 else (1, 0)
    for first in range(0, len(block_value), run_length):
        base, image = 0, 0
        for man in range(men):
            square = squares[man] if shifts[man] < 0 else (first >> shifts[man]) & 63
            square = IMAGES[symmetry, square]
            if pawnless and man == 0:
                image = SYMMETRY_OF[square]
                base = TRIANGLE_OF[square]
            elif man == lowest_man:
                base <<= 6
            else:
                base = base << 6 | IMAGES[image, square]
        for slot in range(first, first + run_length):
            source = base
            if lowest_man >= 0:
                source |= IMAGES[image, IMAGES[symmetry, slot & 63]] << step
            code = value[source]
            block_value[slot] = np.uint8(255) - code if swapped and code != NONE else code
            is_open = code == worst and other[source] != worst
            block_depth[slot] = np.uint16(0) if is_open else depth[source]


@jit
def best_block(
    exits: Exits, first: int, side: int, bound: int, block_value: Codes, block_depth: Plies
) -> None:
    """Fill a block with the exits of a side: values, and depths including the exit move.

    :param first: index of the side's first exit.
    :param bound: code for positions without an exit or with a worse exit; their depth is 0. If it is
        ``NONE``, no exit counts as worse.
    """
    for slot in range(len(block_value)):
        code, depth = exits.value[first + slot], exits.nearest[first + slot]
        worse = bound != NONE and (code < bound if side else code > bound)
        use_bound = depth == NO_EXIT or worse
        block_value[slot] = bound if use_bound else code
        block_depth[slot] = np.uint16(0) if use_bound else depth + np.uint16(1)


@jit
def map_exits_to_window(
    value: Codes, depth: Plies, exit_code: Codes, keeps_depth: Plies, mapped_value: Codes, mapped_depth: Plies
) -> None:
    """Map the values, uint8 (n,), and depths, uint16 (n,) or (0,), of exits to a window.

    :param exit_code: by code, the value with which an exit counts in the window.
    :param keeps_depth: by code, 1 if the depth is kept, and 0 if it becomes 0.
    """
    for slot in range(len(value)):
        mapped_value[slot] = exit_code[value[slot]]
    for slot in range(len(depth)):
        mapped_depth[slot] = depth[slot] * keeps_depth[value[slot]]


@jit
def prove_bounds(value: Codes, depth: Plies, bound: Codes, keeps_depth: Codes, unknown_depth: int) -> None:
    """Replace values, uint8 (n,), and depths, uint16 (n,) or (0,), by the bounds that they prove.

    :param bound: by code, the bound that a value proves.
    :param keeps_depth: by code, 1 if the depth is kept, and 0 if it becomes ``unknown_depth``.
    """
    for slot in range(len(depth)):
        if not keeps_depth[value[slot]]:
            depth[slot] = unknown_depth
    for slot in range(len(value)):
        value[slot] = bound[value[slot]]


Numbers: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.bool_]

NO_STATE = np.uint32((1 << 32) - 1)
"""State number of a slot without a position."""
_MIX = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of the hash function (Knuth, The Art of Computer Programming 3, 6.4)."""


@jit
def number_states(
    value: tuple[Codes, Codes],
    depth: tuple[Plies, Plies],
    worst: tuple[int, int],
    hash_table: Ints,
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
    :param hash_table: state numbers, int64 (size,), filled with -1. The size is a power of two and greater
        than the number of states.
    :param keys: output, uint64 (capacity,): the states by number.
    :param counts: output, int64 (capacity,): how often each state occurs; filled with 0.
    :param number: output, uint32 (slots,): the state number of each slot, ``NO_STATE`` without a position.
    :returns: the number of states; -1 if there are more than ``capacity``.
    """
    state_count, mask, last_key, last_number = 0, len(hash_table) - 1, np.uint64(0), 0
    for slot in range(len(number)):
        lower, upper = value[0][slot], value[1][slot]
        if lower == NONE:
            number[slot] = NO_STATE
            continue
        key = np.uint64(lower) << np.uint64(48) | np.uint64(upper) << np.uint64(32)
        if lower == upper or lower != worst[0]:
            key |= np.uint64(depth[0][slot]) << np.uint64(16)
        if lower == upper or upper != worst[1]:
            key |= np.uint64(depth[1][slot])
        if not state_count or key != last_key:
            place = np.int64((key * _MIX) >> np.uint64(33)) & mask
            while hash_table[place] >= 0 and keys[hash_table[place]] != key:
                place = (place + 1) & mask
            if hash_table[place] < 0:
                if state_count == len(keys):
                    return -1
                hash_table[place], keys[state_count] = state_count, key
                state_count += 1
            last_key, last_number = key, hash_table[place]
        number[slot] = np.uint32(last_number)
        counts[last_number] += 1
    return state_count


@jit
def renumber(number: Numbers, new_number: Numbers) -> None:
    """Replace each state number by the new number that ``new_number`` has for it.

    A slot without a position gets the number of the last position before it, because repetitions compress
    best.
    """
    last = np.uint32(0)
    for slot in range(len(number)):
        if number[slot] != NO_STATE:
            last = new_number[number[slot]]
        number[slot] = last


@jit
def spread_states(
    number: Numbers, states: Words, is_position: Flags, value: tuple[Codes, Codes], depth: tuple[Plies, Plies]
) -> bool:
    """Fill arrays of values and depths from state numbers, the inverse of :func:`number_states`.

    :param states: the states by number.
    :param is_position: whether a slot is a position; slots that are not get ``NONE`` and depth 0.
    :returns: whether ``states`` has an element for every number.
    """
    for slot in range(len(number)):
        if not is_position[slot]:
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
