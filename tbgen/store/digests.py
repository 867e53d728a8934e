"""Digests of the tables of a directory, for two people to compare what they have."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, NoTablesError, TbgenError
from tbgen.store.format import table_path, tables_in
from tbgen.store.info import TableInfo
from tbgen.store.stored_file import StoredFile


@dataclass(frozen=True, slots=True)
class TableDigests:
    """What is said of one table; ``str`` gives a line for comparison."""

    material: Material
    variant: Variant
    info: TableInfo | None
    problem: TbgenError | None
    """Why there is no ``info``."""

    def __str__(self) -> str:
        if self.info is None:
            return f"{self.material} {self.variant} {'missing' if self.missing else 'damaged'}"
        stored = "left-out"
        if self.info.stores_accrued:
            stored = "values" if self.info.packed else "stored"
        return f"{self.material} {self.variant} {self.info.manifest.fresh} {stored} {self.info.digest}"

    @property
    def missing(self) -> bool:
        """Whether the table has not been built."""
        return isinstance(self.problem, MissingTableError)


def digests_of(
    directory: Path, variant: Variant, materials: Iterable[Material] | None = None
) -> list[TableDigests]:
    """Return the digests that files state, in build order; those of all tables there unless some are named.

    :raises NoTablesError: if none are named and there are none.
    """
    wanted = sorted({*materials}) if materials is not None else tables_in(directory, variant)
    if not wanted:
        raise NoTablesError(directory, directory, variant)
    return [_digests(material, directory, variant) for material in wanted]


def set_digests(tables: Sequence[TableDigests]) -> tuple[str, str] | None:
    """Return the SHA-256 of the lines ``material rules fresh`` and of the lines ``material rules digest``.

    None if a table is missing or damaged.
    """
    fresh, digest = hashlib.sha256(), hashlib.sha256()
    for table in tables:
        if table.info is None:
            return None
        fresh.update(f"{table.material} {table.variant} {table.info.manifest.fresh}\n".encode())
        digest.update(f"{table.material} {table.variant} {table.info.digest}\n".encode())
    return fresh.hexdigest(), digest.hexdigest()


def _digests(material: Material, directory: Path, variant: Variant) -> TableDigests:
    try:
        with StoredFile(table_path(directory, material.name, variant), material=material) as file:
            if file.info.manifest.digest != file.info.digest:
                raise file.damaged("its manifest does not match its digest")
            return TableDigests(material, variant, file.info, None)
    except TbgenError as error:
        return TableDigests(material, variant, None, error)
