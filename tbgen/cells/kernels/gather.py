"""Copying values from where they are stored to the blocks that moves are looked up in."""

import numpy as np

from tbgen.board.score import NONE
from tbgen.compiler.jit import jit
from tbgen.retro.geometry import IMAGES, SYMMETRY_OF, TRIANGLE_OF
from tbgen.retro.kernels.bits import Codes, Ints, Plies


@jit
def gather(
    value: Codes,
    depth: Plies,
    shifts: Ints,
    squares: Ints,
    symmetry: int,
    pawnless: bool,
    block_value: Codes,
    block_depth: Plies,
) -> None:
    """Fill a block with the values of a stored phase or cell.

    For each man of the stored slot, ``shifts`` int64 (men,) says where the block's slot has his square; -1
    if he always stands on the square in ``squares`` int64 (men,). ``symmetry`` leads from the block's squares
    to the stored ones; if it mirrors ranks, colours are swapped too. In ``pawnless`` tables the first man's
    square decides on more.
    """
    swapped = symmetry & 2 != 0
    for slot in range(len(block_value)):
        stored, image = 0, symmetry
        for man in range(len(shifts)):
            square = squares[man] if shifts[man] < 0 else (slot >> shifts[man]) & 63
            square = IMAGES[symmetry, square]
            if pawnless:
                if man == 0:
                    image = SYMMETRY_OF[square]
                    stored = TRIANGLE_OF[square]
                    continue
                square = IMAGES[image, square]
            stored = stored << 6 | square
        code = value[stored]
        block_value[slot] = np.uint8(255) - code if swapped and code != NONE else code
        block_depth[slot] = depth[stored]
