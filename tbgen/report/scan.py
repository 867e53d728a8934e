"""One pass over a table that makes all counts of its report.

A *state* is a position with an accrued score. Runs are the stored values of states by accrued score; layers
are the states with one accrued score. States are counted from the runs of a table, or from its layers if it
has no runs. A *code* is the byte that stands for a score.
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
"""Columns of numbers of states, for the fields of :class:`~tbgen.report.model.AccruedCounts`. ``survives``
has no column, because it is the remainder."""

ACCRUED_COLUMN_COUNT: Final = 7
_MIN_ACCRUED_RANK: Final = 2
"""Minimum rank of an accrued score in a game that continues; ranks 0 and 1 are mate and stalemate."""
Tally = list[tuple[int, NDArray[np.int64] | None, NDArray[np.integer]]]
"""Numbers of states, as tuples of column, slots and numbers; see :func:`tally`."""


def tally(
    holder: int, side: int, value: NDArray[np.uint8], rank: NDArray[np.uint8], runs: ScanRuns | None
) -> Tally:
    """Count by column the states of consecutive slots whose accrued score A has a given holder.

    :param holder: 0 if White holds A, else 1.
    :param side: 0 with White to move, else 1.
    :param value: code of the fresh value W of each slot, ``NONE`` for slots without a position.
    :param rank: position rank of each slot.
    :param runs: runs of these slots for the holder and side; None if all accrued scores survive.
    :return: tuples of column, slots and the number of states of each slot. Slots are relative to the first
        one, and may occur several times; None stands for all slots.
    """
    fresh_rank = np.minimum(value, 255 - value).astype(np.int16)
    # The side that has moved holds g(P). The fresh state, with A = g(P), is not counted.
    max_rank = rank - np.int16(holder != side)
    max_rank[(value == NONE) | (rank < _MIN_ACCRUED_RANK)] = 0
    max_stored = np.minimum(max_rank, fresh_rank)
    states, stored = (np.maximum(ranks - (_MIN_ACCRUED_RANK - 1), 0) for ranks in (max_rank, max_stored))
    above_fresh = states - stored  # states with rank(A) > rank(W), whose value is W
    same_holder = (value < NONE) == (holder == 0)
    survives_as_fresh = same_holder & (fresh_rank >= _MIN_ACCRUED_RANK) & (max_stored >= fresh_rank)
    counts: Tally = [
        (STATES, None, states),
        (STORED, None, stored),
        (IMPROVED, None, np.where(same_holder, above_fresh, 0)),
        (LOST, None, np.where(same_holder, 0, above_fresh)),
        (FRESH_STATES, None, above_fresh + survives_as_fresh),
    ]
    if runs is not None and runs.rank.size:
        counts += _tally_runs(holder, value, max_stored, runs)
    return counts


def _tally_runs(holder: int, value: NDArray[np.uint8], top: NDArray[np.int16], runs: ScanRuns) -> Tally:
    end = np.append(runs.rank[1:] - 1, 0)
    end[runs.last] = top[runs.slot[runs.last]]
    has_value = runs.value != NONE
    slot, start, end, code = runs.slot[has_value], runs.rank[has_value], end[has_value], runs.value[has_value]
    code = np.where(code == FRESH, value[slot], code)
    rank = np.minimum(code, 255 - code).astype(np.int16)
    states = np.maximum(end - start + 1, 0)
    same_holder = (code < NONE) == (holder == 0)
    # V lies between A and W (fact F2) and rank(W) >= rank(A), so rank(V) >= rank(A).
    survives = np.where(same_holder & (rank >= start) & (rank <= end), 1, 0)
    changed = states - survives
    return [
        (WORSENED, slot, np.where(same_holder, changed, 0)),
        (LOST_BY_RESET, slot, np.where(same_holder, 0, changed)),
        (FRESH_STATES, slot, np.where(code == value[slot], changed, 0)),
    ]


CountArray = NDArray[np.int64]

CAPTURES: Final = 1
"""Class bit of positions in which the side to move has a legal capture."""
LIKE_BISHOPS: Final = 2
"""Class bit of positions in which a side has two or more men bound to a colour, all on the same colour."""
CLASS_COUNT: Final = 4
"""Number of classes, whose bits are ``CAPTURES`` and ``LIKE_BISHOPS``."""

ANY, QUIET, EN_PASSANT = range(3)
"""Kinds of positions among which the deepest are noted: all positions without an en passant right, positions
without an en passant right and without a legal capture, and positions with an en passant right."""

Longest = dict[tuple[int, ...], tuple[int, int]]
"""Depth and negative place of the deepest position, by kind, side and code. The maximum of such pairs is the
deepest position, and of several the first in the table."""


class TableCounts:
    """The counts of one table, initially 0, to which threads may add concurrently.

    Except for en passant positions, counts have a first axis of length 2. Index 0 is for all positions up to
    symmetry, index 1 for the positions that a symmetry of the board maps onto themselves.

    :param layers: whether the accrued scores of packed tables are counted. The accrued scores of tables with
        runs, and of the variant without layers, are always counted.
    """

    def __init__(self, source: TableSource, layers: bool) -> None:
        self.info, self.layout = source.info, source.layout
        self.depth_count = self.info.max_depth + 1
        """Number of possible depths: the greatest depth plus 1."""
        self.counts: CountArray = np.zeros((2, 2, CLASS_COUNT, 256, self.depth_count), np.int64)
        """Positions, shape (2, 2 sides, classes, 256 codes, depths)."""
        self.en_passant: CountArray = np.zeros((2, 256, self.depth_count), np.int64)
        """En passant positions up to symmetry, shape (2 sides, 256 codes, depths)."""
        self.king: CountArray = np.zeros((2, 2, 64, 256), np.int64)
        """Positions by the square of Black's king, shape (2, 2 sides, 64, 256 codes)."""
        self.states: CountArray = np.zeros((2, 2, 2, ACCRUED_COLUMN_COUNT), np.int64)
        """States, shape (2, 2 sides, 2 holders, columns)."""
        stored = not self.info.variant.layered or self.info.stores_runs
        self.has_accrued = stored or (layers and self.info.has_layers)
        """Whether accrued scores are counted."""
        self.en_passant_rows = [(phase, square) for phase, square in source.table.ep_config.tolist()]
        """Pawn placement and target square of each row of en passant positions."""
        self.longest: Longest = {}
        """Depth and negative place of the deepest position, by kind, side and code. The place is the slot.
        For positions with an en passant right, the place is the row times the phase size, plus the slot
        within the phase."""
        self._lock = Lock()

    @property
    def material(self) -> Material:
        """The material of the table."""
        return self.layout.material

    def on_board(self) -> CountArray:
        """Return ``counts`` on the board, without the first axis."""
        return count_images(self.layout, self.counts)

    def king_on_board(self) -> CountArray:
        """Return ``king`` on the board; each image of a position counts on the king's square in that
        image."""
        twice: CountArray = 2 * self.king[0] - self.king[1]
        total = np.zeros_like(twice)
        for image in IMAGE[:2] if self.layout.pawns else IMAGE:
            total[:, list(image)] += twice
        return total // 2

    def add(
        self, sums: CountArray, keys: NDArray[Any], symmetric: NDArray[np.bool_], depths: int = 1
    ) -> None:
        """Count keys in one of the arrays, for all positions and for symmetric ones.

        A key is an index into an entry of the array, flattened; the lowest byte of ``key // depths`` is
        a code.
        """
        for numbers, counted_keys in zip(sums, (keys, keys[symmetric]), strict=True):
            present, counts = _count_keys(counted_keys, depths)
            with self._lock:
                numbers.reshape(-1)[present] += counts

    def add_states(self, side: int, holder: int, states: Tally, symmetric: NDArray[np.bool_]) -> None:
        """Add numbers of states, for all positions and for symmetric ones."""
        for column, slots, counts in states:
            symmetric_counts = counts[symmetric if slots is None else symmetric[slots]]
            sums = counts.sum(dtype=np.int64), symmetric_counts.sum(dtype=np.int64)
            with self._lock:
                self.states[:, side, holder, column] += sums

    def note(self, kind: int, side: int, keys: NDArray[Any], start: int) -> None:
        """Note the deepest of consecutive positions by code.

        :param keys: for each position the code times the number of depths, plus the depth.
        :param start: place of the first position.
        """
        present, _ = _count_keys(keys, self.depth_count)
        with self._lock:
            note_longest(self.longest, (kind, side), keys, present, self.depth_count, start)


def _count_keys(keys: NDArray[Any], depth_count: int) -> tuple[CountArray, CountArray]:
    """Return the distinct keys, except those with the code NONE, and their numbers."""
    counts = np.bincount(keys)
    present = np.flatnonzero(counts)
    present = present[present // depth_count & 255 != NONE]
    return present, counts[present]


def count_images(layout: Layout, counts: CountArray) -> CountArray:
    """Return the numbers of positions on the board.

    :param counts: numbers up to symmetry. Index 0 of the first axis is for all positions, index 1 for the
        positions that a symmetry of the board maps onto themselves.
    """
    all_positions, symmetric = counts
    board: CountArray = 2 * all_positions if layout.pawns else 8 * all_positions - 4 * symmetric
    return board


def note_longest(
    longest: Longest, kind: tuple[int, ...], keys: NDArray[Any], present: CountArray, depths: int, start: int
) -> None:
    """Note in ``longest`` the deepest of consecutive positions by kind and code.

    :param keys: for each position the code times the number of depths, plus the depth.
    :param present: the distinct keys to consider, ascending.
    :param start: place of the first position.
    """
    deepest = {key // depths: key for key in present.tolist()}  # the last key of each code
    for code, key in deepest.items():
        depth, best = key % depths, longest.get((*kind, code), (-1, 0))
        if best < (depth, -start):
            longest[*kind, code] = max(best, (depth, -start - int(np.argmax(keys == key))))


def count_source(
    source: TableSource, *, threads: int = 2, layers: bool = False, progress: Progress = silent
) -> TableCounts:
    """Read a table once and return its counts.

    The result does not depend on the number of threads; each thread needs some 50 MiB.

    :param layers: whether to solve the layers of a packed table to count accrued scores. This takes as long
        as its build, and twice as much memory.
    """
    counts, blocks, size = TableCounts(source, layers), blocks_of(source.layout), source.layout.size
    fixed = symmetric_slots(source.layout)
    ranks = np.zeros((2, size), np.uint8) if layers and source.info.has_layers else None

    def scan(block: tuple[int, int]) -> int:
        _scan_block(source, block_at(source.layout, *block), fixed, counts, ranks)
        return sum(block)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for done in pool.map(scan, blocks):
                progress("counted", done, size)
        finally:
            pool.shutdown(cancel_futures=True)
    _scan_en_passant(source, counts)
    if ranks is not None:
        count_layers(source, ranks, fixed, counts, threads, progress)
    return counts


def _scan_block(
    source: TableSource,
    block: ScanBlock,
    fixed: NDArray[np.int64],
    counts: TableCounts,
    ranks: NDArray[np.uint8] | None,
) -> None:
    """Count the positions of a block, and store their position ranks in ``ranks``, unless ``ranks`` is
    None."""
    depths = counts.depth_count
    in_block = slice(*np.searchsorted(fixed, [block.start, block.start + block.size]))
    symmetric = np.zeros(block.size, np.bool_)
    symmetric[fixed[in_block] - block.start] = True
    like_bishops = bishops_on_one_colour(block.men)
    kings = np.broadcast_to(block.men[1].squares.astype(np.uint16) << 8, block.shape).reshape(-1)
    for side in (0, 1):
        value, depth = source.fresh(side, block.start, block.size)
        if not (value != NONE).any():
            continue
        moves = mobility(block, side == 0)
        kind = moves.has_capture.astype(np.uint32)
        if like_bishops is not None:
            kind = kind + like_bishops.astype(np.uint32) * np.uint32(LIKE_BISHOPS)
        keys, captures = value * np.uint32(depths) + depth, moves.has_capture.reshape(-1)
        counts.add(
            counts.counts[:, side], kind.reshape(-1) * np.uint32(depths << 8) + keys, symmetric, depths
        )
        counts.add(counts.king[:, side], kings | value, symmetric)
        counts.note(ANY, side, keys, block.start)
        counts.note(QUIET, side, np.where(captures, np.uint32(NONE * depths), keys), block.start)
        rank = moves.rank.reshape(-1)
        if ranks is not None:
            ranks[side, block.start : block.start + block.size] = rank
        if counts.has_accrued:
            for holder in (0, 1):
                runs = source.runs(holder, side, block.start, block.size)
                counts.add_states(side, holder, tally(holder, side, value, rank, runs), symmetric)


def _scan_en_passant(source: TableSource, counts: TableCounts) -> None:
    table = source.table
    for row, (_, square) in enumerate(counts.en_passant_rows):
        side = int(square < 32)
        keys = table.ep_value[row].astype(np.int64) * counts.depth_count + table.ep_depth[row]
        present, numbers = _count_keys(keys, counts.depth_count)
        counts.en_passant[side].reshape(-1)[present] += numbers
        counts.note(EN_PASSANT, side, keys, row * source.info.phase_size)


_WORDS_PER_TASK: Final = 1 << 13
"""Number of words that one task of a thread covers; a word has 64 slots."""

_LAYER_COLUMNS: Final = WORSENED, LOST_BY_RESET, FRESH_STATES
"""Columns that need the layers, because position scores and fresh values do not determine them."""


def count_layers(
    source: TableSource,
    ranks: NDArray[np.uint8],
    fixed: NDArray[np.int64],
    counts: TableCounts,
    threads: int,
    progress: Progress,
) -> None:
    """Solve all layers of a table, and add to ``counts`` the numbers of states that need layers.

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
                        counts.states[:, side, holder, _LAYER_COLUMNS] += numbers
                progress("accrued scores", number * top + min(rank, top), top * len(windows))


def _count_words(
    layer: Layer, facts: Sequence[NDArray[Any]], accrued: tuple[int, int], side: int, start: int
) -> CountArray:
    """Count the states whose accrued score is reset, in some words of a layer with one side to move.

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
    # The side that has moved holds g(P). The fresh state, with A = g(P), is not counted.
    states = bits.view(np.bool_).reshape(-1, 64) & (code != (rank if holder == 0 else 255 - rank))
    if holder != side:
        states &= ranks != rank
    lost = states & ((code < NONE) != (holder == 0))
    columns = [states & ~lost, lost, states & (code == fresh)]
    all_columns = columns, [column & symmetric for column in columns]
    return np.array([list(map(np.count_nonzero, each)) for each in all_columns])
