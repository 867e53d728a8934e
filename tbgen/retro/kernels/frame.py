"""The frame of a phase: which men are scalars of the word index, which is the bit man, and where men attack.

The last free man is the *bit man*: its 64 squares are the 64 bits of a word. The other free men are the
*scalars*; their squares make the word's number. Bit ``b`` of word ``w`` is slot ``64 * w + b`` of the phase.

In the frame of a cell some free men are *frozen*: they stand on one square, and what they do leaves the cell.
A frozen scalar takes no part in the word's number, and of a frozen bit man only one bit is ever set.
"""

from dataclasses import dataclass

from tbgen.board.kinds import KING
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.layout import TRANSPOSE
from tbgen.retro.geometry import BIT, IMAGES, PAWN_ATTACKS, TRIANGLE_SQUARE, Movement
from tbgen.retro.kernels.targets import VARIABLE, Men, room_for_men
from tbgen.retro.kernels.words import ALL, ZERO, Codes, Ints, Word, Words, bits_of, ride, rotated


@inlined
def attacks_along(moves: Movement, kind: int, square: int, target: int) -> bool:
    """Whether a man of ``kind`` on ``square`` attacks ``target`` on an empty board."""
    return moves.attacks[kind, square] & BIT[target] != ZERO


@inlined
def reach(moves: Movement, kind: int, word: Word, empty: Word) -> Word:
    """Squares that a man of ``kind`` reaches in one quiet move from any of the set bits, ``empty`` being the
    squares that no other man occupies. Read backwards: the squares it may have come from."""
    result = ZERO
    for way in range(moves.leaps[kind]):
        result |= moves.landing[kind, way] & rotated(word, moves.distance[kind, way])
    result &= empty
    for way in range(moves.leaps[kind], moves.ways[kind]):
        result |= ride(word, moves.landing[kind, way] & empty, moves.distance[kind, way])
    return result


@inlined
def counts(moves: Movement, kind: int, way: int, step: int) -> bool:
    """Whether a step on a way, the first being 1, is a move of its own and not also one of another way."""
    return not moves.shares or moves.shared[kind, way] >> step & 1 == 0


FROZEN = 2
"""Stands for the colour of a man that does not move within the phase."""
NO_DIGIT = 62
"""A shift that leaves nothing of a word's number."""


@dataclass(frozen=True, eq=False)
class Frame(Struct):
    """Geometry of one phase, as the kernels read it."""

    moves: Movement
    kinds: Ints
    """int64 (free,): kind of each free man, in ``moves``."""
    colours: Ints
    """int64 (free,): 0 White, 1 Black."""
    movers: Ints
    """int64 (free,): the colour of each free man that moves within the phase, ``FROZEN`` for others."""
    shifts: Ints
    """int64 (free - 1,): place of each scalar's square in the word number; ``NO_DIGIT`` if it is frozen."""
    base: Ints
    """int64 (free - 1,): square of each frozen scalar, else 0."""
    places: Word
    """Squares that the bit man may stand on."""
    scalars: int
    pawnless: bool
    words: int
    """Number of words of one side to move."""
    pawns: Words
    """uint64 (2,): squares of White's and Black's pawns in this phase."""
    castlings: Ints
    """int64 (n, 4): castling rights: king, rook, and the squares that castling takes them to. Both are
    frozen: where one of them moves the right is gone."""
    like: Ints
    """int64 (n, 2): half-open ranges of like scalars. Only words with these in the order of their squares
    are solved; the others contain no legal position."""


@dataclass(frozen=True, eq=False)
class Phase(Struct):
    """What both attackers share, uint64 (2, words) by side to move."""

    legal: Words
    alive: Words
    """Positions still in the layers; none of words that are images (``is_image``)."""
    settled: Words
    """Positions that have left them last, with a fresh value of their own layer; where one layer is solved
    alone, those beside it."""
    slices: Words
    """uint64 (2, words, SLICES): ranks, see ``tbgen.retro.kernels.moves``."""
    canonical: Words
    """uint64 (words,): canonical slots."""
    quiet: Codes
    """uint8 (2, 64 * words): numbers of quiet moves; the attackers count them down."""
    score_resets: bool
    """Whether captures and pawn moves reset the accrued score: else there are no layers to solve, and no
    inner sweeps."""


@inlined
def place_of(frame: Frame, node: int) -> tuple[int, int, int]:
    """Side to move, word and bit of a node: a slot, plus the number of slots if Black is to move."""
    side = 0 if node < frame.words * 64 else 1
    return side, (node >> 6) - side * frame.words, node & 63


@inlined
def decode(frame: Frame, word: int, squares: Ints) -> Word:
    """Write the scalars' squares to ``squares`` and return the squares that scalars and pawns occupy, or 0 if
    two of them stand on one square."""
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
    """Whether White's king stands on the diagonal of its triangle, and Black's square with its image."""
    if not frame.pawnless or frame.scalars < 2 or TRIANGLE_SQUARE[word >> frame.shifts[0]] % 9:
        return False, 0, 0
    square = (word >> frame.shifts[1]) & 63
    return True, square, IMAGES[TRANSPOSE, square]


@inlined
def is_image(frame: Frame, word: int) -> bool:
    """Whether no position of a word is canonical, for White's king stands on the diagonal and Black's above
    it: its positions are images of others, and are not solved."""
    on_diagonal, square, image = _diagonal(frame, word)
    return on_diagonal and image < square


@inlined
def has_image(frame: Frame, word: int) -> bool:
    """Whether another word has the images of this one's positions, which are not solved."""
    on_diagonal, square, image = _diagonal(frame, word)
    return on_diagonal and image > square


@inlined
def ordered(frame: Frame, word: int) -> int:
    """The word with like scalars in the order of their squares: the same positions."""
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

    ``occupied`` are the squares of scalars and pawns; man ``captured`` is off the board (-1: none; the bit
    man: a man that attacks nothing stands in its place), and the bit man's place is empty if not
    ``bit_there``.
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
    """Squares of the bit man for which ``colour``'s king is not attacked (arguments as for ``safe``).

    Where Black's king is the bit man itself, White has only its king and pawns to attack with.
    """
    if frame.scalars == 1 and colour == 1:
        return ~(frame.moves.attacks[KING, men.squares[0]] | pawn_attacks(0, men.pawns[0]))
    return safe(frame, men, men.squares[colour], 1 - colour, occupied, captured, bit_there)


@inlined
def enter_word(frame: Frame, word: int, men: Men) -> Word:
    """Set the men to those of a word; return the squares of scalars and pawns as ``decode`` does."""
    men.squares[frame.scalars] = VARIABLE
    men.pawns[0], men.pawns[1] = frame.pawns[0], frame.pawns[1]
    return decode(frame, word, men.squares)


@jit
def legal_words(frame: Frame, legal: Words, start: int, stop: int) -> None:
    """Set ``legal[:, start:stop]`` (uint64 (2, words)): positions whose side not to move is not in check and
    whose men stand on different squares, like scalars in order."""
    men = room_for_men()
    for word in range(start, stop):
        occupied = enter_word(frame, word, men) if ordered(frame, word) == word else ZERO
        for side in range(2):
            legal[side, word] = ZERO
            if occupied:
                calm = king_safe(frame, men, 1 - side, occupied, int64(-1), True)
                legal[side, word] = frame.places & ~occupied & calm
