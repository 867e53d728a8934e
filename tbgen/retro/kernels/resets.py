"""Moves that leave the phase, of whole words: counted, and folded into one best exit per position.

A capture or pawn move resets the accrued score and leads to a position whose fresh value W is known. In a
cell, quiet moves of frozen men and castling leave too.
"""

from dataclasses import dataclass

import numpy as np

from tbgen.compiler.jit import jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.zeroing import PROMOTED
from tbgen.retro.geometry import (
    BETWEEN,
    BIT,
    FIRST_RAY,
    KING,
    KING_LEAP,
    KNIGHT,
    KNIGHT_LEAP,
    LAST_RAY,
    PAWN_LEAP,
    RAY,
)
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Ints, Word, Words, lowest, reach
from tbgen.retro.kernels.exits import (
    NO_EXIT,
    NOTHING,
    NOWHERE,
    PAWN,
    Exits,
    Turn,
    settle_moves,
)
from tbgen.retro.kernels.frame import FROZEN, Frame, Phase, decode, king_safe, safe
from tbgen.retro.kernels.lanes import add, put
from tbgen.retro.kernels.mobility import FOUR_MOVES, ONE_MOVE, SLICES, add_moves, count_quiet
from tbgen.retro.kernels.targets import CAPTURED_PAWN, VARIABLE, Men, Pool


@kernel
def _captures_on(
    frame: Frame, pool: Pool, exits: Exits, turn: Turn, square: int, man: int, free: Word
) -> None:
    """Capture by scalar ``man`` of whatever scalar or pawn stands on the occupied ``square``.

    ``free`` are the places of the bit man that leave the way open.
    """
    side, squares, men = turn.side, turn.squares, turn.men
    enemy = 1 - side
    captured, scalar = NOTHING, NOWHERE
    if men.pawns[enemy] & BIT[square]:
        captured = CAPTURED_PAWN
    for other in range(2, frame.scalars):
        if squares[other] == square and frame.colours[other] == enemy and other != man:
            captured, scalar = other + 1, other
    if captured == 0:
        return
    origin = squares[man]
    squares[man] = square
    left = turn.occupied & ~BIT[origin]
    enemy_pawns = men.pawns[enemy] & ~BIT[square]
    mask = turn.legal & free & king_safe(frame, squares, side, left, enemy_pawns, scalar, True)
    squares[man] = origin
    if mask:
        add_moves(turn.slices, ONE_MOVE, mask)
        men.squares[man] = square
        men.pawns[enemy] = enemy_pawns
        settle_moves(pool, exits, turn, mask, man, captured, NOTHING, NOWHERE)
        men.pawns[enemy] = frame.pawns[enemy]
        men.squares[man] = origin


@kernel
def _captures_of_bit_man(frame: Frame, pool: Pool, exits: Exits, turn: Turn, man: int) -> None:
    """Capture by scalar ``man`` of the bit man, wherever it stands."""
    side, squares, men, bit_man = turn.side, turn.squares, turn.men, frame.scalars
    if frame.colours[bit_man] == side or bit_man < 2:
        return
    origin, enemy_pawns = squares[man], men.pawns[1 - side]
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
    if mask == ZERO:
        return
    add_moves(turn.slices, ONE_MOVE, mask)
    if frame.movers[man] == FROZEN:  # each square is a way out of its own
        while mask:
            men.squares[man] = lowest(mask)
            settle_moves(pool, exits, turn, BIT[lowest(mask)], man, bit_man + 1, NOTHING, NOWHERE)
            mask &= mask - ONE
    else:
        men.squares[man] = VARIABLE
        settle_moves(pool, exits, turn, mask, man, bit_man + 1, NOTHING, NOWHERE)
    men.squares[man] = origin


@kernel
def _captures_by_scalar(frame: Frame, pool: Pool, exits: Exits, turn: Turn, man: int) -> None:
    """Capture by scalar ``man`` of other scalars and pawns."""
    square, kind = turn.squares[man], frame.kinds[man]
    if kind in (KING, KNIGHT):
        leaps = KING_LEAP if kind == KING else KNIGHT_LEAP
        for number in range(1, leaps[square, 0] + 1):
            target = leaps[square, number]
            if turn.occupied & BIT[target]:
                _captures_on(frame, pool, exits, turn, target, man, turn.legal)
        return
    for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
        free = turn.legal
        for step in range(1, RAY[square, ray, 0] + 1):
            target = RAY[square, ray, step]
            if turn.occupied & BIT[target]:
                _captures_on(frame, pool, exits, turn, target, man, free)
                break
            free &= ~BIT[target]


@kernel
def _captures_by_bit_man(frame: Frame, pool: Pool, exits: Exits, turn: Turn) -> None:
    """The bit man captures a scalar or a pawn: all its origins lead to the same position."""
    side, squares, men = turn.side, turn.squares, turn.men
    bit_man, enemy = frame.scalars, 1 - side
    victims = men.pawns[enemy]
    for man in range(2, frame.scalars):
        if frame.colours[man] == enemy:
            victims |= BIT[squares[man]]
    while victims:
        square = lowest(victims)
        victims &= victims - ONE
        mask = turn.legal & reach(frame.kinds[bit_man], BIT[square], ~turn.occupied)
        if mask == ZERO:
            continue
        captured, scalar = CAPTURED_PAWN, NOWHERE
        for man in range(2, frame.scalars):
            if squares[man] == square:
                captured, scalar = man + 1, man
        enemy_pawns = men.pawns[enemy] & ~BIT[square]
        if king_safe(frame, squares, side, turn.occupied, enemy_pawns, scalar, True) & BIT[square]:
            add_moves(turn.slices, ONE_MOVE, mask)
            men.squares[bit_man] = square
            men.pawns[enemy] = enemy_pawns
            settle_moves(pool, exits, turn, mask, bit_man, captured, NOTHING, NOWHERE)
            men.pawns[enemy] = frame.pawns[enemy]
            men.squares[bit_man] = VARIABLE


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
    add_moves(turn.slices, FOUR_MOVES, mask)
    turn.men.squares[PROMOTED] = square
    for kind in range(1, 5):
        settle_moves(pool, exits, turn, mask, PAWN, captured, kind, NOWHERE)


@kernel
def _pawn_moves(frame: Frame, pool: Pool, exits: Exits, turn: Turn, pawn: int) -> None:
    """Steps, captures and promotions of one pawn (en passant captures belong to positions with the right)."""
    side, squares, men, legal, occupied = turn.side, turn.squares, turn.men, turn.legal, turn.occupied
    pawns, enemy, bit_man = men.pawns, 1 - side, frame.scalars
    forward = 8 if side == 0 else -8
    left = occupied & ~BIT[pawn]
    pawns[side] &= ~BIT[pawn]
    square = pawn + forward
    if occupied & BIT[square] == ZERO and not turn.captures_only:
        open_way = legal & ~BIT[square]
        mask = open_way & king_safe(frame, squares, side, left | BIT[square], pawns[enemy], NOWHERE, True)
        _pawn_arrives(pool, exits, turn, mask, square, NOTHING, NOWHERE)
        square += forward
        if pawn >> 3 == (1 if side == 0 else 6) and occupied & BIT[square] == ZERO:
            open_way &= ~BIT[square]
            mask = open_way & king_safe(frame, squares, side, left | BIT[square], pawns[enemy], NOWHERE, True)
            _pawn_arrives(pool, exits, turn, mask, square, NOTHING, pawn & 7)
    for number in range(1, PAWN_LEAP[side, pawn, 0] + 1):
        square = PAWN_LEAP[side, pawn, number]
        bit = BIT[square]
        if pawns[enemy] & bit:
            pawns[enemy] &= ~bit
            mask = legal & king_safe(frame, squares, side, left, pawns[enemy], NOWHERE, True)
            _pawn_arrives(pool, exits, turn, mask, square, CAPTURED_PAWN, NOWHERE)
            pawns[enemy] |= bit
        elif occupied & bit:
            for man in range(2, frame.scalars):
                if squares[man] == square and frame.colours[man] == enemy:
                    mask = legal & king_safe(frame, squares, side, left, pawns[enemy], man, True)
                    _pawn_arrives(pool, exits, turn, mask, square, man + 1, NOWHERE)
        elif bit_man >= 2 and frame.colours[bit_man] == enemy and legal & bit:
            mask = bit & king_safe(frame, squares, side, left | bit, pawns[enemy], NOWHERE, False)
            men.squares[bit_man] = square
            _pawn_arrives(pool, exits, turn, mask, square, bit_man + 1, NOWHERE)
            men.squares[bit_man] = VARIABLE
    pawns[side] |= BIT[pawn]


@kernel
def _moves_of_frozen(frame: Frame, pool: Pool, exits: Exits, turn: Turn, man: int) -> None:
    """Quiet moves of one frozen man."""
    side, squares, men, bit_man = turn.side, turn.squares, turn.men, frame.scalars
    origin = lowest(frame.places) if man == bit_man else squares[man]
    targets = reach(frame.kinds[man], BIT[origin], ~turn.occupied)
    while targets:
        square = lowest(targets)
        targets &= targets - ONE
        left = (turn.occupied & ~BIT[origin]) | BIT[square]
        mask = turn.legal
        if man == bit_man:
            if (
                king_safe(frame, squares, side, turn.occupied, men.pawns[1 - side], NOWHERE, True)
                & BIT[square]
                == ZERO
            ):
                continue
        else:
            squares[man] = square
            mask &= ~BIT[square] & ~BETWEEN[origin, square]
            mask &= king_safe(frame, squares, side, left, men.pawns[1 - side], NOWHERE, True)
            squares[man] = origin
        if mask:
            add_moves(turn.slices, ONE_MOVE, mask)
            before = men.squares[man]
            men.squares[man] = square
            settle_moves(pool, exits, turn, mask, man, NOTHING, NOTHING, NOWHERE)
            men.squares[man] = before


@kernel
def _castlings(frame: Frame, pool: Pool, exits: Exits, turn: Turn) -> None:
    """Castling, which counts as a capture of the rook by its own king; what is in the way is as in
    Chess960 (FIDE Laws of Chess, guideline II)."""
    side, squares, men, bit_man = turn.side, turn.squares, turn.men, frame.scalars
    enemy = 1 - side
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
    for man in range(frame.scalars):
        if frame.colours[man] == turn.side:
            _captures_by_scalar(frame, pool, exits, turn, man)
            _captures_of_bit_man(frame, pool, exits, turn, man)
    if frame.colours[frame.scalars] == turn.side:
        _captures_by_bit_man(frame, pool, exits, turn)
    own_pawns = frame.pawns[turn.side]
    while own_pawns:
        _pawn_moves(frame, pool, exits, turn, lowest(own_pawns))
        own_pawns &= own_pawns - ONE
    for man in range(frame.scalars + 1):
        if frame.movers[man] == FROZEN and frame.colours[man] == turn.side:
            _moves_of_frozen(frame, pool, exits, turn, man)
    _castlings(frame, pool, exits, turn)


@kernel
def _rank_words(
    frame: Frame, pool: Pool, exits: Exits, phase: Phase, squares: Ints, men: Men, start: int, stop: int
) -> None:
    """``rank_and_exits``, with room for the squares of scalars and men."""
    legal, slices = phase.legal, phase.slices
    for word in range(start, stop):
        nowhere = legal[0, word] | legal[1, word] == ZERO
        occupied = ZERO if nowhere else decode(frame, word, squares)
        for man in range(frame.scalars):
            men.squares[man] = squares[man]
        men.squares[frame.scalars] = VARIABLE
        for side in range(2):
            own = legal[side, word]
            first = (side * frame.words + word) * 64
            counter = slices[side, word]
            counter[:] = ZERO
            exits.nearest[first : first + 64] = NO_EXIT
            if own == ZERO:
                continue
            counter[0] = own & legal[1 - side, word]
            count_quiet(frame, word, side, own, legal[1 - side], occupied, squares, counter)
            put(phase.quiet[side], word * 64, ALL, 0)
            for number in range(ONE_MOVE, SLICES):
                add(phase.quiet[side], word * 64, counter[number], 1 << (number - ONE_MOVE))
            _leaving_moves(frame, pool, exits, Turn(side, first, own, occupied, squares, men, counter, False))


@jit
def rank_and_exits(frame: Frame, pool: Pool, exits: Exits, phase: Phase, start: int, stop: int) -> None:
    """Count the legal moves of every position of the words ``start`` to ``stop`` - 1, quiet ones apart too,
    and keep the best zeroing ones in ``exits``."""
    squares = np.empty(frame.scalars, np.int64)
    men = Men(np.zeros(PROMOTED + 1, np.int64), frame.pawns.copy(), np.empty(6, np.int64))
    _rank_words(frame, pool, exits, phase, squares, men, start, stop)


@dataclass(frozen=True, eq=False)
class OneExit(Struct):
    """Room to find the exit of one position."""

    exits: Exits
    """The exit, in the only entry."""
    squares: Ints
    """int64 (scalars,)."""
    men: Men
    slices: Words
    """uint64 (SLICES,)."""


@kernel
def find_exit(frame: Frame, pool: Pool, node: int, one: OneExit) -> None:
    """Find the best exit of one legal position, as ``rank_and_exits`` does for all of them."""
    side = 0 if node < frame.words * 64 else 1
    bit = node & 63
    occupied = decode(frame, (node >> 6) - side * frame.words, one.squares)
    for man in range(frame.scalars):
        one.men.squares[man] = one.squares[man]
    one.men.squares[frame.scalars] = VARIABLE
    one.men.pawns[0], one.men.pawns[1] = frame.pawns[0], frame.pawns[1]
    one.slices[:] = ZERO
    one.exits.nearest[0] = NO_EXIT
    turn = Turn(side, -bit, BIT[bit], occupied, one.squares, one.men, one.slices, False)
    _leaving_moves(frame, pool, one.exits, turn)


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
    squares, counter = np.empty(frame.scalars, np.int64), np.empty(SLICES, np.uint64)
    men = Men(np.zeros(PROMOTED + 1, np.int64), frame.pawns.copy(), np.empty(6, np.int64))
    for word in range(start, stop):
        own, first = phase.legal[side, word] & among[word], (side * frame.words + word) * 64
        exits.nearest[first : first + 64] = NO_EXIT
        if own == ZERO:
            continue
        occupied = decode(frame, word, squares)
        for man in range(frame.scalars):
            men.squares[man] = squares[man]
        men.squares[frame.scalars] = VARIABLE
        counter[:] = ZERO
        turn = Turn(side, first, own, occupied, squares, men, counter, captures_only)
        _leaving_moves(frame, pool, exits, turn)
