"""Sub-tables for the solver. Small tables are kept in memory, and large tables are read from their files.

A packed sub-table is read from a plain copy beside it. The build of the sub-table makes this copy if other
tables of the same build need it. Otherwise the sub-table is unpacked to a copy. A large table without pawns
is an exception: if it has no copy, it is decoded directly, because the solver reads it only once, and mostly
with one side to move.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compiling
from tbgen.errors import MissingTableError
from tbgen.index.layout import Side
from tbgen.index.table import MAX_KEPT_BYTES, MAX_SMALL_TABLE_BYTES, ArraySource, Source, Table, fresh_bytes
from tbgen.progress import Progress, silent
from tbgen.store.cache import LruCache
from tbgen.store.format import find_table, table_path
from tbgen.store.table_file import TableFile
from tbgen.tables.copies import PlainCopies
from tbgen.tables.file import PackedFile
from tbgen.tables.tables import open_table
from tbgen.tables.unpack import unpack, unpack_side

KERNEL_FAMILY: Final = __name__
"""Name of the unpacking kernels in the cache."""

_MAX_SMALL_PHASE_SLOTS: Final = 64**3
"""Maximum number of slots of a small phase, which needs little memory to decode."""

_logger = logging.getLogger(__name__)


class PackedSource:
    """A packed table as a source. Every read decodes the positions again.

    :param sources: returns the tables of successors that decoding needs
        (:func:`tbgen.tables.unpack.unpack_side`).
    :param threads: number of threads for decoding.
    """

    _large_phase_lock: Final = Lock()
    """Lock for decoding large phases. They are decoded one at a time, because each needs much memory."""
    _small_phase_semaphore: Final = BoundedSemaphore(2)
    """Semaphore for decoding small phases. At most two are decoded at a time."""

    def __init__(
        self, file: PackedFile, sources: Callable[[], Mapping[Material, Source]], threads: int
    ) -> None:
        self._file, self._sources, self._threads = file, sources, threads
        self.close = file.close

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Decode the canonical slots of one phase with ``side`` to move; see :meth:`Source.read_side`.

        :raises DamagedTableError: if a block cannot be decoded.
        """
        is_large = self._file.layout.phase_size > _MAX_SMALL_PHASE_SLOTS
        sources = self._sources()  # this may decode other tables, so the lock must not be held yet
        with self._large_phase_lock if is_large else self._small_phase_semaphore, _compiling():
            unpack_side(self._file, sources, phase, side, value, depth, threads=self._threads)
            self._file.forget_blocks()


class Sources(AbstractContextManager["Sources"]):
    """The tables of a directory for one variant, as sources.

    The object is thread-safe. As a context manager, it closes the files on exit.

    :param other_directories: directories of the tables that ``directory`` lacks. Copies are made in
        ``directory``.
    """

    _unpacking_lock: Final = Lock()
    """Lock for unpacking tables with pawns. They are unpacked one at a time, because this needs much memory.
    Unpacking a table without pawns does not need the lock, so threads that work for the holder of the lock
    may do it."""

    def __init__(
        self, directory: Path, variant: Variant, threads: int = 2, other_directories: Sequence[Path] = ()
    ) -> None:
        self._directories = (directory, *other_directories)
        self._variant = variant
        self._threads = threads
        self.copies = PlainCopies(directory, variant)
        self._small_tables = LruCache[ArraySource](MAX_KEPT_BYTES, lambda source: source.nbytes)
        self._files: dict[Material, TableFile | PackedSource] = {}
        self._lock = Lock()
        self._opening_locks: defaultdict[Material, Lock] = defaultdict(Lock)

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def get(self, material: Material) -> Source:
        """Return a table as a source.

        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """
        with self._lock:
            opening_lock = self._opening_locks[material]
        # Opening a packed table may take a long time, and may open its sub-tables in other threads. So only
        # threads that need the same table wait here.
        with opening_lock:
            source = self._small_tables.get(material) or self._files.get(material)
            if source is not None:
                return source
            file = self._open_source(material)
            if isinstance(file, TableFile) and fresh_bytes(file.info.size) <= MAX_SMALL_TABLE_BYTES:
                with file:
                    small_table = ArraySource(*file.read_fresh(self._threads))
                self._small_tables.put(material, small_table)
                return small_table
            self._files[material] = file
            return file

    def sub_tables_of(self, material: Material) -> dict[Material, Source]:
        """Return the tables of all successors of a material."""
        return {successor: self.get(successor) for successor in sorted(material.successors())}

    def open(self, material: Material) -> TableFile:
        """Return a plain table, or the plain copy of a packed table.

        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """
        table = open_table(self._path(material), material)
        return table if isinstance(table, TableFile) else self._plain_copy(table)

    def put(self, table: Table) -> None:
        """Keep a table that has just been built in memory, if it is small."""
        if fresh_bytes(table.layout.size) <= MAX_SMALL_TABLE_BYTES:
            self._small_tables.put(table.material, ArraySource(table.value, table.depth))

    def unpack(self, material: Material, progress: Progress = silent) -> Table:
        """Return the fresh values and depths of a packed table, without its functions of accrued scores.

        Raises the same errors as :meth:`open`.
        """
        with PackedFile(self._path(material), material=material) as table:
            return self._unpack(table, progress)

    def _open_source(self, material: Material) -> TableFile | PackedSource:
        table = open_table(self._path(material), material)
        if isinstance(table, TableFile):
            return table
        if not material.pawns and fresh_bytes(table.info.size) > MAX_SMALL_TABLE_BYTES:
            copy = self.copies.open(material, table.info)
            if copy is None:
                return PackedSource(table, lambda: self.sub_tables_of(material), self._threads)
            table.close()
            return copy
        return self._plain_copy(table)

    def _plain_copy(self, table: PackedFile) -> TableFile:
        """Return the plain copy of a packed table, and close the packed table. A missing copy is made."""
        material = table.layout.material
        with table:
            copy = self.copies.open(material, table.info)
            while copy is None:
                self.copies.write(self._unpack(table, silent), table.info, self._threads)
                with suppress(MissingTableError):  # the end of a build has just removed it
                    copy = TableFile(self.copies.path(material), material=material)
        return copy

    def _unpack(self, table: PackedFile, progress: Progress) -> Table:
        material = table.layout.material
        sub_tables = self.sub_tables_of(material)
        one_at_a_time = self._unpacking_lock if material.pawns else nullcontext()
        with one_at_a_time, _compiling():
            return unpack(table, sub_tables, functions=False, threads=self._threads, progress=progress)

    def _path(self, material: Material) -> Path:
        return find_table(self._directories, material.name, self._variant)


def open_plain(directory: Path, material: Material, variant: Variant, threads: int = 2) -> TableFile:
    """Return an open table in plain form. A packed table is unpacked to a plain copy, which takes some time.

    :raises MissingTableError: if the table, or a sub-table that unpacking needs, has not been built.
    :raises DamagedTableError: if its file cannot be used.
    :raises TbgenError: if the copy cannot be written.
    """
    table = open_table(table_path(directory, material.name, variant), material)
    if isinstance(table, TableFile):
        return table
    table.close()
    with Sources(directory, variant, threads) as sources:
        return sources.open(material)


def _compiling() -> AbstractContextManager[bool]:
    """Return a context in which the unpacking kernels may be compiled. It warns if they are not in the
    cache."""
    return compiling(KERNEL_FAMILY, "that unpack tables", "about half a minute", _logger.warning)
