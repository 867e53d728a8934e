"""Finding the moves that leave the phase, word by word, and the best exit of each position.

A capture or pawn move resets the accrued score and leads to a position whose fresh value W is in the pool. In
a cell, quiet moves of frozen men and castling also leave the phase.

An exit consists of the value that is best for the mover, and the smallest and greatest depth among the moves
to this value. Which depth counts depends on whom the value favours over the accrued score.
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
"""Marks a position without an exit, in place of the smallest depth."""
NOTHING = int64(0)
"""Stands for no captured man, or no promotion. (A numpy type, since numba compiles a kernel again for every
plain constant.)"""
NOWHERE = int64(-1)
"""Stands for no captured scalar, or no double step."""
PAWN = int64(-1)
"""Stands for any pawn in place of the index of a moving man."""


@dataclass(frozen=True, eq=False)
class Exits(Struct):
    """The best exit of each position; the arrays have one element per node."""

    value: Codes
    """uint8: codes of the values. If depths are not computed, NONE marks positions without an exit."""
    nearest: Plies
    """uint16: smallest depths in plies, NO_EXIT without an exit; empty if depths are not computed."""
    farthest: Plies
    """uint16: greatest depths in plies; empty if depths are not computed."""


class ExitSearch(NamedTuple):
    """The search for the moves that leave the phase from one word with one side to move."""

    frame: Frame
    pool: Pool
    """Values and depths of the positions that the moves lead to."""
    exits: Exits
    """Receives the best exits."""
    side: int
    """The side to move."""
    first: int
    """Index of the first position of the word in ``exits``."""
    legal: Word
    """The legal positions of the word."""
    occupied: Word
    """Squares of scalars and pawns."""
    men: Men
    """The men after the current move; between moves, the men of the word."""
    slices: Words
    """uint64 (SLICES,): bit-sliced counter of the moves of the word."""
    captures_only: bool
    """Whether pawn moves other than captures are omitted."""


@inlined
def reset_exits(exits: Exits, first: int) -> None:
    """Reset the exits of the word whose first position has index ``first``."""
    if len(exits.nearest):
        put(exits.nearest, first, ALL, NO_EXIT)
    else:
        put(exits.value, first, ALL, NONE)


@inlined
def without_exit(exits: Exits, first: int) -> Word:
    """The positions without an exit in the word whose first position has index ``first``."""
    if len(exits.nearest):
        return equal(exits.nearest, first, NO_EXIT)
    return equal(exits.value, first, NONE)


@inlined
def keep_best_exit(exits: Exits, node: int, side: int, value: int, depth: int) -> None:
    """Update the best exit of a position by one move that leaves the phase."""
    if len(exits.nearest) == 0:
        if exits.value[node] == NONE or (value < exits.value[node]) == (side == 0):
            exits.value[node] = value
        return
    if exits.nearest[node] != NO_EXIT:
        best = exits.value[node]
        if value == best:
            exits.nearest[node] = min(exits.nearest[node], depth)
            exits.farthest[node] = max(exits.farthest[node], depth)
            return
        if (value > best) == (side == 0):
            return
    exits.value[node] = value
    exits.nearest[node] = depth
    exits.farthest[node] = depth


@inlined
def _fold_in_tables(search: ExitSearch, mask: Word, captured: int, promotion: int, ep_file: int) -> None:
    """Implement ``fold_moves`` for phases of tables."""
    pool, targets, men, side = search.pool, search.pool.targets, search.men, search.side
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
        keep_best_exit(search.exits, search.first + bit, side, value, pool.depth[slot])


@inlined
def _route(search: ExitSearch, mover: int, captured: int, promotion: int) -> tuple[int, int]:
    """The route of a move, and the mobile man whose square does not matter after the move: the captured
    mobile man, or the one that captures a pawn or frozen man (-1: none)."""
    routes, men, side = search.pool.routes, search.men, search.side
    origin, target, victim = NO_SQUARE, NO_SQUARE, NOWHERE
    captured_pawn = routes.pawns[1 - side] & ~men.pawns[1 - side]
    if mover == PAWN:
        origin = lowest(routes.pawns[side] & ~men.pawns[side])
        if promotion:
            target = men.squares[PROMOTED]
        else:
            target = lowest(men.pawns[side] & ~routes.pawns[side])
    elif routes.frozen[mover] >= 0:
        origin, target = routes.frozen[mover], men.squares[mover]
    if captured_pawn:
        if origin == NO_SQUARE:
            target = lowest(captured_pawn)
    elif captured:
        victim = captured - 1
        if routes.frozen[victim] >= 0:
            target, victim = routes.frozen[victim], NOWHERE
    if origin == NO_SQUARE and target != NO_SQUARE:
        victim = int64(mover)
    way = (origin * (NO_SQUARE + 1) + target) * ROUTE_VICTIMS + victim + 1
    return way * KIND_COUNT + promotion, victim


@inlined
def _fold_by_routes(search: ExitSearch, mask: Word, mover: int, captured: int, promotion: int) -> None:
    """Implement ``fold_moves`` for cells."""
    pool, routes, squares = search.pool, search.pool.routes, search.men.squares
    route, victim = _route(search, mover, captured, promotion)
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
        keep_best_exit(search.exits, search.first + bit, search.side, value, depth)


@kernel
def fold_moves(
    search: ExitSearch, mask: Word, mover: int, captured: int, promotion: int, ep_file: int
) -> None:
    """Count one move from each position in ``mask``, which leads to ``search.men``, and update the exits.

    ``mover`` is the index of the moving man, or ``PAWN``; ``captured`` and ``promotion`` are as for
    ``Targets.number``; ``ep_file`` is the file of a pawn that makes a double step, else -1.
    """
    add_moves(search.slices, ONE_MOVE, mask)
    if len(search.pool.routes.block):
        _fold_by_routes(search, mask, mover, captured, promotion)
    else:
        _fold_in_tables(search, mask, captured, promotion, ep_file)


@kernel
def _fold_move_to(search: ExitSearch, mask: Word, man: int, square: int, captured: int) -> None:
    """Fold the move of a free man to ``square`` (VARIABLE: the bit man's) from the positions ``mask``."""
    if mask:
        squares = search.men.squares
        origin = squares[man]
        squares[man] = square
        fold_moves(search, mask, man, captured, NOTHING, NOWHERE)
        squares[man] = origin


@inlined
def _victim_on(search: ExitSearch, square: int) -> tuple[int, int]:
    """The man that can be captured on a square in all positions of the word: its number in
    ``Targets.number``, and its index if it is a scalar."""
    frame, enemy = search.frame, 1 - search.side
    captured, scalar = NOTHING, NOWHERE
    if search.men.pawns[enemy] & BIT[square]:
        captured = CAPTURED_PAWN
    for man in range(2, frame.scalars):
        if search.men.squares[man] == square and frame.colours[man] == enemy:
            captured, scalar = man + 1, man
    return captured, scalar


@kernel
def _positions_with_move(search: ExitSearch, man: int, square: int, captured: int) -> Word:
    """Positions in which a man can move to ``square``, capturing the scalar ``captured`` if not -1."""
    frame, men, side, occupied = search.frame, search.men, search.side, search.occupied
    kind = frame.kinds[man]
    if man == frame.scalars:
        mask = search.legal & reach(frame.moves, kind, BIT[square], ~occupied)
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
    return mask & search.legal & ~passed & ~BIT[square]


@kernel
def _captures(search: ExitSearch) -> None:
    """Fold the captures of scalars and pawns by free men."""
    frame, enemy, pawns = search.frame, 1 - search.side, search.men.pawns
    victims = pawns[enemy]
    for man in range(2, frame.scalars):
        if frame.colours[man] == enemy:
            victims |= BIT[search.men.squares[man]]
    for square in bits_of(victims):
        captured, scalar = _victim_on(search, square)
        pawns[enemy] &= ~BIT[square]
        for man in range(frame.scalars + 1):
            if frame.colours[man] == search.side:
                _fold_move_to(
                    search, _positions_with_move(search, man, square, scalar), man, square, captured
                )
        pawns[enemy] = frame.pawns[enemy]


@kernel
def _captures_of_bit_man(search: ExitSearch, man: int) -> None:
    """Fold the capture of the bit man by the scalar ``man``, on all squares."""
    frame, side, men, bit_man = search.frame, search.side, search.men, search.frame.scalars
    origin, captured = men.squares[man], bit_man + 1
    mask = search.legal & reach(frame.moves, frame.kinds[man], BIT[origin], ~search.occupied)
    remaining = search.occupied & ~BIT[origin]
    if man == side:
        targets, mask = mask, ZERO
        for square in bits_of(targets):
            men.squares[man] = square
            mask |= BIT[square] & king_safe(frame, men, side, remaining | BIT[square], NOWHERE, False)
        men.squares[man] = origin
    elif mask:
        mask &= king_safe(frame, men, side, remaining, bit_man, True)
    if frame.movers[man] != FROZEN:
        _fold_move_to(search, mask, man, VARIABLE, captured)
        return
    for square in bits_of(mask):  # each square is a different route
        _fold_move_to(search, BIT[square], man, square, captured)


@kernel
def _fold_pawn_move_to(search: ExitSearch, mask: Word, square: int, captured: int, ep_file: int) -> None:
    """Fold the move of a pawn that is removed from ``search.men.pawns`` to ``square``, or its promotions."""
    if mask == ZERO:
        return
    pawns = search.men.pawns
    if 8 <= square < 56:
        pawns[search.side] |= BIT[square]
        fold_moves(search, mask, PAWN, captured, NOTHING, ep_file)
        pawns[search.side] &= ~BIT[square]
        return
    search.men.squares[PROMOTED] = square
    for kind in range(1, KIND_COUNT):
        fold_moves(search, mask, PAWN, captured, kind, NOWHERE)


@kernel
def _pawn_steps(search: ExitSearch, pawn: int) -> None:
    """Fold the steps of one pawn, which is removed from ``search.men.pawns``."""
    side, occupied, square, ep_file, open_way = search.side, search.occupied, pawn, NOWHERE, search.legal
    for _ in range(2 if pawn >> 3 == (1 if side == 0 else 6) else 1):
        square += 8 if side == 0 else -8
        if occupied & BIT[square]:
            return
        open_way &= ~BIT[square]
        remaining = (occupied & ~BIT[pawn]) | BIT[square]
        mask = open_way & king_safe(search.frame, search.men, side, remaining, NOWHERE, True)
        _fold_pawn_move_to(search, mask, square, NOTHING, ep_file)
        ep_file = pawn & 7


@kernel
def _pawn_captures(search: ExitSearch, pawn: int) -> None:
    """Fold the captures by one pawn, which is removed from ``search.men.pawns``, except en passant: only
    positions with the right have those."""
    frame, side, men, bit_man = search.frame, search.side, search.men, search.frame.scalars
    enemy, remaining = 1 - side, search.occupied & ~BIT[pawn]
    for square in bits_of(PAWN_ATTACKS[side, pawn]):
        captured, scalar = _victim_on(search, square)
        if captured:
            men.pawns[enemy] &= ~BIT[square]
            mask = search.legal & king_safe(frame, men, side, remaining, scalar, True)
            _fold_pawn_move_to(search, mask, square, captured, NOWHERE)
            men.pawns[enemy] = frame.pawns[enemy]
        elif bit_man >= 2 and frame.colours[bit_man] == enemy and search.legal & BIT[square]:
            mask = BIT[square] & king_safe(frame, men, side, remaining | BIT[square], NOWHERE, False)
            men.squares[bit_man] = square
            _fold_pawn_move_to(search, mask, square, bit_man + 1, NOWHERE)
            men.squares[bit_man] = VARIABLE


@kernel
def _moves_of_frozen(search: ExitSearch, man: int) -> None:
    """Fold the quiet moves of one frozen man."""
    frame = search.frame
    origin = lowest(frame.places) if man == frame.scalars else search.men.squares[man]
    for square in bits_of(reach(frame.moves, frame.kinds[man], BIT[origin], ~search.occupied)):
        _fold_move_to(search, _positions_with_move(search, man, square, NOWHERE), man, square, NOTHING)


@kernel
def _castlings(search: ExitSearch) -> None:
    """Fold castling, whose route is that of a capture of the rook by its own king; the squares that must be
    empty are those of Chess960 (FIDE Laws of Chess, guideline II)."""
    frame, side, men, bit_man = search.frame, search.side, search.men, search.frame.scalars
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
        if empty & search.occupied:
            continue
        mask = search.legal & ~empty
        for square in bits_of(BETWEEN[start, goal] | BIT[start]):
            mask &= safe(frame, men, square, enemy, search.occupied & ~BIT[start], NOWHERE, True)
        remaining = (search.occupied & ~both) | BIT[beside]
        mask &= safe(frame, men, goal, enemy, remaining, NOWHERE, rook != bit_man)
        if mask:
            before = squares[rook]
            squares[king], squares[rook] = goal, beside
            fold_moves(search, mask, king, rook + 1, NOTHING, NOWHERE)
            squares[king], squares[rook] = start, before


@kernel
def leaving_moves(search: ExitSearch) -> None:
    """Count all moves of the word that leave the phase, and store the best exits."""
    frame, side, pawns, bit_man = search.frame, search.side, search.men.pawns, search.frame.scalars
    _captures(search)
    for man in range(bit_man + 1):
        if frame.colours[man] != side:
            continue
        if bit_man >= 2 and frame.colours[bit_man] != side:
            _captures_of_bit_man(search, man)
        if frame.movers[man] == FROZEN:
            _moves_of_frozen(search, man)
    for pawn in bits_of(frame.pawns[side]):
        pawns[side] &= ~BIT[pawn]
        if not search.captures_only:
            _pawn_steps(search, pawn)
        _pawn_captures(search, pawn)
        pawns[side] |= BIT[pawn]
    _castlings(search)


@dataclass(frozen=True, eq=False)
class ExitBuffer(Struct):
    """Buffers to find the exit of one position."""

    exits: Exits
    """The exit, in the only element."""
    men: Men
    slices: Words
    """uint64 (SLICES,)."""


@kernel
def find_exit(frame: Frame, pool: Pool, node: int, buffer: ExitBuffer) -> None:
    """Find the best exit of one legal position, as ``count_moves`` does for all positions."""
    side, word, bit = place_of(frame, node)
    occupied = enter_word(frame, word, buffer.men)
    buffer.slices[:] = ZERO
    buffer.exits.nearest[0] = NO_EXIT
    exits, men, slices = buffer.exits, buffer.men, buffer.slices
    leaving_moves(ExitSearch(frame, pool, exits, side, -bit, BIT[bit], occupied, men, slices, False))
