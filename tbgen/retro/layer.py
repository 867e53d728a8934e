"""One layer alone: the values of one accrued score in one phase, from the table's fresh values.

A table may have been built without accrued scores, because all its layers together would be large. Any one of
them follows from the fresh values (section 4 of docs/theory.md): positions that are decided, or whose own
score has a smaller rank than A, leave the layer with their fresh value; one sweep of one attacker does the
rest.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.index.layout import Layout
from tbgen.index.source import Source, StoredTable
from tbgen.retro.kernels.single_layer import solve_layer
from tbgen.retro.pool import PoolLoader
from tbgen.retro.ranks import find_moves
from tbgen.retro.workspace import make_workspace, mirrors_itself, place_pawns, room_for_exits


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
