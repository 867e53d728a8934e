"""The list of a published set, with the sizes and digests of its tables and cells; and checks of its files.

docs/publishing.md describes the list.
"""

import hashlib
from collections.abc import Iterable
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import Annotated, Final, Literal, Self

import msgspec
from msgspec import Meta

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cells.file import CellFileError, check_cell, is_file_name
from tbgen.documents import Document, decoder, encoded
from tbgen.errors import DamagedTableError, TbgenError, quote
from tbgen.store.format import table_path
from tbgen.tables.files import open_table
from tbgen.tables.inventory import Digest

LIST_NAME: Final = "tbgen-set.json"
MAX_LIST_BYTES: Final = 32 << 20
"""Maximum size of a list. All tables of both variants need about 100 KiB, a thousand cells 300 KiB."""

_VERSION: Final = 1


def check_table(path: Path, material: Material, variant: Variant) -> str:
    """Read a whole table, plain or packed, compare it with its digest, and return the digest.

    :raises DamagedTableError: if the table is damaged, or has another material or variant.
    """
    with open_table(path, material) as table:
        if table.info.variant is not variant:
            raise DamagedTableError(f"{path} contains a table for the rules {table.info.variant}")
        table.check()
        return table.info.digest


class UnusableFileError(TbgenError):
    """A file is not a usable table or cell. The message continues a sentence that begins with the
    file, such as "is not a usable cell"."""


class PublishedFile(Document, forbid_unknown_fields=False):
    """A file of a set, as an entry of the list.

    :ivar file: name of the file. Only names of tables and cells are valid, so it contains no directory.
    :ivar bytes: size of the file.
    :ivar sha256: SHA-256 of the file.
    :ivar digest: digest of the content, which the file also states (docs/format.md, docs/solve_reference.md).
    """

    file: str
    bytes: Annotated[int, Meta(ge=1, lt=1 << 40)]
    sha256: Digest
    digest: Digest

    def check(self, path: Path) -> str:
        """Read a whole file that was received for this entry, and return the digest of its content.

        :raises UnusableFileError: if the file cannot be used.
        """
        raise NotImplementedError


class PublishedTable(PublishedFile):
    """One table of a set."""

    material: str
    rules: Variant

    def __post_init__(self) -> None:
        if table_path(Path(), self.parsed_material.name, self.rules).name != self.file:
            raise ValueError(f"{quote(self.file)} is not the file of {self.material}")

    @property
    def parsed_material(self) -> Material:
        """The parsed name of the material."""
        return Material.parse(self.material)

    def check(self, path: Path) -> str:
        """Implement :meth:`PublishedFile.check`."""
        try:
            return check_table(path, self.parsed_material, self.rules)
        except DamagedTableError:
            description = f"table of {self.material} for the rules {self.rules}"
            raise UnusableFileError(f"is not a usable {description}") from None


class PublishedCell(PublishedFile):
    """One solved cell of a set."""

    def __post_init__(self) -> None:
        if not is_file_name(self.file):
            raise ValueError(f"{quote(self.file)} is not the file of a cell")

    def check(self, path: Path) -> str:
        """Implement :meth:`PublishedFile.check`."""
        return check_cell_file(path)


def check_cell_file(path: Path) -> str:
    """Read the whole file of a cell, which may still have a temporary name, and return its digest.

    :raises UnusableFileError: if the file cannot be used.
    """
    try:
        return check_cell(path)
    except CellFileError as error:
        raise UnusableFileError(f"is not a usable cell: {error}") from None


class _SetHead(Document, forbid_unknown_fields=False):
    format: Literal["tbgen set"]
    version: int


class PublishedSet(_SetHead):
    """The tables of a set, in build order, and its cells."""

    tables: tuple[PublishedTable, ...]
    cells: tuple[PublishedCell, ...] = ()

    @classmethod
    def of_files(cls, files: Iterable[PublishedFile]) -> Self:
        """Return the set of these files: the tables by rules and in build order, the cells by file name."""
        ordered_files = sorted(files, key=lambda file: file.file)
        tables = [file for file in ordered_files if isinstance(file, PublishedTable)]
        tables.sort(key=lambda table: (table.rules.value, table.parsed_material))
        cells = (file for file in ordered_files if isinstance(file, PublishedCell))
        return cls("tbgen set", _VERSION, tuple(tables), tuple(cells))

    @property
    def files(self) -> tuple[PublishedFile, ...]:
        """The entries of all tables and cells."""
        return *self.tables, *self.cells

    @classmethod
    def parse(cls, text: bytes, location: str) -> Self:
        """Parse a list.

        :param location: address or path of the list, for messages.
        :raises TbgenError: if the list is malformed, or has another version.
        """
        try:
            version = decoder(_SetHead).decode(text).version
            if version != _VERSION:  # checked first, because other versions may have other fields
                raise ValueError(f"it has version {version}: use a newer tbgen")
            files = decoder(cls).decode(text).files
            if len({file.file for file in files}) < len(files):
                raise ValueError("it names a file twice")
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise TbgenError(f"{location} is not a usable list of tables: {error}") from None
        return cls.of_files(files)

    def find(self, material: Material, variant: Variant) -> PublishedTable | None:
        """Return a table of the set, None if the set does not contain it."""
        of_variant = (table for table in self.tables if table.rules is variant)
        return next((table for table in of_variant if table.parsed_material == material), None)

    def json(self) -> bytes:
        """Return the list as JSON."""
        return msgspec.json.format(encoded(self), indent=1) + b"\n"


def sha256_of(file: BufferedReader | BufferedRandom) -> str:
    """Return the SHA-256 of an open file."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def size_of(path: Path) -> int:
    """Return the size of a file in bytes, 0 if it does not exist.

    :raises TbgenError: if the size cannot be read.
    """
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise TbgenError(f"{path} cannot be read: {error.strerror}") from None
