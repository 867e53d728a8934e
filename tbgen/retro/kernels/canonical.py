"""Canonical slots as sets, and the expansion of a stored table to all its slots."""

import numpy as np

from tbgen.compiler.jit import inlined, jit, kernel
from tbgen.index.layout import MIRROR_FILES, TRANSPOSE
from tbgen.retro.geometry import BIT, IMAGES, TRIANGLE_OF, TRIANGLE_SQUARE
from tbgen.retro.kernels.frame import Frame, has_image, is_image
from tbgen.retro.kernels.words import ALL, ONE, ZERO, Codes, Ints, Plies, Word, Words, bits_of


@inlined
def sort_like(squares: Ints, like: Ints) -> None:
    """Sort the squares of like men."""
    for group in range(len(like)):
        start, stop = like[group, 0], like[group, 1]
        for man in range(start + 1, stop):
            square, place = squares[man], man
            while place > start and squares[place - 1] > square:
                squares[place] = squares[place - 1]
                place -= 1
            squares[place] = square


@inlined
def _symmetry(frame: Frame, mirrored: bool, word: int) -> int:
    """The symmetry, other than none, that leaves the place of White's king or the pawns as they are; else
    0."""
    if frame.pawnless:
        return TRANSPOSE if TRIANGLE_SQUARE[word >> frame.shifts[0]] % 9 == 0 else 0
    return MIRROR_FILES if mirrored else 0


@inlined
def _slot_in_order(frame: Frame, like: Ints, squares: Ints) -> int:
    """The slot of the men on these squares, like men in the order of their squares."""
    sort_like(squares, like)
    slot = TRIANGLE_OF[squares[0]] if frame.pawnless else squares[0]
    for man in range(1, frame.scalars + 1):
        slot = slot << 6 | squares[man]
    return slot


@kernel
def canonical_slot(frame: Frame, slot: int, like: Ints, mirrored: bool, squares: Ints) -> int:
    """The canonical slot within the phase; ``mirrored`` if the phase's pawns are their own mirror image.

    ``like`` int64 (n, 2) are the ranges of like men, ``squares`` is scratch, int64 (free,).
    """
    symmetry, rest = _symmetry(frame, mirrored, slot >> 6), slot
    for man in range(frame.scalars, 0, -1):
        squares[man] = rest & 63
        rest >>= 6
    squares[0] = TRIANGLE_SQUARE[rest] if frame.pawnless else rest
    best = _slot_in_order(frame, like, squares)
    if symmetry:
        for man in range(frame.scalars + 1):
            squares[man] = IMAGES[symmetry, squares[man]]
        best = min(best, _slot_in_order(frame, like, squares))
    return best


@inlined
def _in_order(frame: Frame, like: Ints, word: int) -> Word:
    """The positions of a word in which like men stand in the order of their squares."""
    bits = ALL
    for group in range(len(like)):
        for man in range(like[group, 0] + 1, like[group, 1]):
            before = (word >> frame.shifts[man - 1]) & 63
            if man == frame.scalars:
                bits &= ~(BIT[before] - ONE)
            elif (word >> frame.shifts[man]) & 63 < before:
                bits = ZERO
    return bits


@kernel
def _canonical(frame: Frame, like: Ints, mirrored: bool, word: int, squares: Ints) -> Word:
    """The canonical slots of a word, legal or not; ``squares`` as for ``canonical_slot``."""
    bits = ZERO if is_image(frame, word) else _in_order(frame, like, word)
    if has_image(frame, word) or _symmetry(frame, mirrored, word) == 0:
        return bits
    for bit in bits_of(bits):
        slot = word * 64 + bit
        if canonical_slot(frame, slot, like, mirrored, squares) != slot:
            bits &= ~BIT[bit]
    return bits


@jit
def canonical_words(frame: Frame, like: Ints, mirrored: bool, words: Words, start: int, stop: int) -> None:
    """Set ``words[start:stop]`` (uint64) to the phase's canonical slots, legal or not."""
    squares = np.empty(frame.scalars + 1, np.int64)
    for word in range(start, stop):
        words[word] = _canonical(frame, like, mirrored, word, squares)


@jit
def expand_words(
    frame: Frame, like: Ints, mirrored: bool, value: Codes, depth: Plies, start: int, stop: int
) -> None:
    """Copy value and depth (phase size,) of canonical slots to the other slots of the words ``start`` to
    ``stop`` - 1."""
    squares = np.empty(frame.scalars + 1, np.int64)
    for word in range(start, stop):
        for bit in bits_of(~_canonical(frame, like, mirrored, word, squares)):
            slot = word * 64 + bit
            origin = canonical_slot(frame, slot, like, mirrored, squares)
            value[slot], depth[slot] = value[origin], depth[origin]
