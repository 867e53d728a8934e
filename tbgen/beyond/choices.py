"""What to solve next, so that what play comes to is known: which cells, at which ends, in which window.

Where one side's pawn moves lead on, what has to be known first is how much that side may hope for, and this
is one end of the interval. With the other side's pawns standing still, a few cells tell that, each solved at
this end alone, and so what the other side is sure of without pawn moves. This is done once, for the cells
that lie *ahead* of the given position's; then they are solved like all others, after all that they rest on.

What is asked while a position is solved: between which scores it matters what cells are worth. The value of
the given state, as far as it lies between two scores, does not change if scores beyond them count as mates
(:mod:`tbgen.cells.window`). So the interval known of the state is a window for its cell, and for all cells
below it, with the colours swapped where they are swapped there.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tbgen.beyond.budget import Meter
from tbgen.beyond.knowledge import Known
from tbgen.beyond.ledger import Ledger
from tbgen.beyond.play import Play
from tbgen.beyond.solved_cells import end_of
from tbgen.beyond.structures import cells_ahead, each_cell_below, height, homes_below, is_to_queen, wholes_of
from tbgen.cells.bounds import ENDS
from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.index.layout import MIRROR_RANKS, SIDES

SMALL: Final = 64**3
"""Slots of a cell that takes next to no time."""
TINY: Final = 64**3 // 4
"""Smaller cells count for so many slots."""
_WINS: Final = 32
"""To find out what is won takes as much of so many positions as to solve one."""
_MUCH: Final = 3
"""What lies ahead is solved where all that a cell rests on takes so many times as much..."""
_LITTLE: Final = 8
"""...and there is so many times as much time."""


class ToSolve(NamedTuple):
    """A cell, and the ends at which it is to be solved."""

    cell: Cell
    ends: tuple[int, ...] = ENDS


class Choice(NamedTuple):
    """What may be solved."""

    effort: int
    """Slots of what is solved for it and again above it."""
    cells: list[ToSolve]
    """What is solved, and what play comes to last; nothing if it is enough to find out what is won there."""
    above: set[Cell]
    """The cells above it."""
    homes: tuple[Cell, ...] = ()
    """Homes of promotions of which it is found out first what is won there."""
    late: bool = False
    """Whether it is about a promotion to another man than a queen: to know more of queens may do."""
    apart: bool = False
    """Whether there is no time for what a cell rests on."""
    ahead: bool = False
    """Whether one side's pawns stand still."""


class Chooser:
    """Tells what may be solved next.

    :param root: the cell of the given position.
    """

    def __init__(self, known: Known, budget: Meter, root: Cell, ledger: Ledger) -> None:
        self._known, self._budget, self._root, self._ledger = known, budget, root, ledger

    def choices(self, play: Play) -> list[Choice]:
        """Return what may be solved for what play comes to, best first."""
        found = (
            self._way(home, _end_hoped_for(after), play.all_above(home))
            for home, after in play.ways.items()
            if home not in self._ledger.refused and not self._known.holds(home)
        )
        return sorted(found, key=lambda choice: (choice.apart, choice.late, choice.effort))

    def _way(self, home: Cell, end: int, above: set[Cell]) -> Choice:
        """Return what is solved for a cell that a move leads to: what is won there after a promotion; it
        after all that it rests on; what lies ahead of the given position, if there is no time for that, or if
        it takes little of the time and much less than that; or the cell alone if there is no time for any."""
        homes, wins = self._wins_in_time([home], self._budget.left)
        if homes:
            return self._choice([], above, homes, wins)
        whole = self._whole(home, above)
        ahead = self._lies_ahead(home, end) if home.size > SMALL and above == {self._root} else None
        if whole is None:
            return ahead or self._choice([ToSolve(home)], above)._replace(apart=True)
        if ahead is None or whole.effort < _MUCH * ahead.effort:
            return whole
        return ahead if self._seconds_of(ahead.cells) <= self._budget.left / _LITTLE else whole

    def _whole(self, cell: Cell, above: set[Cell]) -> Choice | None:
        """Return the choice of a cell after all that it rests on, if there is time for all of them; what is
        won after promotions is found out before, if it takes no longer than they do, and there is time for
        both."""
        cells = self._in_time(ToSolve(below) for below, _ in each_cell_below(cell, self._ledger.is_held))
        if cells is None:
            return None
        below = {home for each in cells for home in homes_below(each.cell, promotions=True)}
        own = self._seconds_of(cells)
        with self._budget.reserving(each.cell.size for each in cells):
            return self._choice(cells, above, *self._wins_in_time(sorted(below, key=height), own))

    def _wins_in_time(self, homes: Iterable[Cell], most: float) -> tuple[tuple[Cell, ...], set[Cell]]:
        """Return those cells that are homes of promotions of which nothing has told yet what is won there,
        and the whole cells to solve for that; nothing if that takes more than so many seconds, or than are
        left."""
        found: dict[Cell, None] = {}
        seconds, wins = 0.0, set[Cell]()
        for home in homes:
            if home in self._ledger.refused_wins or self._known.holds(home):
                continue
            for whole in self._known.won.unsolved(home):
                if whole not in wins:
                    seconds += self._budget.seconds_of_wins(whole.size)
                    wins.add(whole)
                found[home] = None
                if seconds > most or not self._budget.has_time(seconds, 0):
                    return (), set()
        return tuple(found), wins

    def _lies_ahead(self, home: Cell, end: int) -> Choice | None:
        """Return the choice of what tells one end of a cell while one side's pawns stand still, if that has
        not been solved, and there is time for it."""
        is_solved = self._ledger.is_solved_ahead
        if is_solved(home, end):
            return None
        ahead = cells_ahead(home, SIDES[1 - end], self._ledger.is_held)
        ends = ((cell, int(1 - side)) for cell, side in ahead)
        cells = self._in_time(ToSolve(cell, (own,)) for cell, own in ends if not is_solved(cell, own))
        return None if cells is None else self._choice(cells, {self._root})._replace(ahead=True)

    def _in_time(self, cells: Iterable[ToSolve]) -> list[ToSolve] | None:
        """Return cells if there is time for all of them."""
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
        """Return a choice.

        :param wins: the whole cells to solve for what is won in the homes.
        """
        of_wins = sum(max(whole.size // _WINS, TINY) * len(ENDS) for whole in wins)
        slots = effort(cells) + of_wins + effort(map(ToSolve, above))
        last = cells[-1].cell if cells else homes[-1]
        late = bool(wholes_of(last, self._known.won.mobile)) and not is_to_queen(last)
        return Choice(slots, cells, above, homes, late)


def effort(cells: Iterable[ToSolve]) -> int:
    """Return how many slots are solved."""
    return sum(max(each.cell.size, TINY) * len(each.ends) for each in cells)


def _end_hoped_for(after: CellPosition) -> int:
    """Return the end of what a position's canonical cell is worth that the side has chosen by which has just
    moved."""
    _, symmetry = after.cell.canonical()
    end = end_of(side_of(after.board))
    return 1 - end if symmetry & MIRROR_RANKS else end
