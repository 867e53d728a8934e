"""Counting the quiet moves of whole words with bit-sliced counters.

A counter is ``SLICES`` words: slice ``i`` holds bit ``i`` of the rank of each of the word's 64 positions. A
rank is twice the number of legal moves, plus one if the side to move is not in check, so slice 0 is "not in
check" and a move is added from slice 1 upwards.
"""

from tbgen.compiler.jit import inlined, kernel
from tbgen.retro.geometry import (
    BIT,
    FIRST_RAY,
    INVERSES,
    KING,
    KING_FORWARD,
    KING_LEAP,
    KNIGHT,
    KNIGHT_LANDING,
    KNIGHT_LEAP,
    KNIGHT_SHIFT,
    LAST_RAY,
    RAY,
    RAY_LANDING,
    RAY_SHIFT,
    TRIANGLE_OF,
)
from tbgen.retro.kernels.bits import ZERO, Ints, Word, Words, image, shifted
from tbgen.retro.kernels.frame import Frame
from tbgen.retro.kernels.moves import king_word

SLICES = 8
ONE_MOVE = 1
"""Slice at which one move is added."""
FOUR_MOVES = 3
"""Slice at which four moves, the promotions of one pawn, are added."""


@inlined
def add_moves(slices: Words, first: int, mask: Word) -> None:
    """Add ``2**first`` to the rank of every position in ``mask``."""
    while mask:
        carry = slices[first] & mask
        slices[first] ^= mask
        mask = carry
        first += 1


@inlined
def rank_at(slices: Words, bit: int) -> int:
    """The rank of one position of the word."""
    rank = 0
    for number in range(SLICES):
        if slices[number] & BIT[bit]:
            rank |= 1 << number
    return rank


@inlined
def of_rank(slices: Words, rank: int) -> Word:
    """The positions of the word that have a given rank (positions of no set included)."""
    result = ~ZERO
    for number in range(SLICES):
        result &= slices[number] if rank >> number & 1 else ~slices[number]
    return result


@inlined
def of_rank_at_least(slices: Words, rank: int) -> Word:
    """The positions of the word that have a given rank or a greater one (positions of no set included)."""
    greater, same = ZERO, ~ZERO
    for number in range(SLICES - 1, -1, -1):
        if rank >> number & 1:
            same &= slices[number]
        else:
            greater |= same & slices[number]
            same &= ~slices[number]
    return greater | same


@inlined
def _count_bit_man(kind: int, legal: Word, targets: Word, empty: Word, slices: Words) -> None:
    """Moves of the bit man from the squares in ``legal`` to those in ``targets``: both are stepped apart."""
    if kind == KNIGHT:
        for number in range(8):
            origins = shifted(targets, KNIGHT_SHIFT[number]) & KNIGHT_LANDING[number]
            add_moves(slices, ONE_MOVE, origins & legal)
        return
    first, last, steps = FIRST_RAY[kind], LAST_RAY[kind], 7
    if kind == KING:
        last, steps = 8, 1
    for ray in range(first, last):
        origins = targets
        for _ in range(steps):
            origins = shifted(origins, RAY_SHIFT[ray]) & RAY_LANDING[ray] & empty
            if origins == ZERO:
                break
            add_moves(slices, ONE_MOVE, origins & legal)


@kernel
def count_quiet(
    frame: Frame,
    word: int,
    mover: int,
    legal: Word,
    reached: Words,
    occupied: Word,
    squares: Ints,
    slices: Words,
) -> None:
    """Add ``mover``'s quiet moves from the positions ``legal`` of ``word`` (its own legal set) to ``slices``.

    ``reached`` is the whole legal set of the other side to move: a quiet move is legal if it leads there.
    ``occupied`` and ``squares`` are those of ``decode``.
    """
    bit_man = frame.scalars
    if frame.movers[bit_man] == mover:
        _count_bit_man(frame.kinds[bit_man], legal, reached[word], ~occupied, slices)
    for man in range(frame.scalars):
        if frame.movers[man] != mover:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        if man == 0 and frame.pawnless:
            coord = TRIANGLE_OF[square]
            for number in range(1, KING_FORWARD[coord, 0, 0] + 1):
                symmetry = KING_FORWARD[coord, number, 1]
                target = king_word(frame, word, squares, KING_FORWARD[coord, number, 0], symmetry)
                add_moves(slices, ONE_MOVE, legal & image(reached[target], INVERSES[symmetry]))
        elif kind == KING:
            for number in range(1, KING_LEAP[square, 0] + 1):
                target = word + ((KING_LEAP[square, number] - square) << shift)
                add_moves(slices, ONE_MOVE, legal & reached[target])
        elif kind == KNIGHT:
            for number in range(1, KNIGHT_LEAP[square, 0] + 1):
                target = word + ((KNIGHT_LEAP[square, number] - square) << shift)
                add_moves(slices, ONE_MOVE, legal & reached[target])
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
                free = legal
                for step in range(1, RAY[square, ray, 0] + 1):
                    origin = RAY[square, ray, step]
                    free &= ~BIT[origin]
                    if occupied & BIT[origin] or free == ZERO:
                        break
                    add_moves(slices, ONE_MOVE, free & reached[word + ((origin - square) << shift)])
