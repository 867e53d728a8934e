"""Boards as rows of numbers: attacks, legal moves, and positions after moves.

A row consists of the integers named below. The first six are sets of squares: the men of each kind, of both
sides together. A move is an int32. Its lowest six bits are the start square. The next six bits are the target
square; for castling, this is the rook's square. Above them are the bit fields ``PROMOTED_MASK``,
``MAN_MASK``, ``CAPTURE``, ``EN_PASSANT_CAPTURE``, ``CASTLING_MOVE`` and ``DOUBLE_STEP``.

The attacks of sliding men are computed by obstruction difference [1].

[1] https://www.chessprogramming.org/Obstruction_Difference
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, intrinsic, kernel
from tbgen.engine.squares import (
    CASTLING_AND_EP_KEYS,
    HALF_LINES,
    KING_ATTACKS,
    KNIGHT_ATTACKS,
    LINE,
    MAN_KEYS,
    PAWN_ATTACKS,
    SQUARES_BETWEEN,
    TURN_KEY,
)
from tbgen.moves.kernels.words import ALL, ONE, ZERO, Word, bits_of, lowest

Rows = NDArray[np.uint64]
Moves = NDArray[np.int32]

PAWNS, KNIGHTS, BISHOPS, ROOKS, QUEENS, KINGS, NO_KIND = range(7)
"""Kinds of men. The first six are also indices in a row."""
WHITES, BLACKS, CASTLING, EN_PASSANT = range(6, 10)
TURN, KEY, ACCRUED, RANK, CLOCK, QUIET_PLIES, AFTER, KING_MOVE_COUNT = range(10, 18)
"""Indices in a row:

- TURN: side to move
- KEY: Zobrist key
- ACCRUED: accrued score: twice its rank, plus 1 if Black holds it
- RANK: rank of the position score
- CLOCK: 50-move counter
- QUIET_PLIES: plies since the last zeroing or null move, counted from row 0 at the earliest; 0 in rows before
  the root of a search
- AFTER: kind of the last move (``RESET``, ``NULL`` or 0)
- KING_MOVE_COUNT: number of the king's moves
"""
ROW_SIZE = 18
"""Number of integers in a row."""
RESET, NULL = 1, 2
"""Values of ``AFTER`` after a zeroing move and after a null move."""

TARGET_SHIFT, PROMOTED_SHIFT, MAN_SHIFT = 6, 12, 15
"""Lowest bits of three fields of a move: target square, promotion, moving man."""
SQUARE_MASK, KIND_MASK = 63, 7
"""Bits of a square and of a kind, from the lowest bit of its field on."""
PROMOTED_MASK = KIND_MASK << PROMOTED_SHIFT
"""Bit field of a move: the kind of the man that the pawn is promoted to, 0 for none."""
SQUARES_AND_PROMOTION = (1 << MAN_SHIFT) - 1
"""Bits that distinguish a move from the other moves of its position."""
CAPTURE, EN_PASSANT_CAPTURE, CASTLING_MOVE, DOUBLE_STEP = 1 << 18, 1 << 19, 1 << 20, 1 << 21
"""Bits of a move: capture, en passant capture, castling, and double step of a pawn."""
NOISY_MASK = CAPTURE | PROMOTED_MASK
"""Bits of captures and promotions."""

_LAST_RANKS = np.uint64(0xFF000000000000FF)
_PAWN_RANKS = np.array([0xFF00, 0xFF000000000000], np.uint64)
"""Start squares of pawns, by side."""


@intrinsic
def highest_bit(typing_context: Any, word: Any) -> Any:
    """Return the index of the highest set bit of a non-zero uint64, as uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zeros = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(zeros.type, 63), zeros)

    return types.uint64(types.uint64), codegen


@inlined
def bit(square: int) -> Word:
    """Return the set that contains only the given square."""
    return ONE << np.uint64(square)


@inlined
def _line_attacks(line: int, square: int, occupied: Word) -> Word:
    """Return the squares that a sliding man attacks on one line through its square.

    :param line: index of the line in ``HALF_LINES``.
    """
    below, above = HALF_LINES[line, 0, square], HALF_LINES[line, 1, square]
    nearest = above & occupied
    nearest &= ~nearest + ONE
    return ((nearest << ONE) + (ALL << highest_bit((below & occupied) | ONE))) & (below | above)


@kernel
def rook_attacks(square: int, occupied: Word) -> Word:
    """Return the squares that a rook attacks."""
    return _line_attacks(0, square, occupied) | _line_attacks(1, square, occupied)


@kernel
def bishop_attacks(square: int, occupied: Word) -> Word:
    """Return the squares that a bishop attacks."""
    return _line_attacks(2, square, occupied) | _line_attacks(3, square, occupied)


@kernel
def attackers(rows: Rows, row: int, square: int, occupied: Word) -> Word:
    """Return the men of both sides that attack a square.

    :param occupied: the occupied squares; men on other squares are ignored.
    """
    queens = rows[row, QUEENS]
    attacking = KNIGHT_ATTACKS[square] & rows[row, KNIGHTS] | KING_ATTACKS[square] & rows[row, KINGS]
    attacking |= rook_attacks(square, occupied) & (rows[row, ROOKS] | queens)
    attacking |= bishop_attacks(square, occupied) & (rows[row, BISHOPS] | queens)
    white = rows[row, WHITES]
    attacking |= rows[row, PAWNS] & (PAWN_ATTACKS[1, square] & white | PAWN_ATTACKS[0, square] & ~white)
    return attacking & occupied


@kernel
def _attacked_squares(rows: Rows, row: int, side: int, occupied: Word) -> Word:
    """Return the squares that the men of a side attack."""
    ours = rows[row, WHITES + side]
    queens = rows[row, QUEENS]
    squares = ZERO
    for square in bits_of(rows[row, PAWNS] & ours):
        squares |= PAWN_ATTACKS[side, square]
    for square in bits_of(rows[row, KNIGHTS] & ours):
        squares |= KNIGHT_ATTACKS[square]
    for square in bits_of((rows[row, BISHOPS] | queens) & ours):
        squares |= bishop_attacks(square, occupied)
    for square in bits_of((rows[row, ROOKS] | queens) & ours):
        squares |= rook_attacks(square, occupied)
    return squares | KING_ATTACKS[lowest(rows[row, KINGS] & ours)]


@inlined
def start_of(move: int) -> int:
    """Return the start square of a move."""
    return move & SQUARE_MASK


@inlined
def target_of(move: int) -> int:
    """Return the target square of a move; for castling, the rook's square."""
    return move >> TARGET_SHIFT & SQUARE_MASK


@inlined
def promoted_kind(move: int) -> int:
    """Return the kind of the man that a pawn is promoted to, 0 for none."""
    return move >> PROMOTED_SHIFT & KIND_MASK


@inlined
def moving_kind(move: int) -> int:
    """Return the kind of the moving man."""
    return move >> MAN_SHIFT & KIND_MASK


@inlined
def kind_at(rows: Rows, row: int, square: int) -> int:
    """Return the kind of the man on a square, ``NO_KIND`` for none."""
    for kind in range(NO_KIND):
        if rows[row, kind] >> np.uint64(square) & ONE:
            return int64(kind)
    return int64(NO_KIND)


@inlined
def _add_moves(moves: Moves, ply: int, count: int, start: int, targets: Word, theirs: Word, kind: int) -> int:
    """Append a man's moves, one for each of its ``targets``, and return the new number of moves."""
    for target in bits_of(targets):
        move = start | target << TARGET_SHIFT | kind << MAN_SHIFT
        if theirs >> np.uint64(target) & ONE:
            move |= CAPTURE
        moves[ply, count] = move
        count += 1
    return count


@kernel
def _pinned_men(rows: Rows, row: int, side: int, king: int) -> Word:
    """Return the pinned men of a side.

    :param king: square of the side's king.
    """
    ours, theirs = rows[row, WHITES + side], rows[row, BLACKS - side]
    pinners = rook_attacks(king, theirs) & (rows[row, ROOKS] | rows[row, QUEENS])
    pinners |= bishop_attacks(king, theirs) & (rows[row, BISHOPS] | rows[row, QUEENS])
    pinned = ZERO
    for square in bits_of(pinners & theirs):
        between = SQUARES_BETWEEN[king, square] & ours
        if between and not between & (between - ONE):
            pinned |= between
    return pinned


@kernel
def _add_pawn_moves(
    rows: Rows, row: int, side: int, moves: Moves, ply: int, count: int, pins_and_targets: tuple[Any, ...]
) -> int:
    """Append the moves of a side's pawns, and return the new number of moves.

    :param pins_and_targets: the allowed target squares, the pinned men, and the square of the king.
    """
    target_mask, pinned, king = pins_and_targets
    ours, theirs = rows[row, WHITES + side], rows[row, BLACKS - side]
    occupied = ours | theirs
    passing = rows[row, EN_PASSANT]
    step = 8 - 16 * side
    for square in bits_of(rows[row, PAWNS] & ours):
        start = bit(square)
        allowed = LINE[king, square] if start & pinned else ALL
        targets = PAWN_ATTACKS[side, square] & theirs
        single_step = bit(square + step)
        if not single_step & occupied:
            targets |= single_step
            double_step = bit(square + 2 * step) if start & _PAWN_RANKS[side] else ZERO
            if double_step & ~occupied & target_mask & allowed:
                moves[ply, count] = square | (square + 2 * step) << TARGET_SHIFT | DOUBLE_STEP
                count += 1
        for target in bits_of(targets & target_mask & allowed):
            move = square | target << TARGET_SHIFT | (CAPTURE if bit(target) & theirs else 0)
            if bit(target) & _LAST_RANKS:
                for kind in range(QUEENS, PAWNS, -1):
                    moves[ply, count] = move | kind << PROMOTED_SHIFT
                    count += 1
            else:
                moves[ply, count] = move
                count += 1
        if PAWN_ATTACKS[side, square] & passing:
            captured = lowest(passing) - step
            occupied_after = occupied & ~start & ~bit(captured) | passing
            if not attackers(rows, row, king, occupied_after) & theirs & occupied_after:
                moves[ply, count] = square | lowest(passing) << TARGET_SHIFT | CAPTURE | EN_PASSANT_CAPTURE
                count += 1
    return count


@kernel
def _add_castling_moves(
    rows: Rows, row: int, side: int, moves: Moves, ply: int, count: int, attacked: Word
) -> int:
    """Append castling moves of a king that is not in check, and return the new number of moves.

    :param attacked: squares that the other side attacks.
    """
    ours, theirs = rows[row, WHITES + side], rows[row, BLACKS - side]
    king = lowest(rows[row, KINGS] & ours)
    for rook in bits_of(rows[row, CASTLING] & ours):
        file_a = king & 56
        king_to, rook_to = (file_a + 6, file_a + 5) if rook > king else (file_a + 2, file_a + 3)
        others = (ours | theirs) & ~bit(king) & ~bit(rook)
        king_path = SQUARES_BETWEEN[king, king_to] | bit(king_to)
        path = king_path | SQUARES_BETWEEN[rook, rook_to] | bit(rook_to)
        if path & others or king_path & attacked:
            continue
        occupied_after = others | bit(king_to) | bit(rook_to)
        if not attackers(rows, row, king_to, occupied_after) & theirs:
            moves[ply, count] = king | rook << TARGET_SHIFT | KINGS << MAN_SHIFT | CASTLING_MOVE
            count += 1
    return count


@kernel
def generate_moves(rows: Rows, row: int, moves: Moves, ply: int) -> tuple[int, bool]:
    """Write the legal moves of a position into ``moves``, and the number of the king's moves into the row.

    Return the number of legal moves, and whether the side to move is in check.
    """
    side = int64(rows[row, TURN])
    ours, theirs = rows[row, WHITES + side], rows[row, BLACKS - side]
    occupied = ours | theirs
    king = lowest(rows[row, KINGS] & ours)
    attacked = _attacked_squares(rows, row, 1 - side, occupied & ~bit(king))
    checkers = attackers(rows, row, king, occupied) & theirs
    count = _add_moves(moves, ply, int64(0), king, KING_ATTACKS[king] & ~ours & ~attacked, theirs, KINGS)
    rows[row, KING_MOVE_COUNT] = count
    if checkers & (checkers - ONE):
        return count, True
    target_mask = ~ours
    if checkers:
        target_mask &= SQUARES_BETWEEN[king, lowest(checkers)] | checkers
    elif rows[row, CASTLING] & ours:
        count = _add_castling_moves(rows, row, side, moves, ply, count, attacked)
    pinned = _pinned_men(rows, row, side, king)
    count = _add_pawn_moves(rows, row, side, moves, ply, count, (target_mask, pinned, king))
    for kind in range(KNIGHTS, KINGS):
        for square in bits_of(rows[row, kind] & ours):
            targets = KNIGHT_ATTACKS[square] if kind == KNIGHTS else ZERO
            if kind in (BISHOPS, QUEENS):
                targets |= bishop_attacks(square, occupied)
            if kind >= ROOKS:
                targets |= rook_attacks(square, occupied)
            if bit(square) & pinned:
                targets &= LINE[king, square]
            count = _add_moves(moves, ply, count, square, targets & target_mask, theirs, kind)
    return count, checkers != ZERO


@kernel
def position_key(rows: Rows, row: int) -> Word:
    """Return the Zobrist key of a position."""
    key = TURN_KEY if rows[row, TURN] else ZERO
    for kind in range(NO_KIND):
        for square in bits_of(rows[row, kind]):
            key ^= MAN_KEYS[0 if rows[row, WHITES] >> np.uint64(square) & ONE else 1, kind, square]
    for square in bits_of(rows[row, CASTLING]):
        key ^= CASTLING_AND_EP_KEYS[0, square]
    for square in bits_of(rows[row, EN_PASSANT]):
        key ^= CASTLING_AND_EP_KEYS[1, square]
    return key


@inlined
def _toggle_man(rows: Rows, row: int, side: int, kind: int, square: int) -> None:
    """Put a man on a square, or remove the man if it is already there."""
    rows[row, kind] ^= bit(square)
    rows[row, WHITES + side] ^= bit(square)
    rows[row, KEY] ^= MAN_KEYS[side, kind, square]


@inlined
def _remove_en_passant(rows: Rows, row: int) -> None:
    """Remove the right to capture en passant."""
    if rows[row, EN_PASSANT]:
        rows[row, KEY] ^= CASTLING_AND_EP_KEYS[1, lowest(rows[row, EN_PASSANT])]
        rows[row, EN_PASSANT] = ZERO


@inlined
def _copy_row(rows: Rows, row: int) -> None:
    """Copy a row to the next row."""
    for word in range(ROW_SIZE):
        rows[row + 1, word] = rows[row, word]


@kernel
def make_null_move(rows: Rows, row: int) -> None:
    """Write the position after a null move into the next row."""
    _copy_row(rows, row)
    row += 1
    _remove_en_passant(rows, row)
    rows[row, TURN] ^= ONE
    rows[row, KEY] ^= TURN_KEY
    rows[row, AFTER], rows[row, QUIET_PLIES] = NULL, ZERO


@kernel
def make_move(rows: Rows, row: int, move: int) -> None:
    """Write the position after a move into the next row.

    Until :func:`complete_row` is called, the new row has the position score and the accrued score before the
    move.
    """
    _copy_row(rows, row)
    row += 1
    _remove_en_passant(rows, row)
    side = int64(rows[row, TURN])
    start, target, kind = start_of(move), target_of(move), moving_kind(move)
    reset = kind == PAWNS or move & CAPTURE
    if move & CASTLING_MOVE:
        file_a = start & 56
        _toggle_man(rows, row, side, KINGS, start)
        _toggle_man(rows, row, side, ROOKS, target)
        _toggle_man(rows, row, side, KINGS, file_a + (6 if target > start else 2))
        _toggle_man(rows, row, side, ROOKS, file_a + (5 if target > start else 3))
    else:
        if move & CAPTURE:
            captured = target - 8 + 16 * side if move & EN_PASSANT_CAPTURE else target
            _toggle_man(rows, row, 1 - side, kind_at(rows, row, captured), captured)
        _toggle_man(rows, row, side, kind, start)
        promoted = promoted_kind(move)
        _toggle_man(rows, row, side, promoted if promoted else kind, target)
    lost_rights = rows[row, CASTLING] & (bit(start) | bit(target))
    if kind == KINGS:
        lost_rights |= rows[row, CASTLING] & (np.uint64(0xFF) << np.uint64(56 * side))
    for square in bits_of(lost_rights):
        rows[row, KEY] ^= CASTLING_AND_EP_KEYS[0, square]
    rows[row, CASTLING] ^= lost_rights
    if move & DOUBLE_STEP:
        middle = (start + target) >> 1
        if PAWN_ATTACKS[side, middle] & rows[row, PAWNS] & rows[row, BLACKS - side]:
            rows[row, EN_PASSANT] = bit(middle)
            rows[row, KEY] ^= CASTLING_AND_EP_KEYS[1, middle]
    rows[row, TURN] ^= ONE
    rows[row, KEY] ^= TURN_KEY
    rows[row, AFTER] = RESET if reset else ZERO
    rows[row, QUIET_PLIES] = ZERO if reset else rows[row, QUIET_PLIES] + ONE
    rows[row, CLOCK] = ZERO if reset else rows[row, CLOCK] + ONE


@kernel
def complete_row(rows: Rows, row: int, moves: Moves, ply: int) -> int:
    """Write the moves, the position score and the accrued score of a position; return the number of moves.

    If no legal move captures en passant, the right to do so is removed.
    """
    count, in_check = generate_moves(rows, row, moves, ply)
    if rows[row, EN_PASSANT]:
        is_used = False
        for index in range(count):
            is_used |= moves[ply, index] & EN_PASSANT_CAPTURE != 0
        if not is_used:
            _remove_en_passant(rows, row)
    rank = 2 * count + (0 if in_check else 1)
    rows[row, RANK] = rank
    if rows[row, AFTER] != NULL and (rows[row, AFTER] == RESET or rank < int64(rows[row, ACCRUED]) >> 1):
        rows[row, ACCRUED] = rank << 1 | (1 - int64(rows[row, TURN]))
    return count
