"""Solving the cells of a search one by one within the budget, each after the small cells that it depends on.

A cell depends on its *homes*: the canonical cells that its captures and pawn moves lead to. docs/glossary.md
explains the terms.
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tbgen.beyond.budget import Meter, OutOfBudgetError, Stop
from tbgen.beyond.choices import MAX_SMALL_SLOTS, MIN_COST_SLOTS, CellTask
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.layers import CellLayers
from tbgen.beyond.ledger import Ledger
from tbgen.beyond.structures import height, homes_of
from tbgen.cells.bounds import ENDS, Block, CallbackBoundsSource, UnstorableCellError, require_storable
from tbgen.cells.cell import Cell
from tbgen.cells.games import Games
from tbgen.cells.routes import Route
from tbgen.cells.threshold import Threshold
from tbgen.costs import memory_of

if TYPE_CHECKING:
    from tbgen.beyond.proof import Prover


_MAX_SIDE_BY_SIDE: Final = 8
"""Maximum number of cells that are solved side by side. It does not depend on the threads, nor do the
answers."""
_MAX_SLOTS_BELOW: Final = 2 << 20
"""Maximum total number of slots of the small cells that are solved before a cell that depends on them."""


class CellSolver:
    """Solves canonical cells, and adds their bounds to ``exits``.

    :param root: the cell of the searched position. No answer is possible without its solution.
    :param prover: proves each solution; the time for this does not count. None if nothing is to be proved.
    :ivar layers: the layers of the solved cells.
    :ivar ledger: records which scores the search has to distinguish (its question), and which cells are
        solved or refused (:mod:`tbgen.beyond.ledger`).
    """

    def __init__(
        self,
        exits: ExitBounds,
        root: Cell,
        meter: Meter,
        prover: "Prover | None" = None,
    ) -> None:
        self._exits, self._root, self._meter, self._prover = exits, root, meter, prover
        self.layers = CellLayers(exits, meter, root, prover)
        self.ledger = Ledger(exits, root)

    def is_complete(self, cell: Cell) -> bool:
        """Return whether a cell and the small cells that it depends on are solved.

        Small cells are not kept on disk. So if an earlier process has solved and kept the cell, its small
        cells may be unsolved in this process.
        """
        max_slots = min(MAX_SMALL_SLOTS, cell.size)
        is_solved = self.ledger.is_solved(cell)
        return is_solved and all(home.size > max_slots for home in self._unsolved_homes(cell))

    def solve_after_small_cells(self, tasks: Sequence[CellTask]) -> int:
        """Solve cells, side by side, after the small cells that they depend on, as far as the budget allows.

        Time for the cells themselves is reserved first, so that the small cells cannot use it up.

        :param tasks: a single task, or several that :meth:`may_join` allows.
        :returns: the number of tasks that the budget allowed, at least one.
        :raises UnstorableCellError: if the scores of the root cannot be stored when it is first solved.
        :raises OutOfBudgetError: if the first cell needs more time or memory than remains.
        """
        ready = list[CellTask]()
        with contextlib.ExitStack() as reserves:
            for task in tasks:
                cell = task.cell
                try:
                    self._require_budget(cell)
                except OutOfBudgetError:
                    if not ready:
                        raise
                    break
                repeated = self._exits.has_solved(cell)
                reserves.enter_context(self._meter.reserving([self.ledger.work_slots(cell)], repeated))
                self.find_promotion_mates(cell)
                with contextlib.suppress(OutOfBudgetError):
                    self._solve_small_below(cell, _MAX_SLOTS_BELOW)
                    self._solve_below_large_homes(cell, _MAX_SLOTS_BELOW)
                ready.append(task)
        self.layers.free_memory(sum(self.ledger.work_slots(task.cell) for task in ready))
        self._solve_unchecked(ready)
        return len(ready)

    def may_join(self, task: CellTask, tasks: Sequence[CellTask]) -> bool:
        """Return whether a cell may be solved side by side with others: only thresholds are asked about them,
        none depends on another, and nothing is to be proved, which takes memory."""
        return not tasks or (
            self._prover is None
            and len(tasks) < _MAX_SIDE_BY_SIDE
            and height(task.cell) == height(tasks[0].cell)
            and all(task.cell != each.cell for each in tasks)
            and all(self.ledger.thresholds(each.cell, each.ends) for each in (task, tasks[0]))
        )

    def find_promotion_mates(self, home: Cell) -> Stop | None:
        """Find the forced mates after a promotion, unless this has been done or refused before.

        :param home: the home of the promotion. If it is another kind of cell, nothing happens.
        :returns: the resource (time or memory) that does not suffice for the search; the home is then
            refused. None otherwise.
        """
        if home in self.ledger.homes_refused_for_mates:
            return None
        try:
            for whole_cell in list(self._exits.wins.cells_to_solve(home)):
                self._find_wins(whole_cell, home)
        except OutOfBudgetError as error:
            self.ledger.homes_refused_for_mates.add(home)
            return error.stop
        return None

    def _find_wins(self, whole_cell: Cell, home: Cell) -> None:
        """Find the forced mates in a whole cell, in which the promoted man is mobile too.

        :param home: the home of the promotion.
        :raises OutOfBudgetError: if the search needs more time or memory than remains.
        """
        self._meter.require_seconds(self._meter.mate_search_seconds(whole_cell.size))
        if not self._meter.has_memory(
            self.layers.free_memory(home.size) + memory_of("wins", whole_cell.size)
        ):
            raise OutOfBudgetError(Stop.MEMORY)
        start = time.perf_counter()
        prove = self._prover is not None
        wins = self._exits.wins.solve(whole_cell, self._exits, with_rounds=prove, threads=self._meter.threads)
        self._meter.record_mate_search(whole_cell.size, time.perf_counter() - start)
        self.ledger.add_whole_cell(whole_cell)
        if self._prover is not None:
            self._prover.prove_wins(wins)

    def _solve_small_below(self, cell: Cell, slots_left: int) -> int:
        """Solve the small cells that a cell depends on, directly or indirectly, dependencies first.

        :param slots_left: maximum number of slots to solve in total.
        :returns: the part of ``slots_left`` that was not used.
        """
        for home in self._unsolved_homes(cell):
            if home.size > min(MAX_SMALL_SLOTS, cell.size) or slots_left <= 0:
                break
            if not self._exits.has_solved(home):
                slots_left = self._solve_small_below(home, slots_left - max(home.size, MIN_COST_SLOTS))
                self.solve(CellTask(home))
        return slots_left

    def _solve_below_large_homes(self, cell: Cell, max_slots: int) -> None:
        """Solve small cells that the large homes of a cell depend on.

        The solutions of these small cells give bounds for most recaptures.

        :param max_slots: maximum number of slots to solve in total.
        """
        large = [home for home in self._unsolved_homes(cell) if MAX_SMALL_SLOTS < home.size <= cell.size]
        for home in large:
            self._solve_small_below(home, max_slots // len(large))

    def _unsolved_homes(self, cell: Cell) -> list[Cell]:
        """Return the unsolved homes of a cell, including homes of promotions, small ones first."""
        return [home for home in homes_of(cell, promotions=True) if not self.ledger.is_done(home)]

    def solve(self, task: CellTask) -> bool:
        """Solve a canonical cell, for the first time or again; return whether its scores can be stored.

        :raises UnstorableCellError: if the scores of the root cannot be stored when it is first solved.
        :raises OutOfBudgetError: if the cell needs more time or memory than remains.
        """
        self._require_budget(task.cell)
        return self._solve_unchecked([task])

    def _require_budget(self, cell: Cell) -> None:
        """Check that the budget allows solving a cell, and free memory for the solution.

        :raises OutOfBudgetError: if the budget does not allow it.
        """
        slots = self.ledger.work_slots(cell)
        repeated = self._exits.has_solved(cell)
        self._meter.require_cell(slots, repeated)
        memory_slots = max(slots, cell.size // 2)  # thresholds take much less time, but half of the memory
        if not self._meter.has_memory_for(memory_slots, self.layers.free_memory(memory_slots)):
            raise OutOfBudgetError(Stop.MEMORY)
        # Freeing memory takes time if open cells have to be packed.
        self._meter.require_cell(slots, repeated)

    def _solve_unchecked(self, tasks: Sequence[CellTask]) -> bool:
        """Solve a cell, or several side by side, without first checking the budget.

        :returns: whether the scores of the cell, or of any of several, can be stored.
        """
        asked = {task.cell: self.ledger.thresholds(task.cell, task.ends) for task in tasks}
        if all(asked.values()):
            due = {
                cell: tuple(each for each in thresholds if self.ledger.is_due(cell, each))
                for cell, thresholds in asked.items()
            }
            return self._try_thresholds({cell: thresholds for cell, thresholds in due.items() if thresholds})
        (task,) = tasks
        cell = task.cell
        start = time.perf_counter()
        repeated = cell in self._exits.cells
        try:
            games = self._games_of(task)
            sweep_start = time.perf_counter()
            bounds = games.solve()
        except MemoryError:  # the system has less memory than the budget allows
            raise OutOfBudgetError(Stop.MEMORY) from None
        except UnstorableCellError:
            if cell == self._root and not repeated:
                raise
            self.ledger.refused_cells.add(cell)
            return False
        finish = time.perf_counter()
        share = len(task.ends) / len(ENDS)
        self._meter.record_cell(cell.size, repeated, (finish - start) / share, (finish - sweep_start) / share)
        if self._prover is not None:
            self._prover.prove_cell(bounds)
        self._exits.cells.add(bounds)
        self.ledger.add_solution(bounds)
        self.layers.replace_games(games)
        return True

    def _try_thresholds(self, asked: dict[Cell, tuple[Threshold, ...]]) -> bool:
        """Find for which positions of cells thresholds are proved; return whether all ranks of any cell have
        codes."""
        for cell in list(asked):
            try:
                require_storable(cell)
            except UnstorableCellError:
                self.ledger.refused_cells.add(cell)
                del asked[cell]
        repeated = {cell: self._exits.has_solved(cell) for cell in asked}
        try:
            seconds = self._seconds_of_trying(asked) / max(len(asked), 1)
        except MemoryError:  # the system has less memory than the budget allows
            raise OutOfBudgetError(Stop.MEMORY) from None
        for cell, thresholds in asked.items():
            share = len(thresholds) / len(self.ledger.thresholds(cell))
            slots = self.ledger.work_slots(cell)
            once = seconds / share
            self._meter.record_cell(slots, repeated[cell], once, once, count=slots / cell.size)
            self.ledger.add_thresholds(cell, thresholds)
        return bool(asked)

    def _seconds_of_trying(self, asked: Mapping[Cell, Sequence[Threshold]]) -> float:
        """Try thresholds, and return the seconds that this has taken without proofs.

        With a prover, they are tried one by one, because what a proof needs takes memory.
        """
        if self._prover is not None:
            questions = [(cell, threshold) for cell, thresholds in asked.items() for threshold in thresholds]
            return sum(self.layers.try_threshold(*question)[1] for question in questions)
        start = time.perf_counter()
        self._exits.threshold_cells.solve(asked, self._exits.proofs, self._meter.threads)
        return time.perf_counter() - start

    def _games_of(self, task: CellTask) -> Games:
        """Return the games of a cell, with the exits looked up.

        The first solution of the root has no time limit, because no answer is possible without it.

        :raises OutOfBudgetError: if looking up the exits takes too long.
        """
        cell = task.cell
        exempt = cell == self._root and cell not in self._exits.cells

        def block(route: Route, end: int) -> Block | None:
            if not exempt:
                self._meter.require_sweep_seconds(cell.size)
            return self._exits.block(route, end)

        exit_bounds = CallbackBoundsSource(block, self._exits.bound, self._exits.knows_values)
        return Games(cell, exit_bounds, self._meter.threads, task.ends)
