"""Quiet moves on whole words, backwards: where the positions of a word may have come from."""

from tbgen.accelerate import inlined
from tbgen.retro.bits import ZERO, image, reach, shifted
from tbgen.retro.frame import decode
from tbgen.retro.geometry import (
    BIT,
    FIRST_RAY,
    IMAGES,
    KING,
    KING_BACKWARD,
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

MAX_ORIGINS = 192
"""Most entries of ``origins``: 16 for White's king and 56 for each other man, at most."""


@inlined
def king_word(fr, squares, coord, symmetry):
    """Number of the word with White's king at triangle coordinate ``coord``, the other scalars carried
    along."""
    word = coord << fr.shifts[0]
    for man in range(1, fr.scalars):
        word |= IMAGES[symmetry, squares[man]] << fr.shifts[man]
    return word


@inlined
def _offer(word, bits, allowed, out_word, out_bits, count):
    """Append ``bits & allowed[word]`` unless empty; return the new count."""
    bits &= allowed[word]
    if bits:
        out_word[count] = word
        out_bits[count] = bits
        count += 1
    return count


@inlined
def origins(fr, word, bits, mover, each_move, allowed, out_word, out_bits, squares):
    """List the positions of ``allowed`` (uint64 (words,)) from which ``mover`` reaches ``bits`` of ``word``
    quietly; return the number of entries.

    ``out_word`` int64 and ``out_bits`` uint64, both (MAX_ORIGINS,), receive words and sets of positions; with
    ``each_move`` a position stands in as many entries as it has moves into ``bits``, else in one or more.
    ``squares`` is scratch, int64 (scalars,).
    """
    count = 0
    occupied = decode(fr, word, squares)
    for man in range(fr.scalars):
        if fr.colours[man] != mover:
            continue
        square, kind, shift = squares[man], fr.kinds[man], fr.shifts[man]
        if man == 0 and fr.pawnless:
            coord = TRIANGLE_OF[square]
            for number in range(1, KING_BACKWARD[coord, 0, 0] + 1):
                symmetry = KING_BACKWARD[coord, number, 1]
                source = king_word(fr, squares, KING_BACKWARD[coord, number, 0], symmetry)
                if allowed[source]:
                    count = _offer(source, image(bits, symmetry), allowed, out_word, out_bits, count)
        elif kind == KING:
            for number in range(1, KING_LEAP[square, 0] + 1):
                source = word + ((KING_LEAP[square, number] - square) << shift)
                count = _offer(source, bits, allowed, out_word, out_bits, count)
        elif kind == KNIGHT:
            for number in range(1, KNIGHT_LEAP[square, 0] + 1):
                source = word + ((KNIGHT_LEAP[square, number] - square) << shift)
                count = _offer(source, bits, allowed, out_word, out_bits, count)
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
                free = bits
                for step in range(1, RAY[square, ray, 0] + 1):
                    origin = RAY[square, ray, step]
                    free &= ~BIT[origin]
                    if occupied & BIT[origin] or free == ZERO:
                        break
                    source = word + ((origin - square) << shift)
                    count = _offer(source, free, allowed, out_word, out_bits, count)
    kind = fr.kinds[fr.scalars]
    if fr.colours[fr.scalars] == mover and allowed[word]:
        if not each_move:
            count = _offer(word, reach(kind, bits, ~occupied), allowed, out_word, out_bits, count)
        elif kind == KNIGHT:
            for number in range(8):
                step = shifted(bits, KNIGHT_SHIFT[number]) & KNIGHT_LANDING[number]
                count = _offer(word, step, allowed, out_word, out_bits, count)
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind] if kind != KING else 8):
                step = bits
                for _ in range(7 if kind != KING else 1):
                    step = shifted(step, RAY_SHIFT[ray]) & RAY_LANDING[ray] & ~occupied
                    if step == ZERO:
                        break
                    count = _offer(word, step, allowed, out_word, out_bits, count)
    return count
