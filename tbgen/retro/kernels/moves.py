"""Listing predecessors and successors by quiet moves, and counting quiet moves, word by word.

Moves are counted with bit-sliced counters of ``SLICES`` words. Slice ``i`` contains bit ``i`` of the rank of
each of the 64 positions of the word. A rank is twice the number of legal moves, plus one unless the side to
move is in check. Slice 0 is therefore "not in check", and a move is added from slice 1 upwards.

Scalars, bit man, word numbers and images are explained in ``tbgen.retro.kernels.frame``.
"""

from typing import NamedTuple

import numpy as np

from tbgen.board.kinds import KING
from tbgen.board.material import MAX_MEN
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.layout import TRANSPOSE
from tbgen.retro.geometry import (
    BIT,
    IMAGES,
    INVERSES,
    KING_ORIGINS,
    KING_TARGETS,
    MAX_STEPS,
    MAX_TARGETS,
    TRIANGLE_OF,
    Movement,
)
from tbgen.retro.kernels.frame import (
    IMAGE_PAIR,
    Frame,
    decode,
    has_image,
    is_separate_move,
    ordered_word,
    reach,
)
from tbgen.retro.kernels.words import ZERO, Ints, Word, Words, bits_of, image, popcount, rotated

ALL_MOVES, CROSSING_MOVES = range(2)
"""Groups of moves to undo. ``CROSSING_MOVES`` may change the square of Black's king in the word number: these
are the moves of Black's king, and the moves of White's king out of the triangle."""

MAX_WORD_MOVES = 2 * 16 + (MAX_MEN - 2) * MAX_TARGETS + MAX_STEPS
"""Greatest number of entries of ``list_all_predecessors``: 16 for White's king, 16 for images, one for each
target of the other scalars, and one for each step of the bit man."""

MAX_SCALARS = 31
"""Greatest number of scalars of a frame: that of a cell with 32 men, none of them pawns."""

_MAX_POSITIONS_ONE_BY_ONE = 6
"""Greatest number of positions for which moves of the bit man are undone position by position. For more
positions, undoing them step by step is faster (measured)."""

_UNUSED_LIVE = np.zeros(1, np.uint64)
"""Placeholder for ``MoveSearch.live_words`` in searches for successors, which ignore it."""


class MoveBuffer(NamedTuple):
    """A buffer for quiet moves between the current word and other words, with one entry for each move."""

    word: Ints
    """int64 (capacity,): the other word."""
    bits: Words
    """uint64 (capacity,): for successors, the positions of the current word that have the move; for
    predecessors, the positions of the other word."""
    symmetry: Ints
    """int64 (capacity,): symmetry that maps the result of a move to its slot; unused for predecessors."""
    squares: Ints
    """int64 (MAX_SCALARS,): squares of the scalars of the current word."""


@jit
def move_buffer(capacity: int) -> MoveBuffer:
    """Return an uninitialized buffer for ``capacity`` moves."""
    return MoveBuffer(
        np.empty(capacity, np.int64),
        np.empty(capacity, np.uint64),
        np.empty(capacity, np.int64),
        np.empty(MAX_SCALARS, np.int64),
    )


class MoveSearch(NamedTuple):
    """A search for quiet moves."""

    frame: Frame
    mover: int
    """The side whose moves are found, 0 White or 1 Black."""
    backward: bool
    """Whether to find predecessors rather than successors."""
    live_words: Words
    """uint64 (words / 64,): set of the words whose positions are listed as predecessors."""
    buffer: MoveBuffer
    """Output: the moves found."""


@inlined
def _is_live(search: MoveSearch, word: int) -> bool:
    return search.live_words[word >> 6] & BIT[word & 63] != ZERO


@inlined
def _add(search: MoveSearch, word: int, bits: Word, symmetry: int, count: int, sort: bool) -> int:
    """Append a move of the positions ``bits`` that applies a symmetry; return the new count.

    Predecessors in words that are not live are omitted. ``sort`` is whether like scalars of ``word`` may have
    to be sorted.
    """
    buffer = search.buffer
    if sort and len(search.frame.like_scalars):
        word = ordered_word(search.frame, word)
    if search.backward:
        if not _is_live(search, word):
            return count
        bits = image(bits, symmetry)
    else:
        buffer.symmetry[count] = symmetry
    buffer.word[count], buffer.bits[count] = word, bits
    return count + 1


@inlined
def _add_king_move(
    search: MoveSearch, rest: int, coord: int, black: int, symmetry: int, bits: Word, count: int
) -> int:
    """Append a move of a king; return the new count.

    After the move, White's king is at the triangle coordinate ``coord``, and Black's king on the image of
    the square ``black`` under ``symmetry``. The symmetry maps the other scalars, too. Before, their squares
    are ``buffer.squares``, which form the part ``rest`` of the word number. A move to a pair without legal
    positions is omitted. A move to the image of a pair leads to that pair instead. A predecessor in such an
    image is omitted.
    """
    frame, squares = search.frame, search.buffer.squares
    pair = frame.pair_numbers[coord, IMAGES[symmetry, black]]
    if pair == IMAGE_PAIR and not search.backward:
        symmetry ^= TRANSPOSE
        pair = frame.pair_numbers[coord, IMAGES[symmetry, black]]
    if pair < 0:
        return count
    word = pair << frame.shifts[0]
    if symmetry:
        for man in range(2, frame.scalars):
            word |= IMAGES[symmetry, squares[man]] << frame.shifts[man]
    else:
        word |= rest
    return _add(search, word, bits, symmetry, count, True)


@inlined
def _list_king_moves(search: MoveSearch, rest: int, bits: Word, group: int, count: int) -> int:
    """List the moves of the mover's king in a frame without pawns, if it is a scalar; return the new count.

    The arguments are as for ``_add_king_move`` and ``list_predecessors``.
    """
    frame, squares, moves = search.frame, search.buffer.squares, search.frame.moves
    coord, black = TRIANGLE_OF[squares[0]], squares[1] if frame.scalars > 1 else int64(0)
    if search.mover == 0:
        kings = KING_ORIGINS if search.backward else KING_TARGETS
        for number in range(1, kings[coord, 0, 0] + 1):
            symmetry = kings[coord, number, 1]
            if group != CROSSING_MOVES or symmetry != 0:
                count = _add_king_move(search, rest, kings[coord, number, 0], black, symmetry, bits, count)
    elif frame.scalars > 1:
        for number in range(1, moves.leap_targets[KING, black, 0] + 1):
            target = moves.leap_targets[KING, black, number]
            count = _add_king_move(search, rest, coord, target, int64(0), bits, count)
    return count


@inlined
def _list_scalar_moves(search: MoveSearch, word: int, bits: Word, group: int, count: int) -> tuple[int, Word]:
    """List the quiet moves of the mover's scalars from, or backwards to, the positions ``bits`` of a word.

    Return the number of entries, and the squares of scalars and pawns. The list may contain illegal moves,
    such as leaps onto a man. ``group`` and ``count`` are as for ``list_predecessors``.
    """
    frame, squares, moves = search.frame, search.buffer.squares, search.frame.moves
    occupied, first = decode(frame, word, squares), 0
    if frame.pawnless:
        rest, first = word & ((1 << frame.shifts[0]) - 1), 2
        count = _list_king_moves(search, rest, bits, group, count)
    for man in range(first, frame.scalars if group == ALL_MOVES else 2):
        if frame.mover_colours[man] != search.mover:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        for number in range(1, moves.leap_targets[kind, square, 0] + 1):
            other = word + ((moves.leap_targets[kind, square, number] - square) << shift)
            count = _add(search, other, bits, int64(0), count, True)
        for way in range(moves.leap_count[kind], moves.way_count[kind]):
            free = bits
            for step in range(1, moves.way_squares[kind, square, way, 0] + 1):
                target = int64(moves.way_squares[kind, square, way, step])
                free &= ~BIT[target]
                if occupied & BIT[target] or free == ZERO:
                    break
                if is_separate_move(moves, kind, way, step):
                    count = _add(search, word + ((target - square) << shift), free, int64(0), count, True)
    return count, occupied


@inlined
def list_predecessors(search: MoveSearch, word: int, bits: Word, exact: bool, group: int, count: int) -> int:
    """List predecessors by quiet moves of the positions ``bits`` of ``word``; return the number of entries.

    The list may contain illegal positions. At most ``MAX_WORD_MOVES`` entries are written, from index
    ``count`` on. If ``exact``, a position occurs in one entry for each of its moves into ``bits``; otherwise
    it occurs at least once. ``group`` selects the moves to undo.
    """
    frame = search.frame
    count, occupied = _list_scalar_moves(search, word, bits, group, count)
    bit_man = frame.scalars
    if group != ALL_MOVES or frame.mover_colours[bit_man] != search.mover or not _is_live(search, word):
        return count
    kind, moves = frame.kinds[bit_man], frame.moves
    if not exact:
        return _add(search, word, reach(moves, kind, bits, ~occupied), int64(0), count, False)
    if popcount(bits) <= _MAX_POSITIONS_ONE_BY_ONE:
        for bit in bits_of(bits):
            count = _add(search, word, reach(moves, kind, BIT[bit], ~occupied), int64(0), count, False)
        return count
    for way in range(moves.way_count[kind]):
        origins = bits
        for step in range(moves.length[kind, way]):
            origins = rotated(origins, moves.distance[kind, way]) & moves.landing[kind, way] & ~occupied
            if origins == ZERO:
                break
            if is_separate_move(moves, kind, way, step + 1):
                count = _add(search, word, origins, int64(0), count, False)
    return count


@inlined
def list_all_predecessors(
    search: MoveSearch, word: int, bits: Word, exact: bool, group: int, count: int
) -> int:
    """List predecessors of positions and of their images; arguments as for ``list_predecessors``.

    Only moves of kings lead to images of a solver's words, which have no words themselves. All such moves are
    undone, regardless of ``group``.
    """
    frame, squares, rest = search.frame, search.buffer.squares, 0
    count = list_predecessors(search, word, bits, exact, group, count)
    if has_image(frame, word):
        squares[1] = IMAGES[TRANSPOSE, squares[1]]
        for man in range(2, frame.scalars):
            squares[man] = IMAGES[TRANSPOSE, squares[man]]
            rest |= squares[man] << frame.shifts[man]
        count = _list_king_moves(search, rest, image(bits, TRANSPOSE), ALL_MOVES, count)
    return count


@inlined
def list_moves_of_scalars(frame: Frame, word: int, bits: Word, mover: int, buffer: MoveBuffer) -> int:
    """List the quiet moves of ``mover``'s scalars from the positions ``bits`` of a word, legal or not.

    Moves of the bit man, which remain in the word, are not listed. Return the number of moves.
    """
    search = MoveSearch(frame, mover, False, _UNUSED_LIVE, buffer)
    return _list_scalar_moves(search, word, bits, ALL_MOVES, int64(0))[0]


@inlined
def list_quiet_targets(frame: Frame, word: int, bit: int, mover: int, buffer: MoveBuffer) -> int:
    """List the slots that ``mover`` reaches from one position by quiet moves, legal or not.

    The slots are written to ``buffer.word``. Return their number.
    """
    count = list_moves_of_scalars(frame, word, BIT[bit], mover, buffer)
    for number in range(count):
        buffer.word[number] = buffer.word[number] << 6 | IMAGES[buffer.symmetry[number], bit]
    if frame.mover_colours[frame.scalars] == mover:
        empty = ~decode(frame, word, buffer.squares)
        for target in bits_of(reach(frame.moves, frame.kinds[frame.scalars], BIT[bit], empty)):
            buffer.word[count] = word << 6 | target
            count += 1
    return count


SLICES = 8
"""Number of words of a bit-sliced counter."""
MOVE_SLICE = 1
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
def positions_of_rank(slices: Words, rank: int) -> Word:
    """The positions of a word whose rank is ``rank``, legal or not."""
    result = ~ZERO
    for number in range(SLICES):
        result &= slices[number] if rank >> number & 1 else ~slices[number]
    return result


@inlined
def positions_of_rank_at_least(slices: Words, rank: int) -> Word:
    """The positions of a word whose rank is at least ``rank``, legal or not."""
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
    """Add the moves of the bit man from the squares ``legal`` to the squares ``targets`` to ``slices``."""
    for way in range(moves.way_count[kind]):
        origins = targets
        for step in range(moves.length[kind, way]):
            origins = rotated(origins, moves.distance[kind, way]) & moves.landing[kind, way] & empty
            if origins == ZERO:
                break
            if is_separate_move(moves, kind, way, step + 1):
                add_moves(slices, MOVE_SLICE, origins & legal)


@kernel
def count_quiet(
    frame: Frame, word: int, mover: int, legal: Word, reached: Words, buffer: MoveBuffer, slices: Words
) -> None:
    """Add ``mover``'s quiet moves from the legal positions ``legal`` of ``word`` to ``slices``.

    ``reached``, uint64 (words,), are all legal positions with the other side to move. A quiet move is legal
    if it leads to such a position. ``buffer`` is scratch memory.
    """
    bit_man = frame.scalars
    if frame.mover_colours[bit_man] == mover:
        empty = ~decode(frame, word, buffer.squares)
        _count_bit_man(frame.moves, frame.kinds[bit_man], legal, reached[word], empty, slices)
    for number in range(list_moves_of_scalars(frame, word, legal, mover, buffer)):
        origins = image(reached[buffer.word[number]], INVERSES[buffer.symmetry[number]])
        add_moves(slices, MOVE_SLICE, buffer.bits[number] & origins)
