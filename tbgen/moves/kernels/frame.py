"""The frame of a phase, which maps the squares of free men to the bits of words, and the attacks of men.

The last free man is the *bit man*: its 64 squares are the 64 bits of a word. The other free men are the
*scalars*: their squares form the number of the word. Bit ``b`` of word ``w`` is slot ``64 * w + b``.

If there are no pawns, White's king is in the triangle a1-d1-d4, and the first digit of the word number is the
number of the *king pair*, the squares of both kings. The frame of a table numbers all 640 pairs, in the order
of the table's slots (``tbgen.index.layout``). The frame of a solver numbers, in the same order, only the 462
pairs that must be solved: pairs with legal positions, and only one of two pairs that are images of each
other.

In the frame of a cell, some free men are *frozen*. A frozen man stays on one square; its moves leave the
cell. The square of a frozen scalar is not part of the number of the word. If the bit man is frozen, only the
bit of its square is ever set.
"""

from tbgen.board.kinds import KING
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.layout import TRANSPOSE
from tbgen.moves.geometry import BIT, IMAGES, PAWN_ATTACKS, TRIANGLE_OF
from tbgen.moves.kernels.targets import VARIABLE, attacks_along, pawn_attacks
from tbgen.moves.kernels.words import ALL, ZERO, Ints, Word, Words, ride, rotated
from tbgen.moves.structs import Frame, Men, Movement


@inlined
def reach(moves: Movement, kind: int, word: Word, empty: Word) -> Word:
    """Squares that a man of ``kind`` reaches in one quiet move from any square of ``word``.

    Quiet moves can be reversed, so these are also the squares from which the man reaches a square of
    ``word``. ``empty`` are the squares that no other man occupies.
    """
    result = ZERO
    for way in range(moves.leap_count[kind]):
        result |= moves.landing[kind, way] & rotated(word, moves.rotation[kind, way])
    result &= empty
    for way in range(moves.leap_count[kind], moves.way_count[kind]):
        result |= ride(word, moves.landing[kind, way] & empty, moves.rotation[kind, way])
    return result


@inlined
def is_separate_move(moves: Movement, kind: int, way: int, step: int) -> bool:
    """Whether a move of ``step`` steps along a way (``Movement``) counts for this way.

    A move that another way also makes, whenever it is possible, counts only for the other way
    (``Movement.shared_steps``).
    """
    return not moves.has_shared_steps or moves.shared_steps[kind, way] >> step & 1 == 0


@inlined
def side_word_bit(frame: Frame, node: int) -> tuple[int, int, int]:
    """Side to move, word and bit of a node. A node is a slot, plus the phase size if Black is to move."""
    side = 0 if node < frame.words * 64 else 1
    return side, (node >> 6) - side * frame.words, node & 63


@inlined
def decode(frame: Frame, word: int, squares: Ints) -> Word:
    """Write the squares of the scalars to ``squares`` and return the squares of scalars and pawns.

    The result is 0 if two of these men share a square.
    """
    squares[0] = (word >> frame.shifts[0]) + frame.frozen_squares[0]
    scalars_of_kings = 1
    if frame.pawnless:
        scalars_of_kings = min(frame.scalars, 2)
        pair = squares[0]
        for man in range(scalars_of_kings):
            squares[man] = frame.king_pairs[pair, man]
    occupied = frame.pawns[0] | frame.pawns[1]
    for man in range(frame.scalars):
        if man >= scalars_of_kings:
            squares[man] = ((word >> frame.shifts[man]) & 63) + frame.frozen_squares[man]
        bit = BIT[squares[man]]
        if occupied & bit:
            return ZERO
        occupied |= bit
    return occupied


@inlined
def _diagonal_and_black_king(frame: Frame, word: int) -> tuple[bool, int, int]:
    """Whether White's king is on the diagonal of the triangle; if so, the square of Black's king and the
    image of this square under reflection in the diagonal; if not, 0 and 0."""
    if not frame.pawnless or frame.scalars < 2:
        return False, 0, 0
    pair = word >> frame.shifts[0]
    if frame.king_pairs[pair, 0] % 9:
        return False, 0, 0
    square = frame.king_pairs[pair, 1]
    return True, square, IMAGES[TRANSPOSE, square]


@inlined
def is_image(frame: Frame, word: int) -> bool:
    """Whether White's king is on the diagonal of the triangle and Black's king above the diagonal.

    The positions of such a word are images of positions of another word, so they are not canonical. The frame
    of a solver has no such words.
    """
    on_diagonal, square, image = _diagonal_and_black_king(frame, word)
    return on_diagonal and image < square


@inlined
def has_image(frame: Frame, word: int) -> bool:
    """Whether the positions of a word have images in another word, which the frame of a solver lacks."""
    on_diagonal, square, image = _diagonal_and_black_king(frame, word)
    return on_diagonal and image > square


@inlined
def ordered_word(frame: Frame, word: int) -> int:
    """The number of the word that contains the same positions with like scalars sorted by square."""
    for group in range(len(frame.like_scalars)):
        start, stop = frame.like_scalars[group, 0], frame.like_scalars[group, 1]
        for last in range(stop - 1, start, -1):
            for man in range(start, last):
                shift = frame.shifts[man]
                next_shift = frame.shifts[man + 1]
                excess = ((word >> shift) & 63) - ((word >> next_shift) & 63)
                if excess > 0:
                    word += (excess << next_shift) - (excess << shift)
    return word


@inlined
def table_word(frame: Frame, word: int) -> int:
    """The number of a word in the frame of the table."""
    if not frame.pawnless:
        return word
    pair = word >> frame.shifts[0]
    shift = frame.shifts[0]
    table_pair = int64(TRIANGLE_OF[frame.king_pairs[pair, 0]])
    if frame.scalars > 1:
        table_pair = table_pair << 6 | frame.king_pairs[pair, 1]
    return table_pair << shift | (word & ((1 << shift) - 1))


@kernel
def safe_bits(
    frame: Frame, men: Men, square: int, enemy: int, occupied: Word, captured: int, on_board: bool
) -> Word:
    """Squares of the bit man for which the colour ``enemy`` does not attack ``square``.

    ``occupied`` are the squares of scalars and pawns. ``captured`` is the index of a captured man, which does
    not attack, or -1. If the bit man is captured, its square still counts as occupied. ``on_board`` says
    whether the bit man is on the board; if it is not, its square is empty.
    """
    if PAWN_ATTACKS[1 - enemy, square] & men.pawns[enemy]:
        return ZERO
    result = ALL
    bit_man = frame.scalars
    for man in range(frame.scalars):
        origin = men.squares[man]
        is_attacker = frame.colours[man] == enemy and man != captured
        if is_attacker and attacks_along(frame.moves, frame.kinds[man], origin, square):
            between = frame.moves.passed_squares[frame.kinds[man], origin, square]
            if between & occupied == ZERO:
                result &= between if on_board else ZERO
                if result == ZERO:
                    return ZERO
    if on_board and captured != bit_man and frame.colours[bit_man] == enemy:
        result &= ~reach(frame.moves, frame.kinds[bit_man], BIT[square], ~occupied)
    return result


@kernel
def king_safe_bits(frame: Frame, men: Men, side: int, occupied: Word, captured: int, on_board: bool) -> Word:
    """Squares of the bit man for which the king of ``side`` is not attacked.

    The arguments are as for ``safe_bits``. If Black's king is the bit man, White has only a king and pawns.
    """
    if frame.scalars == 1 and side == 1:
        return ~(frame.moves.attacks[KING, men.squares[0]] | pawn_attacks(0, men.pawns[0]))
    return safe_bits(frame, men, men.squares[side], 1 - side, occupied, captured, on_board)


@inlined
def enter_word(frame: Frame, word: int, men: Men) -> Word:
    """Set ``men`` to the men of a word; return the result of ``decode``."""
    men.squares[frame.scalars] = VARIABLE
    men.pawns[0], men.pawns[1] = frame.pawns[0], frame.pawns[1]
    return decode(frame, word, men.squares)


@jit
def mark_legal(frame: Frame, legal: Words, men: Men, start: int, stop: int) -> None:
    """Set ``legal[:, start:stop]``, uint64 (2, words), to the legal positions of these words.

    A position is legal if all men are on different squares and the side not to move is not in check. Words in
    which like scalars are not sorted by square get no legal positions. ``men`` is scratch memory.
    """
    for word in range(start, stop):
        occupied = enter_word(frame, word, men) if ordered_word(frame, word) == word else ZERO
        for side in range(2):
            legal[side, word] = ZERO
            if occupied:
                no_check = king_safe_bits(frame, men, 1 - side, occupied, int64(-1), True)
                legal[side, word] = frame.bit_man_squares & ~occupied & no_check
