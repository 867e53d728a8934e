"""Where zeroing moves lead: blocks of the materials reached, laid side by side in one pool of arrays.

A *block* is one phase of one material, White to move and Black to move. The pool starts with the table being
solved (pawn moves stay in it), then its en passant positions, then blocks of the successors. Every slot of a
block that stands for a legal position has its value, canonical or not.
"""

from typing import NamedTuple

import numpy as np

from tbgen.accelerate import inlined, kernel
from tbgen.index import zeroing
from tbgen.retro.geometry import IMAGES, SYMMETRY_OF, TRIANGLE_OF
from tbgen.retro.kernels.bits import ONE, image, lowest

CAPTURED_PAWN = np.int64(zeroing.CAPTURED_PAWN)
"""As numpy's type, since numba compiles a kernel anew for every plain constant."""
VARIABLE = -1
"""Square of the one man after a move whose square is the bit of the word."""


class Targets(NamedTuple):
    """The pool's directory; every array's first axis is the target's number."""

    number: np.ndarray
    """int64 (2, 7, 5): target of a move by (side, captured man, promotion: 0 none, else kind)."""
    swapped: np.ndarray
    """int64: 1 where colours are swapped in the target."""
    free: np.ndarray
    """int64: number of free men."""
    source: np.ndarray
    """int64 (targets, 5): which man after the move each free man of the target is."""
    pawns: np.ndarray
    """int64: number of pawns."""
    phase_size: np.ndarray
    block_at: np.ndarray
    """int64: where the target's blocks, one per phase, start in ``begin``."""
    begin: np.ndarray
    """int64 (blocks, 2): start of a block in the pool by the side to move there; -1 where the block
    is not in the pool."""
    rows_at: np.ndarray
    """int64: start of the target's pawn placements in ``rows``."""
    rows: np.ndarray
    """int32: twice the phase, plus one if mirrored, of pawn squares read as digits in base 64."""
    ep_row: np.ndarray
    """int32 (phases, 16): en passant configuration by phase and file of the capturable pawn, Black's files
    from 8; -1 where there is none."""
    ep_offset: int


class Pool(NamedTuple):
    """Values and depths of all targets, with their directory."""

    value: np.ndarray
    """uint8 codes."""
    depth: np.ndarray
    """uint16 plies."""
    targets: Targets


@inlined
def pawn_row(tg, target, pawns):
    """Twice the phase, plus one if mirrored, of the pawns ``pawns`` (uint64 (2,)) in a target with pawns."""
    key = 0
    for colour in range(2):
        own = pawns[colour]
        if tg.swapped[target]:
            own = image(pawns[1 - colour], 2)
        while own:
            key = key * 64 + lowest(own)
            own &= own - ONE
    return tg.rows[tg.rows_at[target] + key]


@inlined
def _slot(squares, free, symmetry, pawnless):
    """Slot within a phase; a man on a negative square counts as 0."""
    slot = 0
    for man in range(free):
        slot <<= 6
        if squares[man] >= 0:
            if man == 0 and pawnless:
                slot |= TRIANGLE_OF[squares[0]]
            else:
                slot |= IMAGES[symmetry, squares[man]]
    return slot


@kernel
def slots_after(tg, target, side, men, pawns, scratch):
    """Return (base, step, symmetry, lead) for the slots in the pool of the positions after a move of
    ``side``.

    ``men`` (int64 (6,)) are the squares after the move, at most one of them ``VARIABLE``; the position with
    that man on ``b`` has slot ``base + (IMAGES[symmetry, b] << step)``; step is -1 if no man is variable.
    ``lead`` is set if the variable man is the king that fixes the symmetry: then the slot must be asked for
    each of its squares in turn.
    """
    pawnless = tg.pawns[target] == 0
    free = tg.free[target]
    flip = 56 if tg.swapped[target] else 0
    step = -1
    for man in range(free):
        square = men[tg.source[target, man]]
        if square == VARIABLE:
            step = 6 * (free - 1 - man)
            scratch[man] = VARIABLE
        else:
            scratch[man] = square ^ flip
    block = tg.block_at[target]
    if pawnless:
        symmetry = 0 if scratch[0] == VARIABLE else SYMMETRY_OF[scratch[0]]
    else:
        row = pawn_row(tg, target, pawns)
        block += row >> 1
        symmetry = row & 1
    base = tg.begin[block, (1 - side) ^ tg.swapped[target]]
    if pawnless and scratch[0] == VARIABLE:
        return base, step, 0, True
    base += _slot(scratch, free, symmetry, pawnless)
    if flip:
        symmetry ^= 2
    return base, step, symmetry, False
