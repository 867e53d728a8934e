"""The states of one layer: whether each is what the best move makes of it."""

import numpy as np

from tbgen.accelerate import inlined, kernel
from tbgen.verify.kernels.best import best_en_passant, best_key
from tbgen.verify.kernels.findings import WRONG, note
from tbgen.verify.kernels.keys import MIDDLE, inherits, key_before, key_of, level_of
from tbgen.verify.kernels.moves import place
from tbgen.verify.kernels.survey import NO_RANK


@kernel
def prove(game, rank, lowest, level, chosen, start, stop, scratch, found):
    """Prove the states of a level at window slots ``start..stop``.

    These are the positions of rank ``lowest`` or more whose own score is worth the level (``MIDDLE``: all),
    and those with a value of such rank that have inherited the accrued score. If ``chosen`` (bool (2, size))
    is not empty, only positions marked there. In whole-game mobility each position has one state, that of its
    own score, and the level is ``MIDDLE``. Return the number of states and of wrong ones.
    """
    states = findings = 0
    for index in range(start, stop):
        slot = game.base + index
        for side in range(2):
            own = np.int64(rank[side, slot])
            if own < lowest or own == NO_RANK or (chosen.size and not chosen[side, slot]):
                continue
            code = np.int64(game.value[side, slot])
            if not (_is_fresh(own, side, level) or inherits(own, code, lowest, level, side)):
                continue
            states += 1
            held, stored = level, np.int64(game.key[side, index])
            if game.whole_game:
                held = level_of(own, side)
                stored = key_of(code, np.int64(game.depth[side, slot]), held)
            occupied = place(game.men, slot, scratch.squares)
            best = best_key(game, index, side, occupied, held, scratch)
            right = key_before((1 - 2 * side) * best, held)
            if stored != right:
                note(found, findings, WRONG, False, side, slot, held, stored, right)
                findings += 1
    return states, findings


@inlined
def _is_fresh(own, side, level):
    """Whether the state of a position with this rank and side to move is its fresh one."""
    return level == MIDDLE or level_of(own, side) == level


@kernel
def prove_en_passant(game, config, ep_rank, lowest, level, chosen, scratch, found):
    """The same for the en passant positions of the window, whose only states are the fresh ones.

    ``config`` is int32 (configurations, 2), ``ep_rank`` uint8 of the shape of ``Game.ep_value``, ``chosen`` a
    bool array of that shape or empty.
    """
    men = game.men
    states = findings = 0
    for row in range(config.shape[0]):
        start = np.int64(config[row, 0]) * men.phase_size
        square = np.int64(config[row, 1])
        side = 1 if square < 32 else 0
        if not 0 <= start - game.base < game.key.shape[1]:
            continue
        for place_in_phase in range(men.phase_size):
            own = np.int64(ep_rank[row, place_in_phase])
            if own < lowest or own == NO_RANK or not _is_fresh(own, side, level):
                continue
            if chosen.size and not chosen[row, place_in_phase]:
                continue
            states += 1
            slot = start + place_in_phase
            held = level_of(own, side) if game.whole_game else level
            occupied = place(men, slot, scratch.squares)
            best = best_en_passant(game, side, square, occupied, held, scratch)
            best = max(best, best_key(game, slot - game.base, side, occupied, held, scratch))
            right = key_before((1 - 2 * side) * best, held)
            code, depth = (
                np.int64(game.ep_value[row, place_in_phase]),
                np.int64(game.ep_depth[row, place_in_phase]),
            )
            stored = key_of(code, depth, held)
            if stored != right:
                place_number = row * men.phase_size + place_in_phase
                note(found, findings, WRONG, True, side, place_number, held, stored, right)
                findings += 1
    return states, findings
