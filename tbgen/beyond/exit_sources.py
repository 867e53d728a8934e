"""Exit sources: the interface of sources for the bounds of positions outside a cell; and Syzygy files."""

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
from tbgen.store.cache import LruCache


class Answer(NamedTuple):
    """Bounds of a state, with depths if they come from a solved cell."""

    value: Interval
    depths: tuple[int, int] | None = None
    """Depths in plies in the lower and the upper game of the cell; None if no cell gave the bounds."""

    @property
    def depth(self) -> int | None:
        """The depth in plies; None if the value or the depth is not exact."""
        if not self.value.exact or self.depths is None or self.depths[LOWER] != self.depths[UPPER]:
            return None
        return self.depths[LOWER]

    def within(self, other: Self) -> Self:
        """Return the intersection of two answers; the depths are those of an answer with an exact depth."""
        depths = (each.depths for each in (self, other) if each.depth is not None)
        return type(self)(self.value.within(other.value), next(depths, None))

    @property
    def swapped(self) -> Self:
        """The answer with the colours swapped."""
        return type(self)(self.value.swapped, self.depths and (self.depths[UPPER], self.depths[LOWER]))


class ExitSource(ABC):
    """A source of bounds, such as tables, solved cells or files of other programs. Thread-safe.

    A source answers for a cell if it has any image of the cell. Blocks and ``fresh_bounds`` are about fresh
    states, and contain the same bounds. ``universal_bounds`` holds for every accrued
    score, so it is at least as wide as ``fresh_bounds``. An unknown depth is stored as the weakest claim: in
    the lower game, ``FAR`` for White's scores and 0 for Black's; in the upper game, the reverse.
    ``tests/support/exit_contract.py`` checks all this.
    """

    proved: bool = False
    """Whether the bounds are proved or can be. Cells that depend on unproved bounds are stored separately."""
    exact: bool = False
    """Whether every interval is a single value, so that later sources need not be asked."""
    final: bool = False
    """Whether the bounds are final: looking one capture or pawn move ahead never narrows them."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes kept in memory."""

    @abstractmethod
    def knows(self, route: Route) -> bool:
        """Return whether bounds of the positions that a zeroing route leads to are available."""

    @abstractmethod
    def block(self, route: Route, end: int) -> Block | None:
        """Return the lower or upper bounds of all positions that a route leads to; None if unavailable.

        The route has to be one that the source :meth:`knows`.
        """

    def same_ends(self, route: Route) -> bool:
        """Return whether the values of all positions that a zeroing route leads to are available."""
        return self.exact and self.knows(route)

    @abstractmethod
    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return the bounds of a position in its fresh state; blocks agree with them."""

    def universal_bounds(self, position: CellPosition) -> Interval | None:
        """Return bounds of a position that hold with any accrued score."""
        return None


_BARE_KING_BOUNDS: Final = (Code(254), Code(1))
"""Bounds against a bare king, which cannot mate: White gets at least -G0.5, or at most G0.5 if his own king
is bare."""


@lru_cache(maxsize=1 << 12)
def bound_of(cell: Cell, end: int) -> Code:
    """Return the lower or upper bound of every position of a cell: the worst, unless a king is bare."""
    white, black = cell.sides()
    return _BARE_KING_BOUNDS[end] if (black if end == LOWER else white) == "K" else WORST[end]


def better_bounds(one: Block | None, other: Block | None, end: int) -> Block | None:
    """Combine the better lower or upper bounds of two blocks of the same positions.

    If both bounds of a position are equal, the depth is that of the first block.
    """
    if one is None or other is None:
        return other if one is None else one
    better = other.value < one.value if end == LOWER else other.value > one.value
    better = (better & (other.value != NONE)) | (one.value == NONE)
    return Block(np.where(better, other.value, one.value), np.where(better, other.depth, one.depth))


_MAX_BLOCK_SLOTS: Final = 64**2
"""Maximum number of slots of cells for which blocks are made. Each look-up takes some 70 microseconds."""
_NO_POSITION: Final = len(Winner)
"""Placeholder for the winner of slots without a position."""
_BOUNDS: Final = (
    *(Interval(winner.bounds.lower.code, winner.bounds.upper.code) for winner in Winner),
    Interval(NONE, NONE),
)
"""Bounds of a position, by its winner."""
_DEPTHS: Final = {Winner.WHITE: (FAR, 0), Winner.BLACK: (0, FAR)}
"""Depths of a mate in the lower and the upper game, by the winner. They are the weakest claims: the loser may
be mated at once, and the winner may need more plies than the files can tell."""


class SyzygyExits(ExitSource):
    """Syzygy files as an exit source."""

    def __init__(self, files: Syzygy) -> None:
        self._files = files
        self._winners = LruCache[NDArray[np.uint8]](sys.maxsize, attrgetter("nbytes"))
        """Winners of all slots, by cell, side to move and en passant square; none of them is dropped."""

    @property
    def nbytes(self) -> int:
        """Bytes kept in memory."""
        return self._winners.size

    def knows(self, route: Route) -> bool:
        """Return whether a file covers the destination of a route, which has few enough slots for a block."""
        return self._has_cell(route.destination)

    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return the result of :meth:`universal_bounds` if blocks of the position's cell are available."""
        return self.universal_bounds(position) if self._has_cell(position.cell) else None

    def universal_bounds(self, position: CellPosition) -> Interval | None:
        """Return the bounds of a position; None if the files do not have it.

        :raises DamagedTableError: if a file cannot be used.
        """
        winner = self._files.winner(position.board)
        return None if winner is Winner.UNKNOWN else _BOUNDS[winner]

    def _has_cell(self, cell: Cell) -> bool:
        white, black = cell.sides()
        return cell.size <= _MAX_BLOCK_SLOTS and self._files.has_material(f"{white}v{black}")

    def block(self, route: Route, end: int) -> Block:
        """Return the lower or upper bounds of the positions that a route leads to.

        Bounds are the worst where files of positions after captures are missing.

        :raises DamagedTableError: if a file cannot be used.
        """
        key = route.destination, side_after(route), route.passed
        winners = self._winners.get_or_make(key, partial(self._find_winners, *key))
        value = np.array([bounds[end] for bounds in _BOUNDS], np.uint8)
        depth = np.zeros(len(_BOUNDS), np.uint16)
        for winner, depths in _DEPTHS.items():
            depth[winner] = depths[end]
        return Block(value[winners], depth[winners])

    def _find_winners(self, cell: Cell, side: Side, passed: int | None) -> NDArray[np.uint8]:
        """Find the winners of all slots of a cell."""
        found = np.full(cell.size, _NO_POSITION, np.uint8)
        for slot in range(cell.size):
            board = cell.board_of(side, slot)
            if board is not None and not board.was_into_check():
                board.ep_square = passed
                found[slot] = self._files.winner(board)
        return found
