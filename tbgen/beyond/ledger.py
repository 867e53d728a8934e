"""What a search asks and has done: the window of its question, the ledger of solutions, how much is proved.

The value of the given state, as far as it lies between two scores, does not change if scores beyond them
count as mates (:mod:`tbgen.cells.window`). So the interval known of the state is a window for its cell, and
for all cells below it, with the colours swapped where they are swapped there. The parts of a search write in
the ledger what they do, and ask there whether a cell is still to be solved.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Final, NamedTuple

from tbgen.beyond.knowledge import Known
from tbgen.beyond.structures import colours_below, homes_below, wholes_of
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, Bounds
from tbgen.cells.cell import Cell
from tbgen.cells.window import EVERYTHING, Interval
from tbgen.index.layout import MIRROR_FILES

_WORTH_ASKING: Final = 64**4
"""Slots of cells from which on only what matters is found out; of small ones everything, once for all."""


SHARE: Final = 64
"""One position in so many, at random, is proved of larger cells."""


@dataclass(frozen=True, slots=True)
class ForwardProof:
    """How much has been proved forward.

    :ivar cells: number of solutions of cells; a cell that was solved again counts again.
    :ivar states: number of states proved from their successors, in both games.
    :ivar sampled: how many of ``cells`` are large, so that one position in 64 was proved.
    """

    cells: int = 0
    states: int = 0
    sampled: int = 0


class _SolvedCell(NamedTuple):
    """The number of a solution, and the window in which it was found."""

    number: int
    window: Interval


class Ledger:
    """What a search asks, and its solutions, numbered from 1 on, by the ends of canonical cells that they
    found.

    Cells are canonical, and so are scores those of the state's canonical cell.

    :param known: tells what tables hold, and what earlier searches found.
    :param root: the state's cell.
    :param narrow: whether ever less than all scores is asked about: a proof has all of them.
    :ivar solved: how many solutions there are, those of what is won and of whole cells counted.
    :ivar refused: cells for which there was no time or memory, or no code for their scores.
    :ivar refused_wins: homes of promotions for which there was none to find out what is won there.
    :ivar refused_promotions: homes for which there was none to find out the values after a promotion.
    """

    def __init__(self, known: Known, root: Cell, *, narrow: bool) -> None:
        self._known, self._root, self._narrow = known, root, narrow
        self._now = EVERYTHING
        self._asked: dict[Cell, Interval] = {}
        """What is asked of cells now."""
        self._tried: Interval | None = None
        """What the state might be worth when a close window about its accrued score was asked for."""
        self.solved = 0
        self._last: dict[tuple[Cell, int], _SolvedCell] = {}
        """By which an end became known better last."""
        self._won: dict[Cell, int] = {}
        """The solutions by which it was found what is won in whole cells, and with their files mirrored."""
        self._ahead: set[tuple[Cell, int]] = set()
        """Ends of cells that have been solved ahead only."""
        self.refused: set[Cell] = set()
        self.refused_wins: set[Cell] = set()
        self.refused_promotions: set[Cell] = set()

    def ask(self, interval: Interval) -> None:
        """Ask from now on where in an interval the value of the state lies."""
        self._now = interval if self._narrow else EVERYTHING
        self._asked.clear()

    def intervals(self, interval: Interval, accrued: Code | None) -> Iterator[Interval]:
        """Yield what to ask about, one after the other: whether the state is worth its accrued score, which
        takes a close window, unless that has been asked; and then all that it may be worth.

        :param interval: what it may be worth.
        :param accrued: the accrued score, where it is not the position's own.
        """
        if accrued is not None and interval != self._tried and self._narrow:
            if (close := interval.about(accrued)) != interval:
                yield close
            self._tried = interval
        yield interval

    def asked(self, cell: Cell) -> Interval:
        """Return between which scores it matters what positions of a cell are worth."""
        if cell not in self._asked:
            colours = {False} if cell == self._root else colours_below(self._root, cell)
            sides = [self._now.swapped if swapped else self._now for swapped in colours]
            self._asked[cell] = reduce(Interval.hull, sides) if sides else EVERYTHING
        return self._asked[cell]

    def window(self, cell: Cell) -> Interval:
        """Return between which scores values of a cell are to be found out."""
        return self.asked(cell) if cell.size >= _WORTH_ASKING else EVERYTHING

    def told(self, cell: Cell) -> Interval:
        """Return between which scores a solution of a cell tells all that can be known now: no more than
        those of cells below it do."""
        told = self.window(cell)
        for home in homes_below(cell, promotions=True):
            window = self._known.cells.window(home) if home in self._known.cells else EVERYTHING
            if window != EVERYTHING:
                for swapped in colours_below(cell, home):
                    told = told.within(window.swapped if swapped else window)
        return told

    def add(self, found: Iterable[Bounds], solutions: int = 1) -> None:
        """Enter bounds as they are found, and then the solutions that found them."""
        number = self.solved + solutions
        for bounds in found:
            ends = product([bounds.cell], bounds.ends)
            self._last |= dict.fromkeys(ends, _SolvedCell(number, bounds.window))
        self.solved = number

    def add_wins(self, whole: Cell) -> None:
        """Enter the solution of what is won in a whole cell."""
        self.solved += 1
        self._won |= dict.fromkeys((whole, whole.image(MIRROR_FILES)), self.solved)

    def add_told(self, cells: Iterable[Cell]) -> None:
        """Enter cells of which tables have told more: what rests on them may be solved again."""
        self._last |= dict.fromkeys(product(cells, ENDS), _SolvedCell(self.solved + 1, EVERYTHING))

    def add_ahead(self, cell: Cell, ends: Iterable[int]) -> None:
        """Enter that a cell has been solved at some ends while pawns of one side stood still."""
        self._ahead |= {(cell, end) for end in ends}

    def add_whole(self, cell: Cell) -> None:
        """Enter that a cell has been solved after all that it rests on."""
        self._ahead -= {(cell, end) for end in ENDS}

    def has(self, cell: Cell) -> bool:
        """Whether this search has found out anything of a cell."""
        return any((cell, end) in self._last for end in ENDS)

    def is_answered(self, cell: Cell, end: int) -> bool:
        """Whether a cell was solved last in a window that is enough, at one end.

        An earlier run may have kept it with the other end alone. If this run has found that, the chooser and
        promotions know what is still to do.
        """
        if (last := self._last.get((cell, end))) is not None:
            return last.window.covers(self.window(cell))
        if (cell, 1 - end) not in self._last and end not in self._known.cells.ends(cell):
            return False
        return self._known.cells.window(cell).covers(self.window(cell))

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
        return self.is_solved(cell) or cell in self.refused or self._known.holds(cell)

    def is_stale(self, cell: Cell, end: int, home: Cell, swapped: bool) -> bool:
        """Whether one end of a cell may be narrowed since this search solved it last, if it ever did: a cell
        that it rests on became known better later, or it was solved in a window that is too close now.

        :param swapped: whether the cell that it rests on has the colours swapped.
        """
        last, below = self._last.get((cell, end)), self._last.get((home, end ^ swapped))
        if last is None:
            return True
        wins = [self._won.get(whole, 0) for whole in wholes_of(home, self._known.won.mobile)]
        later = max(0 if below is None else below.number, *wins, 0) > last.number
        return later or not self.is_answered(cell, end)
