"""Quiet moves on whole words, backwards: where the positions of a word may have come from."""

from tbgen.accelerate import inlined
from tbgen.retro.geometry import (
    BIT,
    FIRST_RAY,
    IMAGES,
    KING,
    KING_BACKWARD,
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
from tbgen.retro.kernels.bits import ONE, ZERO, image, lowest, reach, shifted
from tbgen.retro.kernels.frame import decode

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
def _offer(word, bits, live, out_word, out_bits, count):
    """Append ``bits`` unless empty or the word is not ``live``; return the new count."""
    if bits and live[word >> 6] & BIT[word & 63]:
        out_word[count] = word
        out_bits[count] = bits
        count += 1
    return count


@inlined
def origins(fr, word, bits, mover, each_move, live, out_word, out_bits, count, squares):
    """List positions from which ``mover`` reaches ``bits`` of ``word`` quietly, illegal ones among them;
    return the number of entries.

    ``out_word`` int64 and ``out_bits`` uint64 receive words and sets of positions from place ``count`` on, at
    most ``MAX_ORIGINS``; with ``each_move`` a position stands in as many entries as it has moves into
    ``bits``, else in one or more. Words without their bit in ``live`` (uint64 (words / 64)) are left out.
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
                if live[source >> 6] & BIT[source & 63]:
                    count = _offer(source, image(bits, symmetry), live, out_word, out_bits, count)
        elif kind == KING:
            for number in range(1, KING_LEAP[square, 0] + 1):
                source = word + ((KING_LEAP[square, number] - square) << shift)
                count = _offer(source, bits, live, out_word, out_bits, count)
        elif kind == KNIGHT:
            for number in range(1, KNIGHT_LEAP[square, 0] + 1):
                source = word + ((KNIGHT_LEAP[square, number] - square) << shift)
                count = _offer(source, bits, live, out_word, out_bits, count)
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
                free = bits
                for step in range(1, RAY[square, ray, 0] + 1):
                    origin = RAY[square, ray, step]
                    free &= ~BIT[origin]
                    if occupied & BIT[origin] or free == ZERO:
                        break
                    source = word + ((origin - square) << shift)
                    count = _offer(source, free, live, out_word, out_bits, count)
    kind = fr.kinds[fr.scalars]
    if fr.colours[fr.scalars] == mover and live[word >> 6] & BIT[word & 63]:
        if not each_move:
            count = _offer(word, reach(kind, bits, ~occupied), live, out_word, out_bits, count)
        elif kind == KNIGHT:
            for number in range(8):
                step = shifted(bits, KNIGHT_SHIFT[number]) & KNIGHT_LANDING[number]
                count = _offer(word, step, live, out_word, out_bits, count)
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind] if kind != KING else 8):
                step = bits
                for _ in range(7 if kind != KING else 1):
                    step = shifted(step, RAY_SHIFT[ray]) & RAY_LANDING[ray] & ~occupied
                    if step == ZERO:
                        break
                    count = _offer(word, step, live, out_word, out_bits, count)
    return count


@inlined
def quiet_targets(fr, word, bit, mover, out, squares):
    """List the slots that ``mover`` reaches from a position by quiet moves, legal or not; return how many.

    ``out`` int64 (MAX_ORIGINS,) receives the slots, ``squares`` is scratch, int64 (scalars,).
    """
    count = 0
    empty = ~decode(fr, word, squares)
    for man in range(fr.scalars):
        if fr.colours[man] != mover:
            continue
        square, kind, shift = squares[man], fr.kinds[man], fr.shifts[man]
        if man == 0 and fr.pawnless:
            coord = TRIANGLE_OF[square]
            for number in range(1, KING_FORWARD[coord, 0, 0] + 1):
                symmetry = KING_FORWARD[coord, number, 1]
                target = king_word(fr, squares, KING_FORWARD[coord, number, 0], symmetry)
                out[count] = target << 6 | IMAGES[symmetry, bit]
                count += 1
        elif kind in (KING, KNIGHT):
            leaps = KING_LEAP if kind == KING else KNIGHT_LEAP
            for number in range(1, leaps[square, 0] + 1):
                out[count] = (word + ((leaps[square, number] - square) << shift)) << 6 | bit
                count += 1
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
                for step in range(1, RAY[square, ray, 0] + 1):
                    target = RAY[square, ray, step]
                    if (empty & ~BIT[bit]) & BIT[target] == ZERO:
                        break
                    out[count] = (word + ((target - square) << shift)) << 6 | bit
                    count += 1
    if fr.colours[fr.scalars] == mover:
        targets = reach(fr.kinds[fr.scalars], BIT[bit], empty)
        while targets:
            out[count] = word << 6 | lowest(targets)
            targets &= targets - ONE
            count += 1
    return count
