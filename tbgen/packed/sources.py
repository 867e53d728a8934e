"""Sub-tables for the solver: small ones from memory, large ones straight from their files.

Packed ones are read from a plain copy beside them, which is made by the build of a table that others of the
same build rest on, or else by unpacking. Large tables without pawns and without such a copy are read as
they are: the solver asks for each of them once, and mostly for one side to move.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compiling
from tbgen.index.layout import Side
from tbgen.index.table import KEPT, SMALL, ArraySource, Source, Table, fresh_bytes
from tbgen.packed.copies import PlainCopies
from tbgen.packed.file import PackedFile
from tbgen.packed.tables import open_table
from tbgen.packed.unpack import unpack, unpack_side
from tbgen.progress import Progress, silent
from tbgen.store.cache import Recent
from tbgen.store.format import find_table, table_path
from tbgen.store.table_file import TableFile

FAMILY: Final = __name__
"""Name in the cache of the kernels that unpacking takes."""

_FEW_SLOTS: Final = 64**3
"""Slots up to which the phases of a table take little memory."""

_logger = logging.getLogger(__name__)


class PackedSource:
    """A packed table as a source: what is asked for is decoded every time.

    :param sources: returns the tables that this takes, of the table's successors
        (:func:`tbgen.packed.unpack.unpack_side`).
    :param threads: with which it is decoded, one side to move after the other.
    """

    _at_work: Final = Lock()
    """Held by the one table that is being decoded, if its phases are large, which takes much memory..."""
    _small_at_work: Final = BoundedSemaphore(2)
    """...and by each of those that are decoded at once, if they are small."""

    def __init__(
        self, file: PackedFile, sources: Callable[[], Mapping[Material, Source]], threads: int
    ) -> None:
        self._file, self._sources, self._threads = file, sources, threads
        self.close = file.close

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy one side to move of a phase, canonical slots of positions; see :class:`Source`.

        :raises DamagedTableError: if a block does not decode.
        """
        large = self._file.layout.phase_size > _FEW_SLOTS
        sources = self._sources()  # it may decode others, and must not be at work here
        with self._at_work if large else self._small_at_work, _compiling():
            unpack_side(self._file, sources, phase, side, value, depth, threads=self._threads)


class Sources:
    """The tables of a directory for one variant as sources; a context, which closes the files.

    Threads may share it.

    :param others: where tables lie that the directory lacks. Copies are made in the directory.
    """

    _unpacking: Final = Lock()
    """Held by the one table with pawns that is being unpacked, which takes much memory. It may read large
    tables without pawns by threads of its own, and they may unpack small ones, which have none either."""

    def __init__(
        self, directory: Path, variant: Variant, threads: int = 2, others: Sequence[Path] = ()
    ) -> None:
        self._directories, self._variant, self._threads = (directory, *others), variant, threads
        self.copies = PlainCopies(directory, variant)
        self._kept = Recent[ArraySource](KEPT, lambda source: source.nbytes)
        self._files: dict[Material, TableFile | PackedSource] = {}
        self._lock = Lock()
        self._opening: defaultdict[Material, Lock] = defaultdict(Lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()

    def get(self, material: Material) -> Source:
        """Return a table as a source.

        :raises MissingTableError: if it is not there.
        :raises DamagedTableError: if it cannot be used.
        """
        with self._lock:
            opening = self._opening[material]
        # Opening a packed table may take long, and threads that read those that it rests on: only a thread
        # that asks for the same table waits for it.
        with opening:
            known = self._kept.get(material) or self._files.get(material)
            if known is not None:
                return known
            file = self._open(material)
            if isinstance(file, TableFile) and fresh_bytes(file.info.size) <= SMALL:
                with file:
                    source = ArraySource(*file.read_fresh())
                self._kept.put(material, source)
                return source
            self._files[material] = file
            return file

    def around(self, material: Material) -> dict[Material, Source]:
        """Return all tables that a material turns into."""
        return {after: self.get(after) for after in sorted(material.successors())}

    def open(self, material: Material) -> TableFile:
        """Return a plain table, or the plain copy of a packed one.

        :raises MissingTableError: if it is not there.
        :raises DamagedTableError: if it cannot be used.
        """
        table = open_table(self._path(material), material)
        return table if isinstance(table, TableFile) else self._copy(table)

    def put(self, table: Table) -> None:
        """Keep a table that has just been built, if it is small."""
        if fresh_bytes(table.layout.size) <= SMALL:
            self._kept.put(table.material, ArraySource(table.value, table.depth))

    def unpack(self, material: Material, progress: Progress = silent) -> Table:
        """Return the content of a packed table without its functions.

        Raises as :meth:`open` does.
        """
        with PackedFile(self._path(material), material=material) as table:
            return self._unpack(table, progress)

    def _open(self, material: Material) -> TableFile | PackedSource:
        table = open_table(self._path(material), material)
        if isinstance(table, TableFile):
            return table
        if not material.pawns and fresh_bytes(table.info.size) > SMALL:
            copy = self.copies.open(material, table.info)
            if copy is None:
                return PackedSource(table, lambda: self.around(material), self._threads)
            table.close()
            return copy
        return self._copy(table)

    def _copy(self, table: PackedFile) -> TableFile:
        """Return the plain copy of a packed table, which is closed."""
        material = table.layout.material
        with table:
            copy = self.copies.open(material, table.info)
            if copy is None:
                self.copies.keep(self._unpack(table, silent), table.info, self._threads)
                copy = TableFile(self.copies.path(material), material=material)
        return copy

    def _unpack(self, table: PackedFile, progress: Progress) -> Table:
        material = table.layout.material
        around = self.around(material)
        one_at_a_time = self._unpacking if material.pawns else nullcontext()
        with one_at_a_time, _compiling():
            return unpack(table, around, functions=False, threads=self._threads, progress=progress)

    def _path(self, material: Material) -> Path:
        return find_table(self._directories, material.name, self._variant)


def open_plain(directory: Path, material: Material, variant: Variant, threads: int = 2) -> TableFile:
    """Return an open table in plain form; of a packed one its plain copy, which takes time to make.

    :raises MissingTableError: if it is not there, or a table is missing that a packed one rests on.
    :raises DamagedTableError: if it cannot be used.
    :raises TbgenError: if the copy cannot be written.
    """
    table = open_table(table_path(directory, material.name, variant), material)
    if isinstance(table, TableFile):
        return table
    table.close()
    with Sources(directory, variant, threads) as sources:
        return sources.open(material)


def _compiling() -> AbstractContextManager[bool]:
    """Have the block compile the kernels that unpacking takes, if that is still to do, and say so."""
    return compiling(FAMILY, "that unpack tables", "about half a minute", _logger.warning)
