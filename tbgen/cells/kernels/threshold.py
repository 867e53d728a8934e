"""The threshold of a cell: for which positions can a side force a score that is at least as good?

Two *attractors*, the sets from which White and from which Black can force play to leave the open positions
with a good result, are extended from rank to rank. Section 12 of docs/theory.md proves that this is right.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.moves.geometry import BIT
from tbgen.moves.kernels.best_exits import GOOD_EXIT, ExitSearch, record_exits
from tbgen.moves.kernels.frame import decode, enter_word, reach
from tbgen.moves.kernels.moves import (
    MAX_WORD_MOVES,
    SLICES,
    MoveBuffer,
    count_quiet_moves,
    list_scalar_successors,
    move_buffer,
    positions_of_rank,
)
from tbgen.moves.kernels.words import ZERO, Codes, Ints, Word, Words, bits_of, put
from tbgen.moves.structs import Exits, Frame, Men, Pool

Rounds: TypeAlias = NDArray[np.uint32]
"""Numbers of rounds."""
NEVER = 255
"""Element of ``Attractors.joined`` of a position that has joined neither attractor."""
FIRST_RANK = 2
"""The least rank of a position that is not over. Exits and mates count as joining at this rank."""


@dataclass(frozen=True, eq=False)
class Attractors(Struct):
    """The two attractors of a threshold. Sets of positions are uint64 (2, words), by side to move."""

    frame: Frame
    legal: Words
    """Legal positions."""
    rank_bits: Words
    """uint64 (2, words, slices): bit-sliced ranks (``tbgen.moves.kernels.moves``) of the open positions, at
    least. Ranks that do not matter may be replaced by others that do not."""
    open: Words
    """Positions that are in neither attractor and not settled."""
    escapes: Words
    """Legal positions that the side to move is not known to win."""
    settled: Words
    """Positions that have just been settled."""
    marks: Words
    """uint64 (2, words / 64): by attacker, the words with the defender to move that must be examined."""
    joined: Codes
    """uint8 (2, slots): the rank at which each position has joined an attractor; (2, 0) if not wanted."""
    rounds: Rounds
    """uint32 (2, slots): the round in which each position has joined an attractor; (2, 0) if not wanted."""
    round: Ints
    """int64 (1,): the number of the current round. Rounds are numbered through all ranks."""
    buffer: MoveBuffer
    """Buffer for the moves of a word."""
    earlier_buffer: MoveBuffer
    """Second buffer, for the moves of a word from which a move leads to this word."""


@dataclass(frozen=True, eq=False)
class ExitScratch(Struct):
    """Scratch memory for finding the exits of a word."""

    exits: Exits
    """Best exits, which are not searched; empty."""
    men: Men
    slices: Words
    """uint64 (SLICES + 1,): as in ``ExitSearch``."""


@jit
def count_moves(
    frame: Frame,
    pool: Pool,
    legal: Words,
    among: Words,
    rank_bits: Words,
    scratch: ExitScratch,
    start: int,
    stop: int,
) -> None:
    """Find the ranks of the positions ``among`` the legal ones in the words ``start`` to ``stop`` - 1.

    :param pool: any pool of proofs for the cell.
    :param legal: as in ``Attractors``.
    :param rank_bits: output, as in ``Attractors``. If a rank needs more slices, all its bits are set.
    """
    slices, men, buffer = scratch.slices, scratch.men, move_buffer(MAX_WORD_MOVES)
    kept = rank_bits.shape[2]
    for word in range(start, stop):
        for side in range(2):
            own, other, excess = among[side, word], legal[1 - side], ZERO
            slices[:] = ZERO
            if own:
                slices[0] = own & other[word]
                count_quiet_moves(frame, word, side, own, other, buffer, slices)
                occupied = enter_word(frame, word, men)
                record_exits(
                    ExitSearch(frame, pool, scratch.exits, side, 0, own, occupied, men, slices, False, True)
                )
                for index in range(kept, SLICES):
                    excess |= slices[index]
            for index in range(kept):
                rank_bits[side, word, index] = slices[index] | excess


@kernel
def _good_exits(frame: Frame, pool: Pool, scratch: ExitScratch, side: int, word: int, legal: Word) -> Word:
    """The legal positions of a word with ``side`` to move that have a good exit for this side."""
    slices, men = scratch.slices, scratch.men
    slices[GOOD_EXIT] = ZERO
    if legal:
        occupied = enter_word(frame, word, men)
        record_exits(
            ExitSearch(frame, pool, scratch.exits, side, 0, legal, occupied, men, slices, False, False)
        )
    good: Word = slices[GOOD_EXIT]
    return good


@jit
def mark_good_exits(
    frame: Frame, pool: Pool, side: int, legal: Words, scratch: ExitScratch, marked: Words
) -> None:
    """Set ``marked``, uint64 (words,), to the positions with ``side`` to move that have a good exit for it.

    :param legal: as in ``Attractors``.
    :param pool: the proofs of a threshold after the moves out of the cell.
    """
    for word in range(frame.words):
        marked[word] = _good_exits(frame, pool, scratch, side, word, legal[side, word])


@jit
def find_exits(search: Attractors, pool: Pool, scratch: ExitScratch, start: int, stop: int) -> None:
    """Let the positions with a good exit join their mover's attractor.

    The result covers the words ``start`` to ``stop`` - 1.

    :param pool: the proofs of the threshold after the moves out of the cell.
    """
    for word in range(start, stop):
        for side in range(2):
            legal = search.legal[side, word]
            search.joined[side, word * 64 : word * 64 + 64] = NEVER
            good = _good_exits(search.frame, pool, scratch, side, word, legal)
            _join(search, side, word, good, FIRST_RANK)
            search.open[side, word] = search.escapes[side, word] = legal & ~good


@inlined
def _join(search: Attractors, side: int, word: int, bits: Word, rank: int) -> None:
    """Record the rank and the round at which positions with ``side`` to move join an attractor."""
    if search.joined.shape[1]:
        put(search.joined[side], word * 64, bits, rank)
    if search.rounds.shape[1]:
        put(search.rounds[side], word * 64, bits, search.round[0])


@inlined
def _escaping(
    search: Attractors, mover: int, word: int, squares: Ints, occupied: Word, bits: Word, after: Words
) -> Word:
    """The positions among ``bits`` without a quiet move to one of the positions ``after``."""
    frame = search.frame
    stuck = bits
    bit_man = search.frame.scalars
    moves = frame.moves
    if frame.mover_colours[bit_man] == mover:
        stuck &= ~reach(moves, frame.kinds[bit_man], after[word], ~occupied)
    for man in range(bit_man - 1, -1, -1):
        if stuck == ZERO:
            break
        if frame.mover_colours[man] != mover:
            continue
        square, kind, shift = squares[man], frame.kinds[man], frame.shifts[man]
        for target in bits_of(reach(moves, kind, BIT[square], ~occupied)):
            free = stuck & ~(moves.passed_squares[kind, square, target] | BIT[target])
            stuck &= ~(free & after[word + ((target - square) << shift)])
    return stuck


@kernel
def _join_attacker(
    search: Attractors, attacker: int, word: int, bits: Word, rank: int, marking: bool
) -> None:
    """Add positions with the attacker to move to its attractor, and mark the words before them."""
    frame = search.frame
    defender = 1 - attacker
    buffer = search.earlier_buffer
    search.open[attacker, word] &= ~bits
    search.escapes[attacker, word] &= ~bits
    _join(search, attacker, word, bits, rank)
    if not marking:
        return
    for index in range(list_scalar_successors(frame, word, bits, defender, buffer)):
        before = buffer.word[index]
        if buffer.bits[index] & search.open[defender, before]:
            search.marks[attacker, before >> 6] |= BIT[before & 63]
    if frame.mover_colours[frame.scalars] == defender and search.open[defender, word]:
        search.marks[attacker, word >> 6] |= BIT[word & 63]


@kernel
def _join_before(search: Attractors, attacker: int, word: int, bits: Word, rank: int, marking: bool) -> None:
    """Add the positions from which the attacker can move to its positions ``bits`` of a word, in which the
    defender is to move."""
    frame = search.frame
    bit_man = search.frame.scalars
    buffer = search.buffer
    for index in range(list_scalar_successors(frame, word, bits, attacker, buffer)):
        new = buffer.bits[index] & search.open[attacker, buffer.word[index]]
        if new:
            _join_attacker(search, attacker, buffer.word[index], new, rank, marking)
    if frame.mover_colours[bit_man] == attacker and search.open[attacker, word]:
        empty = ~decode(frame, word, buffer.squares)
        new = search.open[attacker, word] & reach(frame.moves, frame.kinds[bit_man], bits, empty)
        if new:
            _join_attacker(search, attacker, word, new, rank, marking)


@kernel
def _examine(
    search: Attractors, attacker: int, word: int, rank: int, mates_only: bool, marking: bool
) -> bool:
    """Examine a word with the defender to move; return whether positions have joined the attractor."""
    defender = 1 - attacker
    bits = search.open[defender, word]
    if bits == ZERO:
        return False
    squares = search.buffer.squares
    occupied = decode(search.frame, word, squares)
    lost = _escaping(search, defender, word, squares, occupied, bits, search.escapes[attacker])
    if mates_only:
        lost &= ~positions_of_rank(search.rank_bits[defender, word], search.rank_bits.shape[2], 1)
    if lost == ZERO:
        return False
    search.open[defender, word] &= ~lost
    _join(search, defender, word, lost, rank)
    _join_before(search, attacker, word, lost, rank, marking)
    return True


@jit
def attract_densely(search: Attractors, attacker: int, rank: int, mates_only: bool) -> None:
    """Extend an attractor at first: examine all words in two rounds, and mark the words that :func:`attract`
    has to examine again.

    :param mates_only: whether stalemates with the defender to move are no success of the attacker.
    """
    for marking in (False, True):
        search.round[0] += 1
        for word in range(search.frame.words):
            _examine(search, attacker, word, rank, mates_only, marking)


@jit
def attract(search: Attractors, attacker: int, rank: int, mates_only: bool) -> None:
    """Extend an attractor until no marked word remains. In each round, words are examined in order, each at
    most once."""
    marks = search.marks[attacker]
    any_marked = True
    while any_marked:
        search.round[0] += 1
        any_marked = False
        for group in range(len(marks)):
            marked = marks[group]
            if marked:
                any_marked = True
                marks[group] = ZERO
                for bit in bits_of(marked):
                    _examine(search, attacker, group << 6 | bit, rank, mates_only, True)


@jit
def settle(search: Attractors, rank: int) -> bool:
    """Settle the open positions of a rank; return whether there are any."""
    is_any = False
    for word in range(search.frame.words):
        for side in range(2):
            bits = search.open[side, word]
            if bits:
                bits &= positions_of_rank(search.rank_bits[side, word], search.rank_bits.shape[2], rank)
                search.open[side, word] &= ~bits
                is_any |= bits != ZERO
            search.settled[side, word] = bits
    return is_any


@jit
def join_settled(search: Attractors, attacker: int, rank: int) -> None:
    """Extend an attractor by the moves to the settled positions with the defender to move."""
    for word in range(search.frame.words):
        bits = search.settled[1 - attacker, word]
        if bits:
            _join_before(search, attacker, word, bits, rank, True)
