"""Quiet moves on whole words: where the positions of a word may have come from, and where they lead."""

from typing import NamedTuple

from tbgen.compiler.jit import inlined
from tbgen.index.symmetry import TRANSPOSE
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
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Ints, Word, Words, image, lowest, reach, shifted
from tbgen.retro.kernels.frame import Frame, decode, has_image, is_image

ALL_MOVES, CROSSING, OF_KINGS = range(3)
"""Which moves are undone: all; those by which Black's king may come to stand elsewhere in the slot, which are
his own, and those of White's that turn the board; those of the kings."""

MAX_ORIGINS = 208
"""Most entries of ``origins``, those of images too: twice 16 for White's king and 56 for each other man, at
most."""


class Origins(NamedTuple):
    """Room for what ``origins`` finds."""

    word: Ints
    """int64 (room,): words of positions that the mover may have come from."""
    bits: Words
    """uint64 (room,): sets of positions in these words."""
    squares: Ints
    """int64 (8,): scratch for the squares of the word in hand."""


@inlined
def king_word(frame: Frame, word: int, squares: Ints, coord: int, symmetry: int) -> int:
    """Number of the word with White's king at triangle coordinate ``coord``, the other scalars of ``word``,
    which stand on ``squares``, carried along by the symmetry."""
    shift = frame.shifts[0]
    if symmetry == 0:
        return (word & ((1 << shift) - 1)) | coord << shift
    word = coord << shift
    for man in range(1, frame.scalars):
        word |= IMAGES[symmetry, squares[man]] << frame.shifts[man]
    return word


@inlined
def _offer(found: Origins, word: int, bits: Word, live: Words, count: int) -> int:
    """Append ``bits`` unless empty or the word is not ``live``; return the new count."""
    if bits and live[word >> 6] & BIT[word & 63]:
        found.word[count] = word
        found.bits[count] = bits
        count += 1
    return count


@inlined
def origins(
    frame: Frame,
    word: int,
    bits: Word,
    mover: int,
    each_move: bool,
    which: int,
    live: Words,
    found: Origins,
    count: int,
) -> int:
    """List positions from which ``mover`` reaches ``bits`` of ``word`` quietly, illegal ones among them;
    return the number of entries.

    They are written to ``found`` from place ``count`` on, at most ``MAX_ORIGINS``; with ``each_move`` a
    position stands in as many entries as it has moves into ``bits``, else in one or more. ``which`` says what
    moves are undone. Words without their bit in ``live`` (uint64 (words / 64)) are left out.
    """
    squares = found.squares
    occupied = decode(frame, word, squares)
    for man in range(frame.scalars if which == ALL_MOVES else 2):
        if frame.movers[man] != mover:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        if man == 0 and frame.pawnless:
            coord = TRIANGLE_OF[square]
            for number in range(1, KING_BACKWARD[coord, 0, 0] + 1):
                symmetry = KING_BACKWARD[coord, number, 1]
                if which == CROSSING and symmetry == 0:
                    continue
                source = king_word(frame, word, squares, KING_BACKWARD[coord, number, 0], symmetry)
                if live[source >> 6] & BIT[source & 63]:
                    count = _offer(found, source, image(bits, symmetry), live, count)
        elif kind == KING:
            if which == CROSSING and man == 0:
                continue
            for number in range(1, KING_LEAP[square, 0] + 1):
                source = word + ((KING_LEAP[square, number] - square) << shift)
                count = _offer(found, source, bits, live, count)
        elif kind == KNIGHT:
            for number in range(1, KNIGHT_LEAP[square, 0] + 1):
                source = word + ((KNIGHT_LEAP[square, number] - square) << shift)
                count = _offer(found, source, bits, live, count)
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
                free = bits
                for step in range(1, RAY[square, ray, 0] + 1):
                    origin = RAY[square, ray, step]
                    free &= ~BIT[origin]
                    if occupied & BIT[origin] or free == ZERO:
                        break
                    source = word + ((origin - square) << shift)
                    count = _offer(found, source, free, live, count)
    kind = frame.kinds[frame.scalars]
    if which == ALL_MOVES and frame.movers[frame.scalars] == mover and live[word >> 6] & BIT[word & 63]:
        if not each_move:
            count = _offer(found, word, reach(kind, bits, ~occupied), live, count)
        elif kind == KNIGHT:
            for number in range(8):
                step = shifted(bits, KNIGHT_SHIFT[number]) & KNIGHT_LANDING[number]
                count = _offer(found, word, step, live, count)
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind] if kind != KING else 8):
                through = bits
                for _ in range(7 if kind != KING else 1):
                    through = shifted(through, RAY_SHIFT[ray]) & RAY_LANDING[ray] & ~occupied
                    if through == ZERO:
                        break
                    count = _offer(found, word, through, live, count)
    return count


@inlined
def all_origins(
    frame: Frame,
    word: int,
    bits: Word,
    mover: int,
    each_move: bool,
    which: int,
    live: Words,
    found: Origins,
    count: int,
) -> int:
    """``origins`` of positions and of their images, which are not solved themselves but moved to.

    Only kings move to images from words that are none; whatever ``which`` says, all such moves are undone.
    """
    for _ in range(2 if has_image(frame, word) else 1):
        count = origins(frame, word, bits, mover, each_move, which, live, found, count)
        if has_image(frame, word):
            word = image_word(frame, word, found.squares)
            bits, which = image(bits, TRANSPOSE), OF_KINGS
    return count


@inlined
def image_word(frame: Frame, word: int, squares: Ints) -> int:
    """The word with the images of a word's positions, whose scalars stand on ``squares``."""
    return king_word(frame, word, squares, word >> frame.shifts[0], TRANSPOSE)


@inlined
def solved_slot(frame: Frame, slot: int, squares: Ints) -> int:
    """The slot of a position or, if that is in a word of images, of what it is an image of; ``squares`` is
    scratch, int64 (scalars,)."""
    if not is_image(frame, slot >> 6):
        return slot
    decode(frame, slot >> 6, squares)
    return image_word(frame, slot >> 6, squares) << 6 | IMAGES[TRANSPOSE, slot & 63]


@inlined
def quiet_targets(frame: Frame, word: int, bit: int, mover: int, out: Ints, squares: Ints) -> int:
    """List the slots that ``mover`` reaches from a position by quiet moves, legal or not; return how many.

    ``out`` int64 (MAX_ORIGINS,) receives the slots, ``squares`` is scratch, int64 (scalars,).
    """
    count = 0
    empty = ~decode(frame, word, squares)
    for man in range(frame.scalars):
        if frame.movers[man] != mover:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        if man == 0 and frame.pawnless:
            coord = TRIANGLE_OF[square]
            for number in range(1, KING_FORWARD[coord, 0, 0] + 1):
                symmetry = KING_FORWARD[coord, number, 1]
                target = king_word(frame, word, squares, KING_FORWARD[coord, number, 0], symmetry)
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
    if frame.movers[frame.scalars] == mover:
        targets = reach(frame.kinds[frame.scalars], BIT[bit], empty)
        while targets:
            out[count] = word << 6 | lowest(targets)
            targets &= targets - ONE
            count += 1
    return count


class Onward(NamedTuple):
    """Room for what ``onward`` finds."""

    word: Ints
    """int64 (MAX_ORIGINS,): words that a move leads to."""
    symmetry: Ints
    """int64 (MAX_ORIGINS,): by which the bits are carried along."""
    free: Words
    """uint64 (MAX_ORIGINS,): positions of the word left in which nothing stands in the way."""
    squares: Ints
    """int64 (8,): squares of the scalars of the word left."""


@inlined
def onward(frame: Frame, word: int, mover: int, found: Onward) -> int:
    """List the words that ``mover``'s scalars reach quietly, legally or not; return how many.

    Moves of the bit man stay in the word and are not among them.
    """
    squares, count = found.squares, 0
    occupied = decode(frame, word, squares)
    for man in range(frame.scalars):
        if frame.movers[man] != mover:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        if man == 0 and frame.pawnless:
            coord = TRIANGLE_OF[square]
            for number in range(1, KING_FORWARD[coord, 0, 0] + 1):
                symmetry = KING_FORWARD[coord, number, 1]
                found.word[count] = king_word(frame, word, squares, KING_FORWARD[coord, number, 0], symmetry)
                found.symmetry[count], found.free[count] = symmetry, ALL
                count += 1
        elif kind in (KING, KNIGHT):
            leaps = KING_LEAP if kind == KING else KNIGHT_LEAP
            for number in range(1, leaps[square, 0] + 1):
                found.word[count] = word + ((leaps[square, number] - square) << shift)
                found.symmetry[count], found.free[count] = 0, ALL
                count += 1
        else:
            for ray in range(FIRST_RAY[kind], LAST_RAY[kind]):
                free = ALL
                for step in range(1, RAY[square, ray, 0] + 1):
                    target = RAY[square, ray, step]
                    if occupied & BIT[target]:
                        break
                    free &= ~BIT[target]
                    found.word[count] = word + ((target - square) << shift)
                    found.symmetry[count], found.free[count] = 0, free
                    count += 1
    return count
