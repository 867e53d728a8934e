"""Publishing tables: which, a directory that any web server can hand out, and the list of what is in it."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, NoTablesError, UsageError
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
from tbgen.system.files import make_directory, write_errors, write_file, written_aside


def chosen_tables(
    directory: Path, variants: Sequence[Variant], materials: Iterable[Material] | None
) -> list[tuple[Material, Variant]]:
    """Return tables in build order, variant by variant; those with described men stay where they are.

    :param materials: which tables, and with them those that they rest on, which may be missing; all of the
        directory if None.
    :raises NoTablesError: if there are none.
    :raises UsageError: if one is named that has described men.
    """
    named = None if materials is None else closure(materials)
    described = [material.name for material in named or () if material.is_described]
    if described:
        raise UsageError(f"{described[-1]} has described men: only tables of chess are published or exported")
    wanted = [
        (material, variant)
        for variant in variants
        for material in (tables_in(directory, variant) if named is None else named)
        if not material.is_described
    ]
    if not wanted:
        raise NoTablesError(directory, variants[0])
    return wanted


SUMS_NAME: Final = "SHA256SUMS"
"""The same in the form that ``sha256sum -c`` reads."""


def publish(
    directory: Path,
    target: Path,
    variants: Iterable[Variant],
    materials: Iterable[Material] | None = None,
    *,
    done: Callable[[PublishedFile, int, int], None] = lambda *_: None,
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
    with published_in(target) as files:
        for material, variant in reversed(wanted):  # building the largest one builds what it rests on
            path = table_path(directory, material.name, variant)
            if path.name not in files and not path.exists():
                raise MissingTableError(material.name, directory, variant)
        make_directory(target)
        for number, (material, variant) in enumerate(wanted, 1):
            source = table_path(directory, material.name, variant)
            table = lay_out(source, target, files, partial(_table, source, material, variant))
            done(table, number, len(wanted))
    return PublishedSet.of(files.values())


@contextmanager
def published_in(target: Path) -> Iterator[dict[str, PublishedFile]]:
    """Give what is published in a directory, by name.

    At the end of the block, also where something went wrong, the list is written, if there is more by then.
    """
    files = {each.file: each for each in _published(target)}
    listed = dict(files)
    try:
        yield files
    finally:
        if files != listed:
            published = PublishedSet.of(files.values())
            sums = "".join(f"{each.sha256}  {each.file}\n" for each in published.files)
            write_file(target / SUMS_NAME, sums.encode())
            write_file(target / LIST_NAME, published.text())


def lay_out(
    source: Path, target: Path, files: dict[str, PublishedFile], entry: Callable[[Path], PublishedFile]
) -> PublishedFile:
    """Lay out a file, unless it is published and has not changed, or is gone from its own place.

    :param files: what is published in the directory ``target``, by name.
    :param entry: checks a file that has its final content, maybe not yet its name, and returns what is
        to be listed.
    """
    path = target / source.name
    before = files.get(path.name)
    if before is None or (source.exists() and not _unchanged(source, path, before)):
        files[path.name] = _laid_out(source, path, entry)
    return files[path.name]


def _unchanged(source: Path, path: Path, before: PublishedFile) -> bool:
    """Whether a published file is what the list says, by sizes and times."""
    own, other, listed = (each.stat().st_mtime_ns for each in (path, source, path.with_name(LIST_NAME)))
    return size_of(source) == size_of(path) == before.bytes and other <= own < listed


def _published(target: Path) -> Iterable[PublishedFile]:
    """Return what a directory's list says, of the files that are there."""
    path = target / LIST_NAME
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    files = PublishedSet.parse(text, str(path)).files
    return [each for each in files if size_of(target / each.file) == each.bytes]


def _table(source: Path, material: Material, variant: Variant, laid_out: Path) -> PublishedTable:
    digest = check_table(source, material, variant)  # whose name errors have
    return PublishedTable(source.name, *size_and_sha256(laid_out), digest, material.name, variant)


def size_and_sha256(path: Path) -> tuple[int, str]:
    """Return the size of a file in bytes, and its SHA-256."""
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_size, sha256_of(file)


def _laid_out(source: Path, path: Path, entry: Callable[[Path], PublishedFile]) -> PublishedFile:
    """Link a file that can be used, or copy it where that cannot be."""
    if path.exists() and path.samefile(source):
        return entry(path)
    with written_aside(path) as temporary:
        with write_errors(path):
            temporary.unlink()
            with suppress(OSError):
                os.link(source, temporary)
            if not temporary.exists():
                shutil.copyfile(source, temporary)
        return entry(temporary)
