"""Memory of large arrays that is used again.

Memory never touched before costs seconds for each GiB, since the system clears every page of it, and a
tenth of a second from then on. Cells are solved one after the other, and need about the same arrays.
"""

import weakref
from collections import deque
from math import prod
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tbgen.retro.cache_lines import zeros

_LARGE: Final = 4 << 20
"""Bytes from which on an array is large: smaller ones are used again by the allocator itself."""
_KEPT: Final = 1 << 30
"""Bytes that are kept for later arrays at most."""
_SPARE: Final = 4
"""One in so many bytes of an array's memory may be left over."""


class ReusedMemory:
    """Large arrays whose memory is kept, when nobody uses them any more, for later ones; safe for threads.

    :param most: bytes that are kept at most.
    """

    def __init__(self, most: int = _KEPT) -> None:
        self._most = most
        self._lock = Lock()
        self._idle: list[NDArray[np.uint8]] = []
        """The one used last comes last."""
        self._left: deque[NDArray[np.uint8]] = deque()
        """Those that nobody uses any more; arrays may go at any time, while the lock is held too."""

    @property
    def idle(self) -> int:
        """Bytes that are kept for later arrays."""
        with self._lock:
            self._gather()
            return sum(map(len, self._idle))

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of this shape, whatever its elements are.

        :raises MemoryError: if there is too little.
        """
        count = prod(np.atleast_1d(shape).tolist())
        size = count * np.dtype(dtype).itemsize
        if size < _LARGE:
            return np.empty(shape, dtype)
        memory = self._taken(size)
        if memory is None:
            memory = zeros(size, np.uint8)
        # All its views refer to this array, since what it is made of is not one itself.
        array = np.frombuffer(memory.data, dtype, count)
        weakref.finalize(array, self._left.append, memory).atexit = False
        return array.reshape(shape)

    def release(self) -> None:
        """Give what is kept back to the system."""
        with self._lock:
            self._left.clear()
            self._idle.clear()

    def _taken(self, size: int) -> NDArray[np.uint8] | None:
        """Take the least memory for so many bytes from what is kept, if there is any not much larger."""
        with self._lock:
            self._gather()
            fitting = (len(memory) for memory in self._idle if size <= len(memory) <= size + size // _SPARE)
            least = min(fitting, default=None)
            if least is None:
                return None
            return self._idle.pop(next(at for at, each in enumerate(self._idle) if len(each) == least))

    def _gather(self) -> None:
        """Move what nobody uses any more to what is kept, and drop what was used before if it is too much."""
        while self._left:
            self._idle.append(self._left.popleft())
        while sum(map(len, self._idle)) > self._most:
            del self._idle[0]


MEMORY: Final = ReusedMemory()
"""That of cells."""
