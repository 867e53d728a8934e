"""Solved cells on disk, which later positions can use.

Each cell that is large enough has a file, named after its men and a digest of its name
(docs/solve_reference.md). Any number of processes and machines may share a directory: files are
replaced atomically, and the last writer wins. If the files take too much space, the least recently used
ones are removed.

Reading and checking files needs no compiler; ``tbgen.beyond.solved_cells`` unpacks the bounds.
"""

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from tbgen.cells.cell import Cell
from tbgen.cells.file import (
    SUFFIX,
    CellFileError,
    PackedBounds,
    bytes_of,
    check_directory,
    file_name,
    is_file_name,
    name_of,
    read_cell,
)
from tbgen.errors import TbgenError
from tbgen.system.files import make_directory, write_errors, written_aside

MIN_KEPT_SLOTS: Final = 64**3
"""Minimum number of slots of cells that are kept; solving smaller cells again is faster than reading them."""
DEFAULT_BYTES: Final = 10 << 30
"""Default limit for the files of a directory."""
UNPROVED_DIRECTORY: Final = "unproved"
"""Name of the subdirectory of cells that depend on unproved bounds."""

_OLD_FILE_PATTERN: Final = "*.cell.h5"
"""Pattern of the file names of the first version."""
_REMEDY: Final = "choose another directory for cells"

_logger = logging.getLogger(__name__)
Stamp: TypeAlias = tuple[int, int, int]
"""Identifies one version of a file: inode number, size and time of the last change."""


class KeptCells:
    """The cells of a directory, which is created if necessary. Thread-safe.

    :param most: maximum number of bytes of all files; None for no limit.
    :param note: called with a sentence about each file that cannot be used or written; solving continues.
    :param proved: another directory, for reading cells that this one lacks.
    :raises UsageError: if the path is not a directory.
    :raises TbgenError: if the directory cannot be made.
    """

    def __init__(
        self,
        directory: Path,
        most: int | None = DEFAULT_BYTES,
        note: Callable[[str], object] = _logger.warning,
        proved: "KeptCells | None" = None,
    ) -> None:
        check_directory(directory)
        make_directory(directory, remedy=_REMEDY)
        self.directory, self._most, self._note, self._proved = directory, most, note, proved
        self._seen: dict[Cell, Stamp] = {}
        """The stamp of each cell's file when it was last read or written here."""
        self._unusable: dict[Cell, Stamp] = {}
        """The stamp of each cell's file that cannot be used."""
        self.writing_failed = False
        """Whether writing has failed, so that no further cells are kept."""
        if earlier := sum(1 for _ in directory.glob(_OLD_FILE_PATTERN)):
            note(f"{directory} has {earlier} cells of an earlier version, which are of no use: remove them")

    def for_unproved(self) -> "KeptCells":
        """Return the cells of the subdirectory for unproved bounds, which is made if necessary.

        They include the cells of this directory, which are read but not changed.
        """
        return KeptCells(self.directory / UNPROVED_DIRECTORY, self._most, self._note, self)

    def __contains__(self, cell: Cell) -> bool:
        """Return whether a canonical cell has a file that has not turned out to be unusable."""
        if (source := self._source_of(cell)) is not self:
            return cell in source
        stamp = None if cell.size < MIN_KEPT_SLOTS else _stamp(self.path(cell))
        return stamp is not None and stamp != self._unusable.get(cell)

    def last_stamp(self, cell: Cell) -> Stamp | None:
        """Return the stamp of a cell's file when it was last read or written here; None if it never was."""
        return self._source_of(cell)._seen.get(cell)

    def changed(self, cell: Cell) -> bool:
        """Return whether the file of a cell is newer than the last one read or written here."""
        return cell in self and _stamp(self._source_of(cell).path(cell)) != self.last_stamp(cell)

    def get(self, cell: Cell) -> PackedBounds | None:
        """Return the bounds of a canonical cell; None if they are not kept or cannot be used."""
        if (source := self._source_of(cell)) is not self:
            return source.get(cell)
        if cell not in self:
            return None
        path = self.path(cell)
        stamp = _stamp(path)
        try:
            bounds = read_cell(path, name_of(cell))
        except FileNotFoundError:  # another process has just removed it
            return None
        except (OSError, CellFileError) as error:
            self.refuse(cell, str(error) if isinstance(error, CellFileError) else f"{error.strerror}")
            return None
        if stamp is not None:
            self._seen[cell] = stamp
            with suppress(OSError):  # the time is only used to find the least recently used cells
                os.utime(path, ns=(time.time_ns(), stamp[2]))
        return bounds

    def refuse(self, cell: Cell, reason: str) -> None:
        """Mark the file of a cell as unusable until it is replaced.

        :param reason: the reason, as the second half of a sentence.
        """
        source = self._source_of(cell)
        path = source.path(cell)
        if (stamp := _stamp(path)) is not None:
            source._unusable[cell] = stamp
            self._note(f"{path} is not used, and will be replaced when its cell is solved again: {reason}")

    def put(self, cell: Cell, bounds: PackedBounds) -> bool:
        """Keep the bounds of a canonical cell, unless it is small; return whether they are kept."""
        if cell.size < MIN_KEPT_SLOTS or self.writing_failed:
            return False
        path = self.path(cell)
        try:
            with written_aside(path, remedy=_REMEDY) as temporary, write_errors(path, remedy=_REMEDY):
                temporary.write_bytes(bytes_of(name_of(cell), bounds))
        except TbgenError as error:
            self.writing_failed = True
            self._note(f"{error}; solving continues without keeping further cells")
            return False
        if (stamp := _stamp(path)) is not None:
            self._seen[cell] = stamp
        self._remove_oldest(path)
        return True

    def path(self, cell: Cell) -> Path:
        """Return the path of the file of a canonical cell."""
        return self.directory / file_name(name_of(cell))

    def _source_of(self, cell: Cell) -> "KeptCells":
        """Return the directory from which a canonical cell is read: this one or ``proved``."""
        return self if self._proved is None or _stamp(self.path(cell)) is not None else self._proved

    def _remove_oldest(self, newest: Path) -> None:
        """Remove the least recently used cells until the others fit into the limit, ``newest`` last."""
        if self._most is None:
            return
        files = []
        for path in self.directory.glob(f"*{SUFFIX}"):
            with suppress(OSError):  # another process has removed it
                if is_file_name(path.name):
                    files.append((path, path.stat()))
        size = sum(stat.st_size for _, stat in files)
        for path, stat in sorted(files, key=lambda each: (each[0] == newest, each[1].st_atime_ns)):
            if size <= self._most:
                break
            with suppress(OSError):
                path.unlink(missing_ok=True)
            size -= stat.st_size


def _stamp(path: Path) -> Stamp | None:
    """Return the stamp of a file; None if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
