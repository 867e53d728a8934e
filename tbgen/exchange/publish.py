"""Publishing tables: choosing them, and listing them in a directory that any web server can serve."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, NoTablesError, TbgenError, UsageError
from tbgen.exchange.published import (
    LIST_NAME,
    PublishedFile,
    PublishedSet,
    PublishedTable,
    check_table,
    sha256_of,
    size_of,
)
from tbgen.store.format import table_path, tables_in
from tbgen.system.files import atomic_write, check_target, make_directory, write_errors, write_file

SUMS_NAME: Final = "SHA256SUMS"
"""Name of the file of checksums that ``sha256sum -c`` reads."""


def chosen_tables(
    directory: Path, variants: Sequence[Variant], materials: Iterable[Material] | None
) -> list[tuple[Material, Variant]]:
    """Return tables in build order, variant by variant; tables with described men are omitted.

    :param materials: the tables to choose; their sub-tables are added, whether or not their files exist. None
        for all tables in the directory.
    :raises NoTablesError: if there are no tables.
    :raises UsageError: if a named table has described men.
    """
    choice = None if materials is None else closure(materials)
    names = [material.name for material in choice or () if material.is_described]
    if names:
        raise UsageError(f"{names[-1]} has described men: only tables of chess are published or exported")
    tables = [
        (material, variant)
        for variant in variants
        for material in (tables_in(directory, variant) if choice is None else choice)
        if not material.is_described
    ]
    if not tables:
        raise NoTablesError(directory, variants[0])
    return tables


def publish(
    directory: Path,
    target: Path,
    variants: Iterable[Variant],
    materials: Iterable[Material] | None = None,
    *,
    report: Callable[[PublishedFile, int, int], None] = lambda *_: None,
) -> PublishedSet:
    """Publish tables and their list in ``target``, which may be the directory of the tables.

    Tables are linked if the file system supports links, else copied. Each table is read and checked in full.
    Files that were published earlier remain, and are read again only if they have changed.

    :param materials: the tables to publish, together with their sub-tables; None for all.
    :param report: called with each table, its number, and the number of tables.
    :raises NoTablesError: if there are no tables.
    :raises MissingTableError: if a table is missing and has not been published earlier.
    :raises DamagedTableError: if a table cannot be used.
    """
    tables = chosen_tables(directory, tuple(variants), materials)
    with updating_list(target) as files:
        for material, variant in reversed(tables):  # the error names the largest missing table
            path = table_path(directory, material.name, variant)
            if path.name not in files and not path.exists():
                raise MissingTableError(material.name, directory, variant)
        make_directory(target)
        for table_number, (material, variant) in enumerate(tables, 1):
            source = table_path(directory, material.name, variant)
            table = publish_file(source, target, files, partial(_make_entry, source, material, variant))
            report(table, table_number, len(tables))
    return PublishedSet.of_files(files.values())


@contextmanager
def updating_list(target: Path) -> Iterator[dict[str, PublishedFile]]:
    """Yield the files published in a directory, by name; the block may change this mapping.

    At the end of the block, even after an exception, the list is written if the mapping has changed.
    """
    files = {file.file: file for file in _listed_files(target)}
    listed_files = dict(files)
    try:
        yield files
    finally:
        if files != listed_files:
            published_set = PublishedSet.of_files(files.values())
            sums = "".join(f"{file.sha256}  {file.file}\n" for file in published_set.files)
            write_file(target / SUMS_NAME, sums.encode())
            write_file(target / LIST_NAME, published_set.json())


def publish_file(
    source: Path, target: Path, files: dict[str, PublishedFile], make_entry: Callable[[Path], PublishedFile]
) -> PublishedFile:
    """Publish a file and return its entry.

    A file that is already published is skipped if its source is unchanged or no longer exists.

    :param files: the files published in the directory ``target``, by name; the new entry is added.
    :param make_entry: checks a file, whose name may still be temporary, and returns its entry in the list.
    """
    path = target / source.name
    old_entry = files.get(path.name)
    if old_entry is None or (source.exists() and not _is_unchanged(source, path, old_entry)):
        files[path.name] = _link_or_copy(source, path, make_entry)
    return files[path.name]


def _is_unchanged(source: Path, path: Path, entry: PublishedFile) -> bool:
    """Return whether sizes and modification times show that a published file agrees with its list entry."""
    published_time, source_time, list_time = (
        file.stat().st_mtime_ns for file in (path, source, path.with_name(LIST_NAME))
    )
    return size_of(source) == size_of(path) == entry.bytes and source_time <= published_time < list_time


def _listed_files(target: Path) -> Iterable[PublishedFile]:
    """Return the entries of a directory's list whose files exist and have the listed size."""
    path = target / LIST_NAME
    check_target(path)
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    files = PublishedSet.parse(text, str(path)).files
    return [file for file in files if size_of(target / file.file) == file.bytes]


def _make_entry(source: Path, material: Material, variant: Variant, path: Path) -> PublishedTable:
    digest = check_table(source, material, variant)  # not the temporary file: errors name the source
    return PublishedTable(source.name, *size_and_sha256(path), digest, material.name, variant)


def size_and_sha256(path: Path) -> tuple[int, str]:
    """Return the size of a file in bytes, and its SHA-256."""
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_size, sha256_of(file)


def _link_or_copy(source: Path, path: Path, make_entry: Callable[[Path], PublishedFile]) -> PublishedFile:
    """Link or copy a file to ``path``, check it, and return its entry for the list.

    :raises TbgenError: if the file cannot be read, or ``path`` cannot be written.
    """
    if source.exists() and not os.access(source, os.R_OK):
        raise TbgenError(f"no permission to read {source}: change its permissions")
    if path.exists() and path.samefile(source):
        return make_entry(path)
    with atomic_write(path) as temporary:
        with write_errors(path):
            temporary.unlink()
            with suppress(OSError):
                os.link(source, temporary)
            if not temporary.exists():
                shutil.copyfile(source, temporary)
        return make_entry(temporary)
