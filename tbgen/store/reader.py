"""Reading a table file: single positions through a cache of decoded chunks, or all of it at once."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import h5py
import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.index.layout import Side, Slot, layout_of
from tbgen.index.table import FRESH, LAST_RUN, Table
from tbgen.store import schema
from tbgen.store.cache import ChunkCache
from tbgen.store.chunks import ChunkedArray, DamagedChunkError
from tbgen.store.format import BLOCK
from tbgen.store.manifest import manifest_line, manifest_of
from tbgen.store.schema import TABLE, DatasetSchema, Schema
from tbgen.store.stored_file import StoredFile

CACHE_BYTES: Final = 32 << 20
"""Decoded chunks kept by a file that is not given a cache."""

Entry: TypeAlias = tuple[Code, int]
"""What is stored of a position: the code of its value, and its depth in plies.

A plain tuple, because a named one takes several times as long to make, once per look-up."""


class TableFile(StoredFile):
    """An open table in plain form; single look-ups are safe for threads.

    :param material: the material that the file has to hold; None accepts any.
    :param cache: where decoded chunks are kept; files may share one.

    Raises as :class:`StoredFile` does.
    """

    def __init__(
        self, path: Path, *, material: Material | None = None, cache: ChunkCache | None = None
    ) -> None:
        self._cache = ChunkCache(CACHE_BYTES) if cache is None else cache
        super().__init__(path, material=material)

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Return code of W and D in plies; ``(NONE, 0)`` where there is no position."""
        try:
            return self._value.item(side, slot), self._depth.item(side, slot)
        except DamagedChunkError as error:
            raise self.damaged(str(error)) from error

    def accrued(self, side: Side, slot: Slot, code: Code) -> tuple[Code, int | None]:
        """Return code of V(P, A) and D(P, A) for the code of an accrued score A.

        A must have been folded in, must differ from g(P), and its rank must not exceed that of W.
        """
        holder, rank = (0, code) if code < NONE else (1, 255 - code)
        row = 2 * holder + side
        try:
            bits, at = self._mask.chunk_of(row, slot >> 3)
            if not bits[at] >> (slot & 7) & 1:
                return code, 0
            block = bits[at - (slot % BLOCK >> 3) : at]
            skipped = (
                int.from_bytes(block, "little").bit_count() + (bits[at] & (1 << (slot & 7)) - 1).bit_count()
            )
            run = self._first_run(self._start.item(row, slot // BLOCK), skipped)
            found = -1
            while (start := self._run_rank.item(0, run)) % LAST_RUN <= rank:
                found = run
                if start >= LAST_RUN:
                    break
                run += 1
            if found < 0 or (value := self._run_value.item(0, found)) == NONE:
                return code, 0
            return self.fresh(side, slot) if value == FRESH else (value, self._run_depth.item(0, found))
        except DamagedChunkError as error:
            raise self.damaged(str(error)) from error

    def _first_run(self, run: int, skipped: int) -> int:
        """Return the first run of a slot, ``skipped`` slots with runs after the slot of ``run``."""
        while skipped:
            chunk, at = self._run_rank.chunk_of(0, run)
            ends = np.flatnonzero(np.frombuffer(chunk, np.uint8)[at:] & LAST_RUN)
            if ends.size >= skipped:
                return run + int(ends[skipped - 1]) + 1
            skipped -= ends.size
            run += len(chunk) - at
        return run

    def en_passant(self, phase: int, square: int, slot: int) -> Entry:
        """Return code of W and D with the right to capture on ``square``; ``slot`` counts within the phase.

        ``(NONE, 0)`` stands for no such position, as where no such capture is legal.
        """
        row = self._ep_rows.get((phase, square))
        if row is None:
            return NONE, 0
        try:
            return self._ep_value.item(row, slot), self._ep_depth.item(row, slot)
        except DamagedChunkError as error:
            raise self.damaged(str(error)) from error

    def check(self, threads: int = 2) -> None:
        """Decode everything and compare it with the digest.

        :raises DamagedTableError: naming the first dataset or fact that differs.
        """
        with ThreadPoolExecutor(threads) as pool:
            lines = self._guard(lambda: list(pool.map(ChunkedArray.manifest_line, self._arrays.values())))
        found = manifest_of(TABLE, self.info.facts(), lines)
        if found.text != self.info.manifest.text:
            raise self.damaged(f"its {found.difference(self.info.manifest)} does not match its digest")
        if found.digest != self.info.digest:
            raise self.damaged("its manifest does not match its digest")
        if not np.array_equal(self._arrays[schema.PLACEMENTS].read(), self._placements()):
            raise self.damaged("its pawn placements are in another order")

    def read(self) -> Table:
        """Read the whole table, without checking its digest."""
        return self._guard(self._read)

    def read_fresh(self) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Read the fresh values and depths alone, both of shape (2, size), and check them against the digest.

        :raises DamagedTableError: if they are not what was written: whatever is built on them would be wrong.
        """
        value, depth = self._guard(lambda: (self._checked(schema.VALUE), self._checked(schema.DEPTH)))
        return value, depth.astype(np.uint16, copy=False)

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy the fresh values and depths of one phase with one side to move to arrays of shape (phase
        size,).

        The checksum of every chunk is checked, the digest of the table is not.

        :raises DamagedTableError: if a chunk does not decode.
        """
        self.read_slots(side, phase * len(value), value, depth)

    def read_slots(self, side: int, start: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy the fresh values and depths of one side's slots from ``start`` on to arrays of shape (n,).

        :raises DamagedTableError: if a chunk does not decode.
        """
        self._guard(partial(self._value.read_part, side, start, value))
        self._guard(partial(self._depth.read_part, side, start, depth))

    def read_en_passant(self, row: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy the values and depths of one en passant configuration to arrays of one phase's size.

        :raises DamagedTableError: if a chunk does not decode.
        """
        self._guard(partial(self._ep_value.read_part, row, 0, value))
        self._guard(partial(self._ep_depth.read_part, row, 0, depth))

    def _checked(self, wanted: DatasetSchema) -> NDArray[Any]:
        data, name = self._arrays[wanted].read(), wanted.name
        state = hashlib.sha256(data.data)
        if manifest_line(name, data.dtype, data.shape, state.hexdigest()) not in self.info.manifest.lines:
            raise self.damaged(f"its {name} does not match its digest")
        return data

    def starts(self) -> NDArray[np.uint64]:
        """Read the number of runs before every block of slots, shape (2, 2, blocks)."""
        return self._guard(self._start.read)

    def _load(self) -> None:
        if self.schema is not TABLE:
            raise self.damaged("it is packed, and was to be read as a plain table")
        self._arrays = arrays = open_arrays(self._file, TABLE, self._cache)
        sizes = self.info.sizes(arrays[schema.EP_CONFIG].shape[0])
        for wanted, array in arrays.items():
            if array.shape != wanted.sized(sizes):
                raise self.damaged(f"its {wanted.name} has another shape")
        self._value, self._depth = arrays[schema.VALUE], arrays[schema.DEPTH]
        self._mask, self._start = arrays[schema.RUN_MASK], arrays[schema.RUN_START]
        self._run_rank, self._run_value = arrays[schema.RUN_RANK], arrays[schema.RUN_VALUE]
        self._run_depth = arrays[schema.RUN_DEPTH]
        self._ep_value, self._ep_depth = arrays[schema.EP_VALUE], arrays[schema.EP_DEPTH]
        configurations = arrays[schema.EP_CONFIG].read().tolist()
        self._ep_rows = {(phase, square): row for row, (phase, square) in enumerate(configurations)}

    def _read(self) -> Table:
        arrays = {wanted: array.read() for wanted, array in self._arrays.items()}
        return Table(
            self._material,
            self.info.variant,
            arrays[schema.VALUE],
            arrays[schema.DEPTH].astype(np.uint16, copy=False),
            arrays[schema.RUN_MASK].view("<u8").astype(np.uint64, copy=False),
            arrays[schema.RUN_RANK],
            arrays[schema.RUN_VALUE],
            arrays[schema.RUN_DEPTH].astype(np.uint16, copy=False),
            arrays[schema.EP_CONFIG],
            arrays[schema.EP_VALUE],
            arrays[schema.EP_DEPTH].astype(np.uint16, copy=False),
        )

    def _placements(self) -> NDArray[np.uint8]:
        layout = layout_of(self._material)
        return np.array(layout.placements, np.uint8).reshape(len(layout.placements), layout.pawns)


def open_arrays(file: h5py.File, kind: Schema, cache: ChunkCache) -> dict[DatasetSchema, ChunkedArray]:
    """Return the datasets of an open file, in the order of the manifest.

    :raises KeyError: if one is missing.
    :raises ValueError: if one is of another type, or stored in another way.
    """
    arrays = {}
    for wanted in kind.datasets:
        array = arrays[wanted] = ChunkedArray(file[wanted.name], cache, wanted.sparse)
        if array.dtype not in wanted.types:
            raise ValueError(f"{wanted.name} is of another type")
    return arrays
