"""Locks on open files, between processes. A lock is released when the locking process closes the
file or exits.

The cache of kernels uses locks, so all kernels are compiled again when this module changes.
"""

import errno
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any, Final, TypeVar

File = TypeVar("File", bound=IO[Any])

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_NO_LOCKS_ERRNOS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
"""Error numbers of network file systems that do not support locks."""
_LOCKED_OFFSET: Final = (1 << 31) - 2
"""Offset of the byte that is locked on Windows. It is beyond the end of any file, because other processes
cannot read a locked byte."""
_RETRY_SECONDS: Final = 0.1
"""Interval between attempts to lock a file, on a system that cannot wait for a lock."""


class NoLocksError(OSError):
    """The file system does not support locks."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file exclusively; return False if another process has locked it.

    :raises NoLocksError: if the file system does not support locks.
    :raises OSError: if the lock fails for another reason.
    """
    try:
        if sys.platform == "win32":
            _set_byte_lock(descriptor, msvcrt.LK_NBLCK)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS_ERRNOS:
            raise NoLocksError(error.errno, error.strerror) from error
        raise
    return True


def lock(descriptor: int) -> None:
    """Lock an open file exclusively, waiting until no other process holds a lock on it.

    :raises OSError: if the lock fails.
    """
    if sys.platform == "win32":
        while not try_lock(descriptor):
            time.sleep(_RETRY_SECONDS)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_locked(descriptor: int) -> bool:
    """Return whether a process has locked an open file; True if this cannot be determined.

    Several processes may call this function at once.
    """
    try:
        if sys.platform == "win32":
            _set_byte_lock(descriptor, msvcrt.LK_NBLCK)
            _set_byte_lock(descriptor, msvcrt.LK_UNLCK)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:
        return True
    return False


def open_locked(path: Path, open_file: Callable[[], File], acquire: Callable[[int], object] = lock) -> File:
    """Open and lock the file of a path.

    A process that holds the lock may rename or remove the file, so the file may lose its path between opening
    and locking. Then the file that has the path by now is opened and locked.

    :param open_file: opens the file, and creates it if necessary.
    :param acquire: locks the open file; it may raise an exception if another process has locked it.
    :raises OSError: if the file cannot be opened or locked.
    """
    while True:
        with ExitStack() as stack:
            file = open_file()
            stack.callback(file.close)
            acquire(file.fileno())
            if has_path(file, path):
                stack.pop_all()
                return file


def remove_locked(file: IO[Any], path: Path) -> None:
    """Remove a file that this process has locked, unless the path has another file by now.

    Until the file is closed, no other process can lock it. Windows removes closed files only; but it does
    not remove a file that another process has opened by then.
    """
    if has_path(file, path):
        if sys.platform == "win32":
            file.close()
        with suppress(PermissionError):
            path.unlink(missing_ok=True)


def has_path(file: IO[Any], path: Path) -> bool:
    """Return whether a path still leads to an open file, which has then not been renamed or replaced."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


if sys.platform == "win32":

    def _set_byte_lock(descriptor: int, mode: int) -> None:
        """Lock or unlock the byte that represents the file. The position in the file is unchanged."""
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_OFFSET, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
