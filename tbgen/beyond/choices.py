"""The choice of the cells to solve next.

A search follows play from the searched position (:mod:`tbgen.beyond.play`). Where the play enters an unsolved
cell, that cell has to be solved. It depends on its *homes*, the canonical cells that its captures and pawn
moves lead to, and these depend on their own homes. docs/glossary.md explains the terms.

If pawn moves of one side lead into unsolved cells, the first question is how much that side may hope for.
This is one end of the interval. As long as the pawns of the other side stand still, only a few cells have to
be solved, each at this end alone. Their solutions also show which score the other side is sure of without
pawn moves. These are the cells *ahead* of the root, the cell of the searched position. They are solved in
this way only once; later they are solved like all others, after the cells that they depend on.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tbgen.beyond.budget import Meter
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.ledger import Ledger
from tbgen.beyond.play import Play
from tbgen.beyond.solved_cells import end_of
from tbgen.beyond.structures import (
    cells_ahead,
    height,
    homes_below,
    is_to_queen,
    iterate_cells_below,
    whole_cells_of,
)
from tbgen.cells.bounds import ENDS
from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.index.layout import MIRROR_RANKS, SIDES

SMALL_SLOTS: Final = 64**3
"""Maximum number of slots of a small cell, whose solution takes next to no time."""
MIN_EFFORT_SLOTS: Final = 64**3 // 4
"""Minimum effort counted for a cell, in slots. A smaller cell counts as if it had this number of slots."""
_WINS_SPEEDUP: Final = 32
"""Speed of finding forced mates, in positions per time, divided by the speed of solving cells."""
_AHEAD_EFFORT_RATIO: Final = 3
"""The cells ahead are preferred only if their effort times this ratio is at most that of all cells below."""
_AHEAD_TIME_RATIO: Final = 8
"""The cells ahead are preferred only if at least this many times their estimated time remains."""


class CellTask(NamedTuple):
    """A cell to solve, and the ends (lower, upper or both) at which to solve it."""

    cell: Cell
    ends: tuple[int, ...] = ENDS


class Choice(NamedTuple):
    """Cells that may be solved together, for the sake of the unsolved cell that play enters."""

    effort: int
    """Number of slots to solve, including the slots of the cells above, which are solved again."""
    tasks: list[CellTask]
    """The cells in order; the cell that play enters is last. Empty if only forced mates are to be found."""
    cells_above: set[Cell]
    """The solved cells from which play leads to the unsolved cell."""
    promotion_homes: tuple[Cell, ...] = ()
    """Homes of promotions for which forced mates are found before the cells are solved."""
    is_late: bool = False
    """Whether the last cell is the home of an underpromotion. It comes late, because bounds after promotions
    to a queen may suffice."""
    is_alone: bool = False
    """Whether the cell is solved without the cells that it depends on, because time is short."""
    is_ahead: bool = False
    """Whether the cells are those ahead of the root, where the pawns of one side stand still."""


class Chooser:
    """Finds the cells that may be solved next.

    :param root: the cell of the searched position.
    """

    def __init__(self, known: ExitBounds, meter: Meter, root: Cell, ledger: Ledger) -> None:
        self._known, self._meter, self._root, self._ledger = known, meter, root, ledger

    def choices(self, play: Play) -> list[Choice]:
        """Return a choice for each unsolved cell that play enters, best first."""
        choices = (
            self._choice_for(home, _hoped_end(after), play.all_cells_above(home))
            for home, after in play.unsolved.items()
            if home not in self._ledger.refused_cells and not self._known.has_table_of(home)
        )
        return sorted(choices, key=lambda choice: (choice.is_alone, choice.is_late, choice.effort))

    def _choice_for(self, home: Cell, end: int, above: set[Cell]) -> Choice:
        """Return the choice for an unsolved cell that play enters.

        The choice is the first item that applies:

        - the forced mates after a promotion, if the cell is the home of one and its mates are not yet found;
        - the cells ahead of the root, if they cost much less than all cells below ``home`` and take little of
          the remaining time;
        - the cell after all cells that it depends on, if time allows;
        - the cells ahead of the root, if time allows;
        - the cell alone.

        :param end: the end that the side whose move enters the cell hopes for.
        """
        promotion_homes, wholes = self._wins_in_time([home], self._meter.seconds_left)
        if promotion_homes:
            return self._choice([], above, promotion_homes, wholes)
        all_below = self._all_below(home, above)
        ahead = self._cells_ahead(home, end) if home.size > SMALL_SLOTS and above == {self._root} else None
        if all_below is None:
            return ahead or self._choice([CellTask(home)], above)._replace(is_alone=True)
        if ahead is None or all_below.effort < _AHEAD_EFFORT_RATIO * ahead.effort:
            return all_below
        max_seconds = self._meter.seconds_left / _AHEAD_TIME_RATIO
        return ahead if self._seconds_of(ahead.tasks) <= max_seconds else all_below

    def _all_below(self, cell: Cell, cells_above: set[Cell]) -> Choice | None:
        """Return the choice that solves a cell after all cells that it depends on; None if time is too short.

        Forced mates after promotions are included if finding them takes no longer than solving the cells, and
        if time allows both.
        """
        tasks = self._tasks_in_time(
            CellTask(below) for below, _ in iterate_cells_below(cell, self._ledger.is_done)
        )
        if tasks is None:
            return None
        below = {home for each in tasks for home in homes_below(each.cell, promotions=True)}
        seconds = self._seconds_of(tasks)
        with self._meter.reserving(each.cell.size for each in tasks):
            return self._choice(tasks, cells_above, *self._wins_in_time(sorted(below, key=height), seconds))

    def _wins_in_time(self, homes: Iterable[Cell], max_seconds: float) -> tuple[tuple[Cell, ...], set[Cell]]:
        """Return the homes of promotions after which forced mates remain to be found, and their whole cells.

        :param homes: cells to consider, which need not be homes of promotions.
        :param max_seconds: maximum total time. The result is empty if it or the remaining time is exceeded.
        """
        promotion_homes: dict[Cell, None] = {}
        seconds, wholes = 0.0, set[Cell]()
        for home in homes:
            if home in self._ledger.refused_wins or self._known.has_table_of(home):
                continue
            for whole in self._known.wins.unsolved(home):
                if whole not in wholes:
                    seconds += self._meter.seconds_of_wins(whole.size)
                    wholes.add(whole)
                promotion_homes[home] = None
                if seconds > max_seconds or not self._meter.has_time(seconds, 0):
                    return (), set()
        return tuple(promotion_homes), wholes

    def _cells_ahead(self, home: Cell, end: int) -> Choice | None:
        """Return the choice that solves one end of a cell and of the cells ahead.

        The result is None if this has been done before, or if time does not allow it.
        """
        is_solved = self._ledger.is_solved_ahead
        if is_solved(home, end):
            return None
        ahead = cells_ahead(home, SIDES[1 - end], self._ledger.is_done)
        nodes = ((cell, int(1 - side)) for cell, side in ahead)
        tasks = self._tasks_in_time(
            CellTask(cell, (each,)) for cell, each in nodes if not is_solved(cell, each)
        )
        return None if tasks is None else self._choice(tasks, {self._root})._replace(is_ahead=True)

    def _tasks_in_time(self, tasks: Iterable[CellTask]) -> list[CellTask] | None:
        """Return the tasks as a list; None if the budget does not allow all of them."""
        accepted, seconds = list[CellTask](), 0.0
        for each in tasks:
            accepted.append(each)
            seconds += self._seconds_of([each])
            if not self._meter.has_time(seconds, len(accepted)):
                return None
        return accepted

    def _seconds_of(self, tasks: Iterable[CellTask]) -> float:
        return sum(self._meter.seconds_of([each.cell.size]) * len(each.ends) / len(ENDS) for each in tasks)

    def _choice(
        self,
        tasks: list[CellTask],
        cells_above: set[Cell],
        promotion_homes: tuple[Cell, ...] = (),
        wholes: Iterable[Cell] = (),
    ) -> Choice:
        """Return the choice of some tasks, with its effort.

        :param wholes: the whole cells in which forced mates are found for ``promotion_homes``.
        """
        wins_effort = sum(max(whole.size // _WINS_SPEEDUP, MIN_EFFORT_SLOTS) * len(ENDS) for whole in wholes)
        slots = effort(tasks) + wins_effort + effort(map(CellTask, cells_above))
        last_cell = tasks[-1].cell if tasks else promotion_homes[-1]
        is_late = bool(whole_cells_of(last_cell, self._known.wins.mobile)) and not is_to_queen(last_cell)
        return Choice(slots, tasks, cells_above, promotion_homes, is_late)


def effort(tasks: Iterable[CellTask]) -> int:
    """Return the number of slots to solve, each counted once for each end.

    A cell counts as at least ``MIN_EFFORT_SLOTS`` slots.
    """
    return sum(max(each.cell.size, MIN_EFFORT_SLOTS) * len(each.ends) for each in tasks)


def _hoped_end(after: CellPosition) -> int:
    """Return the end that the side that has just moved hopes for, as seen in the canonical cell."""
    _, symmetry = after.cell.canonical()
    end = end_of(side_of(after.board))
    return 1 - end if symmetry & MIRROR_RANKS else end
