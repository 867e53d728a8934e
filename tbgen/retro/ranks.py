"""Solving phases rank by rank: small phases on one thread, wide phases on several.

Large levels of wide phases are divided among the threads.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final, NamedTuple

from tbgen.board.score import MAX_CODED_RANK
from tbgen.compiler.jit import int64, python_of, with_fixed_types
from tbgen.errors import LimitError
from tbgen.index.arrays import equal_parts
from tbgen.index.layout import SIDES, Side
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.kernels.phases import prepare_words
from tbgen.moves.pool import Map, PoolLoader
from tbgen.moves.structs import Pool, make_men
from tbgen.retro.kernels.en_passant import find_ep_positions, side_with_right, solve_ep_positions
from tbgen.retro.kernels.events import NO_LEVEL, Agenda
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER, Workspace, inner_sweep, outer_sweep, retire, settle
from tbgen.retro.kernels.phase import (
    NOTHING,
    SweepRecord,
    clear_empty_slots,
    empty_record,
    first_events,
    later_events,
    record_inner_sweep,
    settle_rank,
    solve_ranks,
    update_inner_sweep,
)
from tbgen.retro.kernels.sweep import (
    MAX_DEPTH,
    NO_LIMIT,
    SEARCH_SHARED,
    Sweep,
    SweepState,
    assign_front,
    begin_sweep,
    find_candidates,
    next_state,
    receive,
    run_levels,
)
from tbgen.retro.workspace import give_up_results, make_ep_positions, make_function_numbers, moves_of

_MIN_SHARED_WORDS: Final = int64(1 << 11)
"""Minimum number of words on the front for which the next level is divided among threads. One thread
processes this many words in 0.5 to 1 ms; sharing takes 0.1 to 0.2 ms, twice a level."""

MAX_PARTS: Final = 64
"""Greatest number of parts of a sweep. It is limited, because every part reads the events of all parts."""


@dataclass
class StageTimes:
    """Seconds spent on each stage, added up over concurrent threads."""

    seconds: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    layer_count: int = 0
    """Number of accrued scores, of both holders together, whose layers have been solved."""

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the duration of the ``with`` block to a stage."""
        start = time.perf_counter()
        yield
        with self._lock:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


def find_moves(workspace: Workspace, pool: Pool, symmetric: bool, parts: int = 1, mapper: Map = map) -> None:
    """Find the legal positions of a phase, count their moves and find their exits.

    :param symmetric: whether the pawns of the phase are their own mirror image.
    :param parts: number of parts into which the work is divided.
    :param mapper: called like ``map``; may distribute the parts over threads.
    """
    ranges = equal_parts(workspace.frame.words, parts)
    list(mapper(lambda part: mark_legal(workspace.frame, workspace.phase.legal, make_men(), *part), ranges))
    moves = moves_of(workspace)
    list(mapper(lambda part: prepare_words(moves, pool, symmetric, make_men(), *part), ranges))


def store_fresh(workspace: Workspace, loader: PoolLoader, phase: int, parts: int, mapper: Map = map) -> None:
    """Store the fresh values and depths of a solved phase in the pool, unless they are already there.

    The other arguments are as for :func:`find_moves`.
    """
    ranges = equal_parts(workspace.frame.words, parts)
    list(mapper(lambda part: clear_empty_slots(workspace, *part), ranges))
    loader.store(phase, *workspace.fresh)


class EpConfig(NamedTuple):
    """An en passant configuration of a phase."""

    number: int
    """Index of the configuration among those of the table."""
    square: int
    """The en passant square."""


class Crew(AbstractContextManager["Crew"]):
    """Three thread pools: threads that solve phases, two that process attackers, and helpers that process the
    parts of a level.

    The helpers have a pool of their own, so that threads that wait for the parts of a level cannot keep the
    helpers from processing these parts. The attackers' pool has only two threads, because the allocator may
    reserve the memory that a thread has freed for this thread. More threads would reserve more.

    :param width: number of threads in each pool, but at most two for the attackers.
    :param stages: adds up the time of each stage.
    """

    def __init__(self, width: int, stages: StageTimes) -> None:
        self.width = width
        self.stages = stages
        self.phase_threads = ThreadPoolExecutor(width)
        self.attacker_threads = ThreadPoolExecutor(min(width, len(SIDES)), "attacker")
        self.helpers = ThreadPoolExecutor(width, "part")
        self.rank_parts = 4 * width
        """Number of parts of work that is repeated for each rank."""
        self.phase_parts = 32 * width
        """Number of parts of work that is done once for a phase."""
        self.division: tuple[int, Map] = self.phase_parts, self.phase_threads.map
        """The last arguments of ``find_moves`` and ``store_fresh``: the number of parts, and their map."""

    def __exit__(self, *exception: object) -> None:
        self.close(wait=True)

    def close(self, *, wait: bool) -> None:
        """Shut down all pools; ``wait`` says whether to wait for running work."""
        for executor in (self.phase_threads, self.attacker_threads, self.helpers):
            executor.shutdown(wait=wait, cancel_futures=True)


@cache
def _narrow_kernels(*structure_types: object) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return ``solve_ranks`` and ``settle_rank`` for a workspace and a pool of the given types. The types of
    all other arguments are always the same."""
    return with_fixed_types(solve_ranks), with_fixed_types(settle_rank)


class PhaseSolver:
    """Solves one phase after ``find_moves``, on one thread.

    The fresh values and depths of the workspace are the output.

    :param records: empty records of different words, to which the sweeps append the changes that they make.
        There is exactly one, unless a crew solves the phase. Changes in other words are not recorded.
    :param mapper: called like ``map``; may distribute work over threads.
    """

    def __init__(
        self, workspace: Workspace, pool: Pool, records: Sequence[SweepRecord] = (), mapper: Map = map
    ) -> None:
        self._workspace = workspace
        self._pool = pool
        self._solve_ranks, self._settle_rank = _narrow_kernels(workspace._numba_type_, pool._numba_type_)
        # At first, only events of the best value are needed. Before the first layer, later_events adds the
        # other events.
        white, black = mapper(lambda side: first_events(workspace, side, int64(1)), SIDES)
        self._agendas = white, black
        self.records = [*records] or [empty_record(0, 0, NOTHING, make_function_numbers(0), 0)]
        """The changes that the sweeps have made so far. A caller may replace them with empty records, which
        then store later changes."""
        self.rank = 0
        """The rank that is being solved; when all ranks are solved, the last solved rank plus 1."""

    @property
    def fits_codes(self) -> bool:
        """Whether all scores and depths found so far can be stored in a table or cell."""
        deepest = max(attacker.scratch.max_depth[0] for attacker in self._workspace.attackers)
        return self.rank <= MAX_CODED_RANK + 1 and bool(deepest <= MAX_DEPTH)

    def solve_ranks(self, en_passant: Sequence[EpConfig] = ()) -> Iterator[int]:
        """Solve one rank after the other, including the positions with the en passant rights ``en_passant``.

        Yield each rank whose layers contain positions. The workspace keeps the results of the sweeps of a
        rank until the next rank is requested.
        """
        resolvers = [self._make_resolver(config) for config in en_passant]
        any_alive = True
        while any_alive:
            any_alive = self._sweep()
            ranks = int64(max(self.rank, 1)), int64(self.rank + 1 if any_alive else MAX_CODED_RANK + 1)
            for resolve_ranks in resolvers:
                resolve_ranks(ranks)
            if any_alive:
                yield self.rank
                self._settle()
                self.rank += 1
                if self.rank == FIRST_LAYER:  # all exits have been read
                    give_up_results(self._workspace, first_quarter=2)

    def solve(self) -> None:
        """Solve all ranks of a phase without en passant positions, in one kernel call.

        The workspace does not keep the results of inner sweeps. If there are scores without codes, the work
        ends early, and :attr:`fits_codes` is false.
        """
        if self._sweep_ranks(MAX_CODED_RANK + 1):
            self.rank += 1

    def _sweep(self) -> bool:
        """Run the sweeps of the current rank; return whether any position is in its layers."""
        return self._sweep_ranks(self.rank)

    def _sweep_ranks(self, last: int) -> bool:
        """Run the sweeps of the ranks up to ``last`` or the first rank whose layers are empty; return whether
        any position is in the layers of the final rank."""
        [record] = self.records
        any_alive, self.rank, self._agendas, self.records[0] = self._solve_ranks(
            self._workspace, self._pool, self.rank, last, self._agendas, record
        )
        return bool(any_alive)

    def _settle(self) -> None:
        """Settle the positions of the current rank, and find the events of the next rank."""
        self._agendas = self._settle_rank(self._workspace, self.rank, self._agendas)

    def _make_resolver(self, config: EpConfig) -> Callable[[tuple[int, int]], None]:
        """Return a function that solves the positions with a configuration's en passant right and with ranks
        in a given range."""
        workspace, pool = self._workspace, self._pool
        nodes = workspace.frame.words * 64
        positions = make_ep_positions(nodes)
        start = pool.targets.ep_offset + config.number * nodes
        find_ep_positions(workspace, pool, config.square, positions, make_men())
        if (rank := int(positions.rank.max())) > MAX_CODED_RANK:
            raise LimitError(f"scores of rank {rank}, as of an en passant position, have no code in a table")
        attacker = workspace.attackers[python_of(side_with_right)(config.square)]
        return lambda ranks: solve_ep_positions(attacker, workspace.fresh, positions, ranks, pool, start)


class WidePhaseSolver(PhaseSolver):
    """Solves one phase on all threads of a crew, running the sweeps of both attackers concurrently.

    When one of two sweeps has ended, all helpers work on the other sweep. The division of a sweep into parts
    does not change its results (``tbgen.retro.kernels.sweep``).
    """

    def __init__(self, workspace: Workspace, pool: Pool, records: Sequence[SweepRecord], crew: Crew) -> None:
        self._crew = crew
        self._stages = crew.stages
        self._ranges = equal_parts(workspace.frame.words, crew.rank_parts)
        self._lock = threading.Lock()
        self._running = 0
        self._run_levels = with_fixed_types(run_levels)
        self._next_state = with_fixed_types(next_state)
        self._find = with_fixed_types(find_candidates)
        self._assign = with_fixed_types(assign_front)
        self._receive = with_fixed_types(receive)
        self._record = with_fixed_types(record_inner_sweep)
        with crew.stages.timed("events"):
            super().__init__(workspace, pool, records, crew.attacker_threads.map)

    def _sweep(self) -> bool:
        mapper = self._crew.phase_threads.map
        map_attackers = self._crew.attacker_threads.map
        with self._stages.timed("outer sweeps"):
            list(map_attackers(self._run_outer_sweep, SIDES))
            any_alive = any(list(mapper(lambda part: retire(self._workspace, *part), self._ranges)))
        if any_alive and self.rank >= FIRST_LAYER and self._workspace.phase.score_resets:
            with self._stages.timed("inner sweeps"):
                results = list(map_attackers(self._update_inner_sweep, SIDES))
            with self._stages.timed("records"):
                self.records = list(mapper(partial(self._extended, results), self.records))
        return any_alive

    def _extended(self, update_results: list[int], record: SweepRecord) -> SweepRecord:
        """Return a record, extended by the changes of both inner sweeps of the current rank."""
        if record.form == NOTHING:
            return record
        for attacker, result in zip(self._workspace.attackers, update_results, strict=True):
            record = self._record(attacker, self.rank, result, record)
        return record

    def _settle(self) -> None:
        mapper = self._crew.phase_threads.map
        with self._stages.timed("settling"):
            list(mapper(lambda part: settle(self._workspace, self.rank, *part), self._ranges))
            white, black = self._crew.attacker_threads.map(self._next_events, SIDES)
            self._agendas = white, black

    def _next_events(self, side: Side) -> Agenda:
        return later_events(self._workspace, side, self.rank, self._agendas[side])

    def _run_outer_sweep(self, side: Side) -> None:
        """Run the outer sweep of an attacker."""
        attacker = self._workspace.attackers[side]
        sweep = python_of(outer_sweep)(attacker, self.rank, self._agendas[side], self._workspace.fresh)
        self._run_sweep(sweep, self.rank - 1)

    def _update_inner_sweep(self, side: Side) -> int:
        """Update the last inner sweep of an attacker or run a new one; return the result of the update."""
        attacker = self._workspace.attackers[side]
        rank = self.rank
        update_result = update_inner_sweep(attacker, self._pool, self._workspace.fresh, rank)
        if update_result < 0:
            sweep = python_of(inner_sweep)(attacker, 255 - rank, self._agendas[side])
            attacker.last_key[0] = self._run_sweep(sweep, rank)
        return update_result

    def _run_sweep(self, sweep: Sweep, first_key: int) -> int:
        """Run all levels of a sweep over the keys at or above ``first_key``.

        Return the last key assigned to a position, or 0 if there is none.
        """
        parts = range(len(sweep.attacker.scratch.front_sizes))
        limit = _MIN_SHARED_WORDS if len(parts) > 1 else NO_LIMIT
        with self._lock:
            self._running += 1
        try:
            state = begin_sweep(sweep, first_key)
            while True:
                no_thread_is_idle = self._running >= self._crew.width
                state = self._run_levels(sweep, state, int64(no_thread_is_idle), limit)
                if state.level >= NO_LEVEL:
                    return state.last_key
                if not no_thread_is_idle:
                    state = self._share_level(sweep, state, parts)
        finally:
            with self._lock:
                self._running -= 1

    def _share_level(self, sweep: Sweep, state: SweepState, parts: range) -> SweepState:
        """Process a level, sharing out its parts among the helpers."""
        helpers = self._crew.helpers
        while not all(list(helpers.map(lambda part: self._find(sweep, part, SEARCH_SHARED), parts))):
            list(helpers.map(lambda part: self._receive(sweep, part), parts))
        list(helpers.map(lambda part: self._assign(sweep, state, part), parts))
        return self._next_state(sweep, state)


def start_phase(workspace: Workspace, pool: Pool, symmetric: bool, crew: Crew | None) -> PhaseSolver:
    """Find the moves of a phase (:func:`find_moves`), and return its solver, which records nothing.

    :param crew: the threads that solve the phase; None for the calling thread alone.
    """
    find_moves(workspace, pool, symmetric, *(crew.division if crew else ()))
    return WidePhaseSolver(workspace, pool, (), crew) if crew else PhaseSolver(workspace, pool)
