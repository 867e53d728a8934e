"""What becomes of accrued scores, counted from the layers of a table that has no runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.progress import Progress
from tbgen.report.scan import accrued
from tbgen.report.scan.source import TableSource
from tbgen.report.scan.table_counts import TableCounts

if TYPE_CHECKING:
    from tbgen.report.kernels.layers import FreshSide
    from tbgen.retro.every_layer import Layer

_COLUMNS: Final = accrued.WORSENED, accrued.LOST_BY_RESET, accrued.FRESH_STATES
"""What the layers say, and own scores and fresh values alone do not: columns of the numbers of states."""

_PIECE: Final = 1 << 14
"""Words of 64 slots that a thread looks at in one go."""


def count_layers(
    source: TableSource,
    ranks: NDArray[np.uint8],
    fixed: NDArray[np.int64],
    found: TableCounts,
    threads: int,
    progress: Progress,
) -> None:
    """Make all layers of a table and add the states that only they tell of to ``found``.

    :param ranks: shape (2, size): of the own score of every position.
    :param fixed: slots of positions that a symmetry of the board maps onto themselves, ascending.
    """
    from tbgen.report.kernels.layers import FreshSide
    from tbgen.retro.kernels.layers import FIRST_LAYER

    size = source.layout.size
    words = np.zeros(size // 64, np.uint64)
    np.bitwise_or.at(words, fixed >> 6, np.uint64(1) << (fixed & 63).astype(np.uint64))
    known = [FreshSide(side, source.fresh(side, 0, size)[0], ranks[side], words) for side in (0, 1)]
    top = int(ranks.max())
    with source.layers() as layers, ThreadPoolExecutor(threads) as pool:
        windows = layers.windows
        for number, window in enumerate(windows):
            base = window[0] * source.layout.phase_size
            for rank, pair in enumerate(layers.layers(window), start=FIRST_LAYER):
                for holder, layer in enumerate(pair):
                    for of_side in known:
                        _add(pool, layer, of_side, (holder, rank, base), found)
                progress("accrued scores", number * top + min(rank, top), top * len(windows))


def _add(
    pool: ThreadPoolExecutor, layer: Layer, known: FreshSide, held: tuple[int, int, int], found: TableCounts
) -> None:
    """Add the states of one layer with one side to move."""
    from tbgen.report.kernels.layers import tally_layer

    side, words = known.side, layer.there.shape[1]

    def part(start: int) -> NDArray[np.int64]:
        out = np.zeros((2, len(_COLUMNS)), np.int64)
        within = start, min(start + _PIECE, words)
        tally_layer(layer.value[side], layer.there[side], known, held, within, out)
        return out

    for numbers in pool.map(part, range(0, words, _PIECE)):
        found.states[:, side, held[0], _COLUMNS] += numbers
