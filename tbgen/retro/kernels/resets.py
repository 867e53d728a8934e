"""Moves that leave the phase, of whole words: counted, and folded into one best exit per position.

A capture or pawn move resets the accrued score and leads to a position whose fresh value W is known. In a
cell, quiet moves of frozen men and castling leave too.
"""

from dataclasses import dataclass

import numpy as np

from tbgen.compiler.jit import inlined, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.zeroing import PROMOTED
from tbgen.retro.geometry import BETWEEN, BIT, KIND_COUNT, PAWN_ATTACKS
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Word, Words, lowest, reach
from tbgen.retro.kernels.exits import (
    NO_EXIT,
    NOTHING,
    NOWHERE,
    PAWN,
    Exits,
    Turn,
    enter_word,
    settle_moves,
)
from tbgen.retro.kernels.frame import FROZEN, Frame, Phase, attacks_along, king_safe, safe
from tbgen.retro.kernels.lanes import add, put
from tbgen.retro.kernels.mobility import ONE_MOVE, SLICES, add_moves, count_quiet
from tbgen.retro.kernels.moves import MOST_MOVES, MovesFound, room_for_moves
from tbgen.retro.kernels.targets import CAPTURED_PAWN, VARIABLE, Men, Pool, room_for_men


@kernel
def _arrive(pool: Pool, exits: Exits, turn: Turn, mask: Word, man: int, square: int, captured: int) -> None:
    """Take the move of a free man to a square, or to that of the bit man, from the positions ``mask``."""
    if mask == ZERO:
        return
    squares = turn.men.squares
    origin = squares[man]
    add_moves(turn.slices, ONE_MOVE, mask)
    squares[man] = square
    settle_moves(pool, exits, turn, mask, man, captured, NOTHING, NOWHERE)
    squares[man] = origin


@inlined
def _victim_on(frame: Frame, turn: Turn, square: int) -> tuple[int, int]:
    """What may be captured on a square in all positions: its number in ``Targets.number``, and which scalar
    it is."""
    enemy = 1 - turn.side
    captured, scalar = NOTHING, NOWHERE
    if turn.men.pawns[enemy] & BIT[square]:
        captured = CAPTURED_PAWN
    for man in range(2, frame.scalars):
        if turn.men.squares[man] == square and frame.colours[man] == enemy:
            captured, scalar = man + 1, man
    return captured, scalar


@kernel
def _from_where(frame: Frame, turn: Turn, man: int, square: int, captured: int) -> Word:
    """Positions in which a man can go to a square, where the scalar ``captured`` is taken, if any."""
    side, squares, kind, occupied = turn.side, turn.men.squares, frame.kinds[man], turn.occupied
    enemy_pawns = turn.men.pawns[1 - side]
    if man == frame.scalars:
        mask = turn.legal & reach(kind, BIT[square], ~occupied)
        if mask and king_safe(frame, squares, side, occupied, enemy_pawns, captured, True) & BIT[square]:
            return mask
        return ZERO
    origin = squares[man]
    passed = BETWEEN[origin, square]
    if passed & occupied or not attacks_along(kind, origin, square):
        return ZERO
    squares[man] = square
    left = (occupied & ~BIT[origin]) | BIT[square]
    mask = king_safe(frame, squares, side, left, enemy_pawns, captured, True)
    squares[man] = origin
    return mask & turn.legal & ~passed & ~BIT[square]


@kernel
def _captures(frame: Frame, pool: Pool, exits: Exits, turn: Turn) -> None:
    """Captures of scalars and pawns by free men."""
    enemy, pawns = 1 - turn.side, turn.men.pawns
    victims = pawns[enemy]
    for man in range(2, frame.scalars):
        if frame.colours[man] == enemy:
            victims |= BIT[turn.men.squares[man]]
    while victims:
        square = lowest(victims)
        victims &= victims - ONE
        captured, scalar = _victim_on(frame, turn, square)
        pawns[enemy] &= ~BIT[square]
        for man in range(frame.scalars + 1):
            if frame.colours[man] == turn.side:
                mask = _from_where(frame, turn, man, square, scalar)
                _arrive(pool, exits, turn, mask, man, square, captured)
        pawns[enemy] = frame.pawns[enemy]


@kernel
def _captures_of_bit_man(frame: Frame, pool: Pool, exits: Exits, turn: Turn, man: int) -> None:
    """Capture by scalar ``man`` of the bit man, wherever it stands."""
    side, squares, bit_man = turn.side, turn.men.squares, frame.scalars
    origin, enemy_pawns, captured = squares[man], turn.men.pawns[1 - side], frame.scalars + 1
    mask = turn.legal & reach(frame.kinds[man], BIT[origin], ~turn.occupied)
    left = turn.occupied & ~BIT[origin]
    if man == side:
        targets, mask = mask, ZERO
        while targets:
            bit = targets & (~targets + ONE)
            targets &= targets - ONE
            squares[man] = lowest(bit)
            mask |= bit & king_safe(frame, squares, side, left | bit, enemy_pawns, NOWHERE, False)
        squares[man] = origin
    elif mask:
        mask &= king_safe(frame, squares, side, left, enemy_pawns, bit_man, True)
    if frame.movers[man] != FROZEN:
        _arrive(pool, exits, turn, mask, man, VARIABLE, captured)
        return
    while mask:  # each square is a way out of its own
        _arrive(pool, exits, turn, BIT[lowest(mask)], man, lowest(mask), captured)
        mask &= mask - ONE


@kernel
def _pawn_arrives(
    pool: Pool, exits: Exits, turn: Turn, mask: Word, square: int, captured: int, ep_file: int
) -> None:
    """A pawn has left ``turn.men.pawns`` for ``square``, on the last rank by promotion."""
    if mask == ZERO:
        return
    pawns = turn.men.pawns
    if 8 <= square < 56:
        add_moves(turn.slices, ONE_MOVE, mask)
        pawns[turn.side] |= BIT[square]
        settle_moves(pool, exits, turn, mask, PAWN, captured, NOTHING, ep_file)
        pawns[turn.side] &= ~BIT[square]
        return
    turn.men.squares[PROMOTED] = square
    for kind in range(1, KIND_COUNT):
        add_moves(turn.slices, ONE_MOVE, mask)
        settle_moves(pool, exits, turn, mask, PAWN, captured, kind, NOWHERE)


@kernel
def _pawn_steps(frame: Frame, pool: Pool, exits: Exits, turn: Turn, pawn: int) -> None:
    """Steps of one pawn that has left ``turn.men.pawns``."""
    side, occupied, enemy_pawns = turn.side, turn.occupied, turn.men.pawns[1 - turn.side]
    square, forward, ep_file, open_way = pawn, 8 if side == 0 else -8, NOWHERE, turn.legal
    for _ in range(2 if pawn >> 3 == (1 if side == 0 else 6) else 1):
        square += forward
        if occupied & BIT[square]:
            return
        open_way &= ~BIT[square]
        left = (occupied & ~BIT[pawn]) | BIT[square]
        mask = open_way & king_safe(frame, turn.men.squares, side, left, enemy_pawns, NOWHERE, True)
        _pawn_arrives(pool, exits, turn, mask, square, NOTHING, ep_file)
        ep_file = pawn & 7


@kernel
def _pawn_captures(frame: Frame, pool: Pool, exits: Exits, turn: Turn, pawn: int) -> None:
    """Captures by one pawn that has left ``turn.men.pawns`` (those en passant belong to positions with the
    right)."""
    side, squares, pawns, bit_man = turn.side, turn.men.squares, turn.men.pawns, frame.scalars
    enemy, left, targets = 1 - side, turn.occupied & ~BIT[pawn], PAWN_ATTACKS[side, pawn]
    while targets:
        square = lowest(targets)
        bit = BIT[square]
        targets &= targets - ONE
        captured, scalar = _victim_on(frame, turn, square)
        if captured:
            pawns[enemy] &= ~bit
            mask = turn.legal & king_safe(frame, squares, side, left, pawns[enemy], scalar, True)
            _pawn_arrives(pool, exits, turn, mask, square, captured, NOWHERE)
            pawns[enemy] = frame.pawns[enemy]
        elif bit_man >= 2 and frame.colours[bit_man] == enemy and turn.legal & bit:
            mask = bit & king_safe(frame, squares, side, left | bit, pawns[enemy], NOWHERE, False)
            squares[bit_man] = square
            _pawn_arrives(pool, exits, turn, mask, square, bit_man + 1, NOWHERE)
            squares[bit_man] = VARIABLE


@kernel
def _moves_of_frozen(frame: Frame, pool: Pool, exits: Exits, turn: Turn, man: int) -> None:
    """Quiet moves of one frozen man."""
    origin = lowest(frame.places) if man == frame.scalars else turn.men.squares[man]
    targets = reach(frame.kinds[man], BIT[origin], ~turn.occupied)
    while targets:
        square = lowest(targets)
        targets &= targets - ONE
        mask = _from_where(frame, turn, man, square, NOWHERE)
        _arrive(pool, exits, turn, mask, man, square, NOTHING)


@kernel
def _castlings(frame: Frame, pool: Pool, exits: Exits, turn: Turn) -> None:
    """Castling, which counts as a capture of the rook by its own king; what is in the way is as in
    Chess960 (FIDE Laws of Chess, guideline II)."""
    side, men, bit_man = turn.side, turn.men, frame.scalars
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
        way = BETWEEN[start, goal] | BIT[start]
        while way:
            square = lowest(way)
            way &= way - ONE
            left = turn.occupied & ~BIT[start]
            mask &= safe(frame, squares, square, enemy, left, men.pawns[enemy], NOWHERE, True)
        left = (turn.occupied & ~both) | BIT[beside]
        mask &= safe(frame, squares, goal, enemy, left, men.pawns[enemy], NOWHERE, rook != bit_man)
        if mask:
            add_moves(turn.slices, ONE_MOVE, mask)
            before = men.squares[rook]
            men.squares[king], men.squares[rook] = goal, beside
            settle_moves(pool, exits, turn, mask, king, rook + 1, NOTHING, NOWHERE)
            men.squares[king], men.squares[rook] = start, before


@kernel
def _leaving_moves(frame: Frame, pool: Pool, exits: Exits, turn: Turn) -> None:
    """Count all moves of the word that leave the phase and keep the best as exits."""
    side, pawns, bit_man = turn.side, turn.men.pawns, frame.scalars
    _captures(frame, pool, exits, turn)
    for man in range(bit_man + 1):
        if frame.colours[man] != side:
            continue
        if bit_man >= 2 and frame.colours[bit_man] != side:
            _captures_of_bit_man(frame, pool, exits, turn, man)
        if frame.movers[man] == FROZEN:
            _moves_of_frozen(frame, pool, exits, turn, man)
    own_pawns = frame.pawns[side]
    while own_pawns:
        pawn = lowest(own_pawns)
        own_pawns &= own_pawns - ONE
        pawns[side] &= ~BIT[pawn]
        if not turn.captures_only:
            _pawn_steps(frame, pool, exits, turn, pawn)
        _pawn_captures(frame, pool, exits, turn, pawn)
        pawns[side] |= BIT[pawn]
    _castlings(frame, pool, exits, turn)


@kernel
def _rank_words(
    frame: Frame, pool: Pool, exits: Exits, phase: Phase, found: MovesFound, men: Men, start: int, stop: int
) -> None:
    """``rank_and_exits``, with room for moves and men."""
    for word in range(start, stop):
        occupied = enter_word(frame, word, men)
        for side in range(2):
            own, other = phase.legal[side, word], phase.legal[1 - side]
            first, counter = (side * frame.words + word) * 64, phase.slices[side, word]
            counter[:] = ZERO
            put(exits.nearest, first, ALL, NO_EXIT)
            if own == ZERO:
                continue
            counter[0] = own & other[word]
            count_quiet(frame, word, side, own, other, occupied, found, counter)
            put(phase.quiet[side], word * 64, ALL, 0)
            for number in range(ONE_MOVE, SLICES):
                add(phase.quiet[side], word * 64, counter[number], 1 << (number - ONE_MOVE))
            _leaving_moves(frame, pool, exits, Turn(side, first, own, occupied, men, counter, False))


@jit
def rank_and_exits(frame: Frame, pool: Pool, exits: Exits, phase: Phase, start: int, stop: int) -> None:
    """Count the legal moves of every position of the words ``start`` to ``stop`` - 1, quiet ones apart too,
    and keep the best zeroing ones in ``exits``."""
    _rank_words(frame, pool, exits, phase, room_for_moves(MOST_MOVES), room_for_men(), start, stop)


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
    """Find the best exit of one legal position, as ``rank_and_exits`` does for all of them."""
    side = 0 if node < frame.words * 64 else 1
    bit = node & 63
    occupied = enter_word(frame, (node >> 6) - side * frame.words, one.men)
    one.slices[:] = ZERO
    one.exits.nearest[0] = NO_EXIT
    _leaving_moves(frame, pool, one.exits, Turn(side, -bit, BIT[bit], occupied, one.men, one.slices, False))


@jit
def side_exits(
    frame: Frame,
    pool: Pool,
    exits: Exits,
    phase: Phase,
    side: int,
    captures_only: bool,
    among: Words,
    start: int,
    stop: int,
) -> None:
    """Keep the best zeroing moves, or the best captures, of the positions of ``among`` uint64 (words,) with
    ``side`` to move in ``exits``, whatever was there; words ``start`` to ``stop`` - 1."""
    counter, men = np.empty(SLICES, np.uint64), room_for_men()
    for word in range(start, stop):
        own, first = phase.legal[side, word] & among[word], (side * frame.words + word) * 64
        put(exits.nearest, first, ALL, NO_EXIT)
        if own:
            counter[:] = ZERO
            occupied = enter_word(frame, word, men)
            turn = Turn(side, first, own, occupied, men, counter, captures_only)
            _leaving_moves(frame, pool, exits, turn)
