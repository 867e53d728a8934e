"""Cells kept on disk, for the next position that needs them: proved bounds stay true.

One HDF5 file for each cell of some size, named after the cell. What takes too much room goes, the cells not
used for longest first. A file that cannot be used counts as not there, and is removed.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import h5py
import numpy as np

from tbgen.cells.bounds import Bounds
from tbgen.cells.cell import Cell
from tbgen.errors import UsageError
from tbgen.files import write_errors, written_aside

LEAST_SLOTS: Final = 64**3
"""Smaller cells are solved again in less time than it takes to read them."""
DEFAULT_BYTES: Final = 10 << 30

_SUFFIX: Final = ".cell.h5"
_VERSION: Final = "1"
"""Changes whenever bounds of older versions cannot be used."""


class KeptCells:
    """The cells of a directory, which is made if need be.

    :param most: bytes that all of them may take together.
    :raises UsageError: if the directory is something else.
    :raises TbgenError: if it cannot be made.
    """

    def __init__(self, directory: Path, most: int = DEFAULT_BYTES) -> None:
        if directory.exists() and not directory.is_dir():
            raise UsageError(f"{directory} is not a directory: choose another for cells")
        with write_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._most = directory, most
        self._absent: set[Cell] = set()

    def get(self, cell: Cell) -> Bounds | None:
        """Return the bounds of a canonical cell, if they are kept."""
        if cell.size < LEAST_SLOTS or cell in self._absent:
            return None
        path = self._path(cell)
        try:
            with h5py.File(path) as file:
                bounds = Bounds(cell, file["value"][()], file["depth"][()])
                stated = bytes(file.attrs["cell"]).decode(), bytes(file.attrs["digest"]).decode()
            if stated != (_text(cell), _digest(bounds)) or bounds.value.shape != (2, 2, cell.size):
                raise ValueError(f"this is not {cell}")
        except (OSError, RuntimeError, KeyError, ValueError, TypeError):
            path.unlink(missing_ok=True)
            self._absent.add(cell)
            return None
        with suppress(OSError):  # only the order in which cells go depends on it
            os.utime(path)
        return bounds

    def put(self, bounds: Bounds) -> None:
        """Keep the bounds of a canonical cell, if it is large enough and there is room for it.

        :raises TbgenError: if they cannot be written.
        """
        if bounds.cell.size < LEAST_SLOTS:
            return
        path = self._path(bounds.cell)
        with written_aside(path) as temporary, write_errors(path), h5py.File(temporary, "w") as file:
            for name, data in (("value", bounds.value), ("depth", bounds.depth)):
                file.create_dataset(
                    name, data=data, chunks=(1, 1, LEAST_SLOTS), compression="gzip", compression_opts=1,
                    shuffle=data.itemsize > 1, fletcher32=True,
                )  # fmt: skip
            file.attrs["cell"] = np.bytes_(_text(bounds.cell))
            file.attrs["digest"] = np.bytes_(_digest(bounds))
        self._absent.discard(bounds.cell)
        self._make_room(path)

    def _make_room(self, newest: Path) -> None:
        """Remove the cells not used for longest, until the others take no more room than they may."""
        files = []
        for path in self._directory.glob(f"*{_SUFFIX}"):
            with suppress(FileNotFoundError):  # another process has removed it
                files.append((path, path.stat()))
        size = sum(stat.st_size for _, stat in files)
        for path, stat in sorted(files, key=lambda each: (each[0] == newest, each[1].st_mtime_ns)):
            if size <= self._most:
                break
            path.unlink(missing_ok=True)
            size -= stat.st_size

    def _path(self, cell: Cell) -> Path:
        name = hashlib.sha256(_text(cell).encode()).hexdigest()[:32]
        return self._directory / f"{name}{_SUFFIX}"


def _text(cell: Cell) -> str:
    """Return what tells a cell from all others."""
    mobile = [(man.colour, man.kind) for man in cell.mobile]
    frozen = [(frozen.square, frozen.man.colour, frozen.man.kind) for frozen in cell.frozen]
    return f"{_VERSION} {mobile} {frozen} {cell.white_pawns:016x} {cell.black_pawns:016x}"


def _digest(bounds: Bounds) -> str:
    state = hashlib.sha256(np.ascontiguousarray(bounds.value).tobytes())
    state.update(np.ascontiguousarray(bounds.depth).astype("<u2").tobytes())
    return state.hexdigest()
