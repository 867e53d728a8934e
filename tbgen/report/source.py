"""Tables in memory, in the parts that a scan asks for."""

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
from tbgen.index.table import LAST_RUN
from tbgen.packed.tables import open_table
from tbgen.progress import Progress, silent
from tbgen.store.format import TableInfo, find_table
from tbgen.store.table_file import TableFile

if TYPE_CHECKING:
    from tbgen.index.table import Table
    from tbgen.packed.sources import Sources
    from tbgen.retro.layer_solvers import EveryLayer


_logger = logging.getLogger(__name__)

_WORD: Final = 64
"""Slots of a word of the mask."""

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


class TableSource:
    """A table in memory, read in parts, safe for threads.

    :param info: what its file says about itself.
    :param sources: the tables that a packed one rests on, and that its layers are made with.
    """

    def __init__(self, info: TableInfo, table: Table, sources: Sources | None = None) -> None:
        self.info, self.layout = info, table.layout
        self.table, self._sources = table, sources
        counts = np.bitwise_count(table.run_mask)
        self._before = np.cumsum(counts, dtype=np.int64).reshape(counts.shape) - counts
        """How many slots have runs before those of each word of the mask."""
        self._ends = np.flatnonzero(np.append(True, table.run_rank >= LAST_RUN))
        """Of the slots that have runs, where each one's runs end; first a 0."""

    def fresh(self, side: int, start: int, size: int) -> Fresh:
        """Return what is known of consecutive slots."""
        part = slice(start, start + size)
        return self.table.value[side, part], self.table.depth[side, part]

    def runs(self, holder: int, side: int, start: int, size: int) -> ScanRuns | None:
        """Return the runs of slots, None if the table has none.

        :param start: the first slot of a word, as the one behind the last slot is.
        """
        if not self.table.run_mask.size:
            return None
        words = self.table.run_mask[holder, side, start // _WORD : (start + size) // _WORD]
        slots = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        first = int(self._before[holder, side, start // _WORD])
        ends = self._ends[first : first + slots.size + 1]
        part = slice(*ends[[0, -1]].tolist())
        rank = self.table.run_rank[part]
        owner, first_rank = np.repeat(slots, np.diff(ends)), (rank % LAST_RUN).astype(np.int16)
        return ScanRuns(owner, first_rank, rank >= LAST_RUN, self.table.run_value[part])

    def layers(self, threads: int) -> EveryLayer:
        """Return what makes the layers of accrued scores, by solving the table again, to be used as a context
        manager; for packed tables of a variant with layers."""
        from tbgen.retro.layer_solvers import EveryLayer
        from tbgen.retro.solver_warmup import ensure_compiled

        assert self._sources is not None
        ensure_compiled(_logger.warning)
        return EveryLayer(self.table, self._sources.around(self.table.material), threads=threads)


@contextmanager
def open_source(
    directories: Sequence[Path],
    material: Material,
    variant: Variant,
    *,
    threads: int = 2,
    progress: Progress = silent,
) -> Iterator[TableSource]:
    """Give a table in memory; a packed one is unpacked, which takes time, memory and compiled code.

    The digest is not checked, checksums are.

    :param directories: the first one that has a table counts; copies are made in the first of all.
    :raises MissingTableError: if there is no such table, or one is missing that a packed one rests on.
    :raises DamagedTableError: if it cannot be used.
    """
    with open_table(find_table(directories, material.name, variant), material) as file:
        if isinstance(file, TableFile):
            table = file.read()
            if np.bitwise_count(table.run_mask).sum() != np.count_nonzero(table.run_rank >= LAST_RUN):
                raise file.damaged("its runs do not fit their mask")
            file.check_facts(table)
            yield TableSource(file.info, table)
            return
    from tbgen.packed.sources import Sources

    # Tables that it rests on are read as they are, or from plain copies.
    first, *others = directories
    with Sources(first, variant, threads, others) as sources:
        table = sources.unpack(material, progress)
        file.check_facts(table, with_accrued=False)
        yield TableSource(file.info, table, sources)
