"""Plain copies of packed tables, in a folder beside the tables, for callers that read entire tables.

This module needs no compiled code.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError
from tbgen.index.table import Table
from tbgen.store.format import TableInfo, table_path, tables_in
from tbgen.store.table_file import TableFile
from tbgen.store.writer import write_table
from tbgen.system.files import remove_leftovers, write_errors

COPIES_FOLDER: Final = ".unpacked"
"""Folder of the plain copies in a directory of tables."""


class PlainCopies:
    """The plain copies of the packed tables of a directory for one variant."""

    made_paths: ClassVar[set[Path]] = set()
    """Paths of the copies that this process has made. Copies made by other processes, such as a running
    build, are removed by these processes."""

    def __init__(self, directory: Path, variant: Variant) -> None:
        self._directory, self._variant = directory, variant

    def path(self, material: Material) -> Path:
        """Return the path of the copy of a table, whether or not the copy exists."""
        return table_path(self._directory / COPIES_FOLDER, material.name, self._variant)

    def open(self, material: Material, info: TableInfo) -> TableFile | None:
        """Return the copy of the table that ``info`` describes, or None if no copy of it exists."""
        try:
            file = TableFile(self.path(material), material=material)
        except (MissingTableError, DamagedTableError):
            return None
        if file.manifest.fresh == info.manifest.fresh:
            return file
        file.close()
        return None

    def write(self, table: Table, info: TableInfo, threads: int) -> None:
        """Write a plain copy of a table without its functions (the values for accrued scores).

        :param info: the description of the packed table.
        :raises TbgenError: if the copy cannot be written.
        """
        copy = self.path(table.material)
        with write_errors(copy, remedy="copy the tables to a directory where files can be written"):
            copy.parent.mkdir(exist_ok=True)
        self.made_paths.add(copy)
        write_table(
            replace(table, functions=None),
            copy,
            version=info.tbgen_version,
            build_seconds=info.build_seconds,
            parameters=info.parameters,
            threads=threads,
        )


def tables_to_unpack(materials: Iterable[Material], can_read: Callable[[Material], bool]) -> list[Material]:
    """Return the tables that must be unpacked before ``materials`` can be read, each after its successors.

    :param can_read: returns whether a table can be read quickly, that is, whether it is plain or has a copy.
    """
    unreadable = set[Material]()
    pending = set(materials)
    while pending:
        material = pending.pop()
        if not can_read(material):
            unreadable.add(material)
            pending |= material.successors() - unreadable
    return sorted(unreadable)


@contextmanager
def temporary_copies(directory: Path) -> Iterator[None]:
    """On exit, remove the plain copies in a directory that this process has made within the context.

    An open copy remains readable. A copy that is needed later is made again.
    """
    folder = directory / COPIES_FOLDER
    earlier_paths = PlainCopies.made_paths.copy()
    try:
        yield
    finally:
        for copy in PlainCopies.made_paths - earlier_paths:
            if copy.parent == folder:
                copy.unlink(missing_ok=True)
                PlainCopies.made_paths.discard(copy)
        with suppress(OSError):  # it contains other copies or does not exist
            folder.rmdir()


def remove_copies(directory: Path, variant: Variant) -> None:
    """Remove the plain copies of packed tables of a variant, and incomplete copies of killed writers.

    Copies of other variants remain, because a build of another variant may be at work.
    """
    folder = directory / COPIES_FOLDER
    remove_leftovers(folder)
    with suppress(OSError):  # it contains other copies, or may not be changed
        for material in tables_in(folder, variant):
            table_path(folder, material.name, variant).unlink(missing_ok=True)
        folder.rmdir()
