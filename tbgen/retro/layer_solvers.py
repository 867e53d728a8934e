"""Solving layers of a finished table: a single layer, or all layers in order.

Tables of five men do not store all depths for accrued scores A, because all layers together would be large.
Any single layer follows from the fresh values (section 4 of docs/theory.md). Positions that are decided, or
whose position rank is below the rank of A, are not in the layer and have their fresh values. One sweep of one
attacker assigns the values of the other positions; those that it does not assign have the value A.

If all layers are needed, it is much faster to solve the table again rank by rank, as a build does.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.compiler.jit import with_fixed_types
from tbgen.index.layout import SIDES, Layout, Side
from tbgen.index.table import SolvedTable, Source, Table
from tbgen.index.zeroing import (
    Block,
    batches_of,
    blocks_after_promotions,
    max_phases_of_batch,
    max_slots_of_batch,
    phases_after_pawn_steps,
)
from tbgen.moves.frames import make_exits, mirrors_itself, place_pawns
from tbgen.moves.pool import Map, PoolLoader
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER, Workspace
from tbgen.retro.kernels.phase import LayerPart, copy_layer, solve_layer
from tbgen.retro.kernels.sweep import SweepResults
from tbgen.retro.ranks import MAX_PARTS, Crew, StageTimes, find_moves, start_phase
from tbgen.retro.workspace import make_workspace

Batch = tuple[int, int]
"""A half-open range of phases that are solved at the same time."""

_MAX_PART_SLOTS: Final = 64**3
"""Maximum number of slots of a part of a layer, for each side to move."""


class EveryLayer(AbstractContextManager["EveryLayer"]):
    """Solves a table again, batch by batch and rank by rank, for callers that read the layers.

    It is a context manager.

    :param table: the solved table. Only the phases that pawn moves lead to are read from it.
    :param sources: the tables of all successors.
    """

    def __init__(self, table: Table, sources: Mapping[Material, Source], *, threads: int = 2) -> None:
        self._layout = layout = table.layout
        self._loader = PoolLoader(layout, sources, table)
        self._phases_per_batch = max_phases_of_batch(layout)
        self._crew = Crew(threads, StageTimes())
        parts = min(threads, MAX_PARTS) if self._phases_per_batch == 1 else 1
        self._workspaces = [
            make_workspace(layout, Variant.R_MOBILITY, parts, self._loader.pool)
            for _ in range(max_slots_of_batch(layout) // layout.phase_size)
        ]
        self.part_slots: Final = min(_MAX_PART_SLOTS, layout.phase_size)
        """Number of slots of a part of a layer; parts of this size divide a phase."""
        self._blocks: list[Block] = []
        """The blocks in the pool that promotions lead to."""
        self._rank = FIRST_LAYER
        self._copy_layer = with_fixed_types(copy_layer)

    def __exit__(self, *exception: object) -> None:
        self._crew.close(wait=True)

    @property
    def batches(self) -> list[Batch]:
        """The batches that cover all phases, in the order in which they must be solved."""
        return batches_of(self._layout)

    def ranks(self, batch: Batch) -> Iterator[int]:
        """Solve a batch, and yield each rank, from 2 on, whose layers contain positions.

        :meth:`read` returns the layers of this rank until the next one is requested.
        """
        start, stop = batch
        blocks = blocks_after_promotions(self._layout, range(start, stop))
        if blocks != self._blocks:
            self._loader.clear()
            self._loader.load_blocks(range(start, stop), self._crew.phase_threads.map)
            self._blocks = blocks
        steps = (phases_after_pawn_steps(self._layout, phase) for phase in range(start, stop))
        self._loader.load_solved(set().union(*steps))
        # If a batch has only one phase, all threads solve it.
        crew = self._crew if self._phases_per_batch == 1 else None
        map_phases: Map = map if crew else self._crew.phase_threads.map
        phases = [
            self._solve_phase(phase, workspace, crew)
            for phase, workspace in zip(range(start, stop), self._workspaces, strict=False)
        ]
        self._rank = 0
        while any(list(map_phases(next, phases))):
            if self._rank >= FIRST_LAYER:
                yield self._rank
            self._rank += 1

    def read(self, holder: Side, part_number: int) -> LayerPart:
        """Return a part of the layer of the accrued score that has the current rank and this holder.

        :param part_number: number of the part, counted from the beginning of the batch.
        """
        phase, first_slot = divmod(part_number * self.part_slots, self._layout.phase_size)
        shape = len(SIDES), self.part_slots
        present = np.empty((len(SIDES), self.part_slots // 64), np.uint64)
        part = LayerPart(np.empty(shape, np.uint8), np.empty(shape, np.uint16), present)
        self._copy_layer(self._workspaces[phase].attackers[1 - holder], self._rank, first_slot, part)
        return part

    def _solve_phase(self, phase: int, workspace: Workspace, crew: Crew | None) -> Iterator[bool]:
        """Solve a phase rank by rank; for each rank, yield whether any position is in its layers."""
        layout, pool = self._layout, self._loader.pool
        place_pawns(workspace.frame, layout, phase)
        yield from (
            True for _ in start_phase(workspace, pool, mirrors_itself(layout, phase), crew).solve_ranks()
        )
        yield from repeat(False)


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
        loader.load_solved({phase, *phases_after_pawn_steps(layout, phase)})
        self._phase_size = layout.phase_size
        pool = loader.pool
        self._fresh = SweepResults(pool.value, pool.depth, pool.targets.start[phase].copy())
        # Each layer needs the exits again, so they must not share arrays with the results.
        workspace = make_workspace(layout, Variant.R_MOBILITY)
        self._workspace = replace(workspace, exits=make_exits(2 * 64 * workspace.frame.words))
        place_pawns(self._workspace.frame, layout, phase)
        with Crew(threads, StageTimes()) as crew:
            find_moves(self._workspace, pool, mirrors_itself(layout, phase), *crew.division)

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
