"""Reference solver of a *cell*: some men of a board move, all others stand still; slow and obvious.

Of a board, a set of *mobile* men is given, kings or pieces; all other men are *frozen*, pawns among them. The
positions are those that quiet moves of mobile men reach from the board. All other legal moves are exits:
captures, pawn moves, castling and quiet moves of frozen men. What an exit is worth is known within bounds,
which a function tells: in the *lower* game exits are worth their lower bounds, in the *upper* one their upper
bounds. Both are solved for all accrued scores by `reference_game`, with ranks and checks of the whole board.

    cell = solve_cell(board, [chess.E1, chess.E8, chess.C4], worth)
    cell.fresh(board, "lower")    # value code and depth of the fresh state of a position of the cell

Codes: White's score of rank R is R, Black's 255 - R; a smaller code is better for White.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import chess

from tests.support.reference_game import (
    Exit,
    ExitOf,
    Fresh,
    Game,
    explore,
    folded,
    score_of,
    solve_positions,
)

End = Literal["lower", "upper"]
ENDS: tuple[End, End] = "lower", "upper"

Worth = Callable[[chess.Board, chess.Move, End, int], Fresh]
"""Returns a bound of the value and depth of an exit, from the board before the move, the move, the end (lower
or upper), and the accrued score after the move.

After a capture or pawn move that score is the score of the position reached. After any other move it is the
accrued score with the position score folded in. The board must not be changed.
"""


@dataclass
class Cell:
    """A solved cell: both games, and the state that was asked for."""

    board: chess.Board
    accrued: int  # code of the accrued score, whose rank does not exceed the position rank of the board
    games: dict[End, Game]

    def fresh(self, board: chess.Board, end: End) -> Fresh:
        """Value and depth of the fresh state of a position of the cell."""
        return self.games[end].fresh(board)

    def state(self, board: chess.Board, accrued: int, end: End) -> Fresh:
        """Value and depth of a position of the cell with an accrued score of rank 2 or more."""
        return self.games[end].state(board, accrued)

    def boards(self) -> list[chess.Board]:
        """All positions of the cell, the asked one first."""
        return [position.board for position in self.games["lower"].positions.values()]


def solve_cell(
    board: chess.Board, mobile: Iterable[chess.Square], worth: Worth, accrued: int | None = None
) -> Cell:
    """Solve both games of the cell that the men on the squares `mobile` reach from the board.

    `accrued` is None for the position score of the board.

    :raises ValueError: if a pawn shall be mobile, an empty square, or a man that takes castling rights along.
    """
    root = board.copy(stack=False)
    root.castling_rights = root.clean_castling_rights()
    moving = chess.SquareSet(mobile)
    if moving & root.pawns or moving - root.occupied:
        raise ValueError(f"mobile men must be kings or pieces: {root.fen()}, {moving}")
    if moving & _men_with_rights(root):
        raise ValueError(f"a man with castling rights cannot be mobile: {root.fen()}, {moving}")
    frozen = chess.SquareSet(root.occupied) - moving
    games = {end: solve_positions(explore([root], _exits(frozen, worth, end))) for end in ENDS}
    own = score_of(root)
    return Cell(root, own if accrued is None else folded(accrued, own), games)


def _men_with_rights(board: chess.Board) -> chess.SquareSet:
    """Rooks with castling rights and their kings."""
    rooks = chess.SquareSet(board.castling_rights)
    kings = [board.king(colour) for colour in chess.COLORS if rooks & board.occupied_co[colour]]
    return rooks | chess.SquareSet(king for king in kings if king is not None)


def _exits(frozen: chess.SquareSet, worth: Worth, end: End) -> ExitOf:
    """All moves but the quiet ones of mobile men; castling moves a king that is frozen."""

    def exit_of(board: chess.Board, move: chess.Move, child: chess.Board) -> Exit | None:
        zeroing = board.is_zeroing(move)
        if not zeroing and move.from_square not in frozen:
            return None
        own = score_of(child)
        known = cache(lambda after: worth(board, move, end, after))
        return lambda accrued: known(own if zeroing else folded(accrued, own))

    return exit_of
