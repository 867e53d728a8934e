"""One pass over a table that makes all counts of its report.

Accrued scores are counted from the runs of a table, or from its layers if it has no runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.index.layout import IMAGE, Layout
from tbgen.index.table import FRESH
from tbgen.progress import Progress, silent
from tbgen.report.blocks import (
    ScanBlock,
    bishops_on_one_colour,
    block_at,
    blocks_of,
    mobility,
    symmetric_slots,
)
from tbgen.report.source import ScanRuns, TableSource

if TYPE_CHECKING:
    from tbgen.retro.layer_solvers import Layer


STATES, STORED, IMPROVED, WORSENED, LOST, LOST_BY_RESET, FRESH_STATES = range(7)
"""Columns of the numbers of states: fields of :class:`AccruedCounts`; ``survives`` is the remainder."""

ACCRUED_COLUMNS: Final = 7
_LEAST_RANK: Final = 2
Tally = list[tuple[int, NDArray[np.int64] | None, NDArray[np.integer]]]


def tally(
    holder: int, side: int, value: NDArray[np.uint8], rank: NDArray[np.uint8], runs: ScanRuns | None
) -> Tally:
    """Count the states of consecutive slots with a holder of the accrued score A, by column.

    :param holder: 0 if White holds A, else 1.
    :param side: 0 with White to move, else 1.
    :param value: code of W of each slot, ``NONE`` for slots without a position.
    :param rank: position rank of each slot.
    :param runs: runs of these slots, holder and side; None if all accrued scores survive.
    :return: tuples of column, slots (relative to the first one) and their numbers of states; None stands for
        all slots, and a slot may occur several times.
    """
    fresh_rank = np.minimum(value, 255 - value).astype(np.int16)
    # The side that has moved holds g(P); A = g(P) is the fresh state, which is not counted.
    max_rank = rank - np.int16(holder != side)
    max_rank[(value == NONE) | (rank < _LEAST_RANK)] = 0
    top = np.minimum(max_rank, fresh_rank)
    states, stored = (np.maximum(ranks - (_LEAST_RANK - 1), 0) for ranks in (max_rank, top))
    above_fresh = states - stored  # states with rank(A) > rank(W), whose value is W
    same_holder = (value < NONE) == (holder == 0)
    alike = same_holder & (fresh_rank >= _LEAST_RANK) & (top >= fresh_rank)
    found: Tally = [
        (STATES, None, states),
        (STORED, None, stored),
        (IMPROVED, None, np.where(same_holder, above_fresh, 0)),
        (LOST, None, np.where(same_holder, 0, above_fresh)),
        (FRESH_STATES, None, above_fresh + alike),
    ]
    if runs is not None and runs.rank.size:
        found += _tally_runs(holder, value, top, runs)
    return found


def _tally_runs(holder: int, value: NDArray[np.uint8], top: NDArray[np.int16], runs: ScanRuns) -> Tally:
    end = np.append(runs.rank[1:] - 1, 0)
    end[runs.last] = top[runs.slot[runs.last]]
    kept = runs.value != NONE
    slot, start, end, code = runs.slot[kept], runs.rank[kept], end[kept], runs.value[kept]
    code = np.where(code == FRESH, value[slot], code)
    rank = np.minimum(code, 255 - code).astype(np.int16)
    states = np.maximum(end - start + 1, 0)
    same = (code < NONE) == (holder == 0)
    # V lies between A and W (fact F2) and rank(W) >= rank(A), so rank(V) >= rank(A).
    survives = np.where(same & (rank >= start) & (rank <= end), 1, 0)
    changed = states - survives
    return [
        (WORSENED, slot, np.where(same, changed, 0)),
        (LOST_BY_RESET, slot, np.where(same, 0, changed)),
        (FRESH_STATES, slot, np.where(code == value[slot], changed, 0)),
    ]


Counts = NDArray[np.int64]

CAPTURES: Final = 1
"""Class bit of positions in which the side to move has a legal capture."""
LIKE_BISHOPS: Final = 2
"""Class bit of positions in which a side has its two or more bishops on one colour."""
CLASSES: Final = 4

ANY, QUIET, EN_PASSANT = range(3)
"""Kinds of longest positions: all without an en passant right, those of them without a legal capture, and
positions with an en passant right."""

Longest = dict[tuple[int, ...], tuple[int, int]]
"""Longest positions by kind, side and code: depth and negative place, so that the maximum is the deepest
position, and of several the first in the table."""


class TableCounts:
    """The counts of one table, initially 0, to which threads may add. Codes and slots are the table's.

    Counts without en passant positions have a first axis of length 2: all positions up to symmetry, then the
    positions that a symmetry of the board maps onto themselves.

    :param layers: whether the accrued scores of packed tables are counted. Those of tables with runs, and of
        the variant without layers, are always counted.
    """

    def __init__(self, source: TableSource, layers: bool) -> None:
        self.info, self.layout = source.info, source.layout
        self.depths = self.info.max_depth + 1
        """Number of depths: the greatest depth plus 1."""
        self.counts: Counts = np.zeros((2, 2, CLASSES, 256, self.depths), np.int64)
        """Positions, shape (2, 2 sides, classes, 256 codes, depths)."""
        self.en_passant: Counts = np.zeros((2, 256, self.depths), np.int64)
        """En passant positions up to symmetry, shape (2 sides, 256 codes, depths)."""
        self.king: Counts = np.zeros((2, 2, 64, 256), np.int64)
        """Positions by the square of Black's king, shape (2, 2 sides, 64, 256 codes)."""
        self.states: Counts = np.zeros((2, 2, 2, ACCRUED_COLUMNS), np.int64)
        """States, shape (2, 2 sides, 2 holders, columns)."""
        stored = not self.info.variant.layered or self.info.stores_runs
        self.has_accrued = stored or (layers and self.info.has_layers)
        """Whether accrued scores are counted."""
        self.en_passant_rows = [(phase, square) for phase, square in source.table.ep_config.tolist()]
        """Pawn placement and target square of the rows of en passant positions."""
        self.longest: Longest = {}
        """Depth and negative place by kind, side and code. The place is the slot, or, with an en passant
        right, row times phase size plus slot within the phase."""
        self._lock = Lock()

    @property
    def material(self) -> Material:
        """The material of the table."""
        return self.layout.material

    def on_board(self) -> Counts:
        """Return ``counts`` on the board, without the first axis."""
        return images(self.layout, self.counts)

    def king_on_board(self) -> Counts:
        """Return ``king`` on the board; each image of a position counts at its own square of the king."""
        twice: Counts = 2 * self.king[0] - self.king[1]
        total = np.zeros_like(twice)
        for image in IMAGE[:2] if self.layout.pawns else IMAGE:
            total[:, list(image)] += twice
        return total // 2

    def add(self, total: Counts, keys: NDArray[Any], symmetric: NDArray[np.bool_], depths: int = 1) -> None:
        """Add the numbers of keys to one of the arrays, for all and for symmetric positions.

        The lowest byte of ``key // depths`` is a code.
        """
        for numbers, these in zip(total, (keys, keys[symmetric]), strict=True):
            present, counts = _counted(these, depths)
            with self._lock:
                numbers.reshape(-1)[present] += counts

    def add_states(self, side: int, holder: int, states: Tally, symmetric: NDArray[np.bool_]) -> None:
        """Add numbers of states, for all and for symmetric positions."""
        for column, slots, counts in states:
            rare = counts[symmetric if slots is None else symmetric[slots]]
            sums = counts.sum(dtype=np.int64), rare.sum(dtype=np.int64)
            with self._lock:
                self.states[:, side, holder, column] += sums

    def note(self, kind: int, side: int, keys: NDArray[Any], start: int) -> None:
        """Note the longest of consecutive positions, of which ``start`` is the first place.

        Keys are codes times the number of depths, plus depths.
        """
        present, _ = _counted(keys, self.depths)
        with self._lock:
            note_longest(self.longest, (kind, side), keys, present, self.depths, start)


def _counted(keys: NDArray[Any], depths: int) -> tuple[Counts, Counts]:
    """Return the distinct keys, except those with the code NONE, and their numbers."""
    counts = np.bincount(keys)
    present = np.flatnonzero(counts)
    present = present[present // depths & 255 != NONE]
    return present, counts[present]


def images(layout: Layout, counts: Counts) -> Counts:
    """Return numbers of positions on the board.

    :param counts: numbers up to symmetry along the first axis: of all positions, and of the positions that a
        symmetry of the board maps onto themselves.
    """
    every, symmetric = counts
    board: Counts = 2 * every if layout.pawns else 8 * every - 4 * symmetric
    return board


def note_longest(
    longest: Longest, kind: tuple[int, ...], keys: NDArray[Any], present: Counts, depths: int, start: int
) -> None:
    """Note the longest of consecutive positions by kind and code.

    :param keys: for each position the code times the number of depths, plus the depth.
    :param present: the distinct keys to consider, ascending.
    :param start: place of the first position.
    """
    deepest = {key // depths: key for key in present.tolist()}  # the last key of each code
    for code, key in deepest.items():
        depth, before = key % depths, longest.get((*kind, code), (-1, 0))
        if before < (depth, -start):
            longest[*kind, code] = max(before, (depth, -start - int(np.argmax(keys == key))))


def count_source(
    source: TableSource, *, threads: int = 2, layers: bool = False, progress: Progress = silent
) -> TableCounts:
    """Read a table once and return its counts.

    The result does not depend on the number of threads; each thread needs some 50 MiB.

    :param layers: whether to make the layers of a packed table to count accrued scores, which takes as long
        as its build, and twice as much memory.
    """
    found, blocks, size = TableCounts(source, layers), blocks_of(source.layout), source.layout.size
    fixed = symmetric_slots(source.layout)
    ranks = np.zeros((2, size), np.uint8) if layers and source.info.has_layers else None

    def scan(block: tuple[int, int]) -> int:
        _scan_block(source, block_at(source.layout, *block), fixed, found, ranks)
        return sum(block)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for done in pool.map(scan, blocks):
                progress("counted", done, size)
        finally:
            pool.shutdown(cancel_futures=True)
    _scan_en_passant(source, found)
    if ranks is not None:
        count_layers(source, ranks, fixed, found, threads, progress)
    return found


def _scan_block(
    source: TableSource,
    block: ScanBlock,
    fixed: NDArray[np.int64],
    found: TableCounts,
    ranks: NDArray[np.uint8] | None,
) -> None:
    """Count the positions of a block, and store their position ranks in ``ranks`` unless that is None."""
    depths = found.depths
    among = slice(*np.searchsorted(fixed, [block.start, block.start + block.size]))
    symmetric = np.zeros(block.size, np.bool_)
    symmetric[fixed[among] - block.start] = True
    like = bishops_on_one_colour(block.men)
    kings = np.broadcast_to(block.men[1].squares.astype(np.uint16) << 8, block.shape).reshape(-1)
    for side in (0, 1):
        value, depth = source.fresh(side, block.start, block.size)
        if not (value != NONE).any():
            continue
        moves = mobility(block, side == 0)
        group = moves.captures.astype(np.uint32)
        if like is not None:
            group = group + like.astype(np.uint32) * np.uint32(LIKE_BISHOPS)
        key, captures = value * np.uint32(depths) + depth, moves.captures.reshape(-1)
        found.add(found.counts[:, side], group.reshape(-1) * np.uint32(depths << 8) + key, symmetric, depths)
        found.add(found.king[:, side], kings | value, symmetric)
        found.note(ANY, side, key, block.start)
        found.note(QUIET, side, np.where(captures, np.uint32(NONE * depths), key), block.start)
        rank = moves.rank.reshape(-1)
        if ranks is not None:
            ranks[side, block.start : block.start + block.size] = rank
        if found.has_accrued:
            for holder in (0, 1):
                runs = source.runs(holder, side, block.start, block.size)
                found.add_states(side, holder, tally(holder, side, value, rank, runs), symmetric)


def _scan_en_passant(source: TableSource, found: TableCounts) -> None:
    table = source.table
    for row, (_, square) in enumerate(found.en_passant_rows):
        side = int(square < 32)
        keys = table.ep_value[row].astype(np.int64) * found.depths + table.ep_depth[row]
        present, counts = _counted(keys, found.depths)
        found.en_passant[side].reshape(-1)[present] += counts
        found.note(EN_PASSANT, side, keys, row * source.info.phase_size)


_WORDS_PER_TASK: Final = 1 << 13
"""Number of words of 64 slots in one task of a thread."""

_LAYER_COLUMNS: Final = WORSENED, LOST_BY_RESET, FRESH_STATES
"""Columns that need the layers, since position scores and fresh values do not determine them."""


def count_layers(
    source: TableSource,
    ranks: NDArray[np.uint8],
    fixed: NDArray[np.int64],
    found: TableCounts,
    threads: int,
    progress: Progress,
) -> None:
    """Make all layers of a table, and add to ``found`` the numbers of states that need them.

    :param ranks: position ranks, shape (2, size).
    :param fixed: slots of positions that a symmetry of the board maps onto themselves, ascending.
    """
    from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER

    size, top = source.layout.size, int(ranks.max())
    symmetric = np.zeros(size, np.bool_)
    symmetric[fixed] = True
    with source.layers(threads) as layers, ThreadPoolExecutor(threads) as pool:
        windows = layers.windows
        for number, window in enumerate(windows):
            slots = slice(*(phase * source.layout.phase_size for phase in window))
            for rank, pair in enumerate(layers.layers(window), start=FIRST_LAYER):
                for (holder, layer), side in product(enumerate(pair), (0, 1)):
                    fresh = source.table.value[side, slots]
                    facts = [each.reshape(-1, 64) for each in (fresh, ranks[side, slots], symmetric[slots])]
                    count = partial(_count_words, layer, facts, (holder, rank), side)
                    for numbers in pool.map(count, range(0, layer.present.shape[1], _WORDS_PER_TASK)):
                        found.states[:, side, holder, _LAYER_COLUMNS] += numbers
                progress("accrued scores", number * top + min(rank, top), top * len(windows))


def _count_words(
    layer: Layer, facts: Sequence[NDArray[Any]], accrued: tuple[int, int], side: int, start: int
) -> Counts:
    """Count the states in some words of a layer, with one side to move, whose accrued score is reset.

    :param facts: three arrays about the layer's slots, shape (words, 64): codes of W(P), position ranks, and
        whether a symmetry of the board maps the position onto itself.
    :param accrued: holder (0 if White) and rank of the accrued score A.
    :param start: the first word.
    """
    holder, rank = accrued
    # Most words are empty.
    words = start + np.flatnonzero(layer.present[side, start : start + _WORDS_PER_TASK])
    bits = np.unpackbits(layer.present[side, words].view(np.uint8), bitorder="little")
    code = layer.value[side].reshape(-1, 64)[words]
    fresh, ranks, symmetric = (each[words] for each in facts)
    # The side that has moved holds g(P); A = g(P) is the fresh state, which is not counted.
    states = bits.view(np.bool_).reshape(-1, 64) & (code != (rank if holder == 0 else 255 - rank))
    if holder != side:
        states &= ranks != rank
    lost = states & ((code < NONE) != (holder == 0))
    columns = [states & ~lost, lost, states & (code == fresh)]
    both = columns, [column & symmetric for column in columns]
    return np.array([list(map(np.count_nonzero, each)) for each in both])
