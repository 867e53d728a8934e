"""Both games of a cell together."""

from collections.abc import Callable
from contextlib import nullcontext
from threading import Event
from typing import Final, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tbgen.board.score import GScore
from tbgen.cells.bounds import ENDS, Block, Bounds, BoundsGame, Knowledge, empty_block, pools_of_ends
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import routes_of
from tbgen.cells.sharing import shared_map
from tbgen.retro.ranks import Crew
from tbgen.retro.stages import Stages

_Number = TypeVar("_Number", bound=np.generic)

_WORTH_SHARING: Final = 64**4
"""Slots from which on all threads work on both games, and not each on a game of its own."""


class Games:
    """Both games of a cell, or the one that is both, if all exits are known to be worth the same at both
    ends.

    In large cells a thread takes whatever is to be done in any game, in small ones it has a game of its own.

    :param knowledge: what is known of exits, as it is now; what is found out later does not count.
    """

    def __init__(self, cell: Cell, knowledge: Knowledge, threads: int = len(ENDS)) -> None:
        self.cell, self._threads = cell, threads
        frame = frame_of_cell(cell)
        self._pools = pools_of_ends(frame, list(routes_of(frame)), knowledge, ENDS, threads)
        self._games = [BoundsGame(frame, pool) for pool in self._pools]
        # In small cells no thread is worth its start.
        self._shared = threads > 1 and frame.size >= _WORTH_SHARING

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of the exits."""
        return self._pools[0].value.nbytes + self._pools[0].depth.nbytes

    def solve(self) -> Bounds:
        """Return what is known of the cell's positions, fresh.

        :raises NoCodeError: as :meth:`Game.solve` does.
        """
        stopped = Event()
        with Crew(self._threads, Stages()) if self._shared else nullcontext() as crew:
            return self._bounds(lambda end, into: self._games[end].solve(stopped, into, crew), stopped.set)

    def accrued(self, bounds: Bounds, accrued: GScore) -> Bounds:
        """Return what is known of the positions with an accrued score, from what is known of them fresh.

        ``NONE`` where the accrued score does not matter: the fresh value holds.
        """

        def layer(end: int, into: Block) -> Block:
            fresh = Block(bounds.value[end], bounds.depth[end])
            return self._games[end].layer(fresh, accrued, into=into)

        return self._bounds(layer)

    def _bounds(
        self, of_end: Callable[[int, Block], Block], stop: Callable[[], None] = lambda: None
    ) -> Bounds:
        """Return the bounds of both ends by a function that puts those of one into a block.

        :param stop: called if it fails, or is interrupted, before what is still at work is waited for.
        """
        games = range(len(self._games))
        found = empty_block((len(games), 2, self.cell.size))
        blocks = list(map(Block, *found))
        with shared_map(min(self._threads, len(games)), self.cell.size) as shared:
            try:
                list(shared(lambda end: of_end(end, blocks[end]), games))
            except BaseException:
                stop()
                raise
        value, depth = found if len(games) > 1 else (_twice(found.value), _twice(found.depth))
        return Bounds(self.cell, value, depth)


def _twice(array: NDArray[_Number]) -> NDArray[_Number]:
    """Return an array whose first axis has one element with that twice, in the same memory."""
    return as_strided(array, (2, *array.shape[1:]), (0, *array.strides[1:]))
