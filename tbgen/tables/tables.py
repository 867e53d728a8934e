"""Opening and reading tables in either form. Only packed tables need compiled code.

This module does not import numba.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from tbgen.board.material import Material
from tbgen.index.table import Source, Table
from tbgen.progress import Progress
from tbgen.store.cache import ChunkCache
from tbgen.store.dataset_file import open_file
from tbgen.store.schema import COUNT, PACKED
from tbgen.store.table_file import TableFile

if TYPE_CHECKING:
    from tbgen.tables.decoder import FreshLookUp
    from tbgen.tables.file import PackedFile


KERNEL_FAMILY: Final = __name__
"""Name, in the cache, of the kernels that look up positions."""

_logger = logging.getLogger(__name__)

AnyTable: TypeAlias = "TableFile | PackedFile"
"""An open table in either form."""


def ensure_compiled(emit: Callable[[str], object] = _logger.warning) -> None:
    """Compile the kernels that look up positions if they are not in the cache.

    Packed tables need them, and arrays of positions with accrued scores, whatever the form of the table.

    :param emit: called with a message before the compilation.
    """
    from tbgen.compiler.cache import compiling  # imports numba

    with compiling(KERNEL_FAMILY, "that look up positions", "about ten seconds", emit) as needed:
        if needed:
            from tbgen.tables.packed_warmup import compile_look_up

            compile_look_up()


def open_table(
    path: Path, material: Material, *, cache: ChunkCache | None = None, look_up: "FreshLookUp | None" = None
) -> AnyTable:
    """Return an open table.

    :param cache: the cache of decoded chunks.
    :param look_up: function that looks up the fresh values after zeroing moves. A packed table needs it for
        its own look-ups.

    Raises the same errors as :class:`StoredFile`.
    """
    if not _is_packed(path):
        return TableFile(path, material=material, cache=cache)
    from tbgen.tables.file import PackedFile

    if look_up is not None:
        ensure_compiled()
    return PackedFile(path, material=material, cache=cache, look_up_fresh=look_up)


def _is_packed(path: Path) -> bool:
    """Return whether a file is marked as a packed table; False if the file cannot be read."""
    with suppress(OSError, RuntimeError, KeyError, ValueError, TypeError):
        if path.is_file():  # opening a pipe would wait for a writer
            with open_file(path) as file:
                return bytes(file.attrs["format"]) == PACKED.format.encode()
    return False


def read_table(
    file: AnyTable, sub_tables: Callable[[], Mapping[Material, Source]], threads: int, progress: Progress
) -> Table:
    """Check the bytes of a table, and read it into memory. A packed table must also match its digest.

    :param sub_tables: returns the tables of all successors. Only a packed table needs them.
    :param progress: receives the progress of unpacking.
    :raises TbgenError: if the table cannot be read or fails a check.
    """
    file.check(threads)
    if isinstance(file, TableFile):
        return file.read()
    from tbgen.store.dataset import manifest_of_content
    from tbgen.tables.unpack import unpack

    table = unpack(file, sub_tables(), threads=threads, progress=progress)
    manifest = manifest_of_content(table, threads)
    if manifest.text != file.manifest.text:
        raise file.damaged(f"its {manifest.first_difference(file.manifest)} does not match its digest")
    if not np.array_equal(file.data(COUNT), table.counts):
        raise file.damaged("its numbers of values are not those of its positions")
    return table
