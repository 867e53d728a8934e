"""The best of the quiet moves that stay in a cell, of all its positions at once."""

from functools import cache

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS
from tbgen.cells.cell import Cell
from tbgen.index.layout import Side

_Squares = NDArray[np.intp]


class QuietMoves:
    """Finds the best quiet moves of a side in a cell; its men are all mobile.

    :param side: whose moves.
    """

    def __init__(self, cell: Cell, side: Side) -> None:
        self._shape = (64,) * len(cell.mobile)
        self._men = [
            (place, man.kind, _free(cell, place))
            for place, man in enumerate(cell.mobile)
            if man.colour == side
        ]

    def best(self, merit: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the greatest merit of the positions that the moves of each position lead to, 0 without
        moves.

        :param merit: uint8 (slots,): merit of the positions that are reached, 0 where a slot is no position.
        """
        reached = merit.reshape(self._shape)
        best = np.zeros_like(reached)
        for place, kind, free in self._men:
            of_man = np.ascontiguousarray(np.moveaxis(reached, place, 0)).reshape(64, -1)
            found = np.zeros_like(of_man)
            for step in KINDS[kind].rides:
                _slide(of_man, free, step, found)
            for step in KINDS[kind].leaps:
                for origin, target in _origins(step):
                    found[origin] = np.maximum(found[origin], of_man[target])
            shape = tuple(np.delete(self._shape, place))
            np.maximum(best, np.moveaxis(found.reshape(64, *shape), 0, place), out=best)
        return best.reshape(-1)


def _slide(
    reached: NDArray[np.uint8], free: NDArray[np.bool_], step: tuple[int, int], found: NDArray[np.uint8]
) -> None:
    """Raise what was found for a man by what it reaches in a direction."""
    best = np.zeros_like(reached)
    for origin, target in _origins(step):
        # What comes after an empty square is what comes from there.
        best[origin] = np.where(free[target], np.maximum(reached[target], best[target]), 0)
    np.maximum(found, best, out=found)


@cache
def _origins(step: tuple[int, int]) -> list[tuple[_Squares, _Squares]]:
    """Return squares with those a step further, the ones closest to the edge first."""
    files, ranks = np.arange(64) & 7, np.arange(64) >> 3
    room = np.full(64, 7)
    for at, by in ((files, step[0]), (ranks, step[1])):
        if by:
            room = np.minimum(room, (7 - at if by > 0 else at) // abs(by))
    origins = [np.flatnonzero(room == steps) for steps in range(1, int(room.max()) + 1)]
    return [(origin, origin + step[0] + 8 * step[1]) for origin in origins]


def _free(cell: Cell, place: int) -> NDArray[np.bool_]:
    """Return where a man can stand beside the others, shape (64, 64 ** others)."""
    others = [other for other in range(len(cell.mobile)) if other != place]
    slots = np.arange(64 ** len(others))
    squares = np.arange(64)[:, np.newaxis]
    free = np.repeat(
        np.array([[not cell.still & chess.BB_SQUARES[square]] for square in range(64)]), len(slots), axis=1
    )
    for number in range(len(others)):
        free &= squares != slots >> 6 * (len(others) - 1 - number) & 63
    return free
