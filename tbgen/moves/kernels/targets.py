"""Finding the positions after zeroing moves in the *pool*, the memory that stores their fresh values.

The pool begins with the table that is being solved, because pawn moves may lead to positions of this
table. Then come the en passant positions of this table, and the blocks of the successors, the materials that
other zeroing moves lead to. A *block* is one phase of one material, with White and with Black to move. All
slots of legal positions have values, whether they are canonical or not.
"""

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index import zeroing
from tbgen.index.layout import MIRROR_RANKS
from tbgen.moves.geometry import BIT, IMAGES, KIND_COUNT, PAWN_ATTACKS, SYMMETRY_OF, TRIANGLE_OF
from tbgen.moves.kernels.words import ZERO, Ints, Word, Words, bits_of, image
from tbgen.moves.structs import Men, Movement, Targets

CAPTURED_PAWN = int64(zeroing.CAPTURED_PAWN)
"""Number of a captured pawn in ``Targets.number``."""
VARIABLE = int64(-1)
"""Replaces the square of a man that is on a different square for each bit of the word."""

NO_SQUARE = int64(zeroing.NO_SQUARE)
"""Number in a route for a square that does not exist."""
ROUTE_VICTIMS = zeroing.ROUTE_VICTIMS
"""Number of possible values of ``victim`` in a route."""
NOTHING_PROVED, ALL_PROVED = int64(-1), int64(-2)
"""Elements of ``Routes.start`` in a pool of proofs, for routes that need no bits."""
ROUTE_COUNT = 65 * 65 * ROUTE_VICTIMS * KIND_COUNT
"""Number of possible routes."""


@inlined
def attacks_along(moves: Movement, kind: int, square: int, attacked: int) -> bool:
    """Whether a man of ``kind`` on ``square`` attacks the square ``attacked`` on an empty board."""
    return moves.attacks[kind, square] & BIT[attacked] != ZERO


@inlined
def pawn_attacks(colour: int, pawns: Word) -> Word:
    """Squares attacked by all pawns of a colour."""
    attacked = ZERO
    for pawn in bits_of(pawns):
        attacked |= PAWN_ATTACKS[colour, pawn]
    return attacked


@inlined
def sort_like_men(squares: Ints, like_men: Ints) -> None:
    """Sort the squares of like men within each half-open range of ``like_men``, int64 (n, 2)."""
    for group in range(len(like_men)):
        start, stop = like_men[group, 0], like_men[group, 1]
        for man in range(start + 1, stop):
            square = squares[man]
            index = man
            while index > start and squares[index - 1] > square:
                squares[index] = squares[index - 1]
                index -= 1
            squares[index] = square


@inlined
def pawn_row(targets: Targets, target: int, pawns: Words) -> int:
    """The element of ``Targets.rows`` for ``pawns``, uint64 (2,), in a target with pawns."""
    key = 0
    for colour in range(2):
        squares = pawns[colour]
        if targets.swapped[target]:
            squares = image(pawns[1 - colour], MIRROR_RANKS)
        for square in bits_of(squares):
            key = key * 64 + square
    return targets.rows[targets.rows_at[target] + key]


@inlined
def _slot(squares: Ints, free: int, symmetry: int, pawnless: bool) -> int:
    """The slot within a phase of men on ``squares``; negative squares count as 0."""
    slot = 0
    for man in range(free):
        slot <<= 6
        if squares[man] >= 0:
            if man == 0 and pawnless:
                slot |= TRIANGLE_OF[squares[0]]
            else:
                slot |= IMAGES[symmetry, squares[man]]
    return slot


@kernel
def slots_after(targets: Targets, target: int, side: int, men: Men) -> tuple[int, int, int, int]:
    """Return (base, step, symmetry, king), which determine the slots in the pool after a move of ``side``.

    If the ``VARIABLE`` man is on square ``b``, the slot is ``base + (IMAGES[symmetry, b] << step)``. If no
    man is variable, ``step`` is -1. If the variable man is the king whose square determines the symmetry,
    ``king`` is the index of this king, and this function must be called again for each of its squares.
    Otherwise ``king`` is -1.
    """
    scratch = men.scratch
    pawnless = targets.pawn_count[target] == 0
    free = targets.free_count[target]
    flip = 56 if targets.swapped[target] else 0
    step = -1
    for man in range(free):
        square = men.squares[targets.source[target, man]]
        if square == VARIABLE:
            step = 6 * (free - 1 - man)
            scratch[man] = VARIABLE
        else:
            scratch[man] = square ^ flip
    block = targets.block_at[target]
    if pawnless:
        symmetry = 0 if scratch[0] == VARIABLE else SYMMETRY_OF[scratch[0]]
    else:
        row = pawn_row(targets, target, men.pawns)
        block += row >> 1
        symmetry = row & 1
    base = targets.start[block, (1 - side) ^ targets.swapped[target]]
    if pawnless and scratch[0] == VARIABLE:
        return base, step, 0, targets.source[target, 0]
    base += _slot(scratch, free, symmetry, pawnless)
    if flip:
        symmetry ^= MIRROR_RANKS
    return base, step, symmetry, -1
