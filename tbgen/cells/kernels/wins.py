"""Finding the positions of a cell in which White forces mate, backwards from winning captures and from mates.

White's pawns stand still. Every capture by a black pawn or of a white pawn counts as an escape for Black,
legal or not. So does every move to a position that is not proved to be won, unless it is a promotion and
White wins by capturing the promoted man at once. So every win found is genuine, but some wins are missed.
"""

from dataclasses import dataclass

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.retro.geometry import BIT, ORTHODOX, PAWN_ATTACKS
from tbgen.retro.kernels.frame import Frame, attacks_along, decode, reach
from tbgen.retro.kernels.moves import MoveBuffer, scalar_moves
from tbgen.retro.kernels.words import ZERO, Codes, Ints, Word, Words, bits_of

WHITE, BLACK = int64(0), int64(1)

_DENSE = 3
"""Number of initial rounds that examine all words. Most wins are found in these rounds, where marking words
would take longer than examining them all."""


@dataclass(frozen=True, eq=False)
class WinSearch(Struct):
    """A cell with the wins found so far, for one part of the work."""

    frame: Frame
    legal: Words
    """uint64 (2, words): legal positions, by side to move."""
    left: Words
    """uint64 (2, words): legal positions not found to be won, by side to move."""
    own: Words
    """uint64 (words // 64,): words, with Black to move, that this part has marked for later examination."""
    marks: Words
    """uint64 (2, parts, words // 64): words to examine, marked by other parts in even and in odd rounds.

    A part reads the marks of the previous round, so no two threads write to the same place."""
    part: int
    """Index of this part, which has Black's king on certain ranks; White's moves stay in the part."""
    ranks: Ints
    """int64 (2,): the ranks of Black's king that belong to this part, as a half-open range."""
    legal_after: Words
    """uint64 (men, words // 64): legal positions after each man has been captured, with its side to move.
    The squares of the remaining men, in order, form the slot."""
    won_after: Words
    """uint64 (men, words // 64): positions of ``legal_after`` that White wins."""
    pushes: Ints
    """int64 (n, 3): steps of Black's pawns, with one row for each kind of promoted man: the square after a
    single step, the target, and the index of the pawn."""
    legal_pushed: Words
    """uint64 (n, words): legal positions after a step, White to move, by the squares of the mobile men."""
    won_pushed: Words
    """uint64 (n, words): positions of ``legal_pushed`` that White wins."""
    taken: Ints
    """int64 (pawns,): squares of Black's pawns."""
    won_taken: Words
    """uint64 (pawns, words): positions that White wins after capturing a black pawn, Black to move."""
    level: Codes
    """uint8 (slots,): the round in which each position with Black to move was found; (0,) if not needed."""
    found: MoveBuffer
    """Buffer for moves, forwards or backwards."""
    before: MoveBuffer
    """Buffer for the moves before those in ``found``."""


@inlined
def _place_after(frame: Frame, squares: Ints, victim: int) -> int:
    """Number formed by the squares of the remaining scalars after a capture.

    It is a word if a scalar was captured, a slot if the bit man was.
    """
    slot = int64(0)
    for man in range(frame.scalars):
        if man != victim:
            slot = slot << 6 | squares[man]
    return slot


@inlined
def _weigh(search: WinSearch, victim: int, slot: int) -> tuple[bool, bool]:
    """Whether the position of a slot after a capture is legal, and whether White wins it."""
    word, bit = slot >> 6, BIT[slot & 63]
    return search.legal_after[victim, word] & bit != ZERO, search.won_after[victim, word] & bit != ZERO


@inlined
def _capture_of_scalar(
    search: WinSearch, squares: Ints, man: int, victim: int, occupied: Word, among: Word
) -> tuple[Word, Word]:
    """Positions in which a man can capture a scalar, and those of them that White wins after the capture."""
    frame, square = search.frame, squares[victim]
    bit_man, kind = frame.scalars, frame.kinds[man]
    if man == bit_man:
        able = among & reach(ORTHODOX, kind, BIT[square], ~occupied)
        if able == ZERO:
            return ZERO, ZERO
        legal, won = _weigh(search, victim, _place_after(frame, squares, victim) << 6 | square)
        return able if legal else ZERO, able if won else ZERO
    origin = squares[man]
    passed = ORTHODOX.passed[kind, origin, square]
    if passed & occupied or not attacks_along(ORTHODOX, kind, origin, square):
        return ZERO, ZERO
    squares[man] = square
    after = _place_after(frame, squares, victim)
    squares[man] = origin
    able = among & ~passed & search.legal_after[victim, after]
    return able, able & search.won_after[victim, after]


@inlined
def _capture_of_bit_man(
    search: WinSearch, squares: Ints, man: int, occupied: Word, among: Word
) -> tuple[Word, Word]:
    """Positions in which a scalar can capture the bit man, and those of them that White wins afterwards."""
    frame, bit_man, origin = search.frame, search.frame.scalars, squares[man]
    able = won = ZERO
    for square in bits_of(among & reach(ORTHODOX, frame.kinds[man], BIT[origin], ~occupied)):
        squares[man] = square
        is_legal, is_won = _weigh(search, bit_man, _place_after(frame, squares, bit_man))
        able |= BIT[square] if is_legal else ZERO
        won |= BIT[square] if is_won else ZERO
    squares[man] = origin
    return able, won


@kernel
def _captures(
    search: WinSearch, squares: Ints, side: int, occupied: Word, among: Word
) -> tuple[Word, Word, Word]:
    """Positions of a word in which a side can capture a mobile man; those that White wins after some such
    capture; and those that White is not proved to win after some such capture."""
    frame, bit_man = search.frame, search.frame.scalars
    able = won = spoilt = ZERO
    for victim in range(2, bit_man + 1):
        if frame.colours[victim] == side:
            continue
        for man in range(bit_man + 1):
            if frame.colours[man] != side:
                continue
            if victim == bit_man:
                legal, wins = _capture_of_bit_man(search, squares, man, occupied, among)
            else:
                legal, wins = _capture_of_scalar(search, squares, man, victim, occupied, among)
            able |= legal
            won |= wins
            spoilt |= legal & ~wins
    return able, won, spoilt


@kernel
def _won_by_taking(
    search: WinSearch, squares: Ints, word: int, occupied: Word, among: Word, square: int, won: Words
) -> Word:
    """Positions of a word that White wins by a capture on a square.

    :param won: uint64 (words,): positions after the capture that White wins, by the squares of the mobile
        men.
    """
    frame, bit_man, result = search.frame, search.frame.scalars, ZERO
    for man in range(bit_man):
        origin, kind = squares[man], frame.kinds[man]
        if frame.colours[man] == WHITE and attacks_along(ORTHODOX, kind, origin, square):
            passed = ORTHODOX.passed[kind, origin, square]
            if passed & occupied == ZERO:
                after = word + ((square - origin) << frame.shifts[man])
                result |= among & ~passed & won[after]
    if frame.colours[bit_man] == WHITE and won[word] & BIT[square]:
        result |= among & reach(ORTHODOX, frame.kinds[bit_man], BIT[square], ~occupied)
    return result


@kernel
def _by_pawns(search: WinSearch, squares: Ints, word: int, occupied: Word, among: Word) -> tuple[Word, Word]:
    """Positions in which Black may move a pawn or capture one, and those in which this may be an escape."""
    frame, bit_man = search.frame, search.frame.scalars
    able = spoilt = ZERO
    white = frame.pawns[0]
    for man in range(bit_man):
        white |= ZERO if frame.colours[man] else BIT[squares[man]]
    for pawn in bits_of(frame.pawns[1]):
        if PAWN_ATTACKS[1, pawn] & white:
            spoilt = among
        elif frame.colours[bit_man] == WHITE:
            spoilt |= among & PAWN_ATTACKS[1, pawn]
    for pawn in bits_of(frame.pawns[0]):
        spoilt |= _attackers(search, squares, pawn, occupied, among)
    for number in range(len(search.pushes)):
        passed, target, row = search.pushes[number]
        way = BIT[passed] | BIT[target]
        if way & occupied:
            continue
        legal = among & ~way & search.legal_pushed[number, word]
        able |= legal
        legal &= ~search.won_pushed[number, word]
        if legal and target < 8:
            left = occupied & ~BIT[search.taken[row]]
            legal &= ~_won_by_taking(search, squares, word, left, legal, target, search.won_taken[row])
        spoilt |= legal
    return able | spoilt, spoilt


@inlined
def _attackers(search: WinSearch, squares: Ints, square: int, occupied: Word, among: Word) -> Word:
    """Positions in which one of Black's mobile men attacks an occupied square."""
    frame, bit_man = search.frame, search.frame.scalars
    found = ZERO
    for man in range(bit_man):
        if frame.colours[man] == BLACK and attacks_along(ORTHODOX, frame.kinds[man], squares[man], square):
            passed = ORTHODOX.passed[frame.kinds[man], squares[man], square]
            found |= ZERO if passed & occupied else among & ~passed
    if frame.colours[bit_man] == BLACK:
        found |= among & reach(ORTHODOX, frame.kinds[bit_man], BIT[square], ~occupied)
    return found


@kernel
def _quietly(search: WinSearch, word: int, squares: Ints, occupied: Word, among: Word, after: Words) -> Word:
    """Positions in which a quiet move of Black leads to a set of positions.

    :param among: the positions of the word to examine.
    :param after: uint64 (words,): the set, with White to move.
    """
    frame, moves = search.frame, search.frame.moves
    rest, bit_man = among, search.frame.scalars
    if frame.colours[bit_man] == BLACK:
        rest &= ~reach(ORTHODOX, frame.kinds[bit_man], after[word], ~occupied)
    for man in range(bit_man):
        if rest == ZERO:
            break
        if frame.movers[man] != BLACK:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        for number in range(1, moves.leap_targets[kind, square, 0] + 1):
            target = moves.leap_targets[kind, square, number]
            rest &= ~after[word + ((target - square) << shift)]
        for way in range(moves.leaps[kind], moves.ways[kind]):
            free = rest
            for step in range(1, moves.way[kind, square, way, 0] + 1):
                target = int64(moves.way[kind, square, way, step])
                free &= ~BIT[target]
                if occupied & BIT[target] or free == ZERO:
                    break
                rest &= ~(free & after[word + ((target - square) << shift)])
    return among & ~rest


@kernel
def _lost(search: WinSearch, word: int, among: Word) -> Word:
    """Positions of a word with Black to move in which all his moves lose, or he is mated.

    :param among: the positions of the word to examine.
    """
    squares = search.found.squares
    occupied = decode(search.frame, word, squares)
    among &= ~_quietly(search, word, squares, occupied, among, search.left[WHITE])
    if among == ZERO:
        return ZERO
    captures, _, saving = _captures(search, squares, BLACK, occupied, among)
    pushes, saved = _by_pawns(search, squares, word, occupied, among)
    among &= ~(saving | saved)
    stuck = among & search.legal[WHITE, word] & ~(captures | pushes)  # not in check
    if stuck:
        among &= ~stuck | _quietly(search, word, squares, occupied, stuck, search.legal[WHITE])
    lost: Word = among
    return lost


@inlined
def _mark(search: WinSearch, word: int, round_: int) -> None:
    """Mark a word with Black to move to be examined, by its own part or by another one."""
    each = search.frame.words >> 6
    rank = (word & (each - 1)) // (each >> 3)
    if search.ranks[0] <= rank < search.ranks[1]:
        search.own[word >> 6] |= BIT[word & 63]
    else:
        search.marks[round_ & 1, search.part, word >> 6] |= BIT[word & 63]


@inlined
def _runs(search: WinSearch) -> tuple[int, int, int]:
    """The words of a part, as a strided range: its first word with White's king on a1, its number of words
    for each square of White's king, and the stride from one square to the next."""
    each = search.frame.words >> 6
    rank = each >> 3
    return search.ranks[0] * rank, (search.ranks[1] - search.ranks[0]) * rank, each


@kernel
def _mark_before(search: WinSearch, word: int, bits: Word, round_: int) -> None:
    """Mark the words from which Black may have moved to newly won positions."""
    frame, before = search.frame, search.before
    for number in range(scalar_moves(frame, word, bits, BLACK, before)):
        _mark(search, before.word[number], round_)
    if frame.colours[frame.scalars] == BLACK:
        _mark(search, word, round_)


@inlined
def _win(search: WinSearch, word: int, bits: Word, round_: int) -> None:
    """Record as won the legal positions among ``bits`` of a word with White to move."""
    more = bits & search.left[WHITE, word]
    if more:
        search.left[WHITE, word] &= ~more
        if round_ >= _DENSE:
            _mark_before(search, word, more, round_)


@jit
def win_by_captures(search: WinSearch) -> None:
    """Find the positions of a part that White wins by a capture."""
    first, run, each = _runs(search)
    for square in range(64):
        for word in range(square * each + first, square * each + first + run):
            legal = search.legal[WHITE, word]
            if legal:
                search.left[WHITE, word] &= ~_won_by_captures(search, word, legal)


@kernel
def _won_by_captures(search: WinSearch, word: int, legal: Word) -> Word:
    squares = search.found.squares
    occupied = decode(search.frame, word, squares)
    won = _captures(search, squares, WHITE, occupied, legal)[1]
    for row in range(len(search.taken)):
        square, after = search.taken[row], search.won_taken[row]
        won |= _won_by_taking(search, squares, word, occupied, legal, square, after)
    return won


@jit
def find_lost(search: WinSearch, round_: int, new: Words) -> int:
    """Find positions of a part with Black to move that are lost; return the number of new ones.

    The first rounds examine all words, later ones those that are marked. Without levels, the wins that
    follow are recorded at once and count in the rest of the round, so fewer rounds are needed. With levels,
    lost positions are only recorded in ``new``.

    :param new: output, uint64 (words,).
    """
    count = int64(0)
    first, run, each = _runs(search)
    for square in range(64):
        begin = square * each + first
        for mark in range(begin >> 6, (begin + run) >> 6):
            count += _find_lost(search, mark, round_, new)
    return count


@kernel
def _find_lost(search: WinSearch, mark: int, round_: int, new: Words) -> int:
    """Do the work of :func:`find_lost` for 64 words."""
    count, marked, before = int64(0), search.own[mark], 1 - (round_ & 1)
    search.own[mark] = ZERO
    for part in range(search.marks.shape[1]):
        marked |= search.marks[before, part, mark]
        search.marks[before, part, mark] = ZERO
    for bit in bits_of(marked if round_ > _DENSE else ~ZERO):
        word = mark << 6 | bit
        among = search.left[BLACK, word]
        lost = _lost(search, word, among) if among else ZERO
        if lost:
            for slot in bits_of(lost):
                count += 1
                if len(search.level):
                    search.level[word << 6 | slot] = round_
            if len(search.level):
                new[word] = lost
            else:
                _lose(search, word, lost, round_)
    return count


@jit
def find_won(search: WinSearch, round_: int, new: Words) -> None:
    """Record the wins that follow from newly lost positions of a part, and clear the part in ``new``."""
    first, run, each = _runs(search)
    for square in range(64):
        for word in range(square * each + first, square * each + first + run):
            lost = new[word]
            if lost:
                new[word] = ZERO
                _lose(search, word, lost, round_)


@kernel
def _lose(search: WinSearch, word: int, lost: Word, round_: int) -> None:
    """Record positions with Black to move as won by White, and also all positions from which White can move
    to them; mark the words from which Black can reach the latter."""
    frame, found = search.frame, search.found
    search.left[BLACK, word] &= ~lost
    if frame.colours[frame.scalars] == WHITE:
        free = ~decode(frame, word, found.squares)
        _win(search, word, reach(ORTHODOX, frame.kinds[frame.scalars], lost, free), round_)
    for number in range(scalar_moves(frame, word, lost, WHITE, found)):
        _win(search, found.word[number], found.bits[number], round_)
