"""Phases rank by rank: narrow ones on one thread, wide ones on several; with depths, or for values alone.

Levels of wide phases with much to do are shared out among the threads.

For values alone, without depths, phases take a third of the memory. A position's value follows from sweeps
key by key, in whatever order the positions of a key are taken; depths only tell in how many plies it is
reached. Without them the best exits, the results of inner sweeps and the fresh values share one byte for each
position: most exits become events when the outer sweeps have decided most positions, and inner sweeps write
only to positions with their attacker to move, whose fresh values these are in the layer of their own score.
Both attackers use the same counts and scratch, one after the other, each with all threads.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple, Self

import numpy as np

from tbgen.compiler.jit import int64, python_of, with_fixed_types
from tbgen.index.layout import SIDES, Side
from tbgen.retro.kernels.best_exits import Exits
from tbgen.retro.kernels.en_passant import prepare, resolve, side_with_right
from tbgen.retro.kernels.events import NEVER, Agenda
from tbgen.retro.kernels.frame import Frame, legal_words
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER, Workspace, inner_sweep, outer_sweep, retire, settle
from tbgen.retro.kernels.phase import (
    NOTHING,
    Records,
    SweepRecord,
    count_moves,
    empty_record,
    first_events,
    later_events,
    leave_rank,
    record_inner,
    renew_inner,
    solve_rank,
    update_inner,
)
from tbgen.retro.kernels.sweep import (
    NO_LIMIT,
    Attacker,
    Sets,
    Sweep,
    SweepResults,
    begin_sweep,
    find_part,
    next_level,
    take_levels,
    take_part,
)
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.kernels.words import Codes, Words
from tbgen.retro.pool import Map
from tbgen.retro.workspace import make_phase, make_scratch, room_for_right, zeros


@dataclass
class Stages:
    """Seconds spent per stage, summed over threads where several work at once."""

    seconds: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    layers: int = 0
    """Accrued scores solved, of both holders."""

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time that the block takes to a stage."""
        begun = time.perf_counter()
        yield
        with self._lock:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begun


_WORTH_SHARING: Final = int64(1 << 12)
"""Words that lead to a level from which on it is shared out: a millisecond or two of work."""

MAX_PARTS: Final = 16
"""Parts of a sweep at most: every part looks through the crossing moves of all others."""


def find_moves(workspace: Workspace, pool: Pool, mirrored: bool, parts: int = 1, run: Map = map) -> None:
    """Find the legal positions of a phase, count their moves and find their exits.

    :param mirrored: whether the phase's pawns are their own mirror image.
    :param parts: into how many the work is cut.
    :param run: called like ``map``; may spread it over threads.
    """
    ranges = _ranges(workspace, parts)
    for _ in run(lambda part: legal_words(workspace.frame, workspace.phase.legal, *part), ranges):
        pass
    for _ in run(lambda part: count_moves(workspace, pool, mirrored, *part), ranges):
        pass


def _ranges(workspace: Workspace, parts: int) -> list[tuple[int, int]]:
    """Ranges of words of about the same size."""
    return list(pairwise(workspace.frame.words * part // parts for part in range(parts + 1)))


class EnPassant(NamedTuple):
    """An en passant configuration of a phase."""

    row: int
    """Its row among all of the table."""
    square: int
    """The en passant square."""


class Crew:
    """Threads that solve phases, and as many helpers that take parts of their levels: a thread that waits for
    all parts of a level must not occupy one that they need.

    :param width: as many phases, sweeps or parts are at work at once.
    :param stages: told how long stages of their work take.
    """

    def __init__(self, width: int, stages: Stages) -> None:
        self.width, self.stages = width, stages
        self.threads = ThreadPoolExecutor(width)
        self.helpers = ThreadPoolExecutor(width, "part")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close(wait=True)

    def close(self, *, wait: bool) -> None:
        """End the threads, without waiting for those at work if not ``wait``."""
        for executor in (self.threads, self.helpers):
            executor.shutdown(wait=wait, cancel_futures=True)


class PhaseSolver:
    """Solves one phase rank by rank, after ``find_moves``, on one thread: by two calls of kernels for every
    rank.

    :param fresh: where the fresh values and depths go.
    :param records: empty ones.
    :param run: called like ``map``; may spread work over threads.
    """

    def __init__(
        self, workspace: Workspace, pool: Pool, fresh: SweepResults, records: Records, run: Map = map
    ) -> None:
        self._workspace, self._pool, self._fresh = workspace, pool, fresh
        self._solve_rank, self._leave_rank = with_fixed_types(solve_rank), with_fixed_types(leave_rank)
        # Before there are layers, sweeps look for the best of all values only, and many positions leave.
        white, black = run(lambda side: first_events(workspace, side, int64(1)), SIDES)
        self._agendas = white, black
        self.records = records
        """What the sweeps have changed so far; empty ones in their place go on from there."""
        self.rank = 0
        """The rank that is to be solved, or that has been; in the end the first without a layer."""

    def ranks(self, en_passant: Sequence[EnPassant] = ()) -> Iterator[int]:
        """Solve rank after rank, and the positions with a right of en passant; yield each rank with positions
        in its layers, which are as its sweeps have left them until the next one is asked for."""
        rights = [self._right(config) for config in en_passant]
        left = True
        while left:
            left = self._sweep()
            ranks = int64(max(self.rank, 1)), int64(self.rank + 1 if left else 256)
            for resolve_ranks in rights:
                resolve_ranks(ranks)
            if left:
                yield self.rank
                self._leave()
                self.rank += 1

    def _sweep(self) -> bool:
        """Take the sweeps of the rank; return whether any position is in its layers."""
        given = self._workspace, self._pool, self._fresh, self.rank, self._agendas, self.records
        left, self.records = self._solve_rank(*given)
        return bool(left)

    def _leave(self) -> None:
        """Settle the positions of the rank, and find the events of the next one."""
        self._agendas = self._leave_rank(self._workspace, self._fresh, self.rank, self._agendas)

    def _right(self, config: EnPassant) -> Callable[[tuple[int, int]], None]:
        """Return what solves the positions of the phase with a right, given a range of ranks."""
        workspace, nodes = self._workspace, self._workspace.frame.words * 64
        right, at = room_for_right(nodes), self._pool.targets.ep_offset + config.row * nodes
        prepare(workspace, self._pool, config.square, right)
        attacker = workspace.attackers[python_of(side_with_right)(config.square)]
        return lambda ranks: resolve(attacker, self._fresh, right, ranks, at)


class WidePhaseSolver(PhaseSolver):
    """Solves one phase on all threads of a crew, the sweeps of both attackers at once: one that goes on alone
    has all helpers.

    Where a sweep is cut into parts changes nothing about its results (``tbgen.retro.kernels.sweep``).
    """

    def __init__(
        self, workspace: Workspace, pool: Pool, fresh: SweepResults, records: Records, crew: Crew
    ) -> None:
        self._crew, self._stages = crew, crew.stages
        self._ranges = _ranges(workspace, 4 * crew.width)
        self._lock, self._running = threading.Lock(), 0
        self._take_levels, self._next_level = with_fixed_types(take_levels), with_fixed_types(next_level)
        self._find_part, self._take_part = with_fixed_types(find_part), with_fixed_types(take_part)
        with crew.stages.timed("events"):
            super().__init__(workspace, pool, fresh, records, crew.threads.map)

    def _sweep(self) -> bool:
        run = self._crew.threads.map
        with self._stages.timed("outer sweeps"):
            list(run(self._outer, SIDES))
            left = any(list(run(lambda part: retire(self._workspace, *part), self._ranges)))
        if left and self.rank >= FIRST_LAYER and self._workspace.phase.score_resets:
            with self._stages.timed("inner sweeps"):
                white, black = run(self._inner, SIDES)
                self.records = white, black
        return left

    def _leave(self) -> None:
        run = self._crew.threads.map
        with self._stages.timed("settling"):
            list(run(lambda part: settle(self._workspace, self._fresh, self.rank, *part), self._ranges))
            white, black = run(self._next_events, SIDES)
            self._agendas = white, black

    def _next_events(self, side: Side) -> Agenda:
        return later_events(self._workspace, side, self.rank, self._agendas[side], self._fresh)

    def _outer(self, side: Side) -> None:
        """Take the outer sweep of an attacker."""
        attacker = self._workspace.attackers[side]
        sweep = python_of(outer_sweep)(attacker, self.rank, self._agendas[side], self._fresh)
        self._take(sweep, self.rank - 1)

    def _inner(self, side: Side) -> SweepRecord:
        """Take the inner sweep of an attacker, if it can bring anything new; return the record of it."""
        attacker, rank = self._workspace.attackers[side], self.rank
        updated = update_inner(attacker, self._pool, self._fresh, rank)
        if updated < 0:
            sweep = python_of(inner_sweep)(attacker, 255 - rank, self._agendas[side])
            attacker.last_key[0] = self._take(sweep, rank)
        return record_inner(attacker, rank, updated, self.records[side])

    def _take(self, sweep: Sweep, low: int) -> int:
        """Take all levels of a sweep; return the last key that was assigned to a position, 0 if none."""
        parts = range(len(sweep.attacker.scratch.front))
        limit = _WORTH_SHARING if len(parts) > 1 else NO_LIMIT
        with self._lock:
            self._running += 1
        try:
            stand = begin_sweep(sweep, low)
            while True:
                stand = self._take_levels(sweep, stand, limit)
                if stand.level >= NEVER:
                    return stand.last
                self._share(partial(self._find_part, sweep), parts)
                self._share(partial(self._take_part, sweep, stand), parts)
                stand = self._next_level(sweep, stand)
        finally:
            with self._lock:
                self._running -= 1

    def _share(self, work: Callable[[int], None], parts: range) -> None:
        """Work on all parts, at once where a thread is idle."""
        idle = self._running < self._crew.width
        list(self._crew.helpers.map(work, parts) if idle else map(work, parts))


_NO_SETS: Final = np.zeros((2, 0), np.uint64)
_NO_DEPTHS: Final = np.zeros(0, np.uint16)
_NEIGHBOURS: Final = 6
"""Bits of a word's number that 64 neighbouring words differ in."""


def room_for_values(frame: Frame, parts: int) -> Workspace:
    """Return room to solve a cell for values; sweeps are shared out among at most ``parts``.

    The values are ``exits.value`` in the end, ``NONE`` where there is no position.
    """
    words = frame.words
    phase = make_phase(words, True)
    results = SweepResults(zeros(2 * 64 * words, np.uint8), _NO_DEPTHS, np.array([0, 64 * words], np.int64))
    # Parts have squares of Black's king, and 64 neighbouring words have to be of one part.
    scratch = make_scratch(words, parts if frame.scalars > 1 and frame.shifts[1] >= _NEIGHBOURS else 1)
    left = zeros(64 * words, np.uint8)

    def attacker(side: Side) -> Attacker:
        caught: Words = zeros(words, np.uint64)

        def sets(counts: Codes) -> Sets:
            return Sets(zeros(words, np.uint64), counts, zeros(words, np.uint64), caught, _NO_SETS)

        outer, inner = sets(phase.quiet[1 - side]), sets(left)
        key = np.zeros(1, np.int64)
        return Attacker(side, frame, phase, outer, inner, scratch, results, _NO_SETS, _NO_SETS, key)

    white, black = map(attacker, SIDES)
    exits = Exits(results.value, _NO_DEPTHS, _NO_DEPTHS)
    return Workspace(frame, phase, (white, black), exits, np.zeros((0, 2), np.int64))


class ValuesSolver(WidePhaseSolver):
    """Solves one phase for values, after ``find_moves``, in the room that :func:`room_for_values` returns."""

    def __init__(self, workspace: Workspace, pool: Pool, crew: Crew) -> None:
        none = empty_record(NOTHING, workspace.frame.words, np.empty(0, np.uint32), 0)
        self._renew_inner = with_fixed_types(renew_inner)
        super().__init__(workspace, pool, workspace.attackers[0].results, (none, none), crew)

    def _sweep(self) -> bool:
        for side in SIDES:
            self._outer(side)
        left = any(list(self._crew.threads.map(lambda part: retire(self._workspace, *part), self._ranges)))
        if left and self.rank >= FIRST_LAYER:
            for side in SIDES:
                self._take_inner(side)
        return left

    def _take_inner(self, side: Side) -> None:
        """Take a new inner sweep of an attacker."""
        attacker = self._workspace.attackers[side]
        self._renew_inner(attacker)
        sweep = python_of(inner_sweep)(attacker, 255 - self.rank, self._agendas[side])
        self._take(sweep, self.rank)
