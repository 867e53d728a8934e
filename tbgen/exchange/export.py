"""Exporting tables: a directory of flat files for the C library."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError
from tbgen.exchange.chosen import chosen_tables
from tbgen.exchange.flat import flat_path, is_flat_file_of, write_flat
from tbgen.files import make_directory
from tbgen.store.format import table_path
from tbgen.store.stored_file import StoredFile


class ExportedTable(NamedTuple):
    """A flat file that is there.

    :ivar file: its name.
    :ivar bytes: its size.
    :ivar written: whether it was not there before.
    """

    file: str
    material: Material
    rules: Variant
    bytes: int
    written: bool


def export(
    directory: Path,
    target: Path,
    variants: Iterable[Variant],
    materials: Iterable[Material] | None = None,
    *,
    done: Callable[[ExportedTable, int, int], None] = lambda *_: None,
) -> list[ExportedTable]:
    """Write tables as flat files (docs/native.md) to a directory, and return them in build order.

    A flat file that is there and sound is left as it is. Before any other is written, its table is read and
    compared with its digest.

    :param materials: which tables, and with them those that they rest on; all if None.
    :param done: called with every table, its number, and how many there are.
    :raises NoTablesError: if there are none.
    :raises MissingTableError: if one of them is missing; nothing is written then.
    :raises DamagedTableError: if one cannot be used.
    :raises TbgenError: if a file cannot be written.
    """
    wanted = chosen_tables(directory, tuple(variants), materials)
    for material, variant in reversed(wanted):  # building the largest one builds what it rests on
        if not table_path(directory, material.name, variant).exists():
            raise MissingTableError(material.name, directory, variant)
    make_directory(target)
    exported = []
    for number, (material, variant) in enumerate(wanted, 1):
        exported.append(_export(directory, target, material, variant))
        done(exported[-1], number, len(wanted))
    return exported


def _export(directory: Path, target: Path, material: Material, variant: Variant) -> ExportedTable:
    path = flat_path(target, material.name, variant)
    with StoredFile(table_path(directory, material.name, variant), material=material) as table:
        written = not is_flat_file_of(path, table)
        if written:
            table.check()
            write_flat(table, path)
    return ExportedTable(path.name, material, variant, path.stat().st_size, written)
