"""Memory and processors: what the machine has, and what this process may use, holds and gives back."""

import mmap
import os
import sys
from contextlib import suppress


def total_memory() -> int:
    """Return how many bytes of memory the machine has."""
    import psutil  # which takes longer than a probe

    return psutil.virtual_memory().total


def free_memory() -> int:
    """Return how many bytes of memory are free."""
    import psutil

    return psutil.virtual_memory().available


def held() -> int:
    """Return the bytes of memory that this process holds at present."""
    import psutil

    return psutil.Process().memory_info().rss


def peak() -> int:
    """Return the most memory in bytes that this process has held since it began."""
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)


def give_back() -> None:
    """Give free memory back to the system; what is in use stays.

    Without the GNU C library nothing happens.
    """
    if sys.platform == "linux":
        import ctypes

        library = ctypes.CDLL(None)
        if hasattr(library, "malloc_trim"):
            library.malloc_trim(0)


def forget(mapped: mmap.mmap) -> None:
    """Give back the memory of a mapped file, which stays in the cache of the system.

    Windows does so by itself.
    """
    if sys.platform != "win32":
        mapped.madvise(mmap.MADV_DONTNEED)


def use_large_pages(memory: mmap.mmap) -> None:
    """Have memory lie in large pages, where the system has some."""
    if sys.platform == "linux":
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)


def processors() -> int:
    """Return how many processors this process may use."""
    return len(usable_processors())


def usable_processors() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def workers(wanted: int) -> int:
    """Return how many processes a pool may have that is to have so many: Windows waits for 61 at the most."""
    return min(wanted, 61) if sys.platform == "win32" else wanted
