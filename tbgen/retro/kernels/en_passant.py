"""Positions with an en passant right: the first positions of their phase (section 6 of docs/theory.md).

Nothing leads back to such a position, so once the layer of its own score is solved, its value is one choice
among its moves: exits (the en passant capture included) and quiet moves into the layer. In whole-game
mobility there are no layers, and moves that do not lead to a score of smaller rank leave it its own.
"""

import numpy as np

from tbgen.accelerate import inlined, jit, kernel
from tbgen.retro.geometry import BIT, PAWN_ATTACKS
from tbgen.retro.kernels.bits import ONE, ZERO, lowest
from tbgen.retro.kernels.frame import decode, king_safe
from tbgen.retro.kernels.mobility import rank_at
from tbgen.retro.kernels.moves import MAX_ORIGINS, quiet_targets
from tbgen.retro.kernels.resets import NO_EXIT, NOTHING, NOWHERE, fold, settle_moves
from tbgen.retro.kernels.targets import CAPTURED_PAWN, VARIABLE


@inlined
def side_with_right(square):
    """The side to move where ``square`` may be captured on en passant."""
    return 1 if square < 32 else 0


@kernel
def _capture(fr, pool, ex, first, side, square, capturer, legal, occupied, squares, men, pawns, scratch):
    """Fold one pawn's en passant capture; return the positions where it is legal."""
    enemy = 1 - side
    victim = BIT[square - 8 if side == 0 else square + 8]
    left = (occupied & ~BIT[capturer] & ~victim) | BIT[square]
    pawns[enemy] = fr.pawns[enemy] & ~victim
    pawns[side] = (fr.pawns[side] & ~BIT[capturer]) | BIT[square]
    mask = legal & king_safe(fr, squares, side, left, pawns[enemy], NOWHERE, True)
    if mask:
        settle_moves(pool, ex, first, side, mask, CAPTURED_PAWN, NOTHING, NOWHERE, men, pawns, scratch)
    pawns[0], pawns[1] = fr.pawns[0], fr.pawns[1]
    return mask


@jit
def prepare(fr, pool, ex, phase, square, rank, ep_ex):
    """Find the positions of the phase with a legal en passant capture on ``square``.

    ``rank`` uint8 (phase size,) receives their rank, 0 where there is no such right; ``ep_ex`` their best
    exit.
    """
    side = side_with_right(square)
    step = -8 if side == 0 else 8
    vacant = BIT[square] | BIT[square - step]
    squares = np.empty(fr.scalars, np.int64)
    men = np.zeros(6, np.int64)
    scratch = np.empty(6, np.int64)
    pawns = fr.pawns.copy()
    rank[:] = 0
    for word in range(fr.words):
        legal = phase.legal[side, word] & ~vacant
        if legal == ZERO:
            continue
        occupied = decode(fr, word, squares)
        if occupied & vacant:
            continue
        men[: fr.scalars] = squares
        men[fr.scalars] = VARIABLE
        first = word * 64
        at = side * fr.words * 64 + first
        ep_ex.value[first : first + 64] = ex.value[at : at + 64]
        ep_ex.nearest[first : first + 64] = ex.nearest[at : at + 64]
        ep_ex.farthest[first : first + 64] = ex.farthest[at : at + 64]
        capturers = PAWN_ATTACKS[1 - side, square] & fr.pawns[side]
        while capturers:
            mask = _capture(
                fr, pool, ep_ex, first, side, square, lowest(capturers), legal, occupied, squares, men, pawns,
                scratch,
            )  # fmt: skip
            capturers &= capturers - ONE
            while mask:
                bit = lowest(mask)
                mask &= mask - ONE
                if rank[first + bit] == 0:
                    rank[first + bit] = rank_at(phase.slices[side, word], bit)
                rank[first + bit] += 2


@kernel
def _follow(fr, pool, phase, att, side, own, word, bit, starts, ex, at):
    """Fold the state after a quiet move of ``side`` to a position, if legal, into entry ``at`` of ``ex``."""
    other = 1 - side
    if phase.legal[other, word] & BIT[bit] == ZERO:
        return
    slot = word * 64 + bit
    if phase.alive[other, word] & BIT[bit] == ZERO:
        fold(ex, at, side, pool.value[starts[other] + slot], pool.depth[starts[other] + slot])
    elif not phase.whole_game and att.inner_sets.caught[word] & BIT[bit]:
        node = other * fr.words * 64 + slot
        fold(ex, at, side, att.value[node], att.depth[node])
    else:
        fold(ex, at, side, own, np.uint16(0))


@inlined
def _keep_own(ex, at, own, rank):
    """Replace an exit of no smaller rank than the position's own score by that score, which stays."""
    value = np.int64(ex.value[at])
    if ex.nearest[at] != NO_EXIT and min(value, 255 - value) >= rank:
        ex.value[at] = own


@jit
def resolve(fr, pool, phase, att, square, low, high, rank, ep_ex, starts, start):
    """Settle the positions with the right on ``square`` whose rank is ``low`` to ``high`` - 1.

    ``att`` is the attacker with the side to move, its inner sweep of layer ``low`` done (or no position
    alive). Values and depths go to the pool at ``start`` + slot.
    """
    side = side_with_right(square)
    squares, targets = np.empty(fr.scalars, np.int64), np.empty(MAX_ORIGINS, np.int64)
    for word in range(fr.words):
        first = word * 64
        for bit in range(64):
            at = first + bit
            if not low <= rank[at] < high:
                continue
            own = np.uint8(255 - rank[at] if side == 0 else rank[at])
            if phase.whole_game:
                _keep_own(ep_ex, at, own, rank[at])
            for number in range(quiet_targets(fr, word, bit, side, targets, squares)):
                to = targets[number]
                _follow(fr, pool, phase, att, side, own, to >> 6, to & 63, starts, ep_ex, at)
            value = ep_ex.value[at]
            pool.value[start + at] = value
            if value == own:
                pool.depth[start + at] = 0
            elif (value < own) == (side == 0):
                pool.depth[start + at] = ep_ex.nearest[at] + 1
            else:
                pool.depth[start + at] = ep_ex.farthest[at] + 1
