"""Reading a table file in parts that a scan asks for."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import Layout, layout_of
from tbgen.index.table import LAST_RUN
from tbgen.material import Material
from tbgen.packed.plain import open_plain
from tbgen.store import schema
from tbgen.store.cache import ChunkCache
from tbgen.store.chunks import DamagedChunkError
from tbgen.store.format import BLOCK, table_path
from tbgen.store.info import TableInfo
from tbgen.store.reader import open_arrays
from tbgen.store.schema import DatasetSchema
from tbgen.store.stored_file import StoredFile, open_file
from tbgen.variant import Variant


class Runs(NamedTuple):
    """The runs of consecutive slots, for one holder and one side to move (docs/format.md)."""

    slot: NDArray[np.int64]
    """The slot of each run, less the first slot asked for."""
    rank: NDArray[np.int16]
    """First rank of A."""
    last: NDArray[np.bool_]
    """Whether it is the last run of its slot."""
    value: NDArray[np.uint8]
    """As stored: a code, or ``NONE``, or ``FRESH``."""


class TableSource:
    """An open table, read in parts; safe for threads. The digest is not checked, the checksums are.

    A packed table is read from its plain copy, which has no runs.

    :raises MissingTableError: if there is no such table.
    :raises DamagedTableError: if it cannot be used; so do the methods.
    """

    def __init__(self, directory: Path, material: Material, variant: Variant) -> None:
        with StoredFile(table_path(directory, material.name, variant), material=material) as stored:
            self.info = stored.info
        self._table = open_plain(directory, material, variant)
        self._file = open_file(self._table.path)
        self._arrays = open_arrays(self._file, schema.TABLE, ChunkCache(0))
        starts, runs = self._table.starts().reshape(-1), np.uint64(self._table.info.runs)
        self._starts = np.append(starts, runs).astype(np.int64)
        self._blocks = -(-self.info.size // BLOCK)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._table.close()

    info: TableInfo
    """What the file says about itself."""

    @property
    def layout(self) -> Layout:
        """The index of the table."""
        return layout_of(Material.parse(self.info.material))

    def fresh(self, side: int, start: int, size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return fresh value codes and depths of consecutive slots."""
        return self._part(schema.VALUE, side, start, size), self._part(
            schema.DEPTH, side, start, size, np.uint16
        )

    def en_passant_rows(self) -> list[tuple[int, int]]:
        """Return pawn placement and target square of every row of en passant positions."""
        rows = self._guard(self._arrays[schema.EP_CONFIG].read).tolist()
        return [(phase, square) for phase, square in rows]

    def en_passant_row(self, row: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return value codes and depths of the positions of one such row, as many as slots of a placement."""
        size = self.info.phase_size
        return self._part(schema.EP_VALUE, row, 0, size), self._part(schema.EP_DEPTH, row, 0, size, np.uint16)

    def runs(self, holder: int, side: int, start: int, size: int) -> Runs:
        """Return the runs of slots: ``start`` is the first of a block of 4096, the end of one, or of all."""
        row = 2 * holder + side
        bits = np.unpackbits(self._part(schema.RUN_MASK, row, start // 8, size // 8), bitorder="little")
        first = row * self._blocks + start // BLOCK
        begin, end = self._starts[[first, first - (-size // BLOCK)]].tolist()
        rank = self._part(schema.RUN_RANK, 0, begin, end - begin)
        last = rank >= LAST_RUN
        owner: NDArray[np.int64] = np.cumsum(last) - last
        slots = np.flatnonzero(bits)
        if owner.size and int(owner[-1]) + 1 != slots.size:
            raise self._table.damaged("its runs do not fit their mask")
        value = self._part(schema.RUN_VALUE, 0, begin, end - begin)
        return Runs(slots[owner], (rank % LAST_RUN).astype(np.int16), last, value)

    def _part(
        self, wanted: DatasetSchema, row: int, start: int, size: int, dtype: type[np.generic] = np.uint8
    ) -> NDArray[Any]:
        out = np.empty(size, dtype)
        self._guard(lambda: self._arrays[wanted].read_part(row, start, out))
        return out

    def _guard(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except DamagedChunkError as error:
            raise self._table.damaged(str(error)) from error
