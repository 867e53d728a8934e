"""The threads of a proof: they run kernels on ranges of slots and collect findings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.verify.game import new_scratch
from tbgen.verify.kernels.best import Range
from tbgen.verify.kernels.findings import COLUMNS

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


class ProofThreads(ThreadPoolExecutor):
    """A pool of threads with the findings they have made; use it as a context manager."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.threads, self.wrong = threads, 0
        """Their number, and that of findings."""
        self._rows = [np.empty((0, COLUMNS), np.int64)]

    def __exit__(self, *exception: object) -> None:
        self.shutdown(cancel_futures=True)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The findings kept, shape (n, ``COLUMNS``)."""
        return np.concatenate(self._rows)[:_MOST_ROWS]

    def ranges(self, length: int) -> list[Range]:
        """Cut ``length`` slots into ranges of whole words, at least one."""
        step = max(_LEAST_TASK, length // (_TASKS_PER_THREAD * self.threads) // 64 * 64)
        return [(start, min(start + step, length)) for start in range(0, max(1, length), step)]

    def add(self, rows: Sequence[Sequence[int]] | NDArray[np.int64], more: int = 0) -> None:
        """Add findings as rows, and a number of others."""
        if len(rows) and sum(map(len, self._rows)) < _MOST_ROWS:
            self._rows.append(np.asarray(rows))
        self.wrong += len(rows) + more

    def ahead(self, items: Iterator[Result]) -> Iterator[Result]:
        """Yield items; each item is made while the one before is in use."""
        item = self.submit(next, items, None)
        while (made := item.result()) is not None:
            item = self.submit(next, items, None)
            yield made

    def each(self, kernel: Callable[..., Result], tasks: Iterable[Task]) -> list[Result]:
        """Run a kernel on all tasks and return its results."""
        return list(self.map(lambda task: kernel(*task), tasks))

    def inspect(self, kernel: Callable[..., int], tasks: Iterable[Task]) -> int:
        """Run a kernel whose last argument is working space; return the sum of its results."""

        def inspect(*task: Any) -> tuple[int, int, NDArray[np.int64]]:
            scratch = new_scratch(_ROWS)
            counted = kernel(*task, scratch)
            wrong = int(scratch.total[0])
            return counted, wrong, scratch.findings[:wrong].copy()

        results = self.each(inspect, tasks)
        for _, wrong, rows in results:
            self.add(rows, wrong - len(rows))
        return sum(counted for counted, _, _ in results)
