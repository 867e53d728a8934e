"""Copying values from where they are stored to the blocks that moves are looked up in."""

import numpy as np

from tbgen.board.score import NONE
from tbgen.compiler.jit import jit
from tbgen.retro.geometry import IMAGES, SYMMETRY_OF, TRIANGLE_OF
from tbgen.retro.kernels.bits import Codes, Ints, Plies
from tbgen.retro.kernels.exits import NO_EXIT, Exits


@jit
def gather(
    stored: tuple[Codes, Plies, Codes],
    shifts: Ints,
    squares: Ints,
    symmetry: int,
    pawnless: bool,
    open_end: int,
    block_value: Codes,
    block_depth: Plies,
) -> None:
    """Fill a block with the values and depths of a ``stored`` phase or cell.

    For each man of the stored slot, ``shifts`` int64 (men,) says where the block's slot has his square; -1
    if he always stands on the square in ``squares`` int64 (men,). ``symmetry`` leads from the block's squares
    to the stored ones; if it mirrors ranks, colours are swapped too. In ``pawnless`` tables the first man's
    square decides on more. Depths count as 0 where the stored value is ``open_end``, and that in
    the third array is not.
    """
    value, depth, other = stored
    swapped, men, low = symmetry & 2 != 0, len(shifts), -1
    for man in range(men):
        if shifts[man] == 0 and not (pawnless and man == 0):
            low = man
    # For so many slots only the square of one man changes.
    run, step = (64, 6 * (men - 1 - low)) if low >= 0 else (1, 0)
    for first in range(0, len(block_value), run):
        base, image = 0, 0
        for man in range(men):
            square = squares[man] if shifts[man] < 0 else (first >> shifts[man]) & 63
            square = IMAGES[symmetry, square]
            if pawnless and man == 0:
                image = SYMMETRY_OF[square]
                base = TRIANGLE_OF[square]
            elif man == low:
                base <<= 6
            else:
                base = base << 6 | IMAGES[image, square]
        for slot in range(first, first + run):
            at = base
            if low >= 0:
                at |= IMAGES[image, IMAGES[symmetry, slot & 63]] << step
            code = value[at]
            block_value[slot] = np.uint8(255) - code if swapped and code != NONE else code
            settled = code == open_end and other[at] != open_end
            block_depth[slot] = np.uint16(0) if settled else depth[at]


@jit
def best_block(
    exits: Exits, first: int, side: int, bound: int, block_value: Codes, block_depth: Plies
) -> None:
    """Fill a block with the best exits of a side, which begin at ``first``, and their depths with the move
    itself.

    Where there is none, or one that is worse for the side than the code ``bound``, it gets ``bound`` with
    depth 0. With ``NONE``, no exit is.
    """
    for slot in range(len(block_value)):
        code, depth = exits.value[first + slot], exits.nearest[first + slot]
        worse = bound != NONE and (code < bound if side else code > bound)
        nothing = depth == NO_EXIT or worse
        block_value[slot] = bound if nothing else code
        block_depth[slot] = np.uint16(0) if nothing else depth + np.uint16(1)
