"""Tables in memory, read in parts by a scan."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.codes import LAST_RUN
from tbgen.index.table import RunIndex
from tbgen.progress import Progress, silent
from tbgen.store.format import TableInfo
from tbgen.tables.library import Library, PlainCopies
from tbgen.tables.open_table import Given

if TYPE_CHECKING:
    from tbgen.index.table import Table
    from tbgen.retro.layer_solvers import EveryLayer


_logger = logging.getLogger(__name__)

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
    :param library: the tables, among them the sub-tables from which layers are solved.
    """

    def __init__(self, info: TableInfo, table: Table, library: Library) -> None:
        self.info = info
        self.layout = table.layout
        self.table = table
        self._library = library
        self._index = RunIndex(table)

    def fresh_results(self, side: int, start: int, size: int) -> FreshResults:
        """Return fresh values and depths of consecutive slots."""
        slots = slice(start, start + size)
        return self.table.value[side, slots], self.table.depth[side, slots]

    def runs(self, holder: int, side: int, start: int, size: int) -> ScanRuns | None:
        """Return the runs of consecutive slots; None if the table stores no runs.

        :param start: the first slot, a multiple of 64.
        :param size: the number of slots, a multiple of 64.
        """
        if not self.table.run_mask.size:
            return None
        slot_of_run, runs = self._index.runs_of_range(holder, side, start, size)
        rank = self.table.run_rank[runs]
        first_rank = (rank % LAST_RUN).astype(np.int16)
        return ScanRuns(slot_of_run, first_rank, rank >= LAST_RUN, self.table.run_value[runs])

    def layers(self, threads: int) -> EveryLayer:
        """Return a context manager that solves the table again and provides its layers.

        The table must have functions (``AccruedForm.FUNCTIONS``).
        """
        from tbgen.retro.layer_solvers import EveryLayer
        from tbgen.retro.solver_warmup import ensure_compiled

        ensure_compiled(_logger.warning)
        return EveryLayer(self.table, self._library.sub_tables_of(self.table.material), threads=threads)


@contextmanager
def open_source(
    directories: Sequence[Path],
    material: Material,
    variant: Variant,
    *,
    copies: PlainCopies | None = None,
    threads: int = 2,
    progress: Progress = silent,
) -> Iterator[TableSource]:
    """Yield a table in memory.

    Unpacking a packed table needs time, memory and compiled code. Checksums are verified, but not the digest.

    :param directories: directories of tables; a table is read from the first that has it.
    :param copies: plain copies of packed sub-tables, which the caller removes; None for copies beside the
        tables, which are removed at the end.
    :raises MissingTableError: if the table, or a sub-table of a packed table, does not exist.
    :raises DamagedTableError: if the table cannot be used.
    """
    with Library(directories, variant, threads=threads, copies=copies) as library:
        open_table = library.table(material)
        table = open_table.read(Given(threads=threads), functions=False, progress=progress)
        if np.bitwise_count(table.run_mask).sum() != np.count_nonzero(table.run_rank >= LAST_RUN):
            raise open_table.damaged("its runs do not fit their mask")
        open_table.check_facts(table, with_accrued=not open_table.info.derives)
        yield TableSource(open_table.info, table, library)
