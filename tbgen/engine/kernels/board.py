"""Boards as rows of numbers: attacks, legal moves, and positions after moves.

A row consists of the words named below. The first six are the sets of squares of the men of each kind, of
both sides together. A move is an int32: its start square, 64 times its target square (in castling that of the
rook), and the bit fields ``PROMOTED``, ``MAN``, ``CAPTURE`` and following.

Attacks of sliding men are computed by obstruction difference [1].

[1] https://www.chessprogramming.org/Obstruction_Difference
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, intrinsic, kernel
from tbgen.engine.squares import (
    BETWEEN,
    HALF_LINES,
    KING,
    KNIGHT,
    LINE,
    MAN_KEYS,
    PAWN,
    RIGHT_KEYS,
    TURN_KEY,
)
from tbgen.retro.kernels.words import ALL, ONE, ZERO, Word, bits_of, lowest

Rows = NDArray[np.uint64]
Moves = NDArray[np.int32]

PAWNS, KNIGHTS, BISHOPS, ROOKS, QUEENS, KINGS = range(6)
OF_WHITE, OF_BLACK, CASTLING, EN_PASSANT = range(6, 10)
TURN, KEY, ACCRUED, RANK, CLOCK, QUIET, STEP, KING_MOVES = range(10, 18)
"""Indices of words: side to move; Zobrist key; accrued score (twice its rank, plus 1 if Black holds it); rank
of the position score; 50-move counter; plies since a reset; kind of the last move (``RESET``, ``NULL`` or 0);
number of the king's moves."""
WORDS = 18
"""Number of words in a row."""
RESET, NULL = 1, 2
"""Values of ``STEP`` after a zeroing move and after a null move."""

FROM = 63
"""Bit field of a move: the start square."""
PROMOTED = 7 << 12
"""Bit field of a move: the kind of the man that a pawn becomes, 0 for none."""
MAN = 7 << 15
"""Bit field of a move: the kind of the moving man."""
CAPTURE, PASSING, CASTLES, DOUBLE = 1 << 18, 1 << 19, 1 << 20, 1 << 21
"""Bits of a move: capture, en passant capture, castling, and double step of a pawn."""
NOISY = CAPTURE | PROMOTED
"""Bits of captures and promotions."""

_LAST_RANKS = np.uint64(0xFF000000000000FF)
_FIRST_RANKS = np.array([0xFF00, 0xFF000000000000], np.uint64)
"""Start squares of pawns, by side."""


@intrinsic
def highest(typing_context: Any, word: Any) -> Any:
    """Return the index of the highest set bit of a non-zero uint64, as uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(zeros.type, 63), zeros)

    return types.uint64(types.uint64), codegen


@inlined
def bit(square: int) -> Word:
    """Return the set of one square."""
    return ONE << np.uint64(square)


@inlined
def _along(line: int, square: int, occupied: Word) -> Word:
    """Return the squares that a sliding man attacks along one line through its square.

    :param line: index of the line in ``HALF_LINES``.
    """
    below, above = HALF_LINES[line, 0, square], HALF_LINES[line, 1, square]
    first = above & occupied
    first &= ~first + ONE
    return ((first << ONE) + (ALL << highest((below & occupied) | ONE))) & (below | above)


@kernel
def straight(square: int, occupied: Word) -> Word:
    """Return the squares that a rook attacks."""
    return _along(0, square, occupied) | _along(1, square, occupied)


@kernel
def diagonal(square: int, occupied: Word) -> Word:
    """Return the squares that a bishop attacks."""
    return _along(2, square, occupied) | _along(3, square, occupied)


@kernel
def attackers(rows: Rows, at: int, square: int, occupied: Word) -> Word:
    """Return the men of both sides that attack a square.

    :param occupied: the occupied squares; men on other squares are ignored.
    """
    queens = rows[at, QUEENS]
    found = KNIGHT[square] & rows[at, KNIGHTS] | KING[square] & rows[at, KINGS]
    found |= straight(square, occupied) & (rows[at, ROOKS] | queens)
    found |= diagonal(square, occupied) & (rows[at, BISHOPS] | queens)
    white = rows[at, OF_WHITE]
    found |= rows[at, PAWNS] & (PAWN[1, square] & white | PAWN[0, square] & ~white)
    return found & occupied


@kernel
def _attacked(rows: Rows, at: int, side: int, occupied: Word) -> Word:
    """Return the squares that the men of a side attack."""
    ours = rows[at, OF_WHITE + side]
    queens = rows[at, QUEENS]
    found = ZERO
    for square in bits_of(rows[at, PAWNS] & ours):
        found |= PAWN[side, square]
    for square in bits_of(rows[at, KNIGHTS] & ours):
        found |= KNIGHT[square]
    for square in bits_of((rows[at, BISHOPS] | queens) & ours):
        found |= diagonal(square, occupied)
    for square in bits_of((rows[at, ROOKS] | queens) & ours):
        found |= straight(square, occupied)
    return found | KING[lowest(rows[at, KINGS] & ours)]


@inlined
def kind_at(rows: Rows, at: int, square: int) -> int:
    """Return the kind of the man on a square, 6 for none."""
    for kind in range(6):
        if rows[at, kind] >> np.uint64(square) & ONE:
            return int64(kind)
    return int64(6)


@inlined
def _add(moves: Moves, ply: int, count: int, start: int, targets: Word, theirs: Word, kind: int) -> int:
    """Append the moves of a man, and return the new number of moves."""
    for target in bits_of(targets):
        move = start | target << 6 | kind << 15
        if theirs >> np.uint64(target) & ONE:
            move |= CAPTURE
        moves[ply, count] = move
        count += 1
    return count


@kernel
def _pinned(rows: Rows, at: int, side: int, king: int) -> Word:
    """Return the pinned men of a side.

    :param king: square of its king.
    """
    ours, theirs = rows[at, OF_WHITE + side], rows[at, OF_BLACK - side]
    pinners = straight(king, theirs) & (rows[at, ROOKS] | rows[at, QUEENS])
    pinners |= diagonal(king, theirs) & (rows[at, BISHOPS] | rows[at, QUEENS])
    pinned = ZERO
    for square in bits_of(pinners & theirs):
        between = BETWEEN[king, square] & ours
        if between and not between & (between - ONE):
            pinned |= between
    return pinned


@kernel
def _pawn_moves(
    rows: Rows, at: int, side: int, moves: Moves, ply: int, count: int, masks: tuple[Any, ...]
) -> int:
    """Append the moves of pawns, and return the new number of moves.

    :param masks: the allowed target squares, the pinned men, and the square of the king.
    """
    within, pinned, king = masks
    ours, theirs = rows[at, OF_WHITE + side], rows[at, OF_BLACK - side]
    occupied, passing = ours | theirs, rows[at, EN_PASSANT]
    step = 8 - 16 * side
    for square in bits_of(rows[at, PAWNS] & ours):
        start = bit(square)
        allowed = LINE[king, square] if start & pinned else ALL
        targets = PAWN[side, square] & theirs
        once = bit(square + step)
        if not once & occupied:
            targets |= once
            twice = bit(square + 2 * step) if start & _FIRST_RANKS[side] else ZERO
            if twice & ~occupied & within & allowed:
                moves[ply, count] = square | (square + 2 * step) << 6 | DOUBLE
                count += 1
        for target in bits_of(targets & within & allowed):
            move = square | target << 6 | (CAPTURE if bit(target) & theirs else 0)
            if bit(target) & _LAST_RANKS:
                for kind in range(QUEENS, PAWNS, -1):
                    moves[ply, count] = move | kind << 12
                    count += 1
            else:
                moves[ply, count] = move
                count += 1
        if PAWN[side, square] & passing:
            captured = lowest(passing) - step
            after = occupied & ~start & ~bit(captured) | passing
            if not attackers(rows, at, king, after) & theirs & after:
                moves[ply, count] = square | lowest(passing) << 6 | CAPTURE | PASSING
                count += 1
    return count


@kernel
def _castling_moves(
    rows: Rows, at: int, side: int, moves: Moves, ply: int, count: int, attacked: Word
) -> int:
    """Append castling moves of a king that is not in check, and return the new number of moves.

    :param attacked: squares that the other side attacks.
    """
    ours, theirs = rows[at, OF_WHITE + side], rows[at, OF_BLACK - side]
    king = lowest(rows[at, KINGS] & ours)
    for rook in bits_of(rows[at, CASTLING] & ours):
        first = king & 56
        king_to, rook_to = (first + 6, first + 5) if rook > king else (first + 2, first + 3)
        others = (ours | theirs) & ~bit(king) & ~bit(rook)
        king_path = BETWEEN[king, king_to] | bit(king_to)
        path = king_path | BETWEEN[rook, rook_to] | bit(rook_to)
        if path & others or king_path & attacked:
            continue
        after = others | bit(king_to) | bit(rook_to)
        if not attackers(rows, at, king_to, after) & theirs:
            moves[ply, count] = king | rook << 6 | KINGS << 15 | CASTLES
            count += 1
    return count


@kernel
def generate(rows: Rows, at: int, moves: Moves, ply: int) -> tuple[int, bool]:
    """Write the legal moves of a position, and the number of its king's moves into its row.

    Return the number of moves, and whether the position is check.
    """
    side = int64(rows[at, TURN])
    ours, theirs = rows[at, OF_WHITE + side], rows[at, OF_BLACK - side]
    occupied = ours | theirs
    king = lowest(rows[at, KINGS] & ours)
    attacked = _attacked(rows, at, 1 - side, occupied & ~bit(king))
    checkers = attackers(rows, at, king, occupied) & theirs
    count = _add(moves, ply, int64(0), king, KING[king] & ~ours & ~attacked, theirs, KINGS)
    rows[at, KING_MOVES] = count
    if checkers & (checkers - ONE):
        return count, True
    within = ~ours
    if checkers:
        within &= BETWEEN[king, lowest(checkers)] | checkers
    elif rows[at, CASTLING] & ours:
        count = _castling_moves(rows, at, side, moves, ply, count, attacked)
    pinned = _pinned(rows, at, side, king)
    count = _pawn_moves(rows, at, side, moves, ply, count, (within, pinned, king))
    for kind in range(KNIGHTS, KINGS):
        for square in bits_of(rows[at, kind] & ours):
            targets = KNIGHT[square] if kind == KNIGHTS else ZERO
            if kind in (BISHOPS, QUEENS):
                targets |= diagonal(square, occupied)
            if kind >= ROOKS:
                targets |= straight(square, occupied)
            if bit(square) & pinned:
                targets &= LINE[king, square]
            count = _add(moves, ply, count, square, targets & within, theirs, kind)
    return count, checkers != ZERO


@kernel
def key_of(rows: Rows, at: int) -> Word:
    """Return the Zobrist key of a position."""
    key = TURN_KEY if rows[at, TURN] else ZERO
    for kind in range(6):
        for square in bits_of(rows[at, kind]):
            key ^= MAN_KEYS[0 if rows[at, OF_WHITE] >> np.uint64(square) & ONE else 1, kind, square]
    for square in bits_of(rows[at, CASTLING]):
        key ^= RIGHT_KEYS[0, square]
    for square in bits_of(rows[at, EN_PASSANT]):
        key ^= RIGHT_KEYS[1, square]
    return key


@inlined
def _toggle(rows: Rows, at: int, side: int, kind: int, square: int) -> None:
    """Put a man on a square, or remove it from there."""
    rows[at, kind] ^= bit(square)
    rows[at, OF_WHITE + side] ^= bit(square)
    rows[at, KEY] ^= MAN_KEYS[side, kind, square]


@inlined
def _forget_en_passant(rows: Rows, at: int) -> None:
    """Remove the right to capture en passant."""
    if rows[at, EN_PASSANT]:
        rows[at, KEY] ^= RIGHT_KEYS[1, lowest(rows[at, EN_PASSANT])]
        rows[at, EN_PASSANT] = ZERO


@inlined
def _copy(rows: Rows, at: int) -> None:
    """Copy a row to the next one."""
    for word in range(WORDS):
        rows[at + 1, word] = rows[at, word]


@kernel
def make_nothing(rows: Rows, at: int) -> None:
    """Write the position after a null move into the next row."""
    _copy(rows, at)
    at += 1
    _forget_en_passant(rows, at)
    rows[at, TURN] ^= ONE
    rows[at, KEY] ^= TURN_KEY
    rows[at, STEP], rows[at, QUIET] = NULL, ZERO


@kernel
def make(rows: Rows, at: int, move: int) -> None:
    """Write the position after a move into the next row.

    Its position score and its accrued score are still those before the move; :func:`enter` updates them.
    """
    _copy(rows, at)
    at += 1
    _forget_en_passant(rows, at)
    side = int64(rows[at, TURN])
    start, target, kind = move & FROM, move >> 6 & 63, move >> 15 & 7
    reset = kind == PAWNS or move & CAPTURE
    if move & CASTLES:
        first = start & 56
        _toggle(rows, at, side, KINGS, start)
        _toggle(rows, at, side, ROOKS, target)
        _toggle(rows, at, side, KINGS, first + (6 if target > start else 2))
        _toggle(rows, at, side, ROOKS, first + (5 if target > start else 3))
    else:
        if move & CAPTURE:
            captured = target - 8 + 16 * side if move & PASSING else target
            _toggle(rows, at, 1 - side, kind_at(rows, at, captured), captured)
        _toggle(rows, at, side, kind, start)
        promoted = move >> 12 & 7
        _toggle(rows, at, side, promoted if promoted else kind, target)
    lost = rows[at, CASTLING] & (bit(start) | bit(target))
    if kind == KINGS:
        lost |= rows[at, CASTLING] & (np.uint64(0xFF) << np.uint64(56 * side))
    for square in bits_of(lost):
        rows[at, KEY] ^= RIGHT_KEYS[0, square]
    rows[at, CASTLING] ^= lost
    if move & DOUBLE:
        middle = (start + target) >> 1
        if PAWN[side, middle] & rows[at, PAWNS] & rows[at, OF_BLACK - side]:
            rows[at, EN_PASSANT] = bit(middle)
            rows[at, KEY] ^= RIGHT_KEYS[1, middle]
    rows[at, TURN] ^= ONE
    rows[at, KEY] ^= TURN_KEY
    rows[at, STEP] = RESET if reset else ZERO
    rows[at, QUIET] = ZERO if reset else rows[at, QUIET] + ONE
    rows[at, CLOCK] = ZERO if reset else rows[at, CLOCK] + ONE


@kernel
def enter(rows: Rows, at: int, moves: Moves, ply: int) -> int:
    """Write the moves, the position score and the accrued score of a position; return the number of moves.

    A right to capture en passant that no legal move uses is removed.
    """
    count, check = generate(rows, at, moves, ply)
    if rows[at, EN_PASSANT]:
        used = False
        for number in range(count):
            used |= moves[ply, number] & PASSING != 0
        if not used:
            _forget_en_passant(rows, at)
    rank = 2 * count + (0 if check else 1)
    rows[at, RANK] = rank
    if rows[at, STEP] != NULL and (rows[at, STEP] == RESET or rank < int64(rows[at, ACCRUED]) >> 1):
        rows[at, ACCRUED] = rank << 1 | (1 - int64(rows[at, TURN]))
    return count
