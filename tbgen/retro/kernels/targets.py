"""Where zeroing moves lead: blocks of the materials reached, laid side by side in one pool of arrays.

A *block* is one phase of one material, White to move and Black to move. The pool starts with the table being
solved (pawn moves stay in it), then its en passant positions, then blocks of the successors. Every slot of a
block that stands for a legal position has its value, canonical or not.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.index import zeroing
from tbgen.retro.geometry import IMAGES, KIND_COUNT, SYMMETRY_OF, TRIANGLE_OF
from tbgen.retro.kernels.words import Codes, Ints, Plies, Words, bits_of, image

CAPTURED_PAWN = int64(zeroing.CAPTURED_PAWN)
"""As numpy's type, since numba compiles a kernel anew for every plain constant."""
VARIABLE = int64(-1)
"""Square of the one man after a move whose square is the bit of the word."""


@dataclass(frozen=True, eq=False)
class Targets(Struct):
    """The pool's directory; every array's first axis is the target's number."""

    number: Ints
    """int64 (2, 7, 5): target of a move by (side, captured man, promotion: 0 none, else kind)."""
    swapped: Ints
    """int64: 1 where colours are swapped in the target."""
    free: Ints
    """int64: number of free men."""
    source: Ints
    """int64 (targets, 5): which man after the move each free man of the target is."""
    pawns: Ints
    """int64: number of pawns."""
    phase_size: Ints
    """int64: number of slots of a phase."""
    block_at: Ints
    """int64: where the target's blocks, one per phase, start in ``begin``."""
    begin: Ints
    """int64 (blocks, 2): start of a block in the pool by the side to move there; -1 where the block
    is not in the pool."""
    rows_at: Ints
    """int64: start of the target's pawn placements in ``rows``."""
    rows: NDArray[np.int32]
    """int32: twice the phase, plus one if mirrored, of pawn squares read as digits in base 64."""
    ep_row: NDArray[np.int32]
    """int32 (phases, 16): en passant configuration by phase and file of the capturable pawn, Black's files
    from 8; -1 where there is none."""
    ep_offset: int
    """Where the en passant positions start in the pool."""


NO_SQUARE = int64(zeroing.NO_SQUARE)
ROUTE_VICTIMS = zeroing.ROUTE_VICTIMS
ROUTES = 65 * 65 * ROUTE_VICTIMS * KIND_COUNT
"""Number of routes that can be told apart."""


@dataclass(frozen=True, eq=False)
class Routes(Struct):
    """Where moves that leave a cell lead: in place of the directory.

    A move's *route* is what it does to pawns, frozen men and the set of mobile men: ``((origin * 65 +
    target) * ROUTE_VICTIMS + victim) * KIND_COUNT + promotion``. ``origin`` is where the pawn or frozen man
    that moves came from; ``target`` is where it goes or, if a mobile man moves, where the pawn or frozen man
    that it captures stood (``NO_SQUARE``: nothing of the kind); ``victim`` is 1 + the number of the mobile
    man captured, or of the mobile man that captures what stood still. Its block holds the positions reached,
    by the squares of the mobile men left, in their order, the latter left out too.
    """

    block: NDArray[np.int16]
    """int16 (ROUTES,): number of each route's block; empty where the directory counts."""
    begin: Ints
    """int64: start of each block in the pool; -1 - code where all that is known is the code of a bound."""
    frozen: Ints
    """int64 (free,): square of each man of the frame that is frozen, -1 for mobile ones."""
    pawns: Words
    """uint64 (2,): squares of White's and Black's pawns in the cell."""
    unknown: int
    """Code of positions without value in a block."""


@dataclass(frozen=True, eq=False)
class Pool(Struct):
    """Values and depths of all targets, with their directory."""

    value: Codes
    """uint8 codes."""
    depth: Plies
    """uint16 plies; empty if nobody wants depths."""
    targets: Targets
    routes: Routes


class Men(NamedTuple):
    """The position after a move, of all places of the bit man at once."""

    squares: Ints
    """int64 (32,): squares of the men, ``VARIABLE`` of at most one of those left; the last is that of a
    promoted man."""
    pawns: Words
    """uint64 (2,): squares of White's and Black's pawns."""
    scratch: Ints
    """int64 (6,)."""


@jit
def room_for_men() -> Men:
    """Return room for the men of a position."""
    return Men(np.zeros(zeroing.PROMOTED + 1, np.int64), np.zeros(2, np.uint64), np.empty(6, np.int64))


@inlined
def pawn_row(targets: Targets, target: int, pawns: Words) -> int:
    """Twice the phase, plus one if mirrored, of the pawns ``pawns`` (uint64 (2,)) in a target with pawns."""
    key = 0
    for colour in range(2):
        own = pawns[colour]
        if targets.swapped[target]:
            own = image(pawns[1 - colour], 2)
        for square in bits_of(own):
            key = key * 64 + square
    return targets.rows[targets.rows_at[target] + key]


@inlined
def _slot(squares: Ints, free: int, symmetry: int, pawnless: bool) -> int:
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
def slots_after(targets: Targets, target: int, side: int, men: Men) -> tuple[int, int, int, int]:
    """Return (base, step, symmetry, king) for the slots in the pool of the positions after a move of
    ``side``.

    The position with the man that is ``VARIABLE`` on ``b`` has slot ``base + (IMAGES[symmetry, b] << step)``;
    step is -1 if no man is variable. ``king`` is the number of the variable man if it is the king that fixes
    the symmetry, else -1: then the slot must be asked for each of its squares in turn.
    """
    scratch = men.scratch
    pawnless = targets.pawns[target] == 0
    free = targets.free[target]
    flip = 56 if targets.swapped[target] else 0
    step = -1
    for man in range(free):
        square = men.squares[targets.source[target, man]]
        if square == VARIABLE:
            step = 6 * (free - 1 - man)
            scratch[man] = VARIABLE
        else:
            scratch[man] = square ^ flip
    block = targets.block_at[target]
    if pawnless:
        symmetry = 0 if scratch[0] == VARIABLE else SYMMETRY_OF[scratch[0]]
    else:
        row = pawn_row(targets, target, men.pawns)
        block += row >> 1
        symmetry = row & 1
    base = targets.begin[block, (1 - side) ^ targets.swapped[target]]
    if pawnless and scratch[0] == VARIABLE:
        return base, step, 0, targets.source[target, 0]
    base += _slot(scratch, free, symmetry, pawnless)
    if flip:
        symmetry ^= 2
    return base, step, symmetry, -1
