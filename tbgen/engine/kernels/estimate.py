"""The estimate of positions that no table contains, while the game continues.

An estimate is a weighted mean of two parts. One is the accrued score. Its weight grows as a reset becomes
less likely, that is, with fewer pawns and other men on the board. The other is a guess of the score that the
game will reach: the side with better men, on better squares and with more moves wins, or drives the other
king into a corner, where he has few moves.

In a game that is drawn in chess, only material won or lost since the root counts. Restricting the opponent's
moves counts as well. The engine hopes for more than the accrued score there, because the other side plays
chess.
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import (
    ACCRUED,
    BISHOPS,
    KING_MOVES,
    KINGS,
    OF_BLACK,
    OF_WHITE,
    PAWNS,
    RANK,
    STEP,
    TURN,
    Rows,
)
from tbgen.engine.scale import MATE
from tbgen.engine.squares import ALL_PHASES, KING_DISTANCE, MIDDLE_DISTANCE, PHASES, WORTH
from tbgen.retro.kernels.words import Ints, Word, bits_of, lowest, popcount

_MOVE_CENTIPAWNS = 3
"""Centipawns per legal move in excess of the other side's."""
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
"""Maximum weight of the accrued score in per cent where it is doubled: without pawns or a clear lead."""
_GOOD_PERCENT, _PERCENT_PER_PAWN, _MIN_GOOD_PERCENT = 92, 4, 60
"""Weight in per cent of a good accrued score in a drawn game: without pawns, reduction per pawn, minimum."""
_POOR_PERCENT = 60
"""Weight in per cent, in a drawn game, of an accrued score that is worse than the hoped-for one."""
_DRAW_LEAD = 150
"""Centipawns that may be won or lost while the game remains drawn."""
_RESTRICTION = MATE // 8
"""Factor of the value of restricting the other side's moves."""
_DARK_SQUARES = np.uint64(0xAA55AA55AA55AA55)


@inlined
def worth_of(worth: Ints, accrued: int) -> int:
    """Return White's value of an accrued score, encoded as in ``rows``."""
    value = worth[accrued >> 1]
    return -value if accrued & 1 else value


@inlined
def lasting(rows: Rows, at: int) -> int:
    """Return the weight of the accrued score in per cent."""
    pawns = popcount(rows[at, PAWNS])
    others = popcount(rows[at, OF_WHITE] | rows[at, OF_BLACK]) - pawns - 2
    return int64(100 // (2 + pawns + others // 2))


@kernel
def _men(rows: Rows, at: int) -> tuple[int, int]:
    """Return White's lead in centipawns by the men's values, interpolated by the phase of the game.

    Also return the lead by pieces alone with the values of the endgame.
    """
    early, late, phase, pieces = int64(0), int64(0), int64(0), int64(0)
    for kind in range(6):
        for side in range(2):
            sign = 1 - 2 * side
            for square in bits_of(rows[at, kind] & rows[at, OF_WHITE + side]):
                early += sign * WORTH[0, side, kind, square]
                late += sign * WORTH[1, side, kind, square]
                phase += PHASES[kind]
                if kind != PAWNS:
                    pieces += sign * WORTH[1, side, kind, square]
    phase = min(phase, ALL_PHASES)
    return (early * phase + late * (ALL_PHASES - phase)) // ALL_PHASES, pieces


@inlined
def _bishops(bishops: Word) -> int:
    """Return the bonus for a pair of bishops."""
    return _BISHOP_PAIR_CENTIPAWNS if bishops & _DARK_SQUARES and bishops & ~_DARK_SQUARES else 0


@kernel
def lead(rows: Rows, at: int) -> int:
    """Return White's lead in centipawns."""
    total, pieces = _men(rows, at)
    white, black, pawns, bishops = rows[at, OF_WHITE], rows[at, OF_BLACK], rows[at, PAWNS], rows[at, BISHOPS]
    total += _bishops(bishops & white) - _bishops(bishops & black)
    sign = -1 if rows[at, TURN] else 1
    total += sign * _TURN_CENTIPAWNS
    if at and not rows[at, STEP] & np.uint64(2):
        own, others = int64(rows[at, RANK] >> np.uint64(1)), int64(rows[at - 1, RANK] >> np.uint64(1))
        total += sign * _MOVE_CENTIPAWNS * (own - others)
    ahead = white if total > 0 else black
    if not pawns & ahead and abs(pieces) < _WINNING_LEAD:
        return total // 4
    if abs(total) > _DRIVING_LEAD:
        ours = lowest(rows[at, KINGS] & ahead)
        theirs = lowest(rows[at, KINGS] & ~ahead)
        bonus = _EDGE_BONUS * MIDDLE_DISTANCE[theirs] + _APPROACH_BONUS * (7 - KING_DISTANCE[ours, theirs])
        total += bonus if total > 0 else -bonus
    return total


@kernel
def estimate(rows: Rows, at: int, worth: Ints) -> int:
    """Return the estimated value for White of a position with its accrued score.

    :param worth: values of scores by rank.
    """
    ahead = lead(rows, at)
    guess = _MAX_ESTIMATE * ahead // (abs(ahead) + _HALF_LEAD)
    percent = lasting(rows, at)
    if not rows[at, PAWNS] and abs(ahead) < _DRIVING_LEAD:
        percent = min(2 * percent, _MAX_ACCRUED_PERCENT)
    return (percent * worth_of(worth, int64(rows[at, ACCRUED])) + (100 - percent) * guess) // 100


@inlined
def _restriction(rows: Rows, at: int) -> int:
    """Return how much the other side gains from restricting the side to move."""
    moves, of_king = int64(rows[at, RANK]) >> 1, int64(rows[at, KING_MOVES])
    return _RESTRICTION // (2 + of_king) + _RESTRICTION // (2 + moves // 2)


@kernel
def estimate_drawn(rows: Rows, at: int, worth: Ints, even: int, hope: int) -> int:
    """Return the estimated value for White of a position in a game that is drawn in chess.

    :param worth: values of scores by rank.
    :param even: White's lead in centipawns at the root of the search.
    :param hope: value of the score that the game may still reach.
    """
    won = lead(rows, at) - even
    won = won - _DRAW_LEAD if won > _DRAW_LEAD else won + _DRAW_LEAD if won < -_DRAW_LEAD else int64(0)
    accrued_value = worth_of(worth, int64(rows[at, ACCRUED]))
    percent = int64(_POOR_PERCENT)
    if abs(accrued_value) >= abs(hope):
        percent = max(_GOOD_PERCENT - _PERCENT_PER_PAWN * popcount(rows[at, PAWNS]), int64(_MIN_GOOD_PERCENT))
    restriction = _restriction(rows, at - 1) - _restriction(rows, at)
    drawn = (percent * accrued_value + (100 - percent) * hope) // 100
    drawn += -restriction if rows[at, TURN] else restriction
    return (_HALF_LEAD * drawn + _MAX_ESTIMATE * won) // (abs(won) + _HALF_LEAD)
