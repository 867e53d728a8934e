"""What the machine has to give, and what the process takes of it."""

import ctypes
import os
import re
from pathlib import Path


def free_memory() -> int:
    """Return how many bytes of memory are free; where the system does not say, all that the machine has."""
    try:
        found = re.search(r"^MemAvailable: *(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return int(found[1]) << 10 if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def give_back() -> None:
    """Give free memory back to the system; what is in use stays.

    Without the GNU C library nothing happens.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def held() -> int:
    """Return the bytes of memory that the process holds at present, 0 where the system does not say."""
    try:
        resident = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(resident) * os.sysconf("SC_PAGE_SIZE")


def processors() -> int:
    """Return how many processors this process may use."""
    return len(usable_processors())


def usable_processors() -> list[int]:
    """Return the numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
