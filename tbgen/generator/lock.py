"""One build at a time per directory and variant."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from tbgen.board.variant import Variant
from tbgen.errors import TbgenError

LOCK_NAME: Final = ".tbgen.lock"
"""The lock file for r-mobility; it stays, empty locks cost nothing, and the system releases it when its
holder ends."""

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
"""What network file systems without locks answer."""


@contextlib.contextmanager
def build_lock(directory: Path, on_wait: Callable[[str], None], variant: Variant) -> Iterator[None]:
    """Hold the directory's build lock for a variant, waiting for another build of it to end.

    ``on_wait`` is told once, in a sentence, if there is something to wait for, or if the file system has no
    locks: then two builds would do the same work twice and harm nothing, since tables appear by renaming.

    :raises TbgenError: if the directory cannot be written.
    """
    path = directory / (LOCK_NAME if variant is Variant.R_MOBILITY else f".tbgen.{variant}.lock")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise TbgenError(f"the disk is full: nothing can be written to {directory}; make room") from error
        raise TbgenError(
            f"no tables can be written to {directory} ({os.strerror(error.errno or 0)}); "
            "choose another directory with --dir"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            on_wait(
                f"another build is at work in {directory} (process {holder or 'unknown'}): waiting for it"
            )
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            on_wait(f"{directory} has no file locks: see to it that no other build is at work there")
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)
