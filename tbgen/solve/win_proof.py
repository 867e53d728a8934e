"""The proof of forced mates after promotions: chosen positions, their moves made by python-chess.

Whatever Black does in a position that he has lost, White mates, or goes on to a lost position of a smaller
level or to something that was proved before. Levels are natural numbers, so White mates in the end.
"""

import random
from typing import Final

import chess

from tbgen.board.score import Code
from tbgen.cells.position import CellPosition
from tbgen.cells.wins import Wins
from tbgen.errors import TbgenError
from tbgen.index.layout import BLACK_TO_MOVE
from tbgen.solve.knowledge import Known

POSITIONS: Final = 200
"""Lost positions that are proved of a cell, if there are as many."""
_TRIES: Final = 100
"""Slots that are looked at for each of them."""
_MATE: Final = Code(0)
"""White's."""


class WrongWinError(TbgenError):
    """A position was taken for a forced mate that does not follow from what its moves lead to."""

    code = "wrong_bound"

    def __init__(self, board: chess.Board, move: chess.Move) -> None:
        super().__init__(
            f"{board.fen()}: the forced mate is not proved, since nothing is known against "
            f"{board.san(move)}; prove the tables with tbgen verify, and report this if they are in order"
        )


def prove_wins(wins: Wins, known: Known, chance: random.Random) -> int:
    """Prove some lost positions of a cell, and return how many.

    :param wins: with levels.
    :raises WrongWinError: if one is wrong.
    """
    proved = 0
    for _ in range(POSITIONS * _TRIES):
        slot = chance.randrange(wins.cell.size)
        if wins.has(BLACK_TO_MOVE, slot):
            board = wins.cell.board_of(BLACK_TO_MOVE, slot)
            assert board is not None
            _prove(wins, known, board, int(wins.level[slot]))
            proved += 1
            if proved == POSITIONS:
                break
    return proved


def _prove(wins: Wins, known: Known, board: chess.Board, level: int) -> None:
    for move in board.legal_moves:
        then = _after(board, move)
        if not (_is_known(known, then) if board.is_zeroing(move) else _goes_on(wins, known, then, level)):
            raise WrongWinError(board, move)
    if not any(board.legal_moves) and not board.is_check():
        raise WrongWinError(board, chess.Move.null())


def _goes_on(wins: Wins, known: Known, board: chess.Board, level: int) -> bool:
    """Whether White has a move that mates or leads nearer to mate than a level."""
    for move in board.legal_moves:
        then = _after(board, move)
        if board.is_zeroing(move):
            if _is_known(known, then):
                return True
        else:
            slot = wins.cell.slot(wins.cell.squares_of(then))
            if wins.has(BLACK_TO_MOVE, slot) and wins.level[slot] < level:
                return True
    return False


def _is_known(known: Known, board: chess.Board) -> bool:
    """Whether it was proved before that White forces mate."""
    if known.won.is_won(board):
        return True
    position = CellPosition(board, board.occupied & ~board.pawns)
    return known.worth(position).lower == _MATE


def _after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    return board
