"""Listing predecessors and successors by quiet moves, and counting quiet moves, word by word.

Moves are counted with bit-sliced counters of ``SLICES`` words: slice ``i`` contains bit ``i`` of the rank of
each of the 64 positions of the word. A rank is twice the number of legal moves, plus one if the side to move
is not in check. So slice 0 is "not in check", and a move is added from slice 1 upwards.
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
    MAX_STEPS,
    MAX_TARGETS,
    TRIANGLE_OF,
    Movement,
)
from tbgen.retro.kernels.frame import Frame, decode, has_image, is_image, is_separate_move, ordered, reach
from tbgen.retro.kernels.words import ZERO, Ints, Word, Words, bits_of, image, popcount, rotated

ALL_MOVES, CROSSING, OF_KINGS = range(3)
"""Selections of moves to undo. ``CROSSING`` are the moves that may change the square of Black's king in the
word number: its own moves, and moves of White's king out of the triangle."""

MAX_WORD_MOVES = 2 * 16 + (MAX_MEN - 2) * MAX_TARGETS + MAX_STEPS
"""Greatest number of entries of ``all_predecessors``: 16 for White's king and 16 for images; one for each
target of other scalars, and one for each step of the bit man."""

MAX_SCALARS = 31
"""Greatest number of scalars of a frame: a cell with a full board."""

_MAX_TARGETS_ONE_BY_ONE = 6
"""Number of positions up to which moves of the bit man are undone position by position, which is then faster
than step by step (measured)."""

_UNUSED_LIVE = np.zeros(1, np.uint64)
"""Placeholder for ``live`` in searches for successors, which may be in any word."""


class MoveBuffer(NamedTuple):
    """Buffer for quiet moves between the current word and other words, one entry for each move."""

    word: Ints
    """int64 (capacity,): the other word."""
    bits: Words
    """uint64 (capacity,): positions of the current word that have the move; for predecessors, positions of
    the other word."""
    symmetry: Ints
    """int64 (capacity,): symmetry that a move to a successor applies; unused for predecessors."""
    squares: Ints
    """int64 (MAX_SCALARS,): squares of the scalars of the current word."""


@jit
def move_buffer(capacity: int) -> MoveBuffer:
    """Return an uninitialized buffer for moves of one or more words."""
    return MoveBuffer(
        np.empty(capacity, np.int64),
        np.empty(capacity, np.uint64),
        np.empty(capacity, np.int64),
        np.empty(MAX_SCALARS, np.int64),
    )


@inlined
def king_word(frame: Frame, word: int, squares: Ints, coord: int, symmetry: int) -> int:
    """Number of the word with White's king at triangle coordinate ``coord`` and the other scalars of ``word``
    mapped by the symmetry; these stand on ``squares``."""
    shift = frame.shifts[0]
    if symmetry == 0:
        return (word & ((1 << shift) - 1)) | coord << shift
    word = coord << shift
    for man in range(1, frame.scalars):
        word |= IMAGES[symmetry, squares[man]] << frame.shifts[man]
    return word


class MoveSearch(NamedTuple):
    """The quiet moves to find, and the buffer for them."""

    frame: Frame
    mover: int
    """The side whose moves are found, 0 White or 1 Black."""
    backward: bool
    """Whether to find predecessors rather than successors."""
    live: Words
    """uint64 (words / 64,): set of the words whose positions are listed as predecessors."""
    buffer: MoveBuffer


@inlined
def _is_live(search: MoveSearch, word: int) -> bool:
    return search.live[word >> 6] & BIT[word & 63] != ZERO


@inlined
def _add(search: MoveSearch, word: int, bits: Word, symmetry: int, count: int, sort: bool) -> int:
    """Append a move of some positions that applies a symmetry; return the new count.

    Predecessors in words that are not live are omitted. ``sort`` says that like scalars of ``word`` may need
    sorting.
    """
    buffer = search.buffer
    if sort:
        word = ordered(search.frame, word)
    if search.backward:
        if not _is_live(search, word):
            return count
        bits = image(bits, symmetry)
    else:
        buffer.symmetry[count] = symmetry
    buffer.word[count], buffer.bits[count] = word, bits
    return count + 1


@inlined
def _list_scalar_moves(search: MoveSearch, word: int, bits: Word, which: int, count: int) -> tuple[int, Word]:
    """List the quiet moves of the mover's scalars from the positions ``bits`` of a word, or to them if
    predecessors are wanted; return the number of entries, and the squares of scalars and pawns.

    The list may contain illegal moves, such as leaps onto a man. Other arguments are as for ``predecessors``.
    """
    frame, squares, moves = search.frame, search.buffer.squares, search.frame.moves
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
                    if is_separate_move(moves, kind, way, step):
                        count = _add(search, word + ((target - square) << shift), free, int64(0), count, sort)
    return count, occupied


@inlined
def predecessors(search: MoveSearch, word: int, bits: Word, each_move: bool, which: int, count: int) -> int:
    """List predecessors by quiet moves of the positions ``bits`` of ``word``; return the number of entries.

    The list may contain illegal positions. At most ``MAX_WORD_MOVES`` entries are written from index
    ``count`` on. With ``each_move`` a position occurs in one entry for each of its moves into ``bits``,
    otherwise in at least one entry. ``which`` selects the moves to undo.
    """
    frame = search.frame
    count, occupied = _list_scalar_moves(search, word, bits, which, count)
    bit_man = frame.scalars
    if which != ALL_MOVES or frame.movers[bit_man] != search.mover or not _is_live(search, word):
        return count
    kind, moves = frame.kinds[bit_man], frame.moves
    if not each_move:
        return _add(search, word, reach(moves, kind, bits, ~occupied), int64(0), count, False)
    if popcount(bits) <= _MAX_TARGETS_ONE_BY_ONE:
        for bit in bits_of(bits):
            count = _add(search, word, reach(moves, kind, BIT[bit], ~occupied), int64(0), count, False)
        return count
    for way in range(moves.ways[kind]):
        through = bits
        for step in range(moves.length[kind, way]):
            through = rotated(through, moves.distance[kind, way]) & moves.landing[kind, way] & ~occupied
            if through == ZERO:
                break
            if is_separate_move(moves, kind, way, step + 1):
                count = _add(search, word, through, int64(0), count, False)
    return count


@inlined
def all_predecessors(
    search: MoveSearch, word: int, bits: Word, each_move: bool, which: int, count: int
) -> int:
    """List predecessors of positions and of their images; the arguments are as for ``predecessors``.

    Images are not solved, but moves may lead to them. From words that are no images, only moves of kings lead
    to images; all such moves are undone, regardless of ``which``.
    """
    frame = search.frame
    for _ in range(2 if has_image(frame, word) else 1):
        count = predecessors(search, word, bits, each_move, which, count)
        if has_image(frame, word):
            word = image_word(frame, word, search.buffer.squares)
            bits, which = image(bits, TRANSPOSE), OF_KINGS
    return count


@inlined
def image_word(frame: Frame, word: int, squares: Ints) -> int:
    """The word with the images of the positions of ``word``, whose scalars stand on ``squares``."""
    return ordered(frame, king_word(frame, word, squares, word >> frame.shifts[0], TRANSPOSE))


@inlined
def solved_slot(frame: Frame, slot: int, squares: Ints) -> int:
    """The slot of a position, or of its image if its own word is not solved; ``squares``, int64 (scalars,),
    is scratch memory."""
    if not is_image(frame, slot >> 6):
        return slot
    decode(frame, slot >> 6, squares)
    return image_word(frame, slot >> 6, squares) << 6 | IMAGES[TRANSPOSE, slot & 63]


@inlined
def scalar_moves(frame: Frame, word: int, bits: Word, mover: int, buffer: MoveBuffer) -> int:
    """List the quiet moves of ``mover``'s scalars from the positions ``bits`` of a word, legal or not; return
    their number.

    Moves of the bit man remain in the word and are not listed.
    """
    search = MoveSearch(frame, mover, False, _UNUSED_LIVE, buffer)
    return _list_scalar_moves(search, word, bits, ALL_MOVES, int64(0))[0]


@inlined
def quiet_targets(frame: Frame, word: int, bit: int, mover: int, buffer: MoveBuffer) -> int:
    """List the slots that ``mover`` reaches from one position by quiet moves, legal or not, in place of the
    words; return their number."""
    count = scalar_moves(frame, word, BIT[bit], mover, buffer)
    for number in range(count):
        buffer.word[number] = buffer.word[number] << 6 | IMAGES[buffer.symmetry[number], bit]
    if frame.movers[frame.scalars] == mover:
        empty = ~decode(frame, word, buffer.squares)
        for target in bits_of(reach(frame.moves, frame.kinds[frame.scalars], BIT[bit], empty)):
            buffer.word[count] = word << 6 | target
            count += 1
    return count


SLICES = 8
"""Number of words of a bit-sliced counter."""
ONE_MOVE = 1
"""Index of the slice to which one move is added."""


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
    """The rank of one position of a word."""
    rank = 0
    for number in range(SLICES):
        if slices[number] & BIT[bit]:
            rank |= 1 << number
    return rank


@inlined
def of_rank(slices: Words, rank: int) -> Word:
    """The positions of a word with this rank, legal or not."""
    result = ~ZERO
    for number in range(SLICES):
        result &= slices[number] if rank >> number & 1 else ~slices[number]
    return result


@inlined
def of_rank_at_least(slices: Words, rank: int) -> Word:
    """The positions of a word with at least this rank, legal or not."""
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
    """Count the moves of the bit man from the squares ``legal`` to the squares ``targets``, step by step."""
    for way in range(moves.ways[kind]):
        origins = targets
        for step in range(moves.length[kind, way]):
            origins = rotated(origins, moves.distance[kind, way]) & moves.landing[kind, way] & empty
            if origins == ZERO:
                break
            if is_separate_move(moves, kind, way, step + 1):
                add_moves(slices, ONE_MOVE, origins & legal)


@kernel
def count_quiet(
    frame: Frame, word: int, mover: int, legal: Word, reached: Words, buffer: MoveBuffer, slices: Words
) -> None:
    """Add ``mover``'s quiet moves from the legal positions ``legal`` of ``word`` to ``slices``.

    ``reached``, uint64 (words,), are all legal positions with the other side to move: a quiet move is legal
    if it leads to one of them. ``buffer`` is scratch memory.
    """
    bit_man = frame.scalars
    if frame.movers[bit_man] == mover:
        empty = ~decode(frame, word, buffer.squares)
        _count_bit_man(frame.moves, frame.kinds[bit_man], legal, reached[word], empty, slices)
    for number in range(scalar_moves(frame, word, legal, mover, buffer)):
        there = image(reached[buffer.word[number]], INVERSES[buffer.symmetry[number]])
        add_moves(slices, ONE_MOVE, buffer.bits[number] & there)
