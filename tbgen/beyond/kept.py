"""Cells kept on disk, in files that docs/solve.md describes, for the next position that needs them.

One file for each cell of some size, named after its men and the cell (docs/solve.md describes it). Any number
of processes and machines share a directory: a file appears under its name as a whole, and any of two writers
may be the last. What takes too much room goes, the cells not used for longest first.

The file of a solved cell: its packed bounds and their digest (docs/solve.md describes it). Reading and
checking one needs no compiler; ``tbgen.beyond.solved_cells`` makes bounds of what is in it.
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

LEAST_SLOTS: Final = 64**3
"""Smaller cells are solved again in less time than it takes to read them."""
DEFAULT_BYTES: Final = 10 << 30
UNPROVED: Final = "unproved"
"""The folder of cells that rest on what is not proved."""

_EARLIER: Final = "*.cell.h5"
"""Files of the first version."""
_REMEDY: Final = "choose another directory for cells"

_logger = logging.getLogger(__name__)
Stamp: TypeAlias = tuple[int, int, int]
"""What tells a file from the one that replaces it: number, size and time of the last change."""


class KeptCells:
    """The cells of a directory, which is made if need be. Safe for threads.

    :param most: bytes that all of them may take together, None for any number.
    :param note: told, in one sentence each, what cannot be used or written; solving goes on without.
    :param proved: further cells, which are read where this directory has none of its own.
    :raises UsageError: if the directory is something else.
    :raises TbgenError: if it cannot be made.
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
        """Files that were read or written last..."""
        self._unusable: dict[Cell, Stamp] = {}
        """...and those that cannot be used."""
        self.full = False
        """Whether nothing more can be written."""
        if earlier := sum(1 for _ in directory.glob(_EARLIER)):
            note(f"{directory} has {earlier} cells of an earlier version, which are of no use: remove them")

    def apart(self) -> "KeptCells":
        """Return where cells are kept that rest on sources which are not proved: in a folder of the
        directory, which is made if need be. Cells of the directory itself are read there too, and stay as
        they are.
        """
        return KeptCells(self.directory / UNPROVED, self._most, self._note, self)

    def __contains__(self, cell: Cell) -> bool:
        """Whether there is a file of a canonical cell that can be used, as far as is known."""
        if (holder := self._holder(cell)) is not self:
            return cell in holder
        stamp = None if cell.size < LEAST_SLOTS else _stamp(self.path(cell))
        return stamp is not None and stamp != self._unusable.get(cell)

    def seen(self, cell: Cell) -> Stamp | None:
        """Return what tells the file of a cell that was read or written here last from others, None if none
        was."""
        return self._holder(cell)._seen.get(cell)

    def changed(self, cell: Cell) -> bool:
        """Whether somebody else has written a cell since it was read or written here, if it ever was."""
        return cell in self and _stamp(self._holder(cell).path(cell)) != self.seen(cell)

    def get(self, cell: Cell) -> PackedBounds | None:
        """Return the bounds of a canonical cell, if they are kept and can be used."""
        if (holder := self._holder(cell)) is not self:
            return holder.get(cell)
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
            with suppress(OSError):  # only the order in which cells go depends on it
                os.utime(path, ns=(time.time_ns(), stamp[2]))
        return bounds

    def refuse(self, cell: Cell, reason: str) -> None:
        """Do not use the file of a cell from now on, unless it is replaced.

        :param reason: why, as the end of a sentence.
        """
        holder = self._holder(cell)
        path = holder.path(cell)
        if (stamp := _stamp(path)) is not None:
            holder._unusable[cell] = stamp
            self._note(f"{path} is not used, and replaced when its cell is solved again: {reason}")

    def put(self, cell: Cell, bounds: PackedBounds) -> bool:
        """Keep the bounds of a canonical cell; return whether they are kept, which small ones are not."""
        if cell.size < LEAST_SLOTS or self.full:
            return False
        path = self.path(cell)
        try:
            with written_aside(path, remedy=_REMEDY) as temporary, write_errors(path, remedy=_REMEDY):
                temporary.write_bytes(bytes_of(name_of(cell), bounds))
        except TbgenError as error:
            self.full = True
            self._note(f"{error}; solving goes on, and keeps no further cells")
            return False
        if (stamp := _stamp(path)) is not None:
            self._seen[cell] = stamp
        self._make_room(path)
        return True

    def path(self, cell: Cell) -> Path:
        """Return where a canonical cell is kept."""
        return self.directory / file_name(name_of(cell))

    def _holder(self, cell: Cell) -> "KeptCells":
        """Return which of the two directories a canonical cell is read from."""
        return self if self._proved is None or _stamp(self.path(cell)) is not None else self._proved

    def _make_room(self, newest: Path) -> None:
        """Remove the cells not used for longest, until the others take no more room than they may."""
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
    """Return what tells a file from others under its name, None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
