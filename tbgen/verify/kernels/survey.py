"""Which slots hold positions, and the rank of each: all about a table that needs no values of moves."""

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.verify.kernels.best import ProofGame, ProofScratch, Range, canonical_slot_of
from tbgen.verify.kernels.bitboards import ZERO, bit
from tbgen.verify.kernels.findings import ENDED, MISSING, NOWHERE, Findings, note
from tbgen.verify.kernels.keys import key_of, level_of
from tbgen.verify.kernels.moves import attacked, legal_moves, legal_targets, place, takes_en_passant

NO_RANK = 255
"""Where there is no canonical legal position; ranks are smaller."""


@kernel
def survey(game: ProofGame, rank: NDArray[np.uint8], part: Range, scratch: ProofScratch) -> None:
    """Put the rank of every canonical legal position of a range of slots into ``rank``, uint8 (2, size)."""
    men, squares = game.men, scratch.squares
    for slot in range(part[0], part[1]):
        occupied = place(men, slot, squares)
        canonical = occupied != ZERO and (game.is_cell or canonical_slot_of(game, scratch) == slot)
        for side in range(2):
            own = NO_RANK
            if canonical and not attacked(men, squares, occupied, squares[men.king[1 - side]], side):
                check = legal_targets(men, squares, occupied, side, scratch.targets)
                own = 2 * legal_moves(men, scratch.targets) + (0 if check else 1)
            rank[side, slot] = own


@kernel
def compare(
    game: ProofGame, rank: NDArray[np.uint8], part: Range, scratch: ProofScratch, findings: Findings
) -> int:
    """Compare the values of a range of slots with ``rank``, which :func:`survey` has filled.

    A position without a value, a value without a position and a wrong value of an ended game are findings.
    Return the number of positions.
    """
    positions = 0
    for slot in range(part[0], part[1]):
        for side in range(2):
            own, code = int64(rank[side, slot]), int64(game.value[side, slot])
            positions += own != NO_RANK
            _compare(findings, False, side, slot, own, code, int64(game.depth[side, slot]))
    return positions


@kernel
def survey_en_passant(
    game: ProofGame,
    config: NDArray[np.int32],
    rank: NDArray[np.uint8],
    scratch: ProofScratch,
    findings: Findings,
) -> int:
    """Do both for positions with an en passant right: ``config`` is int32 (configurations, 2), ``rank`` uint8
    of the shape of ``ProofGame.ep_value``."""
    men = game.men
    positions = 0
    for row in range(config.shape[0]):
        for index in range(men.phase_size):
            phase, square = int64(config[row, 0]), int64(config[row, 1])
            own = _en_passant_rank(game, phase, square, index, scratch)
            rank[row, index] = own
            positions += own != NO_RANK
            code, depth = int64(game.ep_value[row, index]), int64(game.ep_depth[row, index])
            place_number = row * men.phase_size + index
            side = 1 if square < 32 else 0
            _compare(findings, True, side, place_number, own, code, depth)
    return positions


@inlined
def _compare(
    findings: Findings, en_passant: bool, side: int, place_number: int, rank: int, code: int, depth: int
) -> None:
    """Note what is wrong with a stored value, what moves lead to apart."""
    if rank == NO_RANK:
        if code != NONE or depth != 0:
            note(findings, NOWHERE, en_passant, side, place_number, 0, key_of(code, depth, 0), 0)
    elif code == NONE:
        note(findings, MISSING, en_passant, side, place_number, 0, 0, 0)
    elif rank < 2:
        level = level_of(rank, side)
        stored, right = key_of(code, depth, level), level << 16
        if stored != right:
            note(findings, ENDED, en_passant, side, place_number, level, stored, right)


@inlined
def _en_passant_rank(game: ProofGame, phase: int, square: int, index: int, scratch: ProofScratch) -> int:
    """Rank of a position with the right to capture on ``square``, ``NO_RANK`` if it is not one."""
    men, squares = game.men, scratch.squares
    side = 1 if square < 32 else 0
    occupied = place(men, phase * men.phase_size + index, squares)
    origin = square + 8 - 16 * side
    if occupied == ZERO or occupied & (bit(square) | bit(origin)):
        return NO_RANK
    if attacked(men, squares, occupied, squares[men.king[1 - side]], side):
        return NO_RANK
    if canonical_slot_of(game, scratch) != phase * men.phase_size + index:
        return NO_RANK
    captures = 0
    for man in range(men.free, men.kinds.size):
        if takes_en_passant(men, squares, occupied, side, man, square):
            captures += 1
    if captures == 0:
        return NO_RANK
    check = legal_targets(men, squares, occupied, side, scratch.targets)
    return 2 * (legal_moves(men, scratch.targets) + captures) + (0 if check else 1)
