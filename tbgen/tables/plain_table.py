"""Open plain tables, which store the values and depths of all positions. They need no compiled code."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.compiler.structs import Codes, Ints, Plies
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.layout import Layout, Side, Slot
from tbgen.index.table import RunIndex, Table, count_values
from tbgen.progress import Progress, silent
from tbgen.store import schema
from tbgen.store.cache import LruCache
from tbgen.store.format import BLOCK_SLOTS
from tbgen.store.schema import TABLE, DatasetSchema, Schema, manifest_line
from tbgen.tables.open_table import AS_OPENED, Answer, Bounds, Entry, Given, OpenedFile, OpenTable


class PlainTable(OpenTable):
    """An open plain table.

    :param loaded: cache of tables in memory, to which look-ups of many positions add this one; None
        for a cache of its own.
    """

    form_schema: ClassVar[Schema] = TABLE

    def __init__(self, opened_file: OpenedFile, loaded: LruCache[RunIndex] | None) -> None:
        self._loaded_tables = loaded or LruCache[RunIndex](0, lambda index: index.nbytes, min_items=1)
        super().__init__(opened_file)

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Implement :meth:`OpenTable.fresh`. A slot without a position has the entry ``(NONE, 0)``."""
        return self._value.item(side, slot), self._depth.item(side, slot)

    def accrued(self, side: Side, slot: Slot, code: Code) -> Answer:
        """Implement :meth:`OpenTable.accrued`."""
        holder, rank = (0, code) if code < NONE else (1, 255 - code)
        row = 2 * holder + side
        bits, byte = self._mask.chunk_of(row, slot >> 3)
        if not bits[byte] >> (slot & 7) & 1:
            return code, 0
        block = bits[byte - (slot % BLOCK_SLOTS >> 3) : byte]
        skipped = (
            int.from_bytes(block, "little").bit_count() + (bits[byte] & (1 << (slot & 7)) - 1).bit_count()
        )
        run = self._first_run(self._start.item(row, slot // BLOCK_SLOTS), skipped)
        last_run = -1
        while (start := self._run_rank.item(0, run)) % LAST_RUN <= rank:
            last_run = run
            if start >= LAST_RUN:
                break
            run += 1
        if last_run < 0 or (value := self._run_value.item(0, last_run)) == NONE:
            return code, 0
        return self.fresh(side, slot) if value == FRESH else (value, self._run_depth.item(0, last_run))

    def look_up(
        self, side: Codes, slots: Ints, accrued: Ints, bounds: Bounds | None = None
    ) -> tuple[Codes, NDArray[np.int32]]:
        """Implement :meth:`OpenTable.look_up`. The table is loaded into memory."""
        value, depth = self.loaded().look_up(side, slots, accrued)
        if (value == NONE).any():
            raise self.damaged("it has no value for a legal position")
        return value, depth

    @property
    def is_loaded(self) -> bool:
        """Implement :meth:`OpenTable.is_loaded`."""
        return self._loaded_tables.get(self._key) is not None

    def loaded(self) -> RunIndex:
        """Load the table into memory, unless it is there, and return it."""
        return self._loaded_tables.get_or_make(self._key, lambda: RunIndex(self.read()))

    @property
    def _key(self) -> tuple[Layout, str]:
        return self.layout, self.info.digest

    def _first_run(self, run: int, skip_count: int) -> int:
        """Skip slots with runs, and return the first run of the slot after them.

        :param run: first run of the first slot to skip.
        :param skip_count: number of slots to skip, each with runs.
        """
        while skip_count:
            chunk, index = self._run_rank.chunk_of(0, run)
            ends = np.flatnonzero(np.frombuffer(chunk, np.uint8)[index:] & LAST_RUN)
            if ends.size >= skip_count:
                return run + int(ends[skip_count - 1]) + 1
            skip_count -= ends.size
            run += len(chunk) - index
        return run

    def read_slots(
        self, side: Side, start: int, value: Codes, depth: Plies, given: Given = AS_OPENED
    ) -> None:
        """Implement :meth:`OpenTable.read_slots`."""
        self.read_part(schema.VALUE, side, start, value)
        self.read_part(schema.DEPTH, side, start, depth)

    def read(self, given: Given = AS_OPENED, *, functions: bool = True, progress: Progress = silent) -> Table:
        """Implement :meth:`OpenTable.read`."""
        arrays = {dataset: self.data(dataset, given.threads or self._threads) for dataset in TABLE.datasets}
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

    def read_fresh(self) -> Table:
        """Read the fresh values and depths, and compare them with the manifest.

        :raises DamagedTableError: if they differ, because tables built from them would be wrong.
        """
        value, depth = (self._read_checked(dataset) for dataset in (schema.VALUE, schema.DEPTH))
        return Table(self.layout.material, self.info.variant, value, depth.astype(np.uint16, copy=False))

    def _position_counts(self) -> NDArray[np.uint64]:
        return count_values(self.data(schema.VALUE))

    def _read_checked(self, dataset_schema: DatasetSchema) -> NDArray[Any]:
        data = self.data(dataset_schema, self._threads)
        if manifest_line(dataset_schema.name, data.dtype, data.shape, [data.data]) not in self.manifest.lines:
            raise self.damaged(f"its {dataset_schema.name} does not match its digest")
        return data

    def _load(self) -> None:
        super()._load()
        arrays = self._arrays
        self._value, self._depth = arrays[schema.VALUE], arrays[schema.DEPTH]
        self._mask, self._start = arrays[schema.RUN_MASK], arrays[schema.RUN_START]
        self._run_rank, self._run_value = arrays[schema.RUN_RANK], arrays[schema.RUN_VALUE]
        self._run_depth = arrays[schema.RUN_DEPTH]
