"""Reading HDF5 files: validation against a schema, comparison with digests, and decoding of chunks."""

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from itertools import count, islice
from math import prod
from mmap import ACCESS_READ, ALLOCATIONGRANULARITY, mmap
from operator import mul
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.errors import DamagedTableError
from tbgen.store.cache import ChunkCache
from tbgen.store.checksum import CHECKSUM_BYTES, fletcher32
from tbgen.store.schema import DatasetSchema, Manifest, Schema, manifest_line, manifest_of, pieces_of

_serials: Final = count()

Item = TypeVar("Item")
Result = TypeVar("Result")

_BATCH_ITEMS: Final = 32
"""Number of chunks in a batch. In small batches, threads would mostly wait for the interpreter's lock."""

CACHE_BYTES: Final = 32 << 20
"""Size limit, in bytes, of the cache of a file that does not share a cache."""


def map_batches(
    function: Callable[[list[Item]], Iterable[Result]], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Call a function on batches of items, and yield the elements of all its results in order.

    Several threads work on a few batches before the caller needs their results. A single batch does not use
    another thread.
    """
    remaining = iter(items)

    def next_batch() -> list[Item]:
        return list(islice(remaining, _BATCH_ITEMS))

    batch, following = next_batch(), next_batch()
    if threads == 1 or not following:
        while batch:
            yield from function(batch)
            batch = following
            following = next_batch()
        return
    with ThreadPoolExecutor(threads) as pool:
        jobs: deque[Future[Iterable[Result]]] = deque()
        while batch:
            jobs.append(pool.submit(function, batch))
            batch = following
            following = next_batch()
            if len(jobs) > 2 * threads:
                yield from jobs.popleft().result()
        for job in jobs:
            yield from job.result()


class ChunkedArray:
    """Random and sequential access to a dataset compressed by gzip, with fletcher32 checksums.

    A *row* is the data along the last axis; rows are numbered in C order of the leading axes. Rows are
    divided into chunks, or the whole dataset is one chunk, which counts as one row. With the cache of decoded
    chunks, look-ups are ten times faster than with h5py, which also holds one lock for all files while it
    decompresses.

    :param cache: cache of decoded chunks.
    :param damaged_error: returns the error to raise if a chunk is missing or does not decode.
    :param may_lack_chunks: whether chunks may be absent from the file; their elements are then 0.
    :raises ValueError: if the dataset has other filters, or chunks of another shape.
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        cache: ChunkCache,
        damaged_error: Callable[[str], DamagedTableError],
        may_lack_chunks: bool = False,
    ) -> None:
        self.name: str = dataset.name.lstrip("/")
        self.dtype: np.dtype[Any] = dataset.dtype
        self.shape: tuple[int, ...] = dataset.shape
        self._id = dataset.id
        self._cache = cache
        self._damaged_error = damaged_error
        self._may_lack_chunks = may_lack_chunks
        self._serial = next(_serials)
        self._item_bytes = self.dtype.itemsize
        chunk: tuple[int, ...] = self.shape if 0 in self.shape else dataset.chunks
        self._leading_shape = () if chunk == self.shape else self.shape[:-1]
        self._row_length = prod(self.shape[len(self._leading_shape) :])
        self._chunk_size = max(prod(chunk), 1)
        if 0 in self.shape:
            return
        if dataset.compression != "gzip" or not dataset.fletcher32 or dataset.shuffle or dataset.scaleoffset:
            raise ValueError(f"{self.name} has other filters")
        if chunk != self.shape and chunk[-1] != self._chunk_size:
            raise ValueError(f"{self.name} has chunks of another shape")

    def item(self, row: int, index: int) -> Any:
        """Return one element of a row, an int. The annotation is Any, so that callers can use their own
        types."""
        chunk, index_in_chunk = self.chunk_of(row, index)
        if self._item_bytes == 1:
            return chunk[index_in_chunk]
        return int.from_bytes(
            chunk[index_in_chunk * self._item_bytes : (index_in_chunk + 1) * self._item_bytes], "little"
        )

    def chunk_of(self, row: int, index: int) -> tuple[bytes, int]:
        """Return the decoded chunk that contains an element of a row, and the index of the element in it."""
        chunk_number = index // self._chunk_size
        key = (self._serial, row, chunk_number)
        chunk = self._cache.get(key)
        if chunk is None:
            chunk = self._decode(row, chunk_number * self._chunk_size)
            self._cache.put(key, chunk)
        return chunk, index - chunk_number * self._chunk_size

    def pieces(self, threads: int) -> Iterator[bytes]:
        """Yield all data in C order, little-endian, without using the cache."""
        per_row = self.chunks_per_row
        chunk_count = len(self.places)
        last_bytes = (self._row_length - (per_row - 1) * self._chunk_size) * self._item_bytes
        for index, chunk in enumerate(map_batches(self._decode_batch, range(chunk_count), threads), 1):
            yield chunk if index % per_row else chunk[:last_bytes]

    def read(self, threads: int) -> NDArray[Any]:
        """Return all data as an array."""
        data = np.empty(prod(self.shape), self.dtype)
        offset = 0
        for piece in self.pieces(threads):
            elements = np.frombuffer(piece, self.dtype)
            data[offset : offset + elements.size] = elements
            offset += elements.size
        return data.reshape(self.shape)

    def read_part(self, row: int, start: int, out: NDArray[Any]) -> None:
        """Fill a one-dimensional array with elements of a row from index ``start``, without the cache."""
        size = self._chunk_size
        stop = start + len(out)
        first_chunk = start // size
        last = -(-stop // size)
        chunk_numbers = range(row * self.chunks_per_row + first_chunk, row * self.chunks_per_row + last)
        for begin, chunk in zip(
            count(first_chunk * size, size), map_batches(self._decode_batch, chunk_numbers, 1)
        ):
            part = np.frombuffer(chunk, self.dtype)[max(start - begin, 0) : stop - begin]
            offset = max(begin - start, 0)
            out[offset : offset + len(part)] = part

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The places of the chunks in the file, shape (chunks, 2), row by row: offset and length in bytes.

        The bytes at a place are the compressed data, followed by the checksum. Both numbers are 0 if the
        chunk is absent. They are cached, because HDF5's time to list them is proportional to their number.

        :raises DamagedTableError: if the places cannot be read.
        """
        per_row = self.chunks_per_row
        chunk_size = self._chunk_size
        axis = len(self._leading_shape)
        places = [(0, 0)] * (prod(self._leading_shape) * per_row)
        weights = [per_row * prod(self._leading_shape[dimension + 1 :]) for dimension in range(axis)]

        def add_place(chunk: Any) -> None:
            corner = chunk.chunk_offset
            chunk_number = sum(map(mul, corner[:axis], weights)) + corner[axis] // chunk_size
            places[chunk_number] = chunk.byte_offset, chunk.size

        try:
            if places:
                self._id.chunk_iter(add_place)
            return np.array(places, np.int64).reshape(-1, 2)
        except (OSError, RuntimeError, ValueError, IndexError, OverflowError) as error:
            raise self._damaged_error(f"{self.name} has an unreadable list of chunks") from error

    @property
    def chunk_size(self) -> int:
        """Number of elements of a full chunk."""
        return self._chunk_size

    @property
    def chunks_per_row(self) -> int:
        """Number of chunks in a row, including absent chunks."""
        return int(-(-self._row_length // self._chunk_size))

    def manifest_line(self, threads: int) -> str:
        """Return the line of the dataset in the manifest (docs/format.md), computed from the data."""
        return manifest_line(self.name, self.dtype, self.shape, self.pieces(threads))

    def _corner(self, row: int, start: int) -> tuple[int, ...]:
        corner = [start, *(0 for _ in self.shape[len(self._leading_shape) + 1 :])]
        for length in reversed(self._leading_shape):
            row, index = divmod(row, length)
            corner.insert(0, index)
        return tuple(corner)

    def _decode(self, row: int, start: int) -> bytes:
        """Return the chunk of a row that begins at ``start``."""
        chunk_number = row * self.chunks_per_row + start // self._chunk_size
        corner = self._corner(row, start)
        try:
            # HDF5 would interpret garbage as the size of an absent chunk.
            is_absent = self._lacks_chunks and not self.places[chunk_number, 1]
            stored = b"" if is_absent else self._id.read_direct_chunk(corner)[1]
        except (OSError, RuntimeError, ValueError, IndexError) as error:
            raise self._damaged_error(f"{self.name} has an unreadable chunk at {corner}") from error
        return self._decode_stored([stored], [chunk_number])[0]

    @cached_property
    def _lacks_chunks(self) -> bool:
        """Whether a chunk is absent from the file."""
        return int(self._id.get_num_chunks()) < prod(self._leading_shape) * self.chunks_per_row

    def _decode_batch(self, chunk_numbers: Sequence[int]) -> list[bytes]:
        """Return chunks, which are given by their numbers."""
        return self._decode_stored(self._stored_chunks(chunk_numbers), chunk_numbers)

    def _stored_chunks(self, chunk_numbers: Sequence[int]) -> list[bytes]:
        """Return the stored bytes of chunks from one mapped part of the file. Absent chunks have no bytes.

        :raises DamagedTableError: if the places are wrong, or the part cannot be mapped.
        """
        places = self.places[chunk_numbers]
        present = places[places[:, 1] > 0]
        if not len(present):
            return [b""] * len(chunk_numbers)
        begin = int(present[:, 0].min()) // ALLOCATIONGRANULARITY * ALLOCATIONGRANULARITY
        length = int(present.sum(axis=1).max()) - begin
        try:
            with mmap(file_descriptor(self._id), length, access=ACCESS_READ, offset=begin) as part:
                starts = np.maximum(places[:, 0] - begin, 0)
                spans = np.column_stack([starts, starts + places[:, 1]]).tolist()
                stored = [part[start:stop] for start, stop in spans]
            if list(map(len, stored)) != places[:, 1].tolist():
                raise ValueError("a chunk does not end within the file")
            return stored
        except (OSError, RuntimeError, ValueError, OverflowError) as error:
            raise self._damaged_error(f"{self.name} has chunks that cannot be read") from error

    def _decode_stored(self, stored: Sequence[bytes], chunk_numbers: Sequence[int]) -> list[bytes]:
        """Return chunks, which are given by their stored bytes and numbers. Absent chunks have no bytes."""
        chunk_bytes = self._chunk_size * self._item_bytes

        def damaged(index: int, problem: str) -> DamagedTableError:
            row, chunk_in_row = divmod(chunk_numbers[index], self.chunks_per_row)
            corner = self._corner(row, chunk_in_row * self._chunk_size)
            return self._damaged_error(f"{self.name} {problem} at {corner}")

        present = [index for index, data in enumerate(stored) if data]
        if not self._may_lack_chunks and len(present) < len(stored):
            raise damaged(next(index for index, data in enumerate(stored) if not data), "has no chunk")
        packed = [stored[index][:-CHECKSUM_BYTES] for index in present]
        chunks = [bytes(chunk_bytes) if not data else b"" for data in stored]
        for index, data, checksum in zip(present, packed, fletcher32(packed), strict=True):
            if checksum != stored[index][-CHECKSUM_BYTES:]:
                raise damaged(index, "has flipped bits in the chunk")
            try:
                chunks[index] = zlib_ng.decompress(data, bufsize=chunk_bytes + 1)
            except zlib_ng.error as error:  # type: ignore[misc]  # its stub says instance, not class
                raise damaged(index, "does not decode") from error
            if len(chunks[index]) != chunk_bytes:
                raise damaged(index, "has a chunk of the wrong size")
        return chunks


class DatasetFile:
    """An open HDF5 file that follows a schema. A ``with`` statement closes it at the end.

    :param cache: cache of decoded chunks, which files may share; None for a separate cache.
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
            self.guard(self._load)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. It can no longer be read."""
        self._file.close()

    def check(self, threads: int = 2) -> None:
        """Read the whole file and compare it with its digest.

        :raises DamagedTableError: if they differ; the message names the first dataset or fact that is wrong.
        """
        lines = self.guard(
            lambda: [self._manifest_line_of(schema, threads) for schema in self.schema.datasets]
        )
        computed = manifest_of(self.schema, self._facts(), lines)
        stated = self.guard(self._stated_manifest)
        if computed.text != stated.text:
            raise self.damaged(f"its {computed.first_difference(stated)} does not match its digest")

    def data(self, dataset_schema: DatasetSchema, threads: int = 2) -> NDArray[Any]:
        """Return all elements of a dataset that is not raw.

        :raises DamagedTableError: if a chunk does not decode.
        """
        return self.guard(lambda: self._arrays[dataset_schema].read(threads))

    def read_part(self, dataset_schema: DatasetSchema, row: int, start: int, out: NDArray[Any]) -> None:
        """Fill a one-dimensional array with elements of one row of a dataset, from index ``start``.

        Rows are numbered in C order of the leading axes. The checksum of every chunk is checked, but not the
        digest.

        :raises DamagedTableError: if a chunk does not decode.
        """
        self.guard(lambda: self._arrays[dataset_schema].read_part(row, start, out))

    def array(self, dataset_schema: DatasetSchema) -> ChunkedArray:
        """Return the reader of a dataset that is not raw."""
        return self._arrays[dataset_schema]

    def damaged(self, problem: str) -> DamagedTableError:
        """Return the error that states the problem of the file and the remedy."""
        raise NotImplementedError

    def _open(self) -> h5py.File:
        return open_file(self.path)

    def _load(self) -> None:
        """Determine the schema and the manifest, then open the datasets."""
        raise NotImplementedError

    def _facts(self) -> Mapping[str, Any]:
        """Return the facts that the manifest repeats, by attribute name."""
        raise NotImplementedError

    def _stated_manifest(self) -> Manifest:
        """Return the manifest of the datasets in this file, with the digests that the file states.

        In a packed table, the result differs from ``manifest``, which describes the unpacked content.
        """
        return self.manifest

    def _load_arrays(self, sizes: dict[str, int]) -> None:
        """Open the datasets, and reject the file if they would be misread or read out of bounds.

        :param sizes: lengths of the named axes. If a name is missing, the length of the first axis with this
            name is added.
        """
        self._arrays: dict[DatasetSchema, ChunkedArray] = {}
        # A reference cycle would keep datasets of closed files until garbage collection and slow down HDF5.
        file = weakref.proxy(self)
        for dataset_schema in self.schema.datasets:
            dataset = self._file[dataset_schema.name]
            if dataset.file.id != self._file.id or dataset.external or dataset.is_virtual:
                raise self.damaged(f"its {dataset_schema.name} is stored in another file")
            if dataset.dtype not in dataset_schema.types:
                raise self.damaged(f"its {dataset_schema.name} is of another type")
            shape = [
                sizes.setdefault(axis, length) if isinstance(axis, str) else axis
                for axis, length in zip(dataset_schema.shape, dataset.shape, strict=False)
            ]
            if tuple(shape) != dataset.shape or len(shape) != len(dataset_schema.shape):
                raise self.damaged(f"its {dataset_schema.name} has another shape")
            if not dataset_schema.raw:
                self._arrays[dataset_schema] = ChunkedArray(
                    dataset, self._cache, lambda problem: file.damaged(problem), dataset_schema.sparse
                )

    def _manifest_line_of(self, dataset_schema: DatasetSchema, threads: int) -> str:
        """Return the line of a dataset in a manifest, computed from its data."""
        if not dataset_schema.raw:
            return self._arrays[dataset_schema].manifest_line(threads)
        data = self._file[dataset_schema.name]
        return manifest_line(dataset_schema.name, data.dtype, data.shape, pieces_of(data, data.dtype))

    def guard(self, read: Callable[[], Result]) -> Result:
        """Call ``read``, and convert any exception that a damaged file can cause to DamagedTableError."""
        try:
            return read()
        except DamagedTableError:
            raise
        except (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError) as error:
            raise self.damaged("it is damaged") from error


def open_file(path: Path) -> h5py.File:
    """Open an HDF5 file for reading, without locking it against other readers."""
    try:
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        # HDF5 requires the same locking flag whenever a process opens a file, and this process already has
        # the file open with the default flag.
        if "locking flag" not in str(error):
            raise
        return h5py.File(path, "r")


def file_descriptor(identifier: h5py.h5d.DatasetID | h5py.h5f.FileID) -> int:
    """Return the descriptor of the open file that contains an object. It belongs to HDF5, which closes it."""
    return int(h5py.h5i.get_file_id(identifier).get_vfd_handle())
