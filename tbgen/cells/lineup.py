"""The men of a cell in the order in which kernels number them.

The kings come first, mobile or not, then mobile pieces, then frozen ones, and last the bit man: the last
mobile piece if there is one, else a frozen one, else Black's king. So the digits of a slot of the cell's
frame are the squares of the mobile men in the order of ``Cell.mobile``, followed by that of a frozen bit man.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from tbgen.cells.cell import Cell, Man

MOBILE: Final = -1
"""Stands for the square of a mobile man."""


class Castling(NamedTuple):
    """A way to castle: squares."""

    king: int
    rook: int
    king_to: int
    rook_to: int


@dataclass(frozen=True)
class Lineup:
    """A cell with its men in order; this is all that its ways out depend on."""

    cell: Cell
    men: tuple[Man, ...]
    squares: tuple[int, ...]
    """Square of each man that is frozen, -1 for mobile ones."""
    castlings: tuple[Castling, ...] = ()


def lineup_of_cell(cell: Cell, castlings: tuple[Castling, ...] = ()) -> Lineup:
    """Return the men of a cell, whose frozen kings and rooks may castle in some ways."""
    mobile = [(man, MOBILE) for man in cell.mobile]
    still = [(frozen.man, frozen.square) for frozen in cell.frozen]
    placed = sorted([*mobile, *still], key=lambda each: (each[0].piece, each[0].piece or each[0].colour))
    pieces = [place for place, (man, square) in enumerate(placed) if man.piece and square == MOBILE]
    placed.append(placed.pop(pieces[-1] if pieces else -1))
    men, squares = zip(*placed, strict=True)
    return Lineup(cell, men, squares, castlings)
