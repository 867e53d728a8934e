"""Memory and processors: totals of the machine, usage of this process, and release of unused memory."""

import mmap
import os
import sys
from contextlib import suppress


def total_memory() -> int:
    """Return the memory of the machine in bytes."""
    import psutil  # imported here, because the import takes longer than a probe

    return psutil.virtual_memory().total


def available_memory() -> int:
    """Return the available memory of the machine in bytes."""
    import psutil

    return psutil.virtual_memory().available


def resident_memory() -> int:
    """Return the resident memory of this process in bytes."""
    import psutil

    return psutil.Process().memory_info().rss


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes."""
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)


def trim_memory() -> None:
    """Return unused memory of this process to the system; without the GNU C library, do nothing."""
    if sys.platform == "linux":
        import ctypes

        library = ctypes.CDLL(None)
        if hasattr(library, "malloc_trim"):
            library.malloc_trim(0)


def release_pages(mapping: mmap.mmap, start: int = 0) -> None:
    """Release the memory of a mapping from byte ``start`` on, rounded up to whole pages.

    The content of a mapped file remains in the system's file cache; other content is lost. Windows releases
    the memory of mapped files by itself, and keeps other memory until the mapping is closed.
    """
    start += -start % mmap.PAGESIZE
    if sys.platform != "win32" and start < len(mapping):
        mapping.madvise(mmap.MADV_DONTNEED, start)


def use_large_pages(memory: mmap.mmap) -> None:
    """Use large pages for mapped memory if the system supports them."""
    if sys.platform == "linux":
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)


def processor_count() -> int:
    """Return the number of processors that this process may use."""
    return len(usable_processors())


def usable_processors() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pool_size(processes: int) -> int:
    """Return ``processes``, limited to the allowed size of a process pool, which is 61 on Windows."""
    return min(processes, 61) if sys.platform == "win32" else processes
