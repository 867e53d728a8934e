"""The best of the quiet moves that stay in a cell, of all its positions at once."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, Step
from tbgen.cells.cell import Cell
from tbgen.index.layout import Side


class QuietMoves:
    """Finds the best quiet moves of a side in a cell; its men are all mobile.

    :param side: whose moves.
    """

    def __init__(self, cell: Cell, side: Side) -> None:
        self._cell, self._side = cell, side
        still = np.array([cell.still >> square & 1 for square in range(64)], bool)
        squares = np.indices((64,) * len(cell.mobile), sparse=True)
        self._free = np.ones((64,) * len(cell.mobile), bool)
        """Whether all men stand on squares of their own."""
        for place, square in enumerate(squares):
            self._free &= ~still[square]
            for other in squares[:place]:
                self._free &= square != other

    def best(self, merit: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the greatest merit of the positions that the moves of each position lead to, 0 without
        moves.

        :param merit: uint8 (slots,): merit of the positions that are reached, 0 where a slot is no position.
        """
        best = np.zeros(self._free.shape, np.uint8)
        for place, man in enumerate(self._cell.mobile):
            if man.colour == self._side:
                grids = merit.reshape(best.shape), self._free
                reached, free = (np.ascontiguousarray(np.moveaxis(grid, place, 0)) for grid in grids)
                found = np.zeros_like(reached)
                for step in KINDS[man.kind].rides:
                    np.maximum(found, _slide(reached, free, step), out=found)
                for step in KINDS[man.kind].leaps:
                    for origin, target in _origins(step):
                        found[origin] = np.maximum(found[origin], reached[target])
                np.maximum(best, np.moveaxis(found, 0, place), out=best)
        return best.reshape(-1)


def _slide(reached: NDArray[np.uint8], free: NDArray[np.bool_], step: Step) -> NDArray[np.uint8]:
    """Return the best that a man reaches in a direction."""
    best = np.zeros_like(reached)
    for origin, target in _origins(step):
        # What comes after an empty square is what comes from there.
        best[origin] = np.where(free[target], np.maximum(reached[target], best[target]), 0)
    return best


@cache
def _origins(step: Step) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return squares with those a step further, the ones closest to the edge first."""
    files, ranks = np.arange(64) & 7, np.arange(64) >> 3
    room = np.full(64, 7)
    for at, by in ((files, step[0]), (ranks, step[1])):
        if by:
            room = np.minimum(room, (7 - at if by > 0 else at) // abs(by))
    origins = [np.flatnonzero(room == steps) for steps in range(1, int(room.max()) + 1)]
    return [(origin, origin + step[0] + 8 * step[1]) for origin in origins]
