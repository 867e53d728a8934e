"""Fetching files of a published set: the comparison with a directory, and the transfer of missing files.

Data are received into a partial file, whose name ends in ``.part``. The partial file is renamed once it is
complete and checked. After an interruption, the next attempt or the next command resumes the partial file.
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
from tbgen.exchange.sources import FileSource, InterruptedTransferError, RejectedFileError, retry
from tbgen.store.format import table_path
from tbgen.system.files import (
    check_target,
    close_for_rename,
    make_directory,
    open_nofollow,
    open_nonblocking,
    put_in_place,
    write_errors,
)
from tbgen.system.locks import open_locked, remove_locked, try_lock
from tbgen.tables.files import open_table
from tbgen.text import size_text

PARTIAL_SUFFIX: Final = ".part"
_REJECTION: Final = "it was rejected"
"""The end of a message about a file that differs from its entry in the list."""
_MAX_NAMES: Final = 5
"""Maximum number of files that a message names."""
_EXPECTED_LIST_BYTES: Final = 1 << 20
"""Expected size of a list, from which the time limit for receiving it is computed. The list of all tables
of five men is smaller."""
_LOCK_SECONDS: Final = 0.2
"""Pause between attempts to lock a file that another process is fetching."""
_STOP_SECONDS: Final = 0.5
"""Time to wait for a thread that has to stop."""


@dataclass(frozen=True)
class FetchPlan:
    """The comparison of a published set with a directory.

    :param directory: destination of the files.
    """

    directory: Path
    files_to_fetch: tuple[PublishedFile, ...]
    """The files to fetch, in this order."""
    present_files: tuple[PublishedFile, ...]
    """The files that exist with the same content."""
    differing_files: tuple[PublishedFile, ...]
    """The files that exist with other content; they are kept.

    They may be tables in the other form or without accrued scores, and cells with other bounds."""

    @cached_property
    def bytes_to_receive(self) -> int:
        """Number of bytes to receive, computed when it is first used."""
        return sum(_bytes_left(file, self.directory) for file in self.files_to_fetch)


class FetchReporter(Protocol):
    """Receives reports while files are fetched, from several threads."""

    def on_bytes(self, size: int) -> None:
        """Report the number of bytes received; it is negative if data are discarded for another attempt."""

    def on_file(self, file: PublishedFile) -> None:
        """Report a file that is complete and has its final name."""

    def on_wait(self) -> None:
        """Report, repeatedly, that another process is fetching a file, and that this one waits for it."""


def read_list(source: FileSource) -> PublishedSet:
    """Read the list of a set.

    :raises TbgenError: if there is no list, or the list cannot be used.
    """

    def read() -> bytes:
        text = bytearray()
        with source.open(LIST_NAME, 0, _EXPECTED_LIST_BYTES) as (_, stream):
            for data in stream:
                text += data
                if len(text) > MAX_LIST_BYTES:
                    raise TbgenError(f"{source.locate(LIST_NAME)} is too long to be a list of tables")
        return bytes(text)

    return PublishedSet.parse(retry(read), source.locate(LIST_NAME))


def plan_tables(
    published_set: PublishedSet,
    directory: Path,
    variants: Sequence[Variant],
    materials: Iterable[Material] | None = None,
    *,
    origin: str,
    on_check: Callable[[str, int, int], None] | None = None,
) -> FetchPlan:
    """Compare the tables of a set with the tables in a directory.

    :param materials: the tables to fetch, together with their sub-tables; None for all.
    :param origin: address or directory of the set, for messages.
    :param on_check: called before each table is read in full to find damage, with the table's file name, its
        number, and the number of tables; None to read only the digests that the files state.
    :raises NotPublishedError: if the set lacks a requested table, or has no tables for the rules.
    """
    choice = None if materials is None else closure(materials)
    absent: list[PublishedFile] = []
    present: list[PublishedFile] = []
    different: list[PublishedFile] = []
    for variant in variants:
        missing: list[tuple[str, bool]] = []
        expected_materials = choice or [t.parsed_material for t in published_set.tables if t.rules is variant]
        for table_number, material in enumerate(expected_materials, 1):
            path = table_path(directory, material.name, variant)
            if on_check is not None:
                on_check(path.name, table_number, len(expected_materials))
            table = published_set.find(material, variant)
            digest = _digest(path, material, variant, check_all=on_check is not None)
            if table is not None:
                (absent if digest is None else present if digest == table.digest else different).append(table)
            elif digest is None:
                missing.append((material.name, path.exists()))
        if missing:
            raise NotPublishedError(origin, [variant], missing, directory)
    if not (choice or absent or present or different):
        raise NotPublishedError(origin, variants, [], directory)
    return FetchPlan(directory, tuple(absent), tuple(present), tuple(different))


class NotPublishedError(TbgenError):
    """The set lacks requested tables or their sub-tables.

    :param missing: name of each missing table, and whether the directory has a damaged file of it.
    """

    exit_code = MissingTableError.exit_code
    code = MissingTableError.code

    def __init__(
        self, origin: str, variants: Sequence[Variant], missing: Sequence[tuple[str, bool]], directory: Path
    ) -> None:
        names = [f"{name} (damaged in {directory})" if is_damaged else name for name, is_damaged in missing]
        lacks = f"lacks {names_text(names)}" if missing else "has no tables"
        rules = " or ".join(variants)
        options = ["--force"] if any(is_damaged for _, is_damaged in missing) else []
        command = build_command([*options, *(name for name, _ in missing)], directory, variants[0])
        remedy = f"name tables without them, or build them with: {command}" if missing else "choose others"
        super().__init__(f"the set of {origin} {lacks} for the rules {rules}: {remedy}")


def names_text(names: Sequence[str]) -> str:
    """Return a list of names for a sentence, shortened to the first few."""
    ending = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + ending


def fetch(fetch_plan: FetchPlan, source: FileSource, *, jobs: int = 4, report: FetchReporter) -> None:
    """Fetch the files of a plan, several at once. Each file is checked before it gets its final name.

    :raises RejectedFileError: after all other files have been fetched, if some are unavailable or differ from
        their entries in the list.
    :raises TbgenError: immediately, if the source cannot be reached, or the directory cannot be written.
        Finished files are kept, and the next command resumes the others.
    """
    directory = fetch_plan.directory
    make_directory(directory)
    free_bytes = shutil.disk_usage(directory).free
    if fetch_plan.bytes_to_receive > free_bytes:
        raise TbgenError(
            f"the files take {size_text(fetch_plan.bytes_to_receive)}, and the disk of {directory} has "
            f"{size_text(free_bytes)} free: free some space, or choose another directory"
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

    with ThreadPool(jobs) as pool:  # daemon threads, so that the process can end while a server is silent
        attempts = pool.imap_unordered(attempt, fetch_plan.files_to_fetch)
        try:
            rejections = dict(filter(None, attempts))
        finally:
            stop.set()
            with suppress(Exception):  # raised when all have ended, one has failed, or a server is silent
                while True:
                    attempts.next(_STOP_SECONDS)
    for first_error in rejections.values():
        if len(rejections) == 1:
            raise first_error
        raise RejectedFileError(f"{names_text([*rejections])} could not be fetched; the first: {first_error}")


class _TooShortError(InterruptedTransferError, RejectedFileError):
    """A file ended too early, without a sign that the connection was lost."""


class _FetchStoppedError(Exception):
    """The transfer was stopped by the user, or because another transfer failed."""


def _fetch_file(
    entry: PublishedFile, source: FileSource, directory: Path, report: FetchReporter, stop: Event
) -> None:
    location = source.locate(entry.file)
    path = directory / entry.file
    partial_path = _partial_path(path)
    with write_errors(partial_path), _locked_file(partial_path, report.on_wait, stop) as file:
        if _is_file_of(entry, path):  # another process has fetched it since the comparison
            remove_locked(file, partial_path)
            report.on_file(entry)
            return
        start = retry(lambda: _append(entry, source, file, report, stop))
        is_correct = sha256_of(file) == entry.sha256
        if start and not is_correct:  # the data of an earlier transfer may be wrong
            _start_over(file, report)
            retry(lambda: _append(entry, source, file, report, stop))
            is_correct = sha256_of(file) == entry.sha256
        if not is_correct:
            _start_over(file, report)
            raise RejectedFileError(
                f"{location} is not the file that its set names (its SHA-256 differs): {_REJECTION}"
            )
        file.flush()
        try:
            if entry.check(partial_path) != entry.digest:
                raise UnusableFileError("does not have the content that its set states")
        except UnusableFileError as error:
            remove_locked(file, partial_path)
            raise RejectedFileError(f"{location} {error}: {_REJECTION}") from None
        close_for_rename(file)
        put_in_place(partial_path, path)
    report.on_file(entry)


def _append(
    entry: PublishedFile, source: FileSource, file: BufferedRandom, report: FetchReporter, stop: Event
) -> int:
    """Append the missing data to a partial file, and return the offset of the first received byte.

    A partial file that is too long is emptied first. If the source cannot start at the requested byte, the
    file is received from its beginning.
    """
    offset = file.seek(0, os.SEEK_END)
    location = source.locate(entry.file)
    if offset > entry.bytes:
        file.truncate(0)
        offset = file.seek(0)
    if offset == entry.bytes:
        return offset
    with source.open(entry.file, offset, entry.bytes) as (start, stream):
        if start < offset:
            _start_over(file, report)
        for data in stream:
            if stop.is_set():
                raise _FetchStoppedError
            if file.tell() + len(data) > entry.bytes:
                _start_over(file, report)
                raise RejectedFileError(f"{location} is longer than its set says: {_REJECTION}")
            file.write(data)
            report.on_bytes(len(data))
    if file.tell() < entry.bytes:
        raise _TooShortError(f"{location} ended after {size_text(file.tell())} of {size_text(entry.bytes)}")
    return start


def _start_over(file: BufferedRandom, report: FetchReporter) -> None:
    report.on_bytes(-file.seek(0, os.SEEK_END))
    file.truncate(0)
    file.seek(0)


@contextmanager
def _locked_file(partial_path: Path, on_wait: Callable[[], object], stop: Event) -> Iterator[BufferedRandom]:
    """Open and lock a partial file, after waiting for any process that is fetching the same file.

    After an exception, an empty partial file is removed.

    :param on_wait: called repeatedly while waiting.
    :raises RejectedFileError: if the partial file is a link.
    """

    def open_file() -> BufferedRandom:
        if partial_path.is_symlink():
            raise RejectedFileError(f"{partial_path} is a link, which is not followed: remove it")
        check_target(partial_path, remedy="remove it")
        return open(partial_path, "a+b", opener=open_nofollow)

    def wait_for_lock(descriptor: int) -> None:
        while not try_lock(descriptor):
            on_wait()
            if stop.wait(_LOCK_SECONDS):
                raise _FetchStoppedError

    with open_locked(partial_path, open_file, wait_for_lock) as file:
        try:
            yield file
        except BaseException:
            if not file.closed and not size_of(partial_path):
                remove_locked(file, partial_path)
            raise


def _is_file_of(entry: PublishedFile, path: Path) -> bool:
    """Return whether a file exists and is, byte for byte, the file of an entry."""
    with suppress(OSError), open(path, "rb", opener=open_nonblocking) as file:
        return sha256_of(file) == entry.sha256
    return False


def _bytes_left(entry: PublishedFile, directory: Path) -> int:
    """Return the number of bytes of a file that remain to be received."""
    received = size_of(_partial_path(directory / entry.file))
    return entry.bytes - received if received <= entry.bytes else entry.bytes


def _partial_path(path: Path) -> Path:
    return path.with_name(path.name + PARTIAL_SUFFIX)


def _digest(path: Path, material: Material, variant: Variant, *, check_all: bool) -> str | None:
    """Return the digest that a table states; None if the table is missing or found to be damaged.

    :param check_all: whether to read and check the whole file; otherwise, only the stated digest is read.
    """
    try:
        if check_all:
            return check_table(path, material, variant)
        with open_table(path, material) as file:
            return file.info.digest
    except (MissingTableError, DamagedTableError):
        return None
