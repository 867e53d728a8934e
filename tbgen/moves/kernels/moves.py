"""Listing predecessors and successors by quiet moves, and counting quiet moves, word by word.

Moves are counted with bit-sliced counters of ``SLICES`` words. Slice ``i`` contains bit ``i`` of the rank of
each of the 64 positions of the word. A rank is twice the number of legal moves, plus one unless the side to
move is in check. Slice 0 therefore means "not in check", and moves are counted from slice 1 upwards.

Scalars, bit man, word numbers and images are explained in ``tbgen.moves.kernels.frame``.
"""

from typing import NamedTuple

import numpy as np

from tbgen.board.kinds import KING
from tbgen.board.material import MAX_MEN
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.layout import TRANSPOSE
from tbgen.moves.geometry import (
    BIT,
    IMAGES,
    INVERSES,
    KING_ORIGINS,
    KING_TARGETS,
    MAX_STEPS,
    TRIANGLE_OF,
)
from tbgen.moves.kernels.frame import decode, has_image, is_separate_move, ordered_word, reach
from tbgen.moves.kernels.words import (
    ZERO,
    Ints,
    Word,
    Words,
    bits_of,
    image,
    popcount,
    prefetch_for_reading,
    rotated,
)
from tbgen.moves.structs import IMAGE_PAIR, MAX_TARGETS, Frame, Movement

MAX_WORD_MOVES = 2 * 16 + (MAX_MEN - 2) * MAX_TARGETS + MAX_STEPS
"""Greatest number of entries of a list of predecessors: 16 for White's king, 16 for images, one for each
target of the other scalars, and one for each step of the bit man."""

MAX_SCALARS = 31
"""Greatest number of scalars of a frame: a cell may have 32 men and no pawns."""

_MAX_POSITIONS_ONE_BY_ONE = 6
"""Greatest number of positions for which moves of the bit man are undone position by position. With more
positions, undoing the moves step by step is faster (measured)."""

_UNUSED_WORDS = np.zeros(1, np.uint64)
"""Placeholder for ``MoveSearch.searched_words`` in searches for successors, which do not use it."""

SLICES = 8
"""Number of words of a bit-sliced counter."""
MOVE_SLICE = 1
"""Index of the slice to which one move is added."""


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
    finds_predecessors: bool
    """Whether to find predecessors rather than successors."""
    searched_words: Words
    """uint64 (words / 64,): set of the words in which predecessors are listed."""
    among: Words
    """uint64 (words,): the positions that the caller selects from the listed predecessors. The elements of
    the listed words are prefetched."""
    buffer: MoveBuffer
    """Output: the moves found."""


@inlined
def _is_searched(search: MoveSearch, word: int) -> bool:
    return search.searched_words[word >> 6] & BIT[word & 63] != ZERO


@inlined
def _append(search: MoveSearch, word: int, bits: Word, symmetry: int, count: int, sort: bool) -> int:
    """Append an entry for a move of the positions ``bits``; return the new count.

    The result of the move is mapped by ``symmetry``. Predecessors are omitted if ``word`` is not searched.
    ``sort`` says whether like scalars of ``word`` may have to be sorted.
    """
    buffer = search.buffer
    if sort and len(search.frame.like_scalars):
        word = ordered_word(search.frame, word)
    if search.finds_predecessors:
        if not _is_searched(search, word):
            return count
        bits = image(bits, symmetry)
        prefetch_for_reading(search.among, word)
    else:
        buffer.symmetry[count] = symmetry
    buffer.word[count], buffer.bits[count] = word, bits
    return count + 1


@inlined
def _append_king_move(
    search: MoveSearch, rest: int, coord: int, black: int, symmetry: int, bits: Word, count: int
) -> int:
    """Append a move of a king; return the new count.

    In the resulting word, White's king is at the triangle coordinate ``coord``, and Black's king is on the
    image of the square ``black`` under ``symmetry``. The other scalars, on ``buffer.squares``, are mapped by
    the same symmetry. If ``symmetry`` is 0, ``rest`` is their part of the word number. A king pair without
    legal positions is omitted. If the king pair is the image of a numbered pair, a successor is moved to this
    numbered pair, and a predecessor is omitted.
    """
    frame, squares = search.frame, search.buffer.squares
    pair = frame.pair_numbers[coord, IMAGES[symmetry, black]]
    if pair == IMAGE_PAIR and not search.finds_predecessors:
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
    return _append(search, word, bits, symmetry, count, True)


@inlined
def _list_king_moves(search: MoveSearch, rest: int, bits: Word, count: int) -> int:
    """List the moves of the mover's king in a frame without pawns, if the king is a scalar; return the new
    count.

    ``rest`` is as for ``_append_king_move``; the other arguments are as for ``list_predecessors``.
    """
    frame, squares, moves = search.frame, search.buffer.squares, search.frame.moves
    coord = TRIANGLE_OF[squares[0]]
    black = squares[1] if frame.scalars > 1 else int64(0)
    if search.mover == 0:
        kings = KING_ORIGINS if search.finds_predecessors else KING_TARGETS
        for index in range(1, kings[coord, 0, 0] + 1):
            symmetry = kings[coord, index, 1]
            count = _append_king_move(search, rest, kings[coord, index, 0], black, symmetry, bits, count)
    elif frame.scalars > 1:
        for index in range(1, moves.leap_targets[KING, black, 0] + 1):
            target = moves.leap_targets[KING, black, index]
            count = _append_king_move(search, rest, coord, target, int64(0), bits, count)
    return count


@inlined
def _list_scalar_moves(search: MoveSearch, word: int, bits: Word, count: int) -> tuple[int, Word]:
    """List the quiet moves of the mover's scalars that start from the positions ``bits`` of a word.

    If the search finds predecessors, list the moves that lead to these positions instead. Return the number
    of entries, and the squares of scalars and pawns. The list may contain illegal moves, such as moves into
    check. ``count`` is as for ``list_predecessors``.
    """
    frame, squares, moves = search.frame, search.buffer.squares, search.frame.moves
    occupied = decode(frame, word, squares)
    first_man = 0
    if frame.pawnless:
        rest = word & ((1 << frame.shifts[0]) - 1)
        first_man = 2
        count = _list_king_moves(search, rest, bits, count)
    for man in range(first_man, frame.scalars):
        if frame.mover_colours[man] != search.mover:
            continue
        square = squares[man]
        kind = frame.kinds[man]
        shift = frame.shifts[man]
        for target in bits_of(reach(moves, kind, BIT[square], ~occupied)):
            free = bits & ~(moves.passed_squares[kind, square, target] | BIT[target])
            if free:
                count = _append(search, word + ((target - square) << shift), free, int64(0), count, True)
    return count, occupied


@inlined
def list_predecessors(search: MoveSearch, word: int, bits: Word, exact: bool, count: int) -> int:
    """List the positions from which quiet moves lead to the positions ``bits`` of ``word``.

    The list may contain illegal positions, positions outside ``search.among``, and entries without positions.
    At most ``MAX_WORD_MOVES`` entries are written, from index ``count`` on. If ``exact``, a position occurs
    in one entry for each of its moves into ``bits``; otherwise it occurs at least once. Return the number of
    entries.
    """
    frame = search.frame
    count, occupied = _list_scalar_moves(search, word, bits, count)
    bit_man = frame.scalars
    if frame.mover_colours[bit_man] != search.mover or not _is_searched(search, word):
        return count
    kind = frame.kinds[bit_man]
    moves = frame.moves
    if not exact:
        return _append(search, word, reach(moves, kind, bits, ~occupied), int64(0), count, False)
    if popcount(bits) <= _MAX_POSITIONS_ONE_BY_ONE:
        for bit in bits_of(bits):
            count = _append(search, word, reach(moves, kind, BIT[bit], ~occupied), int64(0), count, False)
        return count
    for way in range(moves.way_count[kind]):
        origins = bits
        for step in range(moves.length[kind, way]):
            origins = rotated(origins, moves.rotation[kind, way]) & moves.landing[kind, way] & ~occupied
            if origins == ZERO:
                break
            if is_separate_move(moves, kind, way, step + 1):
                count = _append(search, word, origins, int64(0), count, False)
    return count


@inlined
def list_all_predecessors(search: MoveSearch, word: int, bits: Word, exact: bool, count: int) -> int:
    """List predecessors of positions and of their images; the arguments are as for ``list_predecessors``.

    In the frame of a solver, images have no words of their own. Only king moves lead from another king pair
    to an image.
    """
    frame = search.frame
    squares = search.buffer.squares
    rest = 0
    count = list_predecessors(search, word, bits, exact, count)
    if has_image(frame, word):
        squares[1] = IMAGES[TRANSPOSE, squares[1]]
        for man in range(2, frame.scalars):
            squares[man] = IMAGES[TRANSPOSE, squares[man]]
            rest |= squares[man] << frame.shifts[man]
        count = _list_king_moves(search, rest, image(bits, TRANSPOSE), count)
    return count


@inlined
def list_scalar_successors(frame: Frame, word: int, bits: Word, mover: int, buffer: MoveBuffer) -> int:
    """List the quiet moves, legal or not, of ``mover``'s scalars from the positions ``bits`` of a word.

    Moves of the bit man are not listed: they remain in the word. Return the number of moves.
    """
    search = MoveSearch(frame, mover, False, _UNUSED_WORDS, _UNUSED_WORDS, buffer)
    return _list_scalar_moves(search, word, bits, int64(0))[0]


@inlined
def list_quiet_targets(frame: Frame, word: int, bit: int, mover: int, buffer: MoveBuffer) -> int:
    """List the slots that ``mover`` can reach from one position by quiet moves, legal or not.

    The slots are written to ``buffer.word``. Return their number.
    """
    count = list_scalar_successors(frame, word, BIT[bit], mover, buffer)
    for index in range(count):
        buffer.word[index] = buffer.word[index] << 6 | IMAGES[buffer.symmetry[index], bit]
    if frame.mover_colours[frame.scalars] == mover:
        empty = ~decode(frame, word, buffer.squares)
        for target in bits_of(reach(frame.moves, frame.kinds[frame.scalars], BIT[bit], empty)):
            buffer.word[count] = word << 6 | target
            count += 1
    return count


@inlined
def add_moves(slices: Words, first_slice: int, mask: Word) -> None:
    """Add ``2**first_slice`` to the rank of every position in ``mask``."""
    while mask:
        carry = slices[first_slice] & mask
        slices[first_slice] ^= mask
        mask = carry
        first_slice += 1


@inlined
def rank_at(slices: Words, bit: int) -> int:
    """The rank of one position of a word."""
    rank = 0
    for index in range(SLICES):
        if slices[index] & BIT[bit]:
            rank |= 1 << index
    return rank


@inlined
def positions_of_rank(slices: Words, count: int, rank: int) -> Word:
    """The positions of a word, legal or not, whose rank is ``rank``; ``count`` is the number of slices."""
    result = ~ZERO
    for index in range(count):
        result &= slices[index] if rank >> index & 1 else ~slices[index]
    return result


@inlined
def positions_of_rank_at_least(slices: Words, rank: int) -> Word:
    """The positions of a word, legal or not, whose rank is at least ``rank``."""
    greater = ZERO
    same = ~ZERO
    for index in range(SLICES - 1, -1, -1):
        if rank >> index & 1:
            same &= slices[index]
        else:
            greater |= same & slices[index]
            same &= ~slices[index]
    return greater | same


@inlined
def _count_bit_man_moves(
    moves: Movement, kind: int, legal: Word, targets: Word, empty: Word, slices: Words
) -> None:
    """Count in ``slices`` the moves of the bit man from the squares ``legal`` to ``targets``."""
    for way in range(moves.way_count[kind]):
        origins = targets
        for step in range(moves.length[kind, way]):
            origins = rotated(origins, moves.rotation[kind, way]) & moves.landing[kind, way] & empty
            if origins == ZERO:
                break
            if is_separate_move(moves, kind, way, step + 1):
                add_moves(slices, MOVE_SLICE, origins & legal)


@kernel
def count_quiet_moves(
    frame: Frame, word: int, mover: int, legal: Word, other_legal: Words, buffer: MoveBuffer, slices: Words
) -> None:
    """Count in ``slices`` the quiet moves of ``mover`` from the legal positions ``legal`` of ``word``.

    ``other_legal``, uint64 (words,), are all legal positions with the other side to move. A quiet move is
    legal if it leads to such a position. ``buffer`` is scratch memory.
    """
    bit_man = frame.scalars
    if frame.mover_colours[bit_man] == mover:
        empty = ~decode(frame, word, buffer.squares)
        _count_bit_man_moves(frame.moves, frame.kinds[bit_man], legal, other_legal[word], empty, slices)
    for index in range(list_scalar_successors(frame, word, legal, mover, buffer)):
        origins = image(other_legal[buffer.word[index]], INVERSES[buffer.symmetry[index]])
        add_moves(slices, MOVE_SLICE, buffer.bits[index] & origins)
