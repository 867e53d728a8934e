"""Syzygy files as an exit source: the side that can force mate decides or bounds the value in r-mobility."""

from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import Block, side_after
from tbgen.cells.cell import Cell
from tbgen.cells.interval import Interval
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route
from tbgen.cells.window import FAR
from tbgen.index.layout import Side
from tbgen.probe.syzygy import Syzygy, Winner
from tbgen.solve.answer import Answer
from tbgen.solve.exits import ExitSource

_SLOTS: Final = 64**2
"""Slots of a cell all of whose positions are asked for: python-chess takes some 70 microseconds for each."""
_NOTHING: Final = len(Winner)
"""Stands for the winner where there is no position."""
# What both ends can claim of a mate: a side that is held to it may be mated at once, and one that forces it
# may take longer than the files say.
_DEPTHS: Final = {Winner.WHITE: (FAR, 0), Winner.BLACK: (0, FAR)}
_ANSWERS: Final = (
    *(
        Answer(Interval(winner.bounds.lower.code, winner.bounds.upper.code), _DEPTHS.get(winner, (0, 0)))
        for winner in Winner
    ),
    Answer(Interval(NONE, NONE), (0, 0)),
)
"""What is known of a position by its winner."""


class SyzygyExits(ExitSource):
    """What Syzygy files tell of positions outside a cell."""

    def __init__(self, files: Syzygy) -> None:
        self._files = files
        self._found: dict[tuple[Cell, Side, int | None], NDArray[np.uint8]] = {}
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept in memory."""
        return sum(winners.nbytes for winners in self._found.values())

    def knows(self, route: Route) -> bool:
        """Whether there is a file for what a route leads to, and not too much of that for a block."""
        return self._has_cell(route.destination)

    def worth(self, position: CellPosition) -> Interval | None:
        """Return what :meth:`sure` does where blocks say the same."""
        return self.sure(position) if self._has_cell(position.cell) else None

    def sure(self, position: CellPosition) -> Interval | None:
        """Return the interval of a position, if the files have it.

        :raises DamagedTableError: if a file cannot be used.
        """
        winner = self._files.winner(position.board)
        return None if winner is Winner.UNKNOWN else _ANSWERS[winner].value

    def _has_cell(self, cell: Cell) -> bool:
        white, black = cell.sides()
        return cell.size <= _SLOTS and self._files.has_material(f"{white}v{black}")

    def block(self, route: Route, end: int, bound: Code) -> Block:
        """Return one end of the intervals of the positions that a route leads to; ``bound`` where files are
        missing that captures lead to.

        :raises DamagedTableError: if a file cannot be used.
        """
        key = route.destination, side_after(route), route.passed
        with self._lock:
            if key not in self._found:
                self._found[key] = self._winners(*key)
            winners = self._found[key]
        value = np.array([answer.value[end] for answer in _ANSWERS], np.uint8)
        value[Winner.UNKNOWN] = bound
        depth = np.array([answer.depths[end] for answer in _ANSWERS if answer.depths], np.uint16)
        return Block(value[winners], depth[winners])

    def _winners(self, cell: Cell, side: Side, passed: int | None) -> NDArray[np.uint8]:
        """The winners of all slots of a cell."""
        found = np.full(cell.size, _NOTHING, np.uint8)
        for slot in range(cell.size):
            board = cell.board_of(side, slot)
            if board is not None and not board.was_into_check():
                board.ep_square = passed
                found[slot] = self._files.winner(board)
        return found
