"""What kernels solve cells with: frames, pools of what exits are worth, rooms and memory that are kept.

Memory of large arrays that is used again. Memory never touched before costs seconds for each GiB, since the
system clears every page of it, and a tenth of a second from then on. Cells are solved one after the other,
and need about the same arrays.
"""

import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from threading import Lock
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tbgen.board.kinds import KINDS
from tbgen.board.score import Code
from tbgen.cells.cell import MOBILE, Castling, Cell, Lineup, lineup_of_cell
from tbgen.index.zeroing import CAPTURED_PAWN
from tbgen.retro.geometry import ORTHODOX
from tbgen.retro.kernels.frame import FROZEN, NO_DIGIT, Frame
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.targets import ROUTES, Pool, Routes, Targets
from tbgen.retro.kernels.words import ALL, Codes, Plies
from tbgen.retro.pool import Map
from tbgen.retro.workspace import workspace_of, zeros


@dataclass(frozen=True, kw_only=True)
class CellFrame(Lineup):
    """A cell's frame."""

    frame: Frame

    @property
    def size(self) -> int:
        """Number of slots for one side to move."""
        return 64 * self.frame.words


def frame_of_cell(cell: Cell, castlings: tuple[Castling, ...] = ()) -> CellFrame:
    """Return the frame of a cell, whose frozen kings and rooks may castle in some ways."""
    lineup = lineup_of_cell(cell, castlings)
    men, squares = lineup.men, lineup.squares
    scalars = len(men) - 1
    shifts, digit = [NO_DIGIT] * scalars, 0
    for man in range(scalars - 1, -1, -1):
        if squares[man] == MOBILE:
            shifts[man] = digit
            digit += 6
    colours = [man.colour for man in men]
    frame = Frame(
        ORTHODOX,
        np.array([man.kind for man in men], np.int64),
        np.array(colours, np.int64),
        np.array([c if q == MOBILE else FROZEN for c, q in zip(colours, squares, strict=True)], np.int64),
        np.array(shifts, np.int64),
        np.array([max(square, 0) for square in squares[:-1]], np.int64),
        ALL if squares[-1] == MOBILE else np.uint64(1 << squares[-1]),
        scalars,
        False,
        1 << digit,
        np.array(cell.pawns, np.uint64),
        np.array(
            [
                (squares.index(way.king), squares.index(way.rook), way.king_to, way.rook_to)
                for way in castlings
            ],
            np.int64,
        ).reshape(-1, 4),
    )
    return CellFrame(**vars(lineup), frame=frame)


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

_Kind: TypeAlias = tuple[int, bool]
"""Number of words, and whether captures and pawn moves reset the accrued score."""


class CellRooms:
    """Lends rooms; safe for threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: dict[_Kind, list[Workspace]] = {}

    @contextmanager
    def lent(self, frame: Frame, resets: bool) -> Iterator[Workspace]:
        """Lend a room for a frame, whatever it holds.

        :raises MemoryError: if there is too little.
        """
        kind = frame.words, resets
        with self._lock:
            idle = self._idle.get(kind)
            room = idle.pop() if idle else None
        room = room_for_cell(frame, resets) if room is None else _with_frame(room, frame)
        yield room
        # After an error nobody knows what it holds.
        with self._lock:
            self._idle.setdefault(kind, []).append(room)

    def release(self) -> None:
        """Drop the rooms that nobody uses."""
        with self._lock:
            self._idle.clear()


ROOMS: Final = CellRooms()
"""Those of this process."""


def room_for_cell(frame: Frame, resets: bool = True) -> Workspace:
    """Return room to solve a cell: that of a phase."""
    return workspace_of(frame, resets, np.zeros((0, 2), np.int64))


def _with_frame(workspace: Workspace, frame: Frame) -> Workspace:
    """Return the same room for another frame of as many words."""
    white, black = (replace(attacker, frame=frame) for attacker in workspace.attackers)
    return replace(workspace, frame=frame, attackers=(white, black))


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


_EMPTY: Final = np.zeros(0, np.int64)
_NO_TARGETS: Final = Targets(
    np.zeros((2, CAPTURED_PAWN + 1, len(KINDS)), np.int64), _EMPTY, _EMPTY, np.zeros((0, 5), np.int64),
    _EMPTY, _EMPTY, _EMPTY, np.zeros((0, 2), np.int64), _EMPTY, np.zeros(0, np.int32),
    np.zeros((0, 16), np.int32), 0,
)  # fmt: skip
"""A directory of no tables."""


_Block: TypeAlias = tuple[Codes, Plies]
Worth: TypeAlias = _Block | Code
"""One end of what is known about all positions that a route leads to: their values and depths, or a code that
bounds all of them. Either all blocks have depths, or none has: these are empty then."""


def pools_of(
    lineup: Lineup, worths: Mapping[int, Sequence[Worth]], unknown: Sequence[Code], run: Map
) -> list[Pool]:
    """Return a pool for each end; their blocks lie in the same arrays, equal ones once.

    :param worths: by a route's number, its worth at each end.
    :param unknown: at each end, the worth of positions without value in a block.
    :param run: called like ``map``; may spread the copying over threads.
    """
    number, ends = np.zeros(ROUTES, np.int16), range(len(unknown))
    number[list(worths)] = np.arange(1, len(worths) + 1)
    begin = np.empty((len(unknown), len(worths) + 1), np.int64)
    begin[:, 0] = [-1 - code for code in unknown]
    laid: list[tuple[int, _Block]] = []
    at = 0
    for way, worth in enumerate(worths.values(), start=1):
        before: _Block | None = None
        for end in ends:
            if not isinstance(here := worth[end], tuple):
                begin[end, way] = -1 - here
            elif before is not None and _equal(before, here):
                begin[end, way] = begin[end - 1, way]
            else:
                laid.append((at, here))
                begin[end, way] = at
                at += len(here[0])
                before = here
    timed = laid and len(laid[0][1][1])
    value, depth = MEMORY.empty(at, np.uint8), MEMORY.empty(at if timed else 0, np.uint16)

    def lay(placed: tuple[int, _Block]) -> None:
        first, (values, depths) = placed
        value[first : first + len(values)] = values
        depth[first : first + len(depths)] = depths

    list(run(lay, laid))
    frozen = np.array(lineup.squares, np.int64)
    pawns = np.array(lineup.cell.pawns, np.uint64)
    return [
        Pool(value, depth, _NO_TARGETS, Routes(number, begin[end], frozen, pawns, int(unknown[end])))
        for end in ends
    ]


def _equal(one: _Block, other: _Block) -> bool:
    return one is other or (np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1]))
