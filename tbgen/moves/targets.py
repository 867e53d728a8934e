"""The tables that zeroing moves lead to, as kernels read them. This module does not import numba."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS
from tbgen.board.material import MAX_MEN, Material
from tbgen.index.layout import IMAGE, MIRROR_FILES, Layout, layout_of
from tbgen.index.zeroing import CAPTURED_PAWN, targets_of
from tbgen.moves.structs import Targets


@cache
def _phases_by_squares(layout: Layout) -> NDArray[np.int32]:
    """Return an array in the form of ``Targets.rows``: coded phases, indexed by the squares of the pawns."""
    rows = np.full(64**layout.pawns, -1, np.int32)
    placements = np.array(layout.placements, np.int64)
    white = layout.white_pawns
    weights = 64 ** np.arange(layout.pawns)[::-1]
    for symmetry in (MIRROR_FILES, 0):
        squares = np.array(IMAGE[symmetry])[placements]
        squares[:, :white].sort(axis=1)
        squares[:, white:].sort(axis=1)
        rows[squares @ weights] = 2 * np.arange(len(placements)) + symmetry
    return rows


def make_targets(
    layout: Layout, block_at: Mapping[Material, int], block_count: int, configs: Iterable[Sequence[int]]
) -> Targets:
    """Return the directory of the pool of a table. So far, only the table's own blocks have a place in the
    pool.

    :param block_at: index of the first block of each material.
    :param block_count: number of blocks of all materials.
    :param configs: phase and square of each en passant configuration of the table.
    """
    targets = targets_of(layout)
    target_index = np.full((2, CAPTURED_PAWN + 1, len(KINDS)), -1, np.int64)
    for index, move in enumerate(targets):
        target_index[move] = index
    source = np.zeros((len(targets), MAX_MEN), np.int64)
    for row, target in zip(source, targets.values(), strict=True):
        row[: len(target.source)] = target.source
    layouts = [layout_of(target.material) for target in targets.values()]
    pawns = [(other.white_pawns, other.black_pawns) for other in layouts]
    rows = {key: _phases_by_squares(other) for key, other in zip(pawns, layouts, strict=True) if other.pawns}
    rows_at = dict(zip(rows, np.cumsum([1, *map(len, rows.values())]).tolist(), strict=False))
    begin = np.full((block_count, 2), -1, np.int64)
    own_begins = np.arange(len(layout.placements)) * layout.phase_size
    begin[: len(own_begins)] = np.column_stack([own_begins, layout.size + own_begins])
    ep_row = np.full((len(layout.placements), 16), -1, np.int32)
    for config, (phase, square) in enumerate(configs):
        ep_row[phase, square % 8 + (8 if square > 31 else 0)] = config
    return Targets(
        number=target_index,
        swapped=_ints(target.swapped for target in targets.values()),
        free_count=_ints(len(target.source) for target in targets.values()),
        source=source,
        pawn_count=_ints(other.pawns for other in layouts),
        phase_size=_ints(other.phase_size for other in layouts),
        block_at=_ints(block_at[target.material] for target in targets.values()),
        start=begin,
        rows_at=_ints(rows_at.get(key, 0) for key in pawns),
        rows=np.concatenate([np.zeros(1, np.int32), *rows.values()]),
        ep_row=ep_row,
        ep_offset=2 * layout.size,
    )


def _ints(values: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(values), np.int64)
