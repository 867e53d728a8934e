"""Solving many positions: their costs, their order, the budget of each, and the results that are stored."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import chess

from tbgen.beyond.budget import Budget, SolvingInterruptedError, Stop
from tbgen.beyond.kept import DEFAULT_BYTES, KeptCells
from tbgen.beyond.results import Effort, SolveResults, StateName
from tbgen.beyond.structures import Mobile, cells_below, seconds_to_solve, sets_to_try
from tbgen.board.fen import parse_fen
from tbgen.board.material import MAX_MEN, Material
from tbgen.board.rules import validate
from tbgen.board.score import GScore, to_gscore
from tbgen.board.scoring import ANYTHING, ProvedValue, ScoreInterval
from tbgen.board.variant import Variant
from tbgen.cells.cell import Cell
from tbgen.errors import TbgenError, UsageError
from tbgen.probe.states import accrued_in_r
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress, SolveStage, silent_solving

if TYPE_CHECKING:
    from tbgen.beyond.knowledge import Known


_MAX_CELLS: Final = 300
"""Maximum number of cells counted for the cost of one position, which takes a tenth of a second."""


def never(_bounds: ScoreInterval) -> bool:
    """Return False: no bounds are good enough unless they are exact."""
    return False


@dataclass(frozen=True)
class Job:
    """A position to solve, with its accrued score.

    :ivar tables: the tables with which it is solved.
    :ivar enough: returns whether bounds are good enough, so that they need not be narrowed.
    :ivar name: the name of the position in messages.
    """

    board: chess.Board
    accrued: GScore
    tables: Tablebase
    enough: Callable[[ScoreInterval], bool] = never
    name: str = ""

    @cached_property
    def state(self) -> StateName:
        """The name of the state in the results."""
        return StateName.of(self.board, self.accrued)


def job_of(text: str, accrued: GScore | None, tables: Tablebase, name: str = "") -> Job:
    """Return the job to solve the position of a FEN.

    :param accrued: the accrued score; None for that of the FEN or, without one, the position score.
    :raises UsageError: if the FEN or the score is invalid.
    """
    fen = parse_fen(text)
    validate(fen.board)
    stated = fen.accrued_in(Variant.R_MOBILITY) if accrued is None else accrued
    return Job(fen.board, to_gscore(accrued_in_r(fen.board, stated)), tables, name=name)


def merged_jobs(jobs: Iterable[Job]) -> list[Job]:
    """Merge the jobs of each state into one, which needs bounds that are good enough for all of them.

    The merged jobs are in the order of their first occurrences.
    """
    by_state: dict[StateName, list[Job]] = {}
    for job in jobs:
        by_state.setdefault(job.state, []).append(job)
    return [replace(same[0], enough=_enough_for_all(same)) for same in by_state.values()]


def _enough_for_all(jobs: list[Job]) -> Callable[[ScoreInterval], bool]:
    return lambda bounds: all(job.enough(bounds) for job in jobs)


class Collector:
    """A solver that only records the positions that it is asked to solve.

    :param name: returns the name of the next position in messages.
    """

    def __init__(self, name: Callable[[], str]) -> None:
        self.jobs: list[Job] = []
        self._name = name

    def solve(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        enough: Callable[[ScoreInterval], bool] = never,
    ) -> ProvedValue | None:
        """Record a position."""
        self.jobs.append(Job(board.copy(stack=False), accrued, tables, enough, self._name()))
        return None


class JobCost(NamedTuple):
    """The cost of solving a position, ordered from cheap to expensive."""

    seconds: float
    """Time for the unsolved cells that the position depends on, without promotions; infinite if these are too
    many to count."""
    men: int
    size: int
    """Slots of the position's own cell, which is the largest."""


class JobCosts:
    """Computes the costs of positions, which determine their order.

    :param memory: bytes that solving a position may use.
    :param solved: returns whether a canonical cell is solved.
    """

    def __init__(self, memory: int, solved: Callable[[Cell], bool]) -> None:
        self._memory, self._solved = memory, solved
        self._cells: dict[StateName, tuple[Cell | None, list[Cell]]] = {}
        """The cell of each position, and the cells counted for it."""

    def of(self, job: Job) -> JobCost:
        """Return the cost of a position, given the cells that are solved now."""
        if job.state not in self._cells:
            self._cells[job.state] = self._cells_of(job)
        root, cells = self._cells[job.state]
        men = chess.popcount(job.board.occupied)
        if root is None:
            return JobCost(0.0, men, 0)
        seconds = seconds_to_solve(cell for cell in cells if not self._solved(cell))
        return JobCost(seconds if root in cells else math.inf, men, root.size)

    def _cells_of(self, job: Job) -> tuple[Cell | None, list[Cell]]:
        """Return a position's cell and the cells that it depends on.

        The result is empty if a table holds the position, or if it cannot be solved.
        """
        try:
            root, *_ = roots_of(job.board, self._memory)
        except UsageError:
            return None, []
        available = available_in(job.tables)
        return (None, []) if available(root) else (root, list(cells_below(root, available, most=_MAX_CELLS)))


def roots_of(board: chess.Board, memory: int, mobile: Mobile = None) -> list[Cell]:
    """Return the canonical cells in which a position is solved, one for each set of mobile men, in the order
    in which these are tried.

    :param memory: bytes that solving the position may use.
    :raises UsageError: if the position cannot be solved.
    """
    sets, _ = sets_to_try(board, memory, mobile)
    return [Cell.of_board(board, men).canonical()[0] for men in sets]


def available_in(tables: Tablebase) -> Callable[[Cell], bool]:
    """Return a function that says whether one of the tables holds the positions of a cell.

    Tables that are built later do not count.
    """
    materials = frozenset(tables.materials)
    return lambda cell: cell.men <= MAX_MEN and cell.material()[0] in materials


__all__ = ["CellProver", "Course", "JobTurn", "Prove", "SolveProof", "Solver"]

FIRST_SECONDS: Final = 60.0
"""Time for a position in the first round if no time is specified."""
_ROUND_FACTOR: Final = 4
"""Factor by which each round gives a position more time than the round before."""
_TIME_INDEPENDENT: Final = (Stop.MEMORY, Stop.TABLES, Stop.NOTHING_LEFT)
"""Reasons after which a longer attempt would not prove more."""


class SolveProof(NamedTuple):
    """The result of an attempt to solve a state."""

    proved: ProvedValue
    stopped_by: Stop | None = None
    """Why the attempt proved no more; None if it proved the value."""


Prove: TypeAlias = Callable[[chess.Board, GScore, Tablebase, Budget, SolveProgress], SolveProof]
"""Function that solves one position, such as :class:`CellProver`."""


class CellProver:
    """Solves positions as :func:`tbgen.beyond.solver.solve` does, and keeps the cells for later positions.

    The compiler is imported by the first call, not by the constructor.

    :param cells: the directory in which cells are kept.
    :param syzygy: Syzygy files that may be used.
    :param most: maximum number of bytes of kept cells; None for no limit.
    :raises UsageError: if ``cells`` is not a directory.
    :raises TbgenError: if the directory cannot be made.
    """

    def __init__(
        self, cells: Path | None = None, syzygy: Syzygy | None = None, most: int | None = DEFAULT_BYTES
    ) -> None:
        self._kept = None if cells is None else KeptCells(cells, most)
        self._syzygy = syzygy
        self._known: Known | None = None

    def __call__(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        budget: Budget,
        progress: SolveProgress,
    ) -> SolveProof:
        """Solve a state as far as the budget allows.

        :raises SolvingInterruptedError: if solving is interrupted.
        :raises UsageError: if positions of this kind cannot be solved.
        :raises TbgenError: if a table cannot be used.
        """
        from tbgen.beyond.solver import solve

        known = self._known = self._knowledge(tables, budget)
        found = solve(board, accrued, tables=tables, budget=budget, known=known, progress=progress)
        return SolveProof(found.proved, found.stopped_by)

    def prepare(self, board: chess.Board, tables: Tablebase) -> None:
        """Compile the kernels that solving a position needs, so that this does not count as solving time."""
        few = chess.popcount(board.occupied) <= MAX_MEN
        is_held = few and Material.of_board(board)[0] in tables.materials
        if not is_held and not board.clean_castling_rights():
            from tbgen.cells.cell_warmup import compile_kernels

            compile_kernels()

    def solved(self, cell: Cell) -> bool:
        """Return whether a canonical cell is in memory or kept, without opening its file."""
        kept = self._kept is not None and cell in self._kept
        return kept or (self._known is not None and cell in self._known.cells)

    def _knowledge(self, tables: Tablebase, budget: Budget) -> Known:
        """Return the knowledge that earlier positions have left in memory.

        If that takes more than half of the memory, or if the tables have changed, start anew with the cells
        on disk.
        """
        from tbgen.beyond.solver import knowledge

        known = self._known
        if known and known.tables.tablebase is tables and known.nbytes <= budget.memory // 2:
            return known
        return knowledge(tables, budget, self._kept, self._syzygy)


def _raise(interrupt: KeyboardInterrupt) -> None:
    raise interrupt


@dataclass(slots=True)
class Course:
    """Counts of games by the outcome of solving their positions, and the time spent."""

    asked: int = 0
    """All games whose positions were to be solved."""
    solved: int = 0
    """Games whose positions were worked on, whatever was proved."""
    known: int = 0
    """Games for whose positions earlier results were good enough."""
    refused: int = 0
    """Games whose positions cannot be solved."""
    out_of_time: int = 0
    """Games for whose positions no time remained."""
    seconds: float = 0.0
    """Time spent on solving."""


class JobTurn(NamedTuple):
    """The position that is being solved, and its number among those of the round."""

    job: Job
    number: int
    of: int
    """Number of positions in this round."""
    seconds_left: float | None
    """Estimated time for the remaining positions of the round; None if no estimate is available yet."""


@dataclass(kw_only=True)
class Solver:
    """Solves positions, such as those in which games stopped, one at a time, and stores the results.

    :param seconds: time for one position. With None each position first gets a minute, then four times as
        much in each further round, as long as that may help and ``total`` is not exceeded.
    :param memory: memory in bytes, as in :class:`tbgen.beyond.budget.Budget`.
    :param threads: number of threads, as in :class:`tbgen.beyond.budget.Budget`.
    :param total: time in seconds for all positions together; None for no limit.
    :param results: earlier results, to which new ones are added.
    :param files: number of Syzygy files that are available besides the tables.
    :param progress: called with the progress of a position while it is being solved.
    :param interrupted: called on an interrupt (Ctrl-C), after everything proved so far has been added to the
        results. It raises the interrupt by default; if it returns, no other position is worked on.
    :param prove: the function that solves a position.
    :param solved: returns whether a canonical cell is already solved.
    :param prepare: called with each position before its time begins.
    """

    seconds: float | None = FIRST_SECONDS
    memory: int = Budget.memory
    threads: int = Budget.threads
    total: float | None = None
    results: SolveResults = field(default_factory=SolveResults)
    files: int = 0
    progress: SolveProgress = silent_solving
    interrupted: Callable[[KeyboardInterrupt], None] = _raise
    prove: Prove = field(default_factory=CellProver)
    solved: Callable[[Cell], bool] = lambda _: False
    prepare: Callable[[chess.Board, Tablebase], object] = lambda board, tables: None

    course: Course = field(default_factory=Course, init=False)
    turn: JobTurn | None = field(default=None, init=False)
    """The position that :meth:`work_on` is solving."""
    _stops: dict[StateName, Stop | None] = field(default_factory=dict, init=False)
    """Reason why the last attempt on each state ended."""
    _errors: dict[StateName, TbgenError] = field(default_factory=dict, init=False)
    """Reason why a state cannot be solved."""
    _stopped: bool = field(default=False, init=False)

    def solve(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        enough: Callable[[ScoreInterval], bool] = never,
    ) -> ProvedValue | None:
        """Solve a state, and return everything that is proved of it.

        The state is not worked on if its bounds are exact or good enough, if an earlier attempt had at least
        as much time, memory and as many tables, or if :meth:`work_on` has already tried it. The result is
        None if nothing is proved and no time remains.

        :param enough: returns whether bounds are good enough, so that they need not be narrowed.

        :raises UsageError: if positions of this kind cannot be solved.
        :raises TbgenError: if a table cannot be used, or the result cannot be stored.
        """
        course, job = self.course, Job(board, accrued, tables, enough)
        seconds = next(self._rounds())
        if self._needs_work(job, seconds):
            self._attempt(job, seconds)
        course.asked += 1
        if job.state in self._errors:
            course.refused += 1
        elif job.state in self._stops:
            course.solved += 1
        elif self._needs_work(job, seconds):
            course.out_of_time += 1
        else:
            course.known += 1
        return self.found(job)

    def work_on(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Solve positions, the cheapest first, and yield each one as soon as it needs no more work.

        States that occur several times are solved and yielded once.

        :raises TbgenError: if a result cannot be stored.
        """
        remaining, costs = merged_jobs(jobs), JobCosts(self.memory, self.solved)
        most = math.inf if self.seconds is None else self.seconds
        for seconds in self._rounds():
            yield from (job for job in remaining if not self._needs_work(job, most))
            remaining = [job for job in remaining if self._needs_work(job, most)]
            waiting = [job for job in remaining if self._needs_work(job, seconds)]
            before, of = self.course.seconds, len(waiting)
            while waiting and self._seconds_allowed(seconds):
                job = min(waiting, key=costs.of)
                done, spent = of - len(waiting), self.course.seconds - before
                self.turn = JobTurn(job, done + 1, of, spent / done * len(waiting) if done else None)
                waiting.remove(job)
                self._attempt(job, seconds)
                if not self._needs_work(job, most):
                    remaining.remove(job)
                    yield job
            if not remaining or not self._seconds_allowed(seconds):
                break
        yield from remaining

    def found(self, job: Job) -> ProvedValue | None:
        """Return everything that is proved of a state; None if nothing is.

        :raises TbgenError: if the state cannot be solved.
        """
        if job.state in self._errors:
            raise self._errors[job.state]
        return self.results.proved(job.state)

    def stopped_by(self, job: Job) -> Stop | None:
        """Return why no more has been proved of a state.

        The reason is None if the value is proved, or if the state was attempted in an earlier run only.
        """
        proved = self.results.proved(job.state)
        if proved is not None and proved.bounds.exact:
            return None
        not_attempted = Stop.INTERRUPT if self._stopped else Stop.TIME if proved is None else None
        return self._stops.get(job.state, not_attempted)

    def stop(self) -> None:
        """Begin no other position, and end work on one in another thread as soon as its next cell is solved.

        From then on the solver answers from its results.
        """
        self._stopped = True

    def _show(self, stage: SolveStage) -> None:
        """Report progress.

        :raises KeyboardInterrupt: if :meth:`stop` has been called.
        """
        if self._stopped:
            raise KeyboardInterrupt
        self.progress(stage)

    def _rounds(self) -> Iterator[float]:
        """Yield the time in seconds for each position, round by round."""
        if self.seconds is not None:
            return iter((self.seconds,))
        return (FIRST_SECONDS * _ROUND_FACTOR**number for number in count())

    def _needs_work(self, job: Job, seconds: float) -> bool:
        """Return whether a state needs narrower bounds, and an attempt of this time may find them."""
        if job.state in self._errors:
            return False
        proved = self.results.proved(job.state)
        if proved is not None and (proved.bounds.exact or job.enough(proved.bounds)):
            return False
        return not self.results.tried(job.state, self._effort(job, seconds))

    def _effort(self, job: Job, seconds: float) -> Effort:
        return Effort(seconds, self.memory, len(job.tables.materials) + self.files)

    def _seconds_allowed(self, seconds: float) -> float:
        """Return ``seconds``, or the rest of the total time if that is less."""
        if self._stopped:
            return 0.0
        remaining = math.inf if self.total is None else self.total - self.course.seconds
        return max(0.0, min(seconds, remaining))

    def _attempt(self, job: Job, seconds: float) -> None:
        """Work on a state, if time remains for it."""
        allowed = self._seconds_allowed(seconds)
        if not allowed:
            return
        proved = self.results.proved(job.state)
        self.progress(SolveStage(*(proved.bounds if proved else ANYTHING)))
        began, interrupt = time.perf_counter(), None
        try:
            self.prepare(job.board, job.tables)
            began = time.perf_counter()
            budget = Budget(allowed, self.memory, threads=self.threads)
            proof = self.prove(job.board, job.accrued, job.tables, budget, self._show)
        except SolvingInterruptedError as error:
            proof, interrupt = SolveProof(error.solution.proved, Stop.INTERRUPT), error.interrupt
            allowed = time.perf_counter() - began
        except TbgenError as error:
            self._errors[job.state] = error.with_traceback(None)
            return
        finally:
            self.course.seconds += time.perf_counter() - began
        stop = self._stops[job.state] = proof.stopped_by
        used = math.inf if stop in _TIME_INDEPENDENT else allowed
        self.results.add(job.state, proof.proved, self._effort(job, used))
        if interrupt is not None and not self._stopped:
            self.stop()
            self.interrupted(interrupt)
