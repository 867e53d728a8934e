"""Values of the moves out of a cell: captures, and all moves of men that stand still."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64
from tbgen.verify.kernels.keys import key_of
from tbgen.verify.kernels.men import ProofMen, Squares
from tbgen.verify.kernels.resets import PROMOTIONS


class CellExits(NamedTuple):
    """Values of the moves out of a cell in one of its games."""

    way: NDArray[np.int32]
    """Number of each way out, by :func:`way_number`; 0 where nothing is known."""
    begin: NDArray[np.int64]
    """Start of each way's values; -1 - code where a code holds for all of them."""
    value: NDArray[np.uint8]
    """Codes by the squares of the mobile men left, in their order; ``NONE`` where nothing is known."""
    depth: NDArray[np.uint16]
    unknown: int
    """Code of what nothing is known about."""


NO_EXITS = CellExits(
    np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.uint16), 0
)


@inlined
def way_number(men: ProofMen, mover: int, target: int, victim: int, promotion: int) -> int:
    """Number of a way out.

    ``mover`` is the man that stands still and moves to ``target``; it is the number of men if a mobile man
    moves, and then ``target`` is where the man that stands still was captured, else 0. ``victim`` is 1 + the
    mobile man that is captured, else 0.
    """
    return ((mover * 64 + target) * (men.free + 1) + victim) * (PROMOTIONS + 1) + promotion


@inlined
def key_of_exit(
    exits: CellExits, men: ProofMen, man: int, captured: int, promotion: int, squares: Squares, level: int
) -> int:
    """Key of the position on ``squares``, after ``man`` has left the cell; ``captured`` is -1 for nobody."""
    slot = int64(0)
    for other in range(men.free):
        if other != captured:
            slot = slot << 6 | squares[other]
    victim = captured + 1 if captured < men.free else 0
    mover, target = man, squares[man]
    if man < men.free:
        mover = men.kinds.size
        if victim:
            target = int64(0)
    begin = exits.begin[exits.way[way_number(men, mover, target, victim, promotion)]]
    if begin < 0:
        return key_of(-1 - begin, 0, level)
    code = int64(exits.value[begin + slot])
    if code == NONE:
        return key_of(exits.unknown, 0, level)
    return key_of(code, int64(exits.depth[begin + slot]), level)
