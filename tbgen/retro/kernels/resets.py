"""Zeroing moves of whole words: counted, and folded into one best exit per position.

A capture or pawn move leaves the phase for a position whose fresh value W is known, whatever the accrued
score. Of all zeroing moves of a position only the value best for the mover matters, with the smallest and the
largest depth among those of that value: which depth counts depends on whom the value favours over the accrued
score.
"""

from typing import NamedTuple

import numpy as np

from tbgen.accelerate import inlined, jit, kernel
from tbgen.index.zeroing import PROMOTED
from tbgen.retro.geometry import (
    BIT,
    FIRST_RAY,
    IMAGES,
    KING,
    KING_LEAP,
    KNIGHT,
    KNIGHT_LEAP,
    LAST_RAY,
    PAWN_LEAP,
    RAY,
)
from tbgen.retro.kernels.bits import ONE, ZERO, lowest, reach
from tbgen.retro.kernels.frame import decode, king_safe
from tbgen.retro.kernels.mobility import FOUR_MOVES, ONE_MOVE, SLICES, add_moves, count_quiet
from tbgen.retro.kernels.targets import CAPTURED_PAWN, VARIABLE, pawn_row, slots_after
from tbgen.score import NONE

NO_EXIT = 65535
"""Smallest depth of a position without zeroing moves."""
NOTHING = np.int64(0)
"""No man captured, no promotion. (numpy's type: numba compiles a kernel anew for every plain constant.)"""
NOWHERE = np.int64(-1)
"""No scalar captured, no file of a double step."""


class Exits(NamedTuple):
    """The best exit of each position; all arrays have one entry per slot of the phase, White to move
    first."""

    value: np.ndarray
    """uint8 codes."""
    nearest: np.ndarray
    """uint16 plies, NO_EXIT where there is no zeroing move."""
    farthest: np.ndarray
    """uint16 plies."""


@jit
def room_for_exits(size):
    """Return room for the exits of ``size`` positions, not filled in."""
    return Exits(np.empty(size, np.uint8), np.empty(size, np.uint16), np.empty(size, np.uint16))


@inlined
def fold(ex, node, side, value, depth):
    """Take one zeroing move into the best exit of its position."""
    if ex.nearest[node] != NO_EXIT:
        known = ex.value[node]
        if value == known:
            ex.nearest[node] = min(ex.nearest[node], depth)
            ex.farthest[node] = max(ex.farthest[node], depth)
            return
        if (value > known) == (side == 0):
            return
    ex.value[node] = value
    ex.nearest[node] = depth
    ex.farthest[node] = depth


@inlined
def _settle_bit(pool, ex, node, side, swapped, slot, ep_slot):
    if ep_slot >= 0 and pool.value[ep_slot] != NONE:
        slot = ep_slot
    value = pool.value[slot]
    if swapped:
        value = np.uint8(255) - value
    fold(ex, node, side, value, pool.depth[slot])


@kernel
def settle_moves(pool, ex, first, side, mask, captured, promotion, ep_file, men, pawns, scratch):
    """Fold the zeroing move of all positions in ``mask`` (the word's slots start at ``first``).

    ``men`` and ``pawns`` describe the position after the move (see ``slots_after``); ``ep_file`` is the file
    of a pawn that has made a double step, else -1.
    """
    tg = pool.targets
    target = tg.number[side, captured, promotion]
    swapped = tg.swapped[target]
    base, step, symmetry, lead = slots_after(tg, target, side, men, pawns, scratch)
    ep_shift = -1
    if ep_file >= 0:
        phase = pawn_row(tg, target, pawns) >> 1
        row = tg.ep_row[phase, (ep_file ^ 7 if symmetry & 1 else ep_file) + 8 * side]
        if row >= 0:
            ep_shift = tg.ep_offset + row * tg.phase_size[target] - tg.begin[phase, 1 - side]
    while mask:
        bit = lowest(mask)
        mask &= mask - ONE
        slot = base
        if lead:
            for man in range(tg.free[target]):
                if men[tg.source[target, man]] == VARIABLE:
                    variable = tg.source[target, man]
            men[variable] = bit
            slot = slots_after(tg, target, side, men, pawns, scratch)[0]
            men[variable] = VARIABLE
        elif step >= 0:
            slot += IMAGES[symmetry, bit] << step
        _settle_bit(pool, ex, first + bit, side, swapped, slot, slot + ep_shift if ep_shift >= 0 else -1)


@kernel
def _captures_on(
    fr, pool, ex, first, side, legal, square, man, free, occupied, squares, men, pawns, scratch, slices
):
    """Capture by scalar ``man`` of whatever scalar or pawn stands on the occupied ``square``.

    ``free`` are the places of the bit man that leave the way open.
    """
    enemy = 1 - side
    captured, scalar = NOTHING, NOWHERE
    if pawns[enemy] & BIT[square]:
        captured = CAPTURED_PAWN
    for other in range(2, fr.scalars):
        if squares[other] == square and fr.colours[other] == enemy and other != man:
            captured, scalar = other + 1, other
    if captured == 0:
        return
    origin = squares[man]
    squares[man] = square
    left = occupied & ~BIT[origin]
    enemy_pawns = pawns[enemy] & ~BIT[square]
    mask = legal & free & king_safe(fr, squares, side, left, enemy_pawns, scalar, True)
    squares[man] = origin
    if mask:
        add_moves(slices, ONE_MOVE, mask)
        men[man] = square
        pawns[enemy] = enemy_pawns
        settle_moves(pool, ex, first, side, mask, captured, NOTHING, NOWHERE, men, pawns, scratch)
        pawns[enemy] = fr.pawns[enemy]
        men[man] = origin


@kernel
def _capture_bit_man(
    fr, pool, ex, first, side, legal, square, man, occupied, squares, men, pawns, scratch, slices
):
    """Capture by scalar ``man`` of the bit man on the empty ``square``."""
    bit_man = fr.scalars
    if fr.colours[bit_man] == side or bit_man < 2 or legal & BIT[square] == ZERO:
        return
    origin = squares[man]
    squares[man] = square
    left = (occupied & ~BIT[origin]) | BIT[square]
    quiet = king_safe(fr, squares, side, left, pawns[1 - side], NOWHERE, False) & BIT[square]
    squares[man] = origin
    if quiet:
        add_moves(slices, ONE_MOVE, BIT[square])
        men[man] = square
        settle_moves(pool, ex, first, side, BIT[square], bit_man + 1, NOTHING, NOWHERE, men, pawns, scratch)
        men[man] = origin


@kernel
def _captures_by_scalar(
    fr, pool, ex, first, side, legal, man, occupied, squares, men, pawns, scratch, slices
):
    square, kind = squares[man], fr.kinds[man]
    if kind in (KING, KNIGHT):
        leaps = KING_LEAP if kind == KING else KNIGHT_LEAP
        for number in range(1, leaps[square, 0] + 1):
            target = leaps[square, number]
            if occupied & BIT[target]:
                _captures_on(
                    fr, pool, ex, first, side, legal, target, man, legal, occupied, squares, men, pawns,
                    scratch, slices,
                )  # fmt: skip
            else:
                _capture_bit_man(
                    fr, pool, ex, first, side, legal, target, man, occupied, squares, men, pawns, scratch,
                    slices,
                )  # fmt: skip
        return
    for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
        free = legal
        for step in range(1, RAY[square, ray, 0] + 1):
            target = RAY[square, ray, step]
            if occupied & BIT[target]:
                _captures_on(
                    fr, pool, ex, first, side, legal, target, man, free, occupied, squares, men, pawns,
                    scratch, slices,
                )  # fmt: skip
                break
            _capture_bit_man(
                fr, pool, ex, first, side, legal, target, man, occupied, squares, men, pawns, scratch, slices
            )
            free &= ~BIT[target]


@kernel
def _captures_by_bit_man(fr, pool, ex, first, side, legal, occupied, squares, men, pawns, scratch, slices):
    """The bit man captures a scalar or a pawn: all its origins lead to the same position."""
    bit_man, enemy = fr.scalars, 1 - side
    victims = pawns[enemy]
    for man in range(2, fr.scalars):
        if fr.colours[man] == enemy:
            victims |= BIT[squares[man]]
    while victims:
        square = lowest(victims)
        victims &= victims - ONE
        mask = legal & reach(fr.kinds[bit_man], BIT[square], ~occupied)
        if mask == ZERO:
            continue
        captured, scalar = CAPTURED_PAWN, NOWHERE
        for man in range(2, fr.scalars):
            if squares[man] == square:
                captured, scalar = man + 1, man
        enemy_pawns = pawns[enemy] & ~BIT[square]
        if king_safe(fr, squares, side, occupied, enemy_pawns, scalar, True) & BIT[square]:
            add_moves(slices, ONE_MOVE, mask)
            men[bit_man] = square
            pawns[enemy] = enemy_pawns
            settle_moves(pool, ex, first, side, mask, captured, NOTHING, NOWHERE, men, pawns, scratch)
            pawns[enemy] = fr.pawns[enemy]
            men[bit_man] = VARIABLE


@kernel
def _pawn_arrives(pool, ex, first, side, mask, square, captured, ep_file, men, pawns, scratch, slices):
    """A pawn has left ``pawns[side]`` for ``square``, on the last rank by promotion."""
    if mask == ZERO:
        return
    if 8 <= square < 56:
        add_moves(slices, ONE_MOVE, mask)
        pawns[side] |= BIT[square]
        settle_moves(pool, ex, first, side, mask, captured, NOTHING, ep_file, men, pawns, scratch)
        pawns[side] &= ~BIT[square]
        return
    add_moves(slices, FOUR_MOVES, mask)
    men[PROMOTED] = square
    for kind in range(1, 5):
        settle_moves(pool, ex, first, side, mask, captured, kind, NOWHERE, men, pawns, scratch)


@kernel
def _pawn_moves(fr, pool, ex, first, side, legal, pawn, occupied, squares, men, pawns, scratch, slices):
    """Steps, captures and promotions of one pawn (en passant captures belong to positions with the right)."""
    enemy, bit_man = 1 - side, fr.scalars
    forward = 8 if side == 0 else -8
    left = occupied & ~BIT[pawn]
    pawns[side] &= ~BIT[pawn]
    square = pawn + forward
    if occupied & BIT[square] == ZERO:
        open_way = legal & ~BIT[square]
        mask = open_way & king_safe(fr, squares, side, left | BIT[square], pawns[enemy], NOWHERE, True)
        _pawn_arrives(pool, ex, first, side, mask, square, NOTHING, NOWHERE, men, pawns, scratch, slices)
        square += forward
        if pawn >> 3 == (1 if side == 0 else 6) and occupied & BIT[square] == ZERO:
            open_way &= ~BIT[square]
            mask = open_way & king_safe(fr, squares, side, left | BIT[square], pawns[enemy], NOWHERE, True)
            _pawn_arrives(pool, ex, first, side, mask, square, NOTHING, pawn & 7, men, pawns, scratch, slices)
    for number in range(1, PAWN_LEAP[side, pawn, 0] + 1):
        square = PAWN_LEAP[side, pawn, number]
        bit = BIT[square]
        if pawns[enemy] & bit:
            pawns[enemy] &= ~bit
            mask = legal & king_safe(fr, squares, side, left, pawns[enemy], NOWHERE, True)
            _pawn_arrives(
                pool, ex, first, side, mask, square, CAPTURED_PAWN, NOWHERE, men, pawns, scratch, slices
            )
            pawns[enemy] |= bit
        elif occupied & bit:
            for man in range(2, fr.scalars):
                if squares[man] == square and fr.colours[man] == enemy:
                    mask = legal & king_safe(fr, squares, side, left, pawns[enemy], man, True)
                    _pawn_arrives(
                        pool, ex, first, side, mask, square, man + 1, NOWHERE, men, pawns, scratch, slices
                    )
        elif bit_man >= 2 and fr.colours[bit_man] == enemy and legal & bit:
            mask = bit & king_safe(fr, squares, side, left | bit, pawns[enemy], -1, False)
            men[bit_man] = square
            _pawn_arrives(
                pool, ex, first, side, mask, square, bit_man + 1, NOWHERE, men, pawns, scratch, slices
            )
            men[bit_man] = VARIABLE
    pawns[side] |= BIT[pawn]


@jit
def rank_and_exits(fr, pool, ex, legal, slices, quiet, start, stop):
    """Count the legal moves of every position of the words ``start`` to ``stop`` - 1 and fold the zeroing
    ones into ``ex``.

    ``legal`` uint64 (2, words); ``slices`` uint64 (2, words, SLICES) receives the ranks, ``quiet`` uint64
    (2, words, 8) the bit-sliced numbers of quiet moves.
    """
    squares = np.empty(fr.scalars, np.int64)
    men = np.zeros(6, np.int64)
    scratch = np.empty(6, np.int64)
    pawns = fr.pawns.copy()
    for word in range(start, stop):
        if legal[0, word] | legal[1, word] == ZERO:
            slices[:, word] = ZERO
            for side in range(2):
                first = (side * fr.words + word) * 64
                ex.nearest[first : first + 64] = NO_EXIT
            continue
        occupied = decode(fr, word, squares)
        men[: fr.scalars] = squares
        men[fr.scalars] = VARIABLE
        for side in range(2):
            own = legal[side, word]
            first = (side * fr.words + word) * 64
            counter = slices[side, word]
            counter[:] = ZERO
            ex.nearest[first : first + 64] = NO_EXIT
            if own == ZERO:
                continue
            counter[0] = own & legal[1 - side, word]
            count_quiet(fr, word, side, own, legal[1 - side], occupied, squares, counter)
            for number in range(SLICES - 1):
                quiet[side, word, number] = counter[ONE_MOVE + number]
            for man in range(fr.scalars):
                if fr.colours[man] == side:
                    _captures_by_scalar(
                        fr, pool, ex, first, side, own, man, occupied, squares, men, pawns, scratch, counter
                    )
            if fr.colours[fr.scalars] == side:
                _captures_by_bit_man(
                    fr, pool, ex, first, side, own, occupied, squares, men, pawns, scratch, counter
                )
            own_pawns = fr.pawns[side]
            while own_pawns:
                _pawn_moves(
                    fr, pool, ex, first, side, own, lowest(own_pawns), occupied, squares, men, pawns, scratch,
                    counter,
                )  # fmt: skip
                own_pawns &= own_pawns - ONE
