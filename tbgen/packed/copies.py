"""Plain copies of packed tables, in a folder beside the tables, for what reads tables as a whole.

Nothing here takes compiled code.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError
from tbgen.index.table import Table
from tbgen.store.format import TableInfo, table_path
from tbgen.store.table_file import TableFile
from tbgen.store.writer import write_table
from tbgen.system.files import write_errors

COPIES: Final = ".unpacked"
"""Folder of a directory's plain copies."""


class PlainCopies:
    """The plain copies of the packed tables of a directory for one variant."""

    made: ClassVar[set[Path]] = set()
    """The copies that this process has made: those of others, such as a build at work, are theirs to
    remove."""

    def __init__(self, directory: Path, variant: Variant) -> None:
        self._directory, self._variant = directory, variant

    def path(self, material: Material) -> Path:
        """Return where the copy of a table lies, whether there is one or not."""
        return table_path(self._directory / COPIES, material.name, self._variant)

    def open(self, material: Material, info: TableInfo) -> TableFile | None:
        """Return the copy of a table whose file says ``info``; None if there is none of it."""
        try:
            file = TableFile(self.path(material), material=material)
        except (MissingTableError, DamagedTableError):
            return None
        if file.manifest.fresh == info.manifest.fresh:
            return file
        file.close()
        return None

    def keep(self, table: Table, info: TableInfo, threads: int) -> None:
        """Keep a copy of a table whose file says ``info``, without its functions.

        :raises TbgenError: if it cannot be written.
        """
        copy = self.path(table.material)
        with write_errors(copy, remedy="copy the tables to where copies of them can be written"):
            copy.parent.mkdir(exist_ok=True)
        self.made.add(copy)
        write_table(
            replace(table, functions=None),
            copy,
            version=info.tbgen_version,
            build_seconds=info.build_seconds,
            parameters=info.parameters,
            threads=threads,
        )


def to_unpack(materials: Iterable[Material], at_hand: Callable[[Material], bool]) -> list[Material]:
    """Return which tables have to be unpacked before some can be read, each after those that it rests on.

    :param at_hand: tells whether a table is read in little time: it is plain, or has a copy.
    """
    found, waiting = set[Material](), set(materials)
    while waiting:
        material = waiting.pop()
        if not at_hand(material):
            found.add(material)
            waiting |= material.successors() - found
    return sorted(found)


@contextmanager
def passing_copies(directory: Path) -> Iterator[None]:
    """Remove in the end the plain copies of a directory that this process has made since the beginning.

    An open one can be read to the end, and one that is missed is made again.
    """
    folder, before = directory / COPIES, PlainCopies.made.copy()
    try:
        yield
    finally:
        for copy in PlainCopies.made - before:
            if copy.parent == folder:
                copy.unlink(missing_ok=True)
                PlainCopies.made.discard(copy)
        with suppress(OSError):  # others lie there, or there is none
            folder.rmdir()


def remove_copies(directory: Path) -> None:
    """Remove all plain copies of packed tables from a directory."""
    shutil.rmtree(directory / COPIES, ignore_errors=True)
