"""Fetching files of a published set: which tables are missing, and getting all whole or not at all.

What has come of a file lies beside its place, with ``.part`` at the end of its name, until all of it is there
and checked: so a transfer that broke off goes on where it was, with the next try or the next command.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from io import BufferedRandom
from multiprocessing.pool import ThreadPool
from pathlib import Path
from threading import Event
from typing import Final, Protocol

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError
from tbgen.exchange.published import (
    LIST_NAME,
    MOST_LIST_BYTES,
    PublishedFile,
    PublishedSet,
    UnusableFileError,
    check_table,
    sha256_of,
    size_of,
)
from tbgen.exchange.sources import FileSource, InterruptedTransferError, NotTakenError, persistent
from tbgen.store.format import table_path
from tbgen.store.table_file import StoredFile
from tbgen.system.files import let_go, make_directory, put_in_place, without_links, write_errors
from tbgen.system.locks import try_lock
from tbgen.text import size_text

PARTIAL: Final = ".part"
_REFUSED: Final = "it was not taken"
"""The end of sentences about files that are not what their set says."""
_NAMED: Final = 5
"""Files that a sentence names at the most."""
_LIST_BYTES: Final = 1 << 20
"""By which the time for a list is limited: more than that of all tables of five men has."""
_PATIENCE: Final = 0.5
"""Seconds that a thread which has to stop is waited for."""


@dataclass(frozen=True)
class FetchPlan:
    """What is to be done.

    :param directory: where the files are to lie.
    """

    directory: Path
    wanted: tuple[PublishedFile, ...]
    """To be fetched, in their order."""
    there: tuple[PublishedFile, ...]
    """There already, with the same content."""
    others: tuple[PublishedFile, ...]
    """There already with another content, which stays: tables in the other form or without accrued scores,
    cells with other bounds."""

    @cached_property
    def bytes(self) -> int:
        """What was left to come when this was first asked."""
        return sum(_bytes_left(each, self.directory) for each in self.wanted)


class FetchReporter(Protocol):
    """Told what happens while files are fetched, by several threads."""

    def came(self, size: int) -> None:
        """So many bytes more have come; fewer than none if they have to come again."""

    def done(self, file: PublishedFile) -> None:
        """A file is in its place."""


def read_list(source: FileSource) -> PublishedSet:
    """Read the list of a set.

    :raises TbgenError: if there is none, or it cannot be used.
    """

    def read() -> bytes:
        text = bytearray()
        with source.open(LIST_NAME, 0, _LIST_BYTES) as (_, stream):
            for data in stream:
                text += data
                if len(text) > MOST_LIST_BYTES:
                    raise TbgenError(f"{source.place(LIST_NAME)} is too long to be a list of tables")
        return bytes(text)

    return PublishedSet.parse(persistent(read), source.place(LIST_NAME))


def plan(
    published: PublishedSet,
    directory: Path,
    variants: Sequence[Variant],
    materials: Iterable[Material] | None = None,
    *,
    place: str,
    check: Callable[[str, int, int], None] | None = None,
) -> FetchPlan:
    """Compare a set with what a directory has.

    :param materials: the tables that are wanted, and with them those that they rest on; all if none is named.
    :param place: where the set is, for the sentence.
    :param check: if given, all of every table that is there is read, to find those that are damaged, and this
        is called before with the name of its file, its number, and how many there are; else only what a table
        says of itself is read.
    :raises NotPublishedError: if the set lacks a table that is wanted, or has none for the rules.
    """
    named = None if materials is None else closure(materials)
    wanted: list[PublishedFile] = []
    there: list[PublishedFile] = []
    others: list[PublishedFile] = []
    for variant in variants:
        missing = []
        expected = named or [table.men for table in published.tables if table.rules is variant]
        for number, material in enumerate(expected, 1):
            path = table_path(directory, material.name, variant)
            if check is not None:
                check(path.name, number, len(expected))
            table = published.find(material, variant)
            digest = _digest(path, material, variant, check=check is not None)
            if table is not None:
                (wanted if digest is None else there if digest == table.digest else others).append(table)
            elif digest is None:
                missing.append(f"{material} (damaged in {directory})" if path.exists() else material.name)
        if missing:
            raise NotPublishedError(place, [variant], missing)
    if not (named or wanted or there or others):
        raise NotPublishedError(place, variants, [])
    return FetchPlan(directory, tuple(wanted), tuple(there), tuple(others))


class NotPublishedError(TbgenError):
    """Tables that are wanted, or that wanted ones rest on, and that are not part of the set."""

    exit_code = MissingTableError.exit_code
    code = MissingTableError.code

    def __init__(self, place: str, variants: Sequence[Variant], missing: list[str]) -> None:
        lacks = f"lacks {listed(missing)}" if missing else "has no tables"
        rules = " or ".join(variants)
        remedy = "name tables that do without, or build them with tbgen build" if missing else "choose others"
        super().__init__(f"the set of {place} {lacks} for the rules {rules}: {remedy}")


def listed(names: Sequence[str]) -> str:
    """Return some names for a sentence, the first ones of many."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def fetch(to_do: FetchPlan, source: FileSource, *, jobs: int = 4, report: FetchReporter) -> None:
    """Fetch the files of a plan into its directory, several at once, and check each before it gets its name.

    :raises NotTakenError: after all others have come, if files cannot be had or are not what the set says.
    :raises TbgenError: at once, if the source cannot be reached or the directory not be written. Files that
        are done stay, and what has come of others is gone on with the next time.
    """
    directory = to_do.directory
    make_directory(directory)
    free = shutil.disk_usage(directory).free
    if to_do.bytes > free:
        raise TbgenError(
            f"the files take {size_text(to_do.bytes)}, and the disk of {directory} has {size_text(free)} "
            "free: make room, or choose another directory"
        )
    stop = Event()

    def attempt(file: PublishedFile) -> tuple[str, NotTakenError] | None:
        try:
            if not stop.is_set():
                _fetch_file(file, source, directory, report, stop)
        except NotTakenError as error:
            return file.file, error
        except _FetchStoppedError:
            pass
        except BaseException:
            stop.set()
            raise
        return None

    with ThreadPool(jobs) as pool:  # of daemons: the process can end while a server is silent
        attempts = pool.imap_unordered(attempt, to_do.wanted)
        try:
            refused = dict(filter(None, attempts))
        finally:
            stop.set()
            with suppress(Exception):  # none is left, or one has failed too, or a server is silent
                while True:
                    attempts.next(_PATIENCE)
    for first in refused.values():
        if len(refused) == 1:
            raise first
        raise NotTakenError(f"{listed([*refused])} could not be fetched; the first: {first}")


class _TooShortError(InterruptedTransferError, NotTakenError):
    """A file that has ended too early, without a sign that the transfer broke off."""


class _FetchStoppedError(Exception):
    """The source has failed, or the directory, or the user has stopped the command."""


def _fetch_file(
    published: PublishedFile, source: FileSource, directory: Path, report: FetchReporter, stop: Event
) -> None:
    place, path = source.place(published.file), directory / published.file
    part = _partial(path)
    with write_errors(part), _locked(part) as file:
        start = persistent(lambda: _append(published, source, file, report, stop))
        right = sha256_of(file) == published.sha256
        if start and not right:  # what came before may have been wrong
            _start_over(file, report)
            persistent(lambda: _append(published, source, file, report, stop))
            right = sha256_of(file) == published.sha256
        if not right:
            _start_over(file, report)
            raise NotTakenError(
                f"{place} is not the file that its set names (its SHA-256 differs): {_REFUSED}"
            )
        file.flush()
        try:
            if published.check(part) != published.digest:
                raise UnusableFileError("has another content than its set says")
        except UnusableFileError as error:
            let_go(file)
            part.unlink()
            raise NotTakenError(f"{place} {error}: {_REFUSED}") from None
        let_go(file)
        put_in_place(part, path)
    report.done(published)


def _append(
    published: PublishedFile, source: FileSource, file: BufferedRandom, report: FetchReporter, stop: Event
) -> int:
    """Append what is missing of a file, and return from which byte on; what is too long is dropped first."""
    size, place = file.seek(0, os.SEEK_END), source.place(published.file)
    if size > published.bytes:
        file.truncate(0)
        size = file.seek(0)
    if size == published.bytes:
        return size
    with source.open(published.file, size, published.bytes) as (start, stream):
        if start < size:
            _start_over(file, report)
        for data in stream:
            if stop.is_set():
                raise _FetchStoppedError
            if file.tell() + len(data) > published.bytes:
                _start_over(file, report)
                raise NotTakenError(f"{place} is longer than its set says: {_REFUSED}")
            file.write(data)
            report.came(len(data))
    if file.tell() < published.bytes:
        raise _TooShortError(f"{place} ended after {size_text(file.tell())} of {size_text(published.bytes)}")
    return start


def _start_over(file: BufferedRandom, report: FetchReporter) -> None:
    report.came(-file.seek(0, os.SEEK_END))
    file.truncate(0)
    file.seek(0)


@contextmanager
def _locked(part: Path) -> Iterator[BufferedRandom]:
    """Open a partial file for this process alone; one that is empty in the end is removed.

    :raises NotTakenError: if another one is at work on it, or if it is a link, for that leads elsewhere.
    """
    with _opened(part) as file:
        try:
            yield file
        except BaseException:
            let_go(file)
            if not size_of(part):
                part.unlink(missing_ok=True)
            raise


def _opened(part: Path) -> BufferedRandom:
    """Return a partial file, opened and locked."""
    while True:
        if part.is_symlink():
            raise NotTakenError(f"{part} is a link, which is not followed: remove it")
        file = open(part, "a+b", opener=without_links)  # noqa: SIM115
        if not try_lock(file.fileno()):
            file.close()
            raise NotTakenError(f"{part.name} is being fetched by another process: wait for it")
        # Until it was locked, another process may have put it in place, or removed it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), part.lstat()):
                return file
        file.close()


def _bytes_left(published: PublishedFile, directory: Path) -> int:
    """Return how many bytes of a file have not come yet."""
    there = size_of(_partial(directory / published.file))
    return published.bytes - there if there <= published.bytes else published.bytes


def _partial(path: Path) -> Path:
    return path.with_name(path.name + PARTIAL)


def _digest(path: Path, material: Material, variant: Variant, *, check: bool) -> str | None:
    """Return the digest that a table states, None if it is missing or damaged, as far as that is checked."""
    try:
        if check:
            return check_table(path, material, variant)
        with StoredFile(path, material=material) as file:
            return file.info.digest
    except (MissingTableError, DamagedTableError):
        return None
