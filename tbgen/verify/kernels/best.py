"""The best result that the side to move can reach in one ply from a position, over all kinds of moves.

:mod:`tbgen.verify.kernels.results` explains grades, pivots and worths.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64
from tbgen.compiler.structs import Struct
from tbgen.index.layout import IMAGE, INTO_TRIANGLE, TRIANGLE_COORD
from tbgen.verify.geometry import PAWN
from tbgen.verify.kernels.moves import (
    ONE,
    ZERO,
    Bitboard,
    ProofMen,
    bit,
    count_en_passant,
    find_legal_targets,
    first_bit,
    man_on,
    may_take_en_passant,
    place_men,
)
from tbgen.verify.kernels.resets import (
    NO_EXITS,
    NO_RESETS,
    PROMOTIONS,
    CellExits,
    ProofResets,
    canonical_slot,
    fresh_after,
    grade_of_exit,
    reset_number,
)
from tbgen.verify.kernels.results import (
    Accrued,
    ProofScratch,
    code_rank,
    folded_grade,
    grade_before,
    grade_of,
    position_worth,
    stores_state,
)

_IMAGE = np.array(IMAGE, np.int64)
_SYMMETRY = np.array([symmetries[0] for symmetries in INTO_TRIANGLE], np.int64)
_COORD = np.array([TRIANGLE_COORD[IMAGE[s[0]][q]] for q, s in enumerate(INTO_TRIANGLE)], np.int64)

Range: TypeAlias = tuple[int, int]
"""Half-open range of slots: the first slot, and the slot after the last one."""

NO_MOVE = -(1 << 30)
"""A signed grade that is less than that of any move."""


NO_RANK = 255
"""Replaces the rank in slots without a canonical legal position. It exceeds all ranks."""


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


_NO_RIGHTS, _NO_CODES = np.zeros((0, 0), np.int32), np.zeros((0, 0), np.uint8)
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
    rank: NDArray[np.uint8]
    """Shape (2, size): ranks of all canonical legal positions, ``NO_RANK`` elsewhere. ``survey`` fills it."""
    selected: NDArray[np.bool_]
    """Shape (2, size): the positions whose states are proved; empty if all are."""
    grade: NDArray[np.int32]
    """Shape (2, batch size): grade of every position of the batch, canonical or not, for the pivot being
    proved; in whole-game mobility, for ``MIDDLE``."""
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
    return canonical_slot(game.resets, 0, scratch.squares_after)


class ProofPly(NamedTuple):
    """A ply to search from a position."""

    side: int
    """Side to move."""
    pivot: int
    """Pivot of the state before the move."""
    occupied: Bitboard
    """Occupied squares before the move."""


@inlined
def best_grade(game: ProofGame, slot: int, side: int, square: int, pivot: int, scratch: ProofScratch) -> int:
    """Grade of the state of a position, computed from its moves; ``pivot`` is the pivot of the state.

    ``square`` is the target square of an en passant right, -1 if there is none.
    """
    ply = ProofPly(side, pivot, place_men(game.men, slot, scratch.squares))
    best = NO_MOVE
    if square >= 0:
        best = _best_en_passant(game, ply, square, scratch)
    best = max(best, _best_move(game, ply, slot - game.base, scratch))
    return grade_before((1 - 2 * side) * best, pivot)


@inlined
def _best_move(game: ProofGame, ply: ProofPly, index: int, scratch: ProofScratch) -> int:
    """Greatest signed grade over all legal moves except en passant captures.

    The position is in ``scratch.squares``. ``index`` is its slot, canonical or not, in the batch. A signed
    grade is the grade for White to move, and the negated grade for Black to move.
    """
    men, squares, targets = game.men, scratch.squares, scratch.targets
    find_legal_targets(men, squares, ply.occupied, ply.side, targets)
    best = NO_MOVE
    for man in range(men.kinds.size):
        board = targets[man]
        if board == ZERO:
            continue
        if man < men.free_count:
            quiet = board & ~ply.occupied
            board &= ply.occupied
            if man == 0 and men.in_triangle:
                best = max(best, _best_move_of_first_man(game, ply, quiet, scratch))
            else:
                shift = 6 * (men.free_count - 1 - man)
                rest = index - (squares[man] << shift)
                while quiet:
                    grade = game.grade[1 - ply.side, rest + (first_bit(quiet) << shift)]
                    best = max(best, _signed(game, ply, int64(grade)))
                    quiet &= quiet - ONE
        while board:
            best = max(best, _best_exit(game, ply, man, first_bit(board), scratch))
            board &= board - ONE
    return best


@inlined
def _signed(game: ProofGame, ply: ProofPly, grade: int) -> int:
    """Signed grade of a result in the state before the move. In whole-game mobility, the accrued score is
    folded in."""
    return (1 - 2 * ply.side) * (grade if game.has_score_resets else folded_grade(grade, ply.pivot))


@inlined
def _best_move_of_first_man(game: ProofGame, ply: ProofPly, quiet: Bitboard, scratch: ProofScratch) -> int:
    """Greatest signed grade over the quiet moves of the first man, whose square determines the symmetry."""
    best = NO_MOVE
    while quiet:
        target = first_bit(quiet)
        quiet &= quiet - ONE
        slot = _COORD[target]
        image = _IMAGE[_SYMMETRY[target]]
        for man in range(1, game.men.free_count):
            slot = slot << 6 | image[scratch.squares[man]]
        best = max(best, _signed(game, ply, int64(game.grade[1 - ply.side, slot])))
    return best


@inlined
def _best_exit(game: ProofGame, ply: ProofPly, man: int, target: int, scratch: ProofScratch) -> int:
    """Signed grade of a zeroing move or exit of a man to a square; the greatest one if the man can promote in
    several ways."""
    men, squares = game.men, scratch.squares
    origin, captured = squares[man], man_on(men, squares, target)
    squares[man] = target
    best, first, last = NO_MOVE, 0, 0
    if men.kinds[man] == PAWN:
        if not 8 <= target < 56:
            first, last = 1, PROMOTIONS
        elif abs(target - origin) == 16 and not game.is_cell:
            best = _en_passant_grade(game, ply, origin, target, scratch)
    if best == NO_MOVE:
        for kind in range(first, last + 1):
            best = max(best, _grade_after(game, ply, man, captured, kind, scratch))
    squares[man] = origin
    return best


@inlined
def _grade_after(
    game: ProofGame, ply: ProofPly, man: int, captured: int, promotion: int, scratch: ProofScratch
) -> int:
    """Signed grade of the position in ``scratch.squares`` after a zeroing move or exit of ``man``.

    ``captured`` is the captured man, -1 if there is none.
    """
    squares = scratch.squares
    if game.is_cell:
        grade = grade_of_exit(game.exits, game.men, man, captured, promotion, squares, ply.pivot)
    else:
        reset = reset_number(game.men, captured, man, promotion)
        own = game.value, game.depth
        fresh = fresh_after(game.resets, own, reset, squares, ply.side, scratch.squares_after)
        grade = grade_of(fresh & 255, fresh >> 8, ply.pivot)
    return _signed(game, ply, grade)


@inlined
def _en_passant_grade(game: ProofGame, ply: ProofPly, origin: int, target: int, scratch: ProofScratch) -> int:
    """Signed grade of a double step if an en passant capture is legal after it, else ``NO_MOVE``."""
    men, entries, side = game.men, game.en_passant, ply.side
    occupied, passed = ply.occupied ^ bit(origin) ^ bit(target), (origin + target) >> 1
    if not count_en_passant(men, scratch.squares, occupied, 1 - side, passed):
        return NO_MOVE
    slot = canonical_slot_of(game, scratch)
    shift = 6 * men.free_count
    mirrored = slot >> shift - 6 & 63 != scratch.squares[0]
    row = entries.row[slot >> shift, (target & 7 ^ 7 * mirrored) + 8 * side]
    slot &= (1 << shift) - 1
    return _signed(
        game, ply, grade_of(int64(entries.value[row, slot]), int64(entries.depth[row, slot]), ply.pivot)
    )


@inlined
def _best_en_passant(game: ProofGame, ply: ProofPly, square: int, scratch: ProofScratch) -> int:
    """Greatest signed grade over the en passant captures on ``square``; ``NO_MOVE`` if none is legal."""
    men, squares, side = game.men, scratch.squares, ply.side
    best = NO_MOVE
    victim = man_on(men, squares, square - 8 + 16 * side)
    for man in range(men.free_count, men.kinds.size):
        if may_take_en_passant(men, squares, ply.occupied, side, man, square):
            origin = squares[man]
            squares[man] = square
            best = max(best, _grade_after(game, ply, man, victim, 0, scratch))
            squares[man] = origin
    return best
