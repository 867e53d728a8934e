"""The choice of the cells to solve next.

A search follows play from the searched position (:mod:`tbgen.beyond.play`). Where the play enters an unsolved
cell, that cell has to be solved. It depends on its *homes*, the canonical cells that its captures and pawn
moves lead to, and these depend on their own homes. docs/glossary.md explains the terms.

If pawn moves of one side lead into unsolved cells, the first question is how much that side may hope for.
This is one end of the interval. If the pawns of the other side are assumed to stand still, only a few cells
have to be solved, and each of them at this end only. Their solutions also show which score the other side can
be sure of without moving its pawns. These cells are *ahead* of the unsolved cell. They are solved in this way
only once for a question. Later each of them is solved after the cells that it depends on.
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
    homes_of,
    is_queening,
    iterate_cells_below,
    whole_cells_of,
)
from tbgen.cells.bounds import ENDS
from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.index.layout import MIRROR_RANKS, SIDES

MAX_SMALL_SLOTS: Final = 64**3
"""Maximum number of slots of a small cell. Solving such a cell takes next to no time."""
MIN_COST_SLOTS: Final = 64**3 // 4
"""Minimum cost of a cell, in slots. A smaller cell counts as if it had this number of slots."""
_WINS_SPEEDUP: Final = 32
"""Speed of finding forced mates, divided by the speed of solving cells, both in positions per second."""


class CellTask(NamedTuple):
    """A cell to solve, and the ends (lower, upper or both) at which to solve it."""

    cell: Cell
    ends: tuple[int, ...] = ENDS


class Choice(NamedTuple):
    """Cells that may be solved together, for the sake of the unsolved cell that play enters."""

    cost: int
    """Number of slots to solve, including the slots of the cells above, which are solved again."""
    tasks: list[CellTask]
    """The cells in order; the cell that play enters is last. Empty if only forced mates are to be found."""
    cells_above: set[Cell]
    """The solved cells from which play leads to the unsolved cell."""
    promotion_homes: tuple[Cell, ...] = ()
    """Homes of promotions for which forced mates are found before the cells are solved."""
    is_late: bool = False
    """Whether the last cell is the home of an underpromotion. Such a choice comes late, because bounds after
    promotions to a queen may suffice."""
    skips_dependencies: bool = False
    """Whether a cell is solved without the cells that it depends on, because too little time remains."""
    is_ahead: bool = False
    """Whether the cells are those ahead of the last one, where the pawns of one side stand still."""


class Chooser:
    """Finds the cells that may be solved next.

    :param root: the cell of the searched position.
    """

    def __init__(self, exits: ExitBounds, meter: Meter, root: Cell, ledger: Ledger) -> None:
        self._exits, self._meter, self._root, self._ledger = exits, meter, root, ledger

    def cost_of(self, tasks: Iterable[CellTask]) -> int:
        """Return the work of tasks: slots to solve for all scores, each counted once for each end.

        A cell counts as at least ``MIN_COST_SLOTS`` slots.
        """
        work = self._ledger.work_slots
        return sum(max(work(each.cell), MIN_COST_SLOTS) * len(each.ends) for each in tasks)

    def choices(self, play: Play) -> list[Choice]:
        """Return a choice for each unsolved cell that play enters, best first."""
        choices = (
            self._choice_for(home, _hoped_for_end(position), play.all_cells_above(home))
            for home, position in play.unsolved_cells.items()
            if home not in self._ledger.refused_cells and not self._exits.has_table_of(home)
        )
        return sorted(choices, key=lambda choice: (choice.skips_dependencies, choice.is_late, choice.cost))

    def _choice_for(self, home: Cell, end: int, above: set[Cell]) -> Choice:
        """Return the choice for an unsolved cell that play enters.

        The choice is the first item that applies:

        - the forced mates after a promotion, if ``home`` is the home of this promotion and the mates have not
          been found;
        - the cells ahead of ``home``, if they cost no more than all cells below it, and ``home`` has no more
          mobile men than the root;
        - the cell after all cells that it depends on, if time allows;
        - the cells ahead of ``home``, if time allows;
        - the cell alone.

        :param end: the end to solve for: the one that is best for the side that moves into the cell.
        :param above: the solved cells from which play leads to the cell.
        """
        promotion_homes, whole_cells = self._mate_searches([home], self._meter.seconds_left)
        if promotion_homes:
            return self._bundle([], above, promotion_homes, whole_cells)
        all_below = self._choice_below(home, above)
        may_be_ahead = MAX_SMALL_SLOTS < home.size <= self._root.size
        ahead = self._find_ahead(home, end, above) if may_be_ahead else None
        if all_below is None:
            return ahead or self._bundle([CellTask(home)], above)._replace(skips_dependencies=True)
        return all_below if ahead is None or all_below.cost < ahead.cost else ahead

    def _choice_below(self, cell: Cell, cells_above: set[Cell]) -> Choice | None:
        """Return the choice that solves a cell after all cells that it depends on; None if time is too short.

        Forced mates after promotions are included if finding them takes no longer than solving the cells, and
        if time allows both.
        """
        tasks = self._affordable_tasks(
            CellTask(below) for below, _ in iterate_cells_below(cell, self._ledger.is_done)
        )
        if tasks is None:
            return None
        below = {home for each in tasks for home in homes_of(each.cell, promotions=True)}
        seconds = self._seconds_of(tasks)
        with self._meter.reserving(self._ledger.work_slots(each.cell) for each in tasks):
            return self._bundle(tasks, cells_above, *self._mate_searches(sorted(below, key=height), seconds))

    def _mate_searches(self, homes: Iterable[Cell], max_seconds: float) -> tuple[tuple[Cell, ...], set[Cell]]:
        """Return the homes of promotions after which forced mates remain to be found, and their whole cells
        (:mod:`tbgen.beyond.structures`).

        :param homes: cells to consider. Those that are not homes of promotions are ignored.
        :param max_seconds: maximum total time. If finding the mates takes longer than this or than the
            remaining time, the result is empty.
        """
        promotion_homes: dict[Cell, None] = {}
        seconds = 0.0
        whole_cells = set[Cell]()
        for home in homes:
            if home in self._ledger.homes_refused_for_mates or self._exits.has_table_of(home):
                continue
            for whole in self._exits.wins.cells_to_solve(home):
                if whole not in whole_cells:
                    seconds += self._meter.mate_search_seconds(whole.size)
                    whole_cells.add(whole)
                promotion_homes[home] = None
                if seconds > max_seconds or not self._meter.allows(seconds, 0):
                    return (), set()
        return tuple(promotion_homes), whole_cells

    def _find_ahead(self, home: Cell, end: int, above: set[Cell]) -> Choice | None:
        """Return the choice that solves one end of a cell and of the cells ahead.

        The result is None if this has been done before, or if time does not allow it.
        """
        is_solved = self._ledger.is_solved_ahead
        if is_solved(home, end):
            return None
        ahead = cells_ahead(home, SIDES[1 - end], self._ledger.is_done)
        nodes = ((cell, int(1 - side)) for cell, side in ahead)
        tasks = self._affordable_tasks(
            CellTask(cell, (each,)) for cell, each in nodes if not is_solved(cell, each)
        )
        return None if tasks is None else self._bundle(tasks, above)._replace(is_ahead=True)

    def _affordable_tasks(self, tasks: Iterable[CellTask]) -> list[CellTask] | None:
        """Return the tasks as a list; None if the budget does not allow all of them."""
        accepted = list[CellTask]()
        seconds = 0.0
        for each in tasks:
            accepted.append(each)
            seconds += self._seconds_of([each])
            if not self._meter.allows(seconds, len(accepted)):
                return None
        return accepted

    def _seconds_of(self, tasks: Iterable[CellTask]) -> float:
        slots = ((self._ledger.work_slots(each.cell), len(each.ends)) for each in tasks)
        return sum(self._meter.seconds_for([size]) * ends / len(ENDS) for size, ends in slots)

    def _bundle(
        self,
        tasks: list[CellTask],
        cells_above: set[Cell],
        promotion_homes: tuple[Cell, ...] = (),
        whole_cells: Iterable[Cell] = (),
    ) -> Choice:
        """Return the choice to solve ``tasks``, with its cost.

        :param whole_cells: the whole cells in which forced mates are found for ``promotion_homes``.
        """
        wins_cost = sum(max(whole.size // _WINS_SPEEDUP, MIN_COST_SLOTS) * len(ENDS) for whole in whole_cells)
        slots = self.cost_of(tasks) + wins_cost + self.cost_of(map(CellTask, cells_above))
        last_cell = tasks[-1].cell if tasks else promotion_homes[-1]
        is_late = bool(whole_cells_of(last_cell, self._exits.wins.mobile_count)) and not is_queening(
            last_cell
        )
        return Choice(slots, tasks, cells_above, promotion_homes, is_late)


def _hoped_for_end(position: CellPosition) -> int:
    """Return the best end for the side that has just moved, as seen in the canonical cell."""
    _, symmetry = position.cell.canonical()
    end = end_of(side_of(position.board))
    return 1 - end if symmetry & MIRROR_RANKS else end
