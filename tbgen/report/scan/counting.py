"""One pass over a table: every count that its report is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.progress import Progress, silent
from tbgen.report.scan.accrued import tally
from tbgen.report.scan.blocks import ScanBlock, block_at, blocks_of, like_bishops, symmetric_slots
from tbgen.report.scan.layers import count_layers
from tbgen.report.scan.mobility import mobility
from tbgen.report.scan.source import TableSource, open_source
from tbgen.report.scan.table_counts import ANY, CAPTURES, LIKE_BISHOPS, QUIET, Counts, TableCounts, better


def count_table(directory: Path, material: Material, variant: Variant, *, threads: int = 2) -> TableCounts:
    """Open a table and count; see :func:`count_source`.

    :raises MissingTableError: if there is no such table.
    :raises DamagedTableError: if it cannot be used.
    """
    with open_source(directory, material, variant, threads=threads) as source:
        return count_source(source, threads=threads)


def count_source(
    source: TableSource, *, threads: int = 2, layers: bool = False, progress: Progress = silent
) -> TableCounts:
    """Read a table once and count.

    The result does not depend on the number of threads, each of which takes some 50 MiB.

    :param layers: whether to make the layers of a packed table, to count what becomes of accrued scores; that
        takes as long as its build, and twice as much memory.

    :raises DamagedTableError: if it cannot be used.
    """
    blocks, size = blocks_of(source.layout), source.layout.size
    fixed = symmetric_slots(source.layout)
    done, lock, stopped = 0, Lock(), Event()
    ranks = np.zeros((2, size), np.uint8) if layers and source.info.has_layers else None

    def part(number: int) -> TableCounts:
        nonlocal done
        found = TableCounts.empty(source, layers)
        for start, count in blocks[number::threads]:
            if stopped.is_set():
                break
            _scan_block(source, block_at(source.layout, start, count), fixed, found, ranks)
            with lock:
                done += count
                progress("counted", done, size)
        return found

    with ThreadPoolExecutor(threads) as pool:
        parts = [pool.submit(part, number) for number in range(threads)]
        try:
            # Whichever fails first is heard first, and nobody waits for the others' blocks.
            for finished in as_completed(parts):
                finished.result()
        except BaseException:
            stopped.set()
            raise
    total, *others = (finished.result() for finished in parts)
    for other in others:
        total.merge(other)
    _scan_en_passant(source, total)
    if ranks is not None:
        with source.layers() as made:
            count_layers(source, made, ranks, fixed, total, threads, progress)
    return total


def _scan_block(
    source: TableSource,
    block: ScanBlock,
    fixed: NDArray[np.int64],
    found: TableCounts,
    ranks: NDArray[np.uint8] | None,
) -> None:
    """Count the positions of a block, and note the ranks of their own scores where they are asked for."""
    depths = found.counts.shape[-1]
    among = slice(*np.searchsorted(fixed, [block.start, block.start + block.size]))
    symmetric = fixed[among] - block.start
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
        key = (group.reshape(-1) << 8 | value) * np.uint32(depths) + depth
        keys, counts = _counted(key, depths)
        _add(found.counts[side], keys, counts)
        by_king = kings | value
        _add(found.king[side], *_counted(by_king, 1))
        if symmetric.size:
            _add(found.symmetric[side], *_counted(key[symmetric], depths))
            _add(found.king_symmetric[side], *_counted(by_king[symmetric], 1))
        for kind in (ANY, QUIET):
            these = keys if kind == ANY else keys[keys // depths >> 8 & CAPTURES == 0]
            _note_longest(found, kind, side, these, block.start, key)
        if ranks is not None:
            ranks[side, block.start : block.start + block.size] = moves.rank.reshape(-1)
        if found.has_accrued:
            _scan_accrued(source, block, side, value, moves.rank.reshape(-1), symmetric, found)


def _counted(keys: NDArray[Any], depths: int) -> tuple[Counts, Counts]:
    """Return which keys there are, those of NONE aside, and how many of each.

    The lowest byte of a key, divided by ``depths``, is a code.
    """
    counts = np.bincount(keys)
    present = np.flatnonzero(counts)
    present = present[present // depths & 255 != NONE]
    return present, counts[present]


def _add(total: Counts, keys: Counts, counts: Counts) -> None:
    total.reshape(-1)[keys] += counts


def _note_longest(
    found: TableCounts, kind: int, side: int, keys: Counts, start: int, where: NDArray[Any]
) -> None:
    """Note the longest positions of a block among those with some keys; ``where`` has the key of every
    slot."""
    depths = found.counts.shape[-1]
    most: dict[int, int] = {}
    codes, plies = keys // depths & 255, keys % depths
    for code, depth in zip(codes.tolist(), plies.tolist(), strict=True):
        most[code] = max(depth, most.get(code, 0))
    for code, depth in most.items():
        before = found.longest.get((kind, side, code))
        if before is None or (before[0], -before[1]) < (depth, -start):
            wanted = keys[(codes == code) & (plies == depth)]
            slot = start + min(int(np.argmax(where == key)) for key in wanted)
            found.longest[kind, side, code] = better(before, (depth, slot))


def _scan_accrued(
    source: TableSource,
    block: ScanBlock,
    side: int,
    value: NDArray[np.uint8],
    rank: NDArray[np.uint8],
    symmetric: NDArray[np.int64],
    found: TableCounts,
) -> None:
    rare = np.zeros(value.size, np.bool_)
    rare[symmetric] = True
    for holder in (0, 1):
        runs = source.runs(holder, side, block.start, block.size)
        for column, slots, states in tally(holder, side, value, rank, runs):
            found.states[side, holder, column] += states.sum(dtype=np.int64)
            if symmetric.size:
                found.states_symmetric[side, holder, column] += states[
                    rare if slots is None else rare[slots]
                ].sum()


def _scan_en_passant(source: TableSource, found: TableCounts) -> None:
    depths = found.counts.shape[-1]
    for row, (_, square) in enumerate(found.en_passant_rows):
        value, depth = source.en_passant_row(row)
        side = 1 if square < 32 else 0
        key = value.astype(np.int64) * depths + depth
        _add(found.en_passant[side], *_counted(key, depths))
        for key_of_code, code in _deepest(key, depths):
            place = row * source.info.phase_size + int(np.argmax(key == key_of_code))
            longest = (key_of_code % depths, place)
            found.longest_en_passant[side, code] = better(found.longest_en_passant.get((side, code)), longest)


def _deepest(keys: NDArray[np.int64], depths: int) -> list[tuple[int, int]]:
    """Return the key of the greatest depth of every code, and the code."""
    present, _ = _counted(keys, depths)
    deepest = {key // depths: key for key in present.tolist()}  # ascending, so that the last one stays
    return [(key, code) for code, key in deepest.items()]
