"""Working memory of kernels: rooms of each thread."""

import threading
from typing import Final

import numpy as np

from tbgen.compiler.jit import python_of
from tbgen.packed.kernels.blocks import BLOCK_ROWS, BLOCK_SLOTS, MOST_STEPS, Room, RowBlock
from tbgen.packed.kernels.derive import Derived, Replies
from tbgen.packed.kernels.rows import MAX_FREE, MAX_MOVES
from tbgen.packed.kernels.zeroing import MoveRoom
from tbgen.retro.kernels.moves import MAX_WORD_MOVES, move_buffer
from tbgen.retro.kernels.targets import men_buffer


def make_room() -> Room:
    """Return working memory for one thread."""
    masks, checks, captures = np.zeros((3, BLOCK_ROWS), np.uint64)
    squares, child, image = np.zeros((3, MAX_FREE), np.int64)
    moves, replies = np.zeros((2, MAX_MOVES), np.int64)
    symbol, half = np.zeros(BLOCK_SLOTS, np.uint8), np.zeros(BLOCK_SLOTS, np.uint16)
    block = RowBlock(masks, checks, captures, symbol, half, np.zeros(BLOCK_SLOTS, np.uint32))
    steps, above = np.zeros(MOST_STEPS * BLOCK_SLOTS, np.int64), np.zeros((3, 64), np.int64)
    return Room(squares, child, image, moves, replies, steps, above, block)


def make_derived() -> Derived:
    """Return room to derive one word after the other."""
    (best, value), plies = np.zeros((2, 64), np.uint8), np.zeros((3, 64), np.uint16)
    values, ranks = np.zeros((2, 192), np.uint8)
    return Derived(
        python_of(move_buffer)(MAX_WORD_MOVES),
        best,
        plies[0],
        plies[1],
        np.zeros(1, np.uint64),
        value,
        plies[2],
        np.zeros(8, np.int64),
        Replies(values, np.zeros(192, np.uint16), ranks),
    )


def make_move_room() -> MoveRoom:
    """Return working memory to list zeroing moves."""
    squares, child = np.zeros((2, MAX_FREE), np.int64)
    return MoveRoom(squares, python_of(men_buffer)(), child)


class _Rooms(threading.local):
    """The rooms of one thread, made when it first asks for them."""

    def __init__(self) -> None:
        self.room, self.derived, self.moves = make_room(), make_derived(), make_move_room()


THREAD: Final = _Rooms()
"""The rooms of whichever thread asks; no kernel leaves anything there for the next one."""
