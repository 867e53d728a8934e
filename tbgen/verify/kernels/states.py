"""The states of one layer: whether each is what the best move makes of it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.verify.kernels.best import ProofGame, ProofScratch, Range, best_en_passant, best_key, is_claimed
from tbgen.verify.kernels.findings import WRONG, Findings, note
from tbgen.verify.kernels.keys import MIDDLE, Accrued, key_before, key_of, level_of
from tbgen.verify.kernels.moves import place
from tbgen.verify.kernels.survey import NO_RANK


class ProofPositions(NamedTuple):
    """The positions of a table, or those with an en passant right, by side to move and slot."""

    rank: NDArray[np.uint8]
    """Shape (2, size): their ranks, ``NO_RANK`` where there is none."""
    chosen: NDArray[np.bool_]
    """Of the same shape: those to prove; if it is empty, all."""


@kernel
def prove(
    game: ProofGame,
    positions: ProofPositions,
    accrued: Accrued,
    part: Range,
    scratch: ProofScratch,
    findings: Findings,
) -> int:
    """Prove the states of a layer at a range of window slots.

    These are the positions of the layer's rank or more whose own score is worth its level (``MIDDLE``: all),
    and those with a value of such rank that have inherited the accrued score; only those that are claimed
    where claims may be less than what follows. In whole-game mobility each position has one state, that of
    its own score, and the level is ``MIDDLE``. Return the number of states.
    """
    rank, chosen, level = positions.rank, positions.chosen, accrued.level
    states = 0
    for index in range(part[0], part[1]):
        slot = game.base + index
        for side in range(2):
            own = int64(rank[side, slot])
            if own < accrued.rank or own == NO_RANK or (chosen.size and not chosen[side, slot]):
                continue
            code = int64(game.value[side, slot])
            fresh = game.allowed == 0 and _is_fresh(own, side, level)
            if not (fresh or is_claimed(game, own, code, accrued, side)):
                continue
            states += 1
            held, stored = level, int64(game.key[side, index])
            if not game.score_resets:
                held = level_of(own, side)
                stored = key_of(code, int64(game.depth[side, slot]), held)
            occupied = place(game.men, slot, scratch.squares)
            best = best_key(game, index, side, occupied, held, scratch)
            right = key_before((1 - 2 * side) * best, held)
            if stored != right if game.allowed == 0 else (stored - right) * game.allowed > 0:
                note(findings, WRONG, False, side, slot, held, stored, right)
    return states


@inlined
def _is_fresh(own: int, side: int, level: int) -> bool:
    """Whether the state of a position with this rank and side to move is its fresh one."""
    return level == MIDDLE or level_of(own, side) == level


@kernel
def prove_en_passant(
    game: ProofGame,
    config: NDArray[np.int32],
    positions: ProofPositions,
    accrued: Accrued,
    scratch: ProofScratch,
    findings: Findings,
) -> int:
    """The same for the en passant positions of the window, whose only states are the fresh ones.

    ``config`` is int32 (configurations, 2); the arrays of ``positions`` have the shape of ``game.ep_value``.
    """
    men, rank, chosen, level = game.men, positions.rank, positions.chosen, accrued.level
    states = 0
    for row in range(config.shape[0]):
        start = int64(config[row, 0]) * men.phase_size
        square = int64(config[row, 1])
        side = 1 if square < 32 else 0
        if not 0 <= start - game.base < game.key.shape[1]:
            continue
        for place_in_phase in range(men.phase_size):
            own = int64(rank[row, place_in_phase])
            if own < accrued.rank or own == NO_RANK or not _is_fresh(own, side, level):
                continue
            if chosen.size and not chosen[row, place_in_phase]:
                continue
            states += 1
            slot = start + place_in_phase
            held = level if game.score_resets else level_of(own, side)
            occupied = place(men, slot, scratch.squares)
            best = best_en_passant(game, side, square, occupied, held, scratch)
            best = max(best, best_key(game, slot - game.base, side, occupied, held, scratch))
            right = key_before((1 - 2 * side) * best, held)
            code, depth = (
                int64(game.ep_value[row, place_in_phase]),
                int64(game.ep_depth[row, place_in_phase]),
            )
            stored = key_of(code, depth, held)
            if stored != right:
                place_number = row * men.phase_size + place_in_phase
                note(findings, WRONG, True, side, place_number, held, stored, right)
    return states
