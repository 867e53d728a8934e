"""The two games of a cell: from bounds of its exits, gathered in blocks, to bounds of all its positions.

In the *lower game* every exit is worth the lower end of what is known about it, in the *upper game* the upper
end. Each is solved as the phase of a table is; the truth lies between (docs/solve.md says why).
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
from tbgen.board.score import MAX_CODED_RANK, NONE, Code, GScore
from tbgen.cells.cell import PAWN, Cell, Man, man_of
from tbgen.cells.frames import MEMORY, ROOMS, CellFrame, pools_of, shared_map
from tbgen.cells.kernels.values import best_block, gather
from tbgen.cells.routes import Route
from tbgen.cells.window import EVERYTHING, Interval
from tbgen.errors import UsageError
from tbgen.index.layout import MIRROR_RANKS, SIDES, Side
from tbgen.retro.kernels.frame import legal_words
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.phase import NOTHING, empty_record, side_exits, solve_layer
from tbgen.retro.kernels.sweep import MAX_DEPTH, SweepResults
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.kernels.words import Codes, Plies, Words
from tbgen.retro.ranks import Crew, PhaseSolver, WidePhaseSolver, find_moves

_Number = TypeVar("_Number", bound=np.generic)

LOWER, UPPER = range(2)
"""The ends of an interval, from White's view; the games by that number."""
ENDS: Final = (LOWER, UPPER)
NO_RANK: Final = 255
"""Rank where there is no position."""
WORST: Final = EVERYTHING
"""What is known of everything: it is worth -G0.0 at least and G0.0 at most."""


class NoCodeError(UsageError):
    """A cell has positions with scores or depths that values have no room for."""

    def __init__(self, cell: Cell) -> None:
        white, black = cell.sides()
        super().__init__(
            f"positions like those of {white}v{black} have scores beyond G63.0 or depths beyond {MAX_DEPTH} "
            "plies, for which there is no room: let fewer men be mobile"
        )


COUNTED: Final = 126
"""Moves that ranks of eight bits can count."""
_PAWN_MOVES, _PROMOTING_MOVES = 4, 3 * len(PROMOTIONS)
"""Most moves of a pawn, and of one that is about to promote."""


class Block(NamedTuple):
    """One end of what is known about all positions that a route leads to."""

    value: Codes
    """uint8 (64 ** mobile men left,), the man not counted that has landed: codes, ``NONE`` where there is no
    position or nothing is known."""
    depth: Plies
    """uint16, plies."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.value.nbytes + self.depth.nbytes


class Knowledge(Protocol):
    """What is known about positions outside a cell."""

    def block(self, route: Route, end: int) -> Block | None:
        """Return one end of what is known about the positions that a route leads to, if anything; it may be
        that of its whole destination."""

    def bound(self, route: Route, end: int) -> Code:
        """Return one end that holds for all of them."""

    def same_ends(self, route: Route) -> bool:
        """Whether the blocks of both ends are known to be the same, and to have the values of all
        positions."""


@dataclass(frozen=True)
class SomeKnowledge:
    """Knowledge of two functions; nothing if they are left out."""

    block: Callable[[Route, int], Block | None] = lambda route, end: None
    bound: Callable[[Route, int], Code] = lambda route, end: WORST[end]
    same_ends: Callable[[Route], bool] = lambda route: False


@dataclass(frozen=True)
class Bounds:
    """What is known about all positions of a cell, fresh: the accrued score being their own.

    Values are codes of shape (2 ends, 2 sides to move, slots), ``NONE`` where there is no position; depths
    are plies.

    :ivar ends: the ends at which they have been found out; at another one nothing is known.
    :ivar window: between which scores they are the best that could be found out.
    """

    cell: Cell
    value: NDArray[np.uint8]
    depth: NDArray[np.uint16]
    ends: tuple[int, ...] = tuple(ENDS)
    window: Interval = EVERYTHING

    @property
    def lie_once(self) -> bool:
        """Whether both ends are the same arrays, since they are values."""
        return self.value.strides[0] == 0

    @cached_property
    def same_ends(self) -> bool:
        """Whether both ends are the same, depths included."""
        return self.lie_once or all(np.array_equal(*ends) for ends in (self.value, self.depth))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; where the game of both ends is one, its bounds lie there once."""
        ends = 1 if self.lie_once else len(ENDS)
        return int(self.value[0].nbytes + self.depth[0].nbytes) * ends


class BoundsGame:
    """One of the two games of a cell, or the one that is both.

    :param pool: what its exits are worth, see :func:`pools_of_ends`.
    :param resets: whether captures and pawn moves reset the accrued score, as in r-mobility.
    """

    def __init__(self, frame: CellFrame, pool: Pool, *, resets: bool = True) -> None:
        self._frame, self._pool, self._resets = frame, pool, resets
        last = frame.squares[-1]
        self._bit_man = (1, 0) if last < 0 else (64, last)
        """How many slots of the frame there are to a slot of the cell, and which of them counts."""

    def solve(
        self, stopped: Event | None = None, into: Block | None = None, crew: Crew | None = None
    ) -> Block:
        """Return fresh values and depths, shape (2, slots of the cell) each.

        :param stopped: set by another thread if nobody wants them any longer.
        :param into: where they go, if anywhere.
        :param crew: does the work, if there is one, and other games' at the same time.
        :raises CancelledError: if that has been set.
        :raises NoCodeError: if that takes scores beyond G63.0, or depths that do not fit.
        """
        if any(most_moves(self._frame.cell, side) > COUNTED for side in SIDES):
            raise NoCodeError(self._frame.cell)
        own = self._room_for(into)
        own.value[:], own.depth[:] = NONE, 0
        with self._counted(crew) as workspace:
            ranks = 0
            for _ in self._solver(workspace, self._sides_of(own), crew).ranks():
                ranks += 1
                if stopped is not None and stopped.is_set():
                    raise CancelledError
            deepest = max(attacker.scratch.deepest[0] for attacker in workspace.attackers)
            if ranks > MAX_CODED_RANK + 1 or deepest > MAX_DEPTH:
                raise NoCodeError(self._frame.cell)
        return self._of_cell(own, into)

    def best_exits(self, side: Side, bound: Code = NONE) -> Block:
        """Return the best of the zeroing moves that a side has to move, of all positions: what it is worth,
        and its depth with the move itself; a bound without depth where there is none, or only worse ones."""
        with self._room() as workspace:
            phase, exits, words = workspace.phase, workspace.exits, workspace.frame.words
            legal_words(workspace.frame, phase.legal, 0, words)
            side_exits(workspace, self._pool, side, False, phase.legal[side], 0, words)
            found = self._room_for(None, sides=1)
            best_block(exits, side * 64 * words, side, bound, found.value[0], found.depth[0])
        value, depth = self._of_cell(found)
        return Block(value[0], depth[0])

    def ranks(self) -> NDArray[np.uint8]:
        """Return the ranks of all positions, shape (2, slots of the cell); 255 where there is none."""
        with self._counted() as workspace:
            slices = workspace.phase.slices
            found = np.zeros((2, self._frame.size), np.uint8)
            for number in range(slices.shape[-1]):
                found |= _bits(np.ascontiguousarray(slices[..., number])).view(np.uint8) << np.uint8(number)
            found[~_bits(workspace.phase.legal)] = NO_RANK
        return self._seen(found).copy()

    def set_block(self, route: Route, block: Block) -> None:
        """Change what is known about the positions that a route leads to; only where there was a block."""
        at = int(self._pool.routes.begin[self._pool.routes.block[route.number]])
        self._pool.value[at : at + len(block.value)] = block.value
        self._pool.depth[at : at + len(block.value)] = block.depth

    def layer(
        self, fresh: Block, accrued: GScore, *, decided: bool = True, into: Block | None = None
    ) -> Block:
        """Return values and depths with an accrued score, shape (2, slots of the cell) each.

        ``NONE`` where the accrued score does not matter: the fresh value holds.

        :param fresh: what ``solve`` has returned for this game of this cell.
        :param decided: whether all fresh values are known; else only those of positions whose own score has a
            smaller rank than the accrued one, and ``NONE`` is returned for these.
        :param into: where they go, if anywhere.
        """
        own, known = self._room_for(into), self._in_frame(fresh)
        own.value[:], own.depth[:] = NONE, 0
        holder = SIDES[not accrued.white]
        with self._counted() as workspace:
            workspace.phase.canonical[:] = ~np.uint64(0)
            given = workspace, holder, accrued.rank, decided, self._sides_of(known)
            solve_layer(*given, own.value, own.depth)
        return self._of_cell(own, into)

    def _room(self) -> AbstractContextManager[Workspace]:
        return ROOMS.lent(self._frame.frame, self._resets)

    @contextmanager
    def _counted(self, crew: Crew | None = None) -> Iterator[Workspace]:
        """Lend a room in which the moves of all positions are counted, and their exits found."""
        with self._room() as workspace:
            parts, run = (4 * crew.width, crew.threads.map) if crew else (1, map)
            find_moves(workspace, self._pool, False, parts, run)
            yield workspace

    def _solver(self, workspace: Workspace, fresh: SweepResults, crew: Crew | None) -> PhaseSolver:
        none = empty_record(NOTHING, self._frame.size, np.empty(0, np.uint32), 0)
        given = workspace, self._pool, fresh, (none, none)
        return WidePhaseSolver(*given, crew) if crew else PhaseSolver(*given)

    def _sides_of(self, block: Block) -> SweepResults:
        """Values and depths of both sides to move as kernels read them."""
        starts = np.array([0, self._frame.size], np.int64)
        return SweepResults(block.value.reshape(-1), block.depth.reshape(-1), starts)

    def _room_for(self, into: Block | None, sides: int = 2) -> Block:
        """Return room for values and depths, shape (sides, slots of the frame) each: where they are to go if
        these are the slots of the cell."""
        if into is not None and self._bit_man[0] == 1:
            return into
        return empty_block((sides, self._frame.size))

    def _seen(self, array: NDArray[_Number]) -> NDArray[_Number]:
        """Leave the square of a frozen bit man out of the slots, which are the last axis."""
        count, last = self._bit_man
        return array.reshape(*array.shape[:-1], -1, count)[..., last]

    def _of_cell(self, own: Block, into: Block | None = None) -> Block:
        """Return what room of the frame holds of the cell's slots; ``into`` if that is given."""
        if self._bit_man[0] == 1:
            return own
        into = into or empty_block((len(own.value), self._frame.cell.size))
        into.value[:], into.depth[:] = self._seen(own.value), self._seen(own.depth)
        return into

    def _in_frame(self, block: Block) -> Block:
        """Return values and depths of the cell's slots by those of the frame, as kernels read them."""
        if self._bit_man[0] == 1:
            return Block(np.require(block.value, None, ["C", "W"]), np.require(block.depth, None, ["C", "W"]))
        shape = 2, self._frame.size
        own = Block(np.full(shape, NONE, np.uint8), np.zeros(shape, np.uint16))
        self._seen(own.value)[:], self._seen(own.depth)[:] = block
        return own


def pools_of_ends(
    frame: CellFrame,
    routes: Iterable[Route],
    knowledge: Knowledge,
    ends: Sequence[int],
    threads: int = 1,
    window: Interval = EVERYTHING,
) -> list[Pool]:
    """Return what the exits of a cell are worth at some ends.

    :param threads: to look that up with.
    :param window: between which scores it matters what they are worth.
    """

    def worth(route: Route, end: int) -> Block | Code:
        block = knowledge.block(route, end)
        if block is None:
            return window.exit(knowledge.bound(route, end))
        part = part_of(block, route)
        return part if window == EVERYTHING else Block(*window.exits(*part))

    def worths(route: Route) -> list[Block | Code]:
        if len(ends) > 1 and knowledge.same_ends(route):
            return [worth(route, ends[0])] * len(ends)
        return [worth(route, end) for end in ends]

    ways = list(routes)
    with shared_map(threads, frame.cell.size) as shared:
        found = dict(zip((way.number for way in ways), shared(worths, ways), strict=True))
        return pools_of(frame, found, [WORST[end] for end in ends], shared)


def part_of(block: Block, route: Route) -> Block:
    """Return the part of a block of a route's whole destination that the route leads to."""
    cell = route.destination
    if route.landed is None or len(block.value) < cell.size:
        return block
    place, square = route.landed
    shape = (64,) * len(cell.mobile)
    value, depth = block.value.reshape(shape).take(square, place).reshape(-1), block.depth
    return Block(value, depth.reshape(shape).take(square, place).reshape(-1) if len(depth) else depth)


def empty_block(shape: tuple[int, ...]) -> Block:
    """Return room for values and depths."""
    return Block(MEMORY.empty(shape, np.uint8), MEMORY.empty(shape, np.uint16))


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
    moves = sum(max(map(int.bit_count, reach(KINDS[man.kind]))) for man in men)
    moves += _PAWN_MOVES * chess.popcount(pawns & ~about) + _PROMOTING_MOVES * chess.popcount(pawns & about)
    return moves


def gathered(
    cell: Cell,
    men: Sequence[tuple[Side, int]],
    symmetry: int,
    stored: Block,
    pawnless: bool = False,
    settled: tuple[Code, Codes] | None = None,
) -> Block:
    """Return the block of a cell's positions from stored values.

    ``men`` are those of the stored slots, all of them mobile or frozen in the cell, and of like men no other
    is frozen there; ``symmetry`` leads there; ``pawnless`` tables are numbered by more
    symmetries.

    :param settled: depths count as 0 where the stored value is this code and that in the array is not.
    """
    open_end, other = settled or (NONE, stored.value)
    shifts, squares = np.array(list(places_of(cell, men, bool(symmetry & MIRROR_RANKS))), np.int64).T.copy()
    block = empty_block((cell.size,))
    gather((*stored, other), shifts, squares, symmetry, pawnless, open_end, *block)
    return block


def places_of(cell: Cell, men: Iterable[tuple[int, int]], swapped: bool) -> Iterator[tuple[int, int]]:
    """Yield where the men of a table or a cell, by colour and kind, stand in another cell: by how many bits a
    slot has to be shifted for the square of a mobile man, with 0; or -1, with the square of a frozen man.

    :param swapped: whether the men have the other colour in the cell.
    """
    last = len(cell.mobile) - 1
    left: list[tuple[Man, int, int]] = [
        *((man, 6 * (last - place), 0) for place, man in enumerate(cell.mobile)),
        *((frozen.man, -1, frozen.square) for frozen in cell.frozen),
    ]
    for colour, kind in men:
        wanted = man_of(SIDES[colour ^ swapped], kind)
        found = next(each for each in left if each[0] == wanted)
        left.remove(found)
        yield found[1:]
