"""The choices of packing: the stored side to move, the order of its positions, and which of them are stored.

A packed table stores the positions with one side to move, the stored side. The positions with the other side
to move, the derived side, follow from them. Only *exceptions*, which do not follow, are stored, too.

This module also makes the buffers that each thread passes to the kernels of packed tables.
"""

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import python_of
from tbgen.index.layout import BLACK_TO_MOVE, MIRROR_FILES, SIDES, WHITE_TO_MOVE, Layout, Side
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    BLOCK_SLOTS,
    CAPTURE_FLAG,
    MAX_STEPS,
    Buffers,
    RowBlock,
)
from tbgen.packed.kernels.derive import (
    DerivationBuffers,
    PhasePlies,
    Replies,
    clear_flags,
    find_exceptions,
    find_needed,
    find_ranks,
    find_usable,
    mark_captures,
)
from tbgen.packed.kernels.rows import MAX_FREE, MAX_MOVES, Rows
from tbgen.packed.kernels.zeroing import ZeroingBuffers
from tbgen.retro.geometry import BIT, IMAGES
from tbgen.retro.kernels.canonical import copy_canonical
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.moves import MAX_WORD_MOVES, move_buffer
from tbgen.retro.kernels.phase import find_side_exits
from tbgen.retro.kernels.targets import Pool, men_buffer
from tbgen.retro.kernels.words import ALL
from tbgen.retro.pool import Map
from tbgen.retro.workspace import like_men_of, mirrors_itself, table_slots, to_table_order
from tbgen.store.schema import slots_in

_PIECE_VALUES = (0, 9, 5, 3, 3)
"""Values of king, queen, rook, bishop and knight, in pawns."""

_MIN_ADVANTAGE_PAWNS = 2
"""Minimum advantage of the stronger side for which the positions with this side to move are stored."""


def stored_side(layout: Layout) -> Side:
    """Return the side to move that is stored: White, the stronger side, unless the ending is balanced.

    The stored side should have few positions with similar values. If White wins, these are the positions with
    White to move. In balanced endings, they are those of the side with fewer moves (docs/format.md has
    measurements).
    """
    advantage = layout.white_pawns - layout.black_pawns
    for kind, colour in zip(layout.kinds, layout.colours, strict=True):
        advantage += -_PIECE_VALUES[kind] if colour else _PIECE_VALUES[kind]
    return WHITE_TO_MOVE if advantage >= _MIN_ADVANTAGE_PAWNS else BLACK_TO_MOVE


def digit_order(layout: Layout, side: Side) -> list[int]:
    """Return the free men in the order of the digits of a row's number, most significant first, then the row
    man.

    :mod:`tbgen.packed.kernels.rows` explains rows.
    The men of the side not to move come first. Kings precede pieces, and knights precede sliders.
    """

    def men(colour: int) -> list[int]:
        pieces = [man for man in range(2, layout.free_count) if layout.colours[man] == colour]
        return [colour, *sorted(pieces, key=lambda man: (-layout.kinds[man], man))]

    return men(1 - side) + men(side)


@functools.cache
def rows_of(layout: Layout, side: Side) -> Rows:
    """Return the rows of a table with one side to move, as the kernels read them."""
    order = digit_order(layout, side)
    radix = [10 if man == 0 and not layout.pawns else 64 for man in order[:-1]]
    placements = np.array(layout.placements, np.int64)
    pawns, images = (_pawns_of(layout, squares) for squares in (placements, IMAGES[MIRROR_FILES][placements]))
    return Rows(
        int(side),
        np.array(layout.kinds, np.int64),
        np.array(layout.colours, np.int64),
        np.array(order, np.int64),
        np.arange(layout.free_count),
        like_men_of(layout),
        not layout.pawns,
        int(np.prod(radix)),
        pawns,
        6 * (layout.free_count - 1 - order[-1]),
        (pawns == images).all(axis=1).astype(np.int64),
    )


def _pawns_of(layout: Layout, placements: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the squares of White's and Black's pawns as bitboards, uint64 (n, 2)."""
    colours = placements[:, : layout.white_pawns], placements[:, layout.white_pawns :]
    return np.stack([np.bitwise_or.reduce(BIT[squares], axis=1) for squares in colours], axis=1)


def make_buffers() -> Buffers:
    """Return the buffers of one thread."""
    masks, checks, captures = np.zeros((3, BLOCK_ROWS), np.uint64)
    squares, child, image = np.zeros((3, MAX_FREE), np.int64)
    moves, replies = np.zeros((2, MAX_MOVES), np.int64)
    symbol, half = np.zeros(BLOCK_SLOTS, np.uint8), np.zeros(BLOCK_SLOTS, np.uint16)
    block = RowBlock(masks, checks, captures, symbol, half, np.zeros(BLOCK_SLOTS, np.uint32))
    steps, above = np.zeros(MAX_STEPS * BLOCK_SLOTS, np.int64), np.zeros((3, 64), np.int64)
    return Buffers(squares, child, image, moves, replies, steps, above, block)


def make_derivation() -> DerivationBuffers:
    """Return buffers to derive one word after another."""
    (best, value), plies = np.zeros((2, 64), np.uint8), np.zeros((3, 64), np.uint16)
    values, ranks = np.zeros((2, 192), np.uint8)
    return DerivationBuffers(
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


def make_zeroing_buffers() -> ZeroingBuffers:
    """Return buffers to list zeroing moves."""
    squares, child = np.zeros((2, MAX_FREE), np.int64)
    return ZeroingBuffers(squares, python_of(men_buffer)(), child)


class _ThreadBuffers(threading.local):
    """Buffers of one thread, made when the thread first uses them."""

    def __init__(self) -> None:
        self.buffers, self.deriving, self.zeroing = make_buffers(), make_derivation(), make_zeroing_buffers()


THREAD: Final = _ThreadBuffers()
"""Buffers of the current thread. They pass no data from one call of a kernel to the next."""


_SEARCH_ROUNDS: Final = 2
"""Number of searches for positions that must be stored to avoid an exception. The positions that a search
adds can change which moves decide the remaining exceptions."""


@dataclass(frozen=True)
class Needed:
    """The positions of a table that must be stored."""

    side: Side
    """The stored side to move."""
    captures: NDArray[np.uint64]
    """uint64 (size / 64,): slots of the stored side that need not be stored. The best capture gives their
    values, and no derived position depends on them."""
    exceptions: NDArray[np.int64]
    """Slots of the derived side that derivation gets wrong, ascending."""


class NeedFinder:
    """Finds the positions that must be stored, phase by phase while the solver runs.

    The object is a :data:`tbgen.retro.solver.AfterPhase` of the solver; several threads may call it.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout, self.side = layout, stored_side(layout)
        self._derived = SIDES[1 - self.side]
        self._captures = np.zeros(layout.size // 64, np.uint64)
        self._exceptions: list[NDArray[np.int64]] = []
        self._lock = threading.Lock()

    def __call__(self, phase: int, workspace: Workspace, pool: Pool, parts: int, mapper: Map) -> None:
        """Process a solved phase. ``mapper`` may distribute ``parts`` parts of its words over threads.

        :raises OverflowError: if a depth does not leave the bit of the flag free. No table of five men has
            such depths.
        """
        layout, side, derived = self._layout, int(self.side), int(self._derived)
        frame = workspace.frame
        slots, first = 64 * frame.words, phase * layout.phase_size
        mirrored, like = mirrors_itself(layout, phase), workspace.like_men
        edges = list(pairwise(np.linspace(0, frame.words, parts + 1).astype(int).tolist()))

        def run_parts(kernel: Callable[..., object], *arguments: object) -> None:
            list(mapper(lambda part: kernel(*arguments, *part), edges))

        # The ranks overwrite the counts of quiet moves, which are not needed after the solution.
        start, rank = pool.targets.begin[phase].copy(), workspace.phase.quiet_counts
        usable, exits = np.zeros((2, frame.words), np.uint64), workspace.exits
        ply = PhasePlies(frame, workspace.phase, exits, pool.value, pool.depth, start, rank, *usable)
        stored = slice(int(ply.start[side]), int(ply.start[side]) + slots)
        if (deepest := int(pool.depth[stored].max())) >= CAPTURE_FLAG:
            raise OverflowError(f"{layout.material}: depths of {deepest} plies do not fit into packed tables")

        def expand() -> None:
            sets = ply.phase.canonical, ply.phase.legal[side]
            run_parts(copy_canonical, frame, like, mirrored, *sets, pool.value[stored], pool.depth[stored])

        if resets := ply.phase.score_resets:  # then the results have overwritten the exits
            run_parts(find_side_exits, workspace, pool, derived, False, ply.phase.canonical)
        if resets or layout.pawns:  # else all zeroing moves are captures
            run_parts(find_side_exits, workspace, pool, side, True, ply.phase.canonical)
        run_parts(find_ranks, ply.phase, ply.rank)
        run_parts(mark_captures, ply, side)
        needed = np.zeros(slots, np.uint8)
        exceptions = np.full(frame.words, ALL)
        for search in range(_SEARCH_ROUNDS + 1):
            if search > 0:
                run_parts(
                    lambda *part: find_needed(
                        ply, derived, like, mirrored, exceptions, needed, THREAD.deriving, *part
                    )
                )
                run_parts(clear_flags, ply, side, needed)
            expand()
            run_parts(find_usable, ply, side)
            run_parts(lambda *part: find_exceptions(ply, derived, exceptions, THREAD.deriving, *part))
        captures = self._captures[first // 64 : (first + layout.phase_size) // 64]
        flags = np.packbits(pool.depth[stored] >= CAPTURE_FLAG, bitorder="little").view(np.uint64)
        np.bitwise_and(flags, ply.phase.canonical & ply.phase.legal[side], out=captures[: frame.words])
        to_table_order(layout, captures, 0)
        pool.depth[stored] &= CAPTURE_FLAG - 1
        with self._lock:
            self._exceptions.append(table_slots(layout, slots_in(exceptions)) + first)

    def needed(self) -> Needed:
        """Return the positions that must be stored, after all phases."""
        exceptions = np.concatenate(self._exceptions)
        exceptions.sort()
        return Needed(self.side, self._captures, exceptions)
