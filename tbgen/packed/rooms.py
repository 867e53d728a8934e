"""Working memory of kernels: rooms that threads take and give back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

import numpy as np

from tbgen.packed.kernels.blocks import BLOCK_ROWS, BLOCK_SLOTS, MOST_STEPS, Room, RowBlock
from tbgen.packed.kernels.derive import Derived, Replies
from tbgen.packed.kernels.position import MAX_MOVES
from tbgen.packed.kernels.rows import MAX_FREE
from tbgen.retro.kernels.moves import MAX_ORIGINS, Onward

T = TypeVar("T")
R = TypeVar("R")


class RoomPool(Generic[T]):
    """Rooms of one kind; as many are made as are taken at once. Safe for threads.

    :param make: makes one.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._free = make, list[T]()

    @contextmanager
    def one(self) -> Iterator[T]:
        """Yield a room, which nobody else has until the end."""
        try:
            room = self._free.pop()
        except IndexError:
            room = self._make()
        yield room
        self._free.append(room)

    def lent(self, kernel: Callable[..., R]) -> Callable[..., R]:
        """Return a kernel for a part of something that gets its room by itself.

        :param kernel: its last arguments are a room, and the first and the end of the part.
        """

        def call(*given: Any) -> R:
            with self.one() as room:
                return kernel(*given[:-2], room, *given[-2:])

        return call


def make_room() -> Room:
    """Return working memory for one thread."""
    masks, checks, captures = np.zeros((3, BLOCK_ROWS), np.uint64)
    squares, child, image = np.zeros((3, MAX_FREE), np.int64)
    moves, replies = np.zeros((2, MAX_MOVES), np.int64)
    symbol, half = np.zeros(BLOCK_SLOTS, np.uint8), np.zeros(BLOCK_SLOTS, np.uint16)
    block = RowBlock(masks, checks, captures, symbol, half, np.zeros(BLOCK_SLOTS, np.uint32))
    steps, above = np.zeros(MOST_STEPS * BLOCK_SLOTS, np.int64), np.zeros((3, 64), np.int64)
    return Room(squares, child, image, moves, replies, steps, above, block)


ROOMS: Final = RoomPool(make_room)
"""The rooms of all threads that encode and decode."""


def make_derived() -> Derived:
    """Return room to derive one word after the other."""
    words, symmetries = np.zeros((2, MAX_ORIGINS), np.int64)
    squares, more_squares = np.zeros((2, 8), np.int64)
    (best, value), plies = np.zeros((2, 64), np.uint8), np.zeros((3, 64), np.uint16)
    values, ranks = np.zeros((2, 192), np.uint8)
    return Derived(
        Onward(words, symmetries, np.zeros(MAX_ORIGINS, np.uint64), squares),
        best,
        plies[0],
        plies[1],
        np.zeros(1, np.uint64),
        value,
        plies[2],
        more_squares,
        Replies(values, np.zeros(192, np.uint16), ranks),
    )


DERIVED: Final = RoomPool(make_derived)
"""The rooms of all threads that derive positions."""
