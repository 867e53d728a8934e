"""Reading files of datasets: validation against a schema, comparison with digests, and decoding of chunks."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import count
from math import prod
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.errors import DamagedTableError
from tbgen.store.cache import ChunkCache
from tbgen.store.checksum import CHECKSUM_BYTES, fletcher32
from tbgen.store.schema import DatasetSchema, Manifest, Schema, manifest_line, manifest_of, pieces_of

_serials: Final = count()


class ChunkPlace(NamedTuple):
    """Offset and length of a chunk in its file, in bytes; both are 0 if the file does not contain it."""

    offset: int
    bytes: int


class ChunkedArray:
    """Random and sequential access to a dataset compressed by gzip, with fletcher32 checksums.

    The dataset is either cut along its last axis, with rows numbered in C order of the leading axes, or it is
    one chunk, which counts as one row. The look-ups of h5py are ten times slower than this class with its
    cache of decoded chunks, and hold one lock for all files during decompression.

    :param damaged: returns the error that methods raise if a chunk is missing or does not decode.
    :param optional: whether chunks may be absent from the file; their elements are 0.
    :raises ValueError: if the dataset is stored differently.
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        cache: ChunkCache,
        damaged: Callable[[str], DamagedTableError],
        optional: bool = False,
    ) -> None:
        self.name: str = dataset.name.lstrip("/")
        self.dtype: np.dtype[Any] = dataset.dtype
        self.shape: tuple[int, ...] = dataset.shape
        self._id = dataset.id
        self._cache, self._damaged = cache, damaged
        self._optional = optional
        self._serial = next(_serials)
        self._width = self.dtype.itemsize
        chunk: tuple[int, ...] = self.shape if 0 in self.shape else dataset.chunks
        self._lead = () if chunk == self.shape else self.shape[:-1]
        self._length = prod(self.shape[len(self._lead) :])
        self._step = max(prod(chunk), 1)
        if 0 in self.shape:
            return
        if dataset.compression != "gzip" or not dataset.fletcher32 or dataset.shuffle or dataset.scaleoffset:
            raise ValueError(f"{self.name} has other filters")
        if chunk != self.shape and chunk[-1] != self._step:
            raise ValueError(f"{self.name} has chunks of another shape")

    def item(self, row: int, index: int) -> Any:
        """Return one element as an int. The return type lets callers assign it to their own integer types."""
        chunk, at = self.chunk_of(row, index)
        if self._width == 1:
            return chunk[at]
        return int.from_bytes(chunk[at * self._width : (at + 1) * self._width], "little")

    def chunk_of(self, row: int, index: int) -> tuple[bytes, int]:
        """Return the decoded chunk that contains an element, and the index of the element in the chunk."""
        number = index // self._step
        key = (self._serial, row, number)
        chunk = self._cache.get(key)
        if chunk is None:
            chunk = self._decode(row, number * self._step)
            self._cache.put(key, chunk)
        return chunk, index - number * self._step

    def pieces(self) -> Iterator[bytes]:
        """Yield all data in order, little-endian, without using the cache."""
        for row in range(prod(self._lead)):
            for start in range(0, self._length, self._step):
                yield self._decode(row, start)[: (self._length - start) * self._width]

    def read(self) -> NDArray[Any]:
        """Return all data as an array."""
        data, at = np.empty(prod(self.shape), self.dtype), 0
        for piece in self.pieces():
            elements = np.frombuffer(piece, self.dtype)
            data[at : at + elements.size] = elements
            at += elements.size
        return data.reshape(self.shape)

    def read_part(self, row: int, start: int, out: NDArray[Any]) -> None:
        """Fill a one-dimensional array with elements of a row from ``start`` on, without using the cache."""
        stop = start + len(out)
        for first in range(start - start % self._step, stop, self._step):
            elements = np.frombuffer(self._decode(row, first), self.dtype)
            at = max(start, first)
            part = elements[at - first : stop - first]
            out[at - start : at - start + len(part)] = part

    def places(self) -> list[ChunkPlace]:
        """Return the places of the chunks in the file, row by row; elements of absent chunks are 0.

        The bytes of a chunk are compressed data, followed by the checksum.

        :raises DamagedTableError: if the places cannot be read.
        """
        per_row = self.chunks_of_row
        found = [ChunkPlace(0, 0)] * (prod(self._lead) * per_row)

        def note(chunk: Any) -> None:
            *lead, start = chunk.chunk_offset[: len(self._lead) + 1]
            row = int(np.ravel_multi_index(lead, self._lead)) if lead else 0
            found[row * per_row + start // self._step] = ChunkPlace(chunk.byte_offset, chunk.size)

        try:
            if found:
                self._id.chunk_iter(note)
        except (OSError, RuntimeError, ValueError, IndexError) as error:
            raise self._damaged(f"{self.name} has an unreadable list of chunks") from error
        return found

    @property
    def step(self) -> int:
        """Number of elements of a full chunk."""
        return self._step

    @property
    def chunks_of_row(self) -> int:
        """Number of chunks of a row, absent ones included."""
        return int(-(-self._length // self._step))

    def manifest_line(self) -> str:
        """Return the line of the manifest, computed from the data (docs/format.md)."""
        return manifest_line(self.name, self.dtype, self.shape, self.pieces())

    @cached_property
    def _present(self) -> set[tuple[int, ...]] | None:
        """The corners of the chunks that the file contains; None if it contains all.

        They are cached because asking HDF5 for one chunk takes time proportional to the number of chunks.
        """
        if self._id.get_num_chunks() == prod(self._lead) * self.chunks_of_row:
            return None
        found: set[tuple[int, ...]] = set()
        self._id.chunk_iter(lambda chunk: found.add(chunk.chunk_offset))
        return found

    def _corner(self, row: int, start: int) -> tuple[int, ...]:
        corner = [start, *(0 for _ in self.shape[len(self._lead) + 1 :])]
        for length in reversed(self._lead):
            row, at = divmod(row, length)
            corner.insert(0, at)
        return tuple(corner)

    def _decode(self, row: int, start: int) -> bytes:
        """Return the chunk of a row that begins at ``start``."""
        full, corner = self._step * self._width, self._corner(row, start)
        try:
            # This is checked first because reading an absent chunk interprets garbage as its size.
            is_present = self._present is None or corner in self._present
            packed = self._id.read_direct_chunk(corner)[1] if is_present else b""
        except (OSError, RuntimeError, ValueError) as error:
            raise self._damaged(f"{self.name} has an unreadable chunk at {corner}") from error
        if not is_present:
            if self._optional:
                return bytes(full)
            raise self._damaged(f"{self.name} has no chunk at {corner}")
        if fletcher32(packed[:-CHECKSUM_BYTES]) != packed[-CHECKSUM_BYTES:]:
            raise self._damaged(f"{self.name} has flipped bits in the chunk at {corner}")
        try:
            chunk = zlib_ng.decompress(packed[:-CHECKSUM_BYTES])
        except zlib_ng.error as error:  # type: ignore[misc]  # its stub says instance, not class
            raise self._damaged(f"{self.name} does not decode at {corner}") from error
        if len(chunk) != full:
            raise self._damaged(f"{self.name} has a chunk of the wrong size at {corner}")
        return chunk


_T = TypeVar("_T")

CACHE_BYTES: Final = 32 << 20
"""Size limit of the cache of decoded chunks of a file that has its own cache."""


class DatasetFile:
    """An open file; a context manager, which closes it.

    :param cache: cache of decoded chunks, which files may share; None for a cache of its own.
    :raises DamagedTableError: if the file cannot be used.
    """

    schema: Schema
    """The schema of the file."""
    manifest: Manifest
    """The manifest, whose SHA-256 is the digest."""

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
        """Close the file; it cannot be read afterwards."""
        self._file.close()

    def check(self, threads: int = 2) -> None:
        """Read the whole file and compare it with the digest.

        :raises DamagedTableError: if it differs; the message names the first dataset or fact that does.
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
        """Fill an array with the elements of one row of a dataset from ``start`` on.

        Rows are numbered in C order of the leading axes. The checksum of every chunk is checked, but not the
        digest.

        :raises DamagedTableError: if a chunk does not decode.
        """
        self._guard(lambda: self._arrays[wanted].read_part(row, start, out))

    def array(self, wanted: DatasetSchema) -> ChunkedArray:
        """Return a dataset that is not raw."""
        return self._arrays[wanted]

    def damaged(self, problem: str) -> DamagedTableError:
        """Return an error that states the problem of the file and the remedy."""
        raise NotImplementedError

    def _open(self) -> h5py.File:
        return open_file(self.path)

    def _load(self) -> None:
        """Determine the schema and the manifest, then open the datasets."""
        raise NotImplementedError

    def _facts(self) -> Mapping[str, Any]:
        """Return the facts that the manifest repeats, by name of attribute."""
        raise NotImplementedError

    def _stated(self) -> Manifest:
        """Return the manifest of the datasets as this file stores them, with the digests that it states."""
        return self.manifest

    def _load_arrays(self, sizes: dict[str, int]) -> None:
        """Open the datasets, and reject those that would be misread or read out of bounds.

        :param sizes: lengths of the named axes; an axis of another name has the length of the first axis with
            this name.
        """
        self._arrays: dict[DatasetSchema, ChunkedArray] = {}
        # A reference cycle would keep datasets of closed files until garbage collection and slow HDF5 down.
        file = weakref.proxy(self)
        for wanted in self.schema.datasets:
            found = self._file[wanted.name]
            if found.file.id != self._file.id or found.external or found.is_virtual:
                raise self.damaged(f"its {wanted.name} is stored in another file")
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
        """Return the line of a dataset in a manifest, computed from its data."""
        if not wanted.raw:
            return self._arrays[wanted].manifest_line()
        data = self._file[wanted.name]
        return manifest_line(wanted.name, data.dtype, data.shape, pieces_of(data, data.dtype))

    def _guard(self, read: Callable[[], _T]) -> _T:
        """Call ``read``, and convert any exception that a damaged file can cause to one error."""
        try:
            return read()
        except DamagedTableError:
            raise
        except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise self.damaged("it is damaged") from error


def open_file(path: Path) -> h5py.File:
    """Open an HDF5 file for reading, together with other readers."""
    try:
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        # HDF5 requires the same locking flag whenever a process opens a file, and this process has the file
        # open with the default flag.
        if "locking flag" not in str(error):
            raise
        return h5py.File(path, "r")
