"""The best exit of each position: where the moves that leave its phase lead, folded into one.

Of all such moves of a position only the value best for the mover matters, with the smallest and the largest
depth among those of that value: which depth counts depends on whom the value favours over the accrued score.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.zeroing import PROMOTED
from tbgen.retro.geometry import IMAGES, KIND_COUNT
from tbgen.retro.kernels.bits import ALL, Codes, Plies, Word, Words, bits_of, lowest
from tbgen.retro.kernels.frame import Frame
from tbgen.retro.kernels.lanes import equal, put
from tbgen.retro.kernels.mobility import ONE_MOVE, add_moves
from tbgen.retro.kernels.targets import (
    NO_SQUARE,
    ROUTE_VICTIMS,
    VARIABLE,
    Men,
    Pool,
    pawn_row,
    slots_after,
)

NO_EXIT = 65535
"""Smallest depth of a position without a move that leaves the phase."""
NOTHING = int64(0)
"""No man captured, no promotion. (numpy's type: numba compiles a kernel anew for every plain constant.)"""
NOWHERE = int64(-1)
"""No scalar captured, no file of a double step."""
PAWN = int64(-1)
"""The number of whatever pawn moves."""


@dataclass(frozen=True, eq=False)
class Exits(Struct):
    """The best exit of each position; all arrays have one entry per slot of the phase, White to move
    first."""

    value: Codes
    """uint8 codes; without depths, NONE where there is no zeroing move."""
    nearest: Plies
    """uint16 plies, NO_EXIT where there is no zeroing move; empty without depths."""
    farthest: Plies
    """uint16 plies; empty without depths."""


class Turn(NamedTuple):
    """One word with one side to move, while the moves that leave the phase are worked out."""

    frame: Frame
    pool: Pool
    """The moves lead there."""
    exits: Exits
    """The best of them are kept there."""
    side: int
    """The side to move."""
    first: int
    """Where the word's positions begin in ``Exits``."""
    legal: Word
    """Its legal positions."""
    occupied: Word
    """Squares of scalars and pawns."""
    men: Men
    """The position after the move in hand; between moves, that of the word."""
    slices: Words
    """uint64 (SLICES,): the counter of the word's moves."""
    captures_only: bool
    """Whether pawn moves other than captures are left out."""


@inlined
def forget_exits(exits: Exits, first: int) -> None:
    """Forget the exits of the word whose positions begin at ``first``."""
    if len(exits.nearest):
        put(exits.nearest, first, ALL, NO_EXIT)
    else:
        put(exits.value, first, ALL, NONE)


@inlined
def without_exit(exits: Exits, first: int) -> Word:
    """The positions without exit of the word whose positions begin at ``first``."""
    if len(exits.nearest):
        return equal(exits.nearest, first, NO_EXIT)
    return equal(exits.value, first, NONE)


@inlined
def keep_best_exit(exits: Exits, node: int, side: int, value: int, depth: int) -> None:
    """Take one move that leaves the phase into the best exit of its position."""
    if len(exits.nearest) == 0:
        if exits.value[node] == NONE or (value < exits.value[node]) == (side == 0):
            exits.value[node] = value
        return
    if exits.nearest[node] != NO_EXIT:
        known = exits.value[node]
        if value == known:
            exits.nearest[node] = min(exits.nearest[node], depth)
            exits.farthest[node] = max(exits.farthest[node], depth)
            return
        if (value > known) == (side == 0):
            return
    exits.value[node] = value
    exits.nearest[node] = depth
    exits.farthest[node] = depth


@inlined
def _settle_in_tables(turn: Turn, mask: Word, captured: int, promotion: int, ep_file: int) -> None:
    """``settle_moves`` for the phases of tables."""
    pool, targets, men, side = turn.pool, turn.pool.targets, turn.men, turn.side
    target = targets.number[side, captured, promotion]
    base, step, symmetry, variable = slots_after(targets, target, side, men)
    ep_shift = int64(0)
    if ep_file >= 0:
        phase = pawn_row(targets, target, men.pawns) >> 1
        row = targets.ep_row[phase, (ep_file ^ 7 if symmetry & 1 else ep_file) + 8 * side]
        if row >= 0:
            ep_shift = targets.ep_offset + row * targets.phase_size[target] - targets.begin[phase, 1 - side]
    for bit in bits_of(mask):
        slot = base
        if variable >= 0:
            men.squares[variable] = bit
            slot = slots_after(targets, target, side, men)[0]
            men.squares[variable] = VARIABLE
        elif step >= 0:
            slot += IMAGES[symmetry, bit] << step
        if ep_shift and pool.value[slot + ep_shift] != NONE:
            slot += ep_shift
        value = pool.value[slot]
        if targets.swapped[target]:
            value = np.uint8(255) - value
        keep_best_exit(turn.exits, turn.first + bit, side, value, pool.depth[slot])


@inlined
def _route(turn: Turn, mover: int, captured: int, promotion: int) -> tuple[int, int]:
    """Which route a move takes, and the mobile man on whose square the positions reached do not depend: one
    that is captured, or has captured what stood still (-1: none)."""
    routes, men, side = turn.pool.routes, turn.men, turn.side
    origin, target, victim = NO_SQUARE, NO_SQUARE, NOWHERE
    taken = routes.pawns[1 - side] & ~men.pawns[1 - side]
    if mover == PAWN:
        origin = lowest(routes.pawns[side] & ~men.pawns[side])
        if promotion:
            target = men.squares[PROMOTED]
        else:
            target = lowest(men.pawns[side] & ~routes.pawns[side])
    elif routes.frozen[mover] >= 0:
        origin, target = routes.frozen[mover], men.squares[mover]
    if taken:
        if origin == NO_SQUARE:
            target = lowest(taken)
    elif captured:
        victim = captured - 1
        if routes.frozen[victim] >= 0:
            target, victim = routes.frozen[victim], NOWHERE
    if origin == NO_SQUARE and target != NO_SQUARE:
        victim = int64(mover)
    way = (origin * (NO_SQUARE + 1) + target) * ROUTE_VICTIMS + victim + 1
    return way * KIND_COUNT + promotion, victim


@inlined
def _settle_by_routes(turn: Turn, mask: Word, mover: int, captured: int, promotion: int) -> None:
    """``settle_moves`` for cells."""
    pool, routes, squares = turn.pool, turn.pool.routes, turn.men.squares
    route, victim = _route(turn, mover, captured, promotion)
    begin = routes.begin[routes.block[route]]
    slot, step = int64(0), NOWHERE
    for man in range(len(routes.frozen)):
        if routes.frozen[man] >= 0 or man == victim:
            continue
        slot <<= 6
        if step >= 0:
            step += 6
        if squares[man] == VARIABLE:
            step = int64(0)
        else:
            slot |= squares[man]
    for bit in bits_of(mask):
        value, depth = routes.unknown, int64(0)
        at = begin + slot + (bit << step if step >= 0 else 0)
        if begin < 0:
            value = -1 - begin
        elif pool.value[at] != NONE:
            value, depth = int64(pool.value[at]), int64(pool.depth[at] if len(pool.depth) else 0)
        keep_best_exit(turn.exits, turn.first + bit, turn.side, value, depth)


@kernel
def settle_moves(turn: Turn, mask: Word, mover: int, captured: int, promotion: int, ep_file: int) -> None:
    """Count the move of man ``mover`` (or a ``PAWN``) that leads to ``turn.men`` from all positions in
    ``mask``, and fold it into their exits.

    ``captured`` and ``promotion`` are those of ``Targets.number``; ``ep_file`` is the file of a pawn that has
    made a double step, else -1.
    """
    add_moves(turn.slices, ONE_MOVE, mask)
    if len(turn.pool.routes.block):
        _settle_by_routes(turn, mask, mover, captured, promotion)
    else:
        _settle_in_tables(turn, mask, captured, promotion, ep_file)
