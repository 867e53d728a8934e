"""Publishing tables: a directory that any web server can hand out, with the list of what is in it."""

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError
from tbgen.exchange.check import check_table
from tbgen.exchange.chosen import chosen_tables
from tbgen.exchange.published import LIST_NAME, PublishedSet, PublishedTable, sha256_of, size_of
from tbgen.files import make_directory, write_errors, write_file, written_aside
from tbgen.store.format import table_path

SUMS_NAME = "SHA256SUMS"
"""The same in the form that ``sha256sum -c`` reads."""


def publish(
    directory: Path,
    target: Path,
    variants: Iterable[Variant],
    materials: Iterable[Material] | None = None,
    *,
    done: Callable[[PublishedTable, int, int], None] = lambda *_: None,
) -> PublishedSet:
    """Lay out tables with their list in a directory, which may be that of the tables.

    Tables are linked where the file system can, else copied, and all of each is read and checked. What was
    published there before stays, and is not read again where it has not changed.

    :param materials: which tables, and with them those that they rest on; all if None.
    :param done: called with every table, its number, and how many there are.
    :raises NoTablesError: if there are none.
    :raises MissingTableError: if one of them is missing, and was not published there before.
    :raises DamagedTableError: if one cannot be used.
    """
    wanted = chosen_tables(directory, tuple(variants), materials)
    known = {table.file: table for table in _published(target)}
    for material, variant in reversed(wanted):  # building the largest one builds what it rests on
        path = table_path(directory, material.name, variant)
        if path.name not in known and not path.exists():
            raise MissingTableError(material.name, directory, variant)
    make_directory(target)
    for number, (material, variant) in enumerate(wanted, 1):
        source = table_path(directory, material.name, variant)
        path = target / source.name
        before = known.get(path.name)
        if before is None or (source.exists() and not _unchanged(source, path, before, target / LIST_NAME)):
            known[path.name] = _table(source, material, variant)
            _lay_out(source, path)
            _write_list(target, known.values())
        done(known[path.name], number, len(wanted))
    return PublishedSet.of(known.values())


def _published(target: Path) -> Iterable[PublishedTable]:
    """Return what a directory's list says, of the files that are there."""
    path = target / LIST_NAME
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    tables = PublishedSet.parse(text, str(path)).tables
    return [table for table in tables if size_of(target / table.file) == table.bytes]


def _unchanged(source: Path, path: Path, table: PublishedTable, listed: Path) -> bool:
    """Whether a published file is what the list says, by sizes and times."""
    times = [each.stat().st_mtime_ns for each in (source, path)]
    return size_of(source) == size_of(path) == table.bytes and max(times) < listed.stat().st_mtime_ns


def _table(path: Path, material: Material, variant: Variant) -> PublishedTable:
    digest = check_table(path, material, variant)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        return PublishedTable(path.name, material.name, variant, size, sha256_of(file), digest)


def _lay_out(source: Path, path: Path) -> None:
    """Link a file, or copy it where that cannot be."""
    if path.exists() and path.samefile(source):
        return
    with written_aside(path) as temporary, write_errors(path):
        temporary.unlink()
        with suppress(OSError):
            os.link(source, temporary)
        if not temporary.exists():
            shutil.copyfile(source, temporary)


def _write_list(target: Path, tables: Iterable[PublishedTable]) -> None:
    published = PublishedSet.of(tables)
    sums = "".join(f"{table.sha256}  {table.file}\n" for table in published.tables)
    write_file(target / SUMS_NAME, sums.encode())
    write_file(target / LIST_NAME, published.text())
