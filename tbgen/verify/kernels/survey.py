"""Which slots hold positions, and the rank of each: all about a table that needs no values of moves."""

import numpy as np

from tbgen.accelerate import inlined, kernel
from tbgen.score import NONE
from tbgen.verify.kernels.best import canonical_slot_of
from tbgen.verify.kernels.bitboards import ZERO, bit
from tbgen.verify.kernels.findings import ENDED, MISSING, NOWHERE, note
from tbgen.verify.kernels.keys import key_of, level_of
from tbgen.verify.kernels.moves import attacked, legal_moves, legal_targets, place, takes_en_passant

NO_RANK = 255
"""Where there is no canonical legal position; ranks are smaller."""


@kernel
def survey(game, rank, start, stop, scratch, found):
    """Put the rank of every canonical legal position among the slots ``start..stop`` into ``rank``.

    ``rank`` is uint8 (2, size). A position without a value, a value without a position and a wrong value of
    an ended game are noted in ``found``. Return the number of positions and of findings.
    """
    men = game.men
    positions = findings = 0
    for slot in range(start, stop):
        occupied = place(men, slot, scratch.squares)
        canonical = occupied != ZERO and canonical_slot_of(game, scratch) == slot
        for side in range(2):
            own = NO_RANK
            if canonical and not attacked(men, scratch.squares, occupied, scratch.squares[1 - side], side):
                check = legal_targets(men, scratch.squares, occupied, side, scratch.targets)
                own = 2 * legal_moves(men, scratch.targets) + (0 if check else 1)
            rank[side, slot] = own
            positions += own != NO_RANK
            code, depth = np.int64(game.value[side, slot]), np.int64(game.depth[side, slot])
            findings += _compare(found, findings, False, side, slot, own, code, depth)
    return positions, findings


@kernel
def survey_en_passant(game, config, ep_rank, scratch, found):
    """The same for positions with an en passant right: ``config`` is int32 (configurations, 2), ``ep_rank``
    uint8 of the shape of ``Game.ep_value``."""
    men = game.men
    positions = findings = 0
    for row in range(config.shape[0]):
        for index in range(men.phase_size):
            phase, square = np.int64(config[row, 0]), np.int64(config[row, 1])
            own = _en_passant_rank(game, phase, square, index, scratch)
            ep_rank[row, index] = own
            positions += own != NO_RANK
            code, depth = np.int64(game.ep_value[row, index]), np.int64(game.ep_depth[row, index])
            place_number = row * men.phase_size + index
            side = 1 if square < 32 else 0
            findings += _compare(found, findings, True, side, place_number, own, code, depth)
    return positions, findings


@inlined
def _compare(found, findings, en_passant, side, place_number, rank, code, depth):
    """Note what is wrong with a stored value, what moves lead to apart; return 1 if anything, else 0."""
    if rank == NO_RANK:
        if code == NONE and depth == 0:
            return 0
        note(found, findings, NOWHERE, en_passant, side, place_number, 0, key_of(code, depth, 0), 0)
        return 1
    if code == NONE:
        note(found, findings, MISSING, en_passant, side, place_number, 0, 0, 0)
        return 1
    if rank < 2:
        level = level_of(rank, side)
        stored, right = key_of(code, depth, level), level << 16
        if stored != right:
            note(found, findings, ENDED, en_passant, side, place_number, level, stored, right)
            return 1
    return 0


@inlined
def _en_passant_rank(game, phase, square, index, scratch):
    """Rank of a position with the right to capture on ``square``, ``NO_RANK`` if it is not one."""
    men, squares = game.men, scratch.squares
    side = 1 if square < 32 else 0
    occupied = place(men, phase * men.phase_size + index, squares)
    origin = square + 8 - 16 * side
    if occupied == ZERO or occupied & (bit(square) | bit(origin)):
        return NO_RANK
    if attacked(men, squares, occupied, squares[1 - side], side):
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
