"""The frame of a cell: its men as the solver's kernels number them."""

from dataclasses import dataclass

import numpy as np

from tbgen.cells.cell import Cell
from tbgen.cells.lineup import MOBILE, Castling, Lineup, lineup_of_cell
from tbgen.retro.kernels.bits import ALL
from tbgen.retro.kernels.frame import FROZEN, NO_DIGIT, Frame
from tbgen.retro.movement import ORTHODOX


@dataclass(frozen=True, kw_only=True)
class CellFrame(Lineup):
    """A cell's frame."""

    frame: Frame

    @property
    def size(self) -> int:
        """Number of slots for one side to move."""
        return 64 * self.frame.words


def frame_of_cell(cell: Cell, castlings: tuple[Castling, ...] = ()) -> CellFrame:
    """Return the frame of a cell, whose frozen kings and rooks may castle in some ways."""
    lineup = lineup_of_cell(cell, castlings)
    men, squares = lineup.men, lineup.squares
    scalars = len(men) - 1
    shifts, digit = [NO_DIGIT] * scalars, 0
    for man in range(scalars - 1, -1, -1):
        if squares[man] == MOBILE:
            shifts[man] = digit
            digit += 6
    colours = [man.colour for man in men]
    frame = Frame(
        ORTHODOX,
        np.array([man.kind for man in men], np.int64),
        np.array(colours, np.int64),
        np.array([c if q == MOBILE else FROZEN for c, q in zip(colours, squares, strict=True)], np.int64),
        np.array(shifts, np.int64),
        np.array([max(square, 0) for square in squares[:-1]], np.int64),
        ALL if squares[-1] == MOBILE else np.uint64(1 << squares[-1]),
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
    return CellFrame(**vars(lineup), frame=frame)
