"""Which positions of a cell White wins by force, as bits: backwards from captures that win, and from mates.

White's pawns stand still. Every capture by a pawn of Black's, and of a pawn of White's, counts as an escape,
legal or not, and so does every move to a cell of which nothing is known, unless White captures a promoted man
at once and wins. So what is found is won, but not all that is won is found.
"""

from dataclasses import dataclass

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.retro.geometry import BIT, ORTHODOX, PAWN_ATTACKS
from tbgen.retro.kernels.frame import Frame, attacks_along, decode, reach
from tbgen.retro.kernels.moves import MovesFound, onward
from tbgen.retro.kernels.words import ZERO, Codes, Ints, Word, Words, bits_of

WHITE, BLACK = int64(0), int64(1)

_DENSE = 3
"""First rounds that look at all words: most positions are found in them, and to mark what is to be looked at
takes longer."""


@dataclass(frozen=True, eq=False)
class WinSearch(Struct):
    """A cell, and what is known to be won."""

    frame: Frame
    legal: Words
    """uint64 (2, words), by side to move."""
    left: Words
    """uint64 (2, words), by side to move: legal positions that White is not known to win."""
    own: Words
    """uint64 (words // 64,): words with Black to move that have to be looked at after the first rounds, as
    their own part has found..."""
    marks: Words
    """...and uint64 (2, parts, words // 64): as other parts have found, in even and odd rounds. A part reads
    what others have found in the round before, so no two threads write to the same place."""
    part: int
    """Number of this part: Black's king is on some ranks, which White's moves do not change."""
    ranks: Ints
    """int64 (2,): the first of these ranks, and the one after the last."""
    legal_after: Words
    """uint64 (men, words // 64): legal positions after the capture of a man, the side that has lost it to
    move, by the squares of the others in their order..."""
    won_after: Words
    """...and those of them that White wins."""
    pushes: Ints
    """int64 (n, 3): steps of Black's pawns, a promotion counting for each kind: the first square, the last
    one, and the pawn's place among them."""
    legal_pushed: Words
    """uint64 (n, words): legal positions after a step, White to move, by the squares of the mobile men..."""
    won_pushed: Words
    """...and those of them that White wins."""
    taken: Ints
    """int64 (pawns,): squares of Black's pawns."""
    won_taken: Words
    """uint64 (pawns, words): positions without one of them that White wins, Black to move."""
    level: Codes
    """uint8 (slots,), or (0,) if nobody wants it: by which round a position with Black to move was found."""
    found: MovesFound
    before: MovesFound
    """Room for moves, forwards or backwards, and for those before them."""


@inlined
def _place_after(frame: Frame, squares: Ints, victim: int) -> int:
    """The slot of the men that are left after a capture, without the bit man if he is left."""
    slot = int64(0)
    for man in range(frame.scalars):
        if man != victim:
            slot = slot << 6 | squares[man]
    return slot


@inlined
def _weigh(search: WinSearch, victim: int, slot: int) -> tuple[bool, bool]:
    """Whether a slot after a capture is legal, and whether White wins it."""
    word, bit = slot >> 6, BIT[slot & 63]
    return search.legal_after[victim, word] & bit != ZERO, search.won_after[victim, word] & bit != ZERO


@inlined
def _capture_of_scalar(
    search: WinSearch, squares: Ints, man: int, victim: int, occupied: Word, among: Word
) -> tuple[Word, Word]:
    """Positions in which a man can capture a scalar, and those of them in which White wins by that."""
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
    """Positions in which a scalar can capture the bit man, and those of them in which White wins by that."""
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
    """Positions of a word in which a side can capture a mobile man; those in which some capture wins for
    White; and those in which some capture does not."""
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
    """Positions of a word that White wins by a capture on a square; ``won`` uint64 (words,) is what he wins
    after that, by the squares of the mobile men."""
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
    """Positions in which Black has a move of a pawn or a capture of one, and those in which it may save
    him."""
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
    """Positions in which one of Black's mobile men attacks a square that is occupied."""
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
    """Positions ``among`` a word from which a quiet move of Black's leads to those of ``after``, uint64
    (words,), White to move; all as soon as none remains."""
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
    """Of the positions ``among`` of a word with Black to move, those in which all his moves lose, or it is
    mate."""
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
    each = search.frame.words >> 6
    rank = (word & (each - 1)) // (each >> 3)
    if search.ranks[0] <= rank < search.ranks[1]:
        search.own[word >> 6] |= BIT[word & 63]
    else:
        search.marks[round_ & 1, search.part, word >> 6] |= BIT[word & 63]


@inlined
def _runs(search: WinSearch) -> tuple[int, int, int]:
    """The first word of a part, how many follow one another for each square of White's king, and the words
    for each of these squares."""
    each = search.frame.words >> 6
    rank = each >> 3
    return search.ranks[0] * rank, (search.ranks[1] - search.ranks[0]) * rank, each


@kernel
def _mark_before(search: WinSearch, word: int, bits: Word, round_: int) -> None:
    """Mark the words from which Black may have moved to positions that White wins."""
    frame, before = search.frame, search.before
    for number in range(onward(frame, word, bits, BLACK, before)):
        _mark(search, before.word[number], round_)
    if frame.colours[frame.scalars] == BLACK:
        _mark(search, word, round_)


@inlined
def _win(search: WinSearch, word: int, bits: Word, round_: int) -> None:
    """Add positions of a word with White to move, as far as they are legal, to what White wins."""
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
    """Look at the words of a part with Black to move, at all of them in the first rounds and then at those
    that are marked, and return how many positions he has newly lost.

    Without levels, what this lets White win counts at once, for what comes later in the same round too, so
    fewer rounds are needed; with levels, what is lost goes into ``new``, uint64 (words,).
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
    """As :func:`find_lost`, of 64 words."""
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
    """Add what Black has newly lost in a part to what White wins. ``new`` has nothing of the part
    afterwards."""
    first, run, each = _runs(search)
    for square in range(64):
        for word in range(square * each + first, square * each + first + run):
            lost = new[word]
            if lost:
                new[word] = ZERO
                _lose(search, word, lost, round_)


@kernel
def _lose(search: WinSearch, word: int, lost: Word, round_: int) -> None:
    """Add positions that Black has lost to what White wins, with those from which he moves there; mark what
    is to be looked at for that."""
    frame, found = search.frame, search.found
    search.left[BLACK, word] &= ~lost
    if frame.colours[frame.scalars] == WHITE:
        free = ~decode(frame, word, found.squares)
        _win(search, word, reach(ORTHODOX, frame.kinds[frame.scalars], lost, free), round_)
    for number in range(onward(frame, word, lost, WHITE, found)):
        _win(search, found.word[number], found.bits[number], round_)
