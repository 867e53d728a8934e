"""Sweeps of wide phases on several threads: levels with much to do are shared out among them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from tbgen.accelerate import int64, python_of
from tbgen.index.layout import Side
from tbgen.retro.kernels.events import NEVER, Agenda
from tbgen.retro.kernels.layers import begin_outer, inner_sweep, outer_sweep
from tbgen.retro.kernels.phase import Record, Workspace, record_inner, update_inner
from tbgen.retro.kernels.sweep import (
    Results,
    Sweep,
    begin_sweep,
    find_part,
    next_level,
    take_levels,
    take_part,
)
from tbgen.retro.kernels.targets import Pool

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

    def outer(self, workspace: Workspace, fresh: Results, side: Side, rank: int, agenda: Agenda) -> None:
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
        fresh: Results,
        side: Side,
        rank: int,
        agenda: Agenda,
        record: Record,
        keep: int,
    ) -> Record:
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
