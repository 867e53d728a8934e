"""One dataset of an open file, decoded chunk by chunk."""

import hashlib
from collections.abc import Iterator
from functools import cached_property
from itertools import count
from math import prod
from typing import Any, Final

import h5py
import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.store.cache import ChunkCache
from tbgen.store.checksum import CHECKSUM_BYTES, fletcher32
from tbgen.store.manifest import manifest_line

_serials: Final = count()


class DamagedChunkError(Exception):
    """A chunk that is missing or does not decode; the file completes the sentence."""


class ChunkedArray:
    """Random and sequential access to a dataset compressed by gzip and guarded by fletcher32.

    It is cut along its last axis only, or else one chunk; its rows are numbered in C order of the leading
    axes. h5py's own look-ups are ten times slower than a cache of decoded chunks, and hold one lock for all
    files while they decompress.

    :param optional: whether chunks may be absent from the file, standing for zeros.
    :raises ValueError: if the dataset is stored in another way.
    """

    def __init__(self, dataset: h5py.Dataset, cache: ChunkCache, optional: bool = False) -> None:
        self.name: str = dataset.name.lstrip("/")
        self.dtype: np.dtype[Any] = dataset.dtype
        self.shape: tuple[int, ...] = dataset.shape
        self._id = dataset.id
        self._cache = cache
        self._optional = optional
        self._serial = next(_serials)
        self._width = self.dtype.itemsize
        self._chunk: tuple[int, ...] = self.shape if 0 in self.shape else dataset.chunks
        self._step = self._chunk[-1]
        if 0 in self.shape:
            return
        if dataset.compression != "gzip" or not dataset.fletcher32 or dataset.shuffle or dataset.scaleoffset:
            raise ValueError(f"{self.name} is packed in another way")
        if self._chunk != self.shape and prod(self._chunk) != self._step:
            raise ValueError(f"{self.name} is cut in another way")

    def item(self, row: int, index: int) -> Any:
        """Return one element, an int; which kind of number it is, the caller knows.

        :raises DamagedChunkError: if its chunk does not decode.
        """
        chunk, at = self.chunk_of(row, index)
        if self._width == 1:
            return chunk[at]
        return int.from_bytes(chunk[at * self._width : (at + 1) * self._width], "little")

    def chunk_of(self, row: int, index: int) -> tuple[bytes, int]:
        """Return the decoded chunk that holds an element, and the element's place in it.

        :raises DamagedChunkError: if the chunk does not decode.
        """
        number = index // self._step
        key = (self._serial, row, number)
        chunk = self._cache.get(key)
        if chunk is None:
            chunk = self._decode(self._corner(row, number))
            self._cache.put(key, chunk)
        return chunk, index - number * self._step

    def pieces(self) -> Iterator[bytes]:
        """Yield all data in order, little-endian, without using the cache.

        :raises DamagedChunkError: if a chunk does not decode.
        """
        if 0 in self.shape:
            return
        if self._chunk == self.shape:
            yield self._decode((0,) * len(self.shape))
            return
        length = self.shape[-1]
        for row in range(prod(self.shape[:-1])):
            for number in range(-(-length // self._step)):
                left = (length - number * self._step) * self._width
                chunk = self._decode(self._corner(row, number))
                yield chunk if left >= len(chunk) else chunk[:left]

    def read(self) -> NDArray[Any]:
        """Return all data.

        :raises DamagedChunkError: if a chunk does not decode.
        """
        data, at = np.empty(prod(self.shape), self.dtype), 0
        for piece in self.pieces():
            elements = np.frombuffer(piece, self.dtype)
            data[at : at + elements.size] = elements
            at += elements.size
        return data.reshape(self.shape)

    def read_part(self, row: int, start: int, out: NDArray[Any]) -> None:
        """Copy the elements of a row from ``start`` on to a one-dimensional array, without using the cache.

        :raises DamagedChunkError: if a chunk does not decode.
        """
        at, stop = start, start + len(out)
        while at < stop:
            number = at // self._step
            elements = np.frombuffer(self._decode(self._corner(row, number)), self.dtype)
            first = number * self._step
            part = elements[at - first : stop - first]
            out[at - start : at - start + len(part)] = part
            at += len(part)

    def manifest_line(self) -> str:
        """Return the line of the manifest that the data give (docs/format.md).

        :raises DamagedChunkError: if a chunk does not decode.
        """
        state = hashlib.sha256()
        for piece in self.pieces():
            state.update(piece)
        return manifest_line(self.name, self.dtype, self.shape, state.hexdigest())

    @cached_property
    def _present(self) -> set[tuple[int, ...]] | None:
        """The corners of the chunks that are there, or None if all are.

        HDF5 takes time in proportion to their number to say whether one is there.
        """
        per_row = -(-self.shape[-1] // self._step)
        if self._id.get_num_chunks() == (1 if self._chunk == self.shape else prod(self.shape[:-1]) * per_row):
            return None
        found: set[tuple[int, ...]] = set()
        self._id.chunk_iter(lambda chunk: found.add(chunk.chunk_offset))
        return found

    def _corner(self, row: int, number: int) -> tuple[int, ...]:
        corner = [number * self._step]
        for length in reversed(self.shape[:-1]):
            row, at = divmod(row, length)
            corner.insert(0, at)
        return tuple(corner)

    def _decode(self, corner: tuple[int, ...]) -> bytes:
        full = prod(self._chunk) * self._width
        try:
            # Asked first, because reading a chunk that is not there takes garbage for its size.
            if self._present is not None and corner not in self._present:
                if self._optional:
                    return bytes(full)
                raise DamagedChunkError(f"{self.name} has no chunk at {corner}")
            _, packed = self._id.read_direct_chunk(corner)
        except (OSError, RuntimeError, ValueError) as error:
            raise DamagedChunkError(f"{self.name} has an unreadable chunk at {corner}") from error
        if fletcher32(packed[:-CHECKSUM_BYTES]) != packed[-CHECKSUM_BYTES:]:
            raise DamagedChunkError(f"{self.name} has flipped bits in the chunk at {corner}")
        try:
            chunk = zlib_ng.decompress(packed[:-CHECKSUM_BYTES])
        except zlib_ng.error as error:  # type: ignore[misc]  # its stub says instance, not class
            raise DamagedChunkError(f"{self.name} does not decode at {corner}") from error
        if len(chunk) != full:
            raise DamagedChunkError(f"{self.name} has a chunk of the wrong size at {corner}")
        return chunk
