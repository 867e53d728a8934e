"""Writing a table file: compressed on all threads, checked by reading it back, and only then put in place."""

import contextlib
import errno
import json
import os
import re
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np
from zlib_ng import zlib_ng

from tbgen.errors import TbgenError
from tbgen.index.table import Table
from tbgen.store.checksum import fletcher32
from tbgen.store.dataset import MASK, AnyArray, Corner, Dataset, datasets
from tbgen.store.format import FORMAT, FORMAT_VERSION, GZIP_LEVEL, SUFFIX, TEMPORARY, layers_beside
from tbgen.store.info import Manifest, TableInfo, manifest_of
from tbgen.store.reader import TableFile

_BATCH: Final = 16
"""Chunks per job of a compressing thread: enough to hide the cost of handing it over."""

_ABANDONED: Final = 3600.0
"""Seconds without a change after which a file of a writer that nobody can ask counts as left behind."""


def write_table(
    table: Table,
    path: Path,
    *,
    version: str,
    build_seconds: float,
    parameters: Mapping[str, Any] | None = None,
    threads: int = 2,
) -> TableInfo:
    """Write a table under its final name, which exists only once the file is complete and checked.

    ``version`` is that of tbgen, ``parameters`` whatever JSON can hold about the build. Layers kept beside an
    older table of this name are removed.

    :raises TbgenError: if the directory is not writable or the disk is full; nothing is left behind then.
    :raises ValueError: if arrays of the table contradict each other.
    """
    attributes = {
        "tbgen_version": version,
        "build_seconds": float(build_seconds),
        "parameters": json.dumps(dict(parameters or {}), sort_keys=True),
    }

    def check(temporary: Path) -> None:
        with TableFile(temporary, material=table.material) as written:
            written.check(threads)

    facts = table.facts()
    write_datasets(
        path,
        datasets(table),
        {"format": FORMAT, "format_version": FORMAT_VERSION, **facts, **attributes},
        lambda lines: manifest_of(facts, lines),
        check,
        threads,
    )
    for layer in layers_beside(path):
        with contextlib.suppress(OSError):  # nobody reads what belongs to another table
            layer.unlink()
    with TableFile(path) as file:
        return file.info


def write_datasets(
    path: Path,
    stored: Sequence[Dataset],
    attributes: Mapping[str, Any],
    manifest_of_lines: Callable[[Iterable[str]], Manifest],
    check: Callable[[Path], None],
    threads: int,
) -> None:
    """Write a file under its final name, which exists only once the file is complete and checked.

    :param manifest_of_lines: makes the manifest from the lines of the datasets.
    :param check: reads the file back under its temporary name.
    :raises TbgenError: if the directory is not writable or the disk is full; nothing is left behind then.
    """
    temporary = temporary_path(path)
    try:
        _write(temporary, stored, attributes, manifest_of_lines, threads)
        check(temporary)
        _sync(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    except (OSError, RuntimeError) as error:  # h5py reports a failed close as a RuntimeError
        if isinstance(error, TbgenError):
            raise
        raise TbgenError(_explain(error, path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """Return a name that no other writer uses, be it on another machine that shares the directory."""
    return path.with_name(
        f"{path.name}{TEMPORARY}{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    )


def remove_leftovers(directory: Path) -> list[Path]:
    """Remove what writers that were killed have left, and return it.

    Writers that are at work keep theirs: those of this machine are asked for by process, those of other
    machines that share the directory count as at work while their file changes. What may not be removed
    stays.
    """
    leftovers = []
    for path in sorted(directory.glob(f"*{SUFFIX}{TEMPORARY}*")):
        with contextlib.suppress(OSError):  # its writer, or another build, was faster; or it is another's
            if _is_left(path):
                path.unlink()
                leftovers.append(path)
    return leftovers


def _is_left(path: Path) -> bool:
    """Whether the writer of a temporary file is gone."""
    host, _, process = path.name.partition(TEMPORARY)[2].rpartition("-")[0].rpartition("-")
    if host == socket.gethostname() and process.isdecimal() and not _is_alive(int(process)):
        return True
    return time.time() - path.stat().st_mtime > _ABANDONED


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def _write(
    path: Path,
    stored: Sequence[Dataset],
    attributes: Mapping[str, Any],
    manifest_of_lines: Callable[[Iterable[str]], Manifest],
    threads: int,
) -> None:
    with ThreadPoolExecutor(threads) as pool:
        lines = pool.map(Dataset.line, stored)
        # Only libver="latest" marks a file as being written, so that no reader takes half a file for a whole.
        with h5py.File(path, "w", libver="latest", locking=False) as file:
            _set_attributes(file, attributes)
            for dataset in stored:
                target = _create(file, dataset)
                for corner, data in _compressed(pool, threads, dataset):
                    target.id.write_direct_chunk(corner, data)
            manifest = manifest_of_lines(lines)
            _set_attributes(file, {"manifest": manifest.text, "digest": manifest.digest, "complete": 1})


def _set_attributes(file: h5py.File, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        # Strings of variable length would lie in a heap without checksum: a flipped bit there can hang HDF5.
        file.attrs[name] = np.bytes_(value.encode()) if isinstance(value, str) else value


def _create(file: h5py.File, dataset: Dataset) -> h5py.Dataset:
    if 0 in dataset.shape:
        return file.create_dataset(dataset.name, dataset.shape, dataset.dtype)
    return file.create_dataset(
        dataset.name,
        dataset.shape,
        dataset.dtype,
        chunks=dataset.chunks,
        compression=GZIP_LEVEL,
        fletcher32=True,
        fillvalue=0,
    )


def _compressed(pool: ThreadPoolExecutor, threads: int, dataset: Dataset) -> Iterator[tuple[Corner, bytes]]:
    """Yield the chunks of a dataset as the filters store them, a few jobs ahead of the consumer."""
    full = int(np.prod(dataset.chunks)) * dataset.dtype.itemsize
    optional = dataset.name == MASK

    def compress(batch: list[tuple[Corner, AnyArray]]) -> list[tuple[Corner, bytes]]:
        chunks = []
        for corner, piece in batch:
            if not optional or piece.any():
                data = piece.astype(dataset.dtype, copy=False).tobytes().ljust(full, b"\0")
                packed = zlib_ng.compress(data, GZIP_LEVEL)
                chunks.append((corner, packed + fletcher32(packed)))
        return chunks

    jobs: deque[Future[list[tuple[Corner, bytes]]]] = deque()
    pieces = dataset.pieces()
    while batch := list(islice(pieces, _BATCH)):
        jobs.append(pool.submit(compress, batch))
        if len(jobs) > 2 * threads:
            yield from jobs.popleft().result()
    for job in jobs:
        yield from job.result()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _explain(error: BaseException, path: Path) -> str:
    """Return one sentence on a failed write: the first cause that the system named counts."""
    number = None
    cause: BaseException | None = error
    while cause is not None:
        named = re.search(r"errno = (\d+)", str(cause))
        if isinstance(cause, OSError) and cause.errno:
            number = cause.errno
        elif named:
            number = int(named[1])
        cause = cause.__context__
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full: {path} was not written; make room and build it again"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"no permission to write {path}; choose another directory with --dir"
    reason = os.strerror(number) if number else str(error).splitlines()[0]
    return f"{path} could not be written: {reason}"
