"""Tables that have been proved, for those that rest on them: read whole and checked, some of them held."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Protocol

import numpy as np

from tbgen.board.material import Material
from tbgen.errors import TbgenError
from tbgen.index.layout import layout_of
from tbgen.index.source import fresh_bytes
from tbgen.index.table import Table
from tbgen.packed.copies import PlainCopies
from tbgen.packed.tables import AnyTable, read_whole
from tbgen.progress import TimedProgress
from tbgen.store.cache import Recent
from tbgen.store.format import BLOCK
from tbgen.store.reader import TableFile
from tbgen.store.schema import RUN_START
from tbgen.verify.consistency import first_runs, inconsistency
from tbgen.verify.plan import HELD, SMALL, has_successor, unpacking
from tbgen.verify.sub_tables import Fresh, SubTables


class OpenTables(Protocol):
    """The tables of a directory, opened as a probe opens them, so that what is proved is what a probe reads:
    :class:`tbgen.probe.values.Values`."""

    def table(self, material: Material) -> AnyTable:
        """Return an open table.

        :raises MissingTableError: if it has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """


class ProvedTables:
    """Proved tables that others rest on.

    Small ones are held in memory. Of packed ones that take more, and that others will rest on, plain copies
    are kept beside the tables (:mod:`tbgen.packed.copies`), if there is room: unpacking takes ten times as
    long as reading them.

    :param order: the tables that are proved, one after the other.
    """

    def __init__(
        self, tables: OpenTables, order: Iterable[Material], threads: int, reporter: TimedProgress
    ) -> None:
        self.tables, self.threads, self.reporter = tables, threads, reporter
        self._left = list(order)
        self._held = Recent[Fresh](HELD, lambda fresh: sum(array.nbytes for array in fresh))

    def begin(self, material: Material) -> None:
        """Note that a table is being proved, or was before, and is no longer to come."""
        self._left = [each for each in self._left if each != material]

    def around(self, material: Material) -> SubTables:
        """Return all that a table rests on.

        :raises TbgenError: if one of them cannot be read.
        """
        return SubTables(layout_of(material), self._fresh)

    def keep(self, table: Table) -> None:
        """Keep a proved table for those that rest on it."""
        material = table.material
        if fresh_bytes(table.layout.size) <= SMALL:
            self._held.put(material, (table.value, table.depth))
        elif has_successor(self._left, material):
            file = self.tables.table(material)
            if file.info.packed:
                with suppress(TbgenError):  # without one it is unpacked again
                    _copies(file).keep(table, file.info, self.threads)

    def _fresh(self, material: Material) -> Fresh:
        """Return value and depth of a proved table."""
        held = self._held.get(material)
        if held is not None:
            return held
        file = self.tables.table(material)
        copy = _copies(file).open(material, file.info)
        if copy is not None:
            with copy:
                copy.check(self.threads)
                return copy.read_fresh()
        table = read_sound(file, partial(self.around, material), self.threads, self.reporter)
        self.keep(table)
        return table.value, table.depth


def read_sound(
    file: AnyTable, around: Callable[[], SubTables], threads: int, reporter: TimedProgress
) -> Table:
    """Return a whole table after checking its digest and what it says about itself.

    :param around: returns all that the table rests on, which a packed one is read together with.
    :raises TbgenError: if it cannot be read, or is not what it says.
    """
    name = unpacking(file.layout.material)

    def progress(step: str, done: int | None, total: int) -> None:
        reporter.progress(name, done, total)

    table = read_whole(file, lambda: around().sources(), threads, progress)
    problem = inconsistency(table)
    if problem is not None:
        raise file.damaged(problem)
    file.check_facts(table)
    if isinstance(file, TableFile) and table.stores_accrued:
        _check_starts(file, table)
    return table


def _copies(file: AnyTable) -> PlainCopies:
    return PlainCopies(file.path.parent, file.info.variant)


def _check_starts(file: TableFile, table: Table) -> None:
    """Compare the number of runs before every block with what the file says."""
    stored, starts = file.data(RUN_START), first_runs(table)[..., :: BLOCK // 64]
    for holder, side, block in np.argwhere(starts != stored)[:1].tolist():
        whose = f"{('White', 'Black')[holder]}'s scores, {('White', 'Black')[side]} to move"
        raise file.damaged(
            f"accrued/start of block {block} of {whose}: stored "
            f"{stored[holder, side, block]}, recomputed {starts[holder, side, block]}"
        )
