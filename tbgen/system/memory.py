"""Memory and processors: totals of the machine, usage of this process, and release of unused memory."""

import mmap
import os
import sys
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

_MIN_UNLOADED_BYTES: Final = 64 << 20
"""Minimum size in bytes of a :class:`FileMemory` whose pages are unloaded.

Reading the pages of a smaller one again would take time and save little memory."""

CHECKS_MEMORY = bool(os.environ.get("TBGEN_CHECK_MEMORY"))
"""Whether to search for mistakes: content that is no longer needed is replaced by a pattern."""
_PATTERN: Final = 0xA5
"""The byte that replaces content if ``CHECKS_MEMORY`` is set."""

# Allocators align arrays to 16 bytes only. A record of 64 bytes would then usually extend over two cache
# lines, and a prefetch would load only one of them. Large arrays have their own memory mappings with large
# pages, which the system allocates in parallel when threads first write to them.
CACHE_LINE: Final = 64
"""Size of a cache line in bytes."""
_MIN_LARGE_BYTES: Final = 4 << 20
"""Minimum size in bytes of an array with its own memory mapping."""


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


class FileMemory(mmap.mmap):
    """Private memory with the content of a file. Changes do not reach the file."""


def unload(array: "NDArray[Any]") -> None:
    """Unload whole pages of an array from memory if it is part of a large :class:`FileMemory`.

    The pages are read again when they are needed, mostly from the file cache of the system; changes in them
    are lost. Other arrays are not affected. Windows removes such pages by itself when memory runs short.
    """
    memory, start = memory_of(array)
    if isinstance(memory, FileMemory) and len(memory) >= _MIN_UNLOADED_BYTES:
        release_pages(memory, start, start + array.nbytes)


def discard(array: "NDArray[Any]") -> None:
    """Release the memory of an array, in whole pages, if it is mapped memory. Its elements must be written
    before they are read again.

    Windows keeps the memory until the mapping is closed.
    """
    invalidate(array)
    memory, start = memory_of(array)
    if memory is not None and not CHECKS_MEMORY:
        release_pages(memory, start, start + array.nbytes)


def invalidate(array: "NDArray[Any]") -> None:
    """Declare that the content of a contiguous array is no longer needed."""
    if CHECKS_MEMORY:
        array.reshape(-1).view("u1").fill(_PATTERN)


def memory_of(array: "NDArray[Any]") -> tuple[mmap.mmap | None, int]:
    """Return the mapping in which an array lies, and the index of the array's first byte in it.

    The mapping is None if the array lies elsewhere.
    """
    import ctypes

    base: Any = array
    while hasattr(base, "base"):
        base = base.base
    memory = getattr(base, "obj", None)
    if not isinstance(memory, mmap.mmap):
        return None, 0
    return memory, array.ctypes.data - ctypes.addressof(ctypes.c_char.from_buffer(memory))


def release_pages(mapping: mmap.mmap, start: int = 0, stop: int | None = None) -> None:
    """Release the memory of the whole pages of a mapping between the bytes ``start`` and ``stop``.

    The content of a mapped file remains in the system's file cache; other content is lost. Windows releases
    the memory of mapped files by itself, and keeps other memory until the mapping is closed.
    """
    start += -start % mmap.PAGESIZE
    stop = len(mapping) if stop is None else stop - stop % mmap.PAGESIZE
    if sys.platform != "win32" and start < stop:
        mapping.madvise(mmap.MADV_DONTNEED, start, stop - start)


def zeros(shape: int | tuple[int, ...], dtype: "DTypeLike", *, large_pages: bool = True) -> "NDArray[Any]":
    """Return an array of zeros that is aligned to a cache line.

    The system allocates memory only for pages that are written to.

    :param large_pages: whether a large array may have large pages. Small pages take less memory if several
        parts of the array are filled only in part, and more time when they are first written to.
    :raises MemoryError: if the system has too little memory.
    """
    import numpy as np  # imported here, because commands that need no arrays import this module

    size = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if size >= _MIN_LARGE_BYTES:
        memory = _mapped_memory(size)
        if large_pages:
            use_large_pages(memory)
        return np.frombuffer(memory, dtype, size // np.dtype(dtype).itemsize).reshape(shape)
    buffer = np.zeros(size + CACHE_LINE, np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + size].view(dtype).reshape(shape)


def _mapped_memory(size: int) -> mmap.mmap:
    """Return ``size`` bytes of private memory, which are freed when the last array in them is deleted."""
    try:
        memory = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise MemoryError(f"cannot allocate {size} bytes of memory: {error}") from error
    return memory


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
