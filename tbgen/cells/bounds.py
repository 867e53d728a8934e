"""The two games of a cell: from bounds of its exits to bounds of all its positions.

In the *lower game* every exit is worth the lower end of what is known about it, in the *upper game* the upper
end. Each is solved as the phase of a table is; the truth lies between (docs/solve.md says why).
"""

from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, PROMOTIONS, reach
from tbgen.board.score import MAX_CODED_RANK, NONE, Code, GScore
from tbgen.cells.cell import PAWN, Cell
from tbgen.cells.frames import CellFrame, frame_of_cell, room_for_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.errors import UsageError
from tbgen.index.layout import SIDES, Side
from tbgen.index.zeroing import CAPTURED_PAWN
from tbgen.retro.kernels.bits import Codes, Plies, Words
from tbgen.retro.kernels.exits import NO_EXIT
from tbgen.retro.kernels.frame import legal_words
from tbgen.retro.kernels.phase import NOTHING, empty_record, side_exits
from tbgen.retro.kernels.single_layer import solve_layer
from tbgen.retro.kernels.sweep import MAX_DEPTH, SweepResults
from tbgen.retro.kernels.targets import ROUTES, Pool, Routes, Targets
from tbgen.retro.ranks import PhaseSolver, find_moves

_Number = TypeVar("_Number", bound=np.generic)
_Result = TypeVar("_Result")

LOWER, UPPER = range(2)
"""The ends of an interval, from White's view; the games by that number."""
ENDS: Final = (LOWER, UPPER)
NO_RANK: Final = 255
"""Rank where there is no position."""
WORST: Final = (Code(255), Code(0))
"""What is known of everything: it is worth -G0.0 at least and G0.0 at most."""


_EMPTY: Final = np.zeros(0, np.int64)
_NO_TARGETS: Final = Targets(
    np.zeros((2, CAPTURED_PAWN + 1, len(KINDS)), np.int64), _EMPTY, _EMPTY, np.zeros((0, 5), np.int64),
    _EMPTY, _EMPTY, _EMPTY, np.zeros((0, 2), np.int64), _EMPTY, np.zeros(0, np.int32),
    np.zeros((0, 16), np.int32), 0,
)  # fmt: skip
"""A directory of no tables."""


class NoCodeError(UsageError):
    """A cell has positions with scores or depths that values have no room for."""

    def __init__(self, cell: Cell) -> None:
        white, black = cell.sides()
        super().__init__(
            f"positions like those of {white}v{black} have scores beyond G63.0 or depths beyond {MAX_DEPTH} "
            "plies, for which there is no room: let fewer men be mobile"
        )


class Interval(NamedTuple):
    """What is known about one value: codes of the ends."""

    lower: Code
    """White gets this at least."""
    upper: Code
    """White gets this at most."""

    @property
    def exact(self) -> bool:
        """Whether the ends meet."""
        return self.lower == self.upper

    def within(self, other: Self | None) -> Self:
        """Return what this and another interval, if there is one, say together."""
        if other is None:
            return self
        return type(self)(min(self.lower, other.lower), max(self.upper, other.upper))


_COUNTED: Final = 126
"""Moves that ranks of eight bits can count."""
_PAWN_MOVES, _PROMOTING_MOVES = 4, 3 * len(PROMOTIONS)
"""Most moves of a pawn, and of one that is about to promote."""


class Block(NamedTuple):
    """One end of what is known about all positions that a route leads to."""

    value: Codes
    """uint8 (64 ** mobile men left,): codes, ``NONE`` where there is no position or nothing is known."""
    depth: Plies
    """uint16, plies."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.value.nbytes + self.depth.nbytes


class Knowledge(Protocol):
    """What is known about positions outside a cell."""

    def block(self, route: Route, end: int) -> Block | None:
        """Return one end of what is known about the positions that a route leads to, if anything."""

    def bound(self, route: Route, end: int) -> Code:
        """Return one end that holds for all of them."""


@dataclass(frozen=True)
class SomeKnowledge:
    """Knowledge of two functions; nothing if they are left out."""

    block: Callable[[Route, int], Block | None] = lambda route, end: None
    bound: Callable[[Route, int], Code] = lambda route, end: WORST[end]


@dataclass(frozen=True)
class Bounds:
    """What is known about all positions of a cell, fresh: the accrued score being their own.

    Values are codes of shape (2 ends, 2 sides to move, slots), ``NONE`` where there is no position; depths
    are plies.
    """

    cell: Cell
    value: NDArray[np.uint8]
    depth: NDArray[np.uint16]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.value.nbytes + self.depth.nbytes


class BoundsGame:
    """One of the two games of a cell.

    :param resets: whether captures and pawn moves reset the accrued score, as in r-mobility.
    :param threads: to count moves with.
    """

    def __init__(
        self,
        frame: CellFrame,
        routes: Iterable[Route],
        knowledge: Knowledge,
        end: int,
        *,
        resets: bool = True,
        threads: int = 1,
    ) -> None:
        self.cell_frame = frame
        self._pool = _pool_of(frame, routes, knowledge, end)
        self._workspace = room_for_cell(frame.frame, resets)
        starts = np.array([0, frame.size], np.int64)
        self._fresh = SweepResults(self._pool.value, self._pool.depth, starts)
        last = frame.squares[-1]
        self._bit_man = (1, 0) if last < 0 else (64, last)
        """How many slots of the frame there are to a slot of the cell, and which of them counts."""
        self._threads = threads
        self._counted = False
        """Whether moves are counted and exits found, as blocks are now."""

    def solve(self, stopped: Event | None = None) -> tuple[Codes, Plies]:
        """Return fresh values and depths, shape (2, slots of the cell) each.

        :param stopped: set by another thread if nobody wants them any longer.
        :raises CancelledError: if that has been set.
        :raises NoCodeError: if that takes scores beyond G63.0, or depths that do not fit.
        """
        if any(most_moves(self.cell_frame.cell, side) > _COUNTED for side in SIDES):
            raise NoCodeError(self.cell_frame.cell)
        self._count()
        none = empty_record(NOTHING, self.cell_frame.size, np.empty(0, np.uint32), 0)
        solver = PhaseSolver(self._workspace, self._pool, self._fresh, (none, none))
        ranks = 0
        for _ in solver.ranks():
            ranks += 1
            if stopped is not None and stopped.is_set():
                raise CancelledError
        deepest = max(attacker.scratch.deepest[0] for attacker in self._workspace.attackers)
        if ranks > MAX_CODED_RANK + 1 or deepest > MAX_DEPTH:
            raise NoCodeError(self.cell_frame.cell)
        self._counted = False  # the sweeps have counted down
        value, depth = self._own()
        value[~self._there()] = NONE
        return self._of_cell(value), self._of_cell(depth)

    def best_exits(self, side: Side) -> Block:
        """Return the best of the zeroing moves that a side has to move, of all positions: what it is worth,
        and its depth with the move itself; ``NONE`` where there is none."""
        phase, exits, words = self._workspace.phase, self._workspace.exits, self._workspace.frame.words
        legal_words(self._workspace.frame, phase.legal, 0, words)
        side_exits(self._workspace, self._pool, side, False, phase.legal[side], 0, words)
        part = slice(side * 64 * words, (side + 1) * 64 * words)
        value, depth = exits.value[part].copy(), exits.nearest[part] + np.uint16(1)
        nothing = exits.nearest[part] == NO_EXIT
        value[nothing], depth[nothing] = NONE, 0
        return Block(self._of_cell(value), self._of_cell(depth))

    def ranks(self) -> NDArray[np.uint8]:
        """Return the ranks of all positions, shape (2, slots of the cell); 255 where there is none."""
        self._count()
        slices = self._workspace.phase.slices
        found = np.zeros((2, self.cell_frame.size), np.uint8)
        for number in range(slices.shape[-1]):
            found |= _bits(np.ascontiguousarray(slices[..., number])).view(np.uint8) << np.uint8(number)
        found[~self._there()] = NO_RANK
        return self._of_cell(found)

    def set_block(self, route: Route, block: Block) -> None:
        """Change what is known about the positions that a route leads to; only where there was a block."""
        at = int(self._pool.routes.begin[self._pool.routes.block[route.number]])
        self._pool.value[at : at + len(block.value)] = block.value
        self._pool.depth[at : at + len(block.value)] = block.depth
        self._counted = False

    def recall(self, value: Codes, depth: Plies) -> None:
        """Take what ``solve`` has returned before for this game of this cell."""
        count, last = self._bit_man
        for own, known in zip(self._own(), (value, depth), strict=True):
            own.reshape(2, -1, count)[..., last] = known

    def layer(self, accrued: GScore, *, decided: bool = True) -> tuple[Codes, Plies]:
        """Return values and depths with an accrued score, shape (2, slots of the cell) each; after ``solve``
        or ``recall``.

        ``NONE`` where the accrued score does not matter: the fresh value holds.

        :param decided: whether all fresh values are known; else only those of positions whose own score has a
            smaller rank than the accrued one, and ``NONE`` is returned for these.
        """
        self._count()
        size = self.cell_frame.size
        value, depth = np.full((2, size), NONE, np.uint8), np.zeros((2, size), np.uint16)
        self._workspace.phase.canonical[:] = ~np.uint64(0)
        holder = SIDES[not accrued.white]
        solve_layer(self._workspace, holder, accrued.rank, decided, self._fresh, value, depth)
        return self._of_cell(value), self._of_cell(depth)

    def _own(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The cell's own fresh values and depths, shape (2, slots of the frame) each."""
        size = 2 * self.cell_frame.size
        return self._pool.value[:size].reshape(2, -1), self._pool.depth[:size].reshape(2, -1)

    def _there(self) -> NDArray[np.bool_]:
        """Which slots of the frame stand for legal positions, shape (2, slots)."""
        return _bits(self._workspace.phase.legal)

    def _count(self) -> None:
        """Count the moves of all positions, and find their exits, unless that is done."""
        if not self._counted:
            self._counted = True
            self._workspace.phase.slices[:] = 0
            if self._threads == 1:  # no other is worth its start
                find_moves(self._workspace, self._pool, False)
                return
            with ThreadPoolExecutor(self._threads) as threads:
                find_moves(self._workspace, self._pool, False, self._threads, threads.map)

    def _of_cell(self, array: NDArray[_Number]) -> NDArray[_Number]:
        """Leave the square of a frozen bit man out of the slots, which are the last axis."""
        count, last = self._bit_man
        return array.reshape(*array.shape[:-1], -1, count)[..., last].copy()


class Games:
    """Both games of a cell, each played on a thread of its own if there are two.

    :param knowledge: what is known of exits, as it is now; what is found out later does not count.
    """

    def __init__(self, cell: Cell, knowledge: Knowledge, threads: int = len(ENDS)) -> None:
        self.cell, self._threads = cell, threads
        frame = frame_of_cell(cell)
        routes = list(routes_of(frame))
        share = max(1, threads // len(ENDS))
        self._games = _of_ends(lambda end: BoundsGame(frame, routes, knowledge, end, threads=share), threads)

    def solve(self) -> Bounds:
        """Return what is known of the cell's positions, fresh.

        :raises NoCodeError: as :meth:`Game.solve` does.
        """
        stopped = Event()
        return self._bounds(lambda end: self._games[end].solve(stopped), stopped.set)

    def accrued(self, bounds: Bounds, accrued: GScore) -> Bounds:
        """Return what is known of the positions with an accrued score, from what is known of them fresh.

        ``NONE`` where the accrued score does not matter: the fresh value holds.
        """

        def layer(end: int) -> tuple[Codes, Plies]:
            self._games[end].recall(bounds.value[end], bounds.depth[end])
            return self._games[end].layer(accrued)

        return self._bounds(layer)

    def _bounds(
        self, of_end: Callable[[int], tuple[Codes, Plies]], stop: Callable[[], None] = lambda: None
    ) -> Bounds:
        value, depth = zip(*_of_ends(of_end, self._threads, stop), strict=True)
        return Bounds(self.cell, np.stack(value), np.stack(depth))


def _of_ends(
    of_end: Callable[[int], _Result], threads: int, stop: Callable[[], None] = lambda: None
) -> list[_Result]:
    """Return what a function returns of both ends.

    :param stop: called if it fails, or is interrupted, before what is still at work is waited for.
    """
    with ThreadPoolExecutor(min(threads, len(ENDS))) as executor:
        try:
            return list(executor.map(of_end, ENDS))
        except BaseException:
            stop()
            raise


def _pool_of(frame: CellFrame, routes: Iterable[Route], knowledge: Knowledge, end: int) -> Pool:
    """Return the pool of one game: room for the cell's own values, and the blocks of its routes."""
    number = np.zeros(ROUTES, np.int16)
    at = 2 * frame.size
    begin, blocks = [-1 - WORST[end]], [Block(np.full(at, NONE, np.uint8), np.zeros(at, np.uint16))]
    for route in routes:
        number[route.number] = len(begin)
        block = knowledge.block(route, end)
        if block is None:
            begin.append(-1 - knowledge.bound(route, end))
        else:
            begin.append(at)
            blocks.append(block)
            at += len(block.value)
    value, depth = map(np.concatenate, zip(*blocks, strict=True))
    frozen = np.array(frame.squares, np.int64)
    pawns = np.array(frame.cell.pawns, np.uint64)
    return Pool(
        value, depth, _NO_TARGETS, Routes(number, np.array(begin, np.int64), frozen, pawns, int(WORST[end]))
    )


def _bits(words: Words) -> NDArray[np.bool_]:
    """Return the bits of words of shape (2, words) one by one, shape (2, 64 * words)."""
    return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little").view(bool)


def side_after(route: Route) -> Side:
    """Return the side to move where a route leads."""
    return SIDES[1 - route.side]


def most_moves(cell: Cell, side: Side) -> int:
    """Return a number of legal moves that no position of a cell exceeds with a side to move."""
    men = [man for man in cell.all_men if man.colour == side and man.kind != PAWN]
    pawns, about = cell.pawns[side], chess.BB_RANK_2 if side else chess.BB_RANK_7
    moves = sum(max(map(int.bit_count, reach(man.kind))) for man in men)
    moves += _PAWN_MOVES * chess.popcount(pawns & ~about) + _PROMOTING_MOVES * chess.popcount(pawns & about)
    return moves
