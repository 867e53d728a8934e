"""Solving positions with an en passant right (section 6 of docs/theory.md).

No move within the phase leads to such a position. Once the layer of its position score has been solved, its
value follows from its moves: exits, including the en passant capture, and quiet moves into the layer.

Whole-game mobility has no layers. There the value of each move is the position score, unless the score
that it leads to has a smaller rank.
"""

from typing import NamedTuple

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.moves.geometry import BIT, PAWN_ATTACKS
from tbgen.moves.kernels.best_exits import NO_INDEX, NO_MAN, PAWN, ExitSearch, keep_best_exit, record_moves
from tbgen.moves.kernels.frame import enter_word, king_safe_bits
from tbgen.moves.kernels.moves import MAX_WORD_MOVES, SLICES, list_quiet_targets, move_buffer, rank_at
from tbgen.moves.kernels.targets import CAPTURED_PAWN
from tbgen.moves.kernels.words import ALL, ZERO, Codes, Word, bits_of, copy
from tbgen.moves.structs import NO_EXIT, Exits, Men, Pool
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.sweep import Attacker, SweepResults


class EpPositions(NamedTuple):
    """The positions of a phase with a right to capture en passant on one square."""

    rank: Codes
    """uint8 (phase size,): position ranks; 0 for slots without such a position."""
    exits: Exits
    """Best exits of these positions, with one element for each slot."""


@inlined
def side_with_right(square: int) -> int:
    """The side that may capture en passant on ``square``."""
    return 1 if square < 32 else 0


@kernel
def _record_capture(search: ExitSearch, square: int, origin: int) -> Word:
    """Record the en passant capture by the pawn on ``origin``; return the positions in which the capture
    is legal."""
    frame, side, pawns = search.frame, search.side, search.men.pawns
    enemy = 1 - side
    victim = BIT[square - 8 if side == 0 else square + 8]
    remaining = (search.always_occupied & ~BIT[origin] & ~victim) | BIT[square]
    pawns[enemy] = frame.pawns[enemy] & ~victim
    pawns[side] = (frame.pawns[side] & ~BIT[origin]) | BIT[square]
    mask = search.legal & king_safe_bits(frame, search.men, side, remaining, NO_INDEX, True)
    if mask:
        record_moves(search, mask, PAWN, CAPTURED_PAWN, NO_MAN, NO_INDEX)
    pawns[0], pawns[1] = frame.pawns[0], frame.pawns[1]
    return mask


@jit
def find_ep_positions(
    workspace: Workspace, pool: Pool, square: int, positions: EpPositions, men: Men
) -> None:
    """Find the positions of the phase with a legal en passant capture on ``square``, and their exits.

    The other moves of the phase must already have been counted. ``men`` is scratch memory.
    """
    frame, phase, exits = workspace.frame, workspace.phase, workspace.exits
    best = positions.exits
    side = side_with_right(square)
    vacant = BIT[square] | BIT[square + (8 if side == 0 else -8)]
    slices = np.empty(SLICES, np.uint64)
    positions.rank[:] = 0
    for word in range(frame.words):
        legal = phase.legal[side, word] & ~vacant
        occupied = enter_word(frame, word, men)
        if legal == ZERO or occupied & vacant:
            continue
        first_slot = word * 64
        node = (side * frame.words + word) * 64
        copy(best.value, first_slot, exits.value, node, ALL)
        copy(best.min_depth, first_slot, exits.min_depth, node, ALL)
        copy(best.max_depth, first_slot, exits.max_depth, node, ALL)
        for digit in range(SLICES):
            slices[digit] = phase.rank_bits[side, word, digit]
        search = ExitSearch(frame, pool, best, side, first_slot, legal, occupied, men, slices, False, True)
        mask = ZERO
        for origin in bits_of(PAWN_ATTACKS[1 - side, square] & frame.pawns[side]):
            mask |= _record_capture(search, square, origin)
        for bit in bits_of(mask):
            positions.rank[first_slot + bit] = rank_at(slices, bit)


@kernel
def _record_quiet_move(
    attacker: Attacker, fresh: SweepResults, score: int, target_slot: int, exits: Exits, slot: int
) -> None:
    """Record the attacker's quiet move to ``target_slot`` in element ``slot`` of ``exits`` if it is legal.

    ``score`` is the position score.
    """
    phase, results, side = attacker.phase, attacker.results, attacker.side
    other = 1 - side
    word = target_slot >> 6
    bit = BIT[target_slot & 63]
    if phase.legal[other, word] & bit == ZERO:
        return
    if phase.alive[other, word] & bit == ZERO:
        index = fresh.starts[other] + target_slot
        keep_best_exit(exits, slot, side, fresh.value[index], fresh.depth[index])
    elif phase.score_resets and attacker.inner_sets.assigned[word] & bit:
        result_slot = results.starts[other] + target_slot
        keep_best_exit(exits, slot, side, results.value[result_slot], results.depth[result_slot])
    else:
        keep_best_exit(exits, slot, side, score, int64(0))


@inlined
def _fold_position_score(exits: Exits, slot: int, score: int, rank: int) -> None:
    """Replace an exit by the position score, unless the rank of the exit is smaller than ``rank``."""
    value = int64(exits.value[slot])
    if exits.min_depth[slot] != NO_EXIT and min(value, 255 - value) >= rank:
        exits.value[slot] = score


@jit
def solve_ep_positions(
    attacker: Attacker,
    fresh: SweepResults,
    positions: EpPositions,
    ranks: tuple[int, int],
    pool: Pool,
    start: int,
) -> None:
    """Solve the positions with an en passant right and with a position rank in the half-open range ``ranks``.

    ``attacker`` is the side to move. If any position is alive, the attacker's inner sweep of the layer of the
    position score must already have been run. Values and depths are written to ``pool`` at ``start`` + slot.
    """
    frame, side = attacker.frame, attacker.side
    exits = positions.exits
    buffer = move_buffer(MAX_WORD_MOVES)
    for slot in range(64 * frame.words):
        rank = positions.rank[slot]
        if not ranks[0] <= rank < ranks[1]:
            continue
        score = int64(255 - rank if side == 0 else rank)
        if not attacker.phase.score_resets:
            _fold_position_score(exits, slot, score, rank)
        for index in range(list_quiet_targets(frame, slot >> 6, slot & 63, side, buffer)):
            _record_quiet_move(attacker, fresh, score, buffer.word[index], exits, slot)
        value, depth = exits.value[slot], int64(0)
        if value != score:
            depth = (
                int64(exits.min_depth[slot] if (value < score) == (side == 0) else exits.max_depth[slot]) + 1
            )
        pool.value[start + slot], pool.depth[start + slot] = value, depth
