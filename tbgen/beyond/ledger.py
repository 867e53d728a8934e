"""The ledger of a search: its question, solutions and refusals, and the numbers of proved states.

The question of a search is where in a certain interval the value of its state lies. Scores beyond this
interval may count as mates without changing the answer (:mod:`tbgen.cells.window`). So the interval is the
window in which the state's cell and all cells below it are solved. In a cell that play reaches with swapped
colours, the colours of the window are swapped too. All parts of a search record their work in the ledger. The
ledger decides whether a cell has to be solved.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Final, NamedTuple

from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.structures import homes_of, possible_colour_swaps, whole_cells_of
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, Bounds
from tbgen.cells.cell import Cell
from tbgen.cells.window import ALL_SCORES, Interval
from tbgen.index.layout import MIRROR_FILES

_MIN_WINDOW_SLOTS: Final = 64**4
"""Minimum number of slots of a cell that is solved in a window. Smaller cells are solved for all scores."""


SAMPLE_DIVISOR: Final = 64
"""A proof of a large cell checks one position in 64, chosen at random."""


@dataclass(frozen=True, slots=True)
class ForwardProof:
    """The numbers of cells and states that have been proved forward.

    :ivar cells: number of proved solutions of cells. A cell that was solved twice counts twice.
    :ivar states: number of states proved from their successors, in the lower and the upper game.
    :ivar sampled: number of the ``cells`` that are large; in these, one position in 64 was proved.
    """

    cells: int = 0
    states: int = 0
    sampled: int = 0


class _Solved(NamedTuple):
    """An entry of the ledger: the number of a solution, and the window in which it was found."""

    number: int
    window: Interval


class Ledger:
    """The question of a search, and its solutions. Solutions are numbered from 1.

    All cells are canonical. The colours of the question are those of the state's canonical cell.

    :param exits: the tables, and the solutions of earlier searches.
    :param root: the cell of the state.
    :param use_windows: whether cells may be solved in windows. A proof needs all scores.
    :ivar last_number: number of the last solution. Searches for forced mates and solutions of whole cells are
        also numbered.
    :ivar refused_cells: cells that need too much time or memory, or whose scores cannot be stored.
    :ivar refused_wins: homes of promotions for which finding forced mates needs too much time or memory.
    :ivar refused_promotions: homes of promotions for which finding values needs too much time or memory.
    """

    def __init__(self, exits: ExitBounds, root: Cell, *, use_windows: bool) -> None:
        self._exits, self._root, self._use_windows = exits, root, use_windows
        self._question = ALL_SCORES
        self._scores_by_cell: dict[Cell, Interval] = {}
        """Maps each cell requested so far to the scores that the current question distinguishes in it."""
        self._last_tried: Interval | None = None
        """The interval that the state had when the narrow window around its accrued score was last tried."""
        self.last_number = 0
        self._last_solution: dict[tuple[Cell, int], _Solved] = {}
        """Maps a cell and an end to the last solution of the cell at this end."""
        self._wins_number: dict[Cell, int] = {}
        """Maps each whole cell, and its mirror image, to the number of the solution that found its forced
        mates."""
        self._solved_ahead: set[tuple[Cell, int]] = set()
        """Ends of cells that have been solved only with the pawns of one side standing still."""
        self.refused_cells: set[Cell] = set()
        self.refused_wins: set[Cell] = set()
        self.refused_promotions: set[Cell] = set()

    def set_question(self, interval: Interval) -> None:
        """Set the question: where in an interval the value of the state lies."""
        self._question = interval if self._use_windows else ALL_SCORES
        self._scores_by_cell.clear()

    def intervals(self, interval: Interval, accrued: Code | None) -> Iterator[Interval]:
        """Yield the intervals for successive questions.

        The first interval is a narrow window around the accrued score. It shows whether this score is the
        value. It is left out if it was tried before with the same interval of the state. The last interval is
        the whole interval of the state.

        :param interval: the interval in which the value lies.
        :param accrued: the accrued score; None if it is the position score.
        """
        if accrued is not None and interval != self._last_tried and self._use_windows:
            if (close := interval.narrowest_window(accrued)) != interval:
                yield close
            self._last_tried = interval
        yield interval

    def relevant_scores(self, cell: Cell) -> Interval:
        """Return the interval of scores that the question needs to distinguish in a cell."""
        if cell not in self._scores_by_cell:
            colours = {False} if cell == self._root else possible_colour_swaps(self._root, cell)
            questions = [self._question.swapped if swapped else self._question for swapped in colours]
            self._scores_by_cell[cell] = reduce(Interval.hull, questions) if questions else ALL_SCORES
        return self._scores_by_cell[cell]

    def window(self, cell: Cell) -> Interval:
        """Return the window in which a cell is to be solved."""
        return self.relevant_scores(cell) if cell.size >= _MIN_WINDOW_SLOTS else ALL_SCORES

    def complete_window(self, cell: Cell) -> Interval:
        """Return the window in which solving a cell now would find the best possible bounds.

        This window is limited by the windows in which the homes of the cell were solved.
        """
        complete = self.window(cell)
        for home in homes_of(cell, promotions=True):
            window = self._exits.cells.window(home) if home in self._exits.cells else ALL_SCORES
            if window != ALL_SCORES:
                for swapped in possible_colour_swaps(cell, home):
                    complete = complete.intersection(window.swapped if swapped else window)
        return complete

    def add_solutions(self, all_bounds: Iterable[Bounds], solution_count: int = 1) -> None:
        """Record bounds one by one as they are found, and afterwards the solutions that found them.

        :param solution_count: number of these solutions.
        """
        number = self.last_number + solution_count
        for bounds in all_bounds:
            ends = product([bounds.cell], bounds.ends)
            self._last_solution |= dict.fromkeys(ends, _Solved(number, bounds.window))
        self.last_number = number

    def add_wins(self, whole_cell: Cell) -> None:
        """Record that the forced mates in a whole cell have been found."""
        self.last_number += 1
        self._wins_number |= dict.fromkeys((whole_cell, whole_cell.image(MIRROR_FILES)), self.last_number)

    def add_table_cells(self, cells: Iterable[Cell]) -> None:
        """Record that cells are now looked up in tables. Cells above them may then be solved again."""
        self._last_solution |= dict.fromkeys(product(cells, ENDS), _Solved(self.last_number + 1, ALL_SCORES))

    def add_ends_ahead(self, cell: Cell, ends: Iterable[int]) -> None:
        """Record that a cell has been solved at some ends with the pawns of one side standing still."""
        self._solved_ahead |= {(cell, end) for end in ends}

    def add_complete_cell(self, cell: Cell) -> None:
        """Record that a cell has been solved after all cells that it depends on."""
        self._solved_ahead -= {(cell, end) for end in ENDS}

    def has_solved(self, cell: Cell) -> bool:
        """Return whether this search has solved any end of a cell."""
        return any((cell, end) in self._last_solution for end in ENDS)

    def is_answered(self, cell: Cell, end: int) -> bool:
        """Return whether one end of a cell was last solved in a window that is wide enough for the question.

        If only the other end has been solved, the result depends on which search has solved it. If it was an
        earlier search, the result is False. If it was this search, the result may be True, because
        :class:`tbgen.beyond.choices.Chooser` and the search for promotions then take care of this end.
        """
        if (solution := self._last_solution.get((cell, end))) is not None:
            return solution.window.covers(self.window(cell))
        if (cell, 1 - end) not in self._last_solution and end not in self._exits.cells.ends(cell):
            return False
        return self._exits.cells.window(cell).covers(self.window(cell))

    def is_solved(self, cell: Cell) -> bool:
        """Return whether a canonical cell is solved in a wide enough window, with moves of all pawns."""
        if any((cell, end) in self._solved_ahead for end in ENDS) or cell not in self._exits.cells:
            return False
        return all(self.is_answered(cell, end) for end in ENDS)

    def is_solved_ahead(self, cell: Cell, end: int) -> bool:
        """Return whether a canonical cell is solved at one end, with moves of at least one side's pawns."""
        is_ahead = (cell, end) in self._solved_ahead
        return is_ahead or (cell in self._exits.cells and self.is_answered(cell, end))

    def is_done(self, cell: Cell) -> bool:
        """Return whether a canonical cell is solved, refused, or contained in a table."""
        return self.is_solved(cell) or cell in self.refused_cells or self._exits.has_table_of(cell)

    def is_stale(self, cell: Cell, end: int, home: Cell, swapped: bool) -> bool:
        """Return whether solving one end of a cell again may narrow its bounds.

        This is possible in three cases: this search has not solved this end, the bounds of ``home`` have
        become narrower since the last solution of ``cell``, or the window of that solution is no longer wide
        enough.

        :param home: a cell that moves from the cell lead to.
        :param swapped: whether these moves lead to ``home`` with swapped colours.
        """
        last, below = self._last_solution.get((cell, end)), self._last_solution.get((home, end ^ swapped))
        if last is None:
            return True
        numbers = [self._wins_number.get(whole, 0) for whole in whole_cells_of(home, self._exits.wins.mobile)]
        is_later = max(0 if below is None else below.number, *numbers, 0) > last.number
        return is_later or not self.is_answered(cell, end)
