"""Moves that leave the phase, of whole words: counted, and folded into one best exit per position.

A capture or pawn move resets the accrued score and leads to a position whose fresh value W is known. In a
cell, quiet moves of frozen men and castling leave too.

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
from tbgen.retro.geometry import BETWEEN, BIT, IMAGES, KIND_COUNT, PAWN_ATTACKS
from tbgen.retro.kernels.frame import (
    FROZEN,
    Frame,
    attacks_along,
    enter_word,
    king_safe,
    place_of,
    reach,
    safe,
)
from tbgen.retro.kernels.moves import ONE_MOVE, add_moves
from tbgen.retro.kernels.targets import (
    CAPTURED_PAWN,
    NO_SQUARE,
    ROUTE_VICTIMS,
    VARIABLE,
    Men,
    Pool,
    pawn_row,
    slots_after,
)
from tbgen.retro.kernels.words import ALL, ZERO, Codes, Plies, Word, Words, bits_of, equal, lowest, put

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


@kernel
def _arrive(turn: Turn, mask: Word, man: int, square: int, captured: int) -> None:
    """Take the move of a free man to a square, or to that of the bit man, from the positions ``mask``."""
    if mask:
        squares = turn.men.squares
        origin = squares[man]
        squares[man] = square
        settle_moves(turn, mask, man, captured, NOTHING, NOWHERE)
        squares[man] = origin


@inlined
def _victim_on(turn: Turn, square: int) -> tuple[int, int]:
    """What may be captured on a square in all positions: its number in ``Targets.number``, and which scalar
    it is."""
    frame, enemy = turn.frame, 1 - turn.side
    captured, scalar = NOTHING, NOWHERE
    if turn.men.pawns[enemy] & BIT[square]:
        captured = CAPTURED_PAWN
    for man in range(2, frame.scalars):
        if turn.men.squares[man] == square and frame.colours[man] == enemy:
            captured, scalar = man + 1, man
    return captured, scalar


@kernel
def _from_where(turn: Turn, man: int, square: int, captured: int) -> Word:
    """Positions in which a man can go to a square, where the scalar ``captured`` is taken, if any."""
    frame, men, side, occupied = turn.frame, turn.men, turn.side, turn.occupied
    kind = frame.kinds[man]
    if man == frame.scalars:
        mask = turn.legal & reach(frame.moves, kind, BIT[square], ~occupied)
        if mask and king_safe(frame, men, side, occupied, captured, True) & BIT[square]:
            return mask
        return ZERO
    origin = men.squares[man]
    passed = frame.moves.passed[kind, origin, square]
    if passed & occupied or not attacks_along(frame.moves, kind, origin, square):
        return ZERO
    men.squares[man] = square
    mask = king_safe(frame, men, side, (occupied & ~BIT[origin]) | BIT[square], captured, True)
    men.squares[man] = origin
    return mask & turn.legal & ~passed & ~BIT[square]


@kernel
def _captures(turn: Turn) -> None:
    """Captures of scalars and pawns by free men."""
    frame, enemy, pawns = turn.frame, 1 - turn.side, turn.men.pawns
    victims = pawns[enemy]
    for man in range(2, frame.scalars):
        if frame.colours[man] == enemy:
            victims |= BIT[turn.men.squares[man]]
    for square in bits_of(victims):
        captured, scalar = _victim_on(turn, square)
        pawns[enemy] &= ~BIT[square]
        for man in range(frame.scalars + 1):
            if frame.colours[man] == turn.side:
                _arrive(turn, _from_where(turn, man, square, scalar), man, square, captured)
        pawns[enemy] = frame.pawns[enemy]


@kernel
def _captures_of_bit_man(turn: Turn, man: int) -> None:
    """Capture by scalar ``man`` of the bit man, wherever it stands."""
    frame, side, men, bit_man = turn.frame, turn.side, turn.men, turn.frame.scalars
    origin, captured = men.squares[man], bit_man + 1
    mask = turn.legal & reach(frame.moves, frame.kinds[man], BIT[origin], ~turn.occupied)
    left = turn.occupied & ~BIT[origin]
    if man == side:
        targets, mask = mask, ZERO
        for square in bits_of(targets):
            men.squares[man] = square
            mask |= BIT[square] & king_safe(frame, men, side, left | BIT[square], NOWHERE, False)
        men.squares[man] = origin
    elif mask:
        mask &= king_safe(frame, men, side, left, bit_man, True)
    if frame.movers[man] != FROZEN:
        _arrive(turn, mask, man, VARIABLE, captured)
        return
    for square in bits_of(mask):  # each square is a way out of its own
        _arrive(turn, BIT[square], man, square, captured)


@kernel
def _pawn_arrives(turn: Turn, mask: Word, square: int, captured: int, ep_file: int) -> None:
    """A pawn has left ``turn.men.pawns`` for ``square``, on the last rank by promotion."""
    if mask == ZERO:
        return
    pawns = turn.men.pawns
    if 8 <= square < 56:
        pawns[turn.side] |= BIT[square]
        settle_moves(turn, mask, PAWN, captured, NOTHING, ep_file)
        pawns[turn.side] &= ~BIT[square]
        return
    turn.men.squares[PROMOTED] = square
    for kind in range(1, KIND_COUNT):
        settle_moves(turn, mask, PAWN, captured, kind, NOWHERE)


@kernel
def _pawn_steps(turn: Turn, pawn: int) -> None:
    """Steps of one pawn that has left ``turn.men.pawns``."""
    side, occupied, square, ep_file, open_way = turn.side, turn.occupied, pawn, NOWHERE, turn.legal
    for _ in range(2 if pawn >> 3 == (1 if side == 0 else 6) else 1):
        square += 8 if side == 0 else -8
        if occupied & BIT[square]:
            return
        open_way &= ~BIT[square]
        left = (occupied & ~BIT[pawn]) | BIT[square]
        mask = open_way & king_safe(turn.frame, turn.men, side, left, NOWHERE, True)
        _pawn_arrives(turn, mask, square, NOTHING, ep_file)
        ep_file = pawn & 7


@kernel
def _pawn_captures(turn: Turn, pawn: int) -> None:
    """Captures by one pawn that has left ``turn.men.pawns`` (those en passant belong to positions with the
    right)."""
    frame, side, men, bit_man = turn.frame, turn.side, turn.men, turn.frame.scalars
    enemy, left = 1 - side, turn.occupied & ~BIT[pawn]
    for square in bits_of(PAWN_ATTACKS[side, pawn]):
        captured, scalar = _victim_on(turn, square)
        if captured:
            men.pawns[enemy] &= ~BIT[square]
            mask = turn.legal & king_safe(frame, men, side, left, scalar, True)
            _pawn_arrives(turn, mask, square, captured, NOWHERE)
            men.pawns[enemy] = frame.pawns[enemy]
        elif bit_man >= 2 and frame.colours[bit_man] == enemy and turn.legal & BIT[square]:
            mask = BIT[square] & king_safe(frame, men, side, left | BIT[square], NOWHERE, False)
            men.squares[bit_man] = square
            _pawn_arrives(turn, mask, square, bit_man + 1, NOWHERE)
            men.squares[bit_man] = VARIABLE


@kernel
def _moves_of_frozen(turn: Turn, man: int) -> None:
    """Quiet moves of one frozen man."""
    frame = turn.frame
    origin = lowest(frame.places) if man == frame.scalars else turn.men.squares[man]
    for square in bits_of(reach(frame.moves, frame.kinds[man], BIT[origin], ~turn.occupied)):
        _arrive(turn, _from_where(turn, man, square, NOWHERE), man, square, NOTHING)


@kernel
def _castlings(turn: Turn) -> None:
    """Castling, which counts as a capture of the rook by its own king; what is in the way is as in
    Chess960 (FIDE Laws of Chess, guideline II)."""
    frame, side, men, bit_man = turn.frame, turn.side, turn.men, turn.frame.scalars
    enemy, squares = 1 - side, men.squares
    for number in range(len(frame.castlings)):
        king, rook = frame.castlings[number, 0], frame.castlings[number, 1]
        if frame.colours[king] != side:
            continue
        goal, beside = frame.castlings[number, 2], frame.castlings[number, 3]
        start = squares[king]
        corner = lowest(frame.places) if rook == bit_man else squares[rook]
        both = BIT[start] | BIT[corner]
        empty = (BETWEEN[start, goal] | BIT[goal] | BETWEEN[corner, beside] | BIT[beside]) & ~both
        if empty & turn.occupied:
            continue
        mask = turn.legal & ~empty
        for square in bits_of(BETWEEN[start, goal] | BIT[start]):
            mask &= safe(frame, men, square, enemy, turn.occupied & ~BIT[start], NOWHERE, True)
        left = (turn.occupied & ~both) | BIT[beside]
        mask &= safe(frame, men, goal, enemy, left, NOWHERE, rook != bit_man)
        if mask:
            before = squares[rook]
            squares[king], squares[rook] = goal, beside
            settle_moves(turn, mask, king, rook + 1, NOTHING, NOWHERE)
            squares[king], squares[rook] = start, before


@kernel
def leaving_moves(turn: Turn) -> None:
    """Count all moves of the word that leave the phase and keep the best as exits."""
    frame, side, pawns, bit_man = turn.frame, turn.side, turn.men.pawns, turn.frame.scalars
    _captures(turn)
    for man in range(bit_man + 1):
        if frame.colours[man] != side:
            continue
        if bit_man >= 2 and frame.colours[bit_man] != side:
            _captures_of_bit_man(turn, man)
        if frame.movers[man] == FROZEN:
            _moves_of_frozen(turn, man)
    for pawn in bits_of(frame.pawns[side]):
        pawns[side] &= ~BIT[pawn]
        if not turn.captures_only:
            _pawn_steps(turn, pawn)
        _pawn_captures(turn, pawn)
        pawns[side] |= BIT[pawn]
    _castlings(turn)


@dataclass(frozen=True, eq=False)
class OneExit(Struct):
    """Room to find the exit of one position."""

    exits: Exits
    """The exit, in the only entry."""
    men: Men
    slices: Words
    """uint64 (SLICES,)."""


@kernel
def find_exit(frame: Frame, pool: Pool, node: int, one: OneExit) -> None:
    """Find the best exit of one legal position, as ``count_moves`` does for all of them."""
    side, word, bit = place_of(frame, node)
    occupied = enter_word(frame, word, one.men)
    one.slices[:] = ZERO
    one.exits.nearest[0] = NO_EXIT
    leaving_moves(Turn(frame, pool, one.exits, side, -bit, BIT[bit], occupied, one.men, one.slices, False))
