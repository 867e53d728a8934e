"""Memory of large builds: taken from the system once, in large pages, and kept from table to table.

A table of five men takes gigabytes in arrays that come and go. Fresh pages from the system cost about as much
time as the work done in them (0.1 to 1 s per GiB, and several on virtual machines whose memory is handed out
on demand), so nothing is given back before the process ends. That suits a process that does
nothing else than build, so the command and the workers of a cluster ask for it, and ``build`` does not.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterable
from functools import cache
from typing import Final

import numpy as np

from tbgen.generator.estimate import estimate
from tbgen.material import Material
from tbgen.variant import Variant

_LARGE: Final = 2 << 30
"""Bytes of memory from which on a table is worth keeping memory for the next."""

_TRIM_THRESHOLD: Final = -1
_MMAP_MAX: Final = -4
"""Options of mallopt(3)."""

_NEVER: Final = -1


def keep_memory_for(materials: Iterable[Material], variant: Variant, threads: int) -> None:
    """Call :func:`keep_memory` if one of these tables is large."""
    if any(estimate(material, variant, threads).memory > _LARGE for material in materials):
        keep_memory()


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
