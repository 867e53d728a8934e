"""Counting the quiet moves of whole words with bit-sliced counters.

A counter is ``SLICES`` words: slice ``i`` holds bit ``i`` of the rank of each of the word's 64 positions. A
rank is twice the number of legal moves, plus one if the side to move is not in check, so slice 0 is "not in
check" and a move is added from slice 1 upwards.
"""

from tbgen.compiler.jit import inlined, kernel
from tbgen.retro.geometry import BIT, INVERSES
from tbgen.retro.kernels.bits import ZERO, Word, Words, image, rotated
from tbgen.retro.kernels.frame import Frame, decode
from tbgen.retro.kernels.movement import counts
from tbgen.retro.kernels.moves import MovesFound, onward
from tbgen.retro.movement import Movement

SLICES = 8
ONE_MOVE = 1
"""Slice at which one move is added."""


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
def _count_bit_man(
    moves: Movement, kind: int, legal: Word, targets: Word, empty: Word, slices: Words
) -> None:
    """Moves of the bit man from the squares in ``legal`` to those in ``targets``: both are stepped apart."""
    for way in range(moves.ways[kind]):
        origins = targets
        for step in range(moves.length[kind, way]):
            origins = rotated(origins, moves.distance[kind, way]) & moves.landing[kind, way] & empty
            if origins == ZERO:
                break
            if counts(moves, kind, way, step + 1):
                add_moves(slices, ONE_MOVE, origins & legal)


@kernel
def count_quiet(
    frame: Frame, word: int, mover: int, legal: Word, reached: Words, found: MovesFound, slices: Words
) -> None:
    """Add ``mover``'s quiet moves from the positions ``legal`` of ``word`` (its own legal set) to ``slices``.

    ``reached`` is the whole legal set of the other side to move: a quiet move is legal if it leads there.
    ``found`` is room.
    """
    bit_man = frame.scalars
    if frame.movers[bit_man] == mover:
        empty = ~decode(frame, word, found.squares)
        _count_bit_man(frame.moves, frame.kinds[bit_man], legal, reached[word], empty, slices)
    for number in range(onward(frame, word, legal, mover, found)):
        there = image(reached[found.word[number]], INVERSES[found.symmetry[number]])
        add_moves(slices, ONE_MOVE, found.bits[number] & there)
