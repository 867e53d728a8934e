"""The two games of a cell, which turn bounds of its exits into bounds of all its positions.

In the *lower game*, the value of every exit is the lower bound of its interval; in the *upper game*, it is
the upper bound. Each game is solved like a phase of a table. The true value of every position lies between
its values in the two games; docs/solve_reference.md explains why.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Final, NamedTuple, Protocol, TypeVar

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, PROMOTIONS, reach
from tbgen.board.score import NONE, Code, GScore
from tbgen.cells.cell import PAWN, Cell, Man, man_of
from tbgen.cells.frames import ARRAY_MEMORY, WORKSPACES, CellFrame, pools_of, threaded_map
from tbgen.cells.interval import ALL_SCORES
from tbgen.cells.kernels.values import fill_with_exits, gather
from tbgen.cells.routes import Route
from tbgen.errors import UsageError
from tbgen.index.layout import MIRROR_RANKS, SIDES, Side
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.kernels.phases import find_side_exits
from tbgen.moves.kernels.words import Codes, Plies, Words
from tbgen.moves.structs import Pool, make_men
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.phase import clear_empty_slots, solve_layer
from tbgen.retro.kernels.sweep import MAX_DEPTH, SweepResults
from tbgen.retro.ranks import Crew, PhaseSolver, find_moves, start_phase
from tbgen.retro.workspace import moves_of, spare_memory

_Number = TypeVar("_Number", bound=np.generic)

LOWER, UPPER = range(2)
"""Numbers of the two *ends*: the lower bound, which is worse for White, and the upper bound. Each end has its
own game: the lower game or the upper game."""
ENDS: Final = (LOWER, UPPER)
NO_RANK: Final = 255
"""Stands for the rank of a slot without a position."""
WORST: Final = ALL_SCORES
"""The bounds that always hold: at least -G0.0 and at most G0.0."""
_MAX_COUNTED_MOVES: Final = 126
"""Maximum number of moves whose rank fits into eight bits."""
_PAWN_MOVES: Final = 4
"""Maximum number of moves of a pawn that is not about to promote."""
_PROMOTING_MOVES: Final = 3 * len(PROMOTIONS)
"""Maximum number of moves of a pawn that is about to promote."""


class UnstorableCellError(UsageError):
    """A cell has positions whose scores or depths cannot be stored."""

    def __init__(self, cell: Cell) -> None:
        white, black = cell.side_letters()
        super().__init__(
            f"positions such as those of {white}v{black} have scores beyond G63.0 or depths beyond "
            f"{MAX_DEPTH} plies, which cannot be stored: let fewer men be mobile"
        )


class Block(NamedTuple):
    """The lower bounds, or the upper bounds, of all positions that a route leads to."""

    value: Codes
    """uint8 (64 ** men,): codes, ``NONE`` where there is no position or no bound is available. ``men`` is the
    number of mobile men after the move; a man that has landed (:mod:`tbgen.cells.routes`) is not counted."""
    depth: Plies
    """uint16, in plies: the shape is that of ``value``, or (0,) if depths are not needed."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.value.nbytes + self.depth.nbytes


class BoundsSource(Protocol):
    """A source of bounds for the positions outside a cell."""

    def block(self, route: Route, end: int) -> Block | None:
        """Return the lower or upper bounds of the positions that a route leads to; None if unavailable.

        If a man has landed, the block may also cover the whole destination.
        """

    def bound(self, route: Route, end: int) -> Code:
        """Return a lower or upper bound that holds for all positions that a route leads to."""

    def knows_values(self, route: Route) -> bool:
        """Return whether the blocks of both ends are proved to be equal, so that they contain the exact
        values of all positions."""


@dataclass(frozen=True)
class CallbackBoundsSource:
    """A source of bounds that calls the given functions. By default, no bound is better than ``WORST``."""

    block: Callable[[Route, int], Block | None] = lambda route, end: None
    bound: Callable[[Route, int], Code] = lambda route, end: WORST[end]
    knows_values: Callable[[Route], bool] = lambda route: False


@dataclass(frozen=True)
class Bounds:
    """The bounds of all positions of a cell in fresh states, or with one accrued score.

    Values are codes, ``NONE`` where there is no position. Depths are in plies. Both arrays have the shape
    (2 ends, 2 sides to move, slots).

    :ivar ends: the ends that have been solved. At an end that has not been solved, the bounds are ``WORST``.
    """

    cell: Cell
    value: NDArray[np.uint8]
    depth: NDArray[np.uint16]
    ends: tuple[int, ...] = tuple(ENDS)

    @property
    def is_shared(self) -> bool:
        """Whether both ends share their arrays, because a single game was solved."""
        return self.value.strides[0] == 0

    @cached_property
    def has_equal_ends(self) -> bool:
        """Whether all lower and upper bounds are equal, including their depths."""
        return self.is_shared or all(np.array_equal(*ends) for ends in (self.value, self.depth))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays. Arrays that both ends share are counted once."""
        ends = 1 if self.is_shared else len(ENDS)
        return int(self.value[0].nbytes + self.depth[0].nbytes) * ends


class BoundsGame:
    """The lower or the upper game of a cell.

    :param pool: the values of the exits in this game, from :func:`pools_of_ends`.
    :param resets: whether captures and pawn moves reset the accrued score, as in r-mobility.
    """

    def __init__(self, frame: CellFrame, pool: Pool, *, resets: bool = True) -> None:
        self._frame = frame
        self._pool = pool
        self._resets = resets
        last = frame.squares[-1]
        self._frame_slots = (1, 0) if last < 0 else (64, last)
        """Number of frame slots for each cell slot, and which of these frame slots is used."""

    def solve(
        self, stop_event: Event | None = None, out: Block | None = None, crew: Crew | None = None
    ) -> Block:
        """Return the fresh values and depths, shape (2, slots of the cell) each.

        :param stop_event: event that another thread sets to cancel the work.
        :param out: the block to write to and return; if None, a new one.
        :param crew: the threads that share the work; they may work on another game at the same time.
        :raises CancelledError: if ``stop_event`` has been set.
        :raises UnstorableCellError: if the cell has scores beyond G63.0 or depths beyond ``MAX_DEPTH``.
        """
        require_storable(self._frame.cell)
        buffer = self._buffer_for(out)
        with self._workspace() as workspace:
            solver = start_phase(workspace, self._pool, False, crew)
            for _ in solver.solve_ranks():
                if stop_event is not None and stop_event.is_set():
                    raise CancelledError
            require_storable(self._frame.cell, solver)
            clear_empty_slots(workspace, 0, workspace.frame.words)
            fresh = workspace.fresh
            buffer.value[:], buffer.depth[:] = (
                array[: 2 * self._frame.size].reshape(2, -1) for array in (fresh.value, fresh.depth)
            )
        return self._cell_block(buffer, out)

    def best_exits(self, side: Side, bound: Code = NONE) -> Block:
        """Return the exits of all positions with ``side`` to move. Their depths include the exit move.

        :param bound: value to return, with depth 0, for positions that have no exit, or whose exit is worse
            than this value for the side. If it is ``NONE``, no exit counts as worse.
        """
        with self._workspace() as workspace:
            phase = workspace.phase
            exits, _ = spare_memory(workspace)
            words = workspace.frame.words
            men = make_men()
            mark_legal(workspace.frame, phase.legal, men, 0, words)
            find_side_exits(
                moves_of(workspace), self._pool, side, False, phase.legal[side], exits, men, 0, words
            )
            buffer = self._buffer_for(None, side_count=1)
            fill_with_exits(exits, side, bound, buffer.value[0], buffer.depth[0])
        value, depth = self._cell_block(buffer)
        return Block(value[0], depth[0])

    def ranks(self) -> NDArray[np.uint8]:
        """Return the position ranks, shape (2, slots of the cell), ``NO_RANK`` where there is no position."""
        with self._counted_workspace() as workspace:
            slices = workspace.phase.rank_bits
            rank = np.zeros((2, self._frame.size), np.uint8)
            for index in range(slices.shape[-1]):
                rank |= _bits(np.ascontiguousarray(slices[..., index])).view(np.uint8) << np.uint8(index)
            rank[~_bits(workspace.phase.legal)] = NO_RANK
        return self._cell_slots(rank).copy()

    def set_block(self, route: Route, block: Block) -> None:
        """Replace the block of a route in the pool, which must already have a block for this route."""
        begin = int(self._pool.routes.start[self._pool.routes.block[route.number]])
        self._pool.value[begin : begin + len(block.value)] = block.value
        self._pool.depth[begin : begin + len(block.value)] = block.depth

    def layer(
        self, fresh_block: Block, accrued: GScore, *, is_complete: bool = True, out: Block | None = None
    ) -> Block:
        """Return the values and depths with the given accrued score, shape (2, slots of the cell) each.

        The value is ``NONE`` where the accrued score does not matter, so that the fresh value applies.

        :param fresh_block: the result of :meth:`solve` for this game.
        :param is_complete: whether ``fresh_block`` has the values of all positions. If not, it must have
            at least the values of the positions whose position rank is less than the rank of the accrued
            score; for these positions the result is ``NONE``.
        :param out: the block to write to and return; if None, a new one.
        """
        buffer = self._buffer_for(out)
        fresh_buffer = self._frame_block(fresh_block)
        buffer.value[:], buffer.depth[:] = NONE, 0
        holder = SIDES[not accrued.white]
        with self._counted_workspace() as workspace:
            workspace.phase.canonical[:] = ~np.uint64(0)
            arguments = workspace, holder, accrued.rank, is_complete, self._sweep_results(fresh_buffer)
            solve_layer(*arguments, buffer.value, buffer.depth)
        return self._cell_block(buffer, out)

    def _workspace(self) -> AbstractContextManager[Workspace]:
        return WORKSPACES.lend(self._frame.frame, self._resets)

    @contextmanager
    def _counted_workspace(self) -> Iterator[Workspace]:
        """Lend a workspace that contains the number of moves and the exit of each position."""
        with self._workspace() as workspace:
            find_moves(workspace, self._pool, False)
            yield workspace

    def _sweep_results(self, block: Block) -> SweepResults:
        """Return the values and depths of a block in the form that kernels read."""
        starts = np.array([0, self._frame.size], np.int64)
        return SweepResults(block.value.reshape(-1), block.depth.reshape(-1), starts)

    def _buffer_for(self, out: Block | None, side_count: int = 2) -> Block:
        """Return a buffer for values and depths, shape (sides, slots of the frame) each.

        If the frame and the cell have the same slots, the buffer is ``out`` itself, unless it is None.
        """
        if out is not None and self._frame_slots[0] == 1:
            return out
        return empty_block((side_count, self._frame.size))

    def _cell_slots(self, array: NDArray[_Number]) -> NDArray[_Number]:
        """Return a view of the cell's slots in an array whose last axis has the frame's slots."""
        count, last = self._frame_slots
        return array.reshape(*array.shape[:-1], -1, count)[..., last]

    def _cell_block(self, buffer: Block, out: Block | None = None) -> Block:
        """Return the values and depths of the cell's slots from a buffer; fill ``out`` if it is given."""
        if self._frame_slots[0] == 1:
            return buffer
        out = out or empty_block((len(buffer.value), self._frame.cell.size))
        out.value[:], out.depth[:] = self._cell_slots(buffer.value), self._cell_slots(buffer.depth)
        return out

    def _frame_block(self, block: Block) -> Block:
        """Expand a block from the cell's slots to the frame's slots."""
        if self._frame_slots[0] == 1:
            return Block(np.require(block.value, None, ["C", "W"]), np.require(block.depth, None, ["C", "W"]))
        shape = 2, self._frame.size
        buffer = Block(np.full(shape, NONE, np.uint8), np.zeros(shape, np.uint16))
        self._cell_slots(buffer.value)[:], self._cell_slots(buffer.depth)[:] = block
        return buffer


def pools_of_ends(
    frame: CellFrame,
    routes: Iterable[Route],
    exit_bounds: BoundsSource,
    ends: Sequence[int],
    threads: int = 1,
) -> list[Pool]:
    """Return the values of a cell's exits: one pool for each end in ``ends``.

    :param threads: number of threads that look up the values.
    """

    def bounds_at(route: Route, end: int) -> Block | Code:
        block = exit_bounds.block(route, end)
        return exit_bounds.bound(route, end) if block is None else part_of(block, route)

    def bounds_of(route: Route) -> list[Block | Code]:
        if len(ends) > 1 and exit_bounds.knows_values(route):
            return [bounds_at(route, ends[0])] * len(ends)
        return [bounds_at(route, end) for end in ends]

    routes = list(routes)
    with threaded_map(threads, frame.cell.size) as thread_map:
        bounds = dict(zip((route.number for route in routes), thread_map(bounds_of, routes), strict=True))
        return pools_of(frame, bounds, [WORST[end] for end in ends], thread_map)


def part_of(block: Block, route: Route) -> Block:
    """Return the bounds of the positions that a route leads to, from a block that may have more positions."""
    cell = route.destination
    if route.landing is None or len(block.value) < cell.size:
        return block
    man, square = route.landing
    shape = (64,) * len(cell.mobile)
    value, depth = block.value.reshape(shape).take(square, man).reshape(-1), block.depth
    return Block(value, depth.reshape(shape).take(square, man).reshape(-1))


def empty_block(shape: tuple[int, ...]) -> Block:
    """Return a block of uninitialised arrays."""
    return Block(ARRAY_MEMORY.empty(shape, np.uint8), ARRAY_MEMORY.empty(shape, np.uint16))


def _bits(words: Words) -> NDArray[np.bool_]:
    """Return the bits of words as booleans; the shape (2, words) becomes (2, 64 * words)."""
    return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little").view(bool)


def side_after(route: Route) -> Side:
    """Return the side to move after the moves of a route."""
    return SIDES[1 - route.side]


def max_moves(cell: Cell, side: Side) -> int:
    """Return an upper bound on the number of legal moves that a side has in any position of a cell."""
    men = [man for man in cell.all_men if man.colour == side and man.kind != PAWN]
    pawns = cell.pawns[side]
    promoting_rank = chess.BB_RANK_2 if side else chess.BB_RANK_7
    moves = sum(max(map(int.bit_count, reach(KINDS[man.kind]))) for man in men)
    moves += _PAWN_MOVES * chess.popcount(pawns & ~promoting_rank) + _PROMOTING_MOVES * chess.popcount(
        pawns & promoting_rank
    )
    return moves


def require_storable(cell: Cell, solver: PhaseSolver | None = None) -> None:
    """Check that the moves of all positions of a cell can be counted, and that the results of its solver, if
    given, can be stored.

    :raises UnstorableCellError: if not.
    """
    if any(max_moves(cell, side) > _MAX_COUNTED_MOVES for side in SIDES) or (
        solver and not solver.fits_codes
    ):
        raise UnstorableCellError(cell)


def gather_block(
    cell: Cell,
    men: Sequence[tuple[Side, int]],
    symmetry: int,
    stored_block: Block,
    pawnless: bool = False,
    worst_and_other: tuple[Code, Codes] | None = None,
) -> Block:
    """Return the block of a cell's positions, filled from the stored values of a table or another cell.

    Each stored man is mobile or frozen in the cell. If it is frozen, the cell has no other frozen man of the
    same colour and kind.

    :param men: colour and kind of the men whose squares form the stored slots.
    :param symmetry: the symmetry that maps the cell's positions to the stored ones.
    :param pawnless: whether the stored values are those of a table without pawns, which uses more symmetries.
    :param worst_and_other: the code of the worst bound, and the stored bounds at the other end. The depth
        becomes 0 where the stored bound is the worst one and the bound at the other end is better. With None,
        all depths are copied.
    """
    worst, other = worst_and_other or (NONE, stored_block.value)
    shifts, squares = np.array(list(places_of(cell, men, bool(symmetry & MIRROR_RANKS))), np.int64).T.copy()
    block = empty_block((cell.size,))
    gather((*stored_block, other), shifts, squares, symmetry, pawnless, worst, *block)
    return block


def places_of(cell: Cell, men: Iterable[tuple[int, int]], swapped: bool) -> Iterator[tuple[int, int]]:
    """Yield a pair of numbers for each man, which says where to find the man's square in a cell.

    For a mobile man, the pair is the right shift in bits that moves its square to the lowest bits of a slot,
    and 0. For a frozen man, the pair is -1 and its square.

    :param men: colour and kind of each man.
    :param swapped: whether the men have the opposite colour in the cell.
    """
    last = len(cell.mobile) - 1
    remaining: list[tuple[Man, int, int]] = [
        *((man, 6 * (last - index), 0) for index, man in enumerate(cell.mobile)),
        *((frozen.man, -1, frozen.square) for frozen in cell.frozen),
    ]
    for colour, kind in men:
        man = man_of(SIDES[colour ^ swapped], kind)
        entry = next(candidate for candidate in remaining if candidate[0] == man)
        remaining.remove(entry)
        yield entry[1:]
