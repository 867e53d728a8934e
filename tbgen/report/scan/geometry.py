"""Squares as seen from squares, as bit boards (uint64, bit ``s`` is square ``s``)."""

from functools import cache
from typing import Final, NamedTuple

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, Kind, between, reach
from tbgen.retro.geometry import BETWEEN, BIT, PAWN_ATTACKS

Boards = NDArray[np.uint64]

ALL: Final = np.uint64(chess.BB_ALL)


class ScanKind(NamedTuple):
    """What men of one kind attack."""

    reach: Boards
    """Shape (64,): what one attacks on an empty board."""
    passed: Boards
    """Shape (64, 64): the squares that it passes on its way from one square to another that it attacks."""
    hidden: Boards | None
    """Shape (64, 64): the squares that a man on the second of two hides from it on the first; None if it
    never rides."""
    bound: bool = False
    """Whether it stays on the colour of its square."""
    pawn: bool = False


def _hidden(passed: Boards) -> Boards:
    hides = (passed[:, :, None] & BIT) != 0  # first square, far square, square between
    hidden: Boards = np.where(hides, BIT[None, :, None], np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return hidden


_HIDDEN: Final = _hidden(BETWEEN)

PAWNS: Final = tuple(ScanKind(attacks, BETWEEN, None, pawn=True) for attacks in PAWN_ATTACKS)
"""White's and Black's."""


@cache
def scan_kind(kind: Kind) -> ScanKind:
    """Return what men of a kind attack; those of chess share what they pass, by lines."""
    passed, hidden = BETWEEN, _HIDDEN
    if kind not in KINDS:
        squares = range(64)
        passed = np.array([[between(kind, start, stop) for stop in squares] for start in squares], np.uint64)
        hidden = _hidden(passed)
    reached = np.array(reach(kind), np.uint64)
    return ScanKind(reached, passed, hidden if kind.rides else None, kind.is_colour_bound)
