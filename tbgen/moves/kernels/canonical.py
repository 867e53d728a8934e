"""Finding the canonical slots, and copying values and depths from them to all other slots.

Several slots can stand for the same position: like men (of the same kind and colour) can be exchanged, and
some symmetries map the position to another slot. The smallest of these slots is canonical. Sets of slots are
stored as the bits of words (see ``tbgen.moves.kernels.frame``).
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.layout import MIRROR_FILES, TRANSPOSE
from tbgen.moves.geometry import BIT, IMAGES, TRIANGLE_OF
from tbgen.moves.kernels.frame import has_image, is_image
from tbgen.moves.kernels.targets import sort_like_men
from tbgen.moves.kernels.words import ALL, ONE, ZERO, Codes, Ints, Plies, Word, Words, bits_of, copy
from tbgen.moves.structs import Frame


@inlined
def _symmetry(frame: Frame, pawns_symmetric: bool, word: int) -> int:
    """The symmetry other than the identity that keeps the pawns in place; 0 if there is no such symmetry.

    If there are no pawns, it is the symmetry that keeps White's king in place.
    """
    if frame.pawnless:
        return TRANSPOSE if frame.king_pairs[word >> frame.shifts[0], 0] % 9 == 0 else 0
    return MIRROR_FILES if pawns_symmetric else 0


@inlined
def _ordered_slot(frame: Frame, like_men: Ints, squares: Ints) -> int:
    """Sort the squares of like men in place, and return the slot of the men on ``squares``."""
    sort_like_men(squares, like_men)
    word = 0
    first_man = 0
    if frame.pawnless:
        first_man = 2
        black = squares[1] if frame.scalars > 1 else int64(0)
        word = frame.pair_numbers[TRIANGLE_OF[squares[0]], black] << frame.shifts[0]
    for man in range(first_man, frame.scalars):
        word |= squares[man] << frame.shifts[man]
    return word << 6 | squares[frame.scalars]


@inlined
def _read_squares(frame: Frame, slot: int, squares: Ints) -> None:
    """Write the squares of all free men of a slot to ``squares``. Several men may share a square."""
    word = slot >> 6
    squares[frame.scalars] = slot & 63
    for man in range(frame.scalars):
        squares[man] = (word >> frame.shifts[man]) & 63
    if frame.pawnless:
        for man in range(min(frame.scalars, 2)):
            squares[man] = frame.king_pairs[word >> frame.shifts[0], man]


@kernel
def canonical_slot(frame: Frame, slot: int, like_men: Ints, symmetric: bool, squares: Ints) -> int:
    """The canonical slot of the position in ``slot``. Both slots are numbered within the phase.

    ``like_men``, int64 (n, 2), contains the half-open ranges of like men. ``symmetric`` says whether the
    pawns of the phase are their own mirror image. ``squares``, int64 (free men,), is scratch memory.
    """
    symmetry = _symmetry(frame, symmetric, slot >> 6)
    _read_squares(frame, slot, squares)
    best = _ordered_slot(frame, like_men, squares)
    if symmetry and not has_image(frame, slot >> 6):
        for man in range(frame.scalars + 1):
            squares[man] = IMAGES[symmetry, squares[man]]
        best = min(best, _ordered_slot(frame, like_men, squares))
    return best


@inlined
def _ordered_bits(frame: Frame, like_men: Ints, word: int) -> Word:
    """The positions of a word in which like men are sorted by square."""
    bits = ALL
    for group in range(len(like_men)):
        for man in range(like_men[group, 0] + 1, like_men[group, 1]):
            previous = (word >> frame.shifts[man - 1]) & 63
            if man == frame.scalars:
                bits &= ~(BIT[previous] - ONE)
            elif (word >> frame.shifts[man]) & 63 < previous:
                bits = ZERO
    return bits


@kernel
def _canonical_bits(frame: Frame, like_men: Ints, symmetric: bool, word: int, squares: Ints) -> Word:
    """The canonical slots of a word, legal or not; ``squares``, int64 (free men,), is scratch memory."""
    bits = ZERO if is_image(frame, word) else _ordered_bits(frame, like_men, word)
    if has_image(frame, word) or _symmetry(frame, symmetric, word) == 0:
        return bits
    for bit in bits_of(bits):
        slot = word * 64 + bit
        if canonical_slot(frame, slot, like_men, symmetric, squares) != slot:
            bits &= ~BIT[bit]
    return bits


@jit
def mark_canonical(frame: Frame, like_men: Ints, symmetric: bool, mask: Words, start: int, stop: int) -> None:
    """Set ``mask[start:stop]``, uint64, to the canonical slots of the phase, legal or not.

    ``like_men`` and ``symmetric`` are as for ``canonical_slot``.
    """
    squares = np.empty(frame.scalars + 1, np.int64)
    for word in range(start, stop):
        mask[word] = _canonical_bits(frame, like_men, symmetric, word, squares)


@inlined
def _has_one_canonical_word(frame: Frame, like_men: Ints, symmetric: bool, word: int) -> bool:
    """Whether the canonical slots of all positions of a word are in one word.

    This is so if the bit man has no like man, and either no symmetry applies to the word or the squares of
    the kings decide which of the two images is canonical.
    """
    for group in range(len(like_men)):
        if like_men[group, 1] > frame.scalars:
            return False
    return is_image(frame, word) or has_image(frame, word) or _symmetry(frame, symmetric, word) == 0


@kernel
def _copy_to_word(
    frame: Frame, groups: Ints, symmetric: bool, word: int, bits: Word, value: Codes, depth: Plies, free: Ints
) -> None:
    """Implement ``copy_canonical`` for the positions ``bits`` of one word, none of which is canonical.

    ``groups`` and ``free`` are ``like_men`` and ``squares`` of ``canonical_slot``.
    """
    first_slot = word * 64
    if not _has_one_canonical_word(frame, groups, symmetric, word):
        for bit in bits_of(bits):
            origin = canonical_slot(frame, first_slot + bit, groups, symmetric, free)
            value[first_slot + bit], depth[first_slot + bit] = value[origin], depth[origin]
        return
    # ``origin`` is the canonical slot of the position with the bit man on square 0. The actual square of the
    # bit man is added below.
    _read_squares(frame, first_slot, free)
    is_in_image = is_image(frame, word)
    if is_in_image:
        for man in range(frame.scalars):
            free[man] = IMAGES[TRANSPOSE, free[man]]
    origin = _ordered_slot(frame, groups, free)
    if is_in_image:
        for bit in bits_of(bits):
            image = origin + IMAGES[TRANSPOSE, bit]
            value[first_slot + bit], depth[first_slot + bit] = value[image], depth[image]
    else:
        copy(value, first_slot, value, origin, bits)
        copy(depth, first_slot, depth, origin, bits)


@jit
def copy_canonical(
    frame: Frame,
    like_men: Ints,
    symmetric: bool,
    canonical: Words,
    targets: Words,
    value: Codes,
    depth: Plies,
    start: int,
    stop: int,
) -> None:
    """Copy values and depths from the canonical slots to the other slots of the set ``targets``.

    Only the words ``start`` to ``stop`` - 1 are filled. ``canonical`` and ``targets`` are uint64 (words,);
    ``value`` and ``depth`` have shape (phase size,).
    """
    squares = np.empty(frame.scalars + 1, np.int64)
    for word in range(start, stop):
        bits = targets[word] & ~canonical[word]
        if bits:
            _copy_to_word(frame, like_men, symmetric, word, bits, value, depth, squares)
