"""Memory of builds: what the process holds, and what it keeps from table to table or gives back.

A table of five men takes gigabytes in arrays that come and go. Fresh pages from the system cost about as much
time as the work done in them (0.1 to 1 s per GiB, and several on virtual machines whose memory is handed out
on demand), so a process that does nothing else than build takes its memory from one region of large pages:
the command and the workers of a cluster ask for that, and ``build`` does not.

What a table has left behind is in pieces, and the next one may fit into none of them. So whatever is free is
given back to the system before a table that might else take more than it may; where ``--memory`` allows for
both, it stays.
"""

import contextlib
import ctypes
import os
import resource
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from tbgen.generator.estimate import Estimate, check_memory, estimate, together
from tbgen.machine import free_memory
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


def keep_memory() -> None:
    """Let the allocator take all memory from one region, in large pages, and keep it.

    Without the GNU C library nothing happens.
    """
    global _is_kept
    library = _library()
    if library is None or _is_kept:
        return
    library.mallopt(_MMAP_MAX, 0)
    library.mallopt(_TRIM_THRESHOLD, _NEVER)
    _is_kept = True
    _reserve()


_is_kept = False


def make_room(needs: Sequence[Estimate], cap: int | None = None) -> None:
    """Give memory back if the process might else take more than the next tables need, or than ``cap`` bytes.

    :raises TbgenError: if it would all the same, and takes more than ``cap`` or than the machine has.
    """
    allowed = max(table.memory for table in needs) if cap is None else cap
    if any(table.beside(held()) > allowed for table in needs):
        give_back()
    check_memory(needs, cap, held())


def has_room(need: Estimate, at_work: Sequence[Estimate], foreseen: int, cap: int | None = None) -> bool:
    """Whether a table may begin beside those at work, without the process taking more than ``cap`` bytes, or
    than the machine has free.

    :param foreseen: bytes that the build was said to take: without ``cap`` none beyond them are kept.
    """
    allowed = available() if cap is None else cap

    def taken() -> int:
        return together([*at_work, need]) + max(0, held() - together(at_work))

    if taken() > (min(foreseen, allowed) if cap is None else cap):
        give_back()
    return taken() <= allowed


def available() -> int:
    """Return the bytes that the process may take, those that it holds among them, before the machine runs
    short: a tenth of what is free stays so. Where the system does not say, of all it has."""
    return held() + free_memory() // 10 * 9


def give_back() -> None:
    """Give free memory back to the system; what is in use stays.

    Without the GNU C library nothing happens.
    """
    library = _library()
    if library is not None:
        library.malloc_trim(0)
        if _is_kept:
            _reserve()


def held() -> int:
    """Return the bytes of memory that the process holds at present, 0 where the system does not say."""
    try:
        resident = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(resident) * os.sysconf("SC_PAGE_SIZE")


def process_peak() -> int:
    """Return the most memory in bytes that the process has held since it began."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@cache
def _library() -> ctypes.CDLL | None:
    """The GNU C library, or None where there is another."""
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def _reserve() -> None:
    """Let the allocator's region grow, in large pages, without touching them."""
    with contextlib.suppress(MemoryError):
        # numpy asks for large pages, and the region stays as it is after the array is gone.
        np.empty(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 * 3, np.uint8)
