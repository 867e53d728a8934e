"""Files that are there as a whole or not at all; and which names, and what with open files, systems allow.

Files are written aside, synced and then renamed. A file that is being written lies beside its place, under a
name that tells its writer (where, which process): writers of the same file do not meet, and what a killed one
has left is known as such and can be removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import IO, Final

from tbgen.errors import TbgenError, UsageError, causes, quote
from tbgen.system.locks import lock

_MARK: Final = ".tmp-"
"""Stands between the final name and the writer (place, process, chance) in the name of an unfinished file."""

_UNFINISHED: Final = re.compile(rf"(?P<name>.*){re.escape(_MARK)}(?P<place>.+)-(?P<process>\d+)-[0-9a-f]+")

_LONGEST_NAME: Final = 255
"""Bytes of a file name that all usual file systems take."""

_ABANDONED: Final = 3600.0
"""Seconds without a change after which a file of a writer that nobody can ask counts as left behind."""

_PAUSES: Final = (0.01, 0.05, 0.2, 0.5) if sys.platform == "win32" else ()
"""Seconds to wait before a file is replaced after all that somebody has open."""

_RESERVED: Final = re.compile(
    r"(con|prn|aux|com[0-9¹²³]|lpt[0-9¹²³])( *\..*)?|.*[<>:\"|?*\0-\x1f].*|.*[. ]", re.IGNORECASE
)
"""Names that mean devices or parts of files to Windows, or nothing; ``nul`` may be written to."""


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
    check_name(path)
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
    replace(temporary, path)
    _sync(path.parent)


def replace(source: Path, target: Path) -> None:
    """Give a file another name in one step, whoever has that name.

    Windows does not let a file be replaced that somebody has open: it is tried again for a while.

    :raises OSError: if that cannot be.
    """
    for pause in _PAUSES:
        with contextlib.suppress(PermissionError):
            os.replace(source, target)
            return
        time.sleep(pause)
    os.replace(source, target)


def let_go(file: IO[bytes]) -> None:
    """Close an open file that is about to be replaced, renamed or removed, where the system does so to closed
    ones only; elsewhere its lock lasts until then."""
    if sys.platform == "win32":
        file.close()


def rename_locked(file: FileIO, source: Path, target: Path) -> FileIO:
    """Give a file that is open and locked another name, whoever has that, and return it, open and locked.

    :raises OSError: if that cannot be.
    """
    let_go(file)
    replace(source, target)
    if file.closed:
        file = target.open("ab", buffering=0)
        lock(file.fileno())
    return file


def without_links(path: str, flags: int) -> int:
    """Open a file, for ``open``; a link is not followed, where the system lets that be said."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def without_waiting(path: str, flags: int) -> int:
    """Open a file, for ``open``; a pipe would be waited for until somebody writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def check_name(path: Path) -> None:
    """Check that the system can have a file or directory of this name.

    :raises UsageError: if it is reserved for devices, or has letters that have another meaning.
    """
    if sys.platform == "win32":
        for name in path.parts[bool(path.anchor) :]:
            if name not in (".", "..") and _RESERVED.fullmatch(name):
                raise UsageError(f"Windows has other uses for {quote(name)}: choose another name")


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
    check_name(directory)
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
    import psutil  # only now: there are seldom any

    with contextlib.suppress(OverflowError):
        return psutil.pid_exists(process)
    return False


def _permissions(path: Path) -> int | None:
    """Return the permissions of the file that is replaced; None if there is none."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    return None


def _sync(path: Path) -> None:
    """Have a file or directory on the disk; Windows syncs directories itself, and files open for writing."""
    if sys.platform == "win32" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
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
        return f"the disk is full: {path} was not written; free some space and try again"
    if number in (errno.EACCES, errno.EPERM):
        opened = ", or another program has it open" if sys.platform == "win32" else ""
        return f"no permission to write {path}{opened}; {remedy}"
    if number == errno.EROFS:
        return f"{path} could not be written: its file system is read-only; {remedy}"
    reason = os.strerror(number) if number else (str(error).splitlines() or ["unknown"])[0]
    return f"{path} could not be written: {reason}"
