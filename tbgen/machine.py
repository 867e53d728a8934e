"""What the machine has to give."""

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
