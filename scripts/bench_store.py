#!/usr/bin/env python3
"""Measure chunk size, gzip level and checksum of the table format on real tables, as in docs/format.md.

    scripts/bench_store.py data/KBNvK.r.h5 data/KRvKR.r.h5

Prints, per setting: the size of the file, the seconds to write and check it, the microseconds of a look-up
of W and D whose chunks have to be decoded (cold) and one whose are not (warm), and the seconds to read all.
"""

import argparse
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.index.table import Table
from tbgen.score import NONE
from tbgen.store import dataset, writer
from tbgen.store.cache import ChunkCache
from tbgen.store.format import GZIP_LEVEL
from tbgen.store.reader import TableFile

SETTINGS = [(kib, GZIP_LEVEL) for kib in (4, 8, 16, 32, 64, 256)] + [(16, level) for level in (1, 6, 9)]
LOOKUPS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", type=Path, metavar="FILE")
    for path in parser.parse_args().tables:
        with TableFile(path) as file:
            table = file.read()
        print(f"\n{path.name}\n  chunk level      KiB  write s  cold us  warm us  read s")
        with tempfile.TemporaryDirectory() as folder:
            for kib, level in SETTINGS:
                measure(table, Path(folder) / path.name, kib, level)
            checksums(table.value, Path(folder) / "checksums.h5")
        filling(table)


def measure(table: Table, path: Path, kib: int, level: int) -> None:
    """Write the table with one setting, read it, and print a line."""
    dataset.CHUNK_BYTES, writer.GZIP_LEVEL = kib << 10, level  # type: ignore[misc]
    start = time.perf_counter()
    info = writer.write_table(table, path, version="bench", build_seconds=0.0)
    written = time.perf_counter() - start
    sides, slots = np.nonzero(table.value != NONE)
    chosen = np.random.default_rng(0).integers(0, len(slots), LOOKUPS)
    asked = list(zip(sides[chosen].tolist(), slots[chosen].tolist(), strict=True))
    with TableFile(path, cache=ChunkCache(0)) as cold, TableFile(path, cache=ChunkCache(1 << 30)) as warm:
        uncached = per_lookup(cold, asked)
        per_lookup(warm, asked)
        cached = per_lookup(warm, asked)
        start = time.perf_counter()
        cold.read()
        read = time.perf_counter() - start
    print(
        f"{kib:3} KiB {level:5} {info.bytes / 1024:8.1f} {written:8.2f}"
        f" {uncached:8.1f} {cached:8.2f} {read:7.3f}",
        flush=True,
    )


def per_lookup(file: TableFile, asked: list[tuple[int, int]]) -> float:
    """Return the mean microseconds of a look-up."""
    start = time.perf_counter()
    for side, slot in asked:
        file.fresh(side, slot)
    return (time.perf_counter() - start) / len(asked) * 1e6


def checksums(value: NDArray[np.uint8], path: Path, flips: int = 200) -> None:
    """Flip bits in the chunks of one array, stored with and without fletcher32, and print what is noticed."""
    rng = np.random.default_rng(1)
    for compression, fletcher in ((None, True), (GZIP_LEVEL, False), (GZIP_LEVEL, True)):
        options = {"compression": compression, "fletcher32": fletcher, "chunks": (1, 16384)}
        with h5py.File(path, "w", libver="latest") as file:
            stored = file.create_dataset("value", data=value[:, : 16 * 16384], **options)
            chunks = [stored.id.get_chunk_info(i) for i in range(stored.id.get_num_chunks())]
        whole = path.read_bytes()
        noticed = wrong = 0
        start = time.perf_counter()
        with h5py.File(path, "r") as file:
            file["value"][...]
        read = time.perf_counter() - start
        for _ in range(flips):
            chunk = chunks[rng.integers(len(chunks))]
            damaged = bytearray(whole)
            damaged[chunk.byte_offset + int(rng.integers(chunk.size))] ^= 1 << int(rng.integers(8))
            path.write_bytes(damaged)
            with h5py.File(path, "r") as file:
                try:
                    wrong += not np.array_equal(file["value"][...], value[:, : 16 * 16384])
                except OSError:
                    noticed += 1
        size = sum(chunk.size for chunk in chunks) / 1024
        print(
            f"gzip {compression or 'none':>4}, fletcher32 {fletcher!s:5}: {size:8.1f} KiB,"
            f" read {read * 1e3:.1f} ms, {noticed} of {flips} flips noticed, {wrong} read as wrong data"
        )


def filling(table: Table) -> None:
    """Print what NONE in the empty slots costs, compared with repeating the value before them."""
    for name, array in (("value", table.value.ravel()), ("depth", table.depth.astype(np.uint8).ravel())):
        empty = table.value.ravel() == NONE
        last = np.maximum.accumulate(np.where(empty, 0, np.arange(empty.size)))
        steps = range(16384, array.size, 16384)
        sizes = [
            sum(len(zlib_ng.compress(part.tobytes(), GZIP_LEVEL)) for part in np.split(a, steps))
            for a in (array, array[last])
        ]
        print(
            f"{name}: {sizes[0] / 1024:.1f} KiB as it is, {sizes[1] / 1024:.1f} KiB with empty slots repeated"
        )


if __name__ == "__main__":
    main()
