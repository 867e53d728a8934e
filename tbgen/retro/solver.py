"""Solving a whole table: its phases in order, on several threads."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import MAX_CODED_RANK, NONE
from tbgen.board.variant import Variant
from tbgen.index.layout import BLACK_TO_MOVE, Layout, Side, layout_of
from tbgen.index.source import Source
from tbgen.index.table import AccruedForm, Table
from tbgen.index.zeroing import en_passant_configs, is_wide, phase_groups
from tbgen.progress import Progress, silent
from tbgen.retro.cache_lines import zeros
from tbgen.retro.functions import FunctionBook
from tbgen.retro.kernels.frame import legal_words
from tbgen.retro.kernels.layers import FIRST_LAYER
from tbgen.retro.kernels.phase import (
    FUNCTIONS,
    NOTHING,
    RUNS,
    SweepRecord,
    Workspace,
    count_moves,
    empty_record,
)
from tbgen.retro.kernels.runs import Runs, weave
from tbgen.retro.kernels.sweep import MAX_DEPTH, SweepResults
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.narrow import EnPassant, NarrowPhase
from tbgen.retro.pool import Map, PoolLoader
from tbgen.retro.stages import Stages
from tbgen.retro.wide import MAX_PARTS, WidePhase, WideSweeps
from tbgen.retro.workspace import make_workspace, mirrors_itself, place_pawns

"""Called with a stage, how much of it is done and how much there is."""
AfterPhase = Callable[[int, Workspace, Pool, int, Map], None]
"""Called with each phase that is solved, while its moves are still there: its number, its
workspace, the pool with the values, into how many parts work on it is best cut, and a ``map`` for them."""


def solve(
    material: Material,
    sources: Mapping[Material, Source],
    variant: Variant,
    *,
    threads: int = 2,
    progress: Progress = silent,
    stages: Stages | None = None,
    wide: bool | None = None,
    accrued: AccruedForm = AccruedForm.RUNS,
    max_runs: int | None = None,
    side: Side = BLACK_TO_MOVE,
    after_phase: AfterPhase | None = None,
) -> Table:
    """Solve the table of a material.

    ``sources`` maps every successor material to its table of the same variant. ``wide`` says whether to
    put all threads on one phase after the other, rather than one thread on each phase; by default that
    depends on the phases' size.
    ``accrued`` says what to keep of accrued scores, ``side`` of which side to move the functions are. With
    more than ``max_runs`` runs the table goes without any; in whole-game mobility there is nothing to keep.
    ``after_phase`` is called with every phase.

    :raises ValueError: if ``wide`` is asked of a table with en passant positions.
    :raises OverflowError: if a value has no code or a depth no room; no material of five men comes near.
    """
    layout, stages = layout_of(material), stages or Stages()
    en_passant = len(en_passant_configs(layout)) > 0
    if wide and en_passant:
        raise ValueError(f"{material} has en passant positions: it cannot be solved wide")
    if wide is None:
        wide = is_wide(layout)
    clock = time.perf_counter()
    loader = PoolLoader(layout, sources)
    stages.add("sub-tables", clock)
    solver = _TableSolver(layout, loader, variant, threads, progress, stages)
    if variant.resets and max_runs != 0:
        solver.keep_accrued(accrued, max_runs, side)
    solver.after_phase = after_phase
    solver.run(wide)
    clock = time.perf_counter()
    table = solver.table()
    stages.add("assemble", clock)
    return table


class _TableSolver:
    """One run over all phases of a table."""

    def __init__(
        self,
        layout: Layout,
        loader: PoolLoader,
        variant: Variant,
        threads: int,
        progress: Progress,
        stages: Stages,
    ) -> None:
        self.variant = variant
        self.after_phase: AfterPhase | None = None
        self.keep = NOTHING
        self.max_runs: int | None = None
        self.kept = 0
        self.functions: FunctionBook | None = None
        self.layout, self.loader, self.stages, self.progress = layout, loader, stages, progress
        self.pool = loader.pool
        self.configs = en_passant_configs(layout)
        self.runs_of: dict[int, list[Runs]] = {}
        self.canonical = np.empty((len(layout.placements), layout.phase_size // 64), np.uint64)
        self.threads = ThreadPoolExecutor(threads)
        self.sweeps = WideSweeps(threads)
        self._lock = threading.Lock()
        self.width = threads

    def keep_accrued(self, form: AccruedForm, max_runs: int | None, side: Side) -> None:
        """Say what to keep of accrued scores."""
        self.max_runs = max_runs
        if form is AccruedForm.RUNS:
            self.keep = RUNS
        elif form is AccruedForm.FUNCTIONS:
            self.keep = FUNCTIONS
            self.functions = FunctionBook(self.layout, side)

    def run(self, wide: bool) -> None:
        """Solve all phases; those with equally many pawn steps left are independent of each other."""
        idle: SimpleQueue[Workspace] = SimpleQueue()
        for _ in range(1 if wide else min(self.width, len(self.layout.placements))):
            idle.put(make_workspace(self.layout, self.variant, min(self.width, MAX_PARTS) if wide else 1))
        phases, done = len(self.layout.placements), 0
        try:
            for group in phase_groups(self.layout):
                clock = time.perf_counter()
                self.loader.prepare(group, self.threads.map)
                self.stages.add("sub-tables", clock)
                jobs = [] if wide else [self.threads.submit(self._solve, phase, idle) for phase in group]
                for number, phase in enumerate(group):
                    if wide:
                        self._solve_wide(phase, idle)
                    else:
                        jobs[number].result()
                    done += 1
                    self.progress("phases", done, phases)
        finally:
            # After an interruption nobody wants to wait for the kernels that are still at work.
            self.threads.shutdown(wait=done == phases, cancel_futures=True)
            self.sweeps.close(wait=done == phases)

    def _check(self, workspace: Workspace, rank: int) -> None:
        """Count the layers of a phase whose first rank without a layer is ``rank``; check that all fits."""
        if max(attacker.scratch.deepest[0] for attacker in (workspace.white, workspace.black)) > MAX_DEPTH:
            raise OverflowError(f"{self.layout.material}: depths beyond {MAX_DEPTH} plies have no room")
        if rank > MAX_CODED_RANK + 1:
            raise OverflowError(f"{self.layout.material}: scores of rank {rank - 1} have no code in a table")
        if self.variant.resets:
            with self._lock:
                self.stages.layers = max(self.stages.layers, 2 * (rank - FIRST_LAYER))

    def _begin(self, phase: int, workspace: Workspace, run: Map = map) -> tuple[NDArray[np.int64], bool]:
        place_pawns(workspace.frame, self.layout, phase)
        self.loader.clear(phase, run)
        at = phase * self.layout.phase_size
        return np.array([at, self.layout.size + at]), mirrors_itself(self.layout, phase)

    def _solve(self, phase: int, idle: "SimpleQueue[Workspace]") -> None:
        """Solve one phase on one thread."""
        workspace = idle.get()
        try:
            starts, mirrored = self._begin(phase, workspace)
            clock = time.perf_counter()
            legal_words(workspace.frame, workspace.phase.legal, 0, workspace.frame.words)
            count_moves(workspace, self.pool, mirrored, 0, workspace.frame.words)
            self.canonical[phase] = workspace.phase.canonical
            clock = self.stages.add("moves", clock)
            rows = np.flatnonzero(self.configs[:, 0] == phase).tolist()
            fresh = SweepResults(self.pool.value, self.pool.depth, starts)
            ranks = NarrowPhase(workspace, self.pool, fresh, self._records(phase), self.keep)
            rank = ranks.solve_all([EnPassant(row, int(self.configs[row, 1])) for row in rows])
            self.stages.add("layers", clock)
            self._check(workspace, rank)
            self._keep(phase, workspace, ranks.records, wide=False)
            del ranks  # others need the room of its events
            self._look(phase, workspace, 1, map)
        finally:
            idle.put(workspace)

    def _solve_wide(self, phase: int, idle: "SimpleQueue[Workspace]") -> None:
        """Solve one phase on all threads."""
        workspace = idle.get()
        starts, mirrored = self._begin(phase, workspace, self.threads.map)
        ranks = WidePhase(
            workspace,
            self.pool,
            SweepResults(self.pool.value, self.pool.depth, starts),
            mirrored=mirrored,
            threads=self.threads,
            width=self.width,
            sweeps=self.sweeps,
            stages=self.stages,
        )
        self.canonical[phase] = workspace.phase.canonical
        records = list(self._records(phase))
        rank = 0
        while ranks.decide(rank):
            if rank >= FIRST_LAYER and self.variant.resets:
                records = ranks.solve(rank, records, self.keep)
                if not self._room_for(sum(int(record.log.length[0]) for record in records)):
                    records = list(self._records(phase))
            ranks.leave(rank)
            self.progress("layer" if self.variant.resets else "rank", rank, 0)
            rank += 1
        del ranks  # others need the room of its events
        self._check(workspace, rank)
        clock = time.perf_counter()
        self._keep(phase, workspace, records, wide=True)
        del records
        self.stages.add("accrued scores", clock)
        self._look(phase, workspace, 4 * self.width, self.threads.map)
        idle.put(workspace)

    def _records(self, phase: int) -> tuple[SweepRecord, SweepRecord]:
        """Empty records of the inner sweeps of both attackers, White's first: of Black's and of White's A."""
        size = self.layout.phase_size
        none = np.empty(0, np.uint32)
        by_black, by_white, side = none, none, 0
        if self.functions is not None:
            side = int(self.functions.side)
            by_black, by_white = zeros(size, np.uint32), self.functions.of_phase(phase)
        return empty_record(self.keep, size, by_black, side), empty_record(self.keep, size, by_white, side)

    def _look(self, phase: int, workspace: Workspace, parts: int, run: Map) -> None:
        """Show a solved phase to who wants to see it."""
        if self.after_phase is not None:
            clock = time.perf_counter()
            self.after_phase(phase, workspace, self.pool, parts, run)
            self.stages.add("one ply", clock)

    def _room_for(self, more: int) -> bool:
        """Whether so many runs more may be kept; if not, all are given up."""
        if self.keep == RUNS and self.max_runs is not None and self.kept + more > self.max_runs:
            self.keep = NOTHING
            self.runs_of.clear()
        return self.keep != NOTHING

    def _keep(self, phase: int, workspace: Workspace, records: Sequence[SweepRecord], wide: bool) -> None:
        """Keep the runs or functions of a solved phase."""
        of_black, of_white = records
        size, words = self.layout.phase_size, workspace.frame.words
        run: Map = self.threads.map if wide else map
        if self.functions is not None:
            first = self.functions.side * self.layout.size + phase * size
            fresh = self.pool.value[first : first + size]
            edges = np.linspace(0, words, (self.width if wide else 1) + 1).astype(int).tolist()
            both = of_white.paths, of_black.paths
            self.functions.add(workspace.phase, both, fresh, pairwise(edges), run)
        elif self.keep == RUNS:
            starts = np.array([phase * size, self.layout.size + phase * size])
            solved = SweepResults(self.pool.value, self.pool.depth, starts)
            runs = list(run(lambda record: weave(record.log, words, solved), (of_white, of_black)))
            with self._lock:
                more = sum(len(each.rank) for each in runs)
                if self._room_for(more):
                    self.kept += more
                    self.runs_of[phase] = runs

    def table(self) -> Table:
        """Put the results together; canonical slots only."""
        layout, pool = self.layout, self.pool
        size, phases, rights = layout.size, len(layout.placements), len(self.configs)
        ep = slice(pool.targets.ep_offset, pool.targets.ep_offset + rights * layout.phase_size)
        ep_value = pool.value[ep].reshape(rights, layout.phase_size).copy()
        ep_depth = pool.depth[ep].reshape(rights, layout.phase_size).copy()
        # The table's own slots are the first of the pool; the rest of its memory is given back.
        pool.value.resize(2 * size, refcheck=False)
        pool.depth.resize(2 * size, refcheck=False)
        value, depth = pool.value.reshape(2, size), pool.depth.reshape(2, size)
        others = np.unpackbits(~self.canonical.view(np.uint8), axis=1, bitorder="little").view(bool)
        for side in (0, 1):
            _blank(value[side], depth[side], others.reshape(-1))
        for row, (phase, _) in enumerate(self.configs):
            _blank(ep_value[row], ep_depth[row], others[phase])
        mask = np.zeros((2, 2, phases, layout.phase_size // 64 if self.keep == RUNS else 0), np.uint64)
        parts: list[tuple[Runs, slice]] = []
        for holder, side, phase in product((0, 1), (0, 1), sorted(self.runs_of)):
            runs = self.runs_of[phase][holder]
            mask[holder, side, phase] = runs.mask[side]
            parts.append((runs, slice(runs.white) if side == 0 else slice(runs.white, None)))
        rank = np.concatenate([np.empty(0, np.uint8), *(runs.rank[part] for runs, part in parts)])
        run_value = np.concatenate([np.empty(0, np.uint8), *(runs.value[part] for runs, part in parts)])
        run_depth = np.concatenate([np.empty(0, np.uint16), *(runs.depth[part] for runs, part in parts)])
        return Table(
            layout.material, self.variant, value, depth, mask.reshape(2, 2, -1), rank, run_value, run_depth,
            self.configs, ep_value, ep_depth, self.functions.finish() if self.functions else None,
        )  # fmt: skip


def _blank(value: NDArray[np.uint8], depth: NDArray[np.uint16], where: NDArray[np.bool_]) -> None:
    value[where] = NONE
    depth[where] = 0
