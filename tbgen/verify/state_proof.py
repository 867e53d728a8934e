"""The proof of the states of a table, or of one game of a cell, one accrued score after the other.

The states with one accrued score are a *layer*. A *batch* is the range of slots whose layers are proved
together. Threads run kernels on ranges of slots and collect findings.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.verify.game import new_scratch
from tbgen.verify.kernels.best import ProofGame, Range
from tbgen.verify.kernels.checks import check_values, find_legal, prove, survey
from tbgen.verify.kernels.entry_grades import SolvedLayer, begin_batch, copy_images, set_layer_grades
from tbgen.verify.kernels.results import COLUMNS, MAX_WORTH, MIDDLE, Accrued

Result = TypeVar("Result")
Task = tuple[Any, ...]
"""Arguments of a kernel."""

_TASKS_PER_THREAD: Final = 8
_MIN_TASK_SLOTS: Final = 1 << 14

_MAX_TASK_FINDINGS: Final = 1000
"""Maximum number of findings that one task keeps. A task counts all its findings."""
_MAX_FINDINGS: Final = 20_000
"""Number of findings after which the proof only counts further ones."""

FIRST_RANK: Final = 2
"""Rank of the first layer. Positions of smaller rank are mates and stalemates."""


class ProofThreads(ThreadPoolExecutor):
    """A thread pool that collects findings, to be used as a context manager."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.thread_count = threads
        self.wrong = 0
        """Number of threads, and number of findings."""
        self._findings = [np.empty((0, COLUMNS), np.int64)]

    def __exit__(self, *exception: object) -> None:
        self.shutdown(cancel_futures=True)

    @property
    def findings(self) -> NDArray[np.int64]:
        """The findings that are kept, shape (n, ``COLUMNS``)."""
        return np.concatenate(self._findings)[:_MAX_FINDINGS]

    def ranges(self, length: int) -> list[Range]:
        """Divide ``length`` slots into one or more ranges that start at multiples of 64."""
        step = max(_MIN_TASK_SLOTS, length // (_TASKS_PER_THREAD * self.thread_count) // 64 * 64)
        return [(start, min(start + step, length)) for start in range(0, max(1, length), step)]

    def add(self, findings: Sequence[Sequence[int]] | NDArray[np.int64], dropped: int = 0) -> None:
        """Add findings, and count another ``dropped`` findings."""
        if len(findings) and sum(map(len, self._findings)) < _MAX_FINDINGS:
            self._findings.append(np.asarray(findings))
        self.wrong += len(findings) + dropped

    def run(self, kernel: Callable[..., Result], tasks: Iterable[Task]) -> list[Result]:
        """Run a kernel on all tasks and return the results."""
        return list(self.map(lambda task: kernel(*task), tasks))

    def collect(self, kernel: Callable[..., int], tasks: Iterable[Task]) -> int:
        """Run a kernel on all tasks, and add its findings. Return the sum of the results.

        The last argument of the kernel is a workspace, which receives the findings.
        """

        def run_task(*task: Any) -> tuple[int, int, NDArray[np.int64]]:
            scratch = new_scratch(_MAX_TASK_FINDINGS)
            counted = kernel(*task, scratch)
            wrong = int(scratch.total[0])
            return counted, wrong, scratch.findings[:wrong].copy()

        results = self.run(run_task, tasks)
        for _, wrong, findings in results:
            self.add(findings, wrong - len(findings))
        return sum(counted for counted, _, _ in results)


def accrued_score(rank: int, white: bool) -> Accrued:
    """Return the accrued score of this rank that White or Black holds."""
    return Accrued(rank, MAX_WORTH - rank if white else rank)


def accrued_scores(top: int) -> Iterator[Accrued]:
    """Yield the accrued scores whose layers are proved: White's and Black's score of every rank up to
    ``top``.

    The last accrued score stands for all greater ranks, because the results no longer depend on the accrued
    score there.

    :param top: greatest rank of a value.
    """
    for rank in range(FIRST_RANK, top + 1):
        yield from (accrued_score(rank, white) for white in (True, False))
    yield Accrued(top + 1, MIDDLE)


def top_rank(*values: NDArray[np.uint8]) -> int:
    """Return the greatest rank among these codes, but at least 1."""
    code = np.arange(256)
    rank = np.where(code == NONE, 0, np.minimum(code, 255 - code)).astype(np.uint8)
    return max(int(rank[value].max(initial=FIRST_RANK - 1)) for value in values)


class StateProof:
    """Proves the states in a batch of slots, one accrued score after the other."""

    def __init__(self, game: ProofGame, workers: ProofThreads) -> None:
        self.game = game
        self.workers = workers
        self.ranges: list[Range] = []
        """Ranges that cover the batch."""

    def survey(self, parts: list[Range]) -> None:
        """Find the canonical legal positions in these ranges of slots, and their ranks."""
        slots = self.workers.ranges(self.game.rank.shape[1])
        self.workers.run(find_legal, ((self.game, part, new_scratch()) for part in slots))
        self.workers.collect(survey, ((self.game, part) for part in parts))

    def check_values(self, parts: list[Range]) -> None:
        """Check that the positions, and no other slots, have values; check the values of mates and
        stalemates."""
        self.workers.collect(check_values, ((self.game, part) for part in parts))

    def begin(self) -> None:
        """Set the initial grades of the batch, for an accrued score whose rank exceeds that of all values.

        A grade is a result as one integer (:mod:`tbgen.verify.kernels.results`).
        """
        self.ranges = self.workers.ranges(self.game.grade.shape[1])
        self.workers.run(begin_batch, ((self.game, part, new_scratch()) for part in self.ranges))

    def set_grades(self, accrued: Accrued, layer: SolvedLayer) -> None:
        """Update the grades of the batch for the layer of an accrued score.

        :param layer: the entries of this layer.
        """
        self.workers.collect(set_layer_grades, ((self.game, accrued, part, layer) for part in self.ranges))

    def prove(self, accrued: Accrued) -> int:
        """Prove the states of the current layer, and return their number."""
        game, rank = self.game, accrued.rank
        self.workers.run(copy_images, ((game, rank, part, new_scratch()) for part in self.ranges))
        return self.workers.collect(prove, ((self.game, accrued, part) for part in self.ranges))

    def empty_layer(self) -> SolvedLayer:
        """Return a layer without entries."""
        sides, slots = self.game.grade.shape
        nothing = np.zeros((sides, -(-slots // 64)), np.uint64)
        return SolvedLayer(np.empty((sides, slots), np.uint8), np.empty((sides, slots), np.uint16), nothing)
