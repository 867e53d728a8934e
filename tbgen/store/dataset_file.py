"""An open file of datasets, of whichever schema: opened, found to be of the schema, and checked."""

import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import h5py
from numpy.typing import NDArray

from tbgen.errors import DamagedTableError
from tbgen.store.cache import ChunkCache
from tbgen.store.chunks import ChunkedArray
from tbgen.store.manifest import Manifest, manifest_line, manifest_of, pieces_of
from tbgen.store.schema import DatasetSchema, Schema

_T = TypeVar("_T")

CACHE_BYTES: Final = 32 << 20
"""Decoded chunks kept by a file that is not given a cache."""


class DatasetFile:
    """An open file; a context, which closes it.

    :param cache: where decoded chunks are kept; files may share one. None for a cache of its own.
    :raises DamagedTableError: if it cannot be used.
    """

    schema: Schema
    """What kind of file it is."""
    manifest: Manifest
    """What its digest is taken of."""

    def __init__(self, path: Path, cache: ChunkCache | None) -> None:
        self.path = path
        self._cache = ChunkCache(CACHE_BYTES) if cache is None else cache
        self._file = self._open()
        try:
            self._guard(self._load)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it cannot be read any more."""
        self._file.close()

    def check(self, threads: int = 2) -> None:
        """Read all bytes and compare them with their digests.

        :raises DamagedTableError: naming the first dataset or fact that differs.
        """
        with ThreadPoolExecutor(threads) as pool:
            lines = self._guard(lambda: list(pool.map(self._line, self.schema.datasets)))
        found, stated = manifest_of(self.schema, self._facts(), lines), self._guard(self._stated)
        if found.text != stated.text:
            raise self.damaged(f"its {found.difference(stated)} does not match its digest")

    def data(self, wanted: DatasetSchema) -> NDArray[Any]:
        """Return all data of a dataset that is not raw.

        :raises DamagedTableError: if a chunk does not decode.
        """
        return self._guard(self._arrays[wanted].read)

    def read_part(self, wanted: DatasetSchema, row: int, start: int, out: NDArray[Any]) -> None:
        """Copy the elements of one row of a dataset, counted through all leading axes, from ``start`` on.

        The checksum of every chunk is checked, the digest is not.

        :raises DamagedTableError: if a chunk does not decode.
        """
        self._guard(lambda: self._arrays[wanted].read_part(row, start, out))

    def array(self, wanted: DatasetSchema) -> ChunkedArray:
        """Return a dataset that is not raw."""
        return self._arrays[wanted]

    def damaged(self, problem: str) -> DamagedTableError:
        """Return the error that says what is wrong with the file and what to do."""
        raise NotImplementedError

    def _open(self) -> h5py.File:
        return open_file(self.path)

    def _load(self) -> None:
        """Find the schema and the manifest, then the datasets."""
        raise NotImplementedError

    def _facts(self) -> Mapping[str, Any]:
        """Return what the manifest repeats, by name of attribute."""
        raise NotImplementedError

    def _stated(self) -> Manifest:
        """Return the facts of the manifest, with lines for the datasets of the file."""
        return self.manifest

    def _load_arrays(self, sizes: dict[str, int]) -> None:
        """Open the datasets, and refuse those that would be misread, or read beyond.

        :param sizes: what the names of axes stand for; one that is missing, for the length of the first axis
            of this name.
        """
        self._arrays: dict[DatasetSchema, ChunkedArray] = {}
        file = weakref.proxy(self)  # HDF5 slows down while datasets of closed files wait for the collector
        for wanted in self.schema.datasets:
            found = self._file[wanted.name]
            if found.file.id != self._file.id or found.external or found.is_virtual:
                raise self.damaged(f"its {wanted.name} lies in another file")
            if found.dtype not in wanted.types:
                raise self.damaged(f"its {wanted.name} is of another type")
            shape = [
                sizes.setdefault(axis, length) if isinstance(axis, str) else axis
                for axis, length in zip(wanted.shape, found.shape, strict=False)
            ]
            if tuple(shape) != found.shape or len(shape) != len(wanted.shape):
                raise self.damaged(f"its {wanted.name} has another shape")
            if not wanted.raw:
                self._arrays[wanted] = ChunkedArray(
                    found, self._cache, lambda problem: file.damaged(problem), wanted.sparse
                )

    def _line(self, wanted: DatasetSchema) -> str:
        """Return the line of a dataset in a manifest, as its bytes give it."""
        if not wanted.raw:
            return self._arrays[wanted].manifest_line()
        data = self._file[wanted.name]
        return manifest_line(wanted.name, data.dtype, data.shape, pieces_of(data, data.dtype))

    def _guard(self, read: Callable[[], _T]) -> _T:
        """Turn whatever a damaged file provokes into one error."""
        try:
            return read()
        except DamagedTableError:
            raise
        except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise self.damaged("it is damaged") from error


def open_file(path: Path) -> h5py.File:
    """Open an HDF5 file for reading beside other readers."""
    try:
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        # HDF5 wants one flag per file and process, and the file is open elsewhere with the default one.
        if "locking flag" not in str(error):
            raise
        return h5py.File(path, "r")
