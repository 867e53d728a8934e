"""Rows, and single positions with their moves. A row is 64 slots that differ in the square of one man.

The free men are ordered: first the men of the side not to move, then the king of the side to move, then its
other men. The last man is the *row man*. The squares of all other men are the digits of a row's number, most
significant first. So neighbouring positions differ by a quiet move of the side to move, and have similar
values.
"""

from typing import NamedTuple

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.layout import MIRROR_FILES, TRANSPOSE
from tbgen.moves.geometry import (
    BEHIND,
    BIT,
    IMAGES,
    ORTHODOX,
    PAWN_ATTACKS,
    SYMMETRY_OF,
    TRIANGLE_OF,
    TRIANGLE_SQUARE,
)
from tbgen.moves.kernels.targets import attacks_along, pawn_attacks, sort_like_men
from tbgen.moves.kernels.words import ALL, ONE, ZERO, Ints, Word, bits_of, lowest, popcount
from tbgen.tables.structs import Buffers, RankedPositions, Rows

_FILE = np.arange(64) % 8
_RANK = np.arange(64) // 8
_EDGE = np.minimum(np.minimum(_FILE, 7 - _FILE), np.minimum(_RANK, 7 - _RANK))
_DISTANCE = np.maximum(abs(_FILE[:, None] - _FILE), abs(_RANK[:, None] - _RANK))
_KING_PARTS = np.stack(
    [4 * _EDGE + np.clip(_DISTANCE, 2, 5) - 2, 6 * (np.clip(_DISTANCE, 1, 4) - 1)]
).reshape(-1)
"""int64 (2 * 64 * 64,): contribution of the king of the side to move to the king class. The first half is for
tables without pawns, by the square of the other king. The second half is by the square of a pawn. Within
both, the order is by the square of the king."""

_LAST_RANKS = np.uint64(0xFF000000000000FF)


@inlined
def _set_squares(rows: Rows, digits: int, men: Ints, count: int, squares: Ints) -> int:
    """Write the squares of the first ``count`` of ``men`` to ``squares``, int64 (free,).

    The squares are the last digits of ``digits``, in the order of ``men``. Return the number without these
    digits.
    """
    for digit in range(count - 1, -1, -1):
        man = men[digit]
        if man == 0 and rows.pawnless:
            squares[man] = TRIANGLE_SQUARE[digits % 10]
            digits //= 10
        else:
            squares[man] = digits & 63
            digits >>= 6
    return digits


@inlined
def _number_of(rows: Rows, digits: int, men: Ints, count: int, squares: Ints) -> int:
    """``digits`` with the squares of the first ``count`` of ``men`` appended as digits; the inverse of
    ``_set_squares``."""
    for digit in range(count):
        man = men[digit]
        square = int64(squares[man])
        if man == 0 and rows.pawnless:
            digits = digits * 10 + int64(TRIANGLE_OF[square])
        else:
            digits = digits * 64 + square
    return digits


@inlined
def place_row(rows: Rows, row: int, squares: Ints) -> int:
    """Write the squares of all free men of a row, except the row man, to ``squares``; return the phase."""
    return _set_squares(rows, row, rows.order, len(rows.order) - 1, squares)


@inlined
def row_of(rows: Rows, phase: int, squares: Ints) -> int:
    """The row of the position whose men are on the canonical ``squares``."""
    return _number_of(rows, phase, rows.order, len(rows.order) - 1, squares)


@inlined
def place_slot(rows: Rows, slot: int, squares: Ints) -> int:
    """Write the squares of the free men of a slot to ``squares``; return the phase."""
    return _set_squares(rows, slot, rows.men, len(rows.men), squares)


@inlined
def first_slot(rows: Rows, row: int, squares: Ints) -> int:
    """The slot of a row's position with the row man on a1. In ``squares``, the square of the row man is set
    to a1."""
    squares[rows.order[len(rows.order) - 1]] = 0
    return _number_of(rows, row // rows.rows_per_phase, rows.men, len(rows.men), squares)


@inlined
def _occupied_squares(rows: Rows, phase: int, squares: Ints) -> Word:
    """Squares of all men except the row man; 0 if two of these men are on the same square."""
    occupied: Word = rows.pawns[phase, 0] | rows.pawns[phase, 1]
    row_man = rows.order[len(rows.kinds) - 1]
    for man in range(len(rows.kinds)):
        if man != row_man:
            if occupied & BIT[squares[man]]:
                return ZERO
            occupied |= BIT[squares[man]]
    return occupied


class PlacedMen(NamedTuple):
    """A position of a table without the side to move."""

    squares: Ints
    """int64 (free,): squares of the free men, in the order of the layout."""
    phase: int


@inlined
def _attacks(rows: Rows, men: PlacedMen, kind: int, square: int, transparent_man: int) -> Word:
    """Squares that a man of ``kind`` attacks from ``square``. ``transparent_man`` blocks no line."""
    attacks: Word = ORTHODOX.attacks[kind, square]
    for other in range(len(rows.kinds)):
        if other != transparent_man:
            attacks &= ~BEHIND[square, men.squares[other]]
    for pawn in bits_of(rows.pawns[men.phase, 0] | rows.pawns[men.phase, 1]):
        attacks &= ~BEHIND[square, pawn]
    return attacks


@inlined
def _attack_squares(rows: Rows, phase: int, squares: Ints, occupied: Word, target: int, side: int) -> Word:
    """Squares of the row man for which a man of ``side`` attacks ``target``.

    The row man must not be on ``target``.
    """
    if PAWN_ATTACKS[1 - side, target] & rows.pawns[phase, side]:
        return ALL
    row_man = rows.order[len(rows.kinds) - 1]
    row_squares = ZERO
    for man in range(len(rows.kinds)):
        if rows.colours[man] != side:
            continue
        if man == row_man:
            row_squares |= _attacks(rows, PlacedMen(squares, phase), rows.kinds[man], target, row_man)
        elif attacks_along(ORTHODOX, rows.kinds[man], squares[man], target):
            between = ORTHODOX.passed_squares[rows.kinds[man], squares[man], target]
            if between & occupied == ZERO:
                row_squares |= ~between
    return row_squares


@inlined
def row_hints(rows: Rows, row: int, squares: Ints) -> tuple[Word, Word]:
    """Squares of the row man for which the side to move is in check, and for which it attacks a man.

    The attacked man is not the king. Pins are ignored. ``squares`` are the squares of the other men of the
    row.
    """
    free_count = len(rows.kinds)
    side = rows.side
    phase = row // rows.rows_per_phase
    other = 1 - side
    occupied = _occupied_squares(rows, phase, squares)
    targets = rows.pawns[phase, other]
    check = ZERO
    for man in range(2, free_count):
        if rows.colours[man] == other:
            targets |= BIT[squares[man]]
    if rows.order[free_count - 1] == side:  # then the row man is the king
        check = pawn_attacks(other, rows.pawns[phase, other])
        for man in range(free_count):
            if rows.colours[man] == other:
                check |= _attacks(rows, PlacedMen(squares, phase), rows.kinds[man], squares[man], side)
    else:
        check = _attack_squares(rows, phase, squares, occupied, squares[side], other)
    capture = ZERO
    while targets:
        capture |= _attack_squares(rows, phase, squares, occupied, lowest(targets), side)
        targets &= targets - ONE
    return check, capture


@inlined
def kings_of(rows: Rows, row: int, squares: Ints) -> int:
    """The data from which the king classes of a row follow: a summand, and in the lowest 16 bits an index.

    ``squares`` are the squares of the other men of the row.
    """
    other = int64(squares[1 - rows.side])
    king = int64(0 if rows.king_mask else squares[rows.side])
    if rows.pawnless:
        return (16 * int64(_EDGE[other])) << 16 | other << 6 | king
    phase = row // rows.rows_per_phase
    pawn: int = lowest(rows.pawns[phase, 0] or rows.pawns[phase, 1])
    summand = 24 * (min(int64(_DISTANCE[pawn, other]), 4) - 1) + (pawn >> 3) - 1
    return summand << 16 | (64 + pawn) << 6 | king


@inlined
def king_class(rows: Rows, kings: int, square: int) -> int:
    """The king class of a position, below ``KING_CLASSES``.

    Without pawns, it depends on the distance of each king to the edge of the board and on the distance
    between the kings; otherwise on one pawn's rank and its distances to the kings. This pawn is White's on
    the smallest square, or Black's if White has none.

    :param kings: the result of ``kings_of`` for the row.
    :param square: the square of the row man.
    """
    return (kings >> 16) + int64(_KING_PARTS[(kings & 0xFFFF) + (square & rows.king_mask)])


@inlined
def symmetry_of(rows: Rows, phase: int, king: int) -> int:
    """The symmetry other than the identity that keeps the placement of the pawns; 0 if there is none.

    If there are no pawns, it is the symmetry that keeps the square of White's king.
    """
    if rows.pawnless:
        return TRANSPOSE if king % 9 == 0 else 0
    return MIRROR_FILES if rows.is_symmetric[phase] else 0


@inlined
def has_smaller_image(rows: Rows, symmetry: int, squares: Ints, image: Ints) -> bool:
    """Whether the image of a position has a smaller slot than the position. The squares of the image are
    written to ``image``."""
    free_count = len(rows.kinds)
    for man in range(free_count):
        image[man] = IMAGES[symmetry, squares[man]]
    sort_like_men(image, rows.like_men)
    for man in range(free_count):
        if image[man] != squares[man]:
            return bool(image[man] < squares[man])
    return False


@inlined
def _without_smaller_image(rows: Rows, phase: int, legal: Word, squares: Ints, image: Ints) -> Word:
    """The subset of ``legal``, a set of squares of the row man, for which no image has a smaller slot."""
    free_count = len(rows.kinds)
    row_man = rows.order[free_count - 1]
    if row_man != 0 and row_man != 1:
        symmetry = symmetry_of(rows, phase, squares[0])
        if symmetry == 0:
            return legal
        for man in range(2):  # in most rows the kings alone determine which image is smaller
            other = IMAGES[symmetry, squares[man]]
            if other != squares[man]:
                return legal if other > squares[man] else ZERO
    remaining, canonical = legal, legal
    while remaining:
        bit = lowest(remaining)
        remaining &= remaining - ONE
        squares[row_man] = bit
        symmetry = symmetry_of(rows, phase, squares[0])
        if symmetry and has_smaller_image(rows, symmetry, squares, image):
            canonical &= ~BIT[bit]
    return canonical


@kernel
def row_mask(rows: Rows, row: int, squares: Ints, image: Ints) -> Word:
    """The canonical legal positions of a row, as a set of squares of the row man.

    ``squares``, int64 (free,), receives the squares of the other men. ``image`` is scratch memory of the same
    size.
    """
    row_man = rows.order[len(rows.kinds) - 1]
    phase = place_row(rows, row, squares)
    occupied = _occupied_squares(rows, phase, squares)
    if occupied == ZERO:
        return ZERO
    # The king of the side not to move is never the row man.
    mask = ~occupied & ~_attack_squares(rows, phase, squares, occupied, squares[1 - rows.side], rows.side)
    for group in range(len(rows.like_men)):
        for man in range(rows.like_men[group, 0] + 1, rows.like_men[group, 1]):
            if man == row_man:
                mask &= ALL << np.uint64(squares[man - 1])
            elif squares[man - 1] > squares[man]:
                return ZERO
    if mask == ZERO:
        return ZERO
    return _without_smaller_image(rows, phase, mask, squares, image)


@inlined
def occupied_by(rows: Rows, men: PlacedMen, side: int) -> Word:
    """The squares of one side's men."""
    occupied: Word = rows.pawns[men.phase, side]
    for man in range(len(rows.kinds)):
        if rows.colours[man] == side:
            occupied |= BIT[men.squares[man]]
    return occupied


@inlined
def is_attacked(rows: Rows, men: PlacedMen, king: int, side: int, occupied: Word, captured: Word) -> bool:
    """Whether ``side`` attacks the square ``king``. Men on the squares ``captured`` do not count."""
    if PAWN_ATTACKS[1 - side, king] & rows.pawns[men.phase, side] & ~captured:
        return True
    for man in range(len(rows.kinds)):
        square = men.squares[man]
        if (
            rows.colours[man] == side
            and BIT[square] & captured == ZERO
            and attacks_along(ORTHODOX, rows.kinds[man], square, king)
            and ORTHODOX.passed_squares[rows.kinds[man], square, king] & occupied == ZERO
        ):
            return True
    return False


class Turn(NamedTuple):
    """A position with the side to move."""

    men: PlacedMen
    side: int
    own: Word
    """Squares of the men of the side to move."""
    enemies: Word
    """Squares of the men of the other side."""
    attacked: Word
    """Squares that the other side attacks, also through the king of the side to move."""


@inlined
def turn_of(rows: Rows, men: PlacedMen, side: int) -> Turn:
    """The turn of ``side`` in a position without an en passant right."""
    attacked = pawn_attacks(1 - side, rows.pawns[men.phase, 1 - side])
    for man in range(len(rows.kinds)):
        if rows.colours[man] != side:
            attacked |= _attacks(rows, men, rows.kinds[man], men.squares[man], side)
    return Turn(men, side, occupied_by(rows, men, side), occupied_by(rows, men, 1 - side), attacked)


@inlined
def _keep_safe(rows: Rows, turn: Turn, targets: Word, square: int) -> Word:
    """The subset of ``targets`` to which the man on ``square``, which is not the king, may move without
    leaving the king attacked."""
    men = turn.men
    king = turn.men.squares[turn.side]
    others = (turn.own | turn.enemies) & ~BIT[square]
    for pawn in bits_of(PAWN_ATTACKS[turn.side, king] & rows.pawns[men.phase, 1 - turn.side]):
        targets &= BIT[pawn]
    for man in range(len(rows.kinds)):
        enemy, kind = men.squares[man], rows.kinds[man]
        if rows.colours[man] != turn.side and attacks_along(ORTHODOX, kind, enemy, king):
            passed = ORTHODOX.passed_squares[kind, enemy, king]
            if passed & others == ZERO:
                targets &= passed | BIT[enemy]
    return targets


@inlined
def targets_of_man(rows: Rows, turn: Turn, man: int) -> Word:
    """The squares to which a free man of the side to move can legally move."""
    square = turn.men.squares[man]
    targets = _attacks(rows, turn.men, rows.kinds[man], square, int64(-1)) & ~turn.own
    return targets & ~turn.attacked if man == turn.side else _keep_safe(rows, turn, targets, square)


@inlined
def targets_of_pawn(rows: Rows, turn: Turn, pawn: int) -> Word:
    """The squares to which the pawn on the square ``pawn`` can legally move."""
    forward, start_rank = (8, 1) if turn.side == 0 else (-8, 6)
    stop = pawn + forward
    occupied = turn.own | turn.enemies
    targets: Word = PAWN_ATTACKS[turn.side, pawn] & turn.enemies
    if occupied & BIT[stop] == ZERO:
        targets |= BIT[stop]
        if pawn >> 3 == start_rank:
            targets |= BIT[stop + forward] & ~occupied
    return _keep_safe(rows, turn, targets, pawn)


@inlined
def rank_of(rows: Rows, turn: Turn) -> int:
    """The position rank of a position. A promotion counts as four moves."""
    count = int64(0)
    for man in range(len(rows.kinds)):
        if rows.colours[man] == turn.side:
            count += popcount(targets_of_man(rows, turn, man))
    for pawn in bits_of(rows.pawns[turn.men.phase, turn.side]):
        targets = targets_of_pawn(rows, turn, pawn)
        count += popcount(targets) + 3 * popcount(targets & _LAST_RANKS)
    return 2 * count + int64(turn.attacked & BIT[turn.men.squares[turn.side]] == ZERO)


@kernel
def find_ranks(
    rows: Rows, ranked: RankedPositions, buffers: Buffers, side: int, start: int, end: int
) -> None:
    """Find the ranks of the positions ``start`` to ``end`` - 1, which are legal, with ``side`` to move.

    The positions have no en passant rights.
    """
    squares = buffers.squares
    for index in range(start, end):
        men = PlacedMen(squares, place_slot(rows, ranked.slot[index], squares))
        ranked.rank[index] = rank_of(rows, turn_of(rows, men, side))


@kernel
def make_canonical(rows: Rows, phase: int, squares: Ints, image: Ints) -> None:
    """Replace ``squares`` with the squares in the position's canonical slot in its phase. ``image`` is
    scratch memory."""
    free_count = len(rows.kinds)
    if rows.pawnless:
        into_triangle = SYMMETRY_OF[squares[0]]
        for man in range(free_count):
            squares[man] = IMAGES[into_triangle, squares[man]]
    sort_like_men(squares, rows.like_men)
    symmetry = symmetry_of(rows, phase, squares[0])
    if symmetry and has_smaller_image(rows, symmetry, squares, image):
        for man in range(free_count):
            squares[man] = image[man]
