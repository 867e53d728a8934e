"""Writing a table file: it is compressed on all threads, read back for a check, and given its final name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from zlib_ng import zlib_ng

from tbgen.store.checksum import fletcher32
from tbgen.store.dataset import AnyArray, Corner, Dataset
from tbgen.store.dataset_file import DatasetFile, map_batches
from tbgen.store.format import GZIP_LEVEL
from tbgen.store.schema import Schema, manifest_of
from tbgen.system.files import atomic_write, write_errors
from tbgen.system.memory import unload


class FileContent(NamedTuple):
    """The content of a file to write."""

    schema: Schema
    attributes: Mapping[str, Any]
    """The attributes of the schema, except ``format``, ``format_version``, ``manifest``, ``digest`` and
    ``complete``."""
    stored_datasets: Sequence[Dataset]
    """The datasets to store in the file."""
    described_datasets: Sequence[Dataset]
    """The datasets that the manifest describes."""


def write_datasets(
    path: Path, content: FileContent, reopen: Callable[[Path], DatasetFile], threads: int
) -> None:
    """Write a file. It gets its final name once it is complete and checked.

    :param reopen: opens the file under its temporary name, for the check.
    :raises TbgenError: if the directory is not writable or the disk is full; no temporary file remains.
    """
    remedy = "choose another directory with --dir"
    with atomic_write(path, remedy=remedy) as temporary, write_errors(path, remedy=remedy):
        try:
            _write(temporary, content, threads)
            with reopen(temporary) as written:
                written.check(threads)
        except RuntimeError as error:  # h5py raises it if closing the file fails
            raise OSError(str(error)) from error


def _write(path: Path, content: FileContent, threads: int) -> None:
    schema, attributes, stored, described = content
    with ThreadPoolExecutor(threads) as hashers:
        lines = hashers.map(Dataset.manifest_line, described)
        # Only newer versions of HDF5's format mark a file while it is being written, so that readers reject a
        # partial file. "latest" is unsuitable: with it, HDF5 2 would write files that HDF5 1.14 cannot read.
        # Attributes, indexes and headers have checksums there, too.
        with h5py.File(path, "w", libver=("v114", "v114"), locking=False) as file:
            _set_attributes(file, {"format": schema.format, "format_version": schema.version, **attributes})
            for dataset in stored:
                target = _create_dataset(file, dataset)
                if dataset.schema.raw and dataset.shape[-1]:
                    target[...] = dataset.data
                    continue
                for corner, data in _chunks_of(dataset, threads):
                    target.id.write_direct_chunk(corner, data)
            manifest = manifest_of(schema, attributes, lines)
            _set_attributes(file, {"manifest": manifest.text, "digest": manifest.digest, "complete": 1})


def _set_attributes(file: h5py.File, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        # HDF5 stores variable-length strings in a heap without a checksum, where a flipped bit can hang it.
        file.attrs[name] = np.bytes_(value.encode()) if isinstance(value, str) else value


def _create_dataset(file: h5py.File, dataset: Dataset) -> h5py.Dataset:
    filters: dict[str, Any] = {}
    # The checksum of gzip alone missed one of 600 flipped bits, fletcher32 none.
    if not dataset.schema.raw and 0 not in dataset.shape:
        filters = {"chunks": dataset.chunks, "compression": GZIP_LEVEL, "fletcher32": True, "fillvalue": 0}
    return file.create_dataset(dataset.name, dataset.shape, dataset.dtype, **filters)


def _chunks_of(dataset: Dataset, threads: int) -> Iterator[tuple[Corner, bytes]]:
    """Yield the chunks of a dataset as the filters store them."""
    chunk_bytes = int(np.prod(dataset.chunks)) * dataset.dtype.itemsize

    def compress(batch: Sequence[tuple[Corner, AnyArray]]) -> list[tuple[Corner, bytes]]:
        corners = []
        packed = []
        for corner, piece in batch:
            if not dataset.schema.sparse or piece.any():
                data = piece.astype(dataset.dtype, copy=False).tobytes().ljust(chunk_bytes, b"\0")
                corners.append(corner)
                packed.append(zlib_ng.compress(data, GZIP_LEVEL))
            unload(piece)
        stored = [data + checksum for data, checksum in zip(packed, fletcher32(packed), strict=True)]
        return list(zip(corners, stored, strict=True))

    return map_batches(compress, dataset.pieces(), threads)
