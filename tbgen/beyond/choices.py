"""The choice of the cells to solve next, so that the cells that play leads to get bounds.

If pawn moves of one side lead into unsolved cells, the first question is how much that side may hope for,
which is one end of the interval. While the pawns of the other side stand still, only a few cells have to be
solved, each at this end alone; they also show what the other side can be sure of without pawn moves. This is
done once, for the cells *ahead* of the root, the cell of the searched position. Afterwards these cells are
solved like all others, after the cells that they depend on.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tbgen.beyond.budget import Meter
from tbgen.beyond.knowledge import Known
from tbgen.beyond.ledger import Ledger
from tbgen.beyond.play import Play
from tbgen.beyond.solved_cells import end_of
from tbgen.beyond.structures import (
    cells_ahead,
    each_cell_below,
    height,
    homes_below,
    is_to_queen,
    whole_cells_of,
)
from tbgen.cells.bounds import ENDS
from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.index.layout import MIRROR_RANKS, SIDES

SMALL: Final = 64**3
"""Maximum number of slots of a cell that takes next to no time."""
TINY: Final = 64**3 // 4
"""Minimum effort of a cell in slots: smaller cells count as if they had this number."""
_WINS_SPEEDUP: Final = 32
"""Number of positions in which forced mates are found in the time of solving one position."""
_AHEAD_EFFORT_RATIO: Final = 3
"""The cells ahead are solved only if all cells that a cell depends on take this many times their effort."""
_AHEAD_TIME_RATIO: Final = 8
"""The cells ahead are solved only if this many times their time remains."""


class ToSolve(NamedTuple):
    """A cell, and the ends at which it is to be solved."""

    cell: Cell
    ends: tuple[int, ...] = ENDS


class Choice(NamedTuple):
    """Cells that may be solved together for a cell that play leads to."""

    effort: int
    """Slots to solve, including those of the cells above that are solved again."""
    cells: list[ToSolve]
    """The cells in order, the one that play leads to last; empty if only forced mates are to be found."""
    above: set[Cell]
    """The solved cells from which play leads to this one."""
    homes: tuple[Cell, ...] = ()
    """Homes of promotions after which forced mates are found first."""
    late: bool = False
    """Whether the last cell is the home of an underpromotion; bounds after other promotions may suffice."""
    apart: bool = False
    """Whether the cell is solved without the cells that it depends on, for lack of time."""
    ahead: bool = False
    """Whether the pawns of one side stand still."""


class Chooser:
    """Finds what may be solved next.

    :param root: the cell of the searched position.
    """

    def __init__(self, known: Known, budget: Meter, root: Cell, ledger: Ledger) -> None:
        self._known, self._budget, self._root, self._ledger = known, budget, root, ledger

    def choices(self, play: Play) -> list[Choice]:
        """Return choices for the unsolved cells that play leads to, best first."""
        found = (
            self._choice_for(home, _end_hoped_for(after), play.all_above(home))
            for home, after in play.unsolved.items()
            if home not in self._ledger.refused and not self._known.has_table_of(home)
        )
        return sorted(found, key=lambda choice: (choice.apart, choice.late, choice.effort))

    def _choice_for(self, home: Cell, end: int, above: set[Cell]) -> Choice:
        """Return the cells to solve for a cell that play leads to.

        The first of these that applies is chosen:

        - the forced mates in it, if it is the home of a promotion and they have not been found;
        - the cells ahead of the root, if they cost much less than everything below the cell, and little of
          the time;
        - the cell after all cells that it depends on, if time allows;
        - the cells ahead of the root, if time allows;
        - the cell alone.
        """
        homes, wins = self._wins_in_time([home], self._budget.seconds_left)
        if homes:
            return self._choice([], above, homes, wins)
        all_below = self._all_below(home, above)
        ahead = self._cells_ahead(home, end) if home.size > SMALL and above == {self._root} else None
        if all_below is None:
            return ahead or self._choice([ToSolve(home)], above)._replace(apart=True)
        if ahead is None or all_below.effort < _AHEAD_EFFORT_RATIO * ahead.effort:
            return all_below
        limit = self._budget.seconds_left / _AHEAD_TIME_RATIO
        return ahead if self._seconds_of(ahead.cells) <= limit else all_below

    def _all_below(self, cell: Cell, above: set[Cell]) -> Choice | None:
        """Return the choice of a cell after all cells that it depends on; None if time does not allow it.

        Forced mates after promotions are found before, if this takes no longer than the cells do and time
        allows both.
        """
        cells = self._cells_in_time(
            ToSolve(below) for below, _ in each_cell_below(cell, self._ledger.is_done)
        )
        if cells is None:
            return None
        below = {home for each in cells for home in homes_below(each.cell, promotions=True)}
        seconds = self._seconds_of(cells)
        with self._budget.reserving(each.cell.size for each in cells):
            return self._choice(cells, above, *self._wins_in_time(sorted(below, key=height), seconds))

    def _wins_in_time(self, homes: Iterable[Cell], most: float) -> tuple[tuple[Cell, ...], set[Cell]]:
        """Return the homes of promotions after which forced mates remain to be found, and their whole cells.

        :param homes: cells to consider, which need not be homes of promotions.
        :param most: maximum number of seconds; if it or the remaining time is exceeded, nothing is returned.
        """
        found: dict[Cell, None] = {}
        seconds, wins = 0.0, set[Cell]()
        for home in homes:
            if home in self._ledger.refused_wins or self._known.has_table_of(home):
                continue
            for whole in self._known.won.unsolved(home):
                if whole not in wins:
                    seconds += self._budget.seconds_of_wins(whole.size)
                    wins.add(whole)
                found[home] = None
                if seconds > most or not self._budget.has_time(seconds, 0):
                    return (), set()
        return tuple(found), wins

    def _cells_ahead(self, home: Cell, end: int) -> Choice | None:
        """Return the choice that solves one end of a cell with the pawns of one side standing still.

        None is returned if this has been solved, or if time does not allow it.
        """
        is_solved = self._ledger.is_solved_ahead
        if is_solved(home, end):
            return None
        ahead = cells_ahead(home, SIDES[1 - end], self._ledger.is_done)
        nodes = ((cell, int(1 - side)) for cell, side in ahead)
        cells = self._cells_in_time(
            ToSolve(cell, (each,)) for cell, each in nodes if not is_solved(cell, each)
        )
        return None if cells is None else self._choice(cells, {self._root})._replace(ahead=True)

    def _cells_in_time(self, cells: Iterable[ToSolve]) -> list[ToSolve] | None:
        """Return the cells as a list; None if the budget does not allow all of them."""
        found, seconds = list[ToSolve](), 0.0
        for each in cells:
            found.append(each)
            seconds += self._seconds_of([each])
            if not self._budget.has_time(seconds, len(found)):
                return None
        return found

    def _seconds_of(self, cells: Iterable[ToSolve]) -> float:
        return sum(self._budget.seconds_of([each.cell.size]) * len(each.ends) / len(ENDS) for each in cells)

    def _choice(
        self,
        cells: list[ToSolve],
        above: set[Cell],
        homes: tuple[Cell, ...] = (),
        wins: Iterable[Cell] = (),
    ) -> Choice:
        """Return a choice with its effort.

        :param wins: the whole cells in which forced mates are found for ``homes``.
        """
        of_wins = sum(max(whole.size // _WINS_SPEEDUP, TINY) * len(ENDS) for whole in wins)
        slots = effort(cells) + of_wins + effort(map(ToSolve, above))
        last = cells[-1].cell if cells else homes[-1]
        late = bool(whole_cells_of(last, self._known.won.mobile)) and not is_to_queen(last)
        return Choice(slots, cells, above, homes, late)


def effort(cells: Iterable[ToSolve]) -> int:
    """Return the number of slots to solve, at least ``TINY`` for each cell and end."""
    return sum(max(each.cell.size, TINY) * len(each.ends) for each in cells)


def _end_hoped_for(after: CellPosition) -> int:
    """Return the end that the side that has just moved hopes for, as seen in the canonical cell."""
    _, symmetry = after.cell.canonical()
    end = end_of(side_of(after.board))
    return 1 - end if symmetry & MIRROR_RANKS else end
