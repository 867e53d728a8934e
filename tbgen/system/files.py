"""Atomic writing of files, and the rules of operating systems for file names and open files.

A file is written under a temporary name in the same directory, synced, and then renamed. The temporary name
identifies the machine and the process of the writer. So several writers of the same file do not conflict, and
the leftovers of killed writers can be recognised and removed.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path, PurePath
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Final

from tbgen.errors import TbgenError, UsageError, causes, quote
from tbgen.system.locks import lock
from tbgen.system.memory import FileMemory

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MARK: Final = ".tmp-"
"""Separator, in a temporary name, between the final name and the writer: machine, process, random number."""

_TEMP_NAME: Final = re.compile(rf"(?P<name>.*){re.escape(_MARK)}(?P<machine>.+)-(?P<process>\d+)-[0-9a-f]+")

_MAX_NAME_BYTES: Final = 255
"""Length in bytes of the longest file name that all common file systems support."""

_ABANDONED_SECONDS: Final = 3600.0
"""Time without a change after which a temporary file of another machine is considered abandoned."""

_PART_BYTES: Final = 1 << 20
"""Number of bytes to read at once."""

_RETRY_SECONDS: Final = (0.01, 0.05, 0.2, 0.5) if sys.platform == "win32" else ()
"""Pauses between attempts to replace a file that another process has open."""

_RESERVED_NAME: Final = re.compile(
    r"(con|prn|aux|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])( *\..*)?|.*[<>:\"|?*\0-\x1f].*|.*[. ]",
    re.IGNORECASE,
)
"""Matches names that Windows forbids or reserves for devices, except ``nul``, which may be written to."""


@contextmanager
def atomic_write(path: Path, *, remedy: str = "choose another directory") -> Iterator[Path]:
    """Yield a temporary file for the block to write and check. If the block succeeds, the file is renamed.

    The temporary file is empty, and in the directory of the final file. At the end of the block it is synced
    and renamed to ``path`` in one step, and the directory is synced. An existing file is replaced; the new
    file gets the permissions of the old one. If ``path`` is a link, the link is replaced. If the block raises
    an exception, ``path`` is unchanged, and the temporary file is removed. A killed process leaves its
    temporary file; the next writer of the same file removes it.

    :param path: the final name, in an existing directory.
    :param remedy: advice if writing is not permitted, as the end of a sentence.
    :raises UsageError: if ``path`` is that of a directory, a pipe or a device.
    :raises TbgenError: if the file cannot be created, synced or renamed. Exceptions of the block are not
        converted; the block itself has to apply :func:`write_errors` to its errors about this file.
    """
    check_target(path)
    remove_leftovers(path.parent, path.name)
    temporary = temporary_path(path)
    try:
        with write_errors(path, remedy=remedy):
            permissions = _permissions(path)
            # The temporary file must not be readable by anybody who may not read the final file.
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL, 0o666 if permissions is None else 0o600))
        yield temporary
        with write_errors(path, remedy=remedy):
            if permissions is not None:
                temporary.chmod(permissions)
            put_in_place(temporary, path)
    finally:
        with contextlib.suppress(OSError):  # the file has been renamed, or the directory is gone or read-only
            temporary.unlink()


def put_in_place(temporary: Path, path: Path) -> None:
    """Sync a complete file, give it its final name in one step, and sync the directory.

    :raises OSError: if the file cannot be renamed or synced.
    """
    _sync(temporary)
    replace(temporary, path)
    _sync(path.parent)


def replace(source: Path, target: Path) -> None:
    """Rename a file in one step, replacing any file of that name.

    Windows does not replace a file that a process has open. There, the renaming is retried for a while.

    :raises OSError: if the file cannot be renamed.
    """
    for pause in _RETRY_SECONDS:
        with contextlib.suppress(PermissionError):
            os.replace(source, target)
            return
        time.sleep(pause)
    os.replace(source, target)


def close_for_rename(file: IO[bytes]) -> None:
    """Close a file before it is renamed, replaced or removed, if the system requires that.

    On other systems the file stays open, and therefore locked.
    """
    if sys.platform == "win32":
        file.close()


def rename_locked(file: FileIO, source: Path, target: Path) -> FileIO:
    """Rename an open and locked file, replacing any file of that name. Return the file, open and locked.

    :raises OSError: if the file cannot be renamed or locked.
    """
    close_for_rename(file)
    replace(source, target)
    if file.closed:
        file = target.open("ab", buffering=0)
        lock(file.fileno())
    return file


class ScratchFile:
    """An unnamed temporary file for the arrays of another file that is being made.

    It takes up its whole space on the disk from the beginning, and vanishes when it is closed and no longer
    mapped, or when the process ends. Several threads may read and write it.

    :param path: the other file, for messages; the temporary file is in the same directory.
    :param size: size in bytes.
    :raises TbgenError: if the disk is full, writing is not permitted, and so on.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        self._size = size
        self._lock = Lock()
        from tempfile import TemporaryFile

        with write_errors(path), contextlib.ExitStack() as on_failure:
            self._file = on_failure.enter_context(TemporaryFile(dir=path.parent))
            if sys.platform == "linux":
                os.posix_fallocate(self._file.fileno(), 0, size)
            else:
                self._file.truncate(size)
            on_failure.pop_all()

    def close(self) -> None:
        """Close the file. Memory that :meth:`map` has returned can still be used."""
        self._file.close()

    def write(self, offset: int, array: NDArray[Any]) -> None:
        """Write a contiguous array from byte ``offset`` on. Unwritten bytes are 0.

        :raises TbgenError: if it cannot be written.
        """
        with self._lock, write_errors(self._path):
            self._file.seek(offset)
            self._file.write(array.data)

    def read(self, offset: int, array: NDArray[Any]) -> None:
        """Fill a contiguous array with the bytes from ``offset`` on."""
        with self._lock:
            self._file.seek(offset)
            self._file.readinto(array.data)

    def map(self) -> FileMemory:
        """Return memory with the content of the file, which must not be written any more."""
        self._file.flush()
        return FileMemory(self._file.fileno(), self._size, access=mmap.ACCESS_COPY)


def open_nofollow(path: str, flags: int) -> int:
    """Open a file, without following links if the system supports that; usable as ``opener`` of ``open``."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def open_nonblocking(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a pipe; usable as ``opener`` of ``open``."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_file(path: Path) -> bytes:
    """Return the content of a file. Signals interrupt the reading, even of a device that has no end.

    :raises OSError: if the file cannot be read.
    """
    with path.open("rb") as file:
        return b"".join(iter(lambda: file.read(_PART_BYTES), b""))


def split_paths(text: str, separators: str = os.pathsep) -> list[Path]:
    """Return the paths in a list. A separator in the name of an existing directory separates nothing.

    :param separators: characters, each of which separates two paths.

    >>> [path.name for path in split_paths("data:more;", ":;")]
    ['data', 'more']
    """
    paths = []
    while text:
        ends = [index for index, letter in enumerate(text + separators[0]) if letter in separators]
        end = next((end for end in reversed(ends) if os.path.isdir(text[:end])), ends[0])
        paths += [Path(text[:end])] if end else []
        text = text[end + 1 :]
    return paths


def check_name(path: PurePath) -> None:
    """Check that the system allows a file or directory of this name.

    :raises UsageError: if the name is reserved for a device, or contains characters that are not allowed.
    """
    if sys.platform == "win32":
        for name in path.parts[bool(path.anchor) :]:
            if name not in (".", "..") and _RESERVED_NAME.fullmatch(name):
                raise UsageError(f"Windows has other uses for {quote(name)}: choose another name")


def check_target(path: Path, *, remedy: str = "choose another file") -> None:
    """Check that a file of this path can be read and written, or replaced.

    Reading a pipe would wait for its writer, reading some devices would never end, and replacing a device
    would remove it.

    :param remedy: advice if it is something else than a file, as the end of a sentence.
    :raises UsageError: if the system does not allow the name, or it is that of a directory, pipe or device.
    """
    check_name(path)
    if os.path.exists(path) and not os.path.isfile(path):
        kind = "a directory" if os.path.isdir(path) else "a pipe or a device"
        raise UsageError(f"{path} is {kind}, not a file: {remedy}")


@contextmanager
def write_errors(path: Path, *, remedy: str = "choose another directory") -> Iterator[None]:
    """Convert an :class:`OSError` raised in the block to a :class:`TbgenError` about writing a file.

    :param path: the final name of the file.
    :param remedy: advice if writing is not permitted, as the end of a sentence.
    :raises TbgenError: if the disk is full, writing is not permitted, and so on.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, TbgenError):
            raise
        raise TbgenError(_write_error_sentence(error, path, remedy)) from error


def write_file(path: Path, content: bytes, *, remedy: str = "choose another directory") -> None:
    """Write a file atomically, as :func:`atomic_write` does.

    :raises TbgenError: if the file cannot be written; an existing file is then unchanged.
    """
    with atomic_write(path, remedy=remedy) as temporary, write_errors(path, remedy=remedy):
        temporary.write_bytes(content)


def make_directory(directory: Path, *, remedy: str = "choose another directory") -> None:
    """Create a directory and its parents, unless it exists.

    :param remedy: advice if the directory cannot be created, as the end of a sentence.
    :raises TbgenError: if the directory cannot be created.
    """
    check_name(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        in_the_way = isinstance(error, FileExistsError | NotADirectoryError)
        reason = "a file is in the way" if in_the_way else error.strerror
        raise TbgenError(f"cannot make the directory {directory}: {reason}; {remedy}") from error


def temporary_path(path: Path) -> Path:
    """Return a temporary name for a file, which no other writer on any machine uses.

    A long final name is shortened.
    """
    mark = f"{_MARK}{_machine_name()}-{os.getpid()}-{os.urandom(4).hex()}"
    return path.with_name(_truncate(path.name, _MAX_NAME_BYTES - len(os.fsencode(mark))) + mark)


def _machine_name() -> str:
    """Return the name of the machine or container in which the number of this process is unique.

    Several containers may have the same host name, and each numbers its processes from 1. So on systems with
    process namespaces (``pid_namespaces(7)`` of Linux) the name includes the number of the namespace.
    """
    import socket  # only writers need it

    host = socket.gethostname()
    with contextlib.suppress(OSError):
        return f"{host}-{os.stat('/proc/self/ns/pid').st_ino}"
    return host


def _truncate(name: str, size: int) -> str:
    """Return a name, truncated to a number of bytes."""
    return os.fsdecode(os.fsencode(name)[:size])


def remove_leftovers(directory: Path, name: str = "") -> list[Path]:
    """Remove the temporary files of killed writers in a directory, and return their paths.

    Files of running writers are kept. A writer on this machine, or in this container, is running if its
    process exists. Any other writer is considered running while its file changes. Files that this process has
    no permission to remove are also kept.

    :param name: final name of the file whose leftovers are removed; empty for all files.
    """
    leftovers = []
    for path, writer in _temporary_files(directory, name):
        with contextlib.suppress(OSError):  # the file is gone already, or belongs to another user
            if _is_abandoned(path, writer):
                path.unlink()
                leftovers.append(path)
    return leftovers


def remove_own_leftovers(path: Path) -> None:
    """Remove the temporary files that this process has made for a file.

    If another thread is still writing the file, that thread will fail to rename its temporary file.
    """
    for temporary, writer in _temporary_files(path.parent, path.name):
        if writer["machine"] == _machine_name() and int(writer["process"]) == os.getpid():
            with contextlib.suppress(OSError):
                temporary.unlink()


def _temporary_files(directory: Path, name: str) -> Iterator[tuple[Path, re.Match[str]]]:
    """Yield the temporary files of the file ``name`` (of all files if empty), with the match of each name."""
    for path in sorted(directory.glob(f"*{_MARK}*")):
        match = _TEMP_NAME.fullmatch(path.name)
        if match and (not name or match["name"] == _truncate(name, len(os.fsencode(match["name"])))):
            yield path, match


def _is_abandoned(path: Path, writer: re.Match[str]) -> bool:
    """Return whether the writer of a temporary file is no longer running."""
    if writer["machine"] == _machine_name() and not _is_running(int(writer["process"])):
        return True
    return time.time() - path.stat().st_mtime > _ABANDONED_SECONDS


def _is_running(process_id: int) -> bool:
    import psutil  # imported here because it is seldom needed

    with contextlib.suppress(OverflowError):
        return psutil.pid_exists(process_id)
    return False


def _permissions(path: Path) -> int | None:
    """Return the permissions of a file; None if the file does not exist, as with a link to itself."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode) if os.path.exists(path) else None
    return None


def _sync(path: Path) -> None:
    """Sync a file or directory. Windows syncs directories by itself. Files must be open for writing there."""
    if sys.platform == "win32" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_error_sentence(error: BaseException, path: Path, remedy: str) -> str:
    """Return a sentence about a failed write, based on the deepest cause that has a system error number."""
    error_number = None
    for cause in causes(error):
        hdf5_error = re.search(r"errno = (\d+)", str(cause))  # the format of HDF5's messages
        if isinstance(cause, OSError) and cause.errno:
            error_number = cause.errno
        elif hdf5_error:
            error_number = int(hdf5_error[1])
    if error_number in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full: {path} was not written; free some space and try again"
    if error_number in (errno.EACCES, errno.EPERM):
        open_hint = ", or another program has it open" if sys.platform == "win32" else ""
        return f"no permission to write {path}{open_hint}; {remedy}"
    if error_number == errno.EROFS:
        return f"{path} could not be written: its file system is read-only; {remedy}"
    reason = os.strerror(error_number) if error_number else (str(error).splitlines() or ["unknown"])[0]
    return f"{path} could not be written: {reason}"
