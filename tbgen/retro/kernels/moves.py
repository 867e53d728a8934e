"""Quiet moves on whole words: where positions may have come from, where they lead, and how many they are.

Moves are counted with bit-sliced counters. A counter is ``SLICES`` words: slice ``i`` holds bit ``i`` of the
rank of each of the word's 64 positions. A rank is twice the number of legal moves, plus one if the side to
move is not in check, so slice 0 is "not in check" and a move is added from slice 1 upwards.
"""

from typing import NamedTuple

import numpy as np

from tbgen.board.material import MAX_MEN
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.layout import TRANSPOSE
from tbgen.retro.geometry import (
    BIT,
    IMAGES,
    INVERSES,
    KING_BACKWARD,
    KING_FORWARD,
    MOST_STEPS,
    MOST_TARGETS,
    TRIANGLE_OF,
    Movement,
)
from tbgen.retro.kernels.frame import Frame, counts, decode, has_image, is_image, ordered, reach
from tbgen.retro.kernels.words import ZERO, Ints, Word, Words, bits_of, image, popcount, rotated

ALL_MOVES, CROSSING, OF_KINGS = range(3)
"""Which moves are undone: all; those by which Black's king may come to stand elsewhere in the slot, which are
his own, and those of White's that turn the board; those of the kings."""

MOST_MOVES = 2 * 16 + (MAX_MEN - 2) * MOST_TARGETS + MOST_STEPS
"""Most entries of ``all_origins``: 16 of White's king, which may turn the board, and as many of images; one
for each target of other scalars, and one for each step of the bit man."""

MOST_SCALARS = 31
"""Most scalars of a frame: those of a cell with a full board."""

_FEW_TARGETS = 6
"""Number of the bit man's targets up to which its moves are undone target by target, not step by step: that
is less work (measured)."""

_EVERYWHERE = np.zeros(1, np.uint64)
"""In place of ``live`` of moves forward, which lead to any word."""


class MovesFound(NamedTuple):
    """Room for moves of whole words: each leads from some positions of one word to one of another."""

    word: Ints
    """int64 (room,): the other word."""
    bits: Words
    """uint64 (room,): positions of the word in hand that can move there; of moves backwards, positions of the
    other word."""
    symmetry: Ints
    """int64 (room,): by which a move forward turns the board."""
    squares: Ints
    """int64 (MOST_SCALARS,): squares of the scalars of the word in hand."""


@jit
def room_for_moves(room: int) -> MovesFound:
    """Return room for so many moves of one word, or of several."""
    return MovesFound(
        np.empty(room, np.int64),
        np.empty(room, np.uint64),
        np.empty(room, np.int64),
        np.empty(MOST_SCALARS, np.int64),
    )


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


class MoveSearch(NamedTuple):
    """Which quiet moves to look for, and room for them."""

    frame: Frame
    mover: int
    """Whose moves, 0 White's or 1 Black's."""
    backward: bool
    """Whether to look for the positions that they come from."""
    live: Words
    """uint64 (words / 64): moves backwards from words without their bit here are left out."""
    found: MovesFound


@inlined
def _is_live(search: MoveSearch, word: int) -> bool:
    return search.live[word >> 6] & BIT[word & 63] != ZERO


@inlined
def _add(search: MoveSearch, word: int, bits: Word, symmetry: int, count: int, sort: bool) -> int:
    """Append the move of some positions that turns the board by a symmetry, unless it comes from a word that
    is not live; return the new count. With ``sort``, like scalars may be out of order in ``word``."""
    found = search.found
    if sort:
        word = ordered(search.frame, word)
    if search.backward:
        if not _is_live(search, word):
            return count
        bits = image(bits, symmetry)
    else:
        found.symmetry[count] = symmetry
    found.word[count], found.bits[count] = word, bits
    return count + 1


@inlined
def _moves_of_scalars(search: MoveSearch, word: int, bits: Word, which: int, count: int) -> tuple[int, Word]:
    """List the quiet moves of the mover's scalars from, or backwards to, ``bits`` of a word, illegal ones
    among them, such as leaps onto a man; return the number of entries, and the squares of scalars and pawns.
    For the rest see ``origins``."""
    frame, squares, moves = search.frame, search.found.squares, search.frame.moves
    sort = len(frame.like) > 0
    occupied, kings = decode(frame, word, squares), KING_BACKWARD if search.backward else KING_FORWARD
    for man in range(frame.scalars if which == ALL_MOVES else 2):
        if frame.movers[man] != search.mover:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        if man == 0 and frame.pawnless:
            coord = TRIANGLE_OF[square]
            for number in range(1, kings[coord, 0, 0] + 1):
                symmetry = kings[coord, number, 1]
                if which != CROSSING or symmetry != 0:
                    other = king_word(frame, word, squares, kings[coord, number, 0], symmetry)
                    count = _add(search, other, bits, symmetry, count, sort)
        elif which != CROSSING or man > 0:
            for number in range(1, moves.leap_targets[kind, square, 0] + 1):
                other = word + ((moves.leap_targets[kind, square, number] - square) << shift)
                count = _add(search, other, bits, int64(0), count, sort)
            for way in range(moves.leaps[kind], moves.ways[kind]):
                free = bits
                for step in range(1, moves.way[kind, square, way, 0] + 1):
                    target = int64(moves.way[kind, square, way, step])
                    free &= ~BIT[target]
                    if occupied & BIT[target] or free == ZERO:
                        break
                    if counts(moves, kind, way, step):
                        count = _add(search, word + ((target - square) << shift), free, int64(0), count, sort)
    return count, occupied


@inlined
def origins(search: MoveSearch, word: int, bits: Word, each_move: bool, which: int, count: int) -> int:
    """List positions from which ``bits`` of ``word`` are reached quietly, illegal ones among them; return the
    number of entries.

    They are written from place ``count`` on, at most ``MOST_MOVES``; with ``each_move`` a position stands in
    as many entries as it has moves into ``bits``, else in one or more. ``which`` says what moves are undone.
    """
    frame = search.frame
    count, occupied = _moves_of_scalars(search, word, bits, which, count)
    bit_man = frame.scalars
    if which != ALL_MOVES or frame.movers[bit_man] != search.mover or not _is_live(search, word):
        return count
    kind, moves = frame.kinds[bit_man], frame.moves
    if not each_move:
        return _add(search, word, reach(moves, kind, bits, ~occupied), int64(0), count, False)
    if popcount(bits) <= _FEW_TARGETS:
        for bit in bits_of(bits):
            count = _add(search, word, reach(moves, kind, BIT[bit], ~occupied), int64(0), count, False)
        return count
    for way in range(moves.ways[kind]):
        through = bits
        for step in range(moves.length[kind, way]):
            through = rotated(through, moves.distance[kind, way]) & moves.landing[kind, way] & ~occupied
            if through == ZERO:
                break
            if counts(moves, kind, way, step + 1):
                count = _add(search, word, through, int64(0), count, False)
    return count


@inlined
def all_origins(search: MoveSearch, word: int, bits: Word, each_move: bool, which: int, count: int) -> int:
    """``origins`` of positions and of their images, which are not solved themselves but moved to.

    Only kings move to images from words that are none; whatever ``which`` says, all such moves are undone.
    """
    frame = search.frame
    for _ in range(2 if has_image(frame, word) else 1):
        count = origins(search, word, bits, each_move, which, count)
        if has_image(frame, word):
            word = image_word(frame, word, search.found.squares)
            bits, which = image(bits, TRANSPOSE), OF_KINGS
    return count


@inlined
def image_word(frame: Frame, word: int, squares: Ints) -> int:
    """The word with the images of a word's positions, whose scalars stand on ``squares``."""
    return ordered(frame, king_word(frame, word, squares, word >> frame.shifts[0], TRANSPOSE))


@inlined
def solved_slot(frame: Frame, slot: int, squares: Ints) -> int:
    """The slot of a position or, if that is in a word of images, of what it is an image of; ``squares`` is
    scratch, int64 (scalars,)."""
    if not is_image(frame, slot >> 6):
        return slot
    decode(frame, slot >> 6, squares)
    return image_word(frame, slot >> 6, squares) << 6 | IMAGES[TRANSPOSE, slot & 63]


@inlined
def onward(frame: Frame, word: int, bits: Word, mover: int, found: MovesFound) -> int:
    """List the quiet moves of ``mover``'s scalars from ``bits`` of a word, legal or not; return how many.

    Moves of the bit man stay in the word and are not among them.
    """
    search = MoveSearch(frame, mover, False, _EVERYWHERE, found)
    return _moves_of_scalars(search, word, bits, ALL_MOVES, int64(0))[0]


@inlined
def quiet_targets(frame: Frame, word: int, bit: int, mover: int, found: MovesFound) -> int:
    """List the slots that ``mover`` reaches from a position by quiet moves, legal or not, in place of words;
    return how many."""
    count = onward(frame, word, BIT[bit], mover, found)
    for number in range(count):
        found.word[number] = found.word[number] << 6 | IMAGES[found.symmetry[number], bit]
    if frame.movers[frame.scalars] == mover:
        empty = ~decode(frame, word, found.squares)
        for target in bits_of(reach(frame.moves, frame.kinds[frame.scalars], BIT[bit], empty)):
            found.word[count] = word << 6 | target
            count += 1
    return count


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
