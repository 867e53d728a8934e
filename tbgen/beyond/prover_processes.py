"""Processes that solve positions side by side."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Self, TypeAlias

import chess

from tbgen.beyond.budget import Budget, SolvingInterruptedError, Stop, never_suffices
from tbgen.beyond.extra_sources import ExtraSources
from tbgen.beyond.provers import CellProver, PositionTask, SolveProof
from tbgen.board.score import GScore
from tbgen.board.scoring import ScoreInterval
from tbgen.errors import TbgenError
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveStage
from tbgen.system.processes import end_with_parent
from tbgen.system.signals import ignore_terminal_signals, signals_blocked

_ProverArguments: TypeAlias = tuple[Path | None, ExtraSources | None, int | None]
_STOP: Final = "stop"
"""Message to a process that ends its work on a task."""

_CONTEXT: Final = get_context("spawn")
"""Processes are spawned, because a fork would copy locks that other threads hold."""


class FinishedTask(NamedTuple):
    """A task whose attempt is over."""

    task: PositionTask
    result: SolveProof | TbgenError
    """The bounds that are proved, or the reason why the position cannot be solved."""
    seconds: float
    """Time that the attempt took, without compiling kernels."""


class ProverProcesses(AbstractContextManager["ProverProcesses"]):
    """Processes that solve tasks side by side, each with a :class:`CellProver` of its own.

    They share the cells that they keep. A process is started when no other is idle. All processes end with
    this process, and when the context ends.

    :param prover: the prover whose arguments theirs have, too. If it keeps no cells in a directory, they keep
        them in a temporary one.
    """

    def __init__(self, prover: CellProver) -> None:
        self._arguments = prover.arguments
        self._idle: list[_Process] = []
        self._busy: dict[Any, _Process] = {}  # by connection, whose class depends on the system
        self._context = ExitStack()

    def __enter__(self) -> Self:
        cells, sources, max_bytes = self._arguments
        if cells is None:
            cells = Path(self._context.enter_context(TemporaryDirectory(prefix="tbgen-cells-")))
        self._arguments = cells, sources, max_bytes
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._idle, *self._busy.values()):
            process.end()
        self._idle.clear()
        self._busy.clear()
        self._context.close()

    def start(self, task: PositionTask) -> None:
        """Solve a task in an idle process, or in a new one.

        :raises TbgenError: if no further process can be started.
        """
        # An interrupt neither ends a process that does not ignore it yet, nor loses the task.
        with signals_blocked():
            process = self._idle.pop() if self._idle else _Process(self._arguments)
            self._busy[process.connection] = process
            process.send(task)

    @property
    def busy_count(self) -> int:
        """Number of tasks in progress."""
        return len(self._busy)

    def wait(self, progress: Callable[[PositionTask, SolveStage], None]) -> FinishedTask:
        """Wait until a task is finished.

        :param progress: called with the progress of each task.
        """
        while True:
            for connection in wait(list(self._busy)):
                with signals_blocked():  # an interrupt loses no message
                    process = self._busy[connection]
                    finished = process.read(progress)
                    if finished is not None:
                        del self._busy[process.connection]
                        if process.is_alive:
                            self._idle.append(process)
                        return finished

    def stop(self) -> None:
        """Let each process stop after its current cell, so that :meth:`wait` returns what is proved."""
        for process in self._busy.values():
            process.stop()


class _Process:
    """A process that solves one task after another. It is started while signals are blocked.

    :param arguments: the arguments of its prover.
    :raises TbgenError: if the process cannot be started.
    """

    task: PositionTask

    def __init__(self, arguments: _ProverArguments) -> None:
        self.connection, other_end = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_run, args=(other_end, arguments), daemon=True)
        self.is_alive = True
        try:
            self._process.start()
        except OSError as error:
            reason = error.strerror or error
            raise TbgenError(
                f"a process cannot be started: {reason}; solve fewer positions at once"
            ) from None
        other_end.close()

    def send(self, task: PositionTask) -> None:
        """Begin a task."""
        self.task = task
        budget = task.budget
        asks = budget.suffice is not never_suffices
        limits = replace(budget, suffice=never_suffices)
        with suppress(OSError):  # the process was killed, as read() will report
            self.connection.send(_SentTask(task.board, task.accrued, pickle.dumps(task.tables), limits, asks))

    def read(self, progress: Callable[[PositionTask, SolveStage], None]) -> FinishedTask | None:
        """Read and answer a message of the process; return the task if it is finished."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            self.is_alive = False
            self.end()
            reason = (
                "the process that solved it was killed, maybe because memory ran out: try fewer with --jobs"
            )
            return FinishedTask(self.task, TbgenError(reason), 0.0)
        if isinstance(message, SolveStage):
            progress(self.task, message)
        elif isinstance(message, ScoreInterval):
            with suppress(OSError):
                self.connection.send(self.task.budget.suffice(message))
        else:
            return FinishedTask(self.task, *message)
        return None

    def stop(self) -> None:
        """Stop after the current cell."""
        with suppress(OSError):
            self.connection.send(_STOP)

    def end(self) -> None:
        """End the process at once."""
        self._process.terminate()
        self._process.join()
        self.connection.close()


class _SentTask(NamedTuple):
    """A task, as it is sent to a process."""

    board: chess.Board
    accrued: GScore
    pickled_tables: bytes
    """The tables, pickled, so that a process opens them once for all its tasks."""
    limits: Budget
    """The budget without its function."""
    asks: bool
    """Whether the process asks this process which bounds suffice."""


def _run(connection: Connection, arguments: _ProverArguments) -> None:
    """Solve the tasks that another process sends."""
    ignore_terminal_signals()
    end_with_parent()
    prover = CellProver(*arguments)
    with suppress(EOFError, OSError):
        while True:
            task = connection.recv()
            if task != _STOP:  # a request to stop may come after the end of its task
                connection.send(_solve(prover, task, connection))


def _solve(
    prover: CellProver, task: _SentTask, connection: Connection
) -> tuple[SolveProof | TbgenError, float]:
    """Return the result of a task, and the time that it took in seconds."""

    def report(stage: SolveStage) -> None:
        connection.send(stage)
        if connection.poll():
            raise KeyboardInterrupt

    def suffices(bounds: ScoreInterval) -> bool:
        connection.send(bounds)
        answer = connection.recv()
        if answer == _STOP:
            raise KeyboardInterrupt
        return bool(answer)

    budget = replace(task.limits, suffice=suffices if task.asks else never_suffices)
    start = time.perf_counter()
    result: SolveProof | TbgenError
    try:
        tables = _open_tables(task.pickled_tables)
        prover.prepare(task.board, tables)
        start = time.perf_counter()
        result = prover.prove(task.board, task.accrued, tables, budget, report)
    except SolvingInterruptedError as error:
        result = SolveProof(error.solution.proved, Stop.INTERRUPT)
    except TbgenError as error:
        result = error.with_traceback(None)
    return result, time.perf_counter() - start


@cache
def _open_tables(pickled_tables: bytes) -> Tablebase:
    tables: Tablebase = pickle.loads(pickled_tables)
    return tables
