"""The arrays with which kernels solve cells: frames, pools of exit values, workspaces and reused memory.

The memory of large arrays is reused, because cells that are solved one after another need arrays of similar
sizes. Using new memory costs seconds per GiB, because the system clears every page. Using memory again costs
a tenth of a second per GiB.
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
from tbgen.index.layout import Side
from tbgen.index.zeroing import CAPTURED_PAWN
from tbgen.moves.geometry import ORTHODOX
from tbgen.moves.kernels.targets import ALL_PROVED, NOTHING_PROVED, ROUTE_COUNT
from tbgen.moves.kernels.words import ALL, Codes, Plies, Words
from tbgen.moves.pool import Map
from tbgen.moves.structs import FROZEN, NO_DIGIT, NO_PROVER, Frame, Pool, Routes, Targets
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.workspace import give_up_results, workspace_of
from tbgen.system.memory import invalidate, zeros

_MIN_REUSED_BYTES: Final = 4 << 20
"""Minimum size of an array whose memory is reused here. The allocator itself reuses smaller blocks."""
_MAX_IDLE_BYTES: Final = 1 << 30
"""Default of the maximum amount of memory that is kept for later arrays."""
_MAX_EXCESS_SHARE: Final = 1 / 4
"""Maximum excess of reused memory over the size of the array, as a share of that size."""
_WorkspaceKey: TypeAlias = tuple[int, bool]
"""The number of words, and whether captures and pawn moves reset the accrued score."""
MIN_THREADED_SLOTS: Final = 64**3
"""Minimum number of slots of a cell for which threads are started. A smaller cell is solved in less time than
threads take to start."""
_EMPTY: Final = np.zeros(0, np.int64)
_NO_TARGETS: Final = Targets(
    number=np.zeros((2, CAPTURED_PAWN + 1, len(KINDS)), np.int64),
    swapped=_EMPTY, free_count=_EMPTY, source=np.zeros((0, 5), np.int64), pawn_count=_EMPTY,
    phase_size=_EMPTY, block_at=_EMPTY, start=np.zeros((0, 2), np.int64), rows_at=_EMPTY,
    rows=np.zeros(0, np.int32), ep_row=np.zeros((0, 16), np.int32), ep_offset=0,
)  # fmt: skip
"""Empty targets for the pools of cells, which store exits by route instead."""
_Block: TypeAlias = tuple[Codes, Plies]
RouteBounds: TypeAlias = _Block | Code
"""The lower or upper bounds of all positions that a route leads to: a block of values and depths, or one code
that holds for all of them."""


@dataclass(frozen=True, kw_only=True)
class CellFrame(Lineup):
    """The lineup of a cell, and the frame (see docs/glossary.md) with which kernels solve the cell."""

    frame: Frame

    @property
    def size(self) -> int:
        """Number of slots for one side to move."""
        return 64 * self.frame.words


def frame_of_cell(cell: Cell, castlings: tuple[Castling, ...] = ()) -> CellFrame:
    """Return the frame of a cell. ``castlings`` are the castling moves of its frozen kings and rooks."""
    lineup = lineup_of_cell(cell, castlings)
    men, squares = lineup.men, lineup.squares
    scalar_count = len(men) - 1
    shifts = [NO_DIGIT] * scalar_count
    bit_offset = 0
    for man_index in range(scalar_count - 1, -1, -1):
        if squares[man_index] == MOBILE:
            shifts[man_index] = bit_offset
            bit_offset += 6
    colours = [man.colour for man in men]
    mover_colours = [c if q == MOBILE else FROZEN for c, q in zip(colours, squares, strict=True)]
    frame = Frame(
        moves=ORTHODOX,
        kinds=np.array([man.kind for man in men], np.int64),
        colours=np.array(colours, np.int64),
        mover_colours=np.array(mover_colours, np.int64),
        shifts=np.array(shifts, np.int64),
        frozen_squares=np.array([max(square, 0) for square in squares[:-1]], np.int64),
        bit_man_squares=ALL if squares[-1] == MOBILE else np.uint64(1 << squares[-1]),
        scalars=scalar_count,
        pawnless=False,
        king_pairs=np.zeros((0, 2), np.int64),
        pair_numbers=np.zeros((0, 64), np.int64),
        words=1 << bit_offset,
        pawns=np.array(cell.pawns, np.uint64),
        castlings=np.array(
            [
                (squares.index(move.king), squares.index(move.rook), move.king_to, move.rook_to)
                for move in castlings
            ],
            np.int64,
        ).reshape(-1, 4),
        like_scalars=np.zeros((0, 2), np.int64),
    )
    return CellFrame(**vars(lineup), frame=frame)


class ReusedMemory:
    """Keeps the memory of large arrays that are no longer used, so that later arrays reuse it. Thread-safe.

    :param max_idle_bytes: maximum number of bytes that are kept.
    """

    def __init__(self, max_idle_bytes: int = _MAX_IDLE_BYTES) -> None:
        self._max_idle_bytes = max_idle_bytes
        self._lock = Lock()
        self._idle: list[NDArray[np.uint8]] = []
        """Memory for later arrays, least recently used first."""
        self._freed: deque[NDArray[np.uint8]] = deque()
        """Memory of deleted arrays. An array may be deleted while the lock is held: this uses no lock."""

    @property
    def idle_bytes(self) -> int:
        """Number of bytes that are kept for later arrays."""
        with self._lock:
            self._keep_freed()
            return sum(map(len, self._idle))

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of the given shape and type, with undefined elements.

        :raises MemoryError: if too little memory is available.
        """
        count = prod(np.atleast_1d(shape).tolist())
        size = count * np.dtype(dtype).itemsize
        if size < _MIN_REUSED_BYTES:
            return np.empty(shape, dtype)
        memory = self._pop_fitting(size)
        if memory is None:
            memory = zeros(size, np.uint8)
        invalidate(memory)
        # A view of this array keeps the array itself alive, and not merely the memory below it. numpy
        # skips to the base of an array only if the base is an array too; here it is a memoryview.
        array = np.frombuffer(memory.data, dtype, count)
        weakref.finalize(array, self._freed.append, memory).atexit = False
        return array.reshape(shape)

    def release(self) -> None:
        """Return all kept memory to the system."""
        with self._lock:
            self._freed.clear()
            self._idle.clear()

    def _pop_fitting(self, size: int) -> NDArray[np.uint8] | None:
        """Remove and return the smallest kept memory that fits ``size`` bytes; return None if none fits."""
        with self._lock:
            self._keep_freed()
            max_size = size + size * _MAX_EXCESS_SHARE
            best_size = min((n for n in map(len, self._idle) if size <= n <= max_size), default=None)
            if best_size is None:
                return None
            return self._idle.pop(next(i for i, memory in enumerate(self._idle) if len(memory) == best_size))

    def _keep_freed(self) -> None:
        """Keep the memory of deleted arrays. Drop the least recently used memory until the maximum is met."""
        while self._freed:
            self._idle.append(self._freed.popleft())
        while sum(map(len, self._idle)) > self._max_idle_bytes:
            del self._idle[0]


ARRAY_MEMORY: Final = ReusedMemory()
"""Memory of the large arrays of cells."""


class WorkspaceCache:
    """Lends workspaces and keeps the returned ones for reuse. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._idle: dict[_WorkspaceKey, list[Workspace]] = {}

    @contextmanager
    def lend(self, frame: Frame, resets: bool) -> Iterator[Workspace]:
        """Lend a workspace with undefined content for the given frame.

        :raises MemoryError: if too little memory is available.
        """
        key = frame.words, resets
        with self._lock:
            idle = self._idle.get(key)
            workspace = idle.pop() if idle else None
        workspace = _with_frame(workspace, frame) if workspace else workspace_for_cell(frame, resets)
        yield workspace
        give_up_results(workspace)
        # After an error in the caller's block, the code below does not run. The workspace may then be
        # inconsistent, so it is not reused.
        with self._lock:
            self._idle.setdefault(key, []).append(workspace)

    def release(self) -> None:
        """Drop all workspaces that are not lent at the moment."""
        with self._lock:
            self._idle.clear()


WORKSPACES: Final = WorkspaceCache()
"""The workspaces of this process."""


def workspace_for_cell(frame: Frame, resets: bool = True) -> Workspace:
    """Return a new workspace for a cell, which is solved like a phase without en passant positions."""
    return workspace_of(frame, resets, np.zeros((0, 2), np.int64))


def _with_frame(workspace: Workspace, frame: Frame) -> Workspace:
    """Return a workspace with the same arrays for another frame, which has the same number of words."""
    white, black = (replace(attacker, frame=frame) for attacker in workspace.attackers)
    return replace(workspace, frame=frame, attackers=(white, black))


@contextmanager
def threaded_map(threads: int, slots: int) -> Iterator[Map]:
    """Yield a function like ``map`` that distributes its calls over threads.

    With one thread, or fewer than :data:`MIN_THREADED_SLOTS` slots, it is the built-in ``map``.
    """
    if threads == 1 or slots < MIN_THREADED_SLOTS:
        yield map
    else:
        with ThreadPoolExecutor(threads) as executor:
            yield executor.map


def pools_of(
    lineup: Lineup, bounds: Mapping[int, Sequence[RouteBounds]], unknown: Sequence[Code], mapper: Map
) -> list[Pool]:
    """Return a pool of exit values for each end: one for lower bounds, one for upper bounds.

    The pools share their arrays, which store equal blocks once.

    :param bounds: maps each route number to the bounds at each end.
    :param unknown: for each end, the code to use for positions whose code in a block is ``NONE``.
    :param mapper: a function like ``map``, which may distribute the copying over threads.
    """
    block_number = np.zeros(ROUTE_COUNT, np.int16)
    ends = range(len(unknown))
    block_number[list(bounds)] = np.arange(1, len(bounds) + 1)
    begin = np.empty((len(unknown), len(bounds) + 1), np.int64)
    begin[:, 0] = [-1 - code for code in unknown]
    copies: list[tuple[int, _Block]] = []
    size = 0
    for row, row_bounds in enumerate(bounds.values(), start=1):
        last_block: _Block | None = None
        for end in ends:
            if not isinstance(entry := row_bounds[end], tuple):
                begin[end, row] = -1 - entry
            elif last_block is not None and _are_equal(last_block, entry):
                begin[end, row] = begin[end - 1, row]
            else:
                copies.append((size, entry))
                begin[end, row] = size
                size += len(entry[0])
                last_block = entry
    value, depth = ARRAY_MEMORY.empty(size, np.uint8), ARRAY_MEMORY.empty(size, np.uint16)

    def copy(block: tuple[int, _Block]) -> None:
        begin, (values, depths) = block
        value[begin : begin + len(values)] = values
        depth[begin : begin + len(depths)] = depths

    list(mapper(copy, copies))
    squares = np.array(lineup.squares, np.int64)
    pawns = np.array(lineup.cell.pawns, np.uint64)
    return [
        Pool(
            value,
            depth,
            _NO_TARGETS,
            Routes(block_number, begin[end], squares, pawns, int(unknown[end])),
            np.empty(0, np.uint64),
            NO_PROVER,
        )
        for end in ends
    ]


def pool_of_proofs(lineup: Lineup, proofs: Mapping[int, Words | bool], prover: Side) -> Pool:
    """Return a pool that says after which moves out of a cell a threshold is proved.

    What the pool does not contain is not proved.

    :param proofs: maps each route number to the positions for which the threshold is proved, one bit for
        each slot of the route's block, at least 64 bits; or to True or False for all positions.
    :param prover: the side that proves the threshold.
    """
    block_number = np.zeros(ROUTE_COUNT, np.int16)
    block_number[list(proofs)] = np.arange(1, len(proofs) + 1)
    start = [int(NOTHING_PROVED)]
    words = [np.zeros(0, np.uint64)]
    size = 0
    for proof in proofs.values():
        if isinstance(proof, bool):
            start.append(int(ALL_PROVED if proof else NOTHING_PROVED))
        else:
            start.append(64 * size)
            words.append(proof)
            size += len(proof)
    squares, pawns = np.array(lineup.squares, np.int64), np.array(lineup.cell.pawns, np.uint64)
    routes = Routes(block_number, np.array(start, np.int64), squares, pawns, 0)
    no_values = np.empty(0, np.uint8), np.empty(0, np.uint16)
    return Pool(*no_values, _NO_TARGETS, routes, np.concatenate(words), int(prover))


def _are_equal(one: _Block, other: _Block) -> bool:
    return one is other or (np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1]))
