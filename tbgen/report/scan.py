"""One pass over a table that counts everything its report needs.

A *state* is a position with an accrued score. A *layer* consists of the states with one accrued score. A
*run* is a stored value that a position has for a range of accrued scores. States are counted from the runs of
a table, or from its layers if it has no runs. A *code* is the byte that stands for a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.index.codes import FRESH
from tbgen.index.layout import IMAGE, SIDES, Layout, Side
from tbgen.index.table import AccruedForm
from tbgen.progress import Progress, silent
from tbgen.report.blocks import (
    ScanBlock,
    bishops_on_one_colour,
    block_at,
    blocks_of,
    find_symmetric_slots,
    mobility,
)
from tbgen.report.source import ScanRuns, TableSource

if TYPE_CHECKING:
    from tbgen.retro.layer_solvers import EveryLayer


STATES, STORED, IMPROVED, WORSENED, LOST, LOST_BY_RESET, VALUE_IS_FRESH = range(7)
"""Indices of the columns of state counts, one for each field of
:class:`~tbgen.report.model.AccruedCounts` that is not computed from other fields."""

ACCRUED_COLUMN_COUNT: Final = 7
_MIN_ACCRUED_RANK: Final = 2
"""Minimum rank of an accrued score in a game that continues; ranks 0 and 1 are mate and stalemate."""
Tally = list[tuple[int, NDArray[np.int64] | None, NDArray[np.integer]]]
"""State counts, as tuples of a column, slots, and the count of each slot; see :func:`tally`."""

CountArray = NDArray[np.int64]

CAPTURES: Final = 1
"""Bit of a class number, set if the side to move has a legal capture."""
SAME_COLOUR_BISHOPS: Final = 2
"""Bit of a class number, set if a side has two or more men bound to a colour, all on the same colour."""
CLASS_COUNT: Final = 4
"""Number of classes of positions. The bits of a class number are ``CAPTURES`` and ``SAME_COLOUR_BISHOPS``."""

ANY, QUIET, EN_PASSANT = range(3)
"""Groups of positions, for each of which the deepest positions are noted: all positions without an en passant
right; among these, the positions without a legal capture; all positions with an en passant right."""

Deepest = dict[tuple[int, ...], tuple[int, int]]
"""Maps a group, side and code to the deepest position: its depth, and its place, negated. The maximum of such
pairs belongs to the deepest position or, if several are equally deep, to the first of them in the table."""

_LAYER_COLUMNS: Final = WORSENED, LOST_BY_RESET, VALUE_IS_FRESH
"""Columns that need the layers, because position scores and fresh values do not determine them."""


def tally(
    holder: int, side: int, value: NDArray[np.uint8], rank: NDArray[np.uint8], runs: ScanRuns | None
) -> Tally:
    """For consecutive slots, count the states whose accrued score A has the given holder, column by column.

    :param holder: 0 if White holds A, else 1.
    :param side: 0 with White to move, else 1.
    :param value: code of the fresh value W of each slot, ``NONE`` for slots without a position.
    :param rank: position rank of each slot.
    :param runs: runs of these slots for the holder and side; None to leave out the states in which a reset
        wipes out A.
    :return: tuples of a column, slots, and the number of states of each slot. Slots are offsets from
        the first of the given slots, and may be repeated; None stands for all slots.
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
        (VALUE_IS_FRESH, None, above_fresh + survives_as_fresh),
    ]
    if runs is not None and runs.rank.size:
        counts += _run_tally(holder, value, max_stored, runs)
    return counts


def _run_tally(holder: int, value: NDArray[np.uint8], max_stored: NDArray[np.int16], runs: ScanRuns) -> Tally:
    high_rank = np.append(runs.rank[1:] - 1, 0)
    high_rank[runs.is_last] = max_stored[runs.slot[runs.is_last]]
    has_value = runs.value != NONE
    slot = runs.slot[has_value]
    low_rank = runs.rank[has_value]
    high_rank = high_rank[has_value]
    code = runs.value[has_value]
    code = np.where(code == FRESH, value[slot], code)
    rank = np.minimum(code, 255 - code).astype(np.int16)
    states = np.maximum(high_rank - low_rank + 1, 0)
    same_holder = (code < NONE) == (holder == 0)
    # V lies between A and W (fact F2 of docs/theory.md) and rank(W) >= rank(A), so rank(V) >= rank(A).
    survives = np.where(same_holder & (rank >= low_rank) & (rank <= high_rank), 1, 0)
    changed_counts = states - survives
    return [
        (WORSENED, slot, np.where(same_holder, changed_counts, 0)),
        (LOST_BY_RESET, slot, np.where(same_holder, 0, changed_counts)),
        (VALUE_IS_FRESH, slot, np.where(code == value[slot], changed_counts, 0)),
    ]


class TableCounts:
    """The counts of one table, initially 0, to which threads may add concurrently.

    Arrays of counts have a first axis of length 2, except the array of en passant positions. Index 0 counts
    all positions up to symmetry, index 1 only those that a symmetry of the board maps onto themselves.

    :param with_layers: whether accrued scores are counted if the table is packed. They are always counted if
        the table has runs, or if its variant has no layers.
    """

    def __init__(self, source: TableSource, with_layers: bool) -> None:
        self.info = source.info
        self.layout = source.layout
        self.depth_count = self.info.max_depth + 1
        """Number of possible depths: the greatest depth plus 1."""
        self.counts: CountArray = np.zeros((2, 2, CLASS_COUNT, 256, self.depth_count), np.int64)
        """Numbers of positions, shape (2, 2 sides, classes, 256 codes, depths)."""
        self.en_passant: CountArray = np.zeros((2, 256, self.depth_count), np.int64)
        """Numbers of en passant positions up to symmetry, shape (2 sides, 256 codes, depths)."""
        self.king: CountArray = np.zeros((2, 2, 64, 256), np.int64)
        """Numbers of positions by the square of Black's king, shape (2, 2 sides, 64, 256 codes)."""
        self.states: CountArray = np.zeros((2, 2, 2, ACCRUED_COLUMN_COUNT), np.int64)
        """Numbers of states, shape (2, 2 sides, 2 holders, columns)."""
        stored = not self.info.variant.layered or self.info.accrued_form is AccruedForm.RUNS
        self.has_accrued = stored or (with_layers and self.info.accrued_form is AccruedForm.FUNCTIONS)
        """Whether accrued scores are counted."""
        self.en_passant_rows = [(phase, square) for phase, square in source.table.ep_config.tolist()]
        """Pawn placement and target square of each row of en passant positions."""
        self.deepest: Deepest = {}
        """The deepest position of each group, side and code. The place of a position is its slot or, if it
        has an en passant right, its row times the phase size plus its slot within the phase."""
        self._lock = Lock()

    @property
    def material(self) -> Material:
        """The material of the table."""
        return self.layout.material

    def counts_with_images(self) -> CountArray:
        """Return ``counts`` without the first axis, with symmetric images of a position counted
        separately."""
        return count_images(self.layout, self.counts)

    def king_with_images(self) -> CountArray:
        """Return ``king`` without the first axis. Symmetric images of a position are counted separately, each
        under the square of the king in that image."""
        twice: CountArray = 2 * self.king[0] - self.king[1]
        total = np.zeros_like(twice)
        for image in IMAGE[:2] if self.layout.pawns else IMAGE:
            total[:, list(image)] += twice
        return total // 2

    def add(
        self, sums: CountArray, keys: NDArray[Any], symmetric: NDArray[np.bool_], depth_count: int = 1
    ) -> None:
        """Count keys in one of the arrays, for all positions and for the ``symmetric`` ones.

        A key is an index into the flattened array ``sums[0]`` or ``sums[1]``. The lowest byte of
        ``key // depth_count`` is a code.
        """
        for totals, counted_keys in zip(sums, (keys, keys[symmetric]), strict=True):
            unique, counts = _count_keys(counted_keys, depth_count)
            with self._lock:
                totals.reshape(-1)[unique] += counts

    def add_states(self, side: int, holder: int, states: Tally, symmetric: NDArray[np.bool_]) -> None:
        """Add state counts, for all positions and for the ``symmetric`` ones."""
        for column, slots, counts in states:
            symmetric_counts = counts[symmetric if slots is None else symmetric[slots]]
            sums = counts.sum(dtype=np.int64), symmetric_counts.sum(dtype=np.int64)
            with self._lock:
                self.states[:, side, holder, column] += sums

    def note(self, group: int, side: int, keys: NDArray[Any], start: int) -> None:
        """For each code, note the deepest of some consecutive positions.

        :param keys: for each position, its code times the number of depths, plus its depth.
        :param start: place of the first position.
        """
        unique, _ = _count_keys(keys, self.depth_count)
        with self._lock:
            note_deepest(self.deepest, (group, side), keys, unique, self.depth_count, start)


def _count_keys(keys: NDArray[Any], depth_count: int) -> tuple[CountArray, CountArray]:
    """Return the distinct keys, except those with the code NONE, and how often each occurs."""
    counts = np.bincount(keys)
    unique = np.flatnonzero(counts)
    unique = unique[unique // depth_count & 255 != NONE]
    return unique, counts[unique]


def count_images(layout: Layout, counts: CountArray) -> CountArray:
    """Return the numbers of positions when symmetric images are counted separately.

    :param counts: numbers up to symmetry. Index 0 of the first axis is for all positions, index 1 for the
        positions that a symmetry of the board maps onto themselves.
    """
    all_positions, symmetric = counts
    board: CountArray = 2 * all_positions if layout.pawns else 8 * all_positions - 4 * symmetric
    return board


def note_deepest(
    notes: Deepest, group: Sequence[int], keys: NDArray[Any], unique: CountArray, depth_count: int, start: int
) -> None:
    """For each code, note the deepest of some consecutive positions in ``notes``, under the group and the
    code.

    :param keys: for each position, its code times ``depth_count``, plus its depth.
    :param unique: the distinct keys to consider, ascending.
    :param start: place of the first position.
    """
    last_keys = {key // depth_count: key for key in unique.tolist()}  # the deepest key of each code
    for code, key in last_keys.items():
        depth = key % depth_count
        best = notes.get((*group, code), (-1, 0))
        if best < (depth, -start):
            notes[*group, code] = max(best, (depth, -start - int(np.argmax(keys == key))))


def scan_table(
    source: TableSource, *, threads: int = 2, with_layers: bool = False, progress: Progress = silent
) -> TableCounts:
    """Read a table once and return its counts.

    The result does not depend on the number of threads; each thread needs about 50 MiB.

    :param with_layers: whether to solve the layers of a packed table to count accrued scores. This takes as
        long as building the table, and up to 1.7 times as much memory.
    """
    counts = TableCounts(source, with_layers)
    blocks = blocks_of(source.layout)
    size = source.layout.size
    symmetric_slots = find_symmetric_slots(source.layout)
    ranks = (
        np.zeros((2, size), np.uint8)
        if with_layers and source.info.accrued_form is AccruedForm.FUNCTIONS
        else None
    )

    def scan(block: tuple[int, int]) -> int:
        _scan_block(source, block_at(source.layout, *block), symmetric_slots, counts, ranks)
        return sum(block)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for slot_count in pool.map(scan, blocks):
                progress("counted", slot_count, size)
        finally:
            pool.shutdown(cancel_futures=True)
    _scan_en_passant(source, counts)
    if ranks is not None:
        count_layers(source, ranks, symmetric_slots, counts, threads, progress)
    return counts


def _scan_block(
    source: TableSource,
    block: ScanBlock,
    symmetric_slots: NDArray[np.int64],
    counts: TableCounts,
    ranks: NDArray[np.uint8] | None,
) -> None:
    """Count the positions of a block. Unless ``ranks`` is None, store their position ranks there.

    :param symmetric_slots: slots of positions that a symmetry of the board maps onto themselves, ascending.
    """
    depths = counts.depth_count
    in_block = slice(*np.searchsorted(symmetric_slots, [block.start, block.start + block.size]))
    symmetric = np.zeros(block.size, np.bool_)
    symmetric[symmetric_slots[in_block] - block.start] = True
    same_colour = bishops_on_one_colour(block.men)
    kings = np.broadcast_to(block.men[1].squares.astype(np.uint16) << 8, block.shape).reshape(-1)
    for side in (0, 1):
        value, depth = source.fresh_results(side, block.start, block.size)
        if not (value != NONE).any():
            continue
        moves = mobility(block, side == 0)
        classes = moves.has_capture.astype(np.uint32)
        if same_colour is not None:
            classes = classes + same_colour.astype(np.uint32) * np.uint32(SAME_COLOUR_BISHOPS)
        keys = value * np.uint32(depths) + depth
        captures = moves.has_capture.reshape(-1)
        counts.add(
            counts.counts[:, side], classes.reshape(-1) * np.uint32(depths << 8) + keys, symmetric, depths
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
        unique, key_counts = _count_keys(keys, counts.depth_count)
        counts.en_passant[side].reshape(-1)[unique] += key_counts
        counts.note(EN_PASSANT, side, keys, row * source.info.phase_size)


def count_layers(
    source: TableSource,
    ranks: NDArray[np.uint8],
    symmetric_slots: NDArray[np.int64],
    counts: TableCounts,
    threads: int,
    progress: Progress,
) -> None:
    """Solve all layers of a table, and add to ``counts`` the state counts that depend on layers.

    :param ranks: position ranks, shape (2, size).
    :param symmetric_slots: slots of positions that a symmetry of the board maps onto themselves, ascending.
    """
    size = source.layout.size
    top = int(ranks.max())
    symmetric = np.zeros(size, np.bool_)
    symmetric[symmetric_slots] = True
    with source.layers(threads) as layers, ThreadPoolExecutor(threads) as pool:
        batches = layers.batches
        for batch_index, batch in enumerate(batches):
            base, stop = (phase * source.layout.phase_size for phase in batch)
            parts = range((stop - base) // layers.part_slots)
            about = source.table.value[:, base:stop], ranks[:, base:stop], symmetric[base:stop]
            for rank in layers.ranks(batch):
                for holder in SIDES:
                    count = partial(_count_part, layers, about, holder, rank)
                    counts.states[:, :, holder, _LAYER_COLUMNS] += sum(pool.map(count, parts))
                progress("accrued scores", batch_index * top + min(rank, top), top * len(batches))


def _count_part(
    layers: EveryLayer,
    about: tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.bool_]],
    holder: Side,
    rank: int,
    part_number: int,
) -> CountArray:
    """Return the counts of ``_LAYER_COLUMNS`` in a part of the layer of an accrued score A.

    Only states with a value other than A are counted.

    :param about: three arrays about the slots of the batch: codes of W(P), position ranks (both by side to
        move), and whether a symmetry of the board maps the position onto itself.
    :param part_number: the number of the part.
    :return: int64 (2, 2, columns): counts for all positions, and for those that a symmetry maps onto
        themselves, by side to move.
    """
    counted = np.zeros((2, len(SIDES), len(_LAYER_COLUMNS)), np.int64)
    part = layers.read(holder, part_number)
    start = part_number * layers.part_slots
    value, rank_of_slot, is_symmetric = (array[..., start : start + layers.part_slots] for array in about)
    for side in SIDES:
        word_indices = np.flatnonzero(part.present[side])  # most words are empty
        bits = np.unpackbits(part.present[side, word_indices].view(np.uint8), bitorder="little")
        by_word = part.value[side], value[side], rank_of_slot[side], is_symmetric
        code, fresh, ranks, symmetric = (array.reshape(-1, 64)[word_indices] for array in by_word)
        # The side that has moved holds g(P). The fresh state, with A = g(P), is not counted.
        states = bits.view(np.bool_).reshape(-1, 64) & (code != (rank if holder == 0 else 255 - rank))
        if holder != side:
            states &= ranks != rank
        lost = states & ((code < NONE) != (holder == 0))
        columns = [states & ~lost, lost, states & (code == fresh)]
        counted[0, side] = list(map(np.count_nonzero, columns))
        counted[1, side] = [np.count_nonzero(column & symmetric) for column in columns]
    return counted
