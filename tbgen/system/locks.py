"""Locks on open files, between processes; the system releases them when their holder closes the file or ends.

Kernels are compiled anew when this module changes, for the cache of kernels takes locks.
"""

import errno
import os
import sys
import time
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
"""What network file systems without locks answer."""
_PLACE: Final = (1 << 31) - 2
"""The byte that Windows locks, beyond the contents of any file: nobody else can read a locked one there."""
_AGAIN: Final = 0.1
"""Seconds after which a lock is tried again where the system does not wait for it."""


class NoLocksError(OSError):
    """The file system has no locks."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process alone, and return whether that could be: nobody else has it.

    :raises NoLocksError: if the file system has no locks.
    :raises OSError: if the system refuses for another reason.
    """
    try:
        if sys.platform == "win32":
            _at_place(descriptor, msvcrt.LK_NBLCK)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise NoLocksError(error.errno, error.strerror) from error
        raise
    return True


def lock(descriptor: int) -> None:
    """Lock an open file for this process alone, after waiting for others that have it.

    :raises OSError: if the system refuses.
    """
    if sys.platform == "win32":
        while not try_lock(descriptor):
            time.sleep(_AGAIN)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_locked(descriptor: int) -> bool:
    """Return whether a process has an open file locked, or nobody can tell; several may ask at once."""
    try:
        if sys.platform == "win32":
            _at_place(descriptor, msvcrt.LK_NBLCK)
            _at_place(descriptor, msvcrt.LK_UNLCK)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:
        return True
    return False


if sys.platform == "win32":

    def _at_place(descriptor: int, mode: int) -> None:
        """Lock or unlock the byte that stands for the file; the position in the file stays."""
        position = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)
        finally:
            os.lseek(descriptor, position, os.SEEK_SET)
