"""Many positions to solve: what each of them costs, which one is next, its budget, and what is remembered."""

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
from tbgen.board.material import MAX_MEN, Material
from tbgen.board.rules import validate
from tbgen.board.score import GScore, to_gscore
from tbgen.board.scoring import ANYTHING, ProvedValue, ScoreInterval
from tbgen.board.variant import Variant
from tbgen.cells.cell import Cell
from tbgen.errors import TbgenError, UsageError
from tbgen.probe.states import accrued_in_r, read_chess
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress, SolveStage, silent_solving

if TYPE_CHECKING:
    from tbgen.beyond.knowledge import Known


_MOST_CELLS: Final = 300
"""Cells up to which those that a position rests on are counted: that takes a tenth of a second."""


def never(_bounds: ScoreInterval) -> bool:
    """Tell that no bounds but exact ones are enough."""
    return False


@dataclass(frozen=True)
class Job:
    """A position to solve, with its accrued score.

    :ivar tables: by which it is solved.
    :ivar enough: tells of bounds whether they need not be narrower.
    :ivar name: what to call it.
    """

    board: chess.Board
    accrued: GScore
    tables: Tablebase
    enough: Callable[[ScoreInterval], bool] = never
    name: str = ""

    @cached_property
    def state(self) -> StateName:
        """What results call it."""
        return StateName.of(self.board, self.accrued)


def job_of(text: str, accrued: GScore | None, tables: Tablebase, name: str = "") -> Job:
    """Return the job to solve a position that a FEN tells of.

    :param accrued: the accrued score; None for that of the FEN, else the position's own.
    :raises UsageError: if the FEN or the score means nothing.
    """
    board, told = read_chess(text, accrued, Variant.R_MOBILITY)
    validate(board)
    return Job(board, to_gscore(accrued_in_r(board, told)), tables, name=name)


def merged(jobs: Iterable[Job]) -> list[Job]:
    """Return each state once, in the order in which they first come: its bounds are enough when they are for
    all."""
    found: dict[StateName, list[Job]] = {}
    for job in jobs:
        found.setdefault(job.state, []).append(job)
    return [replace(alike[0], enough=_enough_for_all(alike)) for alike in found.values()]


def _enough_for_all(jobs: list[Job]) -> Callable[[ScoreInterval], bool]:
    return lambda bounds: all(job.enough(bounds) for job in jobs)


class Collector:
    """Takes down what is to be solved, and solves nothing.

    :param name: tells what to call the next position.
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
        """Take a position down."""
        self.jobs.append(Job(board.copy(stack=False), accrued, tables, enough, self._name()))
        return None


class JobCost(NamedTuple):
    """What a position takes; smaller ones compare as less."""

    seconds: float
    """To solve the cells that it rests on, without promotions, as far as they are not solved yet; infinite if
    they are more than are counted."""
    men: int
    size: int
    """Slots of the largest cell, its own."""


class JobCosts:
    """What positions take, one compared with another.

    :param memory: bytes to solve them with.
    :param solved: whether a canonical cell is solved.
    """

    def __init__(self, memory: int, solved: Callable[[Cell], bool]) -> None:
        self._memory, self._solved = memory, solved
        self._cells: dict[StateName, tuple[Cell | None, list[Cell]]] = {}
        """The cell of each position, and those that are counted of the ones it rests on."""

    def of(self, job: Job) -> JobCost:
        """Return what a position takes now."""
        if job.state not in self._cells:
            self._cells[job.state] = self._cells_of(job)
        root, cells = self._cells[job.state]
        men = chess.popcount(job.board.occupied)
        if root is None:
            return JobCost(0.0, men, 0)
        seconds = seconds_to_solve(cell for cell in cells if not self._solved(cell))
        return JobCost(seconds if root in cells else math.inf, men, root.size)

    def _cells_of(self, job: Job) -> tuple[Cell | None, list[Cell]]:
        """Return the cells that a position rests on; none for one that takes none, or cannot be solved."""
        try:
            root, *_ = roots_of(job.board, self._memory)
        except UsageError:
            return None, []
        held = held_by(job.tables)
        return (None, []) if held(root) else (root, list(cells_below(root, held, most=_MOST_CELLS)))


def roots_of(board: chess.Board, memory: int, mobile: Mobile = None) -> list[Cell]:
    """Return the canonical cells in which a position is solved, one for each set of mobile men, in the order
    in which these are tried.

    :param memory: bytes to solve it with.
    :raises UsageError: if the position cannot be solved.
    """
    sets, _ = sets_to_try(board, memory, mobile)
    return [Cell.of_board(board, men).canonical()[0] for men in sets]


def held_by(tables: Tablebase) -> Callable[[Cell], bool]:
    """Return what tells whether there is a table of a cell's positions now."""
    materials = frozenset(tables.materials)
    return lambda cell: cell.men <= MAX_MEN and cell.material()[0] in materials


__all__ = ["CellProver", "Course", "JobTurn", "Prove", "SolveProof", "Solver"]

FIRST_SECONDS: Final = 60.0
"""What a position is given at first where nobody says how long."""
_LONGER: Final = 4
"""How much longer it is given at its next turn."""
_TIME_IS_NO_HELP: Final = (Stop.MEMORY, Stop.TABLES, Stop.NOTHING_LEFT)
"""What ends an attempt that would not have proved more in more time."""


class SolveProof(NamedTuple):
    """What an attempt has proved."""

    proved: ProvedValue
    stopped_by: Stop | None = None
    """Why there is no more; None if the value is known."""


Prove: TypeAlias = Callable[[chess.Board, GScore, Tablebase, Budget, SolveProgress], SolveProof]
"""Solves position after position, as :class:`CellProver` does."""


class CellProver:
    """Solves positions as :func:`tbgen.beyond.solver.solve` does; cells stay for those that follow.

    Only a call imports the compiler.

    :param cells: a directory in which cells are kept.
    :param syzygy: Syzygy files that may be used.
    :param most: bytes that kept cells may take, None for any number.
    :raises UsageError: if the directory is something else.
    :raises TbgenError: if it cannot be made.
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
        """Return what can be proved of a state.

        :raises SolvingInterruptedError: if it is interrupted.
        :raises UsageError: if positions like this one are not solved.
        :raises TbgenError: if a table cannot be used.
        """
        from tbgen.beyond.solver import solve

        known = self._known = self._knowledge(tables, budget)
        found = solve(board, accrued, tables=tables, budget=budget, known=known, progress=progress)
        return SolveProof(found.proved, found.stopped_by)

    def prepare(self, board: chess.Board, tables: Tablebase) -> None:
        """Compile what solving a position takes, if that is still to do: it is no part of solving it."""
        few = chess.popcount(board.occupied) <= MAX_MEN
        is_held = few and Material.of_board(board)[0] in tables.materials
        if not is_held and not board.clean_castling_rights():
            from tbgen.cells.cell_warmup import compile_kernels

            compile_kernels()

    def solved(self, cell: Cell) -> bool:
        """Tell whether a canonical cell is in memory or kept, as far as is known without opening it."""
        kept = self._kept is not None and cell in self._kept
        return kept or (self._known is not None and cell in self._known.cells)

    def _knowledge(self, tables: Tablebase, budget: Budget) -> Known:
        """Return what earlier positions have left, unless it takes half of the memory: then only what is kept
        on disk."""
        from tbgen.beyond.solver import knowledge

        known = self._known
        if known and known.tables.tablebase is tables and known.nbytes <= budget.memory // 2:
            return known
        return knowledge(tables, budget, self._kept, self._syzygy)


def _again(interrupt: KeyboardInterrupt) -> None:
    raise interrupt


@dataclass(slots=True)
class Course:
    """Counts of the games whose positions are to be solved."""

    asked: int = 0
    """All of them."""
    solved: int = 0
    """Games whose positions were worked on, whatever was proved."""
    known: int = 0
    """Games with enough known of their positions."""
    refused: int = 0
    """Games with positions that cannot be solved."""
    out_of_time: int = 0
    """Games for whose positions no time was left."""
    seconds: float = 0.0
    """Time spent on solving."""


class JobTurn(NamedTuple):
    """Whose turn it is among positions that are solved."""

    job: Job
    number: int
    of: int
    """How many have a turn in this round."""
    seconds_left: float | None
    """What those that are left should take, as far as is known."""


@dataclass(kw_only=True)
class Solver:
    """Solves positions in which games stopped, one at a time, and remembers what it proves.

    :param seconds: for one position; None for a minute at first, and then more and more as long as that may
        help, until the time of all together is over.
    :param memory: bytes, as :class:`tbgen.beyond.budget.Budget` has them.
    :param threads: as there too.
    :param total: seconds for all positions together; None for as many as they take.
    :param results: what is known, and what will be.
    :param files: how many Syzygy files there are to go by, besides tables.
    :param progress: told about a position while it is being solved.
    :param interrupted: told of an interrupt (Ctrl-C) when what is proved by then has been added to the
        results; if it does not raise it, as it does by default, no other position is worked on.
    :param prove: what solves it.
    :param solved: whether a canonical cell need not be solved any more.
    :param prepare: called with each position before its time begins.
    """

    seconds: float | None = FIRST_SECONDS
    memory: int = Budget.memory
    threads: int = Budget.threads
    total: float | None = None
    results: SolveResults = field(default_factory=SolveResults)
    files: int = 0
    progress: SolveProgress = silent_solving
    interrupted: Callable[[KeyboardInterrupt], None] = _again
    prove: Prove = field(default_factory=CellProver)
    solved: Callable[[Cell], bool] = lambda _: False
    prepare: Callable[[chess.Board, Tablebase], object] = lambda board, tables: None

    course: Course = field(default_factory=Course, init=False)
    turn: JobTurn | None = field(default=None, init=False)
    """Of the positions that :meth:`work_on` is about."""
    _stops: dict[StateName, Stop | None] = field(default_factory=dict, init=False)
    """Why the last attempt on a state ended."""
    _errors: dict[StateName, TbgenError] = field(default_factory=dict, init=False)
    """Why a state cannot be solved."""
    _stopped: bool = field(default=False, init=False)

    def solve(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        enough: Callable[[ScoreInterval], bool] = never,
    ) -> ProvedValue | None:
        """Return what is proved of a state, None if nothing is known and there is no time left.

        What is known is not worked on again if it is exact or enough, nor if no less time and memory was
        spent on it with no fewer tables; nor is what :meth:`work_on` has worked on.

        :param enough: tells of bounds whether they need not be narrower.

        :raises UsageError: if positions like this one are not solved.
        :raises TbgenError: if a table cannot be used, or the result not be kept.
        """
        course, job = self.course, Job(board, accrued, tables, enough)
        seconds = next(self._rounds())
        if self._is_open(job, seconds):
            self._attempt(job, seconds)
        course.asked += 1
        if job.state in self._errors:
            course.refused += 1
        elif job.state in self._stops:
            course.solved += 1
        elif self._is_open(job, seconds):
            course.out_of_time += 1
        else:
            course.known += 1
        return self.found(job)

    def work_on(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Work on positions, those first that should take the least time; yield each one, states that come
        twice once, as soon as no more will be done about it.

        :raises TbgenError: if a result cannot be kept.
        """
        left, costs = merged(jobs), JobCosts(self.memory, self.solved)
        most = math.inf if self.seconds is None else self.seconds
        for seconds in self._rounds():
            yield from (job for job in left if not self._is_open(job, most))
            left = [job for job in left if self._is_open(job, most)]
            waiting = [job for job in left if self._is_open(job, seconds)]
            before, of = self.course.seconds, len(waiting)
            while waiting and self._allowed(seconds):
                job = min(waiting, key=costs.of)
                done, spent = of - len(waiting), self.course.seconds - before
                self.turn = JobTurn(job, done + 1, of, spent / done * len(waiting) if done else None)
                waiting.remove(job)
                self._attempt(job, seconds)
                if not self._is_open(job, most):
                    left.remove(job)
                    yield job
            if not left or not self._allowed(seconds):
                break
        yield from left

    def found(self, job: Job) -> ProvedValue | None:
        """Return what is proved of a state, None if nothing is known.

        :raises TbgenError: if it cannot be solved.
        """
        if job.state in self._errors:
            raise self._errors[job.state]
        return self.results.proved(job.state)

    def stopped_by(self, job: Job) -> Stop | None:
        """Return why no more has been proved of a state: None if its value is known, or if the attempts were
        others'."""
        known = self.results.proved(job.state)
        if known is not None and known.bounds.exact:
            return None
        unknown = Stop.INTERRUPT if self._stopped else Stop.TIME if known is None else None
        return self._stops.get(job.state, unknown)

    def stop(self) -> None:
        """Work on no other position, and no longer on the one at work in another thread than until its next
        cell is solved: the answers are what is known."""
        self._stopped = True

    def _show(self, stage: SolveStage) -> None:
        """Tell progress.

        :raises KeyboardInterrupt: if the work is to end.
        """
        if self._stopped:
            raise KeyboardInterrupt
        self.progress(stage)

    def _rounds(self) -> Iterator[float]:
        """Yield the seconds that each position is given, one round after the other."""
        if self.seconds is not None:
            return iter((self.seconds,))
        return (FIRST_SECONDS * _LONGER**number for number in count())

    def _is_open(self, job: Job, seconds: float) -> bool:
        """Tell whether more may be proved of a state in so many seconds, and has to be."""
        if job.state in self._errors:
            return False
        known = self.results.proved(job.state)
        if known is not None and (known.bounds.exact or job.enough(known.bounds)):
            return False
        return not self.results.tried(job.state, self._effort(job, seconds))

    def _effort(self, job: Job, seconds: float) -> Effort:
        return Effort(seconds, self.memory, len(job.tables.materials) + self.files)

    def _allowed(self, seconds: float) -> float:
        """Return how many of these seconds a position may still have."""
        if self._stopped:
            return 0.0
        left = math.inf if self.total is None else self.total - self.course.seconds
        return max(0.0, min(seconds, left))

    def _attempt(self, job: Job, seconds: float) -> None:
        """Work on a state, if there is time for that."""
        allowed = self._allowed(seconds)
        if not allowed:
            return
        known = self.results.proved(job.state)
        self.progress(SolveStage(*(known.bounds if known else ANYTHING)))
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
        used = math.inf if stop in _TIME_IS_NO_HELP else allowed
        self.results.add(job.state, proof.proved, self._effort(job, used))
        if interrupt is not None and not self._stopped:
            self.stop()
            self.interrupted(interrupt)
