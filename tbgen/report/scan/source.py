"""Tables in parts that a scan asks for: plain ones from their files, packed ones from memory."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.layout import Layout, layout_of
from tbgen.index.table import LAST_RUN
from tbgen.progress import Progress, silent
from tbgen.store import schema
from tbgen.store.format import BLOCK, table_path
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile
from tbgen.store.schema import DatasetSchema
from tbgen.store.stored_file import StoredFile

if TYPE_CHECKING:
    from tbgen.index.table import Table
    from tbgen.retro.every_layer import EveryLayer

_logger = logging.getLogger(__name__)


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


class TableSource(Protocol):
    """An open table, read in parts; a context, safe for threads. The digest is not checked, checksums are."""

    info: TableInfo
    """What the file says about itself."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def layout(self) -> Layout:
        """The index of the table."""

    def fresh(self, side: int, start: int, size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return fresh value codes and depths of consecutive slots.

        :raises DamagedTableError: if a block does not decode.
        """

    def en_passant_rows(self) -> list[tuple[int, int]]:
        """Return pawn placement and target square of every row of en passant positions."""

    def en_passant_row(self, row: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return value codes and depths of the positions of one such row, as many as slots of a placement."""

    def runs(self, holder: int, side: int, start: int, size: int) -> ScanRuns | None:
        """Return the runs of slots, None if the table has none.

        :param start: the first slot of a block of 4096.
        :param size: as many as are in whole blocks, or the rest of the table.
        """

    def layers(self) -> EveryLayer:
        """Return what makes the layers of accrued scores, to be used as a context manager; for packed tables
        of the variant with resets."""


def open_source(
    directory: Path,
    material: Material,
    variant: Variant,
    *,
    threads: int = 2,
    progress: Progress = silent,
) -> TableSource:
    """Return an open table; a packed one is unpacked, which takes time, memory and compiled code.

    :raises MissingTableError: if there is no such table, or one is missing that a packed one rests on.
    :raises DamagedTableError: if it cannot be used.
    """
    path = table_path(directory, material.name, variant)
    with StoredFile(path, material=material) as stored:
        info = stored.info
    if not info.packed:
        return PlainSource(path, material)
    return UnpackedSource(directory, info, threads=threads, progress=progress)


class PlainSource:
    """A plain table, read from its file; see :class:`TableSource`.

    :raises MissingTableError: if there is no such table.
    :raises DamagedTableError: if it cannot be used; so do the methods.
    """

    def __init__(self, path: Path, material: Material) -> None:
        self._table = TableFile(path, material=material)
        self.info = self._table.info
        starts, runs = self._table.data(schema.RUN_START).reshape(-1), np.uint64(self.info.runs)
        self._starts = np.append(starts, runs).astype(np.int64)
        self._blocks = -(-self.info.size // BLOCK)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._table.close()

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
        return [(phase, square) for phase, square in self._table.data(schema.EP_CONFIG).tolist()]

    def en_passant_row(self, row: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return value codes and depths of the positions of one such row, as many as slots of a placement."""
        size = self.info.phase_size
        return self._part(schema.EP_VALUE, row, 0, size), self._part(schema.EP_DEPTH, row, 0, size, np.uint16)

    def runs(self, holder: int, side: int, start: int, size: int) -> ScanRuns | None:
        """Return the runs of slots, None if the table has none."""
        if not self.info.variant.resets or not self.info.stores_runs:
            return None
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
        return ScanRuns(slots[owner], (rank % LAST_RUN).astype(np.int16), last, value)

    def layers(self) -> EveryLayer:
        """Nobody asks: runs say what becomes of accrued scores."""
        raise NotImplementedError

    def _part(
        self, wanted: DatasetSchema, row: int, start: int, size: int, dtype: type[np.generic] = np.uint8
    ) -> NDArray[Any]:
        out = np.empty(size, dtype)
        self._table.read_part(wanted, row, start, out)
        return out


class UnpackedSource:
    """A packed table, unpacked in memory; see :class:`TableSource`.

    Tables that it rests on are read as they are, or from plain copies (:mod:`tbgen.packed.sources`).
    """

    def __init__(
        self,
        directory: Path,
        info: TableInfo,
        *,
        threads: int = 2,
        progress: Progress = silent,
    ) -> None:
        from tbgen.packed.sources import Sources

        self.info, self._threads = info, threads
        with ExitStack() as stack:
            self._sources = stack.enter_context(Sources(directory, info.variant, threads))
            self._table: Table = self._sources.unpack(Material.parse(info.material), progress)
            self._opened = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    @property
    def layout(self) -> Layout:
        """The index of the table."""
        return self._table.layout

    def fresh(self, side: int, start: int, size: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return fresh value codes and depths of consecutive slots, which are not to be changed."""
        part = slice(start, start + size)
        return self._table.value[side, part], self._table.depth[side, part]

    def en_passant_rows(self) -> list[tuple[int, int]]:
        """Return pawn placement and target square of every row of en passant positions."""
        return [(phase, square) for phase, square in self._table.ep_config.tolist()]

    def en_passant_row(self, row: int) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return value codes and depths of the positions of one such row."""
        return self._table.ep_value[row], self._table.ep_depth[row]

    def runs(self, holder: int, side: int, start: int, size: int) -> None:
        """A packed table has none."""

    def layers(self) -> EveryLayer:
        """Return what makes the layers of accrued scores, by solving the table again."""
        from tbgen.retro.every_layer import EveryLayer
        from tbgen.retro.warmup import ensure_compiled

        ensure_compiled(_logger.warning)
        around = self._sources.around(self._table.material)
        return EveryLayer(self._table, around, threads=self._threads)
