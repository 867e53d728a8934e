"""Values of the positions of a cell, copied together from where they are stored."""

from collections.abc import Sequence

import numpy as np

from tbgen.cells.bounds import Block
from tbgen.cells.cell import Cell, man_of
from tbgen.cells.kernels.gather import gather
from tbgen.index.layout import Side
from tbgen.index.symmetry import MIRROR_RANKS


def gathered(
    cell: Cell, men: Sequence[tuple[Side, int]], symmetry: int, stored: Block, pawnless: bool = False
) -> Block:
    """Return the block of a cell's positions from stored values.

    ``men`` are those of the stored slots, all of them mobile or frozen in the cell, and of like men no other
    is frozen there; ``symmetry`` leads there; ``pawnless`` tables are numbered by more
    symmetries.
    """
    swapped = bool(symmetry & MIRROR_RANKS)
    digits: dict[object, list[int]] = {}
    last = len(cell.mobile) - 1
    for place, man in enumerate(cell.mobile):
        digits.setdefault(man, []).append(6 * (last - place))
    squares: dict[object, list[int]] = {}
    for square, man in cell.frozen:
        squares.setdefault(man, []).append(square)
    shifts, fixed = [], []
    for colour, kind in men:
        man = man_of(Side(colour ^ swapped), kind)
        if digits.get(man):
            shifts.append(digits[man].pop(0))
            fixed.append(0)
        else:
            shifts.append(-1)
            fixed.append(squares[man].pop(0))
    block = Block(np.empty(cell.size, np.uint8), np.empty(cell.size, np.uint16))
    gather(*stored, np.array(shifts, np.int64), np.array(fixed, np.int64), symmetry, pawnless, *block)
    return block
