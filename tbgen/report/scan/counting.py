"""One pass over a table: every count that its report is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.progress import Progress, silent
from tbgen.report.scan.accrued import Tally, tally
from tbgen.report.scan.blocks import ScanBlock, block_at, blocks_of, like_bishops, symmetric_slots
from tbgen.report.scan.layers import count_layers
from tbgen.report.scan.mobility import mobility
from tbgen.report.scan.source import TableSource
from tbgen.report.scan.table_counts import (
    ANY,
    EN_PASSANT,
    LIKE_BISHOPS,
    QUIET,
    Counts,
    TableCounts,
    note_longest,
)


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
