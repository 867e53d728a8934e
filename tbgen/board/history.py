"""What the moves that a board remembers say of its accrued score."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

import chess

from tbgen.board.mobility import own_score
from tbgen.board.score import GScore
from tbgen.board.validity import validate
from tbgen.board.variant import Resets, Variant, unlisted
from tbgen.errors import UsageError


class Fresh(Enum):
    """The type of :data:`FRESH`."""

    FRESH = "fresh"

    def __repr__(self) -> str:
        return "tbgen.FRESH"


FRESH: Final[Literal[Fresh.FRESH]] = Fresh.FRESH
"""Given as an accrued score: that of the position alone, whatever moves the board remembers."""


def accrued_score(board: chess.Board, variant: Variant) -> GScore | None:
    """Return the score that has accrued in the moves of a board's stack, the position's own included.

    It is the best since the last capture or pawn move (since the first position in whole-game mobility) or,
    if the board does not go back so far, since the first position it remembers. The board is not changed.
    What this does not know is the 50-move rule: it is the accrued score as tables and adjudication see it.

    :param board: a valid one (:func:`tbgen.board.validity.validate`).

    :returns: None if the board remembers no moves.

    :raises UsageError: if the moves are no play by the rules of chess, as null moves are none.

    >>> board = chess.Board("8/8/8/2K3k1/8/8/8/8 w - - 0 1")
    >>> for uci in ("c5d5", "g5h5", "d5e5", "h5g6"):
    ...     _ = board.push_uci(uci)
    >>> print(accrued_score(board, Variant.R_MOBILITY), own_score(board))
    G5.5 -G6.5
    """
    moves = len(board.move_stack)
    if not moves:
        return None
    match variant.resets:
        case Resets.ZEROING_MOVES:
            plies = min(board.halfmove_clock, moves)
        case Resets.NOTHING:
            plies = moves
        case other:
            raise unlisted(other)
    accrued, past = own_score(board), board.copy(stack=max(plies, 1))
    move = past.pop()
    past.push(move)
    if past.fen() != board.fen():
        raise no_play(f"{move.uci()} does not lead to {board.fen()}")
    for _ in range(plies):
        move = past.pop()
        if not past.is_legal(move):
            raise no_play(f"{move.uci()} is not legal in {past.fen()}")
        score = own_score(past)
        if score.rank <= accrued.rank:  # the first holder keeps it
            accrued = score
    validate(past)
    return accrued


def no_play(reason: str) -> UsageError:
    """Return the error about moves on a board's stack that nobody can have played."""
    return UsageError(
        f"the history of the board is no play: {reason}; clear it with board.clear_stack(), "
        "or give an accrued score"
    )
