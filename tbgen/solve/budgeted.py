"""Solutions of position after position: whether one is needed, its budget, and what is remembered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import chess

from tbgen.board.interval import ANYTHING, ProvedValue, ScoreInterval
from tbgen.board.score import GScore
from tbgen.errors import UsageError
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress, SolveStage, silent_solving
from tbgen.solve.budget import Budget, SolvingInterruptedError
from tbgen.solve.results import Effort, SolveResults, StateName

__all__ = ["Course", "Prove", "Solver", "prove"]


def prove(
    board: chess.Board,
    accrued: GScore,
    tables: Tablebase,
    budget: Budget,
    progress: SolveProgress,
    cells: Path | None = None,
    syzygy: Syzygy | None = None,
) -> ProvedValue:
    """Return what :func:`tbgen.solve.solver.solve` proves of a state; only this imports the compiler.

    :param cells: a directory in which cells are kept from one position to the next.
    :param syzygy: Syzygy files that may be used.
    :raises SolvingInterruptedError: if it is interrupted.
    :raises UsageError: if positions like this one are not solved.
    :raises DamagedTableError: if a table cannot be used.
    """
    from tbgen.solve.kept import KeptCells
    from tbgen.solve.solver import solve

    kept = None if cells is None else KeptCells(cells)
    return solve(
        board, accrued, tables=tables, budget=budget, kept=kept, syzygy=syzygy, progress=progress
    ).proved


Prove: TypeAlias = Callable[[chess.Board, GScore, Tablebase, Budget, SolveProgress], ProvedValue]
""":func:`prove`, or what stands in for it in tests."""


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

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


class Solver:
    """Solves positions in which games stopped, one at a time, and remembers what it proves.

    :param seconds: for one position.
    :param memory: bytes, as :class:`tbgen.solve.budget.Budget` has them.
    :param threads: as there too.
    :param total: seconds for all positions together; None for as many as they take.
    :param results: what is known, and what will be; nothing, and in memory only, if None.
    :param files: how many Syzygy files there are to go by, besides tables.
    :param progress: told about a position while it is being solved.
    :param interrupted: told of an interrupt (Ctrl-C) when what is proved by then has been added to the
        results; what it does not raise, as it does by default, is to be raised after the game.
    :param prove: what solves it.
    """

    def __init__(
        self,
        *,
        seconds: float = Budget.seconds,
        memory: int = Budget.memory,
        threads: int = Budget.threads,
        total: float | None = None,
        results: SolveResults | None = None,
        files: int = 0,
        progress: SolveProgress = silent_solving,
        interrupted: Callable[[KeyboardInterrupt], None] = _again,
        prove: Prove = prove,
    ) -> None:
        self.course = Course()
        self._seconds, self._memory, self._threads = seconds, memory, threads
        self._total, self._files = total, files
        self._results = SolveResults() if results is None else results
        self._progress, self._interrupted, self._prove = progress, interrupted, prove

    def solve(
        self,
        board: chess.Board,
        accrued: GScore,
        tables: Tablebase,
        enough: Callable[[ScoreInterval], bool] = lambda _: False,
    ) -> ProvedValue | None:
        """Return what is proved of a state, None if nothing is known and there is no time left.

        What is known is not worked on again if it is exact or enough, nor if no less time and memory was
        spent on it with no fewer tables.

        :param enough: tells of bounds whether they need not be narrower.

        :raises UsageError: if positions like this one are not solved.
        :raises TbgenError: if a table cannot be used, or the result not be kept.
        """
        course, state = self.course, StateName.of(board, accrued)
        course.asked += 1
        known = self._results.proved(state)
        done = known is not None and (known.bounds.exact or enough(known.bounds))
        effort = Effort(self._seconds, self._memory, len(tables.materials) + self._files)
        if done or self._results.tried(state, effort):
            course.known += 1
            return known
        if self._total is not None:
            effort = effort._replace(seconds=min(self._seconds, self._total - course.seconds))
        if effort.seconds <= 0:
            course.out_of_time += 1
            return known
        self._progress(SolveStage(*(known.bounds if known else ANYTHING)))
        began, interrupt = time.perf_counter(), None
        try:
            budget = Budget(effort.seconds, effort.memory, threads=self._threads)
            proved = self._prove(board, accrued, tables, budget, self._progress)
        except SolvingInterruptedError as error:
            proved, interrupt = error.solution.proved, error.interrupt
            effort = effort._replace(seconds=time.perf_counter() - began)
        except UsageError:
            course.refused += 1
            raise
        finally:
            course.seconds += time.perf_counter() - began
        self._results.add(state, proved, effort)
        course.solved += 1
        if interrupt is not None:
            self._interrupted(interrupt)
        return self._results.proved(state)
