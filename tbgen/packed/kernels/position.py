"""One position: its rank, and the squares of its men as the index wants them."""

from typing import NamedTuple

from tbgen.compiler.jit import inlined, kernel
from tbgen.index.symmetry import MIRROR_FILES, TRANSPOSE
from tbgen.packed.kernels.rows import Rows
from tbgen.retro.geometry import (
    BETWEEN,
    BIT,
    FIRST_RAY,
    IMAGES,
    KING,
    KING_LEAP,
    KNIGHT,
    KNIGHT_LEAP,
    LAST_RAY,
    PAWN_ATTACKS,
    PAWN_LEAP,
    RAY,
    SYMMETRY_OF,
    TRIANGLE_SQUARE,
)
from tbgen.retro.kernels.bits import ONE, ZERO, Ints, Word, lowest
from tbgen.retro.kernels.canonical import sort_like
from tbgen.retro.kernels.frame import attacks_along


class Men(NamedTuple):
    """A position of a table, without who is to move."""

    squares: Ints
    """int64 (free,): squares of the free men, in the order of the index."""
    phase: int


@inlined
def set_squares(rows: Rows, slot: int, squares: Ints) -> int:
    """Write the squares of the free men of a slot to ``squares``; return its phase."""
    for man in range(len(rows.kinds) - 1, 0, -1):
        squares[man] = slot & 63
        slot >>= 6
    if rows.pawnless:
        squares[0] = TRIANGLE_SQUARE[slot % 10]
        return slot // 10
    squares[0] = slot & 63
    return slot >> 6


@inlined
def occupied_by(rows: Rows, men: Men, side: int) -> Word:
    """The squares of one side's men."""
    found: Word = rows.pawns[men.phase, side]
    for man in range(len(rows.kinds)):
        if rows.colours[man] == side:
            found |= BIT[men.squares[man]]
    return found


@inlined
def attacked(rows: Rows, men: Men, king: int, by: int, occupied: Word, gone: Word) -> bool:
    """Whether a square is attacked by side ``by``, whose men on the squares ``gone`` have been captured."""
    if PAWN_ATTACKS[1 - by, king] & rows.pawns[men.phase, by] & ~gone:
        return True
    for man in range(len(rows.kinds)):
        square = men.squares[man]
        if (
            rows.colours[man] == by
            and BIT[square] & gone == ZERO
            and attacks_along(rows.kinds[man], square, king)
            and BETWEEN[square, king] & occupied == ZERO
        ):
            return True
    return False


@inlined
def attacks_a_man(rows: Rows, men: Men, side: int) -> bool:
    """Whether a free man of ``side``, pinned or not, attacks a man of the other side besides the king."""
    other = 1 - side
    occupied, targets = occupied_by(rows, men, side), occupied_by(rows, men, other)
    occupied |= targets
    targets &= ~BIT[men.squares[other]]
    while targets:
        target = lowest(targets)
        targets &= targets - ONE
        for man in range(len(rows.kinds)):
            square = men.squares[man]
            if (
                rows.colours[man] == side
                and attacks_along(rows.kinds[man], square, target)
                and BETWEEN[square, target] & occupied == ZERO
            ):
                return True
    return False


@inlined
def is_legal(rows: Rows, men: Men, side: int, start: int, stop: int, occupied: Word) -> bool:
    """Whether a move of ``side`` from ``start`` to ``stop`` leaves its king unattacked."""
    king = men.squares[side]
    if king == start:
        king = stop
    after = occupied & ~BIT[start] | BIT[stop]
    return not attacked(rows, men, king, 1 - side, after, BIT[stop])


@inlined
def _pawn_moves(rows: Rows, men: Men, side: int, pawn: int, occupied: Word, enemies: Word) -> int:
    """How many legal moves a pawn has; a promotion counts four times."""
    forward, home = (8, 1) if side == 0 else (-8, 6)
    count, stop = 0, pawn + forward
    if occupied & BIT[stop] == ZERO:
        if is_legal(rows, men, side, pawn, stop, occupied):
            count += 1
        if (
            pawn >> 3 == home
            and occupied & BIT[stop + forward] == ZERO
            and is_legal(rows, men, side, pawn, stop + forward, occupied)
        ):
            count += 1
    for number in range(1, PAWN_LEAP[side, pawn, 0] + 1):
        target = PAWN_LEAP[side, pawn, number]
        if enemies & BIT[target] and is_legal(rows, men, side, pawn, target, occupied):
            count += 1
    return 4 * count if pawn >> 3 == (6 if side == 0 else 1) else count


@kernel
def rank_of_position(rows: Rows, men: Men, side: int) -> int:
    """The rank of a position: twice the number of legal moves, plus one if the side to move is not in check.

    There is no right to capture en passant.
    """
    own, enemies = occupied_by(rows, men, side), occupied_by(rows, men, 1 - side)
    occupied = own | enemies
    count = 0
    for man in range(len(rows.kinds)):
        if rows.colours[man] != side:
            continue
        square, kind = men.squares[man], rows.kinds[man]
        if kind in (KING, KNIGHT):
            leaps = KING_LEAP if kind == KING else KNIGHT_LEAP
            for number in range(1, leaps[square, 0] + 1):
                target = leaps[square, number]
                if own & BIT[target] == ZERO and is_legal(rows, men, side, square, target, occupied):
                    count += 1
            continue
        for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
            for step in range(1, RAY[square, ray, 0] + 1):
                target = RAY[square, ray, step]
                if own & BIT[target]:
                    break
                if is_legal(rows, men, side, square, target, occupied):
                    count += 1
                if enemies & BIT[target]:
                    break
    pawns = rows.pawns[men.phase, side]
    while pawns:
        count += _pawn_moves(rows, men, side, lowest(pawns), occupied, enemies)
        pawns &= pawns - ONE
    return 2 * count + (not attacked(rows, men, men.squares[side], 1 - side, occupied, ZERO))


@kernel
def quiet_moves(rows: Rows, men: Men, side: int, moves: Ints) -> int:
    """List the legal quiet moves of the free men of ``side``: man << 8 | square; return how many.

    ``moves`` is int64 (MAX_QUIET,).
    """
    occupied = occupied_by(rows, men, 0) | occupied_by(rows, men, 1)
    count = 0
    for man in range(len(rows.kinds)):
        if rows.colours[man] != side:
            continue
        square, kind = men.squares[man], rows.kinds[man]
        if kind in (KING, KNIGHT):
            leaps = KING_LEAP if kind == KING else KNIGHT_LEAP
            for number in range(1, leaps[square, 0] + 1):
                target = leaps[square, number]
                if occupied & BIT[target] == ZERO and is_legal(rows, men, side, square, target, occupied):
                    moves[count] = man << 8 | target
                    count += 1
            continue
        for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
            for step in range(1, RAY[square, ray, 0] + 1):
                target = RAY[square, ray, step]
                if occupied & BIT[target]:
                    break
                if is_legal(rows, men, side, square, target, occupied):
                    moves[count] = man << 8 | target
                    count += 1
    return count


MAX_QUIET = 128
"""Most quiet moves of four free men of one side."""


@kernel
def make_canonical(rows: Rows, phase: int, squares: Ints, image: Ints) -> None:
    """Turn squares into those of the position's canonical slot, within its phase; ``image`` is scratch."""
    free, symmetry = len(rows.kinds), 0
    if rows.pawnless:
        into = SYMMETRY_OF[squares[0]]
        for man in range(free):
            squares[man] = IMAGES[into, squares[man]]
        if squares[0] % 9 == 0:
            symmetry = TRANSPOSE
    elif rows.mirrored[phase]:
        symmetry = MIRROR_FILES
    sort_like(squares, rows.like)
    if symmetry:
        for man in range(free):
            image[man] = IMAGES[symmetry, squares[man]]
        sort_like(image, rows.like)
        for man in range(free):
            if image[man] != squares[man]:
                if image[man] < squares[man]:
                    for other in range(free):
                        squares[other] = image[other]
                return
