"""Work that threads share, where it is worth their start."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from tbgen.retro.pool import Map

WORTH_THREADS: Final = 64**3
"""Slots of a cell from which on threads are worth their start, which takes longer than a small cell."""


@contextmanager
def shared_map(threads: int, slots: int) -> Iterator[Map]:
    """Yield a ``map`` whose calls threads share; ``map`` itself for one thread or less than
    :data:`WORTH_THREADS` slots."""
    if threads == 1 or slots < WORTH_THREADS:
        yield map
    else:
        with ThreadPoolExecutor(threads) as executor:
            yield executor.map
