"""The list of a published set: what its tables are, how large, and their digests (docs/publishing.md)."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.store.format import table_path

LIST_NAME: Final = "tbgen-set.json"
MOST_LIST_BYTES: Final = 4 << 20
"""A longer list is none; that of all tables of both variants takes some 100 KiB."""

_FORMAT: Final = "tbgen set"
_VERSION: Final = 1
_MOST_TABLE_BYTES: Final = 1 << 40
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table of a set."""

    material: Material
    variant: Variant
    bytes: int
    """Size of the file."""
    sha256: str
    """SHA-256 of the file."""
    digest: str
    """Digest of the content, which the file states too (docs/format.md)."""

    @property
    def name(self) -> str:
        """Name of the file."""
        return table_path(Path(), self.material.name, self.variant).name

    def document(self) -> dict[str, Any]:
        """Return what the list says of it."""
        return {
            "file": self.name,
            "material": self.material.name,
            "rules": self.variant.value,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "digest": self.digest,
        }


@dataclass(frozen=True)
class PublishedSet:
    """The tables of a set, in build order."""

    tables: tuple[PublishedTable, ...]

    @classmethod
    def of(cls, tables: Iterable[PublishedTable]) -> Self:
        """Return the set of some tables."""
        return cls(tuple(sorted(tables, key=lambda table: (table.variant.value, table.material))))

    @classmethod
    def parse(cls, text: bytes, where: str) -> Self:
        """Read a list.

        :param where: what it was read from, for the sentence.
        :raises TbgenError: if it is none, or none that this version knows. No name in it can lead elsewhere:
            each has to be that of the table that it stands for.
        """
        try:
            return cls.of(_tables(text))
        except (ValueError, KeyError, TypeError) as error:
            raise TbgenError(f"{where} is no list of tables that can be used: {_reason(error)}") from None

    def find(self, material: Material, variant: Variant) -> PublishedTable | None:
        """Return a table of the set, if it is there."""
        for table in self.tables:
            if (table.material, table.variant) == (material, variant):
                return table
        return None

    def text(self) -> str:
        """Return the list."""
        tables = [table.document() for table in self.tables]
        return json.dumps({"format": _FORMAT, "version": _VERSION, "tables": tables}, indent=1) + "\n"


def _tables(text: bytes) -> list[PublishedTable]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON document") from None
    if document["format"] != _FORMAT:
        raise ValueError("it does not begin as one")
    if document["version"] != _VERSION:
        raise ValueError(f"it has version {quote(str(document['version']))}: take a newer tbgen")
    tables = [_table(entry) for entry in document["tables"]]
    if len({table.name for table in tables}) < len(tables):
        raise ValueError("it has a table twice")
    return tables


def _reason(error: Exception) -> str:
    if type(error) is KeyError:
        return f"it has no {error}"
    return "it is not made as one" if isinstance(error, TypeError) else str(error).splitlines()[0]


def _table(entry: Any) -> PublishedTable:
    material, variant = Material.parse(str(entry["material"])), Variant.parse(str(entry["rules"]))
    size, sha256, digest = entry["bytes"], entry["sha256"], entry["digest"]
    if type(size) is not int or not 0 < size < _MOST_TABLE_BYTES:
        raise ValueError(f"{material} cannot have {quote(str(size))} bytes")
    for text in (sha256, digest):
        if not isinstance(text, str) or not _SHA256.fullmatch(text):
            raise ValueError(f"{quote(str(text))} of {material} is no SHA-256")
    table = PublishedTable(material, variant, size, sha256, digest)
    if entry["file"] != table.name:
        raise UsageError(f"{quote(str(entry['file']))} is not the file of {material}")
    return table


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
