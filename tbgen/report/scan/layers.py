"""What becomes of accrued scores, counted from the layers of a table that has no runs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.progress import Progress
from tbgen.report.scan import accrued
from tbgen.report.scan.source import TableSource
from tbgen.report.scan.table_counts import TableCounts

if TYPE_CHECKING:
    from tbgen.retro.every_layer import Layer

_COLUMNS: Final = accrued.WORSENED, accrued.LOST_BY_RESET, accrued.FRESH_STATES
"""What the layers say, and own scores and fresh values alone do not: columns of the numbers of states."""

_PIECE: Final = 1 << 13
"""Words of 64 slots that a thread looks at in one go."""


class FreshSide(NamedTuple):
    """What is known of all positions of a table with one side to move, without any layer."""

    side: int
    fresh: NDArray[np.uint8]
    """Shape (size,): codes of W(P)."""
    ranks: NDArray[np.uint8]
    """Shape (size,): ranks of g(P)."""
    fixed: NDArray[np.bool_]
    """Shape (size,): whether a symmetry of the board maps the position onto itself."""


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
    from tbgen.retro.kernels.layers import FIRST_LAYER

    size, top = source.layout.size, int(ranks.max())
    symmetric = np.zeros(size, np.bool_)
    symmetric[fixed] = True
    known = [FreshSide(side, source.fresh(side, 0, size)[0], ranks[side], symmetric) for side in (0, 1)]
    with source.layers(threads) as layers, ThreadPoolExecutor(threads) as pool:
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
    """Add the states of one layer with one side to move in which the accrued score is reset.

    :param held: holder (0 if White) and rank of the accrued score A, and the first slot of the window.
    """
    side, (holder, rank, base) = known.side, held
    kept = rank if holder == 0 else 255 - rank

    def part(start: int) -> NDArray[np.int64]:
        words = start + np.flatnonzero(layer.there[side, start : start + _PIECE])  # most are empty
        bits = np.unpackbits(layer.there[side, words].view(np.uint8), bitorder="little")
        code = layer.value[side].reshape(-1, 64)[words]
        fresh, ranks, fixed = (each.reshape(-1, 64)[base // 64 + words] for each in known[1:])
        # g(P) is held by the side that has moved: an A equal to it is no state of its own.
        states = bits.view(np.bool_).reshape(-1, 64) & (code != kept)
        if holder != side:
            states &= ranks != rank
        lost = states & ((code < NONE) != (holder == 0))
        columns = [states & ~lost, lost, states & (code == fresh)]
        both = columns, [column & fixed for column in columns]
        return np.array([list(map(np.count_nonzero, each)) for each in both])

    for numbers in pool.map(part, range(0, layer.there.shape[1], _PIECE)):
        found.states[:, side, holder, _COLUMNS] += numbers
