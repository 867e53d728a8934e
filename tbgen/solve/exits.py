"""Sources of what is known about the positions that moves out of a cell lead to."""

from abc import ABC, abstractmethod

import numpy as np

from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import LOWER, Block
from tbgen.cells.interval import Interval
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route


class ExitSource(ABC):
    """One source: tables, cells solved before, files of others. Safe for threads."""

    exact: bool = False
    """Whether its intervals are values, so that no source after it is asked."""
    final: bool = False
    """Whether it knows as much as a look at the captures and pawn moves that come next."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of what is kept in memory."""

    @abstractmethod
    def knows(self, route: Route) -> bool:
        """Whether anything is known of the positions that a zeroing route leads to."""

    @abstractmethod
    def block(self, route: Route, end: int, bound: Code) -> Block | None:
        """Return one end of the intervals of all positions that a route leads to, if it is one that the
        source :meth:`knows`.

        :param bound: holds for all of them.
        """

    def same_ends(self, route: Route) -> bool:
        """Whether it knows the values of all positions that a zeroing route leads to."""
        return self.exact and self.knows(route)

    @abstractmethod
    def worth(self, position: CellPosition) -> Interval | None:
        """Return the interval of a position, fresh: the accrued score being its own. Blocks agree with it."""

    def sure(self, position: CellPosition) -> Interval | None:
        """Return the interval of a position that holds with any accrued score."""
        return None


def both(one: Block | None, other: Block | None, end: int) -> Block | None:
    """Return the better of two blocks of the same positions at one end, if there are any; of equals, that of
    the first."""
    if one is None or other is None:
        return other if one is None else one
    better = other.value < one.value if end == LOWER else other.value > one.value
    better = (better & (other.value != NONE)) | (one.value == NONE)
    return Block(np.where(better, other.value, one.value), np.where(better, other.depth, one.depth))
