"""Solving the cells of a search, one at a time: if there is time and memory, and after small cells below."""

import contextlib
import time
from typing import TYPE_CHECKING, Final

from tbgen.beyond.budget import Meter, OutOfBudgetError, Stop
from tbgen.beyond.choices import SMALL, TINY, ToSolve
from tbgen.beyond.knowledge import CellLayers, Known
from tbgen.beyond.ledger import Ledger
from tbgen.beyond.structures import homes_below
from tbgen.cells.bounds import ENDS, Block, NoCodeError, SomeKnowledge
from tbgen.cells.cell import Cell
from tbgen.cells.games import Games
from tbgen.cells.routes import Route
from tbgen.costs import memory_of

if TYPE_CHECKING:
    from tbgen.beyond.proof import Prover


_SLOTS_BELOW: Final = 2 << 20
"""Small cells below a cell are solved before it, one after the other, until they have so many slots
together."""


class CellSolver:
    """Solves canonical cells, and keeps what is found among all that is known.

    :param root: the cell of the given position, without which there is no answer.
    :param prover: proves each solution, in time that does not count; None for no proofs.
    :ivar layers: of what is solved.
    :ivar ledger: knows what is asked, what is solved and what is given up.
    """

    def __init__(self, known: Known, root: Cell, meter: Meter, prover: "Prover | None" = None) -> None:
        self._known, self._root, self._budget, self._prover = known, root, meter, prover
        self.layers = CellLayers(known, meter, root, None if prover is None else prover.layer)
        self.ledger = Ledger(known, root, narrow=prover is None)

    def is_complete(self, cell: Cell) -> bool:
        """Whether a cell is solved, and so are the small ones that it rests on: an earlier run may have kept
        it alone."""
        small = min(SMALL, cell.size)
        solved = self.ledger.is_solved(cell)
        return solved and all(home.size > small for home in self._unknown_homes(cell))

    def complete(self, wanted: ToSolve) -> None:
        """Solve a cell as :meth:`solve` does, after small ones that it rests on, if they are worth it.

        The time for it is asked for before: small cells that take longer than they should do not take it.
        """
        cell = wanted.cell
        self._ask(cell)
        again = cell in self._known.cells
        with self._budget.reserving([cell.size], again):
            self.solve_wins(cell)
            with contextlib.suppress(OutOfBudgetError):
                self._solve_below(cell, _SLOTS_BELOW)
                self._solve_replies(cell, _SLOTS_BELOW)
        self.layers.make_room(cell)
        self._solve_granted(wanted)

    def solve_wins(self, home: Cell) -> Stop | None:
        """Find what is won after a promotion that leads to a cell, if it is one, and that is still to do.

        :returns: what there was too little of; it is given up then.
        """
        if home in self.ledger.refused_wins:
            return None
        try:
            for whole in list(self._known.won.unsolved(home)):
                self._find_wins(whole, home)
        except OutOfBudgetError as error:
            self.ledger.refused_wins.add(home)
            return error.stop
        return None

    def _find_wins(self, whole: Cell, home: Cell) -> None:
        """Find what is won in a whole cell, for a home.

        :raises OutOfBudgetError: if there is no time or memory for it.
        """
        self._budget.ask_for(self._budget.seconds_of_wins(whole.size))
        if not self._budget.allows(self.layers.make_room(home) + memory_of("wins", whole.size)):
            raise OutOfBudgetError(Stop.MEMORY)
        began, levels = time.perf_counter(), self._prover is not None
        wins = self._known.won.solve(whole, self._known, levels=levels, threads=self._budget.threads)
        self._budget.learn_wins(whole.size, time.perf_counter() - began)
        self.ledger.add_wins(whole)
        if self._prover is not None:
            self._prover.wins(wins)

    def _solve_below(self, cell: Cell, slots: int) -> int:
        """Solve cells that a cell rests on, and first those that they rest on, until they have so many slots
        together; return how many slots are left."""
        for home in self._unknown_homes(cell):
            if home.size > min(SMALL, cell.size) or slots <= 0:
                break
            if home not in self._known.cells:
                slots = self._solve_below(home, slots - max(home.size, TINY))
                self.solve(ToSolve(home))
        return slots

    def _solve_replies(self, cell: Cell, slots: int) -> None:
        """Solve small cells that ways out of a large cell's large ways out lead to, until they have so many
        slots together: what a man is worth that captures and is captured in turn needs no more."""
        large = [home for home in self._unknown_homes(cell) if SMALL < home.size <= cell.size]
        for home in large:
            self._solve_below(home, slots // len(large))

    def _unknown_homes(self, cell: Cell) -> list[Cell]:
        """Return the cells that a cell rests on and that might be solved, small ones first."""
        return [home for home in homes_below(cell, promotions=True) if not self.ledger.is_held(home)]

    def solve(self, wanted: ToSolve) -> bool:
        """Solve a canonical cell, or solve it again; return whether values have room for its scores.

        :raises NoCodeError: if they have not, and the cell is that of the given position.
        :raises OutOfBudgetError: if there is no time or memory for it.
        """
        self._ask(wanted.cell)
        return self._solve_granted(wanted)

    def _ask(self, cell: Cell) -> None:
        self._budget.ask(cell.size, cell in self._known.cells)
        if not self._budget.fits(cell.size, self.layers.make_room(cell)):
            raise OutOfBudgetError(Stop.MEMORY)
        # To close cells may have taken some time.
        self._budget.ask(cell.size, cell in self._known.cells)

    def _solve_granted(self, wanted: ToSolve) -> bool:
        cell = wanted.cell
        began, again = time.perf_counter(), cell in self._known.cells
        try:
            games = self._games_of(wanted)
            ready = time.perf_counter()
            bounds = games.solve()
        except MemoryError:  # there is less than was allowed
            raise OutOfBudgetError(Stop.MEMORY) from None
        except NoCodeError:
            if cell == self._root and not again:
                raise
            self.ledger.refused.add(cell)
            return False
        now = time.perf_counter()
        share = len(wanted.ends) / len(ENDS)
        self._budget.learn(cell.size, again, (now - began) / share, (now - ready) / share)
        if self._prover is not None:
            self._prover.cell(bounds)
        self._known.cells.add(bounds, self.ledger.told(cell))
        self.ledger.add([bounds])
        self.layers.renew(games)
        return True

    def _games_of(self, wanted: ToSolve) -> Games:
        """Return the games of a cell that is to be solved.

        :raises OutOfBudgetError: if that takes too long; not at first for the given position's cell, without
            which there is no answer.
        """
        cell = wanted.cell
        needed = cell == self._root and cell not in self._known.cells

        def block(route: Route, end: int) -> Block | None:
            if not needed:
                self._budget.ask_again(cell.size)
            return self._known.block(route, end)

        knowledge = SomeKnowledge(block, self._known.bound, self._known.same_ends)
        return Games(cell, knowledge, self._budget.threads, wanted.ends, self.ledger.window(cell))
