"""What one search has done: which solution found an end of a cell last, in which window, and what it gave up.

The parts of a search write here what they do, and ask here whether a cell is still to be solved.
"""

from collections.abc import Iterable
from itertools import product

from tbgen.cells.bounds import ENDS, Bounds
from tbgen.cells.cell import Cell
from tbgen.cells.window import Window
from tbgen.index.symmetry import MIRROR_FILES
from tbgen.solve.focus import Focus
from tbgen.solve.knowledge import Known
from tbgen.solve.promotions import wholes_of


class Ledger:
    """The solutions of a search, numbered from 1 on, by the ends of canonical cells that they found.

    :param known: tells what tables hold, and what earlier searches found.
    :param focus: tells between which scores it matters what cells are worth.
    :ivar solved: how many solutions there are, those of what is won and of whole cells counted.
    :ivar refused: cells for which there was no time or memory, or no code for their scores.
    :ivar refused_wins: homes of promotions for which there was none to find out what is won there.
    :ivar refused_promotions: homes for which there was none to find out the values after a promotion.
    """

    def __init__(self, known: Known, focus: Focus) -> None:
        self._known, self._focus = known, focus
        self.solved = 0
        self._numbers: dict[tuple[Cell, int], int] = {}
        """The solution by which an end became known better last."""
        self._windows: dict[tuple[Cell, int], Window] = {}
        """The windows of these solutions."""
        self._won: dict[Cell, int] = {}
        """The solutions by which it was found what is won in whole cells, and with their files mirrored."""
        self._ahead: set[tuple[Cell, int]] = set()
        """Ends of cells that have been solved ahead only."""
        self.refused: set[Cell] = set()
        self.refused_wins: set[Cell] = set()
        self.refused_promotions: set[Cell] = set()

    def add(self, found: Iterable[Bounds], solutions: int = 1) -> None:
        """Enter bounds as they are found, and then the solutions that found them."""
        number = self.solved + solutions
        for bounds in found:
            ends = [(bounds.cell, end) for end in bounds.ends]
            self._numbers |= dict.fromkeys(ends, number)
            self._windows |= dict.fromkeys(ends, bounds.window)
        self.solved = number

    def add_wins(self, whole: Cell) -> None:
        """Enter the solution of what is won in a whole cell."""
        self.solved += 1
        self._won |= dict.fromkeys((whole, whole.image(MIRROR_FILES)), self.solved)

    def add_told(self, cells: Iterable[Cell]) -> None:
        """Enter cells of which tables have told more: what rests on them may be solved again."""
        self._numbers |= dict.fromkeys(product(cells, ENDS), self.solved + 1)

    def add_ahead(self, cell: Cell, ends: Iterable[int]) -> None:
        """Enter that a cell has been solved at some ends while pawns of one side stood still."""
        self._ahead |= {(cell, end) for end in ends}

    def add_whole(self, cell: Cell) -> None:
        """Enter that a cell has been solved after all that it rests on."""
        self._ahead -= {(cell, end) for end in ENDS}

    def has(self, cell: Cell) -> bool:
        """Whether this search has found out anything of a cell."""
        return any((cell, end) in self._numbers for end in ENDS)

    def is_answered(self, cell: Cell, end: int) -> bool:
        """Whether a cell was solved last in a window that is enough, at one end.

        An earlier run may have kept it with the other end alone. If this run has found that, the chooser and
        promotions know what is still to do.
        """
        found = self._windows.get((cell, end))
        if found is None:
            if (cell, 1 - end) not in self._windows and end not in self._known.cells.ends(cell):
                return False
            found = self._known.cells.window(cell)
        return found.covers(self._focus.window(cell))

    def is_solved(self, cell: Cell) -> bool:
        """Whether a canonical cell has been solved as far as it matters, and not only ahead."""
        if any((cell, end) in self._ahead for end in ENDS) or cell not in self._known.cells:
            return False
        return all(self.is_answered(cell, end) for end in ENDS)

    def is_solved_ahead(self, cell: Cell, end: int) -> bool:
        """Whether a canonical cell has been solved at one end, be it ahead."""
        return (cell, end) in self._ahead or (cell in self._known.cells and self.is_answered(cell, end))

    def is_held(self, cell: Cell) -> bool:
        """Whether a canonical cell need not be solved, or cannot be."""
        return self.is_solved(cell) or cell in self.refused or self._known.tables.has_cell(cell)

    def is_stale(self, cell: Cell, end: int, home: Cell, swapped: bool) -> bool:
        """Whether one end of a cell may be narrowed since it was solved last: a cell that it rests on became
        known better later, or it was solved in a window that is too close now.

        :param swapped: whether the cell that it rests on has the colours swapped.
        """
        found, won = self._numbers.get((home, end ^ swapped), 0), self._known.won.mobile
        found = max(found, *(self._won.get(whole, 0) for whole in wholes_of(home, won)), 0)
        return found > self._numbers.get((cell, end), -1) or not self.is_answered(cell, end)
