"""The threads of a proof: they run kernels on ranges of slots and gather what is wrong."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.verify.game import new_scratch
from tbgen.verify.kernels.best import Range
from tbgen.verify.kernels.findings import COLUMNS, Findings

Result = TypeVar("Result")
Task = tuple[Any, ...]
"""Arguments of a kernel."""

_TASKS_PER_THREAD: Final = 8
_LEAST_TASK: Final = 1 << 14
"""Slots that are worth a task of their own."""

_ROWS: Final = 1000
"""Findings that one task can describe; it counts all."""
_MOST_ROWS: Final = 20_000
"""Findings that are kept for a description."""


class ProofThreads:
    """A pool of threads with the findings they have made; use it as a context manager."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.wrong = 0
        """Number of findings."""
        self._pool = ThreadPoolExecutor(threads)
        self._rows = [np.empty((0, COLUMNS), np.int64)]

    def __enter__(self) -> "ProofThreads":
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The findings kept, shape (n, ``COLUMNS``)."""
        return np.concatenate(self._rows)[:_MOST_ROWS]

    def ranges(self, length: int) -> list[Range]:
        """Cut ``length`` slots into ranges of whole words, at least one."""
        step = max(_LEAST_TASK, length // (_TASKS_PER_THREAD * self.threads) // 64 * 64)
        return [(start, min(start + step, length)) for start in range(0, max(1, length), step)]

    def add(self, rows: NDArray[np.int64], more: int = 0) -> None:
        """Add findings as rows, and a number of others."""
        if len(rows) and sum(map(len, self._rows)) < _MOST_ROWS:
            self._rows.append(rows)
        self.wrong += len(rows) + more

    def ahead(self, work: Callable[[], Result]) -> Future[Result]:
        """Begin work whose result is asked for later, while the other threads go on."""
        return self._pool.submit(work)

    def each(self, kernel: Callable[..., Result], tasks: Iterable[Task]) -> list[Result]:
        """Run a kernel on all tasks and return its results."""
        return list(self._pool.map(lambda task: kernel(*task), tasks))

    def inspect(self, kernel: Callable[..., int], tasks: Iterable[Task]) -> int:
        """Run a kernel whose last arguments are working space and room for findings.

        Return the sum of what it counts besides findings.
        """

        def inspect(*task: Any) -> tuple[int, int, NDArray[np.int64]]:
            findings = Findings(np.empty((_ROWS, COLUMNS), np.int64), np.zeros(1, np.int64))
            counted = kernel(*task, new_scratch(), findings)
            wrong = int(findings.total[0])
            return counted, wrong, findings.rows[:wrong].copy()

        results = self.each(inspect, tasks)
        for _, wrong, rows in results:
            self.add(rows, wrong - len(rows))
        return sum(counted for counted, _, _ in results)
