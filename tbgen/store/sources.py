"""Sub-tables as the solver reads them: small ones from memory, large ones straight from their files."""

from collections import OrderedDict, defaultdict
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.source import ArraySource, Source, fresh_bytes
from tbgen.index.table import Table
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile

KEPT: Final = 256 << 20
"""Bytes of small tables that a build keeps in memory for those that rest on them."""

SMALL: Final = KEPT // 4
"""Bytes up to which a table is small."""


class Sources:
    """The tables of a directory for one variant as sources; a context, which closes the files.

    Threads may share it.
    """

    def __init__(self, directory: Path, variant: Variant) -> None:
        self._directory, self._variant = directory, variant
        self._kept: OrderedDict[Material, ArraySource] = OrderedDict()
        self._files: dict[Material, TableFile] = {}
        self._lock = Lock()
        self._opening: defaultdict[Material, Lock] = defaultdict(Lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        # Opening a packed table may take long, and threads that read those that it rests on: only who wants
        # the same table waits for it.
        with opening:
            with self._lock:
                if material in self._kept:
                    self._kept.move_to_end(material)
                    return self._kept[material]
                if material in self._files:
                    return self._files[material]
            file = self.open(material)
            if fresh_bytes(file.info.size) > SMALL:
                with self._lock:
                    self._files[material] = file
                return file
            with file:
                source = ArraySource(*file.read_fresh())
            with self._lock:
                return self._keep(material, source)

    def has(self, material: Material) -> bool:
        """Whether a table has been read or opened."""
        return material in self._kept or material in self._files

    def open(self, material: Material) -> TableFile:
        """Return the plain table of a material, newly opened.

        Raises as :meth:`get` does.
        """
        return TableFile(table_path(self._directory, material.name, self._variant), material=material)

    def put(self, table: Table) -> None:
        """Keep a table that has just been built, if it is small."""
        if fresh_bytes(table.layout.size) <= SMALL:
            with self._lock:
                self._keep(table.material, ArraySource(table.value, table.depth))

    def _keep(self, material: Material, source: ArraySource) -> ArraySource:
        self._kept[material] = source
        while sum(kept.nbytes for kept in self._kept.values()) > KEPT:
            self._kept.popitem(last=False)  # what was not wanted for longest
        return source
