"""A move at once, while the compiled search is being loaded: the best by what it leads to.

A move is judged by what tables say after it, or else by what has accrued and by the men of both sides, less
what the other side can take next.
"""

from collections.abc import Callable, Sequence
from typing import Final

import chess

from tbgen.board.kinds import PIECE_VALUES
from tbgen.engine.game import KnownValue, RootLine, SearchGame
from tbgen.engine.scale import MATE, reached, worth

_MEN: Final = (0, *(int(100 * PIECE_VALUES[man]) for man in "PNBRQ"), 0)
"""In hundredths of a pawn, by the numbers that python-chess has for men."""
_EVEN: Final = 800
"""Hundredths of a pawn that are worth half of what is to be had."""
_MOST: Final = MATE * 9 // 10
"""No judgement is as good as a mate that is seen."""


class FirstMove:
    """The choice among moves from one state; it is reported as a search of one ply is.

    :param moves: legal ones, at least one.
    :param known: tells what is known of the current state of a game.
    :param lines: how many of the best moves are told.

    :ivar nodes: states looked at.
    :ivar hits: states among them whose value was known.
    """

    deepest: Final = 1
    permille: Final = 0

    def __init__(
        self,
        game: SearchGame,
        moves: Sequence[chess.Move],
        known: Callable[[SearchGame], KnownValue],
        lines: int = 1,
    ) -> None:
        self.game, self._moves, self._known, self._lines = game, moves, known, lines
        self._first, self._held = game.length - 1, game.accrued
        self.nodes = self.hits = 0

    def run(self, tell: Callable[[RootLine], None]) -> RootLine:
        """Return the best move, and tell of the best ones."""
        white = self.game.live.turn
        found = sorted(
            ((self._after(move), move) for move in self._moves), key=lambda each: each[0], reverse=white
        )
        lines = [
            RootLine((move,), value, 1, place) for place, (value, move) in enumerate(found[: self._lines], 1)
        ]
        for line in lines:
            tell(line)
        return lines[0]

    def _after(self, move: chess.Move) -> int:
        """Return what a move is worth, seen by White."""
        game = self.game
        game.play(move)
        self.nodes += 1
        over = game.basis is not None or game.returns(self._first)
        found = (game.accrued, 0) if over else self._known(game)
        self.hits += not over and found is not None
        if found is not None:
            value, depth = found
            judged = reached(value, self._held, None if depth is None else 1 + depth)
        else:
            lead = _lead(game.live)
            judged = (worth(game.accrued) + _MOST * lead // (abs(lead) + _EVEN)) // 2
        game.pop()
        return judged


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
