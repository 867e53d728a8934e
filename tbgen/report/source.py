"""Tables in memory, read in parts by a scan."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.codes import LAST_RUN
from tbgen.progress import Progress, silent
from tbgen.store.format import TableInfo, find_table
from tbgen.store.table_file import TableFile
from tbgen.tables.tables import open_table

if TYPE_CHECKING:
    from tbgen.index.table import Table
    from tbgen.retro.layer_solvers import EveryLayer
    from tbgen.tables.sources import Sources


_logger = logging.getLogger(__name__)

_WORD_SLOTS: Final = 64
"""Number of slots in a word of the mask of slots with runs."""

FreshResults = tuple[NDArray[np.uint8], NDArray[np.uint16]]
"""Codes of the fresh values, and fresh depths, of consecutive slots; not to be modified."""


class ScanRuns(NamedTuple):
    """The runs of consecutive slots, for one holder and one side to move.

    A run has the value of a position for the accrued scores A whose rank is at least the first rank of the
    run, and less than that of the slot's next run, if any (docs/format.md).
    """

    slot: NDArray[np.int64]
    """The slot of each run, relative to the first requested slot."""
    rank: NDArray[np.int16]
    """The first rank of A in each run."""
    is_last: NDArray[np.bool_]
    """Whether each run is the last one of its slot."""
    value: NDArray[np.uint8]
    """The stored value of each run: a code, ``NONE`` or ``FRESH``."""


class TableSource:
    """A table in memory; several threads can read parts of it at once.

    :param info: the facts that the table's file states.
    :param sources: the sub-tables of a packed table, from which its layers are solved.
    """

    def __init__(self, info: TableInfo, table: Table, sources: Sources | None = None) -> None:
        self.info = info
        self.layout = table.layout
        self.table, self._sources = table, sources
        counts = np.bitwise_count(table.run_mask)
        self._slots_before_word = np.cumsum(counts, dtype=np.int64).reshape(counts.shape) - counts
        """Number of slots with runs before each word of the mask."""
        self._ends = np.flatnonzero(np.append(True, table.run_rank >= LAST_RUN))
        """0, followed by the index after the last run of each slot with runs."""

    def fresh_results(self, side: int, start: int, size: int) -> FreshResults:
        """Return fresh values and depths of consecutive slots."""
        part = slice(start, start + size)
        return self.table.value[side, part], self.table.depth[side, part]

    def runs(self, holder: int, side: int, start: int, size: int) -> ScanRuns | None:
        """Return the runs of consecutive slots; None if the table stores no runs.

        :param start: the first slot, a multiple of 64.
        :param size: the number of slots, a multiple of 64.
        """
        if not self.table.run_mask.size:
            return None
        words = self.table.run_mask[holder, side, start // _WORD_SLOTS : (start + size) // _WORD_SLOTS]
        slots = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        first_slot = int(self._slots_before_word[holder, side, start // _WORD_SLOTS])
        ends = self._ends[first_slot : first_slot + slots.size + 1]
        part = slice(*ends[[0, -1]].tolist())
        rank = self.table.run_rank[part]
        slot_of_run = np.repeat(slots, np.diff(ends))
        first_rank = (rank % LAST_RUN).astype(np.int16)
        return ScanRuns(slot_of_run, first_rank, rank >= LAST_RUN, self.table.run_value[part])

    def layers(self, threads: int) -> EveryLayer:
        """Return a context manager that solves the table again and provides its layers.

        The table must be a packed table of a variant with layers.
        """
        from tbgen.retro.layer_solvers import EveryLayer
        from tbgen.retro.solver_warmup import ensure_compiled

        assert self._sources is not None
        ensure_compiled(_logger.warning)
        return EveryLayer(self.table, self._sources.sub_tables_of(self.table.material), threads=threads)


@contextmanager
def open_source(
    directories: Sequence[Path],
    material: Material,
    variant: Variant,
    *,
    threads: int = 2,
    progress: Progress = silent,
) -> Iterator[TableSource]:
    """Yield a table in memory.

    Unpacking a packed table needs time, memory and compiled code. Checksums are verified, but not the digest.

    :param directories: directories of tables; a table is read from the first that has it. Plain copies of
        packed sub-tables are made in the first directory.
    :raises MissingTableError: if the table, or a sub-table of a packed table, does not exist.
    :raises DamagedTableError: if the table cannot be used.
    """
    with open_table(find_table(directories, material.name, variant), material) as file:
        if isinstance(file, TableFile):
            table = file.read()
            if np.bitwise_count(table.run_mask).sum() != np.count_nonzero(table.run_rank >= LAST_RUN):
                raise file.damaged("its runs do not fit their mask")
            file.check_facts(table)
            yield TableSource(file.info, table)
            return
    from tbgen.tables.sources import Sources

    # Plain sub-tables are read directly, packed ones from plain copies.
    first_directory, *others = directories
    with Sources(first_directory, variant, threads, others) as sources:
        table = sources.unpack(material, progress)
        file.check_facts(table, with_accrued=False)
        yield TableSource(file.info, table, sources)
