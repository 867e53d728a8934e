"""Positions with an en passant right: the first positions of their phase (section 6 of docs/theory.md).

Nothing leads back to such a position, so once the layer of its own score is solved, its value is one choice
among its moves: exits (the en passant capture included) and quiet moves into the layer. In whole-game
mobility there are no layers, and moves that do not lead to a score of smaller rank leave it its own.
"""

from typing import NamedTuple

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.retro.geometry import BIT, PAWN_ATTACKS
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Codes, Word, lowest
from tbgen.retro.kernels.exits import (
    NO_EXIT,
    NOTHING,
    NOWHERE,
    PAWN,
    Exits,
    Turn,
    enter_word,
    keep_best_exit,
    room_for_exits,
    settle_moves,
)
from tbgen.retro.kernels.frame import Frame, Phase, king_safe
from tbgen.retro.kernels.lanes import move
from tbgen.retro.kernels.layers import Attacker
from tbgen.retro.kernels.mobility import SLICES, rank_at
from tbgen.retro.kernels.moves import MOST_MOVES, quiet_targets, room_for_moves
from tbgen.retro.kernels.sweep import SweepResults
from tbgen.retro.kernels.targets import CAPTURED_PAWN, Pool, room_for_men


class Right(NamedTuple):
    """The positions of a phase with one en passant right."""

    rank: Codes
    """uint8 (phase size,): their rank; 0 where there is no such right."""
    exits: Exits
    """Their best exits."""


@jit
def room_for_right(size: int) -> Right:
    """Return room for the positions of a phase of that size, not filled in."""
    return Right(np.empty(size, np.uint8), room_for_exits(size))


@inlined
def side_with_right(square: int) -> int:
    """The side to move where ``square`` may be captured on en passant."""
    return 1 if square < 32 else 0


@kernel
def _capture(frame: Frame, pool: Pool, exits: Exits, turn: Turn, square: int, capturer: int) -> Word:
    """Fold one pawn's en passant capture; return the positions where it is legal."""
    side, pawns = turn.side, turn.men.pawns
    enemy = 1 - side
    victim = BIT[square - 8 if side == 0 else square + 8]
    left = (turn.occupied & ~BIT[capturer] & ~victim) | BIT[square]
    pawns[enemy] = frame.pawns[enemy] & ~victim
    pawns[side] = (frame.pawns[side] & ~BIT[capturer]) | BIT[square]
    mask = turn.legal & king_safe(frame, turn.men.squares, side, left, pawns[enemy], NOWHERE, True)
    if mask:
        settle_moves(pool, exits, turn, mask, PAWN, CAPTURED_PAWN, NOTHING, NOWHERE)
    pawns[0], pawns[1] = frame.pawns[0], frame.pawns[1]
    return mask


@jit
def prepare(frame: Frame, pool: Pool, exits: Exits, phase: Phase, square: int, right: Right) -> None:
    """Find the positions of the phase with a legal en passant capture on ``square``.

    ``exits`` are those without the right.
    """
    side = side_with_right(square)
    step = -8 if side == 0 else 8
    vacant = BIT[square] | BIT[square - step]
    men, uncounted = room_for_men(), np.empty(SLICES, np.uint64)
    rank, best = right.rank, right.exits
    rank[:] = 0
    for word in range(frame.words):
        legal = phase.legal[side, word] & ~vacant
        if legal == ZERO:
            continue
        occupied = enter_word(frame, word, men)
        if occupied & vacant:
            continue
        first = word * 64
        at = side * frame.words * 64 + first
        move(best.value, first, exits.value, at, ALL)
        move(best.nearest, first, exits.nearest, at, ALL)
        move(best.farthest, first, exits.farthest, at, ALL)
        turn = Turn(side, first, legal, occupied, men, uncounted, False)
        capturers = PAWN_ATTACKS[1 - side, square] & frame.pawns[side]
        while capturers:
            mask = _capture(frame, pool, best, turn, square, lowest(capturers))
            capturers &= capturers - ONE
            while mask:
                bit = lowest(mask)
                mask &= mask - ONE
                if rank[first + bit] == 0:
                    rank[first + bit] = rank_at(phase.slices[side, word], bit)
                rank[first + bit] += 2


@kernel
def _follow(
    frame: Frame,
    phase: Phase,
    attacker: Attacker,
    fresh: SweepResults,
    own: int,
    slot: int,
    exits: Exits,
    at: int,
) -> None:
    """Fold the state after a quiet move of the attacker to a slot, if legal, into entry ``at`` of
    ``exits``."""
    side = attacker.side
    other, word, bit = 1 - side, slot >> 6, BIT[slot & 63]
    if phase.legal[other, word] & bit == ZERO:
        return
    if phase.alive[other, word] & bit == ZERO:
        place = fresh.starts[other] + slot
        keep_best_exit(exits, at, side, fresh.value[place], fresh.depth[place])
    elif phase.score_resets and attacker.inner_sets.caught[word] & bit:
        node = other * frame.words * 64 + slot
        keep_best_exit(exits, at, side, attacker.results.value[node], attacker.results.depth[node])
    else:
        keep_best_exit(exits, at, side, own, int64(0))


@inlined
def _keep_own(exits: Exits, at: int, own: int, rank: int) -> None:
    """Replace an exit of no smaller rank than the position's own score by that score, which stays."""
    value = int64(exits.value[at])
    if exits.nearest[at] != NO_EXIT and min(value, 255 - value) >= rank:
        exits.value[at] = own


@jit
def resolve(
    frame: Frame,
    phase: Phase,
    attacker: Attacker,
    fresh: SweepResults,
    right: Right,
    ranks: tuple[int, int],
    start: int,
) -> None:
    """Settle the positions with a right whose rank is from the first of ``ranks`` to below the second.

    ``attacker`` is the one with the side to move, its inner sweep of the first layer done (or no position
    alive). Values and depths go to ``fresh`` at ``start`` + slot.
    """
    side, exits = attacker.side, right.exits
    found = room_for_moves(MOST_MOVES)
    for word in range(frame.words):
        first = word * 64
        for bit in range(64):
            at = first + bit
            rank = right.rank[at]
            if not ranks[0] <= rank < ranks[1]:
                continue
            own = int64(255 - rank if side == 0 else rank)
            if not phase.score_resets:
                _keep_own(exits, at, own, rank)
            for number in range(quiet_targets(frame, word, bit, side, found)):
                _follow(frame, phase, attacker, fresh, own, found.word[number], exits, at)
            value = exits.value[at]
            fresh.value[start + at] = value
            if value == own:
                fresh.depth[start + at] = 0
            elif (value < own) == (side == 0):
                fresh.depth[start + at] = exits.nearest[at] + 1
            else:
                fresh.depth[start + at] = exits.farthest[at] + 1
