"""The tables of one variant in one or several directories: opened, read by other tables, and copied.

A packed sub-table is read from a plain copy (:class:`PlainCopies`). The build of the sub-table makes
this copy if other tables of the same build need it. Otherwise the sub-table is unpacked to a copy. A large
table without pawns is an exception: if it has no copy, it is decoded directly, because the solver reads it
only once, and mostly with one side to move. Look-ups never make copies. This module does not import numba.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.errors import ClosedError, DamagedTableError, MissingTableError, TbgenError
from tbgen.index.codes import DAMAGED, NO_SCORE
from tbgen.index.layout import Layout, Slot
from tbgen.index.position import Place
from tbgen.index.table import RunIndex, Source, Table, fresh_bytes
from tbgen.store.cache import ChunkCache, LruCache
from tbgen.store.format import Directories, TableInfo, directories_of, find_table, table_path, tables_in
from tbgen.system.files import remove_leftovers, write_errors
from tbgen.tables.files import open_table, write_table
from tbgen.tables.open_table import Bounds, Entry, Given, Moves, OpenTable, Target
from tbgen.tables.plain_table import PlainTable

MAX_OPEN_FILES: Final = 64
CACHE_BYTES: Final = 64 << 20
"""Default maximum size of the decoded chunks that a library keeps."""
_MAX_LOADED_BYTES: Final = 512 << 20
"""Maximum total size of the plain tables that look-ups of many positions keep in memory."""
MAX_KEPT_BYTES: Final = 256 << 20
"""Maximum total size in bytes of the small tables that a build keeps in memory for later tables."""
MAX_SMALL_TABLE_BYTES: Final = MAX_KEPT_BYTES // 4
"""Maximum size in bytes of a small table."""
_MAX_ONE_BY_ONE: Final = 1 << 13
"""Maximum number of positions of a table to look up one by one. Beyond it, a plain table is loaded."""
_MAX_ONE_BY_ONE_LOADED: Final = 100
"""Maximum number of positions of a loaded table to look up one by one."""
_UNPACKING_THREADS: Final = 2
"""Default number of threads that unpack a table. More threads would need more memory."""
_FAILED_ENTRY: Final = (DAMAGED, 0)
"""Code and depth that stand for a position that cannot be looked up."""


COPIES_FOLDER: Final = ".unpacked"
"""Folder of the plain copies in a directory of tables."""


class PlainCopies(AbstractContextManager["PlainCopies"]):
    """Plain copies of packed tables. As a context manager, it removes on exit the copies that it has written.

    Copies that others have written, such as a running build, are read, and removed by those who wrote them.

    :param directory: directory in whose folder the copies are; None for that of each table or, once that
        cannot be written, a temporary directory.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._temporary: Path | None = None
        self._written = set[Path]()

    def __exit__(self, *_: object) -> None:
        self.remove()

    def path(self, info: TableInfo) -> Path:
        """Return the path of the copy of a table, whether or not the copy exists."""
        directory = (self._directory or info.path.parent) / COPIES_FOLDER
        return table_path(directory, info.material, info.variant)

    def open(
        self, info: TableInfo, opened: Callable[[Path, Material], OpenTable] = open_table
    ) -> OpenTable | None:
        """Return the copy of the table that ``info`` describes, or None if no copy of it exists.

        :param opened: opens the table of a material.
        """
        try:
            copy = opened(self.path(info), Material.parse(info.material))
        except (MissingTableError, DamagedTableError):
            return None
        if copy.info.manifest.fresh == info.manifest.fresh and not copy.info.derives:
            return copy
        copy.close()
        return None

    def write(self, table: Table, info: TableInfo, threads: int) -> None:
        """Write a plain copy of a table without its functions (the values for accrued scores).

        :param info: the description of the packed table.
        :raises TbgenError: if the copy cannot be written.
        """
        copy = self.path(info)
        with suppress(OSError):
            copy.parent.mkdir(exist_ok=True)
        with write_errors(copy, remedy="copy the tables to a directory where files can be written"):
            if self._directory is None and not os.access(copy.parent, os.W_OK):
                from tempfile import mkdtemp

                self._directory = self._temporary = Path(mkdtemp(prefix="tbgen-"))
                copy = self.path(info)
            copy.parent.mkdir(exist_ok=True)
        self._written.add(copy)
        write_table(
            replace(table, functions=None),
            copy,
            version=info.tbgen_version,
            build_seconds=info.build_seconds,
            parameters=info.parameters,
            threads=threads,
        )

    def remove(self) -> None:
        """Remove the copies that this object has written.

        An open copy remains readable. A copy that is needed later is written again.
        """
        while self._written:
            copy = self._written.pop()
            copy.unlink(missing_ok=True)
            with suppress(OSError):  # it contains other copies or does not exist
                copy.parent.rmdir()
        if self._temporary is not None:
            with suppress(OSError):
                self._temporary.rmdir()
            self._directory = self._temporary = None


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


class Library(AbstractContextManager["Library"]):
    """The tables of one variant. The object is thread-safe. Unpickling opens the same directories again.

    Files are opened when they are needed. The most recently used files stay open. As a context manager, it
    closes them on exit, and removes the copies that it has made.

    :param directories: the directories that the user has named; empty for the default directory. Each table
        is read from the first directory that contains it.
    :param threads: number of threads that decode and unpack tables; None for the default.
    :param max_open_files: maximum number of files to keep open.
    :param cache_bytes: maximum number of bytes of decoded chunks to keep.
    :param check: whether to compare each table with its digest when its file is opened.
    :param copies: the plain copies, which the caller removes; None for copies beside the tables, which are
        removed when the library is closed.
    """

    def __init__(
        self,
        directories: Directories,
        variant: Variant,
        *,
        threads: int | None = None,
        max_open_files: int = MAX_OPEN_FILES,
        cache_bytes: int = CACHE_BYTES,
        check: bool = False,
        copies: PlainCopies | None = None,
    ) -> None:
        self.directories: Final = directories_of(directories)
        self.variant: Final = variant
        self.copies: Final = PlainCopies() if copies is None else copies
        self._own_copies: Final = [self.copies] if copies is None else []
        """The copies that are removed when the library is closed."""
        self.cache: Final = ChunkCache(cache_bytes)
        """The cache of decoded chunks."""
        sizes = {"max_open_files": max_open_files, "cache_bytes": cache_bytes}
        self._settings: Final[dict[str, Any]] = {"threads": threads, "check": check, **sizes}
        self._threads: Final = threads
        self._checks_digests: Final = check
        # A file removed from here closes with its last reference: another thread may be reading the file.
        self._tables = LruCache[OpenTable](max_open_files, lambda _: 1)
        self._open_copies: dict[Material, OpenTable] = {}
        self._loaded = LruCache[RunIndex](_MAX_LOADED_BYTES, lambda index: index.nbytes)
        self._small_tables = LruCache[Table](MAX_KEPT_BYTES, lambda table: table.nbytes)
        self._lock = Lock()
        self._source_locks: defaultdict[Material, Lock] = defaultdict(Lock)
        """Locks for making sources. Making one may take long, and may make others in other threads. So only
        threads that need the same source wait for each other."""
        self._closed = False

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._settings), (self.directories, self.variant)

    def close(self) -> None:
        """Close all files, each when no other thread is reading it, and remove the library's own copies."""
        with self._lock:
            self._tables = LruCache(0, lambda _: 1)
            self._open_copies = {}
            self._small_tables.clear()
            self._loaded.clear()
            self._closed = True
        for copies in self._own_copies:
            copies.remove()

    def require_open(self) -> None:
        """Check that the library is open.

        :raises ClosedError: if it is closed.
        """
        if self._closed:
            raise ClosedError("the tablebase is closed: open it again with tbgen.open_tablebase")

    def table(self, material: Material) -> OpenTable:
        """Return an open table, which stays open as long as the caller keeps a reference.

        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if the table's file cannot be used.
        :raises ClosedError: if the library is closed.
        """
        with self._lock:
            self.require_open()
            table = self._tables.get(material)
            if table is None:
                try:
                    path = find_table(self.directories, material.name, self.variant)
                    table = self._open(path, material)
                except MissingTableError as error:
                    error.__context__ = None
                    directory, *others = self.directories
                    raise MissingTableError(material.name, directory, self.variant, others) from None
                if self._checks_digests:
                    table.check()
                self._tables.put(material, table)
            return table

    def _open(self, path: Path, material: Material) -> OpenTable:
        return open_table(
            path, material, cache=self.cache, loaded=self._loaded, successors=self, threads=self._threads
        )

    def plain(self, material: Material, scratch: Path | None = None) -> PlainTable:
        """Return an open table whose values are all stored: the table, or its plain copy. If there is no
        copy, the table is unpacked to one, which takes time and memory.

        Raises as :meth:`table` does.

        :param scratch: directory in which to look for the copy, and to make it; by default, where the library
            has its copies.

        :raises TbgenError: if the copy cannot be written.
        """
        with self._source_lock(material):
            copies = self.copies
            if scratch is not None:
                copies = PlainCopies(scratch)
                self._own_copies.append(copies)
            return self._plain(self.table(material), copies)

    def loaded(self, material: Material) -> RunIndex:
        """Return a table in memory, which may have to be unpacked first; raise as :meth:`plain` does."""
        return self.plain(material).loaded()

    def source(self, material: Material) -> Source:
        """Return a table as a source: a small one in memory, a large one in its file or a plain copy.

        Raises as :meth:`plain` does.
        """
        with self._source_lock(material):
            small = self._small_tables.get(material)
            if small is not None:
                return small
            table = self.table(material)
            is_small = fresh_bytes(table.info.size) <= MAX_SMALL_TABLE_BYTES
            if table.info.derives and not material.pawns and not is_small:
                return self._copy_of(table, self.copies) or table
            plain = self._plain(table, self.copies)
            if not is_small:
                return plain
            small = plain.read_fresh()
            self._small_tables.put(material, small)
            return small

    def sub_tables_of(self, material: Material) -> dict[Material, Source]:
        """Return the tables of all successors of a material as sources."""
        return {successor: self.source(successor) for successor in sorted(material.successors())}

    def put(self, table: Table) -> None:
        """Keep a table that has just been built in memory, if it is small."""
        if fresh_bytes(table.layout.size) <= MAX_SMALL_TABLE_BYTES:
            self._small_tables.put(table.material, table.fresh_only())

    def _source_lock(self, material: Material) -> Lock:
        with self._lock:
            return self._source_locks[material]

    def _copy_of(self, table: OpenTable, copies: PlainCopies) -> OpenTable | None:
        """Return the plain copy of a table, if there is one."""
        material = table.layout.material
        copy = self._open_copies.get(material) or copies.open(table.info, self._open)
        if copy is not None:
            self._open_copies[material] = copy
        return copy

    def _plain(self, table: OpenTable, copies: PlainCopies) -> PlainTable:
        """Do the work of :meth:`plain` for an open table."""
        copy = self._copy_of(table, copies) if table.info.derives else table
        while copy is None:
            unpacked = table.read(Given(threads=self._threads or _UNPACKING_THREADS), functions=False)
            copies.write(unpacked, table.info, self._threads or _UNPACKING_THREADS)
            material = table.layout.material
            with suppress(MissingTableError):  # the end of a build has just removed it
                copy = self._open_copies[material] = self._open(copies.path(table.info), material)
        assert isinstance(copy, PlainTable), "a plain copy is plain"
        return copy

    def fresh_entry(self, place: Place) -> Entry:
        """Return the code of W(P), in the colours of the table, and D(P) in plies, for a legal position P.

        Raises as :meth:`table` does.
        """
        layout, side, slot, ep_square = place
        table = self.table(layout.material)
        if ep_square < 0:
            entry = table.fresh(side, slot)
        else:
            phase, slot_in_phase = divmod(slot, layout.phase_size)
            entry = table.en_passant(phase, ep_square, slot_in_phase)
        if entry[0] == NONE:
            raise table.damaged("it has no value for a legal position")
        return entry

    def prefetch(self, questions: Iterable[tuple[Place, int]]) -> None:
        """Make packed tables look up many questions together and keep the answers.

        :param questions: places with codes of accrued scores, or with ``NO_SCORE``.
        """
        questions_by_layout = defaultdict[Layout, list[tuple[Place, int]]](list)
        for question in questions:
            questions_by_layout[question[0].layout].append(question)
        for layout, group in questions_by_layout.items():
            self.prefetch_in(layout, group)

    def prefetch_in(self, layout: Layout, questions: Iterable[tuple[Place, int]]) -> None:
        """Do the work of :meth:`prefetch` for one table. A plain table does not read the questions."""
        with suppress(TbgenError):  # a later look-up raises the error again
            self.table(layout.material).prefetch(
                (side, slot, code) for (_, side, slot, ep_square), code in questions if ep_square < 0
            )

    def fresh_after(
        self, targets: Sequence[Target], moves: Moves, bounds: Bounds | None = None
    ) -> tuple[NDArray[np.int64], TbgenError | None]:
        """Implement :meth:`tbgen.tables.open_table.SuccessorTables.fresh_after`."""
        if len(moves) <= _MAX_ONE_BY_ONE_LOADED:
            return self._fresh_one_by_one(targets, moves)
        entries = np.full((len(moves), 2), _FAILED_ENTRY, np.int64)
        first_error = None
        # En passant positions cannot be looked up with arrays.
        target_of_move = np.where(moves[:, 3] < 0, moves[:, 1], len(targets))
        for target in np.unique(target_of_move).tolist():
            rows = np.flatnonzero(target_of_move == target)
            try:
                if target < len(targets) and self._is_looked_up_together(targets[target][0], len(rows)):
                    layout, side = targets[target]
                    sides = np.full(len(rows), side, np.uint8)
                    no_scores = np.full(len(rows), NO_SCORE)
                    arguments = sides, moves[rows, 2], no_scores, None if bounds is None else bounds[rows]
                    entries[rows] = np.stack(self.table(layout.material).look_up(*arguments), axis=1)
                else:
                    entries[rows], error = self._fresh_one_by_one(targets, moves[rows])
                    first_error = first_error or error
            except TbgenError as error:
                first_error = first_error or error.with_traceback(None)
        return entries, first_error

    def _is_looked_up_together(self, layout: Layout, count: int) -> bool:
        """Return whether to look up ``count`` positions of a table together."""
        return count > (_MAX_ONE_BY_ONE_LOADED if self.table(layout.material).is_loaded else _MAX_ONE_BY_ONE)

    def _fresh_one_by_one(
        self, targets: Sequence[Target], moves: Moves
    ) -> tuple[NDArray[np.int64], TbgenError | None]:
        """Return the results of :meth:`fresh_after`, found by looking up one position after another."""
        places = list[Place]()
        entries = list[tuple[int, int]]()
        first_error = None
        for _, target, slot, ep_square in moves.tolist():
            layout, side = targets[target]
            places.append(Place(layout, side, Slot(slot), ep_square))
        if len(places) > 1:
            self.prefetch((place, NO_SCORE) for place in places)
        for place in places:
            try:
                entries.append(self.fresh_entry(place))
            except TbgenError as error:
                first_error = first_error or error.with_traceback(None)
                entries.append(_FAILED_ENTRY)
        return np.array(entries, np.int64).reshape(-1, 2), first_error
