"""What to solve next, so that what play comes to is known: cells below those of the play, and at which ends.

Where one side's pawn moves lead on, what has to be known first is how much that side may hope for, and this
is one end of the interval. The other side's pawns may stand still for a first answer: a few cells then tell
what it is sure of without them, each solved at this end alone. Such cells are *ahead*: they have to be solved
once more, after all that they rest on, where play still leads through them.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tbgen.cells.bounds import ENDS
from tbgen.cells.cell import Cell, side_of
from tbgen.cells.position import CellPosition
from tbgen.index.layout import SIDES
from tbgen.index.symmetry import MIRROR_RANKS
from tbgen.solve.knowledge import Known
from tbgen.solve.meter import Meter
from tbgen.solve.play import Play
from tbgen.solve.solved_cells import end_of
from tbgen.solve.structures import cells_ahead, cells_below

SMALL: Final = 64**3
"""Slots of a cell that takes next to no time."""
TINY: Final = 64**3 // 4
"""Smaller cells count for so many slots."""
_MUCH: Final = 3
"""What lies ahead is solved where all that a cell rests on takes so many times as much."""


class Task(NamedTuple):
    """A cell to solve."""

    cell: Cell
    ends: tuple[int, ...] = ENDS


class Choice(NamedTuple):
    """What may be solved."""

    apart: bool
    """Whether there is no time for what a cell rests on."""
    whole: bool
    """Whether each cell is solved after all that it rests on."""
    effort: int
    """Slots of what is solved for it and again above it."""
    tasks: list[Task]
    """What is solved, what play comes to last."""
    above: set[Cell]
    """The cells above it."""


class Chooser:
    """Tells what may be solved next.

    :ivar given_up: cells for which there was no time or memory.
    :ivar ahead: cells that have been solved ahead only, and at which ends.
    """

    def __init__(self, known: Known, budget: Meter) -> None:
        self._known, self._budget = known, budget
        self.given_up: set[Cell] = set()
        self.ahead: dict[Cell, frozenset[int]] = {}

    def choices(self, play: Play) -> list[Choice]:
        """Return what may be solved for what play comes to, best first."""
        found: list[Choice | None] = []
        for cell in self.ahead.keys() & play.states.keys():
            found += (self._ahead(cell, end, play.all_above(cell)) for end in ENDS)
        for home, after in play.ways.items():
            if home not in self.given_up:
                found.append(self._way(home, _end_hoped_for(after), play.all_above(home)))
        return sorted(filter(None, found), key=lambda choice: (choice.apart, choice.effort))

    def enters(self, cell: Cell) -> bool:
        """Whether a canonical cell is solved so far that play in it is worth following: as far as there is
        time for."""
        if cell not in self.ahead:
            return cell in self._known.cells
        return self._whole(cell, set()) is None

    def is_held(self, cell: Cell) -> bool:
        """Whether a canonical cell need not be solved, or cannot be."""
        known = self._known
        solved = cell in known.cells and cell not in self.ahead
        return solved or cell in self.given_up or known.tables.has_cell(cell)

    def is_solved(self, task: Task) -> bool:
        """Whether a cell has been solved at some ends, if only ahead."""
        return self.is_held(task.cell) or self._ends_ahead(task.cell).issuperset(task.ends)

    def note(self, task: Task, *, again: bool, whole: bool) -> None:
        """Take note that a cell is solved, or solved again, after all that it rests on or not."""
        if whole:
            self.ahead.pop(task.cell, None)
        elif not again or task.cell in self.ahead:
            self.ahead[task.cell] = self._ends_ahead(task.cell).union(task.ends)

    def _ends_ahead(self, cell: Cell) -> frozenset[int]:
        return self.ahead.get(cell, frozenset())

    def _way(self, home: Cell, end: int, above: set[Cell]) -> Choice:
        """Return what is solved for a cell that a move leads to: it after all that it rests on, or what lies
        ahead if that takes much less, or it alone if there is no time for either."""
        whole = self._whole(home, above)
        ahead = None if home.size <= SMALL else self._ahead(home, end, above)
        if whole is None:
            return ahead or self._choice([Task(home)], above, whole=False, apart=True)
        return whole if ahead is None or whole.effort < _MUCH * ahead.effort else ahead

    def _whole(self, cell: Cell, above: set[Cell]) -> Choice | None:
        """Return the choice of a cell after all that it rests on, if there is time for all of them."""
        tasks = (Task(below) for below, _ in cells_below(cell, self.is_held))
        return self._in_time(tasks, above, whole=True)

    def _ahead(self, cell: Cell, end: int, above: set[Cell]) -> Choice | None:
        """Return the choice of what tells one end of a cell while one side's pawns stand still, if there is
        anything, and time for it."""
        ahead = cells_ahead(cell, SIDES[1 - end], lambda home: self.is_solved(Task(home)))
        tasks = (Task(home, (int(1 - side),)) for home, side in ahead)
        return self._in_time((task for task in tasks if not self.is_solved(task)), above, whole=False)

    def _in_time(self, tasks: Iterable[Task], above: set[Cell], *, whole: bool) -> Choice | None:
        found, seconds = list[Task](), 0.0
        for task in tasks:
            found.append(task)
            seconds += self._budget.seconds_of([task.cell.size]) * len(task.ends) / len(ENDS)
            if not self._budget.has_time(seconds, len(found)):
                return None
        return self._choice(found, above, whole=whole) if found else None

    def _choice(self, tasks: list[Task], above: set[Cell], *, whole: bool, apart: bool = False) -> Choice:
        apart = apart or any(self._known.won.unsolved(tasks[-1].cell))
        return Choice(apart, whole, effort(tasks) + effort(map(Task, above)), tasks, above)


def effort(tasks: Iterable[Task]) -> int:
    """Return how many slots are solved."""
    return sum(max(task.cell.size, TINY) * len(task.ends) for task in tasks)


def _end_hoped_for(after: CellPosition) -> int:
    """Return the end of what a position's canonical cell is worth that the side has chosen by which has just
    moved."""
    _, symmetry = after.cell.canonical()
    end = end_of(side_of(after.board))
    return 1 - end if symmetry & MIRROR_RANKS else end
