"""Squares as seen from squares, as bit boards (uint64, bit ``s`` is square ``s``)."""

from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, PIECE_ORDER, reach
from tbgen.retro.geometry import BETWEEN, BIT, PAWN_ATTACKS

Boards = NDArray[np.uint64]

BISHOP: Final = PIECE_ORDER.index("B")
PAWNS: Final = (len(KINDS), len(KINDS) + 1)
"""Kinds of White's and of Black's pawns; other kinds are places in ``KINDS``."""
RIDERS: Final = frozenset(number for number, kind in enumerate(KINDS) if kind.rides)
"""Kinds whose way other men block."""

ALL: Final = np.uint64(chess.BB_ALL)

REACH: Final[Boards] = np.concatenate([np.array([reach(kind) for kind in KINDS], np.uint64), PAWN_ATTACKS])
"""Shape (7, 64): what a man attacks on an empty board, by kind."""


def _behind() -> Boards:
    hidden = (BETWEEN[:, :, None] & BIT) != 0  # first square, far square, square between
    beyond: Boards = np.where(hidden, BIT[None, :, None], np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return beyond


BEHIND: Final = _behind()
"""Shape (64, 64): the squares beyond the second of two on a line, seen from the first."""
