"""Finding the sets of canonical slots, as bits of words, and expanding a stored table to all its slots."""

import numpy as np

from tbgen.compiler.jit import inlined, jit, kernel
from tbgen.index.layout import MIRROR_FILES, TRANSPOSE
from tbgen.retro.geometry import BIT, IMAGES, TRIANGLE_OF, TRIANGLE_SQUARE
from tbgen.retro.kernels.frame import Frame, has_image, is_image
from tbgen.retro.kernels.words import ALL, ONE, ZERO, Codes, Ints, Plies, Word, Words, bits_of, move


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
    """The symmetry, other than the identity, that keeps the pawns in place, or White's king if there are no
    pawns; 0 if there is none."""
    if frame.pawnless:
        return TRANSPOSE if TRIANGLE_SQUARE[word >> frame.shifts[0]] % 9 == 0 else 0
    return MIRROR_FILES if mirrored else 0


@inlined
def _slot_in_order(frame: Frame, like: Ints, squares: Ints) -> int:
    """The slot of the men on ``squares``, after sorting like men by square."""
    sort_like(squares, like)
    slot = TRIANGLE_OF[squares[0]] if frame.pawnless else squares[0]
    for man in range(1, frame.scalars + 1):
        slot = slot << 6 | squares[man]
    return slot


@inlined
def _read_squares(frame: Frame, slot: int, squares: Ints) -> None:
    """Write the squares of all free men of a slot to ``squares``, even if several men share a square."""
    for man in range(frame.scalars, 0, -1):
        squares[man] = slot & 63
        slot >>= 6
    squares[0] = TRIANGLE_SQUARE[slot] if frame.pawnless else slot


@kernel
def canonical_slot(frame: Frame, slot: int, like: Ints, mirrored: bool, squares: Ints) -> int:
    """The canonical slot of the position in ``slot``; both are numbered within the phase.

    ``like``, int64 (n, 2), contains the ranges of like men; ``mirrored`` says whether the pawns of the phase
    are their own mirror image; ``squares``, int64 (free,), is scratch memory.
    """
    symmetry = _symmetry(frame, mirrored, slot >> 6)
    _read_squares(frame, slot, squares)
    best = _slot_in_order(frame, like, squares)
    if symmetry:
        for man in range(frame.scalars + 1):
            squares[man] = IMAGES[symmetry, squares[man]]
        best = min(best, _slot_in_order(frame, like, squares))
    return best


@inlined
def _in_order(frame: Frame, like: Ints, word: int) -> Word:
    """The positions of a word in which like men are sorted by square."""
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
    """The canonical slots of a word, legal or not; ``squares``, int64 (free,), is scratch memory."""
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


@inlined
def _has_one_canonical_word(frame: Frame, like: Ints, mirrored: bool, word: int) -> bool:
    """Whether the canonical slots of all positions of a word are in one word.

    This is so if the bit man has no like man and, where a symmetry applies to the word, the kings decide
    which of two images is canonical.
    """
    for group in range(len(like)):
        if like[group, 1] > frame.scalars:
            return False
    return is_image(frame, word) or has_image(frame, word) or _symmetry(frame, mirrored, word) == 0


@kernel
def _expand_word(
    frame: Frame, like: Ints, mirrored: bool, word: int, bits: Word, value: Codes, depth: Plies, squares: Ints
) -> None:
    """Implement ``expand_words`` for the positions ``bits`` of one word, none of which is canonical."""
    first = word * 64
    if not _has_one_canonical_word(frame, like, mirrored, word):
        for bit in bits_of(bits):
            origin = canonical_slot(frame, first + bit, like, mirrored, squares)
            value[first + bit], depth[first + bit] = value[origin], depth[origin]
        return
    # The canonical slot with the bit man on square 0; his square is added below.
    _read_squares(frame, first, squares)
    turned = is_image(frame, word)
    if turned:
        for man in range(frame.scalars):
            squares[man] = IMAGES[TRANSPOSE, squares[man]]
    origin = _slot_in_order(frame, like, squares)
    if turned:
        for bit in bits_of(bits):
            image = origin + IMAGES[TRANSPOSE, bit]
            value[first + bit], depth[first + bit] = value[image], depth[image]
    else:
        move(value, first, value, origin, bits)
        move(depth, first, depth, origin, bits)


@jit
def expand_words(
    frame: Frame,
    like: Ints,
    mirrored: bool,
    canonical: Words,
    among: Words,
    value: Codes,
    depth: Plies,
    start: int,
    stop: int,
) -> None:
    """Copy value and depth of the canonical slots to the other slots of ``among``, in the words ``start`` to
    ``stop`` - 1.

    ``canonical`` and ``among`` are uint64 (words,); ``value`` and ``depth`` have shape (phase size,).
    """
    squares = np.empty(frame.scalars + 1, np.int64)
    for word in range(start, stop):
        bits = among[word] & ~canonical[word]
        if bits:
            _expand_word(frame, like, mirrored, word, bits, value, depth, squares)
