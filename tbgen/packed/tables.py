"""Tables in either form: opened to be probed, in plain form, or read as a whole.

Compiled code is taken only for packed tables.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.exits import ExitsOfMany
from tbgen.index.source import Source
from tbgen.index.table import Table
from tbgen.progress import Progress
from tbgen.store.cache import ChunkCache
from tbgen.store.dataset_file import open_file
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.store.schema import COUNT, PACKED

if TYPE_CHECKING:
    from tbgen.packed.file import PackedFile

AnyTable: TypeAlias = "TableFile | PackedFile"
"""An open table in either form."""


def open_table(
    path: Path, material: Material, *, cache: ChunkCache | None = None, exits: ExitsOfMany | None = None
) -> AnyTable:
    """Return an open table.

    :param cache: where decoded chunks are kept.
    :param exits: finds the exits of the table's positions, if they are to be looked up one by one.

    Raises as :class:`StoredFile` does.
    """
    if not _holds_packed(path):
        return TableFile(path, material=material, cache=cache)
    from tbgen.packed.asking import ensure_compiled
    from tbgen.packed.file import PackedFile

    if exits is not None:
        ensure_compiled()
    return PackedFile(path, material=material, cache=cache, exits=exits)


def _holds_packed(path: Path) -> bool:
    """Return whether a file says that it is a packed table; one that cannot be read does not."""
    with suppress(OSError, RuntimeError, KeyError, ValueError, TypeError):
        if path.is_file():  # opening a pipe would wait for a writer
            with open_file(path) as file:
                return bytes(file.attrs["format"]) == PACKED.format.encode()
    return False


def open_plain(directory: Path, material: Material, variant: Variant, threads: int = 2) -> TableFile:
    """Return an open table in plain form; of a packed one its plain copy, which takes time to make.

    :raises MissingTableError: if it is not there, or a table is missing that a packed one rests on.
    :raises DamagedTableError: if it cannot be used.
    :raises TbgenError: if the copy cannot be written.
    """
    table = open_table(table_path(directory, material.name, variant), material)
    if isinstance(table, TableFile):
        return table
    from tbgen.packed.sources import Sources

    table.close()
    with Sources(directory, variant, threads) as sources:
        return sources.open(material)


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
    from tbgen.packed.content import manifest_of_content
    from tbgen.packed.unpack import unpack

    table = unpack(file, around(), threads=threads, progress=progress)
    found = manifest_of_content(table, threads)
    if found.text != file.manifest.text:
        raise file.damaged(f"its {found.difference(file.manifest)} does not match its digest")
    if not np.array_equal(file.data(COUNT), table.counts):
        raise file.damaged("its numbers of values are not those of its positions")
    return table
