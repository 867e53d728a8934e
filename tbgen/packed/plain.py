"""Plain tables for whoever reads no other form: of a packed table a plain copy, made when it is asked for.

Copies lie in a folder of their own beside the tables. Nothing here takes compiled code unless one is made.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile
from tbgen.store.stored_file import StoredFile

if TYPE_CHECKING:
    from tbgen.packed.file import PackedFile

AnyTable: TypeAlias = "TableFile | PackedFile"
"""An open table in either form."""

COPIES: Final = ".unpacked"
"""Folder of a directory's plain copies."""

made: Final[set[Path]] = set()
"""The copies that this process has made: those of others, such as a build at work, are theirs to remove."""


def open_plain(directory: Path, material: Material, variant: Variant, threads: int = 2) -> TableFile:
    """Return an open table in plain form; of a packed one its plain copy, which takes time to make.

    :raises MissingTableError: if it is not there, or a table is missing that a packed one rests on.
    :raises DamagedTableError: if it cannot be used.
    :raises TbgenError: if the copy cannot be written.
    """
    path = table_path(directory, material.name, variant)
    with StoredFile(path, material=material) as stored:
        packed = stored.info.packed
    if not packed:
        return TableFile(path, material=material)
    from tbgen.packed.sources import UnpackedSources

    with UnpackedSources(directory, variant, threads) as sources:
        return sources.open(material)


@contextmanager
def passing_copies(directory: Path) -> Iterator[None]:
    """Remove in the end the plain copies of a directory that this process has made since the beginning.

    Who has one open can read it to the end, and who misses one makes it again.
    """
    folder = directory / COPIES
    before = made.copy()
    try:
        yield
    finally:
        for copy in made - before:
            if copy.parent == folder:
                copy.unlink(missing_ok=True)
                made.discard(copy)
        with suppress(OSError):  # others lie there, or there is none
            folder.rmdir()
