"""Tables in parts that a scan asks for: plain ones from their files, packed ones from memory."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.layout import layout_of
from tbgen.index.table import LAST_RUN
from tbgen.packed.tables import open_table
from tbgen.progress import Progress, silent
from tbgen.store import schema
from tbgen.store.format import BLOCK, table_path
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile
from tbgen.store.schema import DatasetSchema

if TYPE_CHECKING:
    from tbgen.index.table import Table
    from tbgen.packed.sources import Sources
    from tbgen.retro.every_layer import EveryLayer

_logger = logging.getLogger(__name__)

Fresh = tuple[NDArray[np.uint8], NDArray[np.uint16]]
"""Fresh value codes and depths of consecutive slots, which are not to be changed."""


class ScanRuns(NamedTuple):
    """The runs of consecutive slots, for one holder and one side to move (docs/format.md)."""

    slot: NDArray[np.int64]
    """The slot of each run, less the first slot asked for."""
    rank: NDArray[np.int16]
    """First rank of A."""
    last: NDArray[np.bool_]
    """Whether it is the last run of its slot."""
    value: NDArray[np.uint8]
    """As stored: a code, or ``NONE``, or ``FRESH``."""


class TableSource(ABC):
    """An open table, read in parts, safe for threads; the digest is not checked, checksums are.

    :param info: what the file says about itself.

    All methods raise :class:`DamagedTableError` if a block does not decode.
    """

    def __init__(self, info: TableInfo) -> None:
        self.info = info
        self.layout = layout_of(Material.parse(info.material))

    @abstractmethod
    def fresh(self, side: int, start: int, size: int) -> Fresh:
        """Return what is known of consecutive slots."""

    @abstractmethod
    def en_passant(self) -> Iterator[tuple[tuple[int, int], Fresh]]:
        """Yield pawn placement and target square of every row of en passant positions, and what is known of
        them, as many as slots of a placement."""

    def runs(self, holder: int, side: int, start: int, size: int) -> ScanRuns | None:
        """Return the runs of slots, None if the table has none.

        :param start: the first slot of a block of 4096.
        :param size: as many as are in whole blocks, or the rest of the table.
        """
        return None

    def layers(self) -> EveryLayer:
        """Return what makes the layers of accrued scores, to be used as a context manager; for packed tables
        of the variant with resets."""
        raise NotImplementedError


@contextmanager
def open_source(
    directory: Path, material: Material, variant: Variant, *, threads: int = 2, progress: Progress = silent
) -> Iterator[TableSource]:
    """Give an open table; a packed one is unpacked, which takes time, memory and compiled code.

    :raises MissingTableError: if there is no such table, or one is missing that a packed one rests on.
    :raises DamagedTableError: if it cannot be used.
    """
    with open_table(table_path(directory, material.name, variant), material) as file:
        if isinstance(file, TableFile):
            yield PlainSource(file)
            return
        info = file.info
    from tbgen.packed.sources import Sources

    # Tables that it rests on are read as they are, or from plain copies.
    with Sources(directory, variant, threads) as sources:
        yield UnpackedSource(info, sources.unpack(material, progress), sources, threads)


class PlainSource(TableSource):
    """A plain table, read from its file."""

    def __init__(self, file: TableFile) -> None:
        super().__init__(file.info)
        self._file = file
        self._starts = np.append(file.data(schema.RUN_START).reshape(-1), np.uint64(self.info.runs)).astype(
            np.int64
        )

    def fresh(self, side: int, start: int, size: int) -> Fresh:
        """Return what is known of consecutive slots."""
        found = np.empty(size, np.uint8), np.empty(size, np.uint16)
        self._file.read_slots(side, start, *found)
        return found

    def en_passant(self) -> Iterator[tuple[tuple[int, int], Fresh]]:
        """Yield the rows of en passant positions."""
        for row, (phase, square) in enumerate(self._file.data(schema.EP_CONFIG).tolist()):
            found = np.empty(self.info.phase_size, np.uint8), np.empty(self.info.phase_size, np.uint16)
            self._file.read_en_passant(row, *found)
            yield (phase, square), found

    def runs(self, holder: int, side: int, start: int, size: int) -> ScanRuns | None:
        """Return the runs of slots, None if the table has none."""
        if not self.info.variant.resets or not self.info.stores_runs:
            return None
        row = 2 * holder + side
        bits = np.unpackbits(self._part(schema.RUN_MASK, row, start // 8, size // 8), bitorder="little")
        first = row * -(-self.info.size // BLOCK) + start // BLOCK
        begin, end = self._starts[[first, first - (-size // BLOCK)]].tolist()
        rank = self._part(schema.RUN_RANK, 0, begin, end - begin)
        last = rank >= LAST_RUN
        owner: NDArray[np.int64] = np.cumsum(last) - last
        slots = np.flatnonzero(bits)
        if owner.size and int(owner[-1]) + 1 != slots.size:
            raise self._file.damaged("its runs do not fit their mask")
        value = self._part(schema.RUN_VALUE, 0, begin, end - begin)
        return ScanRuns(slots[owner], (rank % LAST_RUN).astype(np.int16), last, value)

    def _part(self, wanted: DatasetSchema, row: int, start: int, size: int) -> NDArray[Any]:
        out = np.empty(size, np.uint8)
        self._file.read_part(wanted, row, start, out)
        return out


class UnpackedSource(TableSource):
    """A packed table, unpacked in memory.

    :param sources: the tables that it rests on.
    """

    def __init__(self, info: TableInfo, table: Table, sources: Sources, threads: int) -> None:
        super().__init__(info)
        self._table, self._sources, self._threads = table, sources, threads

    def fresh(self, side: int, start: int, size: int) -> Fresh:
        """Return what is known of consecutive slots."""
        part = slice(start, start + size)
        return self._table.value[side, part], self._table.depth[side, part]

    def en_passant(self) -> Iterator[tuple[tuple[int, int], Fresh]]:
        """Yield the rows of en passant positions."""
        rows = zip(self._table.ep_config.tolist(), self._table.ep_value, self._table.ep_depth, strict=True)
        for (phase, square), value, depth in rows:
            yield (phase, square), (value, depth)

    def layers(self) -> EveryLayer:
        """Return what makes the layers of accrued scores, by solving the table again."""
        from tbgen.retro.every_layer import EveryLayer
        from tbgen.retro.warmup import ensure_compiled

        ensure_compiled(_logger.warning)
        around = self._sources.around(self._table.material)
        return EveryLayer(self._table, around, threads=self._threads)
