"""Sub-tables for the solver where tables may be packed: packed ones are read from a plain copy beside them.

A copy is made by whoever packs a table that others of the same build rest on, or else by unpacking it. Copies
lie in a folder of their own, which the build removes at its end.
"""

import shutil
from pathlib import Path

from tbgen.errors import DamagedTableError, MissingTableError
from tbgen.files import write_errors
from tbgen.index.table import Table
from tbgen.material import Material
from tbgen.packed.file import PackedFile
from tbgen.packed.plain import COPIES
from tbgen.packed.unpack import unpack
from tbgen.store.format import table_path
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile
from tbgen.store.sources import Sources
from tbgen.store.stored_file import StoredFile
from tbgen.store.writer import write_table
from tbgen.variant import Variant


class UnpackedSources(Sources):
    """The tables of a directory for one variant as sources, packed ones unpacked when they are asked for."""

    def __init__(self, directory: Path, variant: Variant, threads: int = 2) -> None:
        super().__init__(directory, variant)
        self._threads = threads

    def open(self, material: Material) -> TableFile:
        """Return a plain table, or the plain copy of a packed one.

        :raises MissingTableError: if it is not there.
        :raises DamagedTableError: if it cannot be used.
        """
        path = table_path(self._directory, material.name, self._variant)
        with StoredFile(path, material=material) as stored:
            info = stored.info
        if not info.packed:
            return super().open(material)
        copy = self._copy(material)
        try:
            file = TableFile(copy, material=material)
            if file.info.manifest.fresh == info.manifest.fresh:
                return file
            file.close()
        except (MissingTableError, DamagedTableError):
            pass
        with PackedFile(path, material=material) as packed:
            sources = {after: self.get(after) for after in sorted(material.successors())}
            table = unpack(packed, sources, threads=self._threads)
        self.keep(table, info)
        return TableFile(copy, material=material)

    def keep(self, table: Table, info: TableInfo) -> None:
        """Keep a plain copy of a packed table, whose file says ``info``."""
        copy = self._copy(table.material)
        with write_errors(copy, remedy="copy the tables to where copies of them can be written"):
            copy.parent.mkdir(exist_ok=True)
        functions, table.functions = table.functions, None
        try:
            write_table(
                table,
                copy,
                version=info.tbgen_version,
                build_seconds=info.build_seconds,
                parameters=info.parameters,
                threads=self._threads,
            )
        finally:
            table.functions = functions

    def _copy(self, material: Material) -> Path:
        return table_path(self._directory / COPIES, material.name, self._variant)


def remove_copies(directory: Path) -> None:
    """Remove the plain copies of packed tables from a directory."""
    shutil.rmtree(directory / COPIES, ignore_errors=True)
