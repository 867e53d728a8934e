"""Sub-tables for the solver where tables may be packed: packed ones are read from a plain copy beside them.

A copy is made by whoever packs a table that others of the same build rest on, or else by unpacking it. Copies
lie in a folder of their own, which the build removes at its end. Large tables without pawns of which there is
no copy are read as they are: the solver asks for each of them once, and mostly for one side to move.
"""

import logging
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compiling
from tbgen.errors import DamagedTableError, MissingTableError
from tbgen.files import write_errors
from tbgen.index.layout import Side
from tbgen.index.source import Source, fresh_bytes
from tbgen.index.table import Table
from tbgen.packed.file import PackedFile
from tbgen.packed.plain import COPIES, made
from tbgen.packed.unpack import unpack, unpack_side
from tbgen.progress import Progress, silent
from tbgen.store.format import table_path
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile
from tbgen.store.sources import SMALL, Sources
from tbgen.store.stored_file import StoredFile
from tbgen.store.writer import write_table

FAMILY: Final = __name__
"""Name in the cache of the kernels that unpacking takes."""

_logger = logging.getLogger(__name__)


class PackedSource:
    """A packed table as a source: what is asked for is decoded every time.

    :param sources: returns the tables that this takes, of the table's successors
        (:func:`tbgen.packed.unpack.unpack_side`).
    :param threads: with which it is decoded, one side to move after the other.
    """

    _at_work: Final = Lock()
    """Held by the one table that is being decoded, which takes much memory."""

    def __init__(
        self, file: PackedFile, sources: Callable[[], Mapping[Material, Source]], threads: int
    ) -> None:
        self.file = file
        self._sources, self._threads = sources, threads

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy one side to move of a phase, canonical slots of positions; see :class:`Source`.

        :raises DamagedTableError: if a block does not decode.
        """
        sources = self._sources()
        with self._at_work, _compiling():
            unpack_side(self.file, sources, phase, side, value, depth, threads=self._threads)


class UnpackedSources(Sources):
    """The tables of a directory for one variant as sources, packed ones unpacked when they are asked for."""

    _unpacking: Final = Lock()
    """Held by the one table with pawns that is being unpacked, which takes much memory. It may read large
    tables without pawns by threads of its own, and they may unpack small ones, which have none either."""

    def __init__(self, directory: Path, variant: Variant, threads: int = 2) -> None:
        super().__init__(directory, variant)
        self._threads = threads
        self._packed: dict[Material, PackedSource] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        for source in self._packed.values():
            source.file.close()
        self._packed.clear()

    def get(self, material: Material) -> Source:
        """Return a table as a source; see :meth:`Sources.get`."""
        with self._lock:
            if material not in self._packed and not self.has(material):
                self._take_as_it_is(material)
            packed = self._packed.get(material)
        return packed or super().get(material)

    def _take_as_it_is(self, material: Material) -> None:
        """Take a large packed table without pawns as a source, if there is no copy of it."""
        path = self._path(material)
        with StoredFile(path, material=material) as stored:
            info = stored.info
        if not info.packed or material.pawns or fresh_bytes(info.size) <= SMALL:
            return
        copy = self.open_copy(material, info)
        if copy is not None:
            copy.close()
            return
        file = PackedFile(path, material=material)
        self._packed[material] = PackedSource(file, lambda: self.around(material), self._threads)

    def around(self, material: Material) -> dict[Material, Source]:
        """Return all tables that a material turns into."""
        return {after: self.get(after) for after in sorted(material.successors())}

    def open(self, material: Material) -> TableFile:
        """Return a plain table, or the plain copy of a packed one.

        :raises MissingTableError: if it is not there.
        :raises DamagedTableError: if it cannot be used.
        """
        path = self._path(material)
        with StoredFile(path, material=material) as stored:
            info = stored.info
        if not info.packed:
            return super().open(material)
        file = self.open_copy(material, info)
        if file is None:
            self.keep(self.unpack(material), info)
            file = TableFile(self._copy(material), material=material)
        return file

    def unpack(self, material: Material, progress: Progress = silent) -> Table:
        """Return the content of a packed table without its functions.

        Raises as :meth:`open` does.
        """
        around = self.around(material)
        one_at_a_time = self._unpacking if material.pawns else nullcontext()
        with one_at_a_time, PackedFile(self._path(material), material=material) as packed, _compiling():
            return unpack(packed, around, functions=False, threads=self._threads, progress=progress)

    def open_copy(self, material: Material, info: TableInfo) -> TableFile | None:
        """Return the plain copy of a packed table, whose file says ``info``; None if there is none of it."""
        try:
            file = TableFile(self._copy(material), material=material)
        except (MissingTableError, DamagedTableError):
            return None
        if file.info.manifest.fresh == info.manifest.fresh:
            return file
        file.close()
        return None

    def keep(self, table: Table, info: TableInfo) -> None:
        """Keep a plain copy of a packed table, whose file says ``info``."""
        copy = self._copy(table.material)
        with write_errors(copy, remedy="copy the tables to where copies of them can be written"):
            copy.parent.mkdir(exist_ok=True)
        made.add(copy)
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

    def _path(self, material: Material) -> Path:
        return table_path(self._directory, material.name, self._variant)

    def _copy(self, material: Material) -> Path:
        return table_path(self._directory / COPIES, material.name, self._variant)


def _compiling() -> AbstractContextManager[bool]:
    """Have the block compile the kernels that unpacking takes, if that is still to do, and say so."""
    return compiling(FAMILY, "that unpack tables", "about a minute", _logger.warning)


def remove_copies(directory: Path) -> None:
    """Remove the plain copies of packed tables from a directory."""
    shutil.rmtree(directory / COPIES, ignore_errors=True)
