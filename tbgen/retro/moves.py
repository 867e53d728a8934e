"""Quiet moves on whole words: predecessors of a set, escapes into a set, and counting.

Sets are uint64 arrays with one word per word number, for one side to move.
"""

from tbgen.accelerate import jit
from tbgen.retro.bits import ZERO, image, reach
from tbgen.retro.frame import decode
from tbgen.retro.geometry import (
    BIT,
    FIRST_RAY,
    IMAGES,
    INVERSES,
    KING,
    KING_BACKWARD,
    KING_FORWARD,
    KING_LEAP,
    KNIGHT,
    KNIGHT_LEAP,
    LAST_RAY,
    RAY,
    TRIANGLE_OF,
)


@jit
def king_word(fr, squares, coord, symmetry):
    """Number of the word with White's king at triangle coordinate ``coord``, the other scalars carried
    along."""
    word = coord << fr.shifts[0]
    for man in range(1, fr.scalars):
        word |= IMAGES[symmetry, squares[man]] << fr.shifts[man]
    return word


@jit
def _offer(word, bits, allowed, found, touched, count):
    """Add ``bits & allowed[word]`` to ``found[word]``; list the word in ``touched`` when it was empty."""
    bits &= allowed[word]
    if bits:
        if found[word] == ZERO:
            touched[count] = word
            count += 1
        found[word] |= bits
    return count


@jit
def predecessors(fr, word, bits, mover, allowed, found, touched, count, squares):
    """Add to ``found`` the positions of ``allowed`` from which ``mover`` reaches ``bits`` of ``word``
    quietly.

    ``touched`` (int32) lists the words of ``found`` that are not empty, ``count`` of them; returns the count.
    ``squares`` is scratch, int64 (scalars,).
    """
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
                    count = _offer(source, image(bits, symmetry), allowed, found, touched, count)
        elif kind == KING:
            for number in range(1, KING_LEAP[square, 0] + 1):
                source = word + ((KING_LEAP[square, number] - square) << shift)
                count = _offer(source, bits, allowed, found, touched, count)
        elif kind == KNIGHT:
            for number in range(1, KNIGHT_LEAP[square, 0] + 1):
                source = word + ((KNIGHT_LEAP[square, number] - square) << shift)
                count = _offer(source, bits, allowed, found, touched, count)
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
                free = bits
                for step in range(1, RAY[square, ray, 0] + 1):
                    origin = RAY[square, ray, step]
                    free &= ~BIT[origin]
                    if occupied & BIT[origin] or free == ZERO:
                        break
                    source = word + ((origin - square) << shift)
                    count = _offer(source, free, allowed, found, touched, count)
    if fr.colours[fr.scalars] == mover and allowed[word]:
        origins = reach(fr.kinds[fr.scalars], bits, ~occupied)
        count = _offer(word, origins, allowed, found, touched, count)
    return count


@jit
def without_escape(fr, word, bits, mover, refuge, squares):
    """Those of ``bits`` from which no quiet move of ``mover`` reaches the set ``refuge``."""
    occupied = decode(fr, word, squares)
    bit_man = fr.scalars
    if fr.colours[bit_man] == mover and refuge[word]:
        bits &= ~reach(fr.kinds[bit_man], refuge[word], ~occupied)
    for man in range(fr.scalars):
        if bits == ZERO:
            return bits
        if fr.colours[man] != mover:
            continue
        square, kind, shift = squares[man], fr.kinds[man], fr.shifts[man]
        if man == 0 and fr.pawnless:
            coord = TRIANGLE_OF[square]
            for number in range(1, KING_FORWARD[coord, 0, 0] + 1):
                symmetry = KING_FORWARD[coord, number, 1]
                target = king_word(fr, squares, KING_FORWARD[coord, number, 0], symmetry)
                if refuge[target]:
                    bits &= ~image(refuge[target], INVERSES[symmetry])
        elif kind == KING:
            for number in range(1, KING_LEAP[square, 0] + 1):
                bits &= ~refuge[word + ((KING_LEAP[square, number] - square) << shift)]
        elif kind == KNIGHT:
            for number in range(1, KNIGHT_LEAP[square, 0] + 1):
                bits &= ~refuge[word + ((KNIGHT_LEAP[square, number] - square) << shift)]
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
                free = bits
                for step in range(1, RAY[square, ray, 0] + 1):
                    target = RAY[square, ray, step]
                    free &= ~BIT[target]
                    if occupied & BIT[target] or free == ZERO:
                        break
                    bits &= ~(free & refuge[word + ((target - square) << shift)])
    return bits
