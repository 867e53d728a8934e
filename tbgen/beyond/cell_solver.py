"""Solving the cells of a search one by one, within the budget, and after the small cells below them."""

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


_MAX_SLOTS_BELOW: Final = 2 << 20
"""Maximum number of slots, all together, of the small cells that are solved before the cell above them."""


class CellSolver:
    """Solves canonical cells, and adds their bounds to the knowledge of the search.

    :param root: the cell of the searched position, without which no answer is possible.
    :param prover: proves each solution, in time that does not count; None for no proofs.
    :ivar layers: the layers of the solved cells.
    :ivar ledger: records the current question, and the cells that are solved or refused.
    """

    def __init__(self, known: Known, root: Cell, meter: Meter, prover: "Prover | None" = None) -> None:
        self._known, self._root, self._budget, self._prover = known, root, meter, prover
        self.layers = CellLayers(known, meter, root, None if prover is None else prover.layer)
        self.ledger = Ledger(known, root, narrow=prover is None)

    def is_complete(self, cell: Cell) -> bool:
        """Return whether a cell and the small cells that it depends on are solved.

        An earlier run may have kept the cell alone.
        """
        small = min(SMALL, cell.size)
        solved = self.ledger.is_solved(cell)
        return solved and all(home.size > small for home in self._unsolved_homes(cell))

    def complete(self, wanted: ToSolve) -> None:
        """Solve a cell as :meth:`solve` does, after some of the small cells that it depends on.

        The time for the cell itself is reserved, so that small cells cannot use it up.
        """
        cell = wanted.cell
        self._require(cell)
        again = cell in self._known.cells
        with self._budget.reserving([cell.size], again):
            self.solve_wins(cell)
            with contextlib.suppress(OutOfBudgetError):
                self._solve_below(cell, _MAX_SLOTS_BELOW)
                self._solve_replies(cell, _MAX_SLOTS_BELOW)
        self.layers.free_memory(cell)
        self._solve_granted(wanted)

    def solve_wins(self, home: Cell) -> Stop | None:
        """Find the forced mates after a promotion, unless they were found before.

        :param home: the home of the promotion; nothing is done for other cells.
        :returns: the scarce resource, if the budget does not allow it; then the home is refused.
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
        """Find the forced mates in a whole cell, for a home of a promotion.

        :raises OutOfBudgetError: if that takes more time or memory than remains.
        """
        self._budget.require_seconds(self._budget.seconds_of_wins(whole.size))
        if not self._budget.has_memory(self.layers.free_memory(home) + memory_of("wins", whole.size)):
            raise OutOfBudgetError(Stop.MEMORY)
        began, levels = time.perf_counter(), self._prover is not None
        wins = self._known.won.solve(whole, self._known, levels=levels, threads=self._budget.threads)
        self._budget.record_wins(whole.size, time.perf_counter() - began)
        self.ledger.add_wins(whole)
        if self._prover is not None:
            self._prover.wins(wins)

    def _solve_below(self, cell: Cell, slots: int) -> int:
        """Solve small cells that a cell depends on, each after those that it depends on in turn.

        :param slots: how many slots to solve in total.
        :returns: the number of slots that remain of these.
        """
        for home in self._unsolved_homes(cell):
            if home.size > min(SMALL, cell.size) or slots <= 0:
                break
            if home not in self._known.cells:
                slots = self._solve_below(home, slots - max(home.size, TINY))
                self.solve(ToSolve(home))
        return slots

    def _solve_replies(self, cell: Cell, slots: int) -> None:
        """Solve small cells two moves below a cell, by way of large homes: they bound most recaptures.

        :param slots: how many slots to solve in total.
        """
        large = [home for home in self._unsolved_homes(cell) if SMALL < home.size <= cell.size]
        for home in large:
            self._solve_below(home, slots // len(large))

    def _unsolved_homes(self, cell: Cell) -> list[Cell]:
        """Return the homes of a cell's moves that remain to be solved, small ones first."""
        return [home for home in homes_below(cell, promotions=True) if not self.ledger.is_done(home)]

    def solve(self, wanted: ToSolve) -> bool:
        """Solve a canonical cell, for the first time or again; return whether its scores can be stored.

        :raises NoCodeError: if they cannot, and the cell is that of the searched position.
        :raises OutOfBudgetError: if the cell takes more time or memory than remains.
        """
        self._require(wanted.cell)
        return self._solve_granted(wanted)

    def _require(self, cell: Cell) -> None:
        """Check that the budget allows a cell, and free memory for it.

        :raises OutOfBudgetError: if it does not.
        """
        self._budget.require_cell(cell.size, cell in self._known.cells)
        if not self._budget.has_memory_for(cell.size, self.layers.free_memory(cell)):
            raise OutOfBudgetError(Stop.MEMORY)
        # Freeing memory may have closed cells, which takes time.
        self._budget.require_cell(cell.size, cell in self._known.cells)

    def _solve_granted(self, wanted: ToSolve) -> bool:
        cell = wanted.cell
        began, again = time.perf_counter(), cell in self._known.cells
        try:
            games = self._games_of(wanted)
            ready = time.perf_counter()
            bounds = games.solve()
        except MemoryError:  # the system has less than the budget allows
            raise OutOfBudgetError(Stop.MEMORY) from None
        except NoCodeError:
            if cell == self._root and not again:
                raise
            self.ledger.refused.add(cell)
            return False
        now = time.perf_counter()
        share = len(wanted.ends) / len(ENDS)
        self._budget.record(cell.size, again, (now - began) / share, (now - ready) / share)
        if self._prover is not None:
            self._prover.cell(bounds)
        self._known.cells.add(bounds, self.ledger.complete_window(cell))
        self.ledger.add([bounds])
        self.layers.renew(games)
        return True

    def _games_of(self, wanted: ToSolve) -> Games:
        """Return the games of a cell that is to be solved.

        :raises OutOfBudgetError: if looking up the exits takes too long. The first solution of the searched
            position's cell is exempt, since no answer is possible without it.
        """
        cell = wanted.cell
        exempt = cell == self._root and cell not in self._known.cells

        def block(route: Route, end: int) -> Block | None:
            if not exempt:
                self._budget.require_rest_of(cell.size)
            return self._known.block(route, end)

        knowledge = SomeKnowledge(block, self._known.bound, self._known.same_ends)
        return Games(cell, knowledge, self._budget.threads, wanted.ends, self.ledger.window(cell))
