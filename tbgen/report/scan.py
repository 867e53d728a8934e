"""One pass over a table, and every count that its report is made of.

What becomes of accrued scores is counted from the runs of a table, or from its layers where it has no runs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.index.layout import IMAGE, Layout
from tbgen.index.table import FRESH
from tbgen.progress import Progress, silent
from tbgen.report.blocks import ScanBlock, block_at, blocks_of, like_bishops, mobility, symmetric_slots
from tbgen.report.source import ScanRuns, TableSource

if TYPE_CHECKING:
    from tbgen.retro.layer_solvers import Layer


STATES, STORED, IMPROVED, WORSENED, LOST, LOST_BY_RESET, FRESH_STATES = range(7)
"""Columns of the numbers of states: as the fields of :class:`AccruedCounts`; ``survives`` is what is left."""

ACCRUED_COLUMNS: Final = 7
_FIRST_RANK: Final = 2
Tally = list[tuple[int, NDArray[np.int64] | None, NDArray[np.integer]]]


def tally(
    holder: int, side: int, value: NDArray[np.uint8], rank: NDArray[np.uint8], runs: ScanRuns | None
) -> Tally:
    """Count the states of consecutive slots whose accrued score a side holds, by what becomes of them.

    :param holder: 0 if White holds A, else 1.
    :param side: 0 with White to move, else 1.
    :param value: code of W of each slot, ``NONE`` where there is no position.
    :param rank: rank of g of each slot.
    :param runs: of these slots, holder and side; None where all accrued scores survive.
    :return: column, slots (less the first) and the number of states of each; None stands for all slots, and a
        slot may come repeatedly.
    """
    fresh_rank = np.minimum(value, 255 - value).astype(np.int16)
    # g(P) is held by the side that has moved: an A equal to it is no state of its own.
    most = rank - np.int16(holder != side)
    most[(value == NONE) | (rank < _FIRST_RANK)] = 0
    top = np.minimum(most, fresh_rank)
    states, stored = (np.maximum(ranks - (_FIRST_RANK - 1), 0) for ranks in (most, top))
    beyond = states - stored  # of a greater rank than W, which they come to
    held = (value < NONE) == (holder == 0)
    alike = held & (fresh_rank >= _FIRST_RANK) & (top >= fresh_rank)
    found: Tally = [
        (STATES, None, states),
        (STORED, None, stored),
        (IMPROVED, None, np.where(held, beyond, 0)),
        (LOST, None, np.where(held, 0, beyond)),
        (FRESH_STATES, None, beyond + alike),
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
    # V lies between A and W (fact F2), and W has no smaller rank than A: so neither has V.
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
"""Kinds of longest positions: all, those without a legal capture, and those with an en passant right, which
the others do not have."""

Longest = dict[tuple[int, ...], tuple[int, int]]
"""Longest positions by what tells them apart: depth and place, which is negative, so that of equally long
positions the first in the table is the greatest."""


class TableCounts:
    """The counts of one table, all 0 at first. Codes and slots are the table's.

    The first axis of counts without en passant positions has all positions up to symmetry, then those that a
    symmetry of the board maps onto themselves.

    :param layers: whether accrued scores of packed tables are counted; those that are stored as runs are,
        and so are those of the variant that needs none.
    """

    def __init__(self, source: TableSource, layers: bool) -> None:
        self.info, self.layout = source.info, source.layout
        self.depths = self.info.max_depth + 1
        """Number of depths: the greatest one plus 1."""
        self.counts: Counts = np.zeros((2, 2, CLASSES, 256, self.depths), np.int64)
        """Shape (2, 2 sides, classes, 256 codes, depths)."""
        self.en_passant: Counts = np.zeros((2, 256, self.depths), np.int64)
        """Shape (2 sides, 256, depths): en passant positions up to symmetry."""
        self.king: Counts = np.zeros((2, 2, 64, 256), np.int64)
        """Shape (2, 2 sides, 64, 256): positions by the square of Black's king."""
        self.states: Counts = np.zeros((2, 2, 2, ACCRUED_COLUMNS), np.int64)
        """Shape (2, 2 sides, 2 holders, columns beside :data:`ACCRUED_COLUMNS`)."""
        stored = not self.info.variant.layered or self.info.stores_runs
        self.has_accrued = stored or (layers and self.info.has_layers)
        """Whether accrued scores are counted."""
        self.en_passant_rows: list[tuple[int, int]] = []
        """Pawn placement and target square of the rows of en passant positions."""
        self.longest: Longest = {}
        """By kind, side and code: depth, and less the slot, or, with an en passant right, less row times
        phase size and slot within the phase."""

    @property
    def material(self) -> Material:
        """The material of the table."""
        return self.layout.material

    def on_board(self) -> Counts:
        """Return ``counts`` with every image of a position counted, without the first axis."""
        return images(self.layout, self.counts)

    def king_on_board(self) -> Counts:
        """Return ``king`` with every image of a position counted where it has the king."""
        twice: Counts = 2 * self.king[0] - self.king[1]
        total = np.zeros_like(twice)
        for image in IMAGE[:2] if self.layout.pawns else IMAGE:
            total[:, list(image)] += twice
        return total // 2

    def merge(self, other: TableCounts) -> None:
        """Add another part of the same table, without its en passant positions."""
        self.counts += other.counts
        self.king += other.king
        self.states += other.states
        for key, found in other.longest.items():
            self.longest[key] = max(found, self.longest.get(key, found))


def images(layout: Layout, counts: Counts) -> Counts:
    """Return numbers of positions on the board.

    :param counts: of all positions up to symmetry, and of those that a symmetry of the board maps onto
        themselves, along the first axis.
    """
    every, symmetric = counts
    board: Counts = 2 * every if layout.pawns else 8 * every - 4 * symmetric
    return board


def note_longest(
    longest: Longest, kind: tuple[int, ...], keys: NDArray[Any], present: Counts, depths: int, start: int
) -> None:
    """Note the longest ones of consecutive positions from a place on, by their kind and code.

    :param keys: of each position a code times the number of depths, plus its depth.
    :param present: the keys that count, ascending.
    """
    deepest = {key // depths: key for key in present.tolist()}  # of equal codes the last one stays
    for code, key in deepest.items():
        depth, before = key % depths, longest.get((*kind, code), (-1, 0))
        if before < (depth, -start):
            longest[*kind, code] = max(before, (depth, -start - int(np.argmax(keys == key))))


_OF_LAYERS: Final = WORSENED, LOST_BY_RESET, FRESH_STATES
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
    from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER

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
                        _add_layer(pool, layer, of_side, (holder, rank, base), found)
                progress("accrued scores", number * top + min(rank, top), top * len(windows))


def _add_layer(
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
        found.states[:, side, holder, _OF_LAYERS] += numbers


def count_source(
    source: TableSource, *, threads: int = 2, layers: bool = False, progress: Progress = silent
) -> TableCounts:
    """Read a table once and count.

    The result does not depend on the number of threads; each thread takes some 50 MiB.

    :param layers: whether to make the layers of a packed table, to count what becomes of accrued scores; that
        takes as long as its build, and twice as much memory.
    """
    blocks, size = blocks_of(source.layout), source.layout.size
    fixed = symmetric_slots(source.layout)
    done, lock, stopped = 0, Lock(), Event()
    ranks = np.zeros((2, size), np.uint8) if layers and source.info.has_layers else None

    def part(number: int) -> TableCounts:
        nonlocal done
        found = TableCounts(source, layers)
        for start, count in blocks[number::threads]:
            if stopped.is_set():
                break
            _scan_block(source, block_at(source.layout, start, count), fixed, found, ranks)
            with lock:
                done += count
                progress("counted", done, size)
        return found

    with ThreadPoolExecutor(threads) as pool:
        try:
            total, *others = pool.map(part, range(threads))
        finally:
            stopped.set()
    for other in others:
        total.merge(other)
    _scan_en_passant(source, total)
    if ranks is not None:
        count_layers(source, ranks, fixed, total, threads, progress)
    return total


def _scan_block(
    source: TableSource,
    block: ScanBlock,
    fixed: NDArray[np.int64],
    found: TableCounts,
    ranks: NDArray[np.uint8] | None,
) -> None:
    """Count the positions of a block, and note the ranks of their own scores where they are asked for."""
    depths = found.depths
    among = slice(*np.searchsorted(fixed, [block.start, block.start + block.size]))
    symmetric = np.zeros(block.size, np.bool_)
    symmetric[fixed[among] - block.start] = True
    like = like_bishops(block.men)
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
        _add(found.counts[:, side], group.reshape(-1) * np.uint32(depths << 8) + key, symmetric, depths)
        _add(found.king[:, side], kings | value, symmetric)
        _note_longest(found, ANY, side, key, block.start)
        _note_longest(found, QUIET, side, np.where(captures, np.uint32(NONE * depths), key), block.start)
        rank = moves.rank.reshape(-1)
        if ranks is not None:
            ranks[side, block.start : block.start + block.size] = rank
        if found.has_accrued:
            for holder in (0, 1):
                runs = source.runs(holder, side, block.start, block.size)
                _add_states(found.states[:, side, holder], tally(holder, side, value, rank, runs), symmetric)


def _add(total: Counts, keys: NDArray[Any], symmetric: NDArray[np.bool_], depths: int = 1) -> None:
    """Count keys, all and those of symmetric positions; the lowest byte of one, divided by ``depths``, is a
    code."""
    for numbers, these in zip(total, (keys, keys[symmetric]), strict=True):
        present, counts = _counted(these, depths)
        numbers.reshape(-1)[present] += counts


def _add_states(total: Counts, states: Tally, symmetric: NDArray[np.bool_]) -> None:
    """Add states, all and those of symmetric positions."""
    for column, slots, counts in states:
        rare = counts[symmetric if slots is None else symmetric[slots]]
        total[:, column] += counts.sum(dtype=np.int64), rare.sum(dtype=np.int64)


def _counted(keys: NDArray[Any], depths: int) -> tuple[Counts, Counts]:
    """Return which keys there are, those of NONE aside, and how many of each."""
    counts = np.bincount(keys)
    present = np.flatnonzero(counts)
    present = present[present // depths & 255 != NONE]
    return present, counts[present]


def _note_longest(found: TableCounts, kind: int, side: int, keys: NDArray[Any], start: int) -> None:
    present, _ = _counted(keys, found.depths)
    note_longest(found.longest, (kind, side), keys, present, found.depths, start)


def _scan_en_passant(source: TableSource, found: TableCounts) -> None:
    for (phase, square), (value, depth) in source.en_passant():
        side, start = int(square < 32), len(found.en_passant_rows) * source.info.phase_size
        keys = value.astype(np.int64) * found.depths + depth
        present, counts = _counted(keys, found.depths)
        found.en_passant[side].reshape(-1)[present] += counts
        _note_longest(found, EN_PASSANT, side, keys, start)
        found.en_passant_rows.append((phase, square))
