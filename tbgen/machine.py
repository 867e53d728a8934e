"""What the machine has: files that are there as a whole or not at all, memory, and processors.

Files are written aside, synced and then renamed. A file that is being written lies beside its place, under a
name that tells its writer (where, which process): writers of the same file do not meet, and what a killed one
has left is known as such and can be removed.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tbgen.errors import TbgenError, causes

_MARK: Final = ".tmp-"
"""Stands between the final name and the writer (place, process, chance) in the name of an unfinished file."""

_UNFINISHED: Final = re.compile(rf"(?P<name>.*){re.escape(_MARK)}(?P<place>.+)-(?P<process>\d+)-[0-9a-f]+")

_LONGEST_NAME: Final = 255
"""Bytes of a file name that all usual file systems take."""

_ABANDONED: Final = 3600.0
"""Seconds without a change after which a file of a writer that nobody can ask counts as left behind."""


@contextmanager
def written_aside(path: Path, *, remedy: str = "choose another directory") -> Iterator[Path]:
    """Give a file to be written and checked in the block, and put it in place if the block ends well.

    Yields the path of an empty file beside the final one. At the end its bytes are synced, it takes the name
    ``path`` in one step, and the directory is synced. A file that was there is replaced and its permissions
    stay; where ``path`` is a link, the link is replaced. Whatever ends the block early leaves ``path`` as it
    was, and nothing beside it; only a killed process does, and the next writer of the file removes that.

    :param path: the final name, in a directory that exists.
    :param remedy: what the user can do without permission to write there, to end a sentence.
    :raises TbgenError: if the file cannot be made, synced or renamed. What the block raises passes as it is:
        only the block knows which of it is about this file, and explains that by :func:`write_errors`.
    """
    remove_leftovers(path.parent, path.name)
    temporary = temporary_path(path)
    try:
        with write_errors(path, remedy=remedy):
            permissions = _permissions(path)
            # Nobody is to read from a half-written file what he must not read from the whole one.
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL, 0o666 if permissions is None else 0o600))
        yield temporary
        with write_errors(path, remedy=remedy):
            if permissions is not None:
                temporary.chmod(permissions)
            put_in_place(temporary, path)
    finally:
        with contextlib.suppress(OSError):  # the directory may be gone, or read-only by now
            temporary.unlink()


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a complete file its final name in one step, synced before and after.

    :raises OSError: if that cannot be.
    """
    _sync(temporary)
    os.replace(temporary, path)
    _sync(path.parent)


@contextmanager
def write_errors(path: Path, *, remedy: str = "choose another directory") -> Iterator[None]:
    """Explain what goes wrong in the block as what kept a file from being written.

    :param path: the final name of the file.
    :param remedy: what the user can do without permission to write there, to end a sentence.
    :raises TbgenError: for an :class:`OSError` of the block that is no :class:`TbgenError`: the disk is full,
        there is no permission, and so on.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, TbgenError):
            raise
        raise TbgenError(_explain(error, path, remedy)) from error


def write_file(path: Path, content: bytes, *, remedy: str = "choose another directory") -> None:
    """Write a file as :func:`written_aside` does.

    :raises TbgenError: if it cannot be written; then what was there is as it was.
    """
    with written_aside(path, remedy=remedy) as temporary, write_errors(path, remedy=remedy):
        temporary.write_bytes(content)


def make_directory(directory: Path, *, remedy: str = "choose another directory") -> None:
    """Make a directory, and those above it, unless it is there.

    :param remedy: what the user can do without permission to make it, to end a sentence.
    :raises TbgenError: if it cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
        reason = "a file is in the way" if in_the_way else error.strerror
        raise TbgenError(f"cannot make the directory {directory}: {reason}; {remedy}") from error


def temporary_path(path: Path) -> Path:
    """Return a name beside a file that no other writer uses, be it on a machine that shares the directory.

    A final name that leaves no room is cut.
    """
    mark = f"{_MARK}{_place()}-{os.getpid()}-{secrets.token_hex(4)}"
    return path.with_name(_cut(path.name, _LONGEST_NAME - len(os.fsencode(mark))) + mark)


def _place() -> str:
    """Return the name of what numbers this process: a machine, or one of several containers on it.

    Containers may have one host name, and each counts its processes from 1: so the number of the namespace
    belongs to it, where there are such (``pid_namespaces(7)`` of Linux).
    """
    host = socket.gethostname()
    with contextlib.suppress(OSError):
        return f"{host}-{os.stat('/proc/self/ns/pid').st_ino}"
    return host


def _cut(name: str, size: int) -> str:
    """Return as much of a name as fits into a number of bytes."""
    return os.fsdecode(os.fsencode(name)[:size])


def remove_leftovers(directory: Path, name: str = "") -> list[Path]:
    """Remove what writers that were killed have left in a directory, and return it.

    :param name: final name of the file whose leftovers are meant; without it, those of all files are.

    Writers that are at work keep theirs: those of this machine, or of this container, are asked for by
    process; those of others that share the directory count as at work while their file changes. What may not
    be removed stays.
    """
    leftovers = []
    for path, writer in _unfinished_files(directory, name):
        with contextlib.suppress(OSError):  # its writer, or somebody else, was faster; or it is another's
            if _is_left(path, writer):
                path.unlink()
                leftovers.append(path)
    return leftovers


def remove_own(path: Path) -> None:
    """Remove what this process has written of a file that is not in place yet.

    Another thread that is at work on it fails to put it in place.
    """
    for own, writer in _unfinished_files(path.parent, path.name):
        if writer["place"] == _place() and int(writer["process"]) == os.getpid():
            with contextlib.suppress(OSError):
                own.unlink()


def _unfinished_files(directory: Path, name: str) -> Iterator[tuple[Path, re.Match[str]]]:
    """Yield temporary files, of the file ``name`` if there is one, with what their names tell."""
    for path in sorted(directory.glob(f"*{_MARK}*")):
        match = _UNFINISHED.fullmatch(path.name)
        if match and (not name or match["name"] == _cut(name, len(os.fsencode(match["name"])))):
            yield path, match


def _is_left(path: Path, writer: re.Match[str]) -> bool:
    """Whether the writer of a temporary file is gone."""
    if writer["place"] == _place() and not _is_alive(int(writer["process"])):
        return True
    return time.time() - path.stat().st_mtime > _ABANDONED


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return True


def _permissions(path: Path) -> int | None:
    """Return the permissions of the file that is replaced; None if there is none."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    return None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _explain(error: BaseException, path: Path, remedy: str) -> str:
    """Return one sentence on a failed write: the first cause that the system named counts."""
    number = None
    for cause in causes(error):
        named = re.search(r"errno = (\d+)", str(cause))  # so does HDF5
        if isinstance(cause, OSError) and cause.errno:
            number = cause.errno
        elif named:
            number = int(named[1])
    if number in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full: {path} was not written; make room and try again"
    if number in (errno.EACCES, errno.EPERM):
        return f"no permission to write {path}; {remedy}"
    if number == errno.EROFS:
        return f"{path} could not be written: its file system is read-only; {remedy}"
    reason = os.strerror(number) if number else (str(error).splitlines() or ["unknown"])[0]
    return f"{path} could not be written: {reason}"


def free_memory() -> int:
    """Return how many bytes of memory are free; where the system does not say, all that the machine has."""
    try:
        found = re.search(r"^MemAvailable: *(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return int(found[1]) << 10 if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def give_back() -> None:
    """Give free memory back to the system; what is in use stays.

    Without the GNU C library nothing happens.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def held() -> int:
    """Return the bytes of memory that the process holds at present, 0 where the system does not say."""
    try:
        resident = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(resident) * os.sysconf("SC_PAGE_SIZE")


def processors() -> int:
    """Return how many processors this process may use."""
    return len(usable_processors())


def usable_processors() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
