"""The estimate of positions that no table contains, while the game continues.

An estimate is a weighted mean of two parts. The first part is the accrued score. Its weight grows as a reset
becomes less likely, that is, with fewer pawns and other men on the board. The second part is a guess of the
score that the game will reach. The side with better men, on better squares and with more moves, is assumed to
win, or to drive the other king into a corner, where the king has few moves.

In a game that is drawn in chess, the lead counts only as far as it has changed since the root. Restricting
the opponent's moves counts as well. The engine also hopes for more than the accrued score, because the other
side plays only chess.
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import (
    ACCRUED,
    BISHOPS,
    BLACKS,
    KING_MOVES,
    KINGS,
    PAWNS,
    RANK,
    STEP,
    TURN,
    WHITES,
    Rows,
)
from tbgen.engine.scale import MATE
from tbgen.engine.squares import KING_DISTANCE, MAN_VALUES, MIDDLE_DISTANCE, PHASE_WEIGHTS, TOTAL_PHASE
from tbgen.retro.kernels.words import Ints, Word, bits_of, lowest, popcount

_MOVE_CENTIPAWNS = 3
"""Centipawns for each legal move that a side has more than the other side."""
_HALF_LEAD = 800
"""Lead in centipawns whose value is half of the greatest estimate."""
_MAX_ESTIMATE = MATE * 9 // 10
"""Limit that the estimate of a lead approaches, below the value of a mate."""
_TURN_CENTIPAWNS = 10
"""Bonus for the side to move, in centipawns."""
_BISHOP_PAIR_CENTIPAWNS = 30
_DRIVING_LEAD = 200
"""Lead in centipawns above which a side drives the other king to the edge."""
_EDGE_BONUS, _APPROACH_BONUS = 10, 4
"""Centipawns for each step of the weaker side's king from the centre, and for each step that the kings are
closer together."""
_WINNING_LEAD = 400
"""Lead by pieces, in centipawns, below which a side without pawns hardly ever wins."""
_MAX_ACCRUED_PERCENT = 90
"""Maximum weight of the accrued score in per cent after doubling, without pawns and without a clear lead."""
_GOOD_PERCENT, _PAWN_PERCENT, _MIN_GOOD_PERCENT = 92, 4, 60
"""Weight in per cent of a good accrued score in a drawn game: without pawns; less per pawn; minimum."""
_POOR_PERCENT = 60
"""Weight in per cent, in a drawn game, of an accrued score that is worse than the hoped-for score."""
_DRAW_LEAD = 150
"""Centipawns that may be won or lost while the game remains drawn."""
_RESTRICTION_FACTOR = MATE // 8
"""Factor of the value of restricting the other side's moves."""
_DARK_SQUARES = np.uint64(0xAA55AA55AA55AA55)


@inlined
def worth_of(worth: Ints, accrued: int) -> int:
    """Return White's value of an accrued score, encoded as in ``rows``."""
    value = worth[accrued >> 1]
    return -value if accrued & 1 else value


@inlined
def weight(rows: Rows, row: int) -> int:
    """Return the weight of the accrued score in per cent."""
    pawns = popcount(rows[row, PAWNS])
    pieces = popcount(rows[row, WHITES] | rows[row, BLACKS]) - pawns - 2
    return int64(100 // (2 + pawns + pieces // 2))


@kernel
def _lead_in_men(rows: Rows, row: int) -> tuple[int, int]:
    """Return White's lead in centipawns by the men's values, interpolated by the phase of the game.

    Also return the lead by pieces alone with the values of the endgame.
    """
    early, late, phase, pieces = int64(0), int64(0), int64(0), int64(0)
    for kind in range(6):
        for side in range(2):
            sign = 1 - 2 * side
            for square in bits_of(rows[row, kind] & rows[row, WHITES + side]):
                early += sign * MAN_VALUES[0, side, kind, square]
                late += sign * MAN_VALUES[1, side, kind, square]
                phase += PHASE_WEIGHTS[kind]
                if kind != PAWNS:
                    pieces += sign * MAN_VALUES[1, side, kind, square]
    phase = min(phase, TOTAL_PHASE)
    return (early * phase + late * (TOTAL_PHASE - phase)) // TOTAL_PHASE, pieces


@inlined
def _bishop_pair_bonus(bishops: Word) -> int:
    """Return the bonus for a pair of bishops."""
    return _BISHOP_PAIR_CENTIPAWNS if bishops & _DARK_SQUARES and bishops & ~_DARK_SQUARES else 0


@kernel
def lead(rows: Rows, row: int) -> int:
    """Return White's lead in centipawns."""
    total, pieces = _lead_in_men(rows, row)
    white, black, pawns, bishops = rows[row, WHITES], rows[row, BLACKS], rows[row, PAWNS], rows[row, BISHOPS]
    total += _bishop_pair_bonus(bishops & white) - _bishop_pair_bonus(bishops & black)
    sign = -1 if rows[row, TURN] else 1
    total += sign * _TURN_CENTIPAWNS
    if row and not rows[row, STEP] & np.uint64(2):
        moves, prev_moves = int64(rows[row, RANK] >> np.uint64(1)), int64(rows[row - 1, RANK] >> np.uint64(1))
        total += sign * _MOVE_CENTIPAWNS * (moves - prev_moves)
    leading_men = white if total > 0 else black
    if not pawns & leading_men and abs(pieces) < _WINNING_LEAD:
        return total // 4
    if abs(total) > _DRIVING_LEAD:
        ours = lowest(rows[row, KINGS] & leading_men)
        theirs = lowest(rows[row, KINGS] & ~leading_men)
        bonus = _EDGE_BONUS * MIDDLE_DISTANCE[theirs] + _APPROACH_BONUS * (7 - KING_DISTANCE[ours, theirs])
        total += bonus if total > 0 else -bonus
    return total


@kernel
def estimate(rows: Rows, row: int, worth: Ints) -> int:
    """Return the estimated value for White of a position with its accrued score.

    :param worth: values of scores by rank.
    """
    centipawns = lead(rows, row)
    guess = _MAX_ESTIMATE * centipawns // (abs(centipawns) + _HALF_LEAD)
    percent = weight(rows, row)
    if not rows[row, PAWNS] and abs(centipawns) < _DRIVING_LEAD:
        percent = min(2 * percent, _MAX_ACCRUED_PERCENT)
    return (percent * worth_of(worth, int64(rows[row, ACCRUED])) + (100 - percent) * guess) // 100


@inlined
def _restriction(rows: Rows, row: int) -> int:
    """Return the value for the other side of restricting the side to move."""
    moves, king_moves = int64(rows[row, RANK]) >> 1, int64(rows[row, KING_MOVES])
    return _RESTRICTION_FACTOR // (2 + king_moves) + _RESTRICTION_FACTOR // (2 + moves // 2)


@kernel
def estimate_drawn(rows: Rows, row: int, worth: Ints, root_lead: int, hope: int) -> int:
    """Return the estimated value for White of a position in a game that is drawn in chess.

    :param worth: values of scores by rank.
    :param root_lead: White's lead in centipawns at the root of the search.
    :param hope: value of the score that the game may still reach.
    """
    gain = lead(rows, row) - root_lead
    gain = gain - _DRAW_LEAD if gain > _DRAW_LEAD else gain + _DRAW_LEAD if gain < -_DRAW_LEAD else int64(0)
    accrued_value = worth_of(worth, int64(rows[row, ACCRUED]))
    percent = int64(_POOR_PERCENT)
    if abs(accrued_value) >= abs(hope):
        percent = max(_GOOD_PERCENT - _PAWN_PERCENT * popcount(rows[row, PAWNS]), int64(_MIN_GOOD_PERCENT))
    restriction = _restriction(rows, row - 1) - _restriction(rows, row)
    drawn = (percent * accrued_value + (100 - percent) * hope) // 100
    drawn += -restriction if rows[row, TURN] else restriction
    return (_HALF_LEAD * drawn + _MAX_ESTIMATE * gain) // (abs(gain) + _HALF_LEAD)
