"""Finding the positions of a cell in which White forces mate, backwards from winning captures and from mates.

White's pawns stand still. Every capture by a black pawn or of a white pawn counts as an escape for Black,
even if it is illegal. A move to a position that is not proved to be won also counts as an escape, unless the
move is a promotion and White wins by capturing the promoted man at once. Therefore every win that is found is
genuine, but some wins are missed.
"""

from dataclasses import dataclass

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.moves.geometry import BIT, ORTHODOX, PAWN_ATTACKS
from tbgen.moves.kernels.frame import decode, reach
from tbgen.moves.kernels.moves import MoveBuffer, list_scalar_successors
from tbgen.moves.kernels.targets import attacks_along
from tbgen.moves.kernels.words import ZERO, Codes, Ints, Word, Words, bits_of
from tbgen.moves.structs import Frame

WHITE, BLACK = int64(0), int64(1)

_DENSE_ROUNDS = 3
"""Number of initial rounds that examine all words. These rounds find most wins, so marking the words to
examine would take longer than examining all of them."""


@dataclass(frozen=True, eq=False)
class WinSearch(Struct):
    """The data of one part of a search in a cell. Parts share all arrays except ``ranks`` and the buffers."""

    frame: Frame
    legal: Words
    """uint64 (2, words): the legal positions, by side to move."""
    unproved: Words
    """uint64 (2, words): the legal positions that are not yet proved to be won, by side to move."""
    own_marks: Words
    """uint64 (words // 64,): words with Black to move that this part has marked for itself to examine."""
    marks: Words
    """uint64 (2, parts, words // 64): words that each part has marked for other parts to examine, in even and
    in odd rounds. Marks are read only in the next round and each part has its own row, so no two threads
    write to the same place."""
    part: int
    """Index of this part. A part has Black's king on certain ranks, so White's moves stay in the part."""
    ranks: Ints
    """int64 (2,): the ranks of Black's king in this part, as a half-open range."""
    legal_after: Words
    """uint64 (men, words // 64): for each man, the legal positions after its capture, with the captured man's
    side to move. The squares of the remaining men, in order, form the slot."""
    won_after: Words
    """uint64 (men, words // 64): the positions of ``legal_after`` that White wins."""
    pushes: Ints
    """int64 (n, 3): steps of Black's pawns. A row has the square after a single step, the target square and
    the index of the pawn. A promotion has one row for each kind of promoted man."""
    legal_pushed: Words
    """uint64 (n, words): the legal positions after each step, with White to move; the slot is that of the
    position before the step."""
    won_pushed: Words
    """uint64 (n, words): the positions of ``legal_pushed`` that White wins."""
    black_pawns: Ints
    """int64 (pawns,): the squares of Black's pawns."""
    won_after_pawn_capture: Words
    """uint64 (pawns, words): for each black pawn, the positions after its capture that White wins, with
    Black to move."""
    rounds: Codes
    """uint8 (slots,): the round in which each position with Black to move was found; (0,) if not needed."""
    buffer: MoveBuffer
    """Buffer for moves to or from the positions of a word, and for the squares of the men in a word."""
    earlier_buffer: MoveBuffer
    """Second buffer, for the moves that may precede a move in ``buffer``."""


@inlined
def _index_without(frame: Frame, squares: Ints, victim: int) -> int:
    """Index formed by the squares of the scalars that remain after the capture of ``victim``.

    It is the index of a word if a scalar was captured, and of a slot if the bit man was captured.
    """
    slot = int64(0)
    for man in range(frame.scalars):
        if man != victim:
            slot = slot << 6 | squares[man]
    return slot


@inlined
def _result_of_capture(search: WinSearch, victim: int, slot: int) -> tuple[bool, bool]:
    """Whether the position of a slot after the capture of ``victim`` is legal, and whether White wins it."""
    word, bit = slot >> 6, BIT[slot & 63]
    return search.legal_after[victim, word] & bit != ZERO, search.won_after[victim, word] & bit != ZERO


@inlined
def _capture_of_scalar(
    search: WinSearch, squares: Ints, man: int, victim: int, occupied: Word, bits: Word
) -> tuple[Word, Word]:
    """The positions in which ``man`` can capture a scalar, and those that White wins after the capture."""
    frame = search.frame
    square = squares[victim]
    bit_man, kind = frame.scalars, frame.kinds[man]
    if man == bit_man:
        able = bits & reach(ORTHODOX, kind, BIT[square], ~occupied)
        if able == ZERO:
            return ZERO, ZERO
        legal, won = _result_of_capture(search, victim, _index_without(frame, squares, victim) << 6 | square)
        return able if legal else ZERO, able if won else ZERO
    origin = squares[man]
    passed = ORTHODOX.passed_squares[kind, origin, square]
    if passed & occupied or not attacks_along(ORTHODOX, kind, origin, square):
        return ZERO, ZERO
    squares[man] = square
    after = _index_without(frame, squares, victim)
    squares[man] = origin
    able = bits & ~passed & search.legal_after[victim, after]
    return able, able & search.won_after[victim, after]


@inlined
def _capture_of_bit_man(
    search: WinSearch, squares: Ints, man: int, occupied: Word, bits: Word
) -> tuple[Word, Word]:
    """The positions in which ``man`` can capture the bit man, and those that White wins after the capture."""
    frame, bit_man = search.frame, search.frame.scalars
    origin = squares[man]
    able = won = ZERO
    for square in bits_of(bits & reach(ORTHODOX, frame.kinds[man], BIT[origin], ~occupied)):
        squares[man] = square
        is_legal, is_won = _result_of_capture(search, bit_man, _index_without(frame, squares, bit_man))
        able |= BIT[square] if is_legal else ZERO
        won |= BIT[square] if is_won else ZERO
    squares[man] = origin
    return able, won


@kernel
def _find_captures(
    search: WinSearch, squares: Ints, side: int, occupied: Word, bits: Word
) -> tuple[Word, Word, Word]:
    """Three sets of positions of a word: those in which ``side`` can capture a mobile man, those that White
    wins after such a capture, and those that White is not proved to win after such a capture."""
    frame, bit_man = search.frame, search.frame.scalars
    able = won = escapes = ZERO
    for victim in range(2, bit_man + 1):
        if frame.colours[victim] == side:
            continue
        for man in range(bit_man + 1):
            if frame.colours[man] != side:
                continue
            if victim == bit_man:
                legal, wins = _capture_of_bit_man(search, squares, man, occupied, bits)
            else:
                legal, wins = _capture_of_scalar(search, squares, man, victim, occupied, bits)
            able |= legal
            won |= wins
            escapes |= legal & ~wins
    return able, won, escapes


@kernel
def _wins_on_square(
    search: WinSearch, squares: Ints, word: int, occupied: Word, bits: Word, square: int, won: Words
) -> Word:
    """The positions of a word that White wins by a capture on ``square``.

    :param won: uint64 (words,): the positions after the capture that White wins, by the squares of the mobile
        men.
    """
    frame = search.frame
    bit_man = search.frame.scalars
    result = ZERO
    for man in range(bit_man):
        origin, kind = squares[man], frame.kinds[man]
        if frame.colours[man] == WHITE and attacks_along(ORTHODOX, kind, origin, square):
            passed = ORTHODOX.passed_squares[kind, origin, square]
            if passed & occupied == ZERO:
                after = word + ((square - origin) << frame.shifts[man])
                result |= bits & ~passed & won[after]
    if frame.colours[bit_man] == WHITE and won[word] & BIT[square]:
        result |= bits & reach(ORTHODOX, frame.kinds[bit_man], BIT[square], ~occupied)
    return result


@kernel
def _pawn_moves(search: WinSearch, squares: Ints, word: int, occupied: Word, bits: Word) -> tuple[Word, Word]:
    """The positions in which Black may move a pawn, capture with a pawn or capture a white pawn, and those in
    which this may save Black."""
    frame, bit_man = search.frame, search.frame.scalars
    able = escapes = ZERO
    white_men = frame.pawns[0]
    for man in range(bit_man):
        white_men |= ZERO if frame.colours[man] else BIT[squares[man]]
    for pawn in bits_of(frame.pawns[1]):
        if PAWN_ATTACKS[1, pawn] & white_men:
            escapes = bits
        elif frame.colours[bit_man] == WHITE:
            escapes |= bits & PAWN_ATTACKS[1, pawn]
    for pawn in bits_of(frame.pawns[0]):
        escapes |= _attacks_on_square(search, squares, pawn, occupied, bits)
    for push in range(len(search.pushes)):
        passed, target, row = search.pushes[push]
        path = BIT[passed] | BIT[target]
        if path & occupied:
            continue
        legal = bits & ~path & search.legal_pushed[push, word]
        able |= legal
        legal &= ~search.won_pushed[push, word]
        if legal and target < 8:
            blockers = occupied & ~BIT[search.black_pawns[row]]
            won = search.won_after_pawn_capture[row]
            legal &= ~_wins_on_square(search, squares, word, blockers, legal, target, won)
        escapes |= legal
    return able | escapes, escapes


@inlined
def _attacks_on_square(search: WinSearch, squares: Ints, square: int, occupied: Word, bits: Word) -> Word:
    """The positions in which one of Black's mobile men attacks an occupied square."""
    frame, bit_man = search.frame, search.frame.scalars
    attacked = ZERO
    for man in range(bit_man):
        if frame.colours[man] == BLACK and attacks_along(ORTHODOX, frame.kinds[man], squares[man], square):
            passed = ORTHODOX.passed_squares[frame.kinds[man], squares[man], square]
            attacked |= ZERO if passed & occupied else bits & ~passed
    if frame.colours[bit_man] == BLACK:
        attacked |= bits & reach(ORTHODOX, frame.kinds[bit_man], BIT[square], ~occupied)
    return attacked


@kernel
def _reaching(search: WinSearch, word: int, squares: Ints, occupied: Word, bits: Word, after: Words) -> Word:
    """The positions in which a quiet move of Black leads to one of the positions ``after``.

    :param bits: the positions of the word to examine.
    :param after: uint64 (words,): a set of positions with White to move.
    """
    frame = search.frame
    unreachable = bits
    bit_man = search.frame.scalars
    if frame.colours[bit_man] == BLACK:
        unreachable &= ~reach(ORTHODOX, frame.kinds[bit_man], after[word], ~occupied)
    for man in range(bit_man):
        if unreachable == ZERO:
            break
        if frame.mover_colours[man] != BLACK:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        for target in bits_of(reach(ORTHODOX, kind, BIT[square], ~occupied)):
            free = unreachable & ~(ORTHODOX.passed_squares[kind, square, target] | BIT[target])
            unreachable &= ~(free & after[word + ((target - square) << shift)])
    return bits & ~unreachable


@kernel
def _lost_positions(search: WinSearch, word: int, bits: Word) -> Word:
    """The positions of a word with Black to move in which Black is mated or has only losing moves.

    :param bits: the positions of the word to examine.
    """
    squares = search.buffer.squares
    occupied = decode(search.frame, word, squares)
    bits &= ~_reaching(search, word, squares, occupied, bits, search.unproved[WHITE])
    if bits == ZERO:
        return ZERO
    captures, _, capture_escapes = _find_captures(search, squares, BLACK, occupied, bits)
    pushes, pawn_escapes = _pawn_moves(search, squares, word, occupied, bits)
    bits &= ~(capture_escapes | pawn_escapes)
    stalemates = bits & search.legal[WHITE, word] & ~(captures | pushes)  # not in check
    if stalemates:
        bits &= ~stalemates | _reaching(search, word, squares, occupied, stalemates, search.legal[WHITE])
    lost: Word = bits
    return lost


@inlined
def _mark(search: WinSearch, word: int, round_: int) -> None:
    """Mark a word with Black to move for examination, by this part or by another part."""
    words_per_square = search.frame.words >> 6
    king_rank = (word & (words_per_square - 1)) // (words_per_square >> 3)
    if search.ranks[0] <= king_rank < search.ranks[1]:
        search.own_marks[word >> 6] |= BIT[word & 63]
    else:
        search.marks[round_ & 1, search.part, word >> 6] |= BIT[word & 63]


@inlined
def _words_of_part(search: WinSearch) -> tuple[int, int, int]:
    """The words of a part as a strided range: the first word with White's king on a1, the number of words for
    each square of White's king, and the stride from each square to the next."""
    stride = search.frame.words >> 6
    words_per_rank = stride >> 3
    return search.ranks[0] * words_per_rank, (search.ranks[1] - search.ranks[0]) * words_per_rank, stride


@kernel
def _mark_predecessors(search: WinSearch, word: int, bits: Word, round_: int) -> None:
    """Mark the words from which Black may move to newly won positions."""
    frame, buffer = search.frame, search.earlier_buffer
    for move in range(list_scalar_successors(frame, word, bits, BLACK, buffer)):
        _mark(search, buffer.word[move], round_)
    if frame.colours[frame.scalars] == BLACK:
        _mark(search, word, round_)


@inlined
def _record_won(search: WinSearch, word: int, bits: Word, round_: int) -> None:
    """Record that White wins the legal positions among ``bits`` of a word with White to move."""
    new_wins = bits & search.unproved[WHITE, word]
    if new_wins:
        search.unproved[WHITE, word] &= ~new_wins
        if round_ >= _DENSE_ROUNDS:
            _mark_predecessors(search, word, new_wins, round_)


@jit
def find_capture_wins(search: WinSearch) -> None:
    """Find the positions of a part that White wins by a capture."""
    first_word, words, stride = _words_of_part(search)
    for square in range(64):
        for word in range(square * stride + first_word, square * stride + first_word + words):
            legal = search.legal[WHITE, word]
            if legal:
                search.unproved[WHITE, word] &= ~_capture_wins_of_word(search, word, legal)


@kernel
def _capture_wins_of_word(search: WinSearch, word: int, legal: Word) -> Word:
    squares = search.buffer.squares
    occupied = decode(search.frame, word, squares)
    won = _find_captures(search, squares, WHITE, occupied, legal)[1]
    for row in range(len(search.black_pawns)):
        square = search.black_pawns[row]
        after = search.won_after_pawn_capture[row]
        won |= _wins_on_square(search, squares, word, occupied, legal, square, after)
    return won


@jit
def find_lost_positions(search: WinSearch, round_: int, newly_lost: Words) -> int:
    """Find lost positions of a part with Black to move, and return the number of those newly found.

    The first rounds examine all words, later rounds only the marked words. If the rounds of positions are not
    recorded, the wins that follow from a lost position are recorded at once. These wins already count in the
    rest of the round, so fewer rounds are needed. If the rounds are recorded, lost positions are only entered
    in ``newly_lost``.

    :param newly_lost: output, uint64 (words,).
    """
    count = int64(0)
    first_word, words, stride = _words_of_part(search)
    for square in range(64):
        begin = square * stride + first_word
        for group in range(begin >> 6, (begin + words) >> 6):
            count += _find_lost_in_group(search, group, round_, newly_lost)
    return count


@kernel
def _find_lost_in_group(search: WinSearch, group: int, round_: int, newly_lost: Words) -> int:
    """Find lost positions in a group of 64 words, as described under :func:`find_lost_positions`."""
    count = int64(0)
    marked = search.own_marks[group]
    previous = 1 - (round_ & 1)
    search.own_marks[group] = ZERO
    for part in range(search.marks.shape[1]):
        marked |= search.marks[previous, part, group]
        search.marks[previous, part, group] = ZERO
    for bit in bits_of(marked if round_ > _DENSE_ROUNDS else ~ZERO):
        word = group << 6 | bit
        bits = search.unproved[BLACK, word]
        lost = _lost_positions(search, word, bits) if bits else ZERO
        if lost:
            for slot in bits_of(lost):
                count += 1
                if len(search.rounds):
                    search.rounds[word << 6 | slot] = round_
            if len(search.rounds):
                newly_lost[word] = lost
            else:
                _record_lost(search, word, lost, round_)
    return count


@jit
def record_wins(search: WinSearch, round_: int, newly_lost: Words) -> None:
    """Record the wins that follow from the newly lost positions of a part, and clear these positions."""
    first_word, words, stride = _words_of_part(search)
    for square in range(64):
        for word in range(square * stride + first_word, square * stride + first_word + words):
            lost = newly_lost[word]
            if lost:
                newly_lost[word] = ZERO
                _record_lost(search, word, lost, round_)


@kernel
def _record_lost(search: WinSearch, word: int, lost: Word, round_: int) -> None:
    """Record that White wins the positions ``lost`` of a word with Black to move, and all positions from
    which White can move to them. Mark the words from which Black can move to newly won positions.
    """
    frame, buffer = search.frame, search.buffer
    search.unproved[BLACK, word] &= ~lost
    if frame.colours[frame.scalars] == WHITE:
        free = ~decode(frame, word, buffer.squares)
        _record_won(search, word, reach(ORTHODOX, frame.kinds[frame.scalars], lost, free), round_)
    for move in range(list_scalar_successors(frame, word, lost, WHITE, buffer)):
        _record_won(search, buffer.word[move], buffer.bits[move], round_)
