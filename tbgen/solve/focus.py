"""What is asked while a position is solved: between which scores it matters what cells are worth.

The value of the given state, as far as it lies between two scores, does not change if scores beyond them
count as mates (:mod:`tbgen.cells.window`). So the interval known of the state is a window for its cell, and
for all cells below it, with the colours swapped where they are swapped there.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Final

from tbgen.board.score import Code
from tbgen.cells.cell import Cell
from tbgen.cells.interval import Interval
from tbgen.cells.window import EVERYTHING, Window
from tbgen.solve.solved_cells import SolvedCells
from tbgen.solve.structures import colours_below, homes_below

_WORTH_ASKING: Final = 64**4
"""Slots of cells from which on only what matters is found out; of small ones everything, once for all."""


class Focus:
    """Between which scores it matters what a state is worth, and so what cells are.

    Cells are canonical, and so are scores those of the state's canonical cell.

    :param root: the state's cell.
    :param cells: tell between which scores they were solved before.
    :param narrow: whether it ever is less than all scores: a proof has all of them.
    """

    def __init__(self, root: Cell, cells: SolvedCells, *, narrow: bool) -> None:
        self._root, self._cells, self._narrow = root, cells, narrow
        self._now = EVERYTHING
        self._asked: dict[Cell, Window] = {}
        """What is asked of cells now."""
        self._tried: Interval | None = None
        """What the state might be worth when a close window about its accrued score was asked for."""

    def ask(self, interval: Interval) -> None:
        """Ask from now on where in an interval the value of the state lies."""
        self._now = Window(*interval) if self._narrow else EVERYTHING
        self._asked.clear()

    def intervals(self, interval: Interval, accrued: Code | None) -> Iterator[Interval]:
        """Yield what to ask about, one after the other: whether the state is worth its accrued score, which
        takes a close window, unless that has been asked; and then all that it may be worth.

        :param interval: what it may be worth.
        :param accrued: the accrued score, where it is not the position's own.
        """
        if accrued is not None and interval != self._tried and self._narrow:
            if (close := Window(*interval).about(accrued)) != interval:
                yield close
            self._tried = interval
        yield interval

    def of(self, cell: Cell) -> Window:
        """Return between which scores it matters what positions of a cell are worth."""
        if cell not in self._asked:
            colours = {False} if cell == self._root else colours_below(self._root, cell)
            sides = [self._now.swapped if swapped else self._now for swapped in colours]
            self._asked[cell] = reduce(Window.hull, sides) if sides else EVERYTHING
        return self._asked[cell]

    def window(self, cell: Cell) -> Window:
        """Return between which scores values of a cell are to be found out."""
        return self.of(cell) if cell.size >= _WORTH_ASKING else EVERYTHING

    def told(self, cell: Cell) -> Window:
        """Return between which scores a solution of a cell tells all that can be known now: no more than
        those of cells below it do."""
        told = self.window(cell)
        for home in homes_below(cell, promotions=True):
            window = self._cells.window(home) if home in self._cells else EVERYTHING
            if window != EVERYTHING:
                for swapped in colours_below(cell, home):
                    told = told.within(window.swapped if swapped else window)
        return told
