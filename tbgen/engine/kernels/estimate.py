"""Estimates of positions that no table contains and in which the game is not over.

An estimate is a weighted mean of two parts. The first part is the accrued score. The fewer men there are on
the board, the less likely a reset is, and the greater the weight of the accrued score. The second part is a
guess of the score that the game will reach. The side with better men, on better squares and with more moves,
is assumed to win, or to drive the other king into a corner, where the king has few moves.

In a game that is drawn in chess, the lead itself does not count, only its change since the root; restricting
the opponent's moves also counts. The engine also hopes to improve on the accrued score, because the other
side plays only chess.

Each row of ``rows`` holds one position (:mod:`tbgen.engine.kernels.board`).
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import (
    ACCRUED,
    AFTER,
    BISHOPS,
    BLACKS,
    KING_MOVE_COUNT,
    KINGS,
    NULL,
    PAWNS,
    RANK,
    TURN,
    WHITES,
    Rows,
)
from tbgen.engine.scale import MATE
from tbgen.engine.squares import CENTRE_DISTANCE, KING_DISTANCE, MAN_VALUES, PHASE_WEIGHTS, TOTAL_PHASE
from tbgen.moves.kernels.words import Ints, Word, bits_of, lowest, popcount

_MOVE_CENTIPAWNS = 3
"""Centipawns for each legal move that a side has in excess of the other side."""
_HALF_ESTIMATE_LEAD = 800
"""Lead in centipawns that is worth half of the greatest estimate."""
_MAX_ESTIMATE = MATE * 9 // 10
"""Limit that the estimate of a lead approaches, below the value of a mate."""
_TURN_CENTIPAWNS = 10
"""Bonus for the side to move, in centipawns."""
_BISHOP_PAIR_CENTIPAWNS = 30
_DRIVING_LEAD = 200
"""Lead in centipawns above which a side tries to drive the other king to the edge. A lead that is at least as
large is clear."""
_EDGE_BONUS = 10
"""Centipawns for each step of the weaker side's king away from the centre."""
_APPROACH_BONUS = 4
"""Centipawns for each step by which the kings are closer together."""
_WINNING_LEAD = 400
"""Lead in pieces, in centipawns, below which a side without pawns hardly ever wins."""
_MAX_ACCRUED_PERCENT = 90
"""Without pawns and without a clear lead, the accrued score's weight is doubled, up to this percentage."""
_GOOD_SCORE_PERCENT = 92
"""Weight, in per cent, of a good accrued score in a drawn game without pawns. A score is good if its rank is
at most that of the hoped-for score, whoever holds it."""
_PAWN_DEDUCTION = 4
"""Deduction from the weight of a good accrued score for each pawn, in per cent."""
_MIN_PERCENT = 60
"""Minimum weight, in per cent, of a good accrued score in a drawn game."""
_POOR_SCORE_PERCENT = 60
"""Weight, in per cent, of an accrued score of greater rank than the hoped-for score, in a drawn game."""
_DRAW_GAIN = 150
"""Centipawns that a side may gain while the game is still drawn."""
_RESTRICTION_FACTOR = MATE // 8
"""Scale of the value of restricting the other side's moves."""
_DARK_SQUARES = np.uint64(0xAA55AA55AA55AA55)


@inlined
def score_value(value_by_rank: Ints, accrued: int) -> int:
    """Return the value of an accrued score from White's point of view.

    :param value_by_rank: for each rank, the value of the score of this rank that White holds.
    :param accrued: the accrued score, encoded as in ``rows``.
    """
    value = value_by_rank[accrued >> 1]
    return -value if accrued & 1 else value


@inlined
def score_percent(rows: Rows, row: int) -> int:
    """Return the weight of the accrued score, in per cent."""
    pawns = popcount(rows[row, PAWNS])
    pieces = popcount(rows[row, WHITES] | rows[row, BLACKS]) - pawns - 2
    return int64(100 // (2 + pawns + pieces // 2))


@kernel
def _lead_in_men(rows: Rows, row: int) -> tuple[int, int]:
    """Return White's lead in the values of men, in centipawns, interpolated between middlegame and endgame.

    Also return the lead in pieces alone, with the values of the endgame.
    """
    early, late, piece_lead, game_phase = int64(0), int64(0), int64(0), int64(0)
    for kind in range(6):
        for side in range(2):
            sign = 1 - 2 * side
            for square in bits_of(rows[row, kind] & rows[row, WHITES + side]):
                early += sign * MAN_VALUES[0, side, kind, square]
                late += sign * MAN_VALUES[1, side, kind, square]
                game_phase += PHASE_WEIGHTS[kind]
                if kind != PAWNS:
                    piece_lead += sign * MAN_VALUES[1, side, kind, square]
    game_phase = min(game_phase, TOTAL_PHASE)
    return (early * game_phase + late * (TOTAL_PHASE - game_phase)) // TOTAL_PHASE, piece_lead


@inlined
def _bishop_pair_bonus(bishops: Word) -> int:
    """Return the bonus for bishops on squares of both colours."""
    return _BISHOP_PAIR_CENTIPAWNS if bishops & _DARK_SQUARES and bishops & ~_DARK_SQUARES else 0


@kernel
def lead(rows: Rows, row: int) -> int:
    """Return White's lead in centipawns."""
    total, piece_lead = _lead_in_men(rows, row)
    white, black, pawns, bishops = rows[row, WHITES], rows[row, BLACKS], rows[row, PAWNS], rows[row, BISHOPS]
    total += _bishop_pair_bonus(bishops & white) - _bishop_pair_bonus(bishops & black)
    sign = -1 if rows[row, TURN] else 1
    total += sign * _TURN_CENTIPAWNS
    if row and rows[row, AFTER] != NULL:
        move_count = int64(rows[row, RANK] >> np.uint64(1))
        prev_move_count = int64(rows[row - 1, RANK] >> np.uint64(1))
        total += sign * _MOVE_CENTIPAWNS * (move_count - prev_move_count)
    leading_men = white if total > 0 else black
    if not pawns & leading_men and abs(piece_lead) < _WINNING_LEAD:
        return total // 4
    if abs(total) > _DRIVING_LEAD:
        ours = lowest(rows[row, KINGS] & leading_men)
        theirs = lowest(rows[row, KINGS] & ~leading_men)
        bonus = _EDGE_BONUS * CENTRE_DISTANCE[theirs] + _APPROACH_BONUS * (7 - KING_DISTANCE[ours, theirs])
        total += bonus if total > 0 else -bonus
    return total


@kernel
def estimate(rows: Rows, row: int, value_by_rank: Ints) -> int:
    """Return the estimated value of a state, from White's point of view.

    :param value_by_rank: for each rank, the value of the score of this rank that White holds.
    """
    centipawns = lead(rows, row)
    guess = _MAX_ESTIMATE * centipawns // (abs(centipawns) + _HALF_ESTIMATE_LEAD)
    weight = score_percent(rows, row)
    if not rows[row, PAWNS] and abs(centipawns) < _DRIVING_LEAD:
        weight = min(2 * weight, _MAX_ACCRUED_PERCENT)
    return (weight * score_value(value_by_rank, int64(rows[row, ACCRUED])) + (100 - weight) * guess) // 100


@inlined
def _restriction(rows: Rows, row: int) -> int:
    """Return the value, for the other side, of the fact that the side to move has few moves."""
    move_count = int64(rows[row, RANK]) >> 1
    king_move_count = int64(rows[row, KING_MOVE_COUNT])
    return _RESTRICTION_FACTOR // (2 + king_move_count) + _RESTRICTION_FACTOR // (2 + move_count // 2)


@kernel
def estimate_drawn(rows: Rows, row: int, value_by_rank: Ints, root_lead: int, hoped_value: int) -> int:
    """Return the estimated value of a state, from White's point of view, in a game that is drawn in chess.

    :param value_by_rank: for each rank, the value of the score of this rank that White holds.
    :param root_lead: White's lead in centipawns at the root of the search.
    :param hoped_value: value, from White's point of view, of the score that the engine may still reach.
    """
    gain = lead(rows, row) - root_lead
    gain = max(gain - _DRAW_GAIN, int64(0)) + min(gain + _DRAW_GAIN, int64(0))  # what exceeds _DRAW_GAIN
    accrued_value = score_value(value_by_rank, int64(rows[row, ACCRUED]))
    percent = int64(_POOR_SCORE_PERCENT)
    if abs(accrued_value) >= abs(hoped_value):
        percent = max(_GOOD_SCORE_PERCENT - _PAWN_DEDUCTION * popcount(rows[row, PAWNS]), int64(_MIN_PERCENT))
    restriction = _restriction(rows, row - 1) - _restriction(rows, row)
    value = (percent * accrued_value + (100 - percent) * hoped_value) // 100
    value += -restriction if rows[row, TURN] else restriction
    return (_HALF_ESTIMATE_LEAD * value + _MAX_ESTIMATE * gain) // (abs(gain) + _HALF_ESTIMATE_LEAD)
