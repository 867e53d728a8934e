"""Tables in either form: opened to be probed, or read as a whole; imports no numba.

Compiled code is taken only for packed tables.
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
    from tbgen.packed.decoder import FreshValues
    from tbgen.packed.file import PackedFile


FAMILY: Final = __name__
"""Name of these kernels in the cache."""

_logger = logging.getLogger(__name__)


def ensure_compiled(note: Callable[[str], object] = _logger.warning) -> None:
    """Compile the kernels that probe packed tables if they are not in the cache; ``note`` is told so
    before."""
    from tbgen.compiler.cache import compiling  # and with it what files are made by

    with compiling(FAMILY, "that probe packed tables", "about ten seconds", note) as needed:
        if needed:
            from tbgen.packed.packed_warmup import compile_asking

            compile_asking()


AnyTable: TypeAlias = "TableFile | PackedFile"
"""An open table in either form."""


def open_table(
    path: Path, material: Material, *, cache: ChunkCache | None = None, fresh: "FreshValues | None" = None
) -> AnyTable:
    """Return an open table.

    :param cache: where decoded chunks are kept.
    :param fresh: looks up the fresh values that zeroing moves lead to, if positions are to be looked up.

    Raises as :class:`StoredFile` does.
    """
    if not _holds_packed(path):
        return TableFile(path, material=material, cache=cache)
    from tbgen.packed.file import PackedFile

    if fresh is not None:
        ensure_compiled()
    return PackedFile(path, material=material, cache=cache, fresh=fresh)


def _holds_packed(path: Path) -> bool:
    """Return whether a file says that it is a packed table; one that cannot be read does not."""
    with suppress(OSError, RuntimeError, KeyError, ValueError, TypeError):
        if path.is_file():  # opening a pipe would wait for a writer
            with open_file(path) as file:
                return bytes(file.attrs["format"]) == PACKED.format.encode()
    return False


def read_whole(
    file: AnyTable, around: Callable[[], Mapping[Material, Source]], threads: int, progress: Progress
) -> Table:
    """Return a whole table after checking its bytes, and that it is what they promise.

    :param around: returns all that the table rests on, which a packed one is read together with.
    :param progress: receives the progress of the unpacking.
    :raises TbgenError: if it cannot be read, or is not what it says.
    """
    file.check(threads)
    if isinstance(file, TableFile):
        return file.read()
    from tbgen.packed.encode import manifest_of_content
    from tbgen.packed.unpack import unpack

    table = unpack(file, around(), threads=threads, progress=progress)
    found = manifest_of_content(table, threads)
    if found.text != file.manifest.text:
        raise file.damaged(f"its {found.difference(file.manifest)} does not match its digest")
    if not np.array_equal(file.data(COUNT), table.counts):
        raise file.damaged("its numbers of values are not those of its positions")
    return table
