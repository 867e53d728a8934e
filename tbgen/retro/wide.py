"""Wide phases, solved on several threads: levels of a sweep with much to do are shared out among them."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np

from tbgen.compiler.jit import int64, python_of
from tbgen.index.layout import SIDES, Side
from tbgen.retro.kernels.events import NEVER, Agenda
from tbgen.retro.kernels.frame import legal_words
from tbgen.retro.kernels.layers import begin_outer, inner_sweep, next_events, outer_sweep
from tbgen.retro.kernels.phase import (
    SweepRecord,
    Workspace,
    count_moves,
    first_events,
    record_inner,
    settle_rank,
    take_out_decided,
    update_inner,
)
from tbgen.retro.kernels.sweep import (
    Sweep,
    SweepResults,
    begin_sweep,
    find_part,
    next_level,
    take_levels,
    take_part,
)
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.stages import Stages

Result = TypeVar("Result")

_WORTH_SHARING: Final = int64(1 << 12)
"""Words that lead to a level from which on it is shared out: a millisecond or two of work."""


MAX_PARTS: Final = 16
"""Parts of a sweep at most: every part looks through the crossing moves of all others."""


class WideSweeps:
    """Takes the sweeps of both attackers, which may come at once: one that goes on alone has all threads.

    Where a sweep is cut into parts changes nothing about its results (``tbgen.retro.kernels.front``).

    :param threads: as many levels' parts are at work at once.
    """

    def __init__(self, threads: int) -> None:
        self._width = threads
        self._threads = ThreadPoolExecutor(threads, "part")
        self._lock = threading.Lock()
        self._running = 0

    def close(self, *, wait: bool) -> None:
        """End the threads, without waiting for those at work if not ``wait``."""
        self._threads.shutdown(wait=wait, cancel_futures=True)

    def outer(self, workspace: Workspace, fresh: SweepResults, side: Side, rank: int, agenda: Agenda) -> None:
        """Take the outer sweep of an attacker, as ``run_outer`` does."""
        attacker = workspace.white if side == 0 else workspace.black
        begin_outer(attacker)
        if rank > 0:
            sweep = python_of(outer_sweep)(workspace.frame, attacker, rank, workspace.phase, agenda, fresh)
            self._take(sweep, rank - 1)

    def inner(
        self,
        workspace: Workspace,
        pool: Pool,
        fresh: SweepResults,
        side: Side,
        rank: int,
        agenda: Agenda,
        record: SweepRecord,
        keep: int,
    ) -> SweepRecord:
        """Take the inner sweep of an attacker, as ``run_inner`` does."""
        updated = update_inner(workspace, pool, fresh, side, rank)
        if updated == 0:
            return record
        if updated < 0:
            attacker = workspace.white if side == 0 else workspace.black
            sweep = python_of(inner_sweep)(workspace.frame, attacker, rank, workspace.phase, agenda)
            attacker.last_key[0] = self._take(sweep, rank)
        return record_inner(workspace, side, rank, updated > 0, record, keep)

    def _take(self, sweep: Sweep, low: int) -> int:
        """Take all levels of a sweep; return the last key that was assigned to a position, 0 if none."""
        parts = range(len(sweep.scratch.front))
        with self._lock:
            self._running += 1
        try:
            stand = begin_sweep(sweep, low)
            while True:
                stand = take_levels(sweep, stand, _WORTH_SHARING)
                if stand.level >= NEVER:
                    return stand.last
                self._all(partial(find_part, sweep), parts)
                self._all(partial(take_part, sweep, stand), parts)
                stand = next_level(sweep, stand)
        finally:
            with self._lock:
                self._running -= 1

    def _all(self, work: Callable[[int], None], parts: range) -> None:
        """Work on all parts, at once where a thread is idle."""
        list(self._threads.map(work, parts) if self._running < self._width else map(work, parts))


class WidePhase:
    """One phase rank by rank, on all threads and both attackers at once: the same steps as those of
    ``NarrowPhase``, which takes small ones on one thread.

    :param fresh: where the fresh values and depths go.
    :param width: how many threads there are.
    """

    def __init__(
        self,
        workspace: Workspace,
        pool: Pool,
        fresh: SweepResults,
        *,
        mirrored: bool,
        threads: ThreadPoolExecutor,
        width: int,
        sweeps: WideSweeps,
        stages: Stages,
    ) -> None:
        self._workspace, self._pool, self._fresh = workspace, pool, fresh
        self._go, self._sweeps, self._stages = threads.submit, sweeps, stages
        edges = np.linspace(0, workspace.frame.words, 4 * width + 1).astype(int).tolist()
        self._parts = list(pairwise(edges))
        clock = time.perf_counter()
        legal = workspace.phase.legal
        _results(self._go(legal_words, workspace.frame, legal, *part) for part in self._parts)
        _results(self._go(count_moves, workspace, pool, mirrored, *part) for part in self._parts)
        clock = stages.add("moves", clock)
        self._events = _results(self._go(first_events, workspace, side) for side in SIDES)
        stages.add("events", clock)

    def decide(self, rank: int) -> bool:
        """Take the outer sweeps of a rank; return whether any position is left in its layers."""
        clock = time.perf_counter()
        outer, workspace = self._sweeps.outer, self._workspace
        _results(self._go(outer, workspace, self._fresh, side, rank, self._events[side]) for side in SIDES)
        left = _results(self._go(take_out_decided, workspace, *part) for part in self._parts)
        self._stages.add("outer sweeps", clock)
        return any(left)

    def solve(self, rank: int, records: list[SweepRecord], keep: int) -> list[SweepRecord]:
        """Take the inner sweeps of a rank: solve its layers. Return the records with what they have
        changed."""
        clock = time.perf_counter()
        given = self._workspace, self._pool, self._fresh
        records = _results(
            self._go(self._sweeps.inner, *given, side, rank, self._events[side], records[side], keep)
            for side in SIDES
        )
        self._stages.add("inner sweeps", clock)
        return records

    def leave(self, rank: int) -> None:
        """Settle the positions of a rank whose sweeps have been taken."""
        clock = time.perf_counter()
        workspace, fresh = self._workspace, self._fresh
        _results(self._go(settle_rank, workspace, fresh, rank, *part) for part in self._parts)
        self._events = _results(
            self._go(next_events, side, rank, workspace.phase, self._events[side], fresh) for side in SIDES
        )
        self._stages.add("settling", clock)


def _results(jobs: Iterable[Future[Result]]) -> list[Result]:
    """Wait for jobs; all of them are under way before the first is waited for."""
    return [job.result() for job in list(jobs)]
