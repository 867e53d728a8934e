"""The best results that the side to move can reach in one ply from the positions of a word, over all moves.

:mod:`tbgen.verify.kernels.results` explains grades, pivots and worths.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.layout import IMAGE, INTO_TRIANGLE, TRIANGLE_COORD
from tbgen.verify.geometry import PAWN
from tbgen.verify.kernels.moves import (
    ONE,
    Bitboard,
    ProofMen,
    Squares,
    bit,
    copy_row,
    count_en_passant,
    find_moves,
    first_bit,
    is_legal,
    man_on,
    may_take_en_passant,
    place_men,
    raise_to,
    sources,
)
from tbgen.verify.kernels.resets import (
    NO_EXITS,
    NO_RESETS,
    PROMOTIONS,
    CellExits,
    ProofResets,
    canonical_place,
    fresh_after,
    grade_of_exit,
    reset_number,
)
from tbgen.verify.kernels.results import (
    UNREAD,
    Accrued,
    ProofScratch,
    code_rank,
    folded_grade,
    grade_before,
    grade_of,
    position_worth,
    record,
    stores_state,
)

_IMAGE = np.array(IMAGE, np.int64)
_SYMMETRY = np.array([symmetries[0] for symmetries in INTO_TRIANGLE], np.int64)
_COORD = np.array([TRIANGLE_COORD[IMAGE[s[0]][q]] for q, s in enumerate(INTO_TRIANGLE)], np.int64)

Range: TypeAlias = tuple[int, int]
"""Half-open range of slots: the first slot, and the slot after the last one."""

NO_MOVE = -(1 << 30)
"""A signed grade that is less than that of any move."""


OWN, MIXED = -1, -2
"""Special elements of ``ProofGame.original``."""

NO_RANK = 255
"""Replaces the rank in slots without a canonical legal position. It exceeds all ranks."""
_NO_RIGHTS, _NO_CODES = np.zeros((0, 0), np.int32), np.zeros((0, 0), np.uint8)


class EnPassantEntries(NamedTuple):
    """The positions of a table with an en passant right."""

    config: NDArray[np.int32]
    """Shape (configurations, 2): phase and target square."""
    row: NDArray[np.int32]
    """Shape (phases, 16): index of the configuration, -1 if there is none. The second index is the file of
    the target square, plus 8 if White captures."""
    value: NDArray[np.uint8]
    """Shape (configurations, phase size): W as stored."""
    depth: NDArray[np.uint16]
    """Shape (configurations, phase size): D as stored."""
    rank: NDArray[np.uint8]
    """Shape (configurations, phase size): ranks, as in ``ProofGame.rank``."""
    selected: NDArray[np.bool_]
    """Shape (configurations, phase size): the selected positions, as in ``ProofGame.selected``."""


NO_ENTRIES = EnPassantEntries(
    _NO_RIGHTS, _NO_RIGHTS, _NO_CODES, np.zeros((0, 0), np.uint16), _NO_CODES, np.zeros((0, 0), np.bool_)
)


@dataclass(frozen=True)
class ProofGame(Struct):
    """A table, or one of the games of a cell, to prove, with the results of all its moves."""

    men: ProofMen
    value: NDArray[np.uint8]
    """Shape (2, size): W as stored."""
    depth: NDArray[np.uint16]
    """Shape (2, size): D as stored."""
    legal: NDArray[np.uint64]
    """Shape (2, batch size / 64): the legal positions of each word, canonical or not. ``find_legal`` fills
    it."""
    rank: NDArray[np.uint8]
    """Shape (2, batch size): ranks of all canonical legal positions, ``NO_RANK`` elsewhere. ``survey`` fills
    it."""
    selected: NDArray[np.bool_]
    """Shape (2, batch size): the positions whose states are proved; empty if all are."""
    grade: NDArray[np.int32]
    """Shape (2, batch size): grade of every position of the batch, canonical or not, for the pivot being
    proved; in whole-game mobility, for ``MIDDLE``."""
    max_rank: NDArray[np.uint8]
    """Shape (batch size / 64,): greatest rank of the fresh values of the positions in each word, canonical or
    not. Their grades no longer change in layers of greater rank."""
    original: NDArray[np.int64]
    """Shape (batch size / 64,): the place of the canonical slots of the positions in each word. The place is
    8 times the number of their word, plus the symmetry that maps the squares of the last free man in one word
    to those in the other. It is ``OWN`` if all slots with positions are canonical, ``MIXED`` if no number
    fits."""
    base: int = 0
    """First slot of the batch, which is the range of phases that is being proved."""
    has_score_resets: bool = True
    """Whether captures and pawn moves reset the accrued score; False in whole-game mobility."""
    resets: ProofResets = NO_RESETS
    """The positions after the zeroing moves of a table."""
    en_passant: EnPassantEntries = NO_ENTRIES
    """The positions of a table with an en passant right."""
    exits: CellExits = NO_EXITS
    """Results of the moves out of a cell."""
    is_cell: bool = False
    """Whether this is a cell. In a cell, all slots are canonical, and en passant positions are among the
    exits."""
    deviation: int = 0
    """The deviation that is allowed: 0 if states have to equal the results of their best moves, 1 if they may
    be worse for White, -1 if they may be worse for Black."""


@inlined
def has_entry(game: ProofGame, position_rank: int, code: int, accrued: Accrued, side: int) -> bool:
    """Whether a layer contains an entry for the state of a position with this rank and fresh value.

    It contains entries for fresh states only if a deviation is allowed.
    """
    if game.deviation == 0:
        return stores_state(position_rank, code, accrued, side)
    return position_rank >= accrued.rank and code_rank(code) >= accrued.rank


@inlined
def state_pivot(game: ProofGame, position_rank: int, side: int, pivot: int) -> int:
    """Pivot of the state of a position in a layer; in whole-game mobility, the worth of the position
    score."""
    return pivot if game.has_score_resets else position_worth(position_rank, side)


@inlined
def canonical_slot_of(game: ProofGame, scratch: ProofScratch) -> int:
    """Canonical slot of the position in ``scratch.squares``."""
    for man in range(game.men.kinds.size):
        scratch.squares_after[man] = scratch.squares[man]
    phase, slot = canonical_place(game.resets, 0, scratch.squares_after)
    return phase * game.resets.phase_size[0] + slot


class ProofPly(NamedTuple):
    """A ply to search from the positions of a word."""

    first_slot: int
    """First slot of the word in the batch."""
    side: int
    """Side to move."""
    occupied: Bitboard
    """Squares of the fixed men before the move."""
    pivot: int
    """Pivot of the states before the move; ``MIDDLE`` in whole-game mobility."""
    flip: int
    """-1 with Black to move, else 0. A *signed* grade is a grade with its bits flipped accordingly, so that
    the greatest one is the best for the side to move."""


@inlined
def destination(men: ProofMen, word: int, man: int, target: int, squares: Squares) -> tuple[int, int]:
    """Word to which a quiet move of a fixed man leads, and the symmetry that maps the squares of the last
    free man to those in this word."""
    if man or not men.in_triangle:
        return word + ((target - squares[man]) << 6 * (men.free_count - 2 - man)), 0
    symmetry, word = _SYMMETRY[target], _COORD[target]
    for other in range(1, men.free_count - 1):
        word = word << 6 | _IMAGE[symmetry, squares[other]]
    return word, symmetry


@kernel
def find_best(
    game: ProofGame, first_slot: int, side: int, pivot: int, positions: Bitboard, scratch: ProofScratch
) -> ProofPly:
    """Fill ``scratch.best`` with the signed grade of the best move in some positions of a word.

    En passant captures are omitted. Afterwards, ``scratch.squares`` contains the squares of the fixed men.
    """
    men = game.men
    slot = game.base + first_slot
    ply = ProofPly(first_slot, side, place_men(men, slot, scratch.squares), pivot, -side)
    scratch.best[:] = NO_MOVE
    find_moves(men, ply.occupied, side, positions, scratch)
    last = men.free_count - 1
    if last >= 0 and men.colours[last] == side:
        copy_row(scratch.row, int64(64), game.grade[1 - side], first_slot)
    for index in range(scratch.count[0]):
        if scratch.victim[index] >= 0 or scratch.man[index] > last:
            _raise_by_exit(game, ply, index, scratch)
        elif scratch.man[index] == last:
            _raise_by_last_man(game, ply, index, scratch)
        else:
            _raise_by_move(game, ply, index, scratch)
    return ply


@inlined
def _raise(scratch: ProofScratch, square: int, signed: int) -> None:
    """Raise the best grade of a position to that of a move."""
    scratch.best[square] = max(int64(scratch.best[square]), signed)


@inlined
def _raise_by_move(game: ProofGame, ply: ProofPly, move: int, scratch: ProofScratch) -> None:
    """Raise the best grades to those of a listed quiet move."""
    man = scratch.man[move]
    target = scratch.target[move]
    other = 1 - ply.side
    word, symmetry = destination(game.men, ply.first_slot >> 6, man, target, scratch.squares)
    legal = game.legal[other, word]
    grades = game.grade[other]
    positions = scratch.positions[move]
    if symmetry == 0:
        raise_to(scratch.best, int64(0), grades, word << 6, ply.flip, positions & legal)
        return
    while positions:
        square = first_bit(positions)
        positions &= positions - ONE
        image = _IMAGE[symmetry, square]
        if legal & bit(image):
            _raise(scratch, square, int64(grades[word << 6 | image]) ^ ply.flip)


@inlined
def _raise_by_last_man(game: ProofGame, ply: ProofPly, move: int, scratch: ProofScratch) -> None:
    """Raise the best grades to those of a listed quiet move of the last free man."""
    distance = scratch.target[move]
    legal = sources(game.legal[1 - ply.side, ply.first_slot >> 6], distance)
    raise_to(scratch.best, int64(0), scratch.row, 64 + distance, ply.flip, scratch.positions[move] & legal)


@inlined
def _raise_by_exit(game: ProofGame, ply: ProofPly, move: int, scratch: ProofScratch) -> None:
    """Raise the best grades to those of a listed zeroing move or exit."""
    men = game.men
    squares = scratch.squares
    man = scratch.man[move]
    victim = scratch.victim[move]
    positions = scratch.positions[move]
    last = men.free_count - 1
    while positions:
        square = first_bit(positions)
        positions &= positions - ONE
        occupied = ply.occupied
        target = scratch.target[move]
        if last >= 0:
            squares[last] = square
            occupied |= bit(square)
            target = square if target < 0 else target
        if is_legal(men, occupied, man, target, victim, squares):
            _raise(scratch, square, _best_exit(game, ply, occupied, man, target, victim, scratch) ^ ply.flip)


@inlined
def _best_exit(
    game: ProofGame,
    ply: ProofPly,
    occupied: Bitboard,
    man: int,
    target: int,
    victim: int,
    scratch: ProofScratch,
) -> int:
    """Grade of a legal zeroing move or exit of a man to a square; the best one if the man can promote in
    several ways. ``victim`` is the captured man, -1 if there is none."""
    origin = scratch.squares[man]
    scratch.squares[man] = target
    best, last = NO_MOVE, 0
    if game.men.kinds[man] == PAWN:
        if not 8 <= target < 56:
            last = PROMOTIONS
        elif abs(target - origin) == 16 and not game.is_cell:
            best = _en_passant_grade(game, ply, occupied, origin, target, scratch)
    if best == NO_MOVE:
        for kind in range(1 if last else 0, last + 1):
            best = max(best, _grade_after(game, ply, man, victim, kind, scratch) ^ ply.flip)
        best ^= ply.flip
    scratch.squares[man] = origin
    return best


@inlined
def _grade_after(
    game: ProofGame, ply: ProofPly, man: int, captured: int, promotion: int, scratch: ProofScratch
) -> int:
    """Grade of the position in ``scratch.squares`` after a zeroing move or exit of ``man``.

    ``captured`` is the captured man, -1 if there is none.
    """
    squares = scratch.squares
    if game.is_cell:
        return grade_of_exit(game.exits, game.men, man, captured, promotion, squares, ply.pivot)
    reset = reset_number(game.men, captured, man, promotion)
    own = game.value, game.depth
    fresh = fresh_after(game.resets, own, reset, squares, ply.side, scratch.squares_after)
    if fresh & 255 == NONE:  # whether another move is better or not, nothing is proved
        slot = game.base + ply.first_slot + squares[game.men.free_count - 1]
        record(scratch, UNREAD, (0, ply.side, slot), ply.pivot, 0, 0)
    return grade_of(fresh & 255, fresh >> 8, ply.pivot)


@inlined
def _en_passant_grade(
    game: ProofGame, ply: ProofPly, occupied: Bitboard, origin: int, target: int, scratch: ProofScratch
) -> int:
    """Grade of a double step if an en passant capture is legal after it, else ``NO_MOVE``."""
    men, entries = game.men, game.en_passant
    side = ply.side
    after = occupied ^ bit(origin) ^ bit(target)
    passed = (origin + target) >> 1
    if not count_en_passant(men, scratch.squares, after, 1 - side, passed):
        return NO_MOVE
    slot = canonical_slot_of(game, scratch)
    shift = 6 * men.free_count
    mirrored = slot >> shift - 6 & 63 != scratch.squares[0]
    row = entries.row[slot >> shift, (target & 7 ^ 7 * mirrored) + 8 * side]
    slot &= (1 << shift) - 1
    return grade_of(int64(entries.value[row, slot]), int64(entries.depth[row, slot]), ply.pivot)


@kernel
def raise_by_en_passant(
    game: ProofGame, ply: ProofPly, square: int, positions: Bitboard, scratch: ProofScratch
) -> None:
    """Raise the best grades in ``scratch.best`` to those of the en passant captures on ``square``."""
    men = game.men
    squares = scratch.squares
    last = game.men.free_count - 1
    victim = man_on(men, squares, square - 8 + 16 * ply.side)
    while positions:
        position = first_bit(positions)
        positions &= positions - ONE
        squares[last] = position
        for man in range(men.free_count, men.kinds.size):
            if may_take_en_passant(men, squares, ply.occupied | bit(position), ply.side, man, square):
                origin = squares[man]
                squares[man] = square
                _raise(scratch, position, _grade_after(game, ply, man, victim, 0, scratch) ^ ply.flip)
                squares[man] = origin


@inlined
def state_grade(game: ProofGame, ply: ProofPly, position: int, pivot: int, scratch: ProofScratch) -> int:
    """Grade of the state of a position of a word, computed from its best move in ``scratch.best``.

    ``pivot`` is the pivot of the state. In whole-game mobility, the accrued score is folded in.
    """
    best = int64(scratch.best[position]) ^ ply.flip
    return grade_before(best if game.has_score_resets else folded_grade(best, pivot), pivot)
