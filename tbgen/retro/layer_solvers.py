"""Layers from fresh values: one alone, or every layer of a table, one after the other.

A table may have been built without accrued scores, because all its layers together would be large. Any one of
them follows from the fresh values (section 4 of docs/theory.md): positions that are decided, or whose own
score has a smaller rank than A, leave the layer with their fresh value; one sweep of one attacker does the
rest.

All layers together take much less time as the solver makes them, each from the one before.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.index.layout import SIDES, Layout
from tbgen.index.table import ArrayTable, Source, StoredTable, Table
from tbgen.index.zeroing import phase_groups, phases_of_window, slots_of_window
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER
from tbgen.retro.kernels.phase import NOTHING, WindowLayer, empty_record, show_layer, solve_layer
from tbgen.retro.pool import PoolLoader
from tbgen.retro.ranks import MAX_PARTS, Crew, PhaseSolver, Stages, WidePhaseSolver, find_moves
from tbgen.retro.workspace import make_workspace, mirrors_itself, place_pawns, room_for_exits, zeros

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
        self._loader = PoolLoader(layout, sources)
        whole = ArrayTable(table.value, table.depth, table.ep_value, table.ep_depth)
        self._loader.recall_en_passant(whole, range(len(layout.placements)))
        self._most = phases_of_window(layout)
        self._groups = phase_groups(layout)
        self._crew = Crew(threads, Stages())
        parts = min(threads, MAX_PARTS) if self._most == 1 else 1
        most = slots_of_window(layout)
        self._workspaces = [
            make_workspace(layout, Variant.R_MOBILITY, parts) for _ in range(most // layout.phase_size)
        ]
        self._room = [(_empty(most), _empty(most)) for _ in range(_SHOWN)]

    def __enter__(self) -> "EveryLayer":
        return self

    def __exit__(self, *exception: object) -> None:
        self._crew.close(wait=True)

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
                self._loader.prepare(group, self._crew.threads.map)
        slots = (last - first) * self._layout.phase_size
        pairs = [(_part(white, slots), _part(black, slots)) for white, black in self._room]
        # A phase alone has all threads.
        crew, run = (self._crew, map) if self._most == 1 else (None, self._crew.threads.map)
        phases = [self._show(phase, phase - first, crew, pairs) for phase in range(first, last)]
        rank = 0
        while any(list(run(next, phases))):
            if rank >= FIRST_LAYER:
                yield pairs[rank % _SHOWN]
            rank += 1

    def _show(
        self, phase: int, number: int, crew: Crew | None, pairs: Sequence[tuple[Layer, Layer]]
    ) -> Iterator[bool]:
        """Solve a phase, which is one of that number in its window, rank by rank, and show its layers; yield
        whether any position is in them."""
        layout, pool, workspace = self._layout, self._loader.pool, self._workspaces[number]
        place_pawns(workspace.frame, layout, phase)
        self._loader.clear(phase)
        parts, run = (4 * crew.width, crew.threads.map) if crew else (1, map)
        find_moves(workspace, pool, mirrors_itself(layout, phase), parts, run)
        none = empty_record(NOTHING, layout.phase_size, np.empty(0, np.uint32), 0)
        given = workspace, pool, self._loader.fresh(phase), (none, none)
        ranks = (WidePhaseSolver(*given, crew) if crew else PhaseSolver(*given)).ranks()
        empty = 0
        for rank in count():
            left = next(ranks, None) is not None
            # Where nothing is left, every pair has to be told once.
            if rank >= FIRST_LAYER and empty < _SHOWN:
                for holder, shown in zip(SIDES, pairs[rank % _SHOWN], strict=True):
                    attacker = workspace.attackers[1 - holder]
                    show_layer(attacker, rank, number * layout.phase_size, shown)
                empty += not left
            yield left


def _empty(slots: int) -> WindowLayer:
    """Return room for a layer, as flat arrays."""
    return WindowLayer(
        zeros(2 * slots, np.uint8), zeros(2 * slots, np.uint16), zeros(2 * slots // 64, np.uint64)
    )


def _part(room: WindowLayer, slots: int) -> WindowLayer:
    """Return room for a layer of so many slots, which is part of a larger one."""
    return WindowLayer(
        room.value[: 2 * slots].reshape(2, -1),
        room.depth[: 2 * slots].reshape(2, -1),
        room.there[: slots // 32].reshape(2, -1),
    )


class LayerSolver:
    """Solves layers of one phase of a table, one after the other, from its fresh values.

    :param table: the table that was built without accrued scores.
    :param sources: every successor's table.
    :raises DamagedTableError: if one of them does not decode.
    """

    def __init__(
        self, table: StoredTable, layout: Layout, phase: int, sources: Mapping[Material, Source], threads: int
    ) -> None:
        loader = PoolLoader(layout, sources, table)
        loader.prepare([phase])
        loader.recall(phase)
        self._phase_size = layout.phase_size
        pool = loader.pool
        self._fresh = loader.fresh(phase)
        # Layers are solved one after the other, so the exits need room of their own.
        exits = room_for_exits(2 * layout.phase_size)
        self._workspace = replace(make_workspace(layout, Variant.R_MOBILITY), exits=exits)
        place_pawns(self._workspace.frame, layout, phase)
        with ThreadPoolExecutor(threads) as executor:
            mirrored = mirrors_itself(layout, phase)
            find_moves(self._workspace, pool, mirrored, 4 * threads, executor.map)

    def solve(self, accrued: GScore) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return codes of V(P, A) and depths D(P, A), shape (2, phase size) each.

        They stand at the canonical slots of the positions that A, their own score and their fresh value leave
        undecided: both scores have at least the rank of A. Elsewhere the code is ``NONE``.
        """
        value = np.full((2, self._phase_size), NONE, np.uint8)
        depth = np.zeros((2, self._phase_size), np.uint16)
        holder = 0 if accrued.white else 1
        solve_layer(self._workspace, holder, int(accrued.rank), True, self._fresh, value, depth)
        return value, depth
