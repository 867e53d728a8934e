"""Which men to let move: the sets worth trying, the small ones first.

A bound is proved by one side. Its own men may stand still: it needs them where they are. The men of the other
side that stand still may make any move, which leaves the cell for what is mostly unknown: so all of them that
have somewhere to go should be mobile.
"""

from collections.abc import Iterator
from itertools import combinations

import chess

from tbgen.cells.cell import mobile_squares


def sets_worth_trying(board: chess.Board, most: int) -> Iterator[tuple[chess.Square, ...]]:
    """Yield sets of squares of up to ``most`` men, by size; the first has no more men than any other.

    For either side that may prove a bound: all men of the other side that are not shut in, with none of its
    own, with each of its own, with any two... Where that is nothing, the kings.
    """
    found: dict[tuple[chess.Square, ...], None] = {}
    for prover in chess.COLORS:
        others = [square for square in mobile_squares(board) if board.color_at(square) != prover]
        needed = [square for square in others if not is_shut_in(board, square)]
        own = [square for square in mobile_squares(board) if board.color_at(square) == prover]
        for count in range(min(len(own), most - len(needed)) + 1):
            for some in combinations(own, count):
                found[tuple(sorted((*needed, *some)))] = None
    if not found:
        kings = (board.king(colour) for colour in chess.COLORS)
        found[tuple(sorted(king for king in kings if king is not None))] = None
    yield from sorted(found, key=lambda squares: (len(squares), squares))


def is_shut_in(board: chess.Board, square: chess.Square) -> bool:
    """Whether pawns leave a piece no square to go to; it may be captured, and capture, where it stands."""
    alone = board.copy(stack=False)
    for other in mobile_squares(board):
        if other != square:
            alone.remove_piece_at(other)
    return not alone.attacks_mask(square) & ~board.pawns
