"""The games of a cell: of both ends together, of one, or, where it is large, of values alone."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from threading import Event
from typing import Final, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tbgen.board.score import MAX_CODED_RANK, NONE, GScore
from tbgen.cells.bounds import (
    COUNTED,
    ENDS,
    WORST,
    Block,
    Bounds,
    BoundsGame,
    Knowledge,
    NoCodeError,
    SomeKnowledge,
    empty_block,
    most_moves,
    pools_of_ends,
)
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell, shared_map
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.window import EVERYTHING, Interval
from tbgen.index.layout import SIDES
from tbgen.retro.ranks import MAX_PARTS, Crew, Stages, ValuesSolver, find_moves, room_for_values

_Number = TypeVar("_Number", bound=np.generic)

_WORTH_SHARING: Final = 64**4
"""Slots from which on all threads work on both games, and not each on a game of its own."""


class Games:
    """Both games of a cell, the one that is both if all exits are known to be worth the same at both ends, or
    the game of one end.

    In large cells a thread takes whatever is to be done in any game, in small ones it has a game of its own.

    :param knowledge: what is known of exits, as it is now; what is found out later does not count.
    :param ends: whose games these are; at another end nothing is known then.
    :param window: between which scores it matters what positions are worth; where one game is both, all
        scores are told apart.
    """

    def __init__(
        self,
        cell: Cell,
        knowledge: Knowledge,
        threads: int = len(ENDS),
        ends: Sequence[int] = ENDS,
        window: Interval = EVERYTHING,
    ) -> None:
        self.cell, self._threads = cell, threads
        frame = frame_of_cell(cell)
        routes = list(routes_of(frame))
        self._one_is_both = len(ends) > 1 and all(map(knowledge.same_ends, routes))
        if self._one_is_both:  # for all scores, so that those who look this cell up have one game only, too
            ends, window = ends[:1], EVERYTHING
        pools = pools_of_ends(frame, routes, knowledge, ends, threads, window)
        games = [BoundsGame(frame, pool) for pool in pools]
        self._games = (
            dict.fromkeys(ENDS, games[0]) if self._one_is_both else dict(zip(ends, games, strict=True))
        )
        self._windows = dict.fromkeys(ENDS, window)
        self._nbytes = pools[0].value.nbytes + pools[0].depth.nbytes
        # In small cells no thread is worth its start.
        self._shared = threads > 1 and frame.size >= _WORTH_SHARING

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of the exits."""
        return self._nbytes

    @property
    def ends(self) -> set[int]:
        """The ends whose games these are."""
        return set(self._games)

    def add(self, before: "Games") -> None:
        """Add games of the same cell at other ends that were there before."""
        if not self._one_is_both and not before._one_is_both and before.ends - self.ends:
            self._windows |= {end: before._windows[end] for end in before._games.keys() - self._games}
            self._games = before._games | self._games
            self._nbytes += before.nbytes

    def solve(self) -> Bounds:
        """Return what is known of the cell's positions, fresh.

        :raises NoCodeError: as :meth:`BoundsGame.solve` does.
        """
        stopped = Event()
        with Crew(self._threads, Stages()) if self._shared else nullcontext() as crew:
            bounds = self._bounds(
                lambda end, into: self._games[end].solve(stopped, into, crew), self._one_is_both, stopped.set
            )
        for end in set(ENDS) - self.ends:
            bounds.value[end] = WORST[end]
            bounds.value[end][bounds.value[1 - end] == NONE] = NONE
        return bounds

    def accrued(self, bounds: Bounds, accrued: GScore) -> Bounds:
        """Return what is known of the positions with an accrued score, from what is known of them fresh.

        ``NONE`` where the accrued score does not matter: the fresh value holds.
        """

        def layer(end: int, into: Block) -> Block:
            fresh = Block(bounds.value[end], bounds.depth[end])
            return self._games[end].layer(fresh, accrued, into=into)

        # Where the exits are exact now, bounds may still be those of a time when they were not.
        layers = self._bounds(layer, self._one_is_both and bounds.same_ends)
        for end in set(ENDS) - self.ends:
            layers.value[end] = NONE
        return layers

    def _bounds(
        self, of_end: Callable[[int, Block], Block], once: bool, stop: Callable[[], None] = lambda: None
    ) -> Bounds:
        """Return the bounds of these ends by a function that puts the values of one's game into a block; of
        other ends, there is only room for values.

        :param once: whether both ends are the same.
        :param stop: called if it fails, or is interrupted, before what is still at work is waited for.
        """
        ends = ENDS[:1] if once else tuple(self._games)
        value, depth = empty_block((1 if once else len(ENDS), 2, self.cell.size))

        def fill(end: int) -> None:
            of_end(end, Block(value[end], depth[end]))
            if self._windows[end] != EVERYTHING:
                self._windows[end].tell(end, value[end], depth[end])

        with shared_map(min(self._threads, len(ends)), self.cell.size) as shared:
            try:
                list(shared(fill, ends))
            except BaseException:
                stop()
                raise
        window = self._windows[min(self._games)]
        if once:
            value, depth = _twice(value), _twice(depth)
        for end in set(ENDS) - self.ends:
            depth[end] = 0
        return Bounds(self.cell, value, depth, tuple(sorted(self.ends)), window)


def _twice(array: NDArray[_Number]) -> NDArray[_Number]:
    """Return an array whose first axis has one element with that twice, in the same memory."""
    return as_strided(array, (2, *array.shape[1:]), (0, *array.strides[1:]))


_NO_DEPTHS: Final = np.zeros(0, np.uint16)


def solve_values(
    cell: Cell,
    knowledge: Knowledge,
    end: int,
    threads: int = 1,
    between: Callable[[], object] = lambda: None,
    window: Interval = EVERYTHING,
) -> NDArray[np.uint8]:
    """Return fresh values of all positions in one game of a cell without frozen men: codes, uint8 (2, slots),
    ``NONE`` where there is no position.

    They are those of :meth:`tbgen.cells.bounds.BoundsGame.solve`, in 12 bytes of memory for each slot.

    :param knowledge: what is known of exits; depths are not asked for.
    :param between: called between two ranks; what it raises ends the work.
    :param window: between which scores it matters what positions are worth.
    :raises NoCodeError: if that takes scores beyond G63.0.
    :raises MemoryError: if there is too little.
    """
    if any(most_moves(cell, side) > COUNTED for side in SIDES):
        raise NoCodeError(cell)

    def block(route: Route, end: int) -> Block | None:
        known = knowledge.block(route, end)
        return None if known is None else Block(known.value, _NO_DEPTHS)

    frame = frame_of_cell(cell)
    known = SomeKnowledge(block, knowledge.bound)
    (pool,) = pools_of_ends(frame, routes_of(frame), known, [end], window=window)
    with Crew(threads, Stages()) as crew:
        workspace = room_for_values(frame.frame, min(threads, MAX_PARTS))
        find_moves(workspace, pool, False, 4 * threads, crew.threads.map)
        ranks = 0
        for _ in ValuesSolver(workspace, pool, crew).ranks():
            ranks += 1
            between()
    if ranks > MAX_CODED_RANK + 1:
        raise NoCodeError(cell)
    values: NDArray[np.uint8] = workspace.exits.value.reshape(2, cell.size)
    window.tell(end, values)
    return values
