"""The frame of a cell: its men as the solver's kernels number them, and room to work on it.

The kings come first, mobile or not, then mobile pieces, then frozen ones, and last the bit man: the last
mobile piece if there is one, else a frozen one, else Black's king. So the digits of a slot of the frame are
the squares of the mobile men in the order of ``Cell.mobile``, followed by that of a frozen bit man.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.cells.cell import Cell
from tbgen.index.layout import SIDES
from tbgen.retro.kernels.bits import ALL
from tbgen.retro.kernels.frame import FROZEN, NO_DIGIT, Frame
from tbgen.retro.kernels.layers import Workspace
from tbgen.retro.workspace import make_attacker, make_phase, room_for_exits

_MOBILE: Final = -1
"""Stands for the square of a mobile man."""


class Castling(NamedTuple):
    """A way to castle: squares."""

    king: int
    rook: int
    king_to: int
    rook_to: int


@dataclass(frozen=True)
class CellFrame:
    """A cell's frame."""

    cell: Cell
    frame: Frame
    squares: tuple[int, ...]
    """Square of each man of the frame that is frozen, -1 for mobile ones."""
    castlings: tuple[Castling, ...] = ()

    @property
    def size(self) -> int:
        """Number of slots for one side to move."""
        return 64 * self.frame.words


def frame_of_cell(cell: Cell, castlings: tuple[Castling, ...] = ()) -> CellFrame:
    """Return the frame of a cell, whose frozen kings and rooks may castle in some ways."""
    mobile = [(man, _MOBILE) for man in cell.mobile]
    still = [(frozen.man, frozen.square) for frozen in cell.frozen]
    men = sorted([*mobile, *still], key=lambda each: (each[0].piece, each[0].piece or each[0].colour))
    pieces = [place for place, (man, square) in enumerate(men) if man.piece and square == _MOBILE]
    men.append(men.pop(pieces[-1] if pieces else -1))
    squares = tuple(square for _, square in men)
    scalars = len(men) - 1
    shifts, digit = [NO_DIGIT] * scalars, 0
    for man in range(scalars - 1, -1, -1):
        if squares[man] == _MOBILE:
            shifts[man] = digit
            digit += 6
    colours = [man.colour for man, _ in men]
    frame = Frame(
        np.array([man.kind for man, _ in men], np.int64),
        np.array(colours, np.int64),
        np.array([c if q == _MOBILE else FROZEN for c, q in zip(colours, squares, strict=True)], np.int64),
        np.array(shifts, np.int64),
        np.array([max(square, 0) for square in squares[:-1]], np.int64),
        ALL if squares[-1] == _MOBILE else np.uint64(1 << squares[-1]),
        scalars,
        False,
        1 << digit,
        np.array(cell.pawns, np.uint64),
        np.array(
            [
                (squares.index(way.king), squares.index(way.rook), way.king_to, way.rook_to)
                for way in castlings
            ],
            np.int64,
        ).reshape(-1, 4),
    )
    return CellFrame(cell, frame, squares, castlings)


def room_for_cell(frame: Frame, resets: bool = True) -> Workspace:
    """Return room to solve a cell: that of a phase, with exits that results leave alone."""
    phase = make_phase(frame.words, resets)
    white, black = (make_attacker(side, frame, phase, 1) for side in SIDES)
    no_like_men: NDArray[np.int64] = np.zeros((0, 2), np.int64)
    return Workspace(frame, phase, (white, black), room_for_exits(2 * frame.words * 64), no_like_men)
