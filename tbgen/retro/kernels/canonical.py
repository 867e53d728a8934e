"""Canonical slots as sets, and the expansion of a stored table to all its slots."""

import numpy as np

from tbgen.compiler.jit import inlined, jit, kernel
from tbgen.index.symmetry import MIRROR_FILES, TRANSPOSE
from tbgen.retro.geometry import BIT, IMAGES, TRIANGLE_OF, TRIANGLE_SQUARE
from tbgen.retro.kernels.bits import ALL, ZERO, Codes, Ints, Plies, Words
from tbgen.retro.kernels.frame import Frame


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


@kernel
def canonical_slot(frame: Frame, slot: int, like: Ints, mirrored: bool, squares: Ints) -> int:
    """The canonical slot within the phase; ``mirrored`` if the phase's pawns are their own mirror image.

    ``like`` int64 (n, 2) are the ranges of like men, ``squares`` is scratch, int64 (free,).
    """
    free = frame.scalars + 1
    rest = slot
    for man in range(free - 1, 0, -1):
        squares[man] = rest & 63
        rest >>= 6
    squares[0] = TRIANGLE_SQUARE[rest] if frame.pawnless else rest
    symmetry = 0
    if frame.pawnless and squares[0] % 9 == 0:
        symmetry = TRANSPOSE
    elif mirrored:
        symmetry = MIRROR_FILES
    best = slot
    for attempt in range(2):
        sort_like(squares, like)
        number = TRIANGLE_OF[squares[0]] if frame.pawnless else squares[0]
        for man in range(1, free):
            number = number << 6 | squares[man]
        if number < best:
            best = number
        if attempt == 1 or symmetry == 0:
            break
        for man in range(free):
            squares[man] = IMAGES[symmetry, squares[man]]
    return best


@inlined
def _symmetry(frame: Frame, mirrored: bool, word: int) -> int:
    """The symmetry, other than none, that leaves the place of White's king or the pawns as they are; else
    0."""
    if frame.pawnless:
        return TRANSPOSE if TRIANGLE_SQUARE[word >> frame.shifts[0]] % 9 == 0 else 0
    return MIRROR_FILES if mirrored else 0


@inlined
def _scalars_word(frame: Frame, squares: Ints) -> int:
    """Number of the word with the scalars on these squares."""
    word = TRIANGLE_OF[squares[0]] if frame.pawnless else squares[0]
    for man in range(1, frame.scalars):
        word = word << 6 | squares[man]
    return word


@kernel
def _source(frame: Frame, like: Ints, symmetry: int, word: int, squares: Ints) -> tuple[int, int]:
    """The word that holds the canonical slots of a word's positions, where the bit man has no like man.

    Returns it, and what becomes of the bits: 0 nothing, 1 they are carried along by the symmetry, 2 the
    smaller of the bit and its image counts.
    """
    for man in range(frame.scalars):
        squares[man] = (word >> frame.shifts[man]) & 63
    if frame.pawnless:
        squares[0] = TRIANGLE_SQUARE[word >> frame.shifts[0]]
    sort_like(squares, like)
    sorted_word = _scalars_word(frame, squares)
    if symmetry == 0:
        return sorted_word, 0
    for man in range(frame.scalars):
        squares[man] = IMAGES[symmetry, squares[man]]
    sort_like(squares, like)
    image_word = _scalars_word(frame, squares)
    if image_word < sorted_word:
        return image_word, 1
    return sorted_word, 2 if image_word == sorted_word else 0


@inlined
def _bit_man_alone(frame: Frame, like: Ints) -> bool:
    """Whether no other man is like the bit man."""
    return len(like) == 0 or like[len(like) - 1, 1] <= frame.scalars


@jit
def canonical_words(frame: Frame, like: Ints, mirrored: bool, words: Words, start: int, stop: int) -> None:
    """Set ``words[start:stop]`` (uint64) to the phase's canonical slots, legal or not."""
    squares = np.empty(frame.scalars + 1, np.int64)
    alone = _bit_man_alone(frame, like)
    for word in range(start, stop):
        symmetry = _symmetry(frame, mirrored, word)
        bits = ZERO
        if alone:
            source, how = _source(frame, like, symmetry, word, squares)
            if source == word:
                bits = ALL
                if how == 2:
                    for bit in range(64):
                        if IMAGES[symmetry, bit] < bit:
                            bits &= ~BIT[bit]
        else:
            for bit in range(64):
                if canonical_slot(frame, word * 64 + bit, like, mirrored, squares) == word * 64 + bit:
                    bits |= BIT[bit]
        words[word] = bits


@jit
def expand_words(
    frame: Frame, like: Ints, mirrored: bool, value: Codes, depth: Plies, start: int, stop: int
) -> None:
    """Copy value and depth (phase size,) of canonical slots to the other slots of the words ``start`` to
    ``stop`` - 1."""
    squares = np.empty(frame.scalars + 1, np.int64)
    alone = _bit_man_alone(frame, like)
    for word in range(start, stop):
        symmetry = _symmetry(frame, mirrored, word)
        if len(like) == 0 and symmetry == 0:
            continue
        if alone:
            source, how = _source(frame, like, symmetry, word, squares)
            if source == word and how == 0:
                continue
        for bit in range(64):
            slot = word * 64 + bit
            if alone:
                image = IMAGES[symmetry, bit]
                origin = source * 64 + (bit if how == 0 else image if how == 1 else min(bit, image))
            else:
                origin = canonical_slot(frame, slot, like, mirrored, squares)
            value[slot] = value[origin]
            depth[slot] = depth[origin]
