"""The list of a published set: its tables and cells, how large they are, and their digests.

It is described in docs/publishing.md. Here a file is checked to be the table that it claims to be, too.
"""

import hashlib
from collections.abc import Iterable
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import Annotated, Final, Literal, Self

import msgspec
from msgspec import Meta, Struct

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cells.file import CellFileError, check_cell, is_file_name
from tbgen.errors import DamagedTableError, TbgenError, quote
from tbgen.store.format import table_path
from tbgen.store.inventory import Digest
from tbgen.store.table_file import StoredFile


def check_table(path: Path, material: Material, variant: Variant) -> str:
    """Read all of a table, in either form, and compare it with its digest; return the digest.

    :raises DamagedTableError: if it is damaged, or of another material or variant.
    """
    with StoredFile(path, material=material) as table:
        if table.info.variant is not variant:
            raise DamagedTableError(f"{path} holds a table for the rules {table.info.variant}")
        table.check()
        return table.info.digest


LIST_NAME: Final = "tbgen-set.json"
MOST_LIST_BYTES: Final = 32 << 20
"""A longer list is none: all tables of both variants take some 100 KiB, a thousand cells 300 KiB."""

_VERSION: Final = 1


class UnusableFileError(TbgenError):
    """A file that cannot serve as what its name says; the text goes on from the name."""


class PublishedFile(Struct, frozen=True):
    """A file of a set, as the list has it: a name in it cannot lead elsewhere.

    :ivar file: its name, which is that of the table or the cell that it stands for.
    :ivar bytes: size of the file.
    :ivar sha256: SHA-256 of the file.
    :ivar digest: digest of the content, which the file states too (docs/format.md, docs/solve.md).
    """

    file: str
    bytes: Annotated[int, Meta(ge=1, lt=1 << 40)]
    sha256: Digest
    digest: Digest

    def check(self, path: Path) -> str:
        """Read all of a file that came in the place of this one, and return the digest of its content.

        :raises UnusableFileError: if it cannot be used.
        """
        raise NotImplementedError


class PublishedTable(PublishedFile, frozen=True):
    """One table of a set."""

    material: str
    rules: Variant

    def __post_init__(self) -> None:
        if table_path(Path(), self.men.name, self.rules).name != self.file:
            raise ValueError(f"{quote(self.file)} is not the file of {self.material}")

    @property
    def men(self) -> Material:
        """The material."""
        return Material.parse(self.material)

    def check(self, path: Path) -> str:
        """See :meth:`PublishedFile.check`."""
        try:
            return check_table(path, self.men, self.rules)
        except DamagedTableError:
            what = f"table of {self.material} for the rules {self.rules}"
            raise UnusableFileError(f"is no {what} that can be used") from None


class PublishedCell(PublishedFile, frozen=True):
    """One solved cell of a set."""

    def __post_init__(self) -> None:
        if not is_file_name(self.file):
            raise ValueError(f"{quote(self.file)} is not the file of a cell")

    def check(self, path: Path) -> str:
        """See :meth:`PublishedFile.check`."""
        return checked_cell(path)


def checked_cell(path: Path) -> str:
    """Read all of the file of a cell, which may be under a temporary name, and return its digest.

    :raises UnusableFileError: if it cannot be used.
    """
    try:
        return check_cell(path)
    except CellFileError as error:
        raise UnusableFileError(f"is no cell that can be used: {error}") from None


class _SetHead(Struct, frozen=True):
    format: Literal["tbgen set"]
    version: int


class PublishedSet(_SetHead, frozen=True):
    """The tables of a set, in build order, and its cells."""

    tables: tuple[PublishedTable, ...]
    cells: tuple[PublishedCell, ...] = ()

    @classmethod
    def of(cls, files: Iterable[PublishedFile]) -> Self:
        """Return the set of some files."""
        ordered = sorted(files, key=lambda each: each.file)
        tables = [each for each in ordered if isinstance(each, PublishedTable)]
        tables.sort(key=lambda table: (table.rules.value, table.men))
        cells = (each for each in ordered if isinstance(each, PublishedCell))
        return cls("tbgen set", _VERSION, tuple(tables), tuple(cells))

    @property
    def files(self) -> tuple[PublishedFile, ...]:
        """All of them."""
        return *self.tables, *self.cells

    @classmethod
    def parse(cls, text: bytes, where: str) -> Self:
        """Read a list.

        :param where: what it was read from, for the sentence.
        :raises TbgenError: if it is none, or none that this version knows.
        """
        try:
            version = msgspec.json.decode(text, type=_SetHead).version
            if version != _VERSION:  # whose files may be described otherwise
                raise ValueError(f"it has version {version}: take a newer tbgen")
            files = msgspec.json.decode(text, type=cls).files
            if len({each.file for each in files}) < len(files):
                raise ValueError("it has a file twice")
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise TbgenError(f"{where} is no list of tables that can be used: {error}") from None
        return cls.of(files)

    def find(self, material: Material, variant: Variant) -> PublishedTable | None:
        """Return a table of the set, None if it is not there."""
        found = (table for table in self.tables if (table.men, table.rules) == (material, variant))
        return next(found, None)

    def text(self) -> bytes:
        """Return the list."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def sha256_of(file: BufferedReader | BufferedRandom) -> str:
    """Return the SHA-256 of an open file."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if there is none.

    :raises TbgenError: if that cannot be known.
    """
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise TbgenError(f"{path} cannot be read: {error.strerror}") from None
