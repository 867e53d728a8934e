"""Reading a table file: single positions through a cache of decoded chunks, or all of it at once."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.index.layout import Side, Slot
from tbgen.index.table import FRESH, LAST_RUN, Table
from tbgen.store import schema
from tbgen.store.format import BLOCK
from tbgen.store.manifest import manifest_line
from tbgen.store.schema import TABLE, DatasetSchema
from tbgen.store.stored_file import Entry, StoredFile


class TableFile(StoredFile):
    """An open table in plain form; single look-ups are safe for threads.

    Takes and raises what :class:`StoredFile` does.
    """

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Return code of W and D in plies; ``(NONE, 0)`` where there is no position."""
        return self._value.item(side, slot), self._depth.item(side, slot)

    def accrued(self, side: Side, slot: Slot, code: Code) -> tuple[Code, int | None]:
        """Return code of V(P, A) and D(P, A) for the code of an accrued score A.

        A must have been folded in, must differ from g(P), and its rank must not exceed that of W.
        """
        holder, rank = (0, code) if code < NONE else (1, 255 - code)
        row = 2 * holder + side
        bits, at = self._mask.chunk_of(row, slot >> 3)
        if not bits[at] >> (slot & 7) & 1:
            return code, 0
        block = bits[at - (slot % BLOCK >> 3) : at]
        skipped = int.from_bytes(block, "little").bit_count() + (bits[at] & (1 << (slot & 7)) - 1).bit_count()
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

    def learn(self, asked: Iterable[tuple[Side, Slot, int]]) -> None:
        """Do nothing: single look-ups are fast; see :meth:`tbgen.packed.file.PackedFile.learn`."""

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

    def read(self) -> Table:
        """Read the whole table, without checking its digest."""
        arrays = {wanted: self.data(wanted) for wanted in TABLE.datasets}
        return Table(
            self.layout.material,
            self.info.variant,
            arrays[schema.VALUE],
            arrays[schema.DEPTH].astype(np.uint16, copy=False),
            arrays[schema.RUN_MASK].view("<u8").astype(np.uint64, copy=False),
            arrays[schema.RUN_RANK],
            arrays[schema.RUN_VALUE],
            arrays[schema.RUN_DEPTH].astype(np.uint16, copy=False),
            *self.en_passant_arrays(),
        )

    def read_fresh(self) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Read the fresh values and depths alone, both of shape (2, size), and check them against the digest.

        :raises DamagedTableError: if they are not what was written: whatever is built on them would be wrong.
        """
        value, depth = self._checked(schema.VALUE), self._checked(schema.DEPTH)
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
        self.read_part(schema.VALUE, side, start, value)
        self.read_part(schema.DEPTH, side, start, depth)

    def _checked(self, wanted: DatasetSchema) -> NDArray[Any]:
        data = self.data(wanted)
        if manifest_line(wanted.name, data.dtype, data.shape, [data.data]) not in self.manifest.lines:
            raise self.damaged(f"its {wanted.name} does not match its digest")
        return data

    def _load(self) -> None:
        super()._load()
        if self.schema is not TABLE:
            raise self.damaged("it is packed, and was to be read as a plain table")
        arrays = self._arrays
        self._value, self._depth = arrays[schema.VALUE], arrays[schema.DEPTH]
        self._mask, self._start = arrays[schema.RUN_MASK], arrays[schema.RUN_START]
        self._run_rank, self._run_value = arrays[schema.RUN_RANK], arrays[schema.RUN_VALUE]
        self._run_depth = arrays[schema.RUN_DEPTH]
