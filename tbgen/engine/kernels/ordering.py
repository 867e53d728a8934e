"""The order in which the search tries moves.

First comes the best move of an earlier search, then captures and promotions by MVV-LVA, then killer moves
[1], then other moves by their history [2].

[1] https://www.chessprogramming.org/Killer_Heuristic
[2] https://www.chessprogramming.org/History_Heuristic
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import (
    BLACKS,
    CAPTURE,
    NO_KIND,
    NOISY_MASK,
    PAWNS,
    SQUARES_AND_PROMOTION,
    TURN,
    kind_at,
    moving_kind,
    promoted_kind,
    start_of,
    target_of,
)
from tbgen.engine.squares import PAWN_ATTACKS
from tbgen.engine.workspace import PLY_LIMIT, UNPRUNED, SearchWorkspace

_MAN_VALUES = np.array([100, 320, 330, 500, 950, 0, 0])
"""Values of men in centipawns, by kind, for MVV-LVA; 0 for the king and for no man."""
_HINT_PRIORITY = 1 << 30
_NOISY_PRIORITY = 1 << 28
"""Priority of a capture or promotion that gains nothing."""
_KILLER_PRIORITY = 1 << 27
_LOSING_PRIORITY = -(1 << 20)
"""Priority of a capture of a man that a pawn defends, if the capturing man is worth more than the gain."""
_GAIN_FACTOR = 16
"""A gain counts this many times as much as the value of the moving man."""
_HISTORY_LIMIT = 1 << 16
"""Value that the history of a move approaches."""


@inlined
def _noisy_priority(work: SearchWorkspace, row: int, move: int) -> int:
    """Return the priority of a capture or promotion."""
    rows = work.rows
    turn = int64(work.rows[row, TURN])
    gain = _MAN_VALUES[promoted_kind(move)]  # without a promotion, the value of a pawn
    if move & CAPTURE:
        victim = kind_at(rows, row, target_of(move))
        gain += _MAN_VALUES[PAWNS if victim == NO_KIND else victim]  # en passant: no man is on the square
    cost = _MAN_VALUES[moving_kind(move)]
    if gain < cost and not promoted_kind(move) and not work.control[UNPRUNED]:
        defenders = PAWN_ATTACKS[turn, target_of(move)] & rows[row, BLACKS - turn] & rows[row, PAWNS]
        if defenders:
            return int64(_LOSING_PRIORITY)
    return int64(_NOISY_PRIORITY + _GAIN_FACTOR * gain - cost)


@kernel
def set_priorities(work: SearchWorkspace, row: int, ply: int, count: int, hint: int) -> None:
    """Compute the priorities of the moves at a ply.

    :param count: number of moves.
    :param hint: squares and promotion of the best move of an earlier search, 0 for none.
    """
    turn = int64(work.rows[row, TURN])
    for index in range(count):
        move = int64(work.moves[ply, index])
        if hint and move & SQUARES_AND_PROMOTION == hint:
            priority = int64(_HINT_PRIORITY)
        elif move & NOISY_MASK:
            priority = _noisy_priority(work, row, move)
        elif move == work.killers[ply, 0]:
            priority = int64(_KILLER_PRIORITY)
        elif move == work.killers[ply, 1]:
            priority = int64(_KILLER_PRIORITY - 1)
        else:
            priority = int64(work.history[turn, start_of(move), target_of(move)])
        work.priority[ply, index] = priority


@inlined
def next_move(work: SearchWorkspace, ply: int, index: int, count: int) -> int:
    """Find the move with the highest priority among those from ``index`` on, swap it to this index,
    and return it.
    """
    moves, priority = work.moves, work.priority
    best = index
    for other in range(index + 1, count):
        if priority[ply, other] > priority[ply, best]:
            best = other
    move = moves[ply, best]
    moves[ply, best] = moves[ply, index]
    moves[ply, index] = move
    best_priority = priority[ply, best]
    priority[ply, best] = priority[ply, index]
    priority[ply, index] = best_priority
    return int64(move)


@kernel
def record_cutoff(work: SearchWorkspace, row: int, ply: int, move: int, depth: int) -> None:
    """Record in the killer moves and in the history that a move without capture or promotion caused a beta
    cutoff.
    """
    if work.killers[ply, 0] != move:
        work.killers[ply, 1] = work.killers[ply, 0]
        work.killers[ply, 0] = move
    turn = int64(work.rows[row, TURN])
    old_score = int64(work.history[turn, start_of(move), target_of(move)])
    bonus = depth * depth - old_score * depth * depth // _HISTORY_LIMIT
    work.history[turn, start_of(move), target_of(move)] = old_score + bonus


@kernel
def age_records(work: SearchWorkspace) -> None:
    """Forget the killer moves, and halve the history, before the next move of the game."""
    for ply in range(PLY_LIMIT):
        work.killers[ply, 0] = work.killers[ply, 1] = 0
    for turn in range(2):
        for start in range(64):
            for target in range(64):
                work.history[turn, start, target] >>= 1
