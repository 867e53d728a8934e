"""Files of tables: opening them, whichever form they have, and writing them."""

import contextlib
import errno
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import h5py

from tbgen.board.material import Material
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError
from tbgen.index.table import RunIndex, Table
from tbgen.store.cache import ChunkCache, LruCache
from tbgen.store.dataset import table_datasets
from tbgen.store.dataset_file import open_file
from tbgen.store.format import TableInfo, layer_files_beside
from tbgen.store.schema import PACKED, TABLE
from tbgen.store.writer import FileContent, write_datasets
from tbgen.tables.open_table import FilePath, OpenedFile, OpenTable, SuccessorTables
from tbgen.tables.plain_table import PlainTable

_PROBLEMS: Final = {
    "truncated file": "it is truncated",
    "already open for write": "its build was interrupted",
    "signature not found": "it is not an HDF5 file",
}
"""Problems of files that HDF5 cannot open, by a fragment of its message."""
_DAMAGE_ERRNOS: Final = (None, errno.EINVAL)
"""Error numbers of HDF5 for a damaged file: none, or that of a read at an offset that is too large."""


def open_table(
    path: Path,
    material: Material | None = None,
    *,
    cache: ChunkCache | None = None,
    loaded: LruCache[RunIndex] | None = None,
    successors: SuccessorTables | None = None,
    threads: int | None = None,
) -> OpenTable:
    """Return an open table. Opening it and reading its facts needs no compiled code.

    :param material: the material that the file has to contain; None for any material.
    :param cache: cache of decoded chunks, which files may share; None for a separate cache.
    :param loaded: cache of plain tables that look-ups of many positions load; None for a separate one.
    :param successors: the tables that look-ups in a packed table need; None if there will be none.
    :param threads: number of threads that read or derive values; None for the default.
    :raises MissingTableError: if the file does not exist.
    :raises DamagedTableError: if the file is not a complete table that this version of tbgen can read.
    :raises TbgenError: if the system cannot open the file, for example without permission to read it.
    """
    file_path = FilePath(path, material)
    file = _open_regular(file_path)
    try:
        is_packed = bytes(file.attrs["format"]) == PACKED.format.encode()
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        is_packed = False  # the check of plain tables finds what is wrong
    opened_file = OpenedFile(file_path, file, cache, threads)
    if not is_packed:
        return PlainTable(opened_file, loaded)
    from tbgen.tables.packed_table import PackedTable

    return PackedTable(opened_file, successors)


def _open_regular(file_path: FilePath) -> h5py.File:
    """Return the open HDF5 file; raise the errors of :func:`open_table`."""
    path = file_path.path
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):  # opening a pipe would block until it has a writer
            return open_file(path)
    except FileNotFoundError:
        raise MissingTableError(file_path.name, path.parent, file_path.variant) from None
    except NotADirectoryError:
        raise TbgenError(f"{path.parent} is not a directory; choose another with --dir") from None
    except PermissionError:
        raise TbgenError(f"no permission to read {path}: change its permissions") from None
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ELOOP:  # a build replaces links
            raise MissingTableError(file_path.name, path.parent, file_path.variant) from None
        problem = next((problem for fragment, problem in _PROBLEMS.items() if fragment in str(error)), None)
        if problem is None and isinstance(error, OSError) and error.errno not in _DAMAGE_ERRNOS:
            raise TbgenError(f"{path} cannot be opened: {os.strerror(error.errno)}") from error
        raise file_path.damaged(problem or "it is damaged") from error
    file_type = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
    raise DamagedTableError(
        f"{path} is {file_type}, but has the name of a table: remove it, then build the table "
        f"with: {file_path.command()}"
    )


def plain_content(table: Table) -> FileContent:
    """Return the content of a table file in plain form, without the attributes about the build.

    :raises ValueError: if arrays of the table contradict each other.
    """
    stored = table_datasets(table)
    return FileContent(TABLE, table.facts(), stored, stored)


def write_table(
    table: Table,
    path: Path,
    *,
    version: str,
    build_seconds: float,
    parameters: Mapping[str, Any] | None = None,
    threads: int = 2,
    content: FileContent | None = None,
) -> TableInfo:
    """Write a table. The file gets its final name once it is complete and checked.

    Layer files beside an older table of this name are removed.

    :param version: version of tbgen.
    :param parameters: parameters of the build, as JSON values.
    :param content: content of the file; None for :func:`plain_content`.
    :raises TbgenError: if the directory is not writable or the disk is full; no temporary file remains.
    :raises ValueError: if arrays of the table contradict each other.
    """
    content = plain_content(table) if content is None else content
    attributes = {
        **content.attributes,
        "tbgen_version": version,
        "build_seconds": float(build_seconds),
        "parameters": json.dumps(dict(parameters or {}), sort_keys=True),
    }
    content = content._replace(attributes=attributes)
    write_datasets(path, content, lambda written: open_table(written, table.material), threads)
    for layer in layer_files_beside(path):
        with contextlib.suppress(OSError):  # remaining layers of another table are never read
            layer.unlink()
    with open_table(path) as written:
        return written.info
