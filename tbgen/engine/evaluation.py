"""What a position is worth where neither tables nor an end of the game say it: an estimate.

It mixes two things. What has accrued counts the more, the less likely it is to be reset: pawns and captures
wipe it out. The other part is what the game may still come to: the side with more men and more moves drives
the other king into a corner, where it has few.
"""

from typing import Final

import chess

from tbgen.board.kinds import PIECE_VALUES
from tbgen.board.score import GScore
from tbgen.engine.game import SearchGame
from tbgen.engine.scale import MATE, worth

MAN_VALUES: Final = (0, *(int(100 * PIECE_VALUES[man]) for man in "PNBRQ"), 0)
"""In hundredths of a pawn, by the numbers that python-chess has for men."""
_MOVE: Final = 4
"""Hundredths of a pawn for a legal move more than the other side has."""
_ADVANCE: Final = (0, 0, 2, 6, 14, 30, 60, 0)
"""What the rank of a pawn adds, seen by its side."""
_EVEN: Final = 800
"""Hundredths of a pawn that are worth half of what is to be had."""
_MOST: Final = MATE * 9 // 10
"""No estimate is as good as a mate that is seen."""
_CORNERED: Final = 200
"""A lead from which on the other king is driven to the edge."""
_TO_EDGE: Final = 12
"""For each step of that king from the middle of the board."""
_TO_KING: Final = 5
"""For each step that the kings are nearer to each other."""
_FROM_MIDDLE: Final = tuple(
    (abs(2 * chess.square_file(square) - 7) + abs(2 * chess.square_rank(square) - 7)) // 2
    for square in chess.SQUARES
)


def estimate(game: SearchGame) -> int:
    """Return what the current position with its accrued score may be worth, seen by White."""
    board = game.live
    lead = _men(board) + _mobility(board, *game.last_scores)
    if abs(lead) > _CORNERED:
        lead += _drive(board, lead > 0)
    hopes = _MOST * lead // (abs(lead) + _EVEN)
    lasting = _lasting(board)
    return (lasting * worth(game.accrued) + (100 - lasting) * hopes) // 100


def _men(board: chess.Board) -> int:
    white, black = board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]
    masks = board.pawns, board.knights, board.bishops, board.rooks, board.queens
    lead = 0
    for mask, value in zip(masks, MAN_VALUES[chess.PAWN :], strict=False):
        lead += value * ((mask & white).bit_count() - (mask & black).bit_count())
    pawns = board.pawns
    while pawns:
        square = pawns.bit_length() - 1
        pawns ^= 1 << square
        lead += _ADVANCE[square >> 3] if white >> square & 1 else -_ADVANCE[7 - (square >> 3)]
    return lead


def _mobility(board: chess.Board, own: GScore, before: GScore | None) -> int:
    """Return what the moves of both sides are worth: those of the side to move now, of the other one a ply
    ago, so that none have to be counted anew."""
    if before is None:
        return 0
    more = _MOVE * (own.rank // 2 - before.rank // 2)
    return more if board.turn else -more


def _drive(board: chess.Board, white: bool) -> int:
    """Return how far the side that leads has driven the other king to the edge, and its own one near him."""
    ours, theirs = board.king(white), board.king(not white)
    if ours is None or theirs is None:
        return 0
    near = _TO_EDGE * _FROM_MIDDLE[theirs] + _TO_KING * (7 - chess.square_distance(ours, theirs))
    return near if white else -near


def _lasting(board: chess.Board) -> int:
    """Return in per cent how much the accrued score counts: the more, the fewer men are there to reset it."""
    pawns = board.pawns.bit_count()
    others = board.occupied.bit_count() - pawns - 2
    return 100 // (2 + pawns + others // 2)
