"""What a position is worth where neither tables nor an end of the game say it: an estimate.

It mixes two things. What has accrued counts the more, the less likely it is to be reset: pawns and captures
wipe it out. The other part is what the game may still come to: the side with better men, on better squares
and with more moves wins, or drives the other king into a corner, where it has few.

In a game that is known to be drawn in chess, men count only as far as they are won or lost, and so does how
little room is left to the other side. Whoever searches hopes for more than what has accrued, because the
other side plays chess.
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import (
    ACCRUED,
    BISHOPS,
    KINGS,
    KINGS_ROOM,
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

_MOVE = 3
"""Hundredths of a pawn for a legal move more than the other side has."""
_EVEN = 800
"""Hundredths of a pawn that are worth half of what is to be had."""
_MOST = MATE * 9 // 10
"""No estimate is as good as a mate that is seen."""
_TURN = 10
"""Hundredths of a pawn for the move."""
_TWO_BISHOPS = 30
_CORNERED = 200
"""A lead from which on the other king is driven to the edge."""
_TO_EDGE, _TO_KING = 10, 4
"""For each step of that king from the middle of the board, and for each that the kings are nearer."""
_TO_WIN = 400
"""Without pawns a side wins hardly ever by less than this lead."""
_CERTAIN = 90
"""Per cent that the accrued score counts at most, which is more where nobody has pawns or can mate."""
_LASTS, _PER_PAWN, _LEAST_LASTS = 92, 4, 60
"""In a drawn game a good score counts for so many per cent, less for each pawn, and at least."""
_IMPROVES = 60
"""So many per cent does a score count for that is worse than what is hoped for."""
_FREE = 150
"""Hundredths of a pawn that may be won or lost while the game remains drawn."""
_ROOM = MATE // 8
"""What it is worth to leave the other side no room at all."""
_DARK = np.uint64(0xAA55AA55AA55AA55)


@inlined
def worth_of(worth: Ints, accrued: int) -> int:
    """Return what an accrued score, as rows have it, is worth to White."""
    value = worth[accrued >> 1]
    return -value if accrued & 1 else value


@inlined
def lasting(rows: Rows, at: int) -> int:
    """Return in per cent how much the accrued score counts."""
    pawns = popcount(rows[at, PAWNS])
    others = popcount(rows[at, OF_WHITE] | rows[at, OF_BLACK]) - pawns - 2
    return int64(100 // (2 + pawns + others // 2))


@kernel
def _men(rows: Rows, at: int) -> tuple[int, int]:
    """Return White's lead in hundredths of a pawn for the middlegame, and for the endgame, by phase mixed,
    and the same of men other than pawns for the endgame."""
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
    """Return what a pair of bishops is worth."""
    return _TWO_BISHOPS if bishops & _DARK and bishops & ~_DARK else 0


@kernel
def lead(rows: Rows, at: int) -> int:
    """Return how far White is ahead, in hundredths of a pawn."""
    found, pieces = _men(rows, at)
    white, black, pawns, bishops = rows[at, OF_WHITE], rows[at, OF_BLACK], rows[at, PAWNS], rows[at, BISHOPS]
    found += _bishops(bishops & white) - _bishops(bishops & black)
    sign = -1 if rows[at, TURN] else 1
    found += sign * _TURN
    if at and not rows[at, STEP] & np.uint64(2):
        found += (
            sign * _MOVE * (int64(rows[at, RANK] >> np.uint64(1)) - int64(rows[at - 1, RANK] >> np.uint64(1)))
        )
    ahead = white if found > 0 else black
    if not pawns & ahead and abs(pieces) < _TO_WIN:
        return found // 4
    if abs(found) > _CORNERED:
        ours = lowest(rows[at, KINGS] & ahead)
        theirs = lowest(rows[at, KINGS] & ~ahead)
        near = _TO_EDGE * MIDDLE_DISTANCE[theirs] + _TO_KING * (7 - KING_DISTANCE[ours, theirs])
        found += near if found > 0 else -near
    return found


@kernel
def estimate(rows: Rows, at: int, worth: Ints) -> int:
    """Return what a position with its accrued score may be worth to White.

    :param worth: what scores are worth, by their ranks.
    """
    ahead = lead(rows, at)
    hopes = _MOST * ahead // (abs(ahead) + _EVEN)
    lasts = lasting(rows, at)
    if not rows[at, PAWNS] and abs(ahead) < _CORNERED:
        lasts = min(2 * lasts, _CERTAIN)
    return (lasts * worth_of(worth, int64(rows[at, ACCRUED])) + (100 - lasts) * hopes) // 100


@inlined
def _lack_of_room(rows: Rows, at: int) -> int:
    """Return what it is worth to the other side how little room the side to move has."""
    moves, of_king = int64(rows[at, RANK]) >> 1, int64(rows[at, KINGS_ROOM])
    return _ROOM // (2 + of_king) + _ROOM // (2 + moves // 2)


@kernel
def estimate_drawn(rows: Rows, at: int, worth: Ints, even: int, hope: int) -> int:
    """Return what a position may be worth to White where the game is known to be drawn in chess.

    :param worth: what scores are worth, by their ranks.
    :param even: White's lead in the drawn position from which the search began, in hundredths of a pawn.
    :param hope: what the game may still come to.
    """
    won = lead(rows, at) - even
    won = won - _FREE if won > _FREE else won + _FREE if won < -_FREE else int64(0)
    held = worth_of(worth, int64(rows[at, ACCRUED]))
    lasts = int64(_IMPROVES)
    if abs(held) >= abs(hope):
        lasts = max(_LASTS - _PER_PAWN * popcount(rows[at, PAWNS]), int64(_LEAST_LASTS))
    room = _lack_of_room(rows, at - 1) - _lack_of_room(rows, at)
    drawn = (lasts * held + (100 - lasts) * hope) // 100
    drawn += -room if rows[at, TURN] else room
    return (_EVEN * drawn + _MOST * won) // (abs(won) + _EVEN)
