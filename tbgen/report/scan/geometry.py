"""Squares as seen from squares, as bit boards (uint64, bit ``s`` is square ``s``)."""

from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import PIECE_ORDER

Boards = NDArray[np.uint64]

KING, QUEEN, ROOK, BISHOP, KNIGHT = (PIECE_ORDER.index(letter) for letter in "KQRBN")
WHITE_PAWN, BLACK_PAWN = 5, 6
"""Kinds of men: places in ``PIECE_ORDER``, then the pawns of either colour."""

SLIDERS: Final = (QUEEN, ROOK, BISHOP)

ALL: Final = np.uint64(chess.BB_ALL)

BIT: Final = np.uint64(1) << np.arange(64, dtype=np.uint64)


def _reach() -> Boards:
    straight = [chess.BB_RANK_ATTACKS[s][0] | chess.BB_FILE_ATTACKS[s][0] for s in chess.SQUARES]
    slanted = [chess.BB_DIAG_ATTACKS[s][0] for s in chess.SQUARES]
    both = [first | second for first, second in zip(straight, slanted, strict=True)]
    pawns = (chess.BB_PAWN_ATTACKS[chess.WHITE], chess.BB_PAWN_ATTACKS[chess.BLACK])
    rows = [chess.BB_KING_ATTACKS, both, straight, slanted, chess.BB_KNIGHT_ATTACKS, *pawns]
    return np.array(rows, np.uint64)


def _behind(between: Boards) -> Boards:
    """Return, for two squares, those from which the second hides the first."""
    hidden = (between[:, :, None] & BIT) != 0  # first square, far square, square between
    beyond: Boards = np.where(hidden, BIT[None, :, None], np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return beyond


REACH: Final = _reach()
"""Shape (7, 64): what a man attacks on an empty board, by kind."""

BETWEEN: Final = np.array([[chess.between(a, b) for b in chess.SQUARES] for a in chess.SQUARES], np.uint64)
"""Shape (64, 64): the squares between two squares of a line, none elsewhere."""

BEHIND: Final = _behind(BETWEEN)
"""Shape (64, 64): the squares beyond the second of two on a line, seen from the first."""
