"""Solved cells that are kept on disk for positions solved later.

Each cell that is large enough has a file for its bounds, and one for each threshold. The file names consist
of the men of the cell, a digest of the cell's name, and the threshold (docs/solve_reference.md). Any number
of processes and machines may share a directory: files are replaced atomically, and the last writer wins. If
the files need too much space, the least recently used files are removed.

This module reads and checks files without the compiler. :mod:`tbgen.beyond.solved_cells` unpacks the bounds.
"""

import logging
import os
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from tbgen.cells.cell import Cell
from tbgen.cells.file import (
    SUFFIX,
    CellFileError,
    PackedBounds,
    PackedThreshold,
    check_directory,
    encode_cell,
    file_name,
    is_file_name,
    name_of,
    read_cell,
    read_threshold,
    threshold_of_name,
)
from tbgen.errors import TbgenError
from tbgen.system.files import atomic_write, make_directory, write_errors

MIN_KEPT_SLOTS: Final = 64**3
"""Minimum number of slots of a kept cell. Solving a smaller cell again is faster than reading its file."""
DEFAULT_BYTES: Final = 10 << 30
"""Default limit for the size of all files in a directory."""
UNPROVED_DIRECTORY: Final = "unproved"
"""Name of the subdirectory of cells that depend on unproved bounds."""

_OLD_FILE_PATTERN: Final = "*.cell.h5"
"""Pattern of the file names in the first version of the format."""
_REMEDY: Final = "choose another directory for cells"

_logger = logging.getLogger(__name__)
_Content = TypeVar("_Content", PackedBounds, PackedThreshold)
Stamp: TypeAlias = tuple[int, int, int]
"""Identifies one version of a file: inode number, size in bytes, and time of last change in nanoseconds."""


class KeptCells:
    """The cells kept in a directory. The directory is created if necessary. Thread-safe.

    :param max_bytes: maximum size of all files in bytes; None for no limit.
    :param warn: called with a sentence about each file that cannot be used or written. Solving continues.
    :param fallback: cells of another directory, which are read if this directory lacks them.
    :raises UsageError: if the path is not a directory.
    :raises TbgenError: if the directory cannot be made.
    """

    def __init__(
        self,
        directory: Path,
        max_bytes: int | None = DEFAULT_BYTES,
        warn: Callable[[str], object] = _logger.warning,
        fallback: "KeptCells | None" = None,
    ) -> None:
        check_directory(directory)
        make_directory(directory, remedy=_REMEDY)
        self.directory, self._max_bytes, self._warn, self._fallback = directory, max_bytes, warn, fallback
        self._last_stamps: dict[Cell, Stamp] = {}
        """The stamp of each cell's file when this process last read or wrote it."""
        self._unusable_stamps: dict[Path, Stamp] = {}
        """The stamps of the files that cannot be used."""
        self.writing_error: TbgenError | None = None
        """The error of the first failed attempt to write a file; after it, no further cells are kept."""
        if old_count := sum(1 for _ in directory.glob(_OLD_FILE_PATTERN)):
            warn(f"{directory} has {old_count} cells of an earlier version, which are of no use: remove them")

    def unproved_cells(self) -> "KeptCells":
        """Return the cells of the subdirectory for unproved bounds, which is created if necessary.

        The result also reads the cells of this directory, but does not change them.
        """
        return KeptCells(self.directory / UNPROVED_DIRECTORY, self._max_bytes, self._warn, self)

    def __contains__(self, cell: Cell) -> bool:
        """Return whether a canonical cell has a file that is not known to be unusable."""
        if (source := self._source_of(cell)) is not self:
            return cell in source
        path = self.path_of(cell)
        stamp = None if cell.size < MIN_KEPT_SLOTS else _stamp_of(path)
        return stamp is not None and stamp != self._unusable_stamps.get(path)

    def last_stamp(self, cell: Cell) -> Stamp | None:
        """Return the stamp of a cell's file when this process last read or wrote it; None if it never did."""
        return self._source_of(cell)._last_stamps.get(cell)

    def has_changed(self, cell: Cell) -> bool:
        """Return whether the file of a cell has been replaced since this process last read or wrote it."""
        return cell in self and _stamp_of(self._source_of(cell).path_of(cell)) != self.last_stamp(cell)

    def get(self, cell: Cell) -> PackedBounds | None:
        """Return the bounds of a canonical cell; None if they are not kept or cannot be used."""
        if (source := self._source_of(cell)) is not self:
            return source.get(cell)
        if cell not in self:
            return None
        path = self.path_of(cell)
        stamp = _stamp_of(path)
        bounds = self._read(path, stamp, cell, read_cell)
        if bounds is not None and stamp is not None:
            self._last_stamps[cell] = stamp
        return bounds

    def thresholds(self, cell: Cell) -> Iterator[PackedThreshold]:
        """Yield the kept thresholds of a canonical cell that can be used.

        Files that other processes have added since the first call are not found.
        """
        if self._fallback is not None:
            yield from self._fallback.thresholds(cell)
        beginning = file_name(name_of(cell)).removesuffix(SUFFIX)
        for threshold in self._threshold_index.get(beginning, ()):
            path = self.path_of(cell, threshold)
            if (found := self._read(path, _stamp_of(path), cell, read_threshold)) is not None:
                yield found

    @cached_property
    def _threshold_index(self) -> dict[str, list[tuple[int, int]]]:
        """Ends and codes of the thresholds in the directory, by the beginning of the names of their files."""
        index = defaultdict[str, list[tuple[int, int]]](list)
        for path in self.directory.glob(f"*{SUFFIX}"):
            if (named := threshold_of_name(path.name)) is not None:
                index[named[0]].append(named[1])
        return index

    def _read(
        self, path: Path, stamp: Stamp | None, cell: Cell, read: Callable[[Path, str], _Content]
    ) -> _Content | None:
        """Read a file of a cell, and mark it as just used; return None if it cannot be used."""
        try:
            content = read(path, name_of(cell))
        except FileNotFoundError:  # another process has just removed it
            return None
        except (OSError, CellFileError) as error:
            reason = str(error) if isinstance(error, CellFileError) else f"{error.strerror}"
            self._mark_unusable(path, stamp, reason)
            return None
        if stamp is not None:
            with suppress(OSError):  # the access time only serves to find the least recently used file
                os.utime(path, ns=(time.time_ns(), stamp[2]))
        return content

    def mark_unusable(self, cell: Cell, reason: str, threshold: tuple[int, int] | None = None) -> None:
        """Mark a file of a cell as unusable until it is replaced.

        :param reason: the reason, which follows a colon in the message.
        :param threshold: end and code of the threshold in the file; None for bounds.
        """
        source = self._source_of(cell) if threshold is None else self
        path = source.path_of(cell, threshold)
        source._mark_unusable(path, _stamp_of(path), reason)

    def _mark_unusable(self, path: Path, stamp: Stamp | None, reason: str) -> None:
        if stamp is not None:
            self._unusable_stamps[path] = stamp
            self._warn(f"{path} is not used, and will be replaced when its cell is solved again: {reason}")

    def put(self, cell: Cell, content: PackedBounds | PackedThreshold) -> bool:
        """Keep the bounds or a threshold of a canonical cell, unless the cell is small; return whether they
        are kept."""
        if cell.size < MIN_KEPT_SLOTS or self.writing_error is not None:
            return False
        threshold = (content.end, content.bound) if isinstance(content, PackedThreshold) else None
        path = self.path_of(cell, threshold)
        try:
            with atomic_write(path, remedy=_REMEDY) as temporary, write_errors(path, remedy=_REMEDY):
                temporary.write_bytes(encode_cell(name_of(cell), content))
        except TbgenError as error:
            self.writing_error = error
            self._warn(f"{error}; solving continues without keeping further cells")
            return False
        if threshold is None and (stamp := _stamp_of(path)) is not None:
            self._last_stamps[cell] = stamp
        self._remove_oldest(path)
        return True

    def path_of(self, cell: Cell, threshold: tuple[int, int] | None = None) -> Path:
        """Return the path of a file of a canonical cell.

        :param threshold: end and code of the threshold in the file; None for bounds.
        """
        return self.directory / file_name(name_of(cell), threshold)

    def _source_of(self, cell: Cell) -> "KeptCells":
        """Return the cells from which a canonical cell is read: these cells or the fallback."""
        return self if self._fallback is None or _stamp_of(self.path_of(cell)) is not None else self._fallback

    def _remove_oldest(self, newest_path: Path) -> None:
        """Remove the least recently used files until the size is within the limit, ``newest_path`` last."""
        if self._max_bytes is None:
            return
        files = []
        for path in self.directory.glob(f"*{SUFFIX}"):
            with suppress(OSError):  # another process has removed it
                if is_file_name(path.name):
                    files.append((path, path.stat()))
        size = sum(status.st_size for _, status in files)
        for path, status in sorted(files, key=lambda each: (each[0] == newest_path, each[1].st_atime_ns)):
            if size <= self._max_bytes:
                break
            with suppress(OSError):
                path.unlink(missing_ok=True)
            size -= status.st_size


def _stamp_of(path: Path) -> Stamp | None:
    """Return the stamp of a file; None if it does not exist, or is a pipe or a device."""
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None
