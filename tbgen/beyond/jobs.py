"""Solving many positions: their costs, their order, their budgets, and the stored results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import chess

from tbgen.beyond.budget import Budget, SolvingInterruptedError, Stop, never_suffices, process_count
from tbgen.beyond.provers import CellProver, PositionTask, SolveProof
from tbgen.beyond.results import ContradictionError, Effort, SolveResults, StateName
from tbgen.beyond.structures import MobileChoice, cells_below, mobile_sets_to_try, seconds_to_solve
from tbgen.board.fen import parse_fen
from tbgen.board.material import MAX_MEN
from tbgen.board.rules import validate
from tbgen.board.score import GScore, to_gscore
from tbgen.board.scoring import ANYTHING, ProvedBounds, ScoreInterval
from tbgen.board.variant import Variant
from tbgen.cells.cell import Cell
from tbgen.errors import TbgenError, UsageError
from tbgen.probe.states import accrued_in_r_mobility
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveCounts, SolveProgress, SolveStage, ignore_solve_progress

if TYPE_CHECKING:
    from tbgen.beyond.prover_processes import ProverProcesses

_MAX_CELLS: Final = 300
"""Maximum number of cells counted for the cost of one position. Counting takes at most a tenth of a
second."""


@dataclass(frozen=True)
class Job:
    """A position to solve, with its accrued score.

    :ivar tables: the tables that may be used.
    :ivar suffice: returns whether bounds are narrow enough. Exact values always are.
    :ivar name: the name of the position in messages.
    """

    board: chess.Board
    accrued: GScore
    tables: Tablebase
    suffice: Callable[[ScoreInterval], bool] = never_suffices
    name: str = ""

    @cached_property
    def state(self) -> StateName:
        """The name of the state in the results."""
        return StateName.of(self.board, self.accrued)


def job_of(text: str, accrued: GScore | None, tables: Tablebase, name: str = "") -> Job:
    """Return a job that solves the position of a FEN.

    :param accrued: the accrued score. If None, it is the score stated in the FEN or, without one, the
        position score.
    :param tables: the tables that may be used.
    :param name: the name of the position in messages.
    :raises UsageError: if the FEN or the score is invalid.
    """
    fen = parse_fen(text)
    validate(fen.board)
    stated = fen.accrued_in(Variant.R_MOBILITY) if accrued is None else accrued
    return Job(fen.board, to_gscore(accrued_in_r_mobility(fen.board, stated)), tables, name=name)


def merge_jobs(jobs: Iterable[Job]) -> list[Job]:
    """Merge all jobs with the same state into one. The bounds of the merged job have to suffice for each.

    The merged jobs have the order of the first occurrences.
    """
    by_state: dict[StateName, list[Job]] = {}
    for job in jobs:
        by_state.setdefault(job.state, []).append(job)
    return [replace(group[0], suffice=_make_suffice_for_all(group)) for group in by_state.values()]


def _make_suffice_for_all(jobs: list[Job]) -> Callable[[ScoreInterval], bool]:
    return lambda bounds: all(job.suffice(bounds) for job in jobs)


class JobCollector:
    """A substitute for a solver that records the positions instead of solving them.

    :param next_name: returns the name, for messages, of the position that is recorded next.
    :ivar jobs: the recorded positions.
    """

    def __init__(self, next_name: Callable[[], str]) -> None:
        self.jobs: list[Job] = []
        self._next_name = next_name

    def solve(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        suffice: Callable[[ScoreInterval], bool] = never_suffices,
    ) -> ProvedBounds | None:
        """Record a position."""
        self.jobs.append(Job(board.copy(stack=False), accrued, tables, suffice, self._next_name()))
        return None


class JobCost(NamedTuple):
    """The cost of solving a position, ordered from cheap to expensive."""

    seconds: float
    """Time for the unsolved cells that the position depends on, apart from promotions; infinite if there are
    too many to count."""
    man_count: int
    """Number of men on the board."""
    size: int
    """Number of slots of the position's own cell, which is the largest of its cells."""


class JobCosts:
    """Computes the costs of positions, which determine their order.

    :param memory: bytes that solving a position may use.
    :param is_solved: returns whether a canonical cell is solved.
    """

    def __init__(self, memory: int, is_solved: Callable[[Cell], bool]) -> None:
        self._memory, self._is_solved = memory, is_solved
        self._cells: dict[StateName, tuple[Cell | None, list[Cell]]] = {}
        """Maps each state to its cell and to the cells counted for it."""

    def cost_of(self, job: Job) -> JobCost:
        """Return the cost of a position. Cells that are already solved cost nothing."""
        if job.state not in self._cells:
            self._cells[job.state] = self._cells_of(job)
        root, cells = self._cells[job.state]
        men = chess.popcount(job.board.occupied)
        if root is None:
            return JobCost(0.0, men, 0)
        seconds = seconds_to_solve(cell for cell in cells if not self._is_solved(cell))
        return JobCost(seconds if root in cells else math.inf, men, root.size)

    def _cells_of(self, job: Job) -> tuple[Cell | None, list[Cell]]:
        """Return a position's cell, and all cells to solve for it.

        The result is None and an empty list if a table contains the position, or solving it is impossible.
        """
        try:
            root, *_ = roots_of(job.board, self._memory)
        except UsageError:
            return None, []
        available = make_table_check(job.tables)
        return (None, []) if available(root) else (root, list(cells_below(root, available, limit=_MAX_CELLS)))


def roots_of(board: chess.Board, memory: int, mobile: MobileChoice = None) -> list[Cell]:
    """Return the canonical cells in which a position is solved, in the order in which they are tried.

    There is one cell for each set of mobile men.

    :param memory: bytes that solving the position may use.
    :param mobile: the mobile men, as for :func:`tbgen.beyond.solver.solve`.
    :raises UsageError: if the position cannot be solved.
    """
    sets, _ = mobile_sets_to_try(board, memory, mobile)
    return [Cell.of_board(board, men).canonical()[0] for men in sets]


def make_table_check(tables: Tablebase) -> Callable[[Cell], bool]:
    """Return a function that returns whether a table contains the positions of a cell.

    The function ignores tables that are built later.
    """
    materials = frozenset(tables.materials)
    return lambda cell: cell.men <= MAX_MEN and cell.material()[0] in materials


__all__ = ["JobTurn", "SolveCounts", "Solver"]

FIRST_SECONDS: Final = 60.0
"""Time for a position in the first round if no time limit is specified."""
_ROUND_FACTOR: Final = 4
"""Time for a position in one round, divided by the time in the round before."""
_TIME_INDEPENDENT_STOPS: Final = (Stop.MEMORY, Stop.TABLES, Stop.NOTHING_LEFT)
"""Reasons to stop that would also end a longer attempt."""
_EARLY_STOPS: Final = (Stop.INTERRUPT, Stop.DECIDED)
"""Reasons to stop before the time limit. Such an attempt counts as one of the time that it took."""


def _raise_interrupt(interrupt: KeyboardInterrupt) -> None:
    raise interrupt


class JobTurn(NamedTuple):
    """The position that is being solved, and its place in the current round."""

    job: Job
    number: int
    """Number of the position in the round, counted from 1."""
    job_count: int
    """Number of positions in this round."""
    seconds_left: float | None
    """Estimated time for this position and the later ones of the round; None for the first position."""


@dataclass(kw_only=True)
class Solver:
    """Solves positions, such as those in which games stopped, and stores the results.

    :param seconds: time for one position. If None, there are rounds: each position first gets a minute, and
        in each further round four times as much, as long as more time may help and ``total_time`` allows it.
    :param memory: memory in bytes, as in :class:`tbgen.beyond.budget.Budget`.
    :param threads: number of threads, as in :class:`tbgen.beyond.budget.Budget`.
    :param total_time: time in seconds for all positions together; None for no limit.
    :param side_by_side: maximum number of positions that :meth:`work_on` solves side by side, which share
        memory and threads; None to choose it.
    :param until_decided: whether to stop a position as soon as its bounds suffice. If not, its value is
        wanted, and bounds that suffice only prevent a further attempt.
    :param results: earlier results. New results are added to them.
    :param progress: called with the progress of a position while it is being solved.
    :param interrupt: called on an interrupt (Ctrl-C), after everything proved so far has been added to the
        results. By default it raises the interrupt. If it returns, no other position is started.
    :param prover: solves the positions.
    :ivar counts: the outcomes of :meth:`solve`.
    """

    seconds: float | None = FIRST_SECONDS
    memory: int = Budget.memory
    threads: int = Budget.threads
    total_time: float | None = None
    side_by_side: int | None = 1
    until_decided: bool = False
    results: SolveResults = field(default_factory=SolveResults)
    progress: SolveProgress = ignore_solve_progress
    interrupt: Callable[[KeyboardInterrupt], None] = _raise_interrupt
    prover: CellProver = field(default_factory=CellProver)

    counts: SolveCounts = field(default_factory=SolveCounts, init=False)
    turn: JobTurn | None = field(default=None, init=False)
    """The position of :meth:`work_on` with the latest progress; None before the first one."""
    unfinished: list[Job] = field(default_factory=list, init=False)
    """The positions whose attempts an interrupt has ended, or whose results could not be stored."""
    _attempted: set[StateName] = field(default_factory=set, init=False)
    """The states that have been attempted."""
    _errors: dict[StateName, TbgenError] = field(default_factory=dict, init=False)
    """Maps each state that cannot be solved to the error that says why."""
    _share_count: int = field(default=1, init=False)
    """Number of positions that are solved side by side, and share memory and threads."""
    _is_stopped: bool = field(default=False, init=False)
    """Whether :meth:`stop` has been called, or an interrupt has occurred."""

    @staticmethod
    def collector(next_name: Callable[[], str]) -> JobCollector:
        """Return a substitute that records positions for :meth:`work_on`."""
        return JobCollector(next_name)

    def solve(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        suffice: Callable[[ScoreInterval], bool] = never_suffices,
    ) -> ProvedBounds | None:
        """Solve a state, and return everything that is proved about it.

        The state is not attempted again if its bounds are exact or suffice, if :meth:`work_on` has already
        tried it, or if an earlier attempt had at least as much time, as much memory and as many tables. The
        result is None if nothing is proved and no time remains.

        :param suffice: returns whether bounds are narrow enough. Exact values always are.

        :raises UsageError: if positions of this kind cannot be solved.
        :raises TbgenError: if a table cannot be used, or the result cannot be stored.
        """
        counts = self.counts
        job = Job(board, accrued, tables, suffice)
        seconds = next(self._round_seconds())
        if self._needs_work(job, seconds):
            self._attempt(job, seconds)
        counts.asked += 1
        if job.state in self._errors:
            counts.refused += 1
        elif job.state in self._attempted:
            counts.solved += 1
        elif self._needs_work(job, seconds):
            counts.out_of_time += 1
        else:
            counts.known += 1
        return self.result_of(job)

    def work_on(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Solve positions, the cheapest first, and yield each position as soon as it needs no more work.

        States that occur several times are solved and yielded once.

        :raises TbgenError: if a result cannot be stored; its position is yielded first.
        """
        remaining = merge_jobs(jobs)
        costs = JobCosts(self.memory, self.prover.is_solved)
        max_count = self.side_by_side or process_count(self.threads, self.memory)
        max_seconds = math.inf if self.seconds is None else self.seconds
        first_waiting = [job for job in remaining if self._needs_work(job, next(self._round_seconds()))]
        self._share_count = max(1, min(len(first_waiting), max_count))
        context: nullcontext[None] | ProverProcesses = nullcontext()
        if self._share_count > 1:
            # This module imports others that a single process does not need.
            from tbgen.beyond.prover_processes import ProverProcesses

            context = ProverProcesses(self.prover)
        with context as processes:
            for seconds in self._round_seconds():
                yield from (job for job in remaining if not self._needs_work(job, max_seconds))
                remaining = [job for job in remaining if self._needs_work(job, max_seconds)]
                waiting = [job for job in remaining if self._needs_work(job, seconds)]
                turns = self._turns(waiting, seconds, costs)
                attempts = (
                    self._attempts_side_by_side(turns, processes) if processes else self._attempts(turns)
                )
                for job in attempts:
                    if not self._needs_work(job, max_seconds):
                        remaining.remove(job)
                        yield job
                if not remaining or not self._seconds_allowed(seconds):
                    break
        yield from remaining

    def _turns(self, waiting: list[Job], seconds: float, costs: JobCosts) -> Iterator[tuple[JobTurn, float]]:
        """Yield each position when its turn comes, and its seconds, until the total time is used up."""
        seconds_before = self.counts.seconds
        total = len(waiting)
        while waiting and (allowed := self._seconds_allowed(seconds)):
            job = min(waiting, key=costs.cost_of)
            done, spent = total - len(waiting), self.counts.seconds - seconds_before
            yield JobTurn(job, done + 1, total, spent / done * len(waiting) if done else None), allowed
            waiting.remove(job)

    def _attempts(self, turns: Iterator[tuple[JobTurn, float]]) -> Iterator[Job]:
        """Attempt positions one after another, and yield each after its attempt."""
        for turn, allowed in turns:
            self.turn = turn
            try:
                self._attempt(turn.job, allowed)
            finally:  # even if the result is proved, but cannot be stored
                yield turn.job

    def _attempts_side_by_side(
        self, turns: Iterator[tuple[JobTurn, float]], processes: ProverProcesses
    ) -> Iterator[Job]:
        """Attempt positions in processes, and yield each after its attempt."""
        begun: dict[StateName, tuple[JobTurn, float]] = {}
        """Maps the state of each position in progress to its turn and the seconds for it."""
        seconds_before = self.counts.seconds
        start = time.perf_counter()
        interrupt = None

        def show(task: PositionTask, stage: SolveStage) -> None:
            self.turn, _ = begun[task.state]
            self.progress(stage)
            stop_processes()

        def stop_processes() -> None:
            if self._is_stopped:
                processes.stop()

        while True:
            try:
                while len(begun) < self._share_count and (next_turn := next(turns, None)):
                    self.turn, allowed = next_turn
                    task = self._begin(self.turn.job, allowed)
                    begun[task.state] = next_turn
                    processes.start(task)
                if not processes.busy_count:
                    break
                stop_processes()
                finished = processes.wait(show)
            except KeyboardInterrupt as error:
                if interrupt is not None:
                    raise
                interrupt = error
                self.stop()
                continue
            finally:
                self.counts.seconds = seconds_before + time.perf_counter() - start
            self.turn, allowed = begun.pop(finished.task.state)
            try:
                self._finish(self.turn.job, finished.result, allowed, finished.seconds)
            finally:
                yield self.turn.job
        if interrupt is not None:
            self.interrupt(interrupt)

    def _begin(self, job: Job, seconds: float) -> PositionTask:
        """Report what is proved about a state, compile the kernels that it needs, and return its task."""
        proved = self.results.get(job.state)
        self.progress(SolveStage(*(proved.bounds if proved else ANYTHING)))
        self.prover.prepare(job.board, job.tables)
        return PositionTask(job.board, job.accrued, job.tables, self._budget(job, seconds))

    def result_of(self, job: Job) -> ProvedBounds | None:
        """Return everything that is proved about a state; None if nothing is proved.

        :raises TbgenError: if the state cannot be solved.
        """
        if job.state in self._errors:
            raise self._errors[job.state]
        return self.results.get(job.state)

    def stopped_by(self, job: Job) -> Stop | None:
        """Return why no more has been proved about a state.

        The reason is None if the value is proved, or if an earlier version of tbgen has stored the bounds
        without it.
        """
        proved = self.results.get(job.state)
        if proved is not None and proved.bounds.exact:
            return None
        if job.state not in self._attempted and self._is_stopped:
            return Stop.INTERRUPT
        return Stop.TIME if proved is None else self.results.stopped_by(job.state)

    def stop(self) -> None:
        """Start no other position. A thread that is solving a position stops after the current cell.

        From now on the solver only returns results that it already has.
        """
        self._is_stopped = True

    def _report(self, stage: SolveStage) -> None:
        """Report the progress of the current position.

        :raises KeyboardInterrupt: if :meth:`stop` has been called.
        """
        if self._is_stopped:
            raise KeyboardInterrupt
        self.progress(stage)

    def _round_seconds(self) -> Iterator[float]:
        """Return an iterator that gives, for each round, the seconds for one position."""
        if self.seconds is not None:
            return iter((self.seconds,))
        return (FIRST_SECONDS * _ROUND_FACTOR**number for number in count())

    def _needs_work(self, job: Job, seconds: float) -> bool:
        """Return whether a state needs narrower bounds, and an attempt with this time limit may find them."""
        if job.state in self._errors:
            return False
        proved = self.results.get(job.state)
        if proved is not None and (proved.bounds.exact or job.suffice(proved.bounds)):
            return False
        return not self.results.was_tried(job.state, self._effort(job, seconds))

    def _effort(self, job: Job, seconds: float) -> Effort:
        return Effort(seconds, self._memory_share, len(job.tables.materials) + self.prover.file_count)

    def _budget(self, job: Job, seconds: float) -> Budget:
        suffice = job.suffice if self.until_decided else never_suffices
        threads = max(1, self.threads // self._share_count)
        return Budget(seconds, self._memory_share, threads=threads, suffice=suffice)

    @property
    def _memory_share(self) -> int:
        """Memory in bytes for each of the positions that are solved side by side."""
        return self.memory // self._share_count

    def _seconds_allowed(self, seconds: float) -> float:
        """Return ``seconds``, or what remains of the total time if that is less."""
        if self._is_stopped:
            return 0.0
        remaining = math.inf if self.total_time is None else self.total_time - self.counts.seconds
        return max(0.0, min(seconds, remaining))

    def _attempt(self, job: Job, seconds: float) -> None:
        """Attempt to solve a state, unless the total time is used up; store the result."""
        allowed = self._seconds_allowed(seconds)
        if not allowed:
            return
        start = time.perf_counter()
        interrupt = None
        result: SolveProof | TbgenError
        try:
            task = self._begin(job, allowed)
            start = time.perf_counter()
            result = self.prover.prove(*task, self._report)
        except SolvingInterruptedError as error:
            result = SolveProof(error.solution.proved, Stop.INTERRUPT)
            interrupt = error.interrupt
        except TbgenError as error:
            result = error.with_traceback(None)
        finally:
            seconds_used = time.perf_counter() - start
            self.counts.seconds += seconds_used
        self._finish(job, result, allowed, seconds_used)
        if interrupt is not None and not self._is_stopped:
            self.stop()
            self.interrupt(interrupt)

    def _finish(self, job: Job, result: SolveProof | TbgenError, allowed: float, seconds_used: float) -> None:
        """Store the result of an attempt.

        :param allowed: the time limit of the attempt in seconds.
        """
        if isinstance(result, TbgenError):
            self._errors[job.state] = result
            return
        self._attempted.add(job.state)
        stop = result.stopped_by
        if stop is Stop.INTERRUPT:
            self.unfinished.append(job)
        limit = seconds_used if stop in _EARLY_STOPS else allowed
        effective = math.inf if stop in _TIME_INDEPENDENT_STOPS else limit
        try:
            self.results.add(job.state, result.proved, self._effort(job, effective), stop)
        except TbgenError as error:
            if stop is not Stop.INTERRUPT and not isinstance(error, ContradictionError):
                self.unfinished.append(job)
            raise
