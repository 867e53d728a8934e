"""Memory of large builds: taken from the system once, in large pages, and kept from table to table.

A table of five men takes gigabytes in arrays that come and go. Fresh pages from the system cost about as much
time as the work done in them (0.1 to 1 s per GiB, and several on virtual machines whose memory is handed out
on demand), so nothing is given back before the process ends.
"""

import contextlib
import ctypes
import os
from functools import cache
from typing import Final

import numpy as np

_TRIM_THRESHOLD: Final = -1
_MMAP_MAX: Final = -4
"""Options of mallopt(3)."""

_NEVER: Final = -1


@cache
def keep_memory() -> None:
    """Let the allocator take all memory from one region, in large pages, and keep it.

    Without the GNU C library nothing happens.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, _NEVER)
    with contextlib.suppress(MemoryError):
        # numpy asks for large pages, and the region stays as it is after the array is gone.
        np.empty(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 * 3, np.uint8)
