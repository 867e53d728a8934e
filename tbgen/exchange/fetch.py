"""Fetching tables of a published set: which are missing, and getting them whole or not at all.

What has come of a file lies beside its place, with ``.part`` at the end of its name, until all of it is there
and checked: so a transfer that broke off goes on where it was, with the next try or the next command.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedRandom
from multiprocessing.pool import ThreadPool
from pathlib import Path
from threading import Event
from typing import ClassVar, Final, Protocol

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError
from tbgen.exchange.check import check_table
from tbgen.exchange.published import (
    LIST_NAME,
    MOST_LIST_BYTES,
    PublishedSet,
    PublishedTable,
    sha256_of,
    size_of,
)
from tbgen.exchange.sources import FileSource, InterruptedTransferError, NotTakenError, persistent
from tbgen.files import put_in_place, write_errors
from tbgen.store.format import table_path
from tbgen.store.stored_file import StoredFile
from tbgen.text import size_text

PARTIAL: Final = ".part"
_NAMED: Final = 5
"""Tables that a sentence names at the most."""
_PATIENCE: Final = 0.5
"""Seconds that threads which have to stop are waited for."""


@dataclass(frozen=True)
class FetchPlan:
    """What is to be done."""

    wanted: tuple[PublishedTable, ...]
    """To be fetched, in build order."""
    there: tuple[PublishedTable, ...]
    """There already, with the same content."""
    others: tuple[PublishedTable, ...]
    """There already with another content, which stays: in the other form, or without accrued scores."""
    bytes: int
    """What is left to come of those to be fetched."""


class Fetched(Protocol):
    """Told what happens while tables are fetched, by several threads."""

    def came(self, size: int) -> None:
        """So many bytes more have come; fewer than none if they have to come again."""

    def done(self, table: PublishedTable) -> None:
        """A table is in its place."""


def read_list(source: FileSource) -> PublishedSet:
    """Read the list of a set.

    :raises TbgenError: if there is none, or it cannot be used.
    """

    def read() -> bytes:
        text = b""
        with source.open(LIST_NAME, 0) as stream:
            for data in stream.data:
                text += data
                if len(text) > MOST_LIST_BYTES:
                    raise TbgenError(f"{source.place(LIST_NAME)} is too long to be a list of tables")
        return text

    return PublishedSet.parse(persistent(read), source.place(LIST_NAME))


def plan(
    published: PublishedSet,
    directory: Path,
    variants: Sequence[Variant],
    materials: Iterable[Material] | None = None,
    *,
    place: str,
    check: bool = False,
    checking: Callable[[str, int, int], None] = lambda *_: None,
) -> FetchPlan:
    """Compare a set with what a directory has.

    :param materials: the tables that are wanted, and with them those that they rest on; None for all.
    :param place: where the set is, for the sentence.
    :param check: whether all of every table that is there is read, to find those that are damaged; else only
        what a table says of itself is.
    :param checking: called before every table with the name of its file, its number, and how many there are.
    :raises NotPublishedError: if the set lacks a table that is wanted, or has none for the rules.
    """
    named = None if materials is None else closure(materials)
    wanted, there, others = [], [], []
    for variant in variants:
        missing = []
        all_of_set = [table.men for table in published.tables if table.rules is variant]
        looked_at = all_of_set if named is None else named
        for number, material in enumerate(looked_at, 1):
            path = table_path(directory, material.name, variant)
            checking(path.name, number, len(looked_at))
            table = published.find(material, variant)
            digest = _digest(path, material, variant, check=check)
            if table is None:
                if digest is None:
                    missing.append(f"{material} (damaged in {directory})" if path.exists() else material.name)
            elif digest == table.digest:
                there.append(table)
            elif digest is not None:
                others.append(table)
            else:
                wanted.append(table)
        if missing:
            raise NotPublishedError(place, [variant], missing)
    if named is None and not (wanted or there or others):
        raise NotPublishedError(place, variants, [])
    left = sum(bytes_left(table, directory) for table in wanted)
    return FetchPlan(tuple(wanted), tuple(there), tuple(others), left)


class NotPublishedError(TbgenError):
    """Tables that are wanted, or that wanted ones rest on, and that are not part of the set."""

    exit_code: ClassVar[int] = MissingTableError.exit_code
    code: ClassVar[str] = MissingTableError.code

    def __init__(self, place: str, variants: Sequence[Variant], missing: list[str]) -> None:
        lacks = f"lacks {_listed(missing)}" if missing else "has no tables"
        rules = " or ".join(variants)
        remedy = "name tables that do without, or build them with tbgen build" if missing else "choose others"
        super().__init__(f"the set of {place} {lacks} for the rules {rules}: {remedy}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def fetch(
    tables: Sequence[PublishedTable],
    source: FileSource,
    directory: Path,
    *,
    jobs: int = 4,
    report: Fetched,
) -> None:
    """Fetch tables into a directory, several at once, and check each before it gets its name.

    :raises NotTakenError: after all others have come, if tables cannot be had or are not what the set says.
    :raises TbgenError: at once, if the source cannot be reached or the directory not be written. Tables that
        are done stay, and what has come of others is gone on with the next time.
    """
    stop = Event()
    refused: dict[str, NotTakenError] = {}
    failures: list[BaseException] = []
    with write_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
    _check_room(tables, directory)

    def attempt(table: PublishedTable) -> None:
        try:
            if not stop.is_set():
                _fetch_one(table, source, directory, report, stop)
        except NotTakenError as error:
            refused[table.file] = error
        except BaseException as error:
            failures.append(error)
            stop.set()

    with ThreadPool(jobs) as pool:  # of daemons: the process can end while a server is silent
        attempts = pool.map_async(attempt, tables, chunksize=1, callback=lambda _: stop.set())
        try:
            if tables:  # else there is nothing to wait for
                stop.wait()
        finally:
            stop.set()
            attempts.wait(_PATIENCE)
    for failure in failures:
        raise failure
    for first in refused.values():
        if len(refused) == 1:
            raise first
        raise NotTakenError(f"{_listed([*refused])} could not be had; the first: {first}")


class _TooShortError(InterruptedTransferError, NotTakenError):
    """A file that has ended too early, without a sign that the transfer broke off."""


class _FetchStoppedError(Exception):
    """The source has failed, or the directory, or the user has stopped the command."""


def _fetch_one(
    table: PublishedTable, source: FileSource, directory: Path, report: Fetched, stop: Event
) -> None:
    place, path = source.place(table.file), table.path_in(directory)
    part = _partial(path)
    with write_errors(part), _locked(part) as file:
        resumed = file.seek(0, os.SEEK_END) > 0
        persistent(lambda: _append(table, source, file, report, stop))
        right = sha256_of(file) == table.sha256
        if resumed and not right:  # its beginning may have been wrong
            _start_over(file, report)
            persistent(lambda: _append(table, source, file, report, stop))
            right = sha256_of(file) == table.sha256
        if not right:
            _start_over(file, report)
            raise NotTakenError(
                f"{place} is not the file that its set names (its SHA-256 differs): it was not taken"
            )
        file.flush()
        try:
            digest = check_table(part, table.men, table.rules)
        except DamagedTableError:
            part.unlink()
            raise NotTakenError(
                f"{place} is no table of {table.material} for the rules {table.rules} that can be used: "
                "it was not taken"
            ) from None
        if digest != table.digest:
            part.unlink()
            raise NotTakenError(f"{place} holds another table than its set says: it was not taken")
        put_in_place(part, path)
    report.done(table)


def _append(
    table: PublishedTable, source: FileSource, file: BufferedRandom, report: Fetched, stop: Event
) -> None:
    """Append what is missing of a file; what is too long is dropped first."""
    size, place = file.seek(0, os.SEEK_END), source.place(table.file)
    if size > table.bytes:
        file.truncate(0)
        size = file.seek(0)
    if size == table.bytes:
        return
    with source.open(table.file, size) as stream:
        if stream.start < size:
            _start_over(file, report)
        for data in stream.data:
            if stop.is_set():
                raise _FetchStoppedError
            if file.tell() + len(data) > table.bytes:
                _start_over(file, report)
                raise NotTakenError(f"{place} is longer than its set says: it was not taken")
            file.write(data)
            report.came(len(data))
    if file.tell() < table.bytes:
        raise _TooShortError(f"{place} ended after {size_text(file.tell())} of {size_text(table.bytes)}")


def _start_over(file: BufferedRandom, report: Fetched) -> None:
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
            if not size_of(part):
                part.unlink(missing_ok=True)
            raise


def _opened(part: Path) -> BufferedRandom:
    """Return a partial file, opened and locked."""
    while True:
        try:
            descriptor = os.open(part, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise NotTakenError(f"{part} is a link, which is not followed: remove it") from None
            raise
        file = os.fdopen(descriptor, "a+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise NotTakenError(f"{part.name} is being fetched by another process: wait for it") from None
        # Until it was locked, another process may have put it in place, or removed it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), part.lstat()):
                return file
        file.close()


def _check_room(tables: Iterable[PublishedTable], directory: Path) -> None:
    needed = sum(bytes_left(table, directory) for table in tables)
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise TbgenError(
            f"the tables take {size_text(needed)}, and the disk of {directory} has {size_text(free)} free: "
            "make room, or choose another directory with --dir"
        )


def bytes_left(table: PublishedTable, directory: Path) -> int:
    """Return how many bytes of a table have not come yet."""
    there = size_of(_partial(table.path_in(directory)))
    return table.bytes - there if there <= table.bytes else table.bytes


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
