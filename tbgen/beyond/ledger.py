"""The ledger of a search: its current question, its solutions and refusals; and counts of proved states.

The question of a search is where in an interval the value of its state lies. Scores beyond this interval may
count as mates without changing the answer (:mod:`tbgen.cells.window`). So the interval is a window for the
state's cell and for all cells below it, with the colours swapped in cells whose colours are swapped. All
parts of a search record their work in the ledger, which decides whether a cell has to be solved.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Final, NamedTuple

from tbgen.beyond.knowledge import Known
from tbgen.beyond.structures import colours_below, homes_below, whole_cells_of
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, Bounds
from tbgen.cells.cell import Cell
from tbgen.cells.window import ALL_SCORES, Interval
from tbgen.index.layout import MIRROR_FILES

_MIN_WINDOW_SLOTS: Final = 64**4
"""Minimum number of slots of cells that are solved in a window; smaller cells are solved for all scores."""


SAMPLE_DIVISOR: Final = 64
"""In a large cell, one position in 64 is proved, chosen at random."""


@dataclass(frozen=True, slots=True)
class ForwardProof:
    """How many of the results have been proved forward.

    :ivar cells: number of solutions of cells; a cell that was solved again counts again.
    :ivar states: number of states proved from their successors, in both games.
    :ivar sampled: number of large ones among ``cells``; in each of these, one position in 64 was proved.
    """

    cells: int = 0
    states: int = 0
    sampled: int = 0


class _SolvedCell(NamedTuple):
    """The number of a solution, and the window in which it was found."""

    number: int
    window: Interval


class Ledger:
    """The question of a search, and its solutions, which are numbered from 1 on.

    All cells are canonical. Scores have the colours of the state's canonical cell.

    :param known: the tables, and the solutions of earlier searches.
    :param root: the cell of the state.
    :param narrow: whether questions may have a window. A proof needs all scores.
    :ivar solved: number of solutions, including searches for forced mates and solutions of whole cells.
    :ivar refused: cells that take too much time or memory, or whose scores cannot be stored.
    :ivar refused_wins: cells after promotions in which finding forced mates takes too much time or memory.
    :ivar refused_promotions: cells after promotions in which finding values takes too much time or memory.
    """

    def __init__(self, known: Known, root: Cell, *, narrow: bool) -> None:
        self._known, self._root, self._narrow = known, root, narrow
        self._question = ALL_SCORES
        self._relevant: dict[Cell, Interval] = {}
        """The scores that the current question distinguishes in each cell, as far as computed."""
        self._tried: Interval | None = None
        """The interval of the state when the close window around its accrued score was tried last."""
        self.solved = 0
        self._last_solution: dict[tuple[Cell, int], _SolvedCell] = {}
        """The last solution that narrowed each end of each cell."""
        self._wins_number: dict[Cell, int] = {}
        """Number of the solution that found the forced mates in a whole cell or in its mirror image."""
        self._solved_ahead: set[tuple[Cell, int]] = set()
        """Ends of cells that have been solved only with pawns of one side standing still."""
        self.refused: set[Cell] = set()
        self.refused_wins: set[Cell] = set()
        self.refused_promotions: set[Cell] = set()

    def set_question(self, interval: Interval) -> None:
        """Set the question: where in an interval the value of the state lies."""
        self._question = interval if self._narrow else ALL_SCORES
        self._relevant.clear()

    def intervals(self, interval: Interval, accrued: Code | None) -> Iterator[Interval]:
        """Yield the intervals to ask about in turn.

        The first one is a close window around the accrued score, which shows whether this is the value; it is
        left out if it was tried before. The second one is the whole interval.

        :param interval: the interval in which the value lies.
        :param accrued: the accrued score; None if it is the position score.
        """
        if accrued is not None and interval != self._tried and self._narrow:
            if (close := interval.close_window(accrued)) != interval:
                yield close
            self._tried = interval
        yield interval

    def relevant_scores(self, cell: Cell) -> Interval:
        """Return the interval of scores that the question needs to distinguish in a cell."""
        if cell not in self._relevant:
            colours = {False} if cell == self._root else colours_below(self._root, cell)
            sides = [self._question.swapped if swapped else self._question for swapped in colours]
            self._relevant[cell] = reduce(Interval.hull, sides) if sides else ALL_SCORES
        return self._relevant[cell]

    def window(self, cell: Cell) -> Interval:
        """Return the window in which a cell is to be solved."""
        return self.relevant_scores(cell) if cell.size >= _MIN_WINDOW_SLOTS else ALL_SCORES

    def complete_window(self, cell: Cell) -> Interval:
        """Return the interval of scores in which solving a cell now finds the best possible bounds.

        The windows of the cells below limit those of the cell.
        """
        complete = self.window(cell)
        for home in homes_below(cell, promotions=True):
            window = self._known.cells.window(home) if home in self._known.cells else ALL_SCORES
            if window != ALL_SCORES:
                for swapped in colours_below(cell, home):
                    complete = complete.within(window.swapped if swapped else window)
        return complete

    def add(self, found: Iterable[Bounds], solutions: int = 1) -> None:
        """Record bounds one by one as they are found, and then the solutions that found them."""
        number = self.solved + solutions
        for bounds in found:
            ends = product([bounds.cell], bounds.ends)
            self._last_solution |= dict.fromkeys(ends, _SolvedCell(number, bounds.window))
        self.solved = number

    def add_wins(self, whole: Cell) -> None:
        """Record that the forced mates in a whole cell have been found."""
        self.solved += 1
        self._wins_number |= dict.fromkeys((whole, whole.image(MIRROR_FILES)), self.solved)

    def add_looked_up(self, cells: Iterable[Cell]) -> None:
        """Record cells that are now looked up in tables, so that cells above them may be solved again."""
        self._last_solution |= dict.fromkeys(product(cells, ENDS), _SolvedCell(self.solved + 1, ALL_SCORES))

    def add_ahead(self, cell: Cell, ends: Iterable[int]) -> None:
        """Record that a cell has been solved at some ends with pawns of one side standing still."""
        self._solved_ahead |= {(cell, end) for end in ends}

    def add_complete(self, cell: Cell) -> None:
        """Record that a cell has been solved after all cells that it depends on."""
        self._solved_ahead -= {(cell, end) for end in ENDS}

    def has_solved(self, cell: Cell) -> bool:
        """Return whether this search has solved any end of a cell."""
        return any((cell, end) in self._last_solution for end in ENDS)

    def is_answered(self, cell: Cell, end: int) -> bool:
        """Return whether the window in which a cell was solved last is wide enough, at one end.

        If only the other end is available, and from an earlier search, the answer is False. If this search
        has solved only the other end, the answer may be True: the missing end is left to
        :class:`tbgen.beyond.choices.Chooser` and to promotions.
        """
        if (last := self._last_solution.get((cell, end))) is not None:
            return last.window.covers(self.window(cell))
        if (cell, 1 - end) not in self._last_solution and end not in self._known.cells.ends(cell):
            return False
        return self._known.cells.window(cell).covers(self.window(cell))

    def is_solved(self, cell: Cell) -> bool:
        """Return whether a canonical cell is solved, moves of all pawns included, as far as the question
        needs."""
        if any((cell, end) in self._solved_ahead for end in ENDS) or cell not in self._known.cells:
            return False
        return all(self.is_answered(cell, end) for end in ENDS)

    def is_solved_ahead(self, cell: Cell, end: int) -> bool:
        """Return whether a canonical cell is solved at one end, even if only with pawns standing still."""
        return (cell, end) in self._solved_ahead or (
            cell in self._known.cells and self.is_answered(cell, end)
        )

    def is_done(self, cell: Cell) -> bool:
        """Return whether a canonical cell need not be solved, or has been refused."""
        return self.is_solved(cell) or cell in self.refused or self._known.has_table_of(cell)

    def is_stale(self, cell: Cell, end: int, home: Cell, swapped: bool) -> bool:
        """Return whether solving one end of a cell again may narrow its bounds.

        That is so if this search has not solved it, if a cell below became narrower later, or if the window
        of the last solution has become too close.

        :param home: a cell below.
        :param swapped: whether ``home`` has the colours swapped.
        """
        last, below = self._last_solution.get((cell, end)), self._last_solution.get((home, end ^ swapped))
        if last is None:
            return True
        wins = [self._wins_number.get(whole, 0) for whole in whole_cells_of(home, self._known.won.mobile)]
        later = max(0 if below is None else below.number, *wins, 0) > last.number
        return later or not self.is_answered(cell, end)
