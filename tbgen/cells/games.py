"""Solving the lower game, the upper game or both games of a cell."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from threading import Event
from typing import Final, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tbgen.board.score import NONE, GScore
from tbgen.cells.bounds import (
    ENDS,
    WORST,
    Block,
    Bounds,
    BoundsGame,
    BoundsSource,
    empty_block,
    pools_of_ends,
)
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell, threaded_map
from tbgen.cells.routes import routes_of
from tbgen.retro.ranks import Crew, StageTimes

_Number = TypeVar("_Number", bound=np.generic)

_MIN_SHARED_SLOTS: Final = 64**4
"""Minimum number of slots for which all threads work on every game, rather than one thread on each game."""


class Games:
    """The lower and the upper game of a cell, or one of the two.

    If the values of all exits are available, both games are the same, and only one is solved. In large cells,
    all threads work on every game; in small cells, each thread works on one game.

    :param exit_bounds: source of the exits' bounds, which only the constructor reads.
    :param ends: the games to solve: ``LOWER``, ``UPPER`` or both. If a game is not solved, its bounds are
        ``WORST``.
    """

    def __init__(
        self,
        cell: Cell,
        exit_bounds: BoundsSource,
        threads: int = len(ENDS),
        ends: Sequence[int] = ENDS,
    ) -> None:
        self.cell = cell
        self._threads = threads
        frame = frame_of_cell(cell)
        routes = list(routes_of(frame))
        self._single_game = len(ends) > 1 and all(map(exit_bounds.knows_values, routes))
        if self._single_game:
            ends = ends[:1]
        pools = pools_of_ends(frame, routes, exit_bounds, ends, threads)
        games = [BoundsGame(frame, pool) for pool in pools]
        self._games = (
            dict.fromkeys(ENDS, games[0]) if self._single_game else dict(zip(ends, games, strict=True))
        )
        self._nbytes = pools[0].value.nbytes + pools[0].depth.nbytes
        # In small cells, starting threads takes more time than it saves.
        self._threads_share_games = threads > 1 and frame.size >= _MIN_SHARED_SLOTS

    @property
    def nbytes(self) -> int:
        """Bytes of the stored bounds of the exits."""
        return self._nbytes

    @property
    def ends(self) -> set[int]:
        """The ends that these games solve."""
        return set(self._games)

    def add(self, games: "Games") -> None:
        """Add earlier games of the same cell for the ends that these games do not solve."""
        if not self._single_game and not games._single_game and games.ends - self.ends:
            self._games = games._games | self._games
            self._nbytes += games.nbytes

    def solve(self) -> Bounds:
        """Return the bounds of the cell's positions in fresh states.

        :raises UnstorableCellError: if the cell has scores beyond G63.0 or depths that cannot be stored.
        """
        stopped = Event()
        with Crew(self._threads, StageTimes()) if self._threads_share_games else nullcontext() as crew:
            bounds = self._bounds(
                lambda end, out: self._games[end].solve(stopped, out, crew), self._single_game, stopped.set
            )
        for end in set(ENDS) - self.ends:
            bounds.value[end] = WORST[end]
            bounds.value[end][bounds.value[1 - end] == NONE] = NONE
        return bounds

    def accrued_bounds(self, bounds: Bounds, accrued: GScore) -> Bounds:
        """Return the bounds of the cell's positions with the given accrued score.

        The value is ``NONE`` where the accrued score does not matter, so that the fresh bound applies.

        :param bounds: the fresh bounds of the cell.
        """

        def solve_layer(end: int, out: Block) -> Block:
            return self._games[end].layer(Block(bounds.value[end], bounds.depth[end]), accrued, out=out)

        # The fresh bounds of both ends differ if they were found before all exits had exact values.
        layers = self._bounds(solve_layer, self._single_game and bounds.has_equal_ends)
        for end in set(ENDS) - self.ends:
            layers.value[end] = NONE
        return layers

    def _bounds(
        self, solve_end: Callable[[int, Block], Block], single: bool, stop: Callable[[], None] = lambda: None
    ) -> Bounds:
        """Return the bounds at the ends that these games solve; values at any other end are undefined.

        :param solve_end: writes the values and depths of the game at the given end into the given block.
        :param single: whether the game at the lower end serves both ends.
        :param stop: called on an error or interruption, before waiting for the other threads.
        """
        ends = ENDS[:1] if single else tuple(self._games)
        value, depth = empty_block((1 if single else len(ENDS), 2, self.cell.size))

        def fill(end: int) -> None:
            solve_end(end, Block(value[end], depth[end]))

        with threaded_map(min(self._threads, len(ends)), self.cell.size) as thread_map:
            try:
                list(thread_map(fill, ends))
            except BaseException:
                stop()
                raise
        if single:
            value, depth = _double_first_axis(value), _double_first_axis(depth)
        for end in set(ENDS) - self.ends:
            depth[end] = 0
        return Bounds(self.cell, value, depth, tuple(sorted(self.ends)))


def _double_first_axis(array: NDArray[_Number]) -> NDArray[_Number]:
    """Return a view of an array in which the only element of its first axis appears twice."""
    return as_strided(array, (2, *array.shape[1:]), (0, *array.strides[1:]))
