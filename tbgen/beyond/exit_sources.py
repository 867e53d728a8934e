"""The interface of exit sources, and Syzygy files as an exit source.

An exit source provides bounds for the positions that moves out of a cell lead to. Such moves follow a
*route*, which leads to a *destination* cell. A *block* is an array of the bounds of all positions after a
route. docs/glossary.md explains the terms.
"""

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
from tbgen.cells.interval import FAR_DEPTH, Interval
from tbgen.cells.routes import Route
from tbgen.cells.threshold import Threshold, proved_after
from tbgen.index.layout import Side
from tbgen.moves.kernels.words import Words
from tbgen.probe.syzygy import Syzygy, Winner
from tbgen.store.cache import LruCache


class Answer(NamedTuple):
    """The bounds of a state, and their depths if the bounds come from a solved cell."""

    bounds: Interval
    depths: tuple[int, int] | None = None
    """Depths in plies, in the lower and the upper game of the cell; None if the bounds come from
    elsewhere."""

    @property
    def depth(self) -> int | None:
        """The depth in plies; None if the value or the depth is not exact."""
        if not self.bounds.exact or self.depths is None or self.depths[LOWER] != self.depths[UPPER]:
            return None
        return self.depths[LOWER]

    def intersection(self, other: Self) -> Self:
        """Return the intersection of two answers, with the depths of the first one whose depth is exact."""
        depths = (each.depths for each in (self, other) if each.depth is not None)
        return type(self)(self.bounds.intersection(other.bounds), next(depths, None))

    @property
    def swapped(self) -> Self:
        """The answer with the colours swapped."""
        return type(self)(self.bounds.swapped, self.depths and (self.depths[UPPER], self.depths[LOWER]))


class ExitSource(ABC):
    """A source of bounds, such as tables, solved cells or files of other programs. Thread-safe.

    A source has bounds for a cell if it has bounds for any symmetric image of the cell. ``block`` and
    ``fresh_bounds`` return the same bounds, for fresh states. The result of ``bounds_for_any_accrued``
    holds for every accrued score, so it is never narrower than that of ``fresh_bounds``. An unknown depth is
    stored as the weakest claim about it. In the lower game this is ``FAR_DEPTH`` for White's scores and 0
    for Black's; in the upper game it is the reverse. ``tests/support/exit_contract.py`` checks these rules.
    """

    proved: bool = False
    """Whether the bounds are proved or can be proved. Cells that depend on unproved bounds are stored
    separately."""
    exact: bool = False
    """Whether every interval is a single value, so that no other source is needed."""
    final: bool = False
    """Whether the bounds are final: looking one capture or pawn move ahead never narrows them."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes kept in memory."""

    @abstractmethod
    def knows(self, route: Route) -> bool:
        """Return whether the source has bounds for the positions that a zeroing route leads to."""

    @abstractmethod
    def block(self, route: Route, end: int) -> Block | None:
        """Return the lower or upper bounds of all positions that a route leads to; None if unavailable.

        :param route: a route for which :meth:`knows` returns True.
        :param end: ``LOWER`` or ``UPPER``.
        """

    def proofs(self, route: Route, threshold: Threshold) -> Words | bool:
        """Return the positions of a route's block for which a threshold is proved (``ProofLookup``).

        :param route: a route for which :meth:`knows` returns True.
        """
        end = threshold.end
        return proved_after(route, threshold, self.block(route, end), WORST[end])

    def knows_values(self, route: Route) -> bool:
        """Return whether the source has the value of every position that a zeroing route leads to."""
        return self.exact and self.knows(route)

    @abstractmethod
    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return the bounds of a position in its fresh state; None if unavailable."""

    def bounds_for_any_accrued(self, position: CellPosition) -> Interval | None:
        """Return bounds that hold for a position with any accrued score; None if unavailable."""
        return None


_BARE_KING_BOUNDS: Final = (Code(254), Code(1))
"""Lower bound if Black's king is bare, and upper bound if White's king is bare. A bare king cannot mate, so
White gets at least -G0.5 against it, and at most G0.5 with it."""


@lru_cache(maxsize=1 << 12)
def trivial_bound(cell: Cell, end: int) -> Code:
    """Return a lower or upper bound of all positions of a cell: the worst bound, unless a king is bare."""
    white, black = cell.side_letters()
    return _BARE_KING_BOUNDS[end] if (black if end == LOWER else white) == "K" else WORST[end]


def combine_blocks(first: Block | None, second: Block | None, end: int) -> Block | None:
    """Combine two blocks of lower or upper bounds: the result has the tighter bound of each position.

    Of two lower bounds, this is the one that is better for White; of two upper bounds, the one that is worse
    for White. If both bounds are equal, the depth comes from the first block.
    """
    if first is None or second is None:
        return second if first is None else first
    better = second.value < first.value if end == LOWER else second.value > first.value
    better = (better & (second.value != NONE)) | (first.value == NONE)
    return Block(np.where(better, second.value, first.value), np.where(better, second.depth, first.depth))


_MAX_BLOCK_SLOTS: Final = 64**2
"""Maximum number of slots of a cell for which a block is made. One look-up takes about 70 microseconds."""
_NO_POSITION: Final = len(Winner)
"""Index that marks a slot without a position in an array of winners."""
_BOUNDS_BY_WINNER: Final = (
    *(Interval(winner.bounds.lower.code, winner.bounds.upper.code) for winner in Winner),
    Interval(NONE, NONE),
)
"""Bounds of a position, indexed by its winner or :data:`_NO_POSITION`."""
_DEPTHS_BY_WINNER: Final = {Winner.WHITE: (FAR_DEPTH, 0), Winner.BLACK: (0, FAR_DEPTH)}
"""Maps a winner to the depths in plies in the lower and the upper game. The files have no depths, so
these depths are the weakest claims: a win by White has ``FAR_DEPTH`` in the lower game and 0 in the
upper game; for a win by Black it is the reverse."""


class SyzygyExits(ExitSource):
    """Syzygy files as an exit source."""

    def __init__(self, files: Syzygy) -> None:
        self._files = files
        self._winners = LruCache[NDArray[np.uint8]](sys.maxsize, attrgetter("nbytes"))
        """Maps a cell, a side to move and an en passant square to the winners of all slots. Entries are never
        dropped."""

    @property
    def nbytes(self) -> int:
        """Bytes kept in memory."""
        return self._winners.size

    def knows(self, route: Route) -> bool:
        """Return whether a file covers the destination of a route, and the destination is small enough."""
        return self._has_cell(route.destination)

    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return bounds that hold for a position with any accrued score; None if its cell has no block."""
        return self.bounds_for_any_accrued(position) if self._has_cell(position.cell) else None

    def bounds_for_any_accrued(self, position: CellPosition) -> Interval | None:
        """Return bounds that hold for a position with any accrued score; None if no file covers the position.

        :raises DamagedTableError: if a file cannot be used.
        """
        winner = self._files.winner(position.board)
        return None if winner is Winner.UNKNOWN else _BOUNDS_BY_WINNER[winner]

    def _has_cell(self, cell: Cell) -> bool:
        white, black = cell.side_letters()
        return cell.size <= _MAX_BLOCK_SLOTS and self._files.has_material(f"{white}v{black}")

    def block(self, route: Route, end: int) -> Block:
        """Return the lower or upper bounds of the positions that a route leads to.

        If a capture leads to a material whose file is missing, the bound is the worst one.

        :raises DamagedTableError: if a file cannot be used.
        """
        key = route.destination, side_after(route), route.ep_square
        winners = self._winners.get_or_make(key, partial(self._find_winners, *key))
        value = np.array([bounds[end] for bounds in _BOUNDS_BY_WINNER], np.uint8)
        depth = np.zeros(len(_BOUNDS_BY_WINNER), np.uint16)
        for winner, depths in _DEPTHS_BY_WINNER.items():
            depth[winner] = depths[end]
        return Block(value[winners], depth[winners])

    def _find_winners(self, cell: Cell, side: Side, ep_square: int | None) -> NDArray[np.uint8]:
        """Return the winners of all slots of a cell with ``side`` to move.

        :param ep_square: the square on which en passant captures are possible; None if there is none.
        """
        winners = np.full(cell.size, _NO_POSITION, np.uint8)
        for slot in range(cell.size):
            board = cell.board_of(side, slot)
            if board is not None and not board.was_into_check():
                board.ep_square = ep_square
                winners[slot] = self._files.winner(board)
        return winners
