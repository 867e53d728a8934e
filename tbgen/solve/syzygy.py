"""Syzygy tables as an exit source: the side that can force mate decides or bounds the value in r-mobility.

A forced mate is G0.0 for the side that forces it, however long it takes: there is no 50-move rule, so a
*cursed* win counts. Where nobody can force mate, neither side gets better than G0.5, a stalemate of the
other.
"""

import struct
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Final, Self

import chess.syzygy
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import WORST, Block, Interval, side_after
from tbgen.cells.cell import Cell
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route
from tbgen.errors import DamagedTableError, TbgenError, UsageError
from tbgen.index.layout import Side
from tbgen.solve.answer import Answer
from tbgen.solve.exits import ExitSource

_SLOTS: Final = 64**2
"""Slots of a cell all of whose positions are asked for: python-chess takes some 70 microseconds for each."""
_DAMAGED: Final = (OSError, ValueError, IndexError, AssertionError, RecursionError, struct.error)
"""What python-chess may raise of damaged files, which it does not check."""
_POSSIBLE: Final = range(-2, 3)
_FAR: Final = 60_000
"""Plies that a forced mate does not take: the tables do not say how many it does."""


_NOBODY, _WHITE, _BLACK, _UNKNOWN, _NOTHING = range(5)
_VERDICTS: Final = (
    # A depth lies between those of both ends: a side that is held to a score may have it at once, and one
    # that forces it may take longer than the tables say.
    Answer(Interval(Code(254), Code(1)), (0, 0)),
    Answer(Interval(Code(0), Code(0)), (_FAR, 0)),
    Answer(Interval(Code(255), Code(255)), (0, _FAR)),
    Answer(Interval(*WORST), (0, 0)),
    Answer(Interval(NONE, NONE), (0, 0)),
)
"""The answers where nobody can force mate, White can, Black can, a file is missing, or no position is."""


class Syzygy(ExitSource):
    """Syzygy files of win, draw and loss (WDL). A context, which closes them; safe for threads.

    :raises UsageError: if there are none in the directory.
    :raises TbgenError: if it cannot be read.
    """

    def __init__(self, directory: str | PathLike[str]) -> None:
        self._directory = Path(directory)
        if not self._directory.is_dir():
            raise UsageError(f"{directory} is no directory: give the one that Syzygy files (.rtbw) lie in")
        try:
            self._files = chess.syzygy.open_tablebase(str(directory), load_dtz=False)
        except OSError as error:
            raise TbgenError(f"cannot read the directory {directory}: {error.strerror}") from error
        if not self._files.wdl:
            raise UsageError(f"{directory} has no Syzygy files (.rtbw): give the directory that they lie in")
        self._found: dict[tuple[Cell, Side, int | None], NDArray[np.uint8]] = {}
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    @property
    def nbytes(self) -> int:
        """Bytes of verdicts in memory."""
        return sum(verdicts.nbytes for verdicts in self._found.values())

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
        verdict = self._verdict(position.board)
        return None if verdict == _UNKNOWN else _VERDICTS[verdict].value

    def _has_cell(self, cell: Cell) -> bool:
        if cell.size > _SLOTS:
            return False
        white, black = cell.sides()
        return chess.syzygy.normalize_tablename(f"{white}v{black}") in self._files.wdl

    def block(self, route: Route, end: int, bound: Code) -> Block:
        """Return one end of the intervals of the positions that a route leads to; ``bound`` where files are
        missing that captures lead to.

        :raises DamagedTableError: if a file cannot be used.
        """
        key = route.destination, side_after(route), route.passed
        with self._lock:
            if key not in self._found:
                self._found[key] = self._verdicts(*key)
            verdicts = self._found[key]
        value = np.array([verdict.value[end] for verdict in _VERDICTS], np.uint8)
        value[_UNKNOWN] = bound
        depth = np.array([verdict.depths[end] for verdict in _VERDICTS if verdict.depths], np.uint16)
        return Block(value[verdicts], depth[verdicts])

    def _verdicts(self, cell: Cell, side: Side, passed: int | None) -> NDArray[np.uint8]:
        """The side that can force mate, for all slots of a cell."""
        found = np.full(cell.size, _NOTHING, np.uint8)
        for slot in range(cell.size):
            board = cell.board_of(side, slot)
            if board is not None and not board.was_into_check():
                board.ep_square = passed
                found[slot] = self._verdict(board)
        return found

    def _verdict(self, board: chess.Board) -> int:
        """The side that can force mate, as a place in ``_VERDICTS``."""
        try:
            wdl = self._files.get_wdl(board)
        except _DAMAGED as error:
            raise self._damaged() from error
        if wdl is None:
            return _UNKNOWN
        if wdl not in _POSSIBLE:
            raise self._damaged()
        if wdl == 0:
            return _NOBODY
        return _WHITE if (wdl > 0) == board.turn else _BLACK

    def _damaged(self) -> DamagedTableError:
        return DamagedTableError(
            f"a Syzygy file in {self._directory} is damaged or cannot be read: compare the files with their "
            "published checksums"
        )
