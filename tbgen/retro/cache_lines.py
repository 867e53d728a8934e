"""Arrays of zeros that begin with a cache line, for what is read and written a whole line at a time.

Allocators align to 16 bytes. A record of 64 bytes then lies across two lines, only one of which a prefetch
brings, and every visit takes both.

Large arrays have memory of their own, straight from the system and in large pages. It is taken when it is
written to: by the threads that work on it, all at once, and not by the one that asks for it. (An allocator
may give memory that was used before, and clear it.)
"""

import mmap
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tbgen.system.memory import use_large_pages

LINE: Final = 64
"""Bytes of a cache line."""
_LARGE: Final = 4 << 20
"""Bytes from which on an array is large."""


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros of this shape that begins with a cache line; its memory is taken when it is
    written to.

    :raises MemoryError: if there is too little.
    """
    size = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if size >= _LARGE:
        return np.frombuffer(_own_memory(size), dtype, size // np.dtype(dtype).itemsize).reshape(shape)
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(dtype).reshape(shape)


def _own_memory(size: int) -> mmap.mmap:
    """Return so many bytes of memory that nobody else uses; it goes back to the system with its arrays."""
    try:
        memory = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    except OSError as error:
        raise MemoryError(f"no {size} bytes of memory: {error}") from error
    use_large_pages(memory)
    return memory
