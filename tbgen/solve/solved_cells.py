"""Cells solved before, in memory and on disk."""

from collections import Counter

import numpy as np

from tbgen.board.score import Code
from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, Block, Bounds, Interval, side_after
from tbgen.cells.cell import Cell, side_of
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route, home_of_route
from tbgen.index.layout import Side
from tbgen.index.symmetry import MIRROR_RANKS
from tbgen.solve.exits import ExitSource
from tbgen.solve.kept import KeptCells


class SolvedCells(ExitSource):
    """Bounds of canonical cells.

    :param kept: cells on disk.
    """

    final = True

    def __init__(self, kept: KeptCells | None = None) -> None:
        self._kept = kept
        self._cells: dict[Cell, Bounds] = {}
        self._added = Counter[Cell]()

    @property
    def nbytes(self) -> int:
        """Bytes of all bounds in memory."""
        return sum(bounds.nbytes for bounds in self._cells.values())

    def add(self, bounds: Bounds) -> None:
        """Keep the bounds of a canonical cell, and what was known before where that is better.

        :raises TbgenError: if they cannot be written to disk.
        """
        before = self._cells.get(bounds.cell)
        if before is not None:
            bounds = narrower(before, bounds)
        self._cells[bounds.cell] = bounds
        self._added[bounds.cell] += 1
        if self._kept is not None:
            self._kept.put(bounds)

    def get(self, cell: Cell) -> Bounds | None:
        """Return the bounds of a canonical cell, if there are any."""
        if cell not in self._cells and self._kept and (kept := self._kept.get(cell)):
            self._cells[cell] = kept
        return self._cells.get(cell)

    def times_added(self, route: Route) -> int:
        """Return how often bounds were added of the cell that a route leads to."""
        return self._added[home_of_route(route).canonical()[0]]

    def __contains__(self, cell: Cell) -> bool:
        """Whether a cell, canonical or not, is solved."""
        return self.get(cell.canonical()[0]) is not None

    def knows(self, route: Route) -> bool:
        """Whether the cell that a route leads to is solved."""
        return home_of_route(route) in self

    def same_ends(self, route: Route) -> bool:
        """Whether the solution of the cell that a route leads to has values, not just bounds."""
        bounds = self.get(home_of_route(route).canonical()[0])
        return bounds is not None and route.passed is None and bounds.same_ends

    def block(self, route: Route, end: int, bound: Code) -> Block | None:
        """Return one end of what the solution says of the positions that a route leads to, if anything."""
        side = side_after(route)
        if route.passed is not None and end != end_of(side):
            # The side with a right to capture en passant has one more choice, and a better score to lose:
            # nothing else is known of it.
            return None
        home, symmetry = home_of_route(route).canonical()
        bounds = self.get(home)
        if bounds is None:
            return None
        if symmetry & MIRROR_RANKS:
            side, end = Side(1 - side), 1 - end
        block = Block(bounds.value[end, side], bounds.depth[end, side])
        men = [(man.colour, man.kind) for man in home.mobile]
        return gathered(route.destination.apart_from(home_of_route(route)), men, symmetry, block)

    def worth(self, position: CellPosition) -> Interval | None:
        """Return what the solution says of a position, if its cell is solved."""
        home, symmetry = position.cell.canonical()
        bounds = self.get(home)
        if bounds is None:
            return None
        seen = position.seen_by(symmetry)
        found = [Code(int(bounds.value[end, side_of(seen.board), seen.slot])) for end in ENDS]
        if symmetry & MIRROR_RANKS:
            found = [Code(255 - code) for code in reversed(found)]
        if position.board.has_legal_en_passant():
            end = 1 - end_of(side_of(position.board))
            found[end] = WORST[end]
        return Interval(*found)


def end_of(side: Side) -> int:
    """Return the end of the interval that a side's choices may improve: White gets at least what one of his
    moves is worth, Black too."""
    return UPPER if side else LOWER


def narrower(one: Bounds, other: Bounds) -> Bounds:
    """Return the better of two bounds of every position."""
    value, depth = other.value.copy(), other.depth.copy()
    for end, worse in ((LOWER, np.greater), (UPPER, np.less)):
        keep = worse(value[end], one.value[end])
        value[end][keep], depth[end][keep] = one.value[end][keep], one.depth[end][keep]
    return Bounds(one.cell, value, depth)
