"""Sources of what is known about the positions that moves out of a cell lead to; Syzygy files are one."""

import sys
from abc import ABC, abstractmethod
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import LOWER, UPPER, WORST, Block, side_after
from tbgen.cells.cell import Cell, CellPosition
from tbgen.cells.routes import Route
from tbgen.cells.window import FAR, Interval
from tbgen.index.layout import Side
from tbgen.probe.syzygy import Syzygy, Winner
from tbgen.store.cache import Recent


class Answer(NamedTuple):
    """What is known of a state."""

    value: Interval
    depths: tuple[int, int] | None = None
    """Plies, by both ends, where a cell says them."""

    @property
    def depth(self) -> int | None:
        """Plies, where they are known."""
        if not self.value.exact or self.depths is None or self.depths[LOWER] != self.depths[UPPER]:
            return None
        return self.depths[LOWER]

    def within(self, other: Self) -> Self:
        """What two answers say together; the depths are those of the one that is exact."""
        depths = (each.depths for each in (self, other) if each.depth is not None)
        return type(self)(self.value.within(other.value), next(depths, None))

    @property
    def swapped(self) -> Self:
        """The same with the colours swapped."""
        return type(self)(self.value.swapped, self.depths and (self.depths[UPPER], self.depths[LOWER]))


class ExitSource(ABC):
    """One source: tables, cells solved before, files of others. Safe for threads.

    It answers for every image of a cell, whichever it has itself. Blocks and ``worth`` are about positions
    with their own scores, and say the same; ``sure`` is about any accrued score, and says no more. A depth
    that is not known is the one that claims least: ``FAR`` at the end of the side that forces the score, 0 at
    that of the side that is held to it. ``tests/support/exit_contract.py`` tries a source against this.
    """

    proved: bool = False
    """Whether what it says is proved or can be; cells that rest on anything else are kept apart."""
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
    def block(self, route: Route, end: int) -> Block | None:
        """Return one end of the intervals of all positions that a route leads to, if it is one that the
        source :meth:`knows`; None where it says nothing at this end."""

    def same_ends(self, route: Route) -> bool:
        """Whether it knows the values of all positions that a zeroing route leads to."""
        return self.exact and self.knows(route)

    @abstractmethod
    def worth(self, position: CellPosition) -> Interval | None:
        """Return the interval of a position, fresh: the accrued score being its own. Blocks agree with it."""

    def sure(self, position: CellPosition) -> Interval | None:
        """Return the interval of a position that holds with any accrued score."""
        return None


_BARE: Final = (Code(254), Code(1))
"""What is known where one side has a bare king: it cannot mate, so that the other gets -G0.5 at least, or
G0.5 at most."""


@lru_cache(maxsize=1 << 12)
def bound_of(cell: Cell, end: int) -> Code:
    """Return what holds at one end for all positions of a cell: the worst, unless a king is bare."""
    white, black = cell.sides()
    return _BARE[end] if (black if end == LOWER else white) == "K" else WORST[end]


def both(one: Block | None, other: Block | None, end: int) -> Block | None:
    """Return the better of two blocks of the same positions at one end, if there are any; of equals, that of
    the first."""
    if one is None or other is None:
        return other if one is None else one
    better = other.value < one.value if end == LOWER else other.value > one.value
    better = (better & (other.value != NONE)) | (one.value == NONE)
    return Block(np.where(better, other.value, one.value), np.where(better, other.depth, one.depth))


_SLOTS: Final = 64**2
"""Slots of a cell all of whose positions are asked for: python-chess takes some 70 microseconds for each."""
_NOTHING: Final = len(Winner)
"""Stands for the winner where there is no position."""
_WORTH: Final = (
    *(Interval(winner.bounds.lower.code, winner.bounds.upper.code) for winner in Winner),
    Interval(NONE, NONE),
)
"""What is known of a position by its winner..."""
_DEPTHS: Final = {Winner.WHITE: (FAR, 0), Winner.BLACK: (0, FAR)}
"""...and what both ends can claim of a mate: a side that is held to it may be mated at once, and one that
forces it may take longer than the files say."""


class SyzygyExits(ExitSource):
    """What Syzygy files tell of positions outside a cell."""

    def __init__(self, files: Syzygy) -> None:
        self._files = files
        self._winners = Recent[NDArray[np.uint8]](sys.maxsize, attrgetter("nbytes"))
        """Those of all slots, by cell, side to move and pawn that may be captured; none of them goes."""

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept in memory."""
        return self._winners.size

    def knows(self, route: Route) -> bool:
        """Whether there is a file for what a route leads to, and not too much of that for a block."""
        return self._has_cell(route.destination)

    def worth(self, position: CellPosition) -> Interval | None:
        """Return what :meth:`sure` does where blocks say the same."""
        return self.sure(position) if self._has_cell(position.cell) else None

    def sure(self, position: CellPosition) -> Interval | None:
        """Return the interval of a position, if the files have it.

        :raises DamagedTableError: if a file cannot be used.
        """
        winner = self._files.winner(position.board)
        return None if winner is Winner.UNKNOWN else _WORTH[winner]

    def _has_cell(self, cell: Cell) -> bool:
        white, black = cell.sides()
        return cell.size <= _SLOTS and self._files.has_material(f"{white}v{black}")

    def block(self, route: Route, end: int) -> Block:
        """Return one end of the intervals of the positions that a route leads to; the worst where files are
        missing that captures lead to.

        :raises DamagedTableError: if a file cannot be used.
        """
        key = route.destination, side_after(route), route.passed
        winners = self._winners.made(key, partial(self._find_winners, *key))
        value = np.array([worth[end] for worth in _WORTH], np.uint8)
        depth = np.zeros(len(_WORTH), np.uint16)
        for winner, depths in _DEPTHS.items():
            depth[winner] = depths[end]
        return Block(value[winners], depth[winners])

    def _find_winners(self, cell: Cell, side: Side, passed: int | None) -> NDArray[np.uint8]:
        """Find the winners of all slots of a cell."""
        found = np.full(cell.size, _NOTHING, np.uint8)
        for slot in range(cell.size):
            board = cell.board_of(side, slot)
            if board is not None and not board.was_into_check():
                board.ep_square = passed
                found[slot] = self._files.winner(board)
        return found
