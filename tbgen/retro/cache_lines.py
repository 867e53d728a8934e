"""Arrays that begin with a cache line, for what is read and written a whole line at a time.

Allocators align to 16 bytes. A record of 64 bytes then lies across two lines, only one of which a prefetch
brings, and every visit takes both.
"""

from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

LINE: Final = 64
"""Bytes of a cache line."""


def zeros(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros of this shape that begins with a cache line; its memory is taken when it is
    written to, like that of ``np.zeros``."""
    size = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(dtype).reshape(shape)
