"""An immediate move, found by a search of one ply, while the compiled search is being loaded.

The value of a move comes from the tables if they contain the position after the move. Otherwise it is the
mean of the value of the accrued score and the value of the lead in men after the opponent's best capture.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import chess

from tbgen.board.kinds import PIECE_VALUES
from tbgen.board.score import GScore
from tbgen.engine.game import RootLine, SearchCounts, SearchGame
from tbgen.engine.scale import MATE, value_after, worth

Lookup: TypeAlias = Callable[[SearchGame], tuple[GScore, int | None] | None]
"""Function that returns the value of a game's current state and its depth in plies; None if unavailable."""

_CENTIPAWNS: Final = [int(100 * PIECE_VALUES.get((man or "").upper(), 0)) for man in chess.PIECE_SYMBOLS]
"""Values of the men in centipawns, indexed by their piece types in python-chess."""
_HALF_ESTIMATE_LEAD: Final = 800
"""Lead in centipawns that is worth half of the greatest estimate."""
_MAX_ESTIMATE: Final = MATE * 9 // 10
"""Limit that the value of a lead approaches, below the value of a mate."""


def immediate_moves(
    game: SearchGame, moves: Sequence[chess.Move], look_up: Lookup, count: int = 1
) -> tuple[list[RootLine], SearchCounts]:
    """Return the best moves in a state, best first, with statistics: the result of a search of one ply.

    :param moves: legal moves, at least one.
    :param count: maximum number of moves to return.
    """
    root = game.position_count - 1
    accrued = game.accrued
    values = [(*_value(game, move, look_up, root, accrued), move) for move in moves]
    values.sort(key=lambda entry: entry[0], reverse=game.live.turn)
    lines = [RootLine((move,), value, 1, place) for place, (value, _, move) in enumerate(values[:count], 1)]
    return lines, SearchCounts(len(moves), sum(hit for _, hit, _ in values))


def _value(game: SearchGame, move: chess.Move, look_up: Lookup, root: int, score: GScore) -> tuple[int, bool]:
    """Return the value of a move from White's point of view, and whether it came from a table.

    :param root: index in the game of the position before the move.
    :param score: accrued score of that position.
    """
    game.play(move)
    is_over = game.basis is not None or game.repeats_since(root)
    outcome = (game.accrued, 0) if is_over else look_up(game)
    if outcome is not None:
        value, depth = outcome
        move_value = value_after(value, score, None if depth is None else 1 + depth)
    else:
        lead = _lead(game.live)
        move_value = (worth(game.accrued) + _MAX_ESTIMATE * lead // (abs(lead) + _HALF_ESTIMATE_LEAD)) // 2
    game.pop()
    return move_value, not is_over and outcome is not None


def _lead(board: chess.Board) -> int:
    """Return White's lead in centipawns after the best capture by the side to move."""
    lead = sum(
        value * (len(board.pieces(man, chess.WHITE)) - len(board.pieces(man, chess.BLACK)))
        for man, value in enumerate(_CENTIPAWNS[chess.PAWN : chess.KING], chess.PAWN)
    )
    gain = max((_gain(board, move) for move in board.generate_legal_captures()), default=0)
    return lead + (gain if board.turn else -gain)


def _gain(board: chess.Board, capture: chess.Move) -> int:
    """Return the gain of a capture in centipawns, minus the capturing man's value if it is recaptured."""
    gain = _CENTIPAWNS[board.piece_type_at(capture.to_square) or chess.PAWN]
    is_guarded = board.is_attacked_by(not board.turn, capture.to_square)
    return gain - (_CENTIPAWNS[board.piece_type_at(capture.from_square) or chess.PAWN] if is_guarded else 0)
