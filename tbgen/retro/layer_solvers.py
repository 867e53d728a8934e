"""Making layers from fresh values: a single layer, or all layers of a table in order.

A table may be built without the values for accrued scores A, because all its layers together would be large.
Any single layer follows from the fresh values (section 4 of docs/theory.md). Positions that are decided, or
whose position rank is below the rank of A, are not in the layer and have their fresh values. One sweep of one
attacker assigns the values of all other positions.

If all layers are needed, it is much faster to derive each layer from the previous one, as the solver does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.index.layout import SIDES, Layout
from tbgen.index.table import ArrayTable, SolvedTable, Source, Table
from tbgen.index.zeroing import max_phases_of_batch, max_slots_of_batch, phase_groups
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER
from tbgen.retro.kernels.phase import BatchLayer, copy_layer, solve_layer
from tbgen.retro.pool import PoolLoader
from tbgen.retro.ranks import MAX_PARTS, Crew, StageTimes, find_moves, start_phase, store_fresh
from tbgen.retro.workspace import make_exits, make_workspace, mirrors_itself, place_pawns, zeros

Batch = tuple[int, int]
"""A half-open range of phases that are solved at the same time."""

Layer: TypeAlias = BatchLayer
"""A layer of a batch.

``present``, uint64 (2, slots / 64), is the set of canonical positions in the layer: their position score and
fresh value both have at least the rank of A. For these positions, ``value``, uint8 (2, slots), contains codes
of V(P, A), and ``depth``, uint16 (2, slots), contains D(P, A) in plies. Other elements are meaningless."""

_LAYER_PAIRS: Final = 2
"""Number of pairs of layers in memory: the caller reads one pair while the other pair is solved."""


class EveryLayer:
    """Solves a table again, batch by batch, and yields all its layers. It is a context manager.

    :param table: the solved table; only its en passant positions are read.
    :param sources: the tables of all successors.
    """

    def __init__(self, table: Table, sources: Mapping[Material, Source], *, threads: int = 2) -> None:
        self._layout = layout = table.layout
        self._loader = PoolLoader(layout, sources)
        stored = ArrayTable(table.value, table.depth, table.ep_value, table.ep_depth)
        self._loader.load_en_passant(stored, range(len(layout.placements)))
        self._phases_per_batch = max_phases_of_batch(layout)
        self._groups = phase_groups(layout)
        self._crew = Crew(threads, StageTimes())
        parts = min(threads, MAX_PARTS) if self._phases_per_batch == 1 else 1
        max_slots = max_slots_of_batch(layout)
        self._workspaces = [
            make_workspace(layout, Variant.R_MOBILITY, parts, self._loader.pool)
            for _ in range(max_slots // layout.phase_size)
        ]
        self._buffers = [(_flat_layer(max_slots), _flat_layer(max_slots)) for _ in range(_LAYER_PAIRS)]

    def __enter__(self) -> "EveryLayer":
        return self

    def __exit__(self, *exception: object) -> None:
        self._crew.close(wait=True)

    @property
    def batches(self) -> list[Batch]:
        """The batches that cover all phases, in the order in which they must be solved."""
        return [
            (first, min(first + self._phases_per_batch, group[-1] + 1))
            for group in self._groups
            for first in group[:: self._phases_per_batch]
        ]

    def layers(self, batch: Batch) -> Iterator[tuple[Layer, Layer]]:
        """Yield, for rank 2, then 3 and so on, the layers of White's and of Black's accrued score of this
        rank, until the layers are empty.

        A pair remains unchanged until the second pair after it is requested. The iterator must be exhausted,
        because later batches depend on this one.
        """
        first, last = batch
        for group in self._groups:
            if group[0] == first:
                self._loader.keep_only(group)
                self._loader.load_blocks(group, self._crew.threads.map)
        slots = (last - first) * self._layout.phase_size
        pairs = [(_first_slots(white, slots), _first_slots(black, slots)) for white, black in self._buffers]
        # If a batch has only one phase, all threads solve it.
        crew, mapper = (self._crew, map) if self._phases_per_batch == 1 else (None, self._crew.threads.map)
        phases = [self._solve_phase(phase, phase - first, crew, pairs) for phase in range(first, last)]
        rank = 0
        while any(list(mapper(next, phases))):
            if rank >= FIRST_LAYER:
                yield pairs[rank % _LAYER_PAIRS]
            rank += 1

    def _solve_phase(
        self, phase: int, number: int, crew: Crew | None, pairs: Sequence[tuple[Layer, Layer]]
    ) -> Iterator[bool]:
        """Solve a phase rank by rank and copy its layers to ``pairs``; for each rank, yield whether any
        position is in its layers.

        :param number: index of the phase in its batch.
        """
        layout, pool, workspace = self._layout, self._loader.pool, self._workspaces[number]
        place_pawns(workspace.frame, layout, phase)
        ranks = start_phase(workspace, pool, mirrors_itself(layout, phase), crew).solve_ranks()
        empty_pairs, any_alive = 0, True
        for rank in count():
            if any_alive and not (any_alive := next(ranks, None) is not None):
                store_fresh(workspace, self._loader, phase, *(crew.shares if crew else (1,)))
            # Once no position is in the layers, each pair is overwritten once with empty layers.
            if rank >= FIRST_LAYER and empty_pairs < _LAYER_PAIRS:
                for holder, layer in zip(SIDES, pairs[rank % _LAYER_PAIRS], strict=True):
                    attacker = workspace.attackers[1 - holder]
                    copy_layer(attacker, rank, number * layout.phase_size, layer)
                empty_pairs += not any_alive
            yield any_alive


def _flat_layer(slots: int) -> BatchLayer:
    """Return one-dimensional arrays for a layer of ``slots`` slots; :func:`_first_slots` shapes them."""
    return BatchLayer(
        zeros(2 * slots, np.uint8), zeros(2 * slots, np.uint16), zeros(2 * slots // 64, np.uint64)
    )


def _first_slots(layer: BatchLayer, slots: int) -> BatchLayer:
    """Return the beginning of the arrays of a flat layer, in the shape of a layer of ``slots`` slots."""
    return BatchLayer(
        layer.value[: 2 * slots].reshape(2, -1),
        layer.depth[: 2 * slots].reshape(2, -1),
        layer.present[: slots // 32].reshape(2, -1),
    )


class LayerSolver:
    """Solves single layers of one phase of a table from its fresh values.

    :param table: the table, built without accrued scores.
    :param sources: the tables of all successors.
    :raises DamagedTableError: if one of these tables cannot be decoded.
    """

    def __init__(
        self, table: SolvedTable, layout: Layout, phase: int, sources: Mapping[Material, Source], threads: int
    ) -> None:
        loader = PoolLoader(layout, sources, table)
        loader.load_blocks([phase])
        loader.load_solved_phase(phase)
        self._phase_size = layout.phase_size
        pool = loader.pool
        self._fresh = loader.fresh_results(phase)
        # Each layer needs the exits again, so they must not share arrays with the results.
        workspace = make_workspace(layout, Variant.R_MOBILITY)
        self._workspace = replace(workspace, exits=make_exits(2 * 64 * workspace.frame.words))
        place_pawns(self._workspace.frame, layout, phase)
        with Crew(threads, StageTimes()) as crew:
            find_moves(self._workspace, pool, mirrors_itself(layout, phase), *crew.shares)

    def solve(self, accrued: GScore) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return codes of V(P, A) and depths D(P, A) in plies, shape (2, phase size) each.

        Only the canonical slots of the positions in the layer have values. Their position score and fresh
        value both have at least the rank of A. Elsewhere the code is ``NONE``.
        """
        value = np.full((2, self._phase_size), NONE, np.uint8)
        depth = np.zeros((2, self._phase_size), np.uint16)
        holder = 0 if accrued.white else 1
        solve_layer(self._workspace, holder, int(accrued.rank), True, self._fresh, value, depth)
        return value, depth
