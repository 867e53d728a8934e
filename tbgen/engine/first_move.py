"""A move at once, while the compiled search is being loaded: the best by what it leads to.

A move is judged by what tables say after it, or else by what has accrued and by the men of both sides, less
what the other side can take next.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import chess

from tbgen.board.kinds import PIECE_VALUES
from tbgen.board.score import GScore
from tbgen.engine.game import RootLine, SearchCounts, SearchGame
from tbgen.engine.scale import MATE, reached, worth

Known: TypeAlias = Callable[[SearchGame], tuple[GScore, int | None] | None]
"""Tells value and depth in plies of the current state of a game, None if nothing is known."""

_MEN: Final = (0, *(int(100 * PIECE_VALUES[man]) for man in "PNBRQ"), 0)
"""In hundredths of a pawn, by the numbers that python-chess has for men."""
_EVEN: Final = 800
"""Hundredths of a pawn that are worth half of what is to be had."""
_MOST: Final = MATE * 9 // 10
"""No judgement is as good as a mate that is seen."""


def first_moves(
    game: SearchGame, moves: Sequence[chess.Move], known: Known, count: int = 1
) -> tuple[list[RootLine], SearchCounts]:
    """Return the best moves from a state, best first, as if a search of one ply had found them.

    :param moves: legal ones, at least one.
    :param count: how many of the best moves are told.
    """
    first, held = game.length - 1, game.accrued
    judged = [(*_after(game, move, known, first, held), move) for move in moves]
    judged.sort(key=lambda each: each[0], reverse=game.live.turn)
    lines = [RootLine((move,), value, 1, place) for place, (value, _, move) in enumerate(judged[:count], 1)]
    return lines, SearchCounts(len(moves), sum(hit for _, hit, _ in judged))


def _after(game: SearchGame, move: chess.Move, known: Known, first: int, held: GScore) -> tuple[int, bool]:
    """Return what a move is worth, seen by White, and whether the value after it was known.

    :param first: number of the position that it is made from.
    :param held: what has accrued there.
    """
    game.play(move)
    over = game.basis is not None or game.returns(first)
    found = (game.accrued, 0) if over else known(game)
    if found is not None:
        value, depth = found
        judged = reached(value, held, None if depth is None else 1 + depth)
    else:
        lead = _lead(game.live)
        judged = (worth(game.accrued) + _MOST * lead // (abs(lead) + _EVEN)) // 2
    game.pop()
    return judged, not over and found is not None


def _lead(board: chess.Board) -> int:
    """Return how many hundredths of a pawn White is ahead, once the side to move has taken what it can."""
    lead = sum(
        value * (len(board.pieces(man, chess.WHITE)) - len(board.pieces(man, chess.BLACK)))
        for man, value in enumerate(_MEN[chess.PAWN : chess.KING], chess.PAWN)
    )
    taken = max((_won(board, move) for move in board.generate_legal_captures()), default=0)
    return lead + (taken if board.turn else -taken)


def _won(board: chess.Board, capture: chess.Move) -> int:
    """Return what a capture wins, if what stands on a square that is guarded is taken in turn."""
    victim = _MEN[board.piece_type_at(capture.to_square) or chess.PAWN]
    guarded = board.is_attacked_by(not board.turn, capture.to_square)
    return victim - (_MEN[board.piece_type_at(capture.from_square) or chess.PAWN] if guarded else 0)
