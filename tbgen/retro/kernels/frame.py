"""The frame of a phase: the division of the free men into scalars and bit man; and the attacks of men.

The last free man is the *bit man*: its 64 squares are the 64 bits of a word. The other free men are the
*scalars*; their squares form the number of the word. Bit ``b`` of word ``w`` is slot ``64 * w + b``.

In the frame of a cell some free men are *frozen*: each stands on one square, and its moves leave the cell.
The square of a frozen scalar is not part of the word's number. If the bit man is frozen, only the bit of its
square is ever set.
"""

from dataclasses import dataclass

from tbgen.board.kinds import KING
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.layout import TRANSPOSE
from tbgen.retro.geometry import BIT, IMAGES, PAWN_ATTACKS, TRIANGLE_SQUARE, Movement
from tbgen.retro.kernels.targets import VARIABLE, Men, men_buffer
from tbgen.retro.kernels.words import ALL, ZERO, Codes, Ints, Word, Words, bits_of, ride, rotated


@inlined
def attacks_along(moves: Movement, kind: int, square: int, target: int) -> bool:
    """Whether a man of ``kind`` on ``square`` attacks ``target`` on an empty board."""
    return moves.attacks[kind, square] & BIT[target] != ZERO


@inlined
def reach(moves: Movement, kind: int, word: Word, empty: Word) -> Word:
    """Squares that a man of ``kind`` reaches in one quiet move from any of the set bits, and equally the
    squares from which it reaches these. ``empty`` are the squares that no other man occupies."""
    result = ZERO
    for way in range(moves.leaps[kind]):
        result |= moves.landing[kind, way] & rotated(word, moves.distance[kind, way])
    result &= empty
    for way in range(moves.leaps[kind], moves.ways[kind]):
        result |= ride(word, moves.landing[kind, way] & empty, moves.distance[kind, way])
    return result


@inlined
def is_separate_move(moves: Movement, kind: int, way: int, step: int) -> bool:
    """Whether step number ``step`` (from 1) on a way is a move that is not counted on another way."""
    return not moves.shares or moves.shared[kind, way] >> step & 1 == 0


FROZEN = 2
"""Replaces the colour of a man that does not move within the phase."""
NO_DIGIT = 62
"""A shift by which every word number becomes 0."""


@dataclass(frozen=True, eq=False)
class Frame(Struct):
    """Geometry of one phase."""

    moves: Movement
    kinds: Ints
    """int64 (free,): index of the kind of each free man in ``moves``."""
    colours: Ints
    """int64 (free,): colour of each free man, 0 White, 1 Black."""
    movers: Ints
    """int64 (free,): colour of each free man that moves within the phase, ``FROZEN`` for the others."""
    shifts: Ints
    """int64 (free - 1,): shift of each scalar's square in the word number; ``NO_DIGIT`` if it is frozen."""
    base: Ints
    """int64 (free - 1,): square of each frozen scalar, 0 for the others."""
    places: Word
    """Squares on which the bit man may stand."""
    scalars: int
    """Number of scalars."""
    pawnless: bool
    words: int
    """Number of words for one side to move."""
    pawns: Words
    """uint64 (2,): squares of White's and Black's pawns in this phase."""
    castlings: Ints
    """int64 (n, 4): castling rights: indices of king and rook, and their squares after castling. Both men are
    frozen, because the right is lost when one of them moves."""
    like: Ints
    """int64 (n, 2): half-open ranges of like scalars. Only words in which these are sorted by square are
    solved; the sets of legal positions of other words are empty."""


@dataclass(frozen=True, eq=False)
class Phase(Struct):
    """Data that both attackers share; sets are uint64 (2, words), by side to move."""

    legal: Words
    """Legal positions."""
    alive: Words
    """Positions still in the layers; empty for words of images (``is_image``)."""
    settled: Words
    """Positions settled last, in the layer of their position score. If one layer is solved alone: positions
    outside the layer to which positions in the layer can move."""
    slices: Words
    """uint64 (2, words, SLICES): bit-sliced ranks (``tbgen.retro.kernels.moves``)."""
    canonical: Words
    """uint64 (words,): canonical slots."""
    quiet: Codes
    """uint8 (2, 64 * words): numbers of quiet moves; the attackers decrement them."""
    score_resets: bool
    """Whether captures and pawn moves reset the accrued score. If not, there are no layers and no inner
    sweeps."""


@inlined
def place_of(frame: Frame, node: int) -> tuple[int, int, int]:
    """Side to move, word and bit of a node: a slot, plus the number of slots if Black is to move."""
    side = 0 if node < frame.words * 64 else 1
    return side, (node >> 6) - side * frame.words, node & 63


@inlined
def decode(frame: Frame, word: int, squares: Ints) -> Word:
    """Write the squares of the scalars to ``squares``; return the set of squares of scalars and pawns, or 0
    if two of these men share a square."""
    squares[0] = (word >> frame.shifts[0]) + frame.base[0]
    if frame.pawnless:
        squares[0] = TRIANGLE_SQUARE[squares[0]]
    occupied = frame.pawns[0] | frame.pawns[1]
    for man in range(frame.scalars):
        if man > 0:
            squares[man] = ((word >> frame.shifts[man]) & 63) + frame.base[man]
        bit = BIT[squares[man]]
        if occupied & bit:
            return ZERO
        occupied |= bit
    return occupied


@inlined
def _diagonal(frame: Frame, word: int) -> tuple[bool, int, int]:
    """Whether White's king stands on the diagonal of the triangle, and if so the square of Black's king and
    its image."""
    if not frame.pawnless or frame.scalars < 2 or TRIANGLE_SQUARE[word >> frame.shifts[0]] % 9:
        return False, 0, 0
    square = (word >> frame.shifts[1]) & 63
    return True, square, IMAGES[TRANSPOSE, square]


@inlined
def is_image(frame: Frame, word: int) -> bool:
    """Whether White's king stands on the diagonal and Black's above it. All positions of such a word are
    images of positions in another word; they are not canonical and not solved."""
    on_diagonal, square, image = _diagonal(frame, word)
    return on_diagonal and image < square


@inlined
def has_image(frame: Frame, word: int) -> bool:
    """Whether the images of the positions of a word are in another word, which is not solved."""
    on_diagonal, square, image = _diagonal(frame, word)
    return on_diagonal and image > square


@inlined
def ordered(frame: Frame, word: int) -> int:
    """The number of the word with the same positions and like scalars sorted by square."""
    for group in range(len(frame.like)):
        first, stop = frame.like[group, 0], frame.like[group, 1]
        for last in range(stop - 1, first, -1):
            for man in range(first, last):
                one, other = frame.shifts[man], frame.shifts[man + 1]
                ahead = ((word >> one) & 63) - ((word >> other) & 63)
                if ahead > 0:
                    word += (ahead << other) - (ahead << one)
    return word


@inlined
def pawn_attacks(colour: int, pawns: Word) -> Word:
    """Squares attacked by all pawns of a colour."""
    attacked = ZERO
    for pawn in bits_of(pawns):
        attacked |= PAWN_ATTACKS[colour, pawn]
    return attacked


@kernel
def safe(
    frame: Frame, men: Men, square: int, by: int, occupied: Word, captured: int, bit_there: bool
) -> Word:
    """Squares of the bit man for which ``square`` is not attacked by colour ``by``.

    ``occupied`` are the squares of scalars and pawns. ``captured`` is the index of a man that does not
    attack, -1 for none; if it is the bit man, its square still counts as occupied. If not ``bit_there``, the
    bit man is off the board and its square is empty.
    """
    if PAWN_ATTACKS[1 - by, square] & men.pawns[by]:
        return ZERO
    result, bit_man = ALL, frame.scalars
    for man in range(frame.scalars):
        origin = men.squares[man]
        attacker = frame.colours[man] == by and man != captured
        if attacker and attacks_along(frame.moves, frame.kinds[man], origin, square):
            between = frame.moves.passed[frame.kinds[man], origin, square]
            if between & occupied == ZERO:
                result &= between if bit_there else ZERO
                if result == ZERO:
                    return ZERO
    if bit_there and captured != bit_man and frame.colours[bit_man] == by:
        result &= ~reach(frame.moves, frame.kinds[bit_man], BIT[square], ~occupied)
    return result


@kernel
def king_safe(frame: Frame, men: Men, colour: int, occupied: Word, captured: int, bit_there: bool) -> Word:
    """Squares of the bit man for which the king of ``colour`` is not attacked; see ``safe``.

    If Black's king is the bit man, White's only attackers are its king and pawns.
    """
    if frame.scalars == 1 and colour == 1:
        return ~(frame.moves.attacks[KING, men.squares[0]] | pawn_attacks(0, men.pawns[0]))
    return safe(frame, men, men.squares[colour], 1 - colour, occupied, captured, bit_there)


@inlined
def enter_word(frame: Frame, word: int, men: Men) -> Word:
    """Set ``men`` to the men of a word; return the squares of scalars and pawns as ``decode`` does."""
    men.squares[frame.scalars] = VARIABLE
    men.pawns[0], men.pawns[1] = frame.pawns[0], frame.pawns[1]
    return decode(frame, word, men.squares)


@jit
def legal_words(frame: Frame, legal: Words, start: int, stop: int) -> None:
    """Set ``legal[:, start:stop]``, uint64 (2, words), to the legal positions: all men stand on different
    squares, the side not to move is not in check, and like scalars are sorted by square."""
    men = men_buffer()
    for word in range(start, stop):
        occupied = enter_word(frame, word, men) if ordered(frame, word) == word else ZERO
        for side in range(2):
            legal[side, word] = ZERO
            if occupied:
                no_check = king_safe(frame, men, 1 - side, occupied, int64(-1), True)
                legal[side, word] = frame.places & ~occupied & no_check
