"""Every layer of a table, one after the other, by solving it once more.

A layer that is made alone (``tbgen.retro.layer``) takes a sweep of its own. Who wants them all gets them in
much less time as the solver does: each follows from the one before.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeAlias

import numpy as np

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.jit import int64
from tbgen.index.layout import SIDES, Layout
from tbgen.index.source import ArrayTable, Source
from tbgen.index.table import Table
from tbgen.index.zeroing import phase_groups, phases_of_window, slots_of_window
from tbgen.retro.cache_lines import zeros
from tbgen.retro.kernels.every_layer import WindowLayer, show_layer
from tbgen.retro.kernels.frame import legal_words
from tbgen.retro.kernels.layers import FIRST_LAYER
from tbgen.retro.kernels.phase import (
    NOTHING,
    SweepRecord,
    Workspace,
    count_moves,
    empty_record,
)
from tbgen.retro.kernels.sweep import SweepResults
from tbgen.retro.narrow import NarrowPhase
from tbgen.retro.pool import PoolLoader
from tbgen.retro.stages import Stages
from tbgen.retro.wide import MAX_PARTS, WidePhase, WideSweeps
from tbgen.retro.workspace import make_workspace, mirrors_itself, place_pawns

Window = tuple[int, int]
"""First phase and the one behind the last."""

Layer: TypeAlias = WindowLayer
"""A layer of a window. ``there``, uint64 (2, slots / 64), are the canonical positions that A, their own score
and their fresh value leave undecided: both scores have at least the rank of A. At these, ``value`` uint8 and
``depth`` uint16 (2, slots) have codes of V(P, A) and depths D(P, A), and elsewhere nothing that counts."""

_SHOWN: Final = 2
"""Pairs of layers that there is room for: one to look at, and one that is being solved meanwhile."""


class EveryLayer:
    """Solves a table window by window of phases and shows all layers; use it as a context manager.

    :param table: the table as it was solved before; only its en passant positions are read.
    :param sources: every successor's table.
    """

    def __init__(self, table: Table, sources: Mapping[Material, Source], *, threads: int = 2) -> None:
        self._layout = layout = table.layout
        self._width = threads
        self._loader = PoolLoader(layout, sources)
        whole = ArrayTable(table.value, table.depth, table.ep_value, table.ep_depth)
        self._loader.recall_en_passant(whole, range(len(layout.placements)))
        self._most = phases_of_window(layout)
        self._groups = phase_groups(layout)
        self._threads, self._sweeps = ThreadPoolExecutor(threads), WideSweeps(threads)
        parts = min(threads, MAX_PARTS) if self._most == 1 else 1
        most = slots_of_window(layout)
        self._workspaces = [
            make_workspace(layout, Variant.R_MOBILITY, parts) for _ in range(most // layout.phase_size)
        ]
        self._room = [(_empty(most), _empty(most)) for _ in range(_SHOWN)]

    def __enter__(self) -> "EveryLayer":
        return self

    def __exit__(self, *exception: object) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._sweeps.close(wait=True)

    @property
    def windows(self) -> list[Window]:
        """All phases in the order in which they are to be solved."""
        return [
            (first, min(first + self._most, group[-1] + 1))
            for group in self._groups
            for first in group[:: self._most]
        ]

    def layers(self, window: Window) -> Iterator[tuple[Layer, Layer]]:
        """Yield the layers of White's and of Black's accrued score of rank 2, then 3 and so on, until no
        position is in them; go on to the end, for later windows rest on this one.

        A pair stays as it is until the second one after it is asked for.
        """
        first, last = window
        for group in self._groups:
            if group[0] == first:
                self._loader.prepare(group, self._threads.map)
        slots = (last - first) * self._layout.phase_size
        pairs = [(_within(white, slots), _within(black, slots)) for white, black in self._room]
        ranks, rank = self._begin(range(first, last)), 0
        while ranks.take(rank, pairs[rank % _SHOWN]):
            if rank >= FIRST_LAYER:
                yield pairs[rank % _SHOWN]
            rank += 1

    def _begin(self, phases: range) -> "_Ranks":
        begun = [
            _Begun(self._layout, self._loader, phase, number, self._workspaces[number])
            for number, phase in enumerate(phases)
        ]
        if self._most == 1:
            return _Wide(begun[0], self._threads, self._width, self._sweeps)
        return _Narrow(begun, self._threads)


class _Ranks(Protocol):
    """The phases of a window while they are solved rank by rank."""

    def take(self, rank: int, by_holder: tuple[WindowLayer, WindowLayer]) -> bool:
        """Solve a rank, from 0 on, show its layers and leave it; return whether any position was in them."""


class _Begun:
    """A phase whose workspace is set up.

    :param number: of the phase in its window.
    """

    def __init__(
        self, layout: Layout, loader: PoolLoader, phase: int, number: int, workspace: Workspace
    ) -> None:
        place_pawns(workspace.frame, layout, phase)
        loader.clear(phase)
        at = phase * layout.phase_size
        self.workspace, self.pool = workspace, loader.pool
        self.fresh = SweepResults(self.pool.value, self.pool.depth, np.array([at, layout.size + at]))
        self.mirrored = mirrors_itself(layout, phase)
        self.at = int64(number * layout.phase_size)
        self.records = _nothing_kept(layout), _nothing_kept(layout)


class _Wide:
    """One phase, on all threads."""

    def __init__(self, begun: _Begun, threads: ThreadPoolExecutor, width: int, sweeps: WideSweeps) -> None:
        self._begun, self._threads = begun, threads
        self._records = list(begun.records)
        self._phase = WidePhase(
            begun.workspace,
            begun.pool,
            begun.fresh,
            mirrored=begun.mirrored,
            threads=threads,
            width=width,
            sweeps=sweeps,
            stages=Stages(),
        )

    def take(self, rank: int, by_holder: tuple[WindowLayer, WindowLayer]) -> bool:
        left = self._phase.decide(rank)
        if left and rank >= FIRST_LAYER:
            self._phase.solve(rank, self._records, NOTHING)
            workspace, at = self._begun.workspace, self._begun.at
            jobs = [
                self._threads.submit(show_layer, workspace, int64(1 - holder), int64(rank), at, shown)
                for holder, shown in zip(SIDES, by_holder, strict=True)
            ]
            for job in jobs:
                job.result()
        if left:
            self._phase.leave(rank)
        return left


class _Narrow:
    """Several phases, each on one thread."""

    def __init__(self, phases: list[_Begun], threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._phases = list(threads.map(_OneNarrow, phases))

    def take(self, rank: int, by_holder: tuple[WindowLayer, WindowLayer]) -> bool:
        # Where nothing is left, every pair has to be told once.
        self._phases = [phase for phase in self._phases if phase.empty < _SHOWN]
        return any(list(self._threads.map(lambda phase: phase.take(rank, by_holder), self._phases)))


class _OneNarrow:
    """One of these phases."""

    def __init__(self, begun: _Begun) -> None:
        self._begun = begun
        self.empty = 0
        """How many pairs of layers have been shown without any position."""
        workspace = begun.workspace
        words = workspace.frame.words
        legal_words(workspace.frame, workspace.phase.legal, 0, words)
        count_moves(workspace, begun.pool, begun.mirrored, 0, words)
        self._phase = NarrowPhase(workspace, begun.pool, begun.fresh, begun.records, NOTHING)

    def take(self, rank: int, by_holder: tuple[WindowLayer, WindowLayer]) -> bool:
        """Do for this phase what the window's ``take`` does."""
        workspace, at = self._begun.workspace, self._begun.at
        left = not self.empty and self._phase.solve()
        if rank >= FIRST_LAYER:
            for holder, shown in zip(SIDES, by_holder, strict=True):
                show_layer(workspace, int64(1 - holder), int64(rank), at, shown)
        if left:
            self._phase.leave()
        self.empty += not left and rank >= FIRST_LAYER
        return left


def _empty(slots: int) -> WindowLayer:
    """Return room for a layer, as flat arrays."""
    return WindowLayer(
        zeros(2 * slots, np.uint8), zeros(2 * slots, np.uint16), zeros(2 * slots // 64, np.uint64)
    )


def _within(room: WindowLayer, slots: int) -> WindowLayer:
    """Return room for a layer of so many slots, which is part of a larger one."""
    return WindowLayer(
        room.value[: 2 * slots].reshape(2, -1),
        room.depth[: 2 * slots].reshape(2, -1),
        room.there[: slots // 32].reshape(2, -1),
    )


def _nothing_kept(layout: Layout) -> SweepRecord:
    return empty_record(NOTHING, layout.phase_size, np.empty(0, np.uint32), 0)
