"""Finding the moves that leave the phase, and the best exit of each position, word by word.

A capture or pawn move resets the accrued score and leads to a position whose fresh value W is in the pool
(``tbgen.moves.kernels.targets``). In a cell, quiet moves of frozen men and castling also leave the phase.

To *record* a move is to count it, if wanted, and to update the best exit of its position.

An exit consists of the value that is best for the mover, and of the smallest and the greatest depth among the
moves to this value. If the value is better for the mover than the accrued score, the smallest depth applies,
otherwise the greatest.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.zeroing import PROMOTED
from tbgen.moves.geometry import BETWEEN, BIT, IMAGES, KIND_COUNT, PAWN_ATTACKS
from tbgen.moves.kernels.frame import enter_word, king_safe_bits, reach, safe_bits, side_word_bit
from tbgen.moves.kernels.moves import MOVE_SLICE, SLICES, add_moves
from tbgen.moves.kernels.targets import (
    ALL_PROVED,
    CAPTURED_PAWN,
    NO_SQUARE,
    ROUTE_VICTIMS,
    VARIABLE,
    attacks_along,
    pawn_row,
    slots_after,
)
from tbgen.moves.kernels.words import ALL, ZERO, Word, Words, bits_of, equal_to, lowest, put
from tbgen.moves.structs import FROZEN, NO_EXIT, Exits, Frame, Men, Pool

NO_MAN = int64(0)
"""Number used in place of a captured or promoted man if there is none."""
NO_INDEX = int64(-1)
"""Used as the index of a captured scalar if no scalar is captured, and as the file of a double step if the
move is not one."""
PAWN = int64(-1)
"""Replaces the index of the moving man if it is a pawn."""
GOOD_EXIT = SLICES
"""Index in ``ExitSearch.slices`` of the positions with an exit that is good for the side to move, if the pool
has proofs."""


class ExitSearch(NamedTuple):
    """The search for the moves that leave the phase from one word with one side to move."""

    frame: Frame
    pool: Pool
    """Values and depths of the positions that the moves lead to."""
    exits: Exits
    """The best exits found so far, which the search updates."""
    side: int
    """The side to move."""
    first_node: int
    """Index of the first position of the word in ``exits``."""
    legal: Word
    """The legal positions of the word."""
    always_occupied: Word
    """Squares of scalars and pawns; they are occupied in all positions of the word."""
    men: Men
    """The men after the move being recorded; between moves, the men of the word."""
    slices: Words
    """uint64 (SLICES,): bit-sliced counter of the word (``tbgen.moves.kernels.moves``). With a pool of
    proofs, a further word collects the positions with a good exit."""
    captures_only: bool
    """Whether to omit pawn moves that are not captures."""
    counting: bool
    """Whether to count the moves in ``slices``."""


@inlined
def reset_exits(exits: Exits, first_node: int) -> None:
    """Reset the exits of the word whose first position has index ``first_node``."""
    put(exits.min_depth, first_node, ALL, NO_EXIT)


@inlined
def positions_without_exit(exits: Exits, first_node: int) -> Word:
    """The positions without an exit in the word whose first position has index ``first_node``."""
    return equal_to(exits.min_depth, first_node, NO_EXIT)


@inlined
def keep_best_exit(exits: Exits, node: int, side: int, value: int, depth: int) -> None:
    """Update the best exit of a position with one move that leaves the phase."""
    if exits.min_depth[node] != NO_EXIT:
        best = exits.value[node]
        if value == best:
            exits.min_depth[node] = min(exits.min_depth[node], depth)
            exits.max_depth[node] = max(exits.max_depth[node], depth)
            return
        if (value > best) == (side == 0):
            return
    exits.value[node] = value
    exits.min_depth[node] = depth
    exits.max_depth[node] = depth


@inlined
def _record_by_targets(search: ExitSearch, mask: Word, captured: int, promotion: int, ep_file: int) -> None:
    """Implement ``record_moves`` for the phases of a table."""
    pool, targets, men, side = search.pool, search.pool.targets, search.men, search.side
    target = targets.number[side, captured, promotion]
    base, step, symmetry, variable = slots_after(targets, target, side, men)
    ep_shift = int64(0)
    if ep_file >= 0:
        phase = pawn_row(targets, target, men.pawns) >> 1
        row = targets.ep_row[phase, (ep_file ^ 7 if symmetry & 1 else ep_file) + 8 * side]
        if row >= 0:
            ep_shift = targets.ep_offset + row * targets.phase_size[target] - targets.start[phase, 1 - side]
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
        keep_best_exit(search.exits, search.first_node + bit, side, value, pool.depth[slot])


@inlined
def _route(search: ExitSearch, mover: int, captured: int, promotion: int) -> tuple[int, int]:
    """The number of the route of a move (see ``Routes``), and the index of the ``victim`` of the route.

    The victim is the mobile man whose square is left out of the slot: a captured mobile man, or, if a pawn or
    frozen man is captured, the mobile man that captures it, whose square the route already contains. If there
    is no such man, the index is -1.
    """
    routes, men, side = search.pool.routes, search.men, search.side
    origin, target, victim = NO_SQUARE, NO_SQUARE, NO_INDEX
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
            target = routes.frozen[victim]
            victim = NO_INDEX
    if origin == NO_SQUARE and target != NO_SQUARE:
        victim = int64(mover)
    squares_and_victim = (origin * (NO_SQUARE + 1) + target) * ROUTE_VICTIMS + victim + 1
    return squares_and_victim * KIND_COUNT + promotion, victim


@inlined
def _slot_of_route(search: ExitSearch, victim: int) -> tuple[int, int]:
    """The slot after a move in the block of its route, and the shift of the bit man's square in it.

    If the bit man's square is not in the slot, or is the same for all positions, the shift is -1.
    """
    routes, squares = search.pool.routes, search.men.squares
    slot, step = int64(0), NO_INDEX
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
    return slot, step


@inlined
def _record_by_routes(search: ExitSearch, mask: Word, mover: int, captured: int, promotion: int) -> None:
    """Implement ``record_moves`` for cells."""
    pool, routes = search.pool, search.pool.routes
    route, victim = _route(search, mover, captured, promotion)
    block_start = routes.start[routes.block[route]]
    slot, step = _slot_of_route(search, victim)
    for bit in bits_of(mask):
        value, depth = routes.unknown_code, int64(0)
        exit_slot = block_start + slot + (bit << step if step >= 0 else 0)
        if block_start < 0:
            value = -1 - block_start
        elif pool.value[exit_slot] != NONE:
            value, depth = int64(pool.value[exit_slot]), int64(pool.depth[exit_slot])
        keep_best_exit(search.exits, search.first_node + bit, search.side, value, depth)


@kernel
def _record_by_proofs(search: ExitSearch, mask: Word, mover: int, captured: int, promotion: int) -> None:
    """Implement ``record_moves`` for pools of proofs.

    A move is good for the prover if the threshold is proved after it, and good for the other side if it is
    not: what is unknown never helps the prover.
    """
    mask &= ~search.slices[GOOD_EXIT]
    if mask == ZERO:
        return
    pool = search.pool
    route, victim = _route(search, mover, captured, promotion)
    start = pool.routes.start[pool.routes.block[route]]
    slot, step = _slot_of_route(search, victim)
    proved = mask if start == ALL_PROVED else ZERO
    if start >= 0:
        index = start + slot
        if step == 0:
            proved = pool.proofs[index >> 6]
        elif step < 0:
            proved = mask if pool.proofs[index >> 6] & BIT[index & 63] else ZERO
        else:
            for bit in bits_of(mask):
                index = start + slot + (bit << step)
                if pool.proofs[index >> 6] & BIT[index & 63]:
                    proved |= BIT[bit]
    search.slices[GOOD_EXIT] |= mask & (proved if search.side == pool.prover else ~proved)


@kernel
def record_moves(
    search: ExitSearch, mask: Word, mover: int, captured: int, promotion: int, ep_file: int
) -> None:
    """From each position in ``mask``, record the move that leads to ``search.men``.

    ``mover`` is the index of the moving man, or ``PAWN``. ``captured`` and ``promotion`` are indices of
    ``Targets.number``. ``ep_file`` is the file of the pawn if it makes a double step, else -1.
    """
    if search.counting:
        add_moves(search.slices, MOVE_SLICE, mask)
    if search.pool.prover >= 0:
        _record_by_proofs(search, mask, mover, captured, promotion)
    elif len(search.pool.routes.block):
        _record_by_routes(search, mask, mover, captured, promotion)
    else:
        _record_by_targets(search, mask, captured, promotion, ep_file)


@kernel
def _record_move_to(search: ExitSearch, mask: Word, man: int, square: int, captured: int) -> None:
    """Record the move of a free man from the positions ``mask`` to ``square``; if ``square`` is ``VARIABLE``,
    to the square of the bit man."""
    if mask:
        squares = search.men.squares
        origin = squares[man]
        squares[man] = square
        record_moves(search, mask, man, captured, NO_MAN, NO_INDEX)
        squares[man] = origin


@inlined
def _victim_on(search: ExitSearch, square: int) -> tuple[int, int]:
    """The enemy scalar or pawn on a square: its number in ``Targets.number``, and the index of a scalar, or
    -1 for a pawn."""
    frame = search.frame
    enemy = 1 - search.side
    captured, scalar = NO_MAN, NO_INDEX
    if search.men.pawns[enemy] & BIT[square]:
        captured = CAPTURED_PAWN
    for man in range(2, frame.scalars):
        if search.men.squares[man] == square and frame.colours[man] == enemy:
            captured = man + 1
            scalar = man
    return captured, scalar


@kernel
def _positions_with_move(search: ExitSearch, man: int, square: int, captured_scalar: int) -> Word:
    """Positions in which ``man`` can move to ``square``.

    ``captured_scalar`` is the index of the scalar that the move captures, or -1 if it captures none.
    """
    frame, men, side, occupied = search.frame, search.men, search.side, search.always_occupied
    kind = frame.kinds[man]
    if man == frame.scalars:
        mask = search.legal & reach(frame.moves, kind, BIT[square], ~occupied)
        if mask and king_safe_bits(frame, men, side, occupied, captured_scalar, True) & BIT[square]:
            return mask
        return ZERO
    origin = men.squares[man]
    passed = frame.moves.passed_squares[kind, origin, square]
    if passed & occupied or not attacks_along(frame.moves, kind, origin, square):
        return ZERO
    men.squares[man] = square
    mask = king_safe_bits(frame, men, side, (occupied & ~BIT[origin]) | BIT[square], captured_scalar, True)
    men.squares[man] = origin
    return mask & search.legal & ~passed & ~BIT[square]


@kernel
def _record_captures(search: ExitSearch) -> None:
    """Record the captures in which a free man takes a scalar or a pawn."""
    frame = search.frame
    enemy = 1 - search.side
    pawns = search.men.pawns
    victims = pawns[enemy]
    for man in range(2, frame.scalars):
        if frame.colours[man] == enemy:
            victims |= BIT[search.men.squares[man]]
    for square in bits_of(victims):
        captured, scalar = _victim_on(search, square)
        pawns[enemy] &= ~BIT[square]
        for man in range(frame.scalars + 1):
            if frame.colours[man] == search.side:
                _record_move_to(
                    search, _positions_with_move(search, man, square, scalar), man, square, captured
                )
        pawns[enemy] = frame.pawns[enemy]


@kernel
def _record_captures_of_bit_man(search: ExitSearch, man: int) -> None:
    """Record the captures in which the scalar ``man`` takes the bit man, on all squares."""
    frame, side, men, bit_man = search.frame, search.side, search.men, search.frame.scalars
    origin = men.squares[man]
    captured = bit_man + 1
    mask = search.legal & reach(frame.moves, frame.kinds[man], BIT[origin], ~search.always_occupied)
    remaining = search.always_occupied & ~BIT[origin]
    if man == side:
        targets, mask = mask, ZERO
        for square in bits_of(targets):
            men.squares[man] = square
            mask |= BIT[square] & king_safe_bits(frame, men, side, remaining | BIT[square], NO_INDEX, False)
        men.squares[man] = origin
    elif mask:
        mask &= king_safe_bits(frame, men, side, remaining, bit_man, True)
    if frame.mover_colours[man] != FROZEN:
        _record_move_to(search, mask, man, VARIABLE, captured)
        return
    for square in bits_of(mask):  # the route of a frozen man includes its target
        _record_move_to(search, BIT[square], man, square, captured)


@kernel
def _record_pawn_move_to(search: ExitSearch, mask: Word, square: int, captured: int, ep_file: int) -> None:
    """Record the move of a pawn to ``square``, or its promotions there.

    The pawn must not be in ``search.men.pawns``.
    """
    if mask == ZERO:
        return
    pawns = search.men.pawns
    if 8 <= square < 56:
        pawns[search.side] |= BIT[square]
        record_moves(search, mask, PAWN, captured, NO_MAN, ep_file)
        pawns[search.side] &= ~BIT[square]
        return
    search.men.squares[PROMOTED] = square
    for kind in range(1, KIND_COUNT):
        record_moves(search, mask, PAWN, captured, kind, NO_INDEX)


@kernel
def _record_pawn_steps(search: ExitSearch, pawn: int) -> None:
    """Record the steps of one pawn. It must not be in ``search.men.pawns``."""
    side = search.side
    square = pawn
    ep_file = NO_INDEX
    open_way = search.legal
    for _ in range(2 if pawn >> 3 == (1 if side == 0 else 6) else 1):
        square += 8 if side == 0 else -8
        if search.always_occupied & BIT[square]:
            return
        open_way &= ~BIT[square]
        remaining = (search.always_occupied & ~BIT[pawn]) | BIT[square]
        mask = open_way & king_safe_bits(search.frame, search.men, side, remaining, NO_INDEX, True)
        _record_pawn_move_to(search, mask, square, NO_MAN, ep_file)
        ep_file = pawn & 7


@kernel
def _record_pawn_captures(search: ExitSearch, pawn: int) -> None:
    """Record the captures by one pawn. It must not be in ``search.men.pawns``.

    En passant captures are recorded in ``tbgen.retro.kernels.en_passant``.
    """
    frame, side, men, bit_man = search.frame, search.side, search.men, search.frame.scalars
    enemy = 1 - side
    remaining = search.always_occupied & ~BIT[pawn]
    for square in bits_of(PAWN_ATTACKS[side, pawn]):
        captured, scalar = _victim_on(search, square)
        if captured:
            men.pawns[enemy] &= ~BIT[square]
            mask = search.legal & king_safe_bits(frame, men, side, remaining, scalar, True)
            _record_pawn_move_to(search, mask, square, captured, NO_INDEX)
            men.pawns[enemy] = frame.pawns[enemy]
        elif bit_man >= 2 and frame.colours[bit_man] == enemy and search.legal & BIT[square]:
            mask = BIT[square] & king_safe_bits(frame, men, side, remaining | BIT[square], NO_INDEX, False)
            men.squares[bit_man] = square
            _record_pawn_move_to(search, mask, square, bit_man + 1, NO_INDEX)
            men.squares[bit_man] = VARIABLE


@kernel
def _record_moves_of_frozen(search: ExitSearch, man: int) -> None:
    """Record the quiet moves of the frozen man ``man``."""
    frame = search.frame
    origin = lowest(frame.bit_man_squares) if man == frame.scalars else search.men.squares[man]
    for square in bits_of(reach(frame.moves, frame.kinds[man], BIT[origin], ~search.always_occupied)):
        _record_move_to(search, _positions_with_move(search, man, square, NO_INDEX), man, square, NO_MAN)


@kernel
def _record_castlings(search: ExitSearch) -> None:
    """Record castling moves. Their routes are encoded like captures of the rook by its own king.

    The squares that must be empty are those of Chess960 (FIDE Laws of Chess, guideline II).
    """
    frame, side, men, bit_man = search.frame, search.side, search.men, search.frame.scalars
    enemy = 1 - side
    squares = men.squares
    for index in range(len(frame.castlings)):
        king, rook = frame.castlings[index, 0], frame.castlings[index, 1]
        if frame.colours[king] != side:
            continue
        goal, rook_goal = frame.castlings[index, 2], frame.castlings[index, 3]
        start = squares[king]
        corner = lowest(frame.bit_man_squares) if rook == bit_man else squares[rook]
        pair = BIT[start] | BIT[corner]
        empty = (BETWEEN[start, goal] | BIT[goal] | BETWEEN[corner, rook_goal] | BIT[rook_goal]) & ~pair
        if empty & search.always_occupied:
            continue
        mask = search.legal & ~empty
        for square in bits_of(BETWEEN[start, goal] | BIT[start]):
            mask &= safe_bits(frame, men, square, enemy, search.always_occupied & ~BIT[start], NO_INDEX, True)
        remaining = (search.always_occupied & ~pair) | BIT[rook_goal]
        mask &= safe_bits(frame, men, goal, enemy, remaining, NO_INDEX, rook != bit_man)
        if mask:
            rook_entry = squares[rook]
            squares[king], squares[rook] = goal, rook_goal
            record_moves(search, mask, king, rook + 1, NO_MAN, NO_INDEX)
            squares[king], squares[rook] = start, rook_entry


@kernel
def record_exits(search: ExitSearch) -> None:
    """Record all moves of the word that leave the phase."""
    frame, side, pawns, bit_man = search.frame, search.side, search.men.pawns, search.frame.scalars
    _record_captures(search)
    for man in range(bit_man + 1):
        if frame.colours[man] != side:
            continue
        if bit_man >= 2 and frame.colours[bit_man] != side:
            _record_captures_of_bit_man(search, man)
        if frame.mover_colours[man] == FROZEN:
            _record_moves_of_frozen(search, man)
    for pawn in bits_of(frame.pawns[side]):
        pawns[side] &= ~BIT[pawn]
        if not search.captures_only:
            _record_pawn_steps(search, pawn)
        _record_pawn_captures(search, pawn)
        pawns[side] |= BIT[pawn]
    _record_castlings(search)


@dataclass(frozen=True, eq=False)
class ExitBuffer(Struct):
    """Buffers for finding the exit of one position."""

    exits: Exits
    """The exit, as the only element."""
    men: Men
    slices: Words
    """uint64 (SLICES,): as in ``ExitSearch``."""


@kernel
def find_exit(frame: Frame, pool: Pool, node: int, buffer: ExitBuffer) -> None:
    """Find the best exit of one legal position and store it in ``buffer.exits``."""
    side, word, bit = side_word_bit(frame, node)
    occupied = enter_word(frame, word, buffer.men)
    buffer.exits.min_depth[0] = NO_EXIT
    exits, men, slices = buffer.exits, buffer.men, buffer.slices
    record_exits(ExitSearch(frame, pool, exits, side, -bit, BIT[bit], occupied, men, slices, False, False))
