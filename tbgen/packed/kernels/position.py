"""One position: its rank, and the squares of its men as the index wants them."""

from typing import NamedTuple

from tbgen.board.material import MAX_MEN
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.packed.kernels.rows import Rows, has_smaller_image, symmetry_of
from tbgen.retro.geometry import BIT, IMAGES, PAWN_ATTACKS, SYMMETRY_OF
from tbgen.retro.kernels.bits import ONE, ZERO, Ints, Word, lowest
from tbgen.retro.kernels.canonical import sort_like
from tbgen.retro.kernels.movement import attacks_along
from tbgen.retro.movement import MOST_TARGETS, ORTHODOX

MAX_MOVES = (MAX_MEN - 1) * MOST_TARGETS
"""Most moves of the free men of one side."""


class Placed(NamedTuple):
    """A position of a table, without who is to move."""

    squares: Ints
    """int64 (free,): squares of the free men, in the order of the index."""
    phase: int


@inlined
def occupied_by(rows: Rows, men: Placed, side: int) -> Word:
    """The squares of one side's men."""
    found: Word = rows.pawns[men.phase, side]
    for man in range(len(rows.kinds)):
        if rows.colours[man] == side:
            found |= BIT[men.squares[man]]
    return found


@inlined
def attacked(rows: Rows, men: Placed, king: int, by: int, occupied: Word, gone: Word) -> bool:
    """Whether a square is attacked by side ``by``, whose men on the squares ``gone`` have been captured."""
    if PAWN_ATTACKS[1 - by, king] & rows.pawns[men.phase, by] & ~gone:
        return True
    for man in range(len(rows.kinds)):
        square = men.squares[man]
        if (
            rows.colours[man] == by
            and BIT[square] & gone == ZERO
            and attacks_along(ORTHODOX, rows.kinds[man], square, king)
            and ORTHODOX.passed[rows.kinds[man], square, king] & occupied == ZERO
        ):
            return True
    return False


@inlined
def is_legal(rows: Rows, men: Placed, side: int, start: int, stop: int, occupied: Word) -> bool:
    """Whether a move of ``side`` from ``start`` to ``stop`` leaves its king unattacked."""
    king = men.squares[side]
    if king == start:
        king = stop
    after = occupied & ~BIT[start] | BIT[stop]
    return not attacked(rows, men, king, 1 - side, after, BIT[stop])


@inlined
def _pawn_moves(rows: Rows, men: Placed, side: int, pawn: int, occupied: Word, enemies: Word) -> int:
    """How many legal moves a pawn has; a promotion counts four times."""
    forward, home = (8, 1) if side == 0 else (-8, 6)
    count, stop, targets = 0, pawn + forward, PAWN_ATTACKS[side, pawn] & enemies
    if occupied & BIT[stop] == ZERO:
        targets |= BIT[stop]
        if pawn >> 3 == home:
            targets |= BIT[stop + forward] & ~occupied
    while targets:
        count += is_legal(rows, men, side, pawn, lowest(targets), occupied)
        targets &= targets - ONE
    return 4 * count if pawn >> 3 == (6 if side == 0 else 1) else count


@inlined
def _list_moves(rows: Rows, men: Placed, side: int, own: Word, occupied: Word, moves: Ints) -> int:
    count = 0
    for man in range(len(rows.kinds)):
        if rows.colours[man] != side:
            continue
        square, kind = men.squares[man], rows.kinds[man]
        for way in range(ORTHODOX.ways[kind]):
            for step in range(1, int64(ORTHODOX.way[kind, square, way, 0]) + 1):
                target = int64(ORTHODOX.way[kind, square, way, step])
                if own & BIT[target]:
                    break
                if is_legal(rows, men, side, square, target, occupied):
                    moves[count] = man << 8 | target
                    count += 1
                if occupied & BIT[target]:
                    break
    return count


@kernel
def list_moves(rows: Rows, men: Placed, side: int, moves: Ints) -> tuple[int, int]:
    """List the legal moves of the free men of ``side`` in ``moves``, int64 (MAX_MOVES,), as man << 8 |
    square; return how many, and the rank of the position.

    The rank is twice the number of legal moves, those of pawns too, plus one if the side to move is not in
    check. There is no right to capture en passant.
    """
    own, enemies = occupied_by(rows, men, side), occupied_by(rows, men, 1 - side)
    occupied = own | enemies
    listed = _list_moves(rows, men, side, own, occupied, moves)
    count, pawns = listed, rows.pawns[men.phase, side]
    while pawns:
        count += _pawn_moves(rows, men, side, lowest(pawns), occupied, enemies)
        pawns &= pawns - ONE
    calm = not attacked(rows, men, men.squares[side], 1 - side, occupied, ZERO)
    return listed, 2 * count + calm


@kernel
def make_canonical(rows: Rows, phase: int, squares: Ints, image: Ints) -> None:
    """Turn squares into those of the position's canonical slot, within its phase; ``image`` is scratch."""
    free = len(rows.kinds)
    if rows.pawnless:
        into = SYMMETRY_OF[squares[0]]
        for man in range(free):
            squares[man] = IMAGES[into, squares[man]]
    sort_like(squares, rows.like)
    symmetry = symmetry_of(rows, phase, squares[0])
    if symmetry and has_smaller_image(rows, symmetry, squares, image):
        for man in range(free):
            squares[man] = image[man]
