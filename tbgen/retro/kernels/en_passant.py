"""Solving positions with an en passant right (section 6 of docs/theory.md).

No move within the phase leads to such a position. Once the layer of its position score is solved, its value
follows from its moves: exits, including the en passant capture, and quiet moves into the layer. Whole-game
mobility has no layers; a move counts with the position score unless it leads to a score of smaller rank.
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
    ExitSearch,
    fold_moves,
    keep_best_exit,
)
from tbgen.retro.kernels.frame import enter_word, king_safe
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.moves import MAX_WORD_MOVES, SLICES, move_buffer, quiet_targets, rank_at
from tbgen.retro.kernels.sweep import Attacker, SweepResults
from tbgen.retro.kernels.targets import CAPTURED_PAWN, Pool, men_buffer
from tbgen.retro.kernels.words import ALL, ZERO, Codes, Word, bits_of, move


class Right(NamedTuple):
    """The positions of a phase that have one en passant right."""

    rank: Codes
    """uint8 (phase size,): position ranks; 0 for slots without such a position."""
    exits: Exits
    """Best exits of these positions, one per slot."""


@inlined
def side_with_right(square: int) -> int:
    """The side that may capture en passant on ``square``."""
    return 1 if square < 32 else 0


@kernel
def _capture(search: ExitSearch, square: int, capturer: int) -> Word:
    """Fold the en passant capture by one pawn; return the positions in which it is legal."""
    frame, side, pawns = search.frame, search.side, search.men.pawns
    enemy = 1 - side
    victim = BIT[square - 8 if side == 0 else square + 8]
    remaining = (search.occupied & ~BIT[capturer] & ~victim) | BIT[square]
    pawns[enemy] = frame.pawns[enemy] & ~victim
    pawns[side] = (frame.pawns[side] & ~BIT[capturer]) | BIT[square]
    mask = search.legal & king_safe(frame, search.men, side, remaining, NOWHERE, True)
    if mask:
        fold_moves(search, mask, PAWN, CAPTURED_PAWN, NOTHING, NOWHERE)
    pawns[0], pawns[1] = frame.pawns[0], frame.pawns[1]
    return mask


@jit
def prepare(workspace: Workspace, pool: Pool, square: int, right: Right) -> None:
    """Find the positions of the phase with a legal en passant capture on ``square``.

    Their moves without the right must have been counted before.
    """
    frame, phase, exits, best = workspace.frame, workspace.phase, workspace.exits, right.exits
    side = side_with_right(square)
    vacant = BIT[square] | BIT[square + (8 if side == 0 else -8)]
    men, slices = men_buffer(), np.empty(SLICES, np.uint64)
    right.rank[:] = 0
    for word in range(frame.words):
        legal, occupied = phase.legal[side, word] & ~vacant, enter_word(frame, word, men)
        if legal == ZERO or occupied & vacant:
            continue
        first, node = word * 64, (side * frame.words + word) * 64
        move(best.value, first, exits.value, node, ALL)
        move(best.nearest, first, exits.nearest, node, ALL)
        move(best.farthest, first, exits.farthest, node, ALL)
        slices[:] = phase.slices[side, word]
        search, able = ExitSearch(frame, pool, best, side, first, legal, occupied, men, slices, False), ZERO
        for capturer in bits_of(PAWN_ATTACKS[1 - side, square] & frame.pawns[side]):
            able |= _capture(search, square, capturer)
        for bit in bits_of(able):
            right.rank[first + bit] = rank_at(slices, bit)


@kernel
def _fold_quiet_move(
    attacker: Attacker, fresh: SweepResults, score: int, slot: int, exits: Exits, at: int
) -> None:
    """Fold the quiet move of the attacker to ``slot``, if legal, into element ``at`` of ``exits``; ``score``
    is the position score."""
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
        keep_best_exit(exits, at, side, score, int64(0))


@inlined
def _fold_position_score(exits: Exits, at: int, score: int, rank: int) -> None:
    """Replace an exit by the position score ``score`` unless the exit has a smaller rank."""
    value = int64(exits.value[at])
    if exits.nearest[at] != NO_EXIT and min(value, 255 - value) >= rank:
        exits.value[at] = score


@jit
def resolve(
    attacker: Attacker, fresh: SweepResults, right: Right, ranks: tuple[int, int], start: int
) -> None:
    """Solve the positions with an en passant right whose position ranks are in the half-open range ``ranks``.

    ``attacker`` is the side to move. Its inner sweep of the layer of the position score has been run, or no
    position is alive. Values and depths are written to ``fresh`` at ``start`` + slot.
    """
    frame, side, exits = attacker.frame, attacker.side, right.exits
    buffer = move_buffer(MAX_WORD_MOVES)
    for at in range(64 * frame.words):
        rank = right.rank[at]
        if not ranks[0] <= rank < ranks[1]:
            continue
        score = int64(255 - rank if side == 0 else rank)
        if not attacker.phase.score_resets:
            _fold_position_score(exits, at, score, rank)
        for number in range(quiet_targets(frame, at >> 6, at & 63, side, buffer)):
            _fold_quiet_move(attacker, fresh, score, buffer.word[number], exits, at)
        value, depth = exits.value[at], int64(0)
        if value != score:
            depth = int64(exits.nearest[at] if (value < score) == (side == 0) else exits.farthest[at]) + 1
        fresh.value[start + at], fresh.depth[start + at] = value, depth
