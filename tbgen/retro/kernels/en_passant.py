"""Positions with an en passant right: the first positions of their phase (section 6 of docs/theory.md).

Nothing leads back to such a position, so once the layer of its own score is solved, its value is one choice
among its moves: exits (the en passant capture included) and quiet moves into the layer. In whole-game
mobility there are no layers, and moves that do not lead to a score of smaller rank leave it its own.
"""

from typing import NamedTuple

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.retro.geometry import BIT, PAWN_ATTACKS
from tbgen.retro.kernels.best_exits import (
    NO_EXIT,
    NOTHING,
    NOWHERE,
    PAWN,
    Exits,
    Turn,
    keep_best_exit,
    settle_moves,
)
from tbgen.retro.kernels.frame import enter_word, king_safe
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.moves import MOST_MOVES, SLICES, quiet_targets, rank_at, room_for_moves
from tbgen.retro.kernels.sweep import Attacker, SweepResults
from tbgen.retro.kernels.targets import CAPTURED_PAWN, Pool, room_for_men
from tbgen.retro.kernels.words import ALL, ZERO, Codes, Word, bits_of, move


class Right(NamedTuple):
    """The positions of a phase with one en passant right."""

    rank: Codes
    """uint8 (phase size,): their rank; 0 where there is no such right."""
    exits: Exits
    """Their best exits."""


@inlined
def side_with_right(square: int) -> int:
    """The side to move where ``square`` may be captured on en passant."""
    return 1 if square < 32 else 0


@kernel
def _capture(turn: Turn, square: int, capturer: int) -> Word:
    """Count and fold one pawn's en passant capture; return the positions where it is legal."""
    frame, side, pawns = turn.frame, turn.side, turn.men.pawns
    enemy = 1 - side
    victim = BIT[square - 8 if side == 0 else square + 8]
    left = (turn.occupied & ~BIT[capturer] & ~victim) | BIT[square]
    pawns[enemy] = frame.pawns[enemy] & ~victim
    pawns[side] = (frame.pawns[side] & ~BIT[capturer]) | BIT[square]
    mask = turn.legal & king_safe(frame, turn.men, side, left, NOWHERE, True)
    if mask:
        settle_moves(turn, mask, PAWN, CAPTURED_PAWN, NOTHING, NOWHERE)
    pawns[0], pawns[1] = frame.pawns[0], frame.pawns[1]
    return mask


@jit
def prepare(workspace: Workspace, pool: Pool, square: int, right: Right) -> None:
    """Find the positions of the phase with a legal en passant capture on ``square``, whose moves without the
    right have been counted."""
    frame, phase, exits, best = workspace.frame, workspace.phase, workspace.exits, right.exits
    side = side_with_right(square)
    vacant = BIT[square] | BIT[square + (8 if side == 0 else -8)]
    men, slices = room_for_men(), np.empty(SLICES, np.uint64)
    right.rank[:] = 0
    for word in range(frame.words):
        legal, occupied = phase.legal[side, word] & ~vacant, enter_word(frame, word, men)
        if legal == ZERO or occupied & vacant:
            continue
        first, at = word * 64, (side * frame.words + word) * 64
        move(best.value, first, exits.value, at, ALL)
        move(best.nearest, first, exits.nearest, at, ALL)
        move(best.farthest, first, exits.farthest, at, ALL)
        slices[:] = phase.slices[side, word]
        turn, able = Turn(frame, pool, best, side, first, legal, occupied, men, slices, False), ZERO
        for capturer in bits_of(PAWN_ATTACKS[1 - side, square] & frame.pawns[side]):
            able |= _capture(turn, square, capturer)
        for bit in bits_of(able):
            right.rank[first + bit] = rank_at(slices, bit)


@kernel
def _follow(attacker: Attacker, fresh: SweepResults, own: int, slot: int, exits: Exits, at: int) -> None:
    """Fold the state after a quiet move of the attacker to a slot, if legal, into entry ``at`` of
    ``exits``."""
    phase, results, side = attacker.phase, attacker.results, attacker.side
    other, word, bit = 1 - side, slot >> 6, BIT[slot & 63]
    if phase.legal[other, word] & bit == ZERO:
        return
    if phase.alive[other, word] & bit == ZERO:
        place = fresh.starts[other] + slot
        keep_best_exit(exits, at, side, fresh.value[place], fresh.depth[place])
    elif phase.score_resets and attacker.inner_sets.caught[word] & bit:
        node = other * attacker.frame.words * 64 + slot
        keep_best_exit(exits, at, side, results.value[node], results.depth[node])
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
    attacker: Attacker, fresh: SweepResults, right: Right, ranks: tuple[int, int], start: int
) -> None:
    """Settle the positions with a right whose rank is from the first of ``ranks`` to below the second.

    ``attacker`` is the one with the side to move, its inner sweep of the first layer done (or no position
    alive). Values and depths go to ``fresh`` at ``start`` + slot.
    """
    frame, side, exits = attacker.frame, attacker.side, right.exits
    found = room_for_moves(MOST_MOVES)
    for at in range(64 * frame.words):
        rank = right.rank[at]
        if not ranks[0] <= rank < ranks[1]:
            continue
        own = int64(255 - rank if side == 0 else rank)
        if not attacker.phase.score_resets:
            _keep_own(exits, at, own, rank)
        for number in range(quiet_targets(frame, at >> 6, at & 63, side, found)):
            _follow(attacker, fresh, own, found.word[number], exits, at)
        value, depth = exits.value[at], int64(0)
        if value != own:
            depth = int64(exits.nearest[at] if (value < own) == (side == 0) else exits.farthest[at]) + 1
        fresh.value[start + at], fresh.depth[start + at] = value, depth
