"""The list of a published set: what its tables are, how large, and their digests (docs/publishing.md)."""

import hashlib
from collections.abc import Iterable
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import Annotated, Final, Literal, Self

import msgspec
from msgspec import Meta, Struct

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError, quote
from tbgen.store.format import table_path
from tbgen.store.inventory import Digest

LIST_NAME: Final = "tbgen-set.json"
MOST_LIST_BYTES: Final = 4 << 20
"""A longer list is none; that of all tables of both variants takes some 100 KiB."""

_VERSION: Final = 1


class PublishedTable(Struct, frozen=True):
    """One table of a set, as the list has it: a name in it cannot lead elsewhere.

    :ivar file: name of the file, which is that of the table it stands for.
    :ivar bytes: size of the file.
    :ivar sha256: SHA-256 of the file.
    :ivar digest: digest of the content, which the file states too (docs/format.md).
    """

    file: str
    material: str
    rules: Variant
    bytes: Annotated[int, Meta(ge=1, lt=1 << 40)]
    sha256: Digest
    digest: Digest

    def __post_init__(self) -> None:
        if self.path_in(Path()).name != self.file:
            raise ValueError(f"{quote(self.file)} is not the file of {self.material}")

    @property
    def men(self) -> Material:
        """The material."""
        return Material.parse(self.material)

    def path_in(self, directory: Path) -> Path:
        """Return where the table lies in a directory."""
        return table_path(directory, self.men.name, self.rules)


class _SetHead(Struct, frozen=True):
    format: Literal["tbgen set"]
    version: int


class PublishedSet(_SetHead, frozen=True):
    """The tables of a set, in build order."""

    tables: tuple[PublishedTable, ...]

    @classmethod
    def of(cls, tables: Iterable[PublishedTable]) -> Self:
        """Return the set of some tables."""
        return cls(
            "tbgen set", _VERSION, tuple(sorted(tables, key=lambda table: (table.rules.value, table.men)))
        )

    @classmethod
    def parse(cls, text: bytes, where: str) -> Self:
        """Read a list.

        :param where: what it was read from, for the sentence.
        :raises TbgenError: if it is none, or none that this version knows.
        """
        try:
            version = msgspec.json.decode(text, type=_SetHead).version
            if version != _VERSION:  # whose tables may be described otherwise
                raise ValueError(f"it has version {version}: take a newer tbgen")
            tables = msgspec.json.decode(text, type=cls).tables
            if len({table.file for table in tables}) < len(tables):
                raise ValueError("it has a table twice")
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise TbgenError(f"{where} is no list of tables that can be used: {error}") from None
        return cls.of(tables)

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
