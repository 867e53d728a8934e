"""Fetching files of a published set: the comparison with a directory, and the transfer of missing files.

Data are received into a partial file, whose name ends in ``.part``; it is renamed once it is complete and
checked. An interrupted transfer resumes from the partial file, at the next attempt or with the next command.
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
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError, build_command
from tbgen.exchange.published import (
    LIST_NAME,
    MAX_LIST_BYTES,
    PublishedFile,
    PublishedSet,
    UnusableFileError,
    check_table,
    sha256_of,
    size_of,
)
from tbgen.exchange.sources import FileSource, InterruptedTransferError, RejectedFileError, retried
from tbgen.store.format import table_path
from tbgen.store.table_file import StoredFile
from tbgen.system.files import close_for_rename, make_directory, put_in_place, without_links, write_errors
from tbgen.system.locks import try_lock
from tbgen.text import size_text

PARTIAL_SUFFIX: Final = ".part"
_REJECTED: Final = "it was rejected"
"""End of messages about files that differ from their entries in the list."""
_MAX_NAMES: Final = 5
"""Maximum number of files that a message names."""
_EXPECTED_LIST_BYTES: Final = 1 << 20
"""Size from which the time limit for a list is computed; the list of all tables of five men is smaller."""
_STOP_SECONDS: Final = 0.5
"""Time to wait for a thread that has to stop."""


@dataclass(frozen=True)
class FetchPlan:
    """The comparison of a set with a directory: the files to fetch and those that exist.

    :param directory: destination of the files.
    """

    directory: Path
    files_to_fetch: tuple[PublishedFile, ...]
    """The files to fetch, in this order."""
    present: tuple[PublishedFile, ...]
    """The files that exist with the same content."""
    differing_files: tuple[PublishedFile, ...]
    """The files that exist with another content, and are kept: tables in the other form or without accrued
    scores, cells with other bounds."""

    @cached_property
    def bytes(self) -> int:
        """Number of bytes to receive, computed at the first access."""
        return sum(_bytes_left(each, self.directory) for each in self.files_to_fetch)


class FetchReporter(Protocol):
    """Receives reports while files are fetched, from several threads."""

    def received(self, size: int) -> None:
        """Report the number of bytes received; it is negative if data are dropped, to be received again."""

    def done(self, file: PublishedFile) -> None:
        """Report a file that is complete and has its final name."""


def read_list(source: FileSource) -> PublishedSet:
    """Read the list of a set.

    :raises TbgenError: if there is no list, or it cannot be used.
    """

    def read() -> bytes:
        text = bytearray()
        with source.open(LIST_NAME, 0, _EXPECTED_LIST_BYTES) as (_, stream):
            for data in stream:
                text += data
                if len(text) > MAX_LIST_BYTES:
                    raise TbgenError(f"{source.place(LIST_NAME)} is too long to be a list of tables")
        return bytes(text)

    return PublishedSet.parse(retried(read), source.place(LIST_NAME))


def plan(
    published: PublishedSet,
    directory: Path,
    variants: Sequence[Variant],
    materials: Iterable[Material] | None = None,
    *,
    place: str,
    check: Callable[[str, int, int], None] | None = None,
) -> FetchPlan:
    """Compare the tables of a set with those of a directory.

    :param materials: the tables to fetch with their sub-tables; None for all.
    :param place: address or directory of the set, for messages.
    :param check: called before each existing table is read in full to find damage, with its file name, its
        number, and the number of tables; None to read only the digests that the files state.
    :raises NotPublishedError: if the set lacks a requested table, or has no tables for the rules.
    """
    named = None if materials is None else closure(materials)
    wanted: list[PublishedFile] = []
    present: list[PublishedFile] = []
    different: list[PublishedFile] = []
    for variant in variants:
        missing: list[tuple[str, bool]] = []
        expected = named or [table.parsed_material for table in published.tables if table.rules is variant]
        for number, material in enumerate(expected, 1):
            path = table_path(directory, material.name, variant)
            if check is not None:
                check(path.name, number, len(expected))
            table = published.find(material, variant)
            digest = _digest(path, material, variant, check=check is not None)
            if table is not None:
                (wanted if digest is None else present if digest == table.digest else different).append(table)
            elif digest is None:
                missing.append((material.name, path.exists()))
        if missing:
            raise NotPublishedError(place, [variant], missing, directory)
    if not (named or wanted or present or different):
        raise NotPublishedError(place, variants, [], directory)
    return FetchPlan(directory, tuple(wanted), tuple(present), tuple(different))


class NotPublishedError(TbgenError):
    """The set lacks requested tables, or sub-tables of these.

    :param missing: names of these tables, and whether the directory has a damaged one.
    """

    exit_code = MissingTableError.exit_code
    code = MissingTableError.code

    def __init__(
        self, place: str, variants: Sequence[Variant], missing: Sequence[tuple[str, bool]], directory: Path
    ) -> None:
        names = [f"{name} (damaged in {directory})" if damaged else name for name, damaged in missing]
        lacks = f"lacks {names_text(names)}" if missing else "has no tables"
        rules = " or ".join(variants)
        force = ["--force"] if any(damaged for _, damaged in missing) else []
        command = build_command([*force, *(name for name, _ in missing)], directory, variants[0])
        remedy = f"name tables without them, or build them with: {command}" if missing else "choose others"
        super().__init__(f"the set of {place} {lacks} for the rules {rules}: {remedy}")


def names_text(names: Sequence[str]) -> str:
    """Return a list of names for a sentence, shortened to the first few."""
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more


def fetch(to_do: FetchPlan, source: FileSource, *, jobs: int = 4, report: FetchReporter) -> None:
    """Fetch the files of a plan, several at once; check each before it gets its final name.

    :raises RejectedFileError: if files are unavailable or differ from the list, after all others are fetched.
    :raises TbgenError: immediately, if the source cannot be reached, or the directory cannot be written.
        Finished files are kept, and the next command resumes the others.
    """
    directory = to_do.directory
    make_directory(directory)
    free = shutil.disk_usage(directory).free
    if to_do.bytes > free:
        raise TbgenError(
            f"the files take {size_text(to_do.bytes)}, and the disk of {directory} has {size_text(free)} "
            "free: free some space, or choose another directory"
        )
    stop = Event()

    def attempt(file: PublishedFile) -> tuple[str, RejectedFileError] | None:
        try:
            if not stop.is_set():
                _fetch_file(file, source, directory, report, stop)
        except RejectedFileError as error:
            return file.file, error
        except _FetchStoppedError:
            pass
        except BaseException:
            stop.set()
            raise
        return None

    with ThreadPool(jobs) as pool:  # daemon threads, so the process can end while a server is silent
        attempts = pool.imap_unordered(attempt, to_do.files_to_fetch)
        try:
            rejected = dict(filter(None, attempts))
        finally:
            stop.set()
            with suppress(Exception):  # all attempts have ended, another one failed, or a server is silent
                while True:
                    attempts.next(_STOP_SECONDS)
    for first in rejected.values():
        if len(rejected) == 1:
            raise first
        raise RejectedFileError(f"{names_text([*rejected])} could not be fetched; the first: {first}")


class _TooShortError(InterruptedTransferError, RejectedFileError):
    """A file ended too early, without a sign that the connection was lost."""


class _FetchStoppedError(Exception):
    """The transfer was stopped because of another failure, or by the user."""


def _fetch_file(
    published: PublishedFile, source: FileSource, directory: Path, report: FetchReporter, stop: Event
) -> None:
    place, path = source.place(published.file), directory / published.file
    part = _partial_path(path)
    with write_errors(part), _locked(part) as file:
        start = retried(lambda: _append(published, source, file, report, stop))
        correct = sha256_of(file) == published.sha256
        if start and not correct:  # the data of an earlier transfer may be wrong
            _start_over(file, report)
            retried(lambda: _append(published, source, file, report, stop))
            correct = sha256_of(file) == published.sha256
        if not correct:
            _start_over(file, report)
            raise RejectedFileError(
                f"{place} is not the file that its set names (its SHA-256 differs): {_REJECTED}"
            )
        file.flush()
        try:
            if published.check(part) != published.digest:
                raise UnusableFileError("does not have the content that its set states")
        except UnusableFileError as error:
            close_for_rename(file)
            part.unlink()
            raise RejectedFileError(f"{place} {error}: {_REJECTED}") from None
        close_for_rename(file)
        put_in_place(part, path)
    report.done(published)


def _append(
    published: PublishedFile, source: FileSource, file: BufferedRandom, report: FetchReporter, stop: Event
) -> int:
    """Append the missing data to a partial file, and return the offset of the first byte received.

    A partial file that is too long is emptied first. If the source cannot start at the requested byte, the
    file is received from its beginning.
    """
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
                raise RejectedFileError(f"{place} is longer than its set says: {_REJECTED}")
            file.write(data)
            report.received(len(data))
    if file.tell() < published.bytes:
        raise _TooShortError(f"{place} ended after {size_text(file.tell())} of {size_text(published.bytes)}")
    return start


def _start_over(file: BufferedRandom, report: FetchReporter) -> None:
    report.received(-file.seek(0, os.SEEK_END))
    file.truncate(0)
    file.seek(0)


@contextmanager
def _locked(part: Path) -> Iterator[BufferedRandom]:
    """Open and lock a partial file; after an exception, it is removed if it is empty.

    :raises RejectedFileError: if another process is fetching the file, or the partial file is a link.
    """
    with _open_locked(part) as file:
        try:
            yield file
        except BaseException:
            close_for_rename(file)
            if not size_of(part):
                part.unlink(missing_ok=True)
            raise


def _open_locked(part: Path) -> BufferedRandom:
    """Return a partial file, opened and locked."""
    while True:
        if part.is_symlink():
            raise RejectedFileError(f"{part} is a link, which is not followed: remove it")
        file = open(part, "a+b", opener=without_links)  # noqa: SIM115
        if not try_lock(file.fileno()):
            file.close()
            raise RejectedFileError(f"{part.name} is being fetched by another process: wait for it")
        # Before the lock was acquired, another process may have renamed or removed the file.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), part.lstat()):
                return file
        file.close()


def _bytes_left(published: PublishedFile, directory: Path) -> int:
    """Return the number of bytes of a file that remain to be received."""
    received = size_of(_partial_path(directory / published.file))
    return published.bytes - received if received <= published.bytes else published.bytes


def _partial_path(path: Path) -> Path:
    return path.with_name(path.name + PARTIAL_SUFFIX)


def _digest(path: Path, material: Material, variant: Variant, *, check: bool) -> str | None:
    """Return the digest that a table states, None if the table is missing or found damaged.

    :param check: read and check the whole file, not only what it states.
    """
    try:
        if check:
            return check_table(path, material, variant)
        with StoredFile(path, material=material) as file:
            return file.info.digest
    except (MissingTableError, DamagedTableError):
        return None
