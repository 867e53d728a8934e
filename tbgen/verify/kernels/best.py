"""The best that the side to move can reach from one position in one ply, whatever kind of move it takes."""

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
    Board,
    ProofMen,
    bit,
    first_bit,
    legal_targets,
    man_on,
    place,
    takers_en_passant,
    takes_en_passant,
)
from tbgen.verify.kernels.resets import (
    NO_EXITS,
    NO_RESETS,
    PROMOTIONS,
    CellExits,
    ProofResets,
    canonical_slot,
    fresh_after,
    key_of_exit,
    reset_number,
)
from tbgen.verify.kernels.results import (
    Accrued,
    ProofScratch,
    code_rank,
    inherits,
    kept,
    key_before,
    key_of,
    level_of,
)

_IMAGE = np.array(IMAGE, np.int64)
_SYMMETRY = np.array([symmetries[0] for symmetries in INTO_TRIANGLE], np.int64)
_COORD = np.array([TRIANGLE_COORD[IMAGE[s[0]][q]] for q, s in enumerate(INTO_TRIANGLE)], np.int64)

Range: TypeAlias = tuple[int, int]
"""First slot and the one behind the last."""

NO_MOVE = -(1 << 30)
"""Less than any signed key."""


NO_RANK = 255
"""Where there is no canonical legal position; ranks are smaller."""


class EnPassantEntries(NamedTuple):
    """The positions of a table with an en passant right; arrays without another shape have that of
    ``value``."""

    config: NDArray[np.int32]
    """Shape (configurations, 2): phase and target square."""
    row: NDArray[np.int32]
    """Shape (phases, 16): number of the configuration by file of the target square, from 8 on where White may
    capture; -1 where there is none."""
    value: NDArray[np.uint8]
    """Shape (configurations, phase size): W as stored."""
    depth: NDArray[np.uint16]
    rank: NDArray[np.uint8]
    """As ``ProofGame.rank``, and ``selected`` as there."""
    selected: NDArray[np.bool_]


_NO_RIGHTS, _NO_CODES = np.zeros((0, 0), np.int32), np.zeros((0, 0), np.uint8)
NO_ENTRIES = EnPassantEntries(
    _NO_RIGHTS, _NO_RIGHTS, _NO_CODES, np.zeros((0, 0), np.uint16), _NO_CODES, np.zeros((0, 0), np.bool_)
)


@dataclass(frozen=True)
class ProofGame(Struct):
    """A table, or one of the games of a cell, under proof, with all that its moves lead to."""

    men: ProofMen
    value: NDArray[np.uint8]
    """Shape (2, size): W as stored."""
    depth: NDArray[np.uint16]
    """Shape (2, size): D as stored."""
    rank: NDArray[np.uint8]
    """Shape (2, size): ranks of all canonical legal positions, ``NO_RANK`` elsewhere; :func:`survey` finds
    them."""
    selected: NDArray[np.bool_]
    """Shape (2, size): the positions whose states are proved; all if it is empty."""
    key: NDArray[np.int32]
    """Shape (2, window): key of every position of the window, canonical or not, at the level being proved; in
    whole-game mobility at the level ``MIDDLE``."""
    base: int = 0
    """First slot of the window of whole phases that is being proved."""
    score_resets: bool = True
    """Whether captures and pawn moves reset the accrued score: not in whole-game mobility."""
    resets: ProofResets = NO_RESETS
    """The positions after zeroing moves, of a table."""
    en_passant: EnPassantEntries = NO_ENTRIES
    exits: CellExits = NO_EXITS
    """Values of the moves out of a cell."""
    is_cell: bool = False
    """Whether it is a cell: all slots are canonical then, and en passant positions are left to the exits."""
    allowed: int = 0
    """0 if states have to be just what follows from their successors; 1 if they may be less good for White,
    -1 if less good for Black."""


@inlined
def is_claimed(game: ProofGame, own: int, code: int, accrued: Accrued, side: int) -> bool:
    """Whether claims have a state of a position with this rank and fresh value: that of its own score only
    where they may be less than what follows."""
    if game.allowed == 0:
        return inherits(own, code, accrued, side)
    return own >= accrued.rank and code_rank(code) >= accrued.rank


@inlined
def level_held(game: ProofGame, own: int, side: int, level: int) -> int:
    """Level of the state of a position with this rank in a layer: in whole-game mobility that of its own
    score."""
    return level if game.score_resets else level_of(own, side)


@inlined
def canonical_slot_of(game: ProofGame, scratch: ProofScratch) -> int:
    """Canonical slot of the position on ``scratch.squares``."""
    for man in range(game.men.kinds.size):
        scratch.after[man] = scratch.squares[man]
    return canonical_slot(game.resets, 0, scratch.after)


class ProofPly(NamedTuple):
    """A ply to come from a position."""

    side: int
    """Side to move."""
    level: int
    """Level of the state before the move."""
    occupied: Board
    """Occupied squares before the move."""


@inlined
def right_key(game: ProofGame, slot: int, side: int, square: int, level: int, scratch: ProofScratch) -> int:
    """Key of the state of a position as its moves decide it, at a level.

    ``square`` is the target square of its en passant right, -1 if it has none.
    """
    ply = ProofPly(side, level, place(game.men, slot, scratch.squares))
    best = NO_MOVE
    if square >= 0:
        best = _best_en_passant(game, ply, square, scratch)
    best = max(best, _best_move(game, ply, slot - game.base, scratch))
    return key_before((1 - 2 * side) * best, level)


@inlined
def _best_move(game: ProofGame, ply: ProofPly, index: int, scratch: ProofScratch) -> int:
    """Greatest key (for Black to move: least key, negated) over all legal moves but en passant captures.

    The position is the one on ``scratch.squares``; ``index`` is its slot, canonical or not, in the window.
    """
    men, squares, targets = game.men, scratch.squares, scratch.targets
    legal_targets(men, squares, ply.occupied, ply.side, targets)
    best = NO_MOVE
    for man in range(men.kinds.size):
        board = targets[man]
        if board == ZERO:
            continue
        if man < men.free:
            quiet = board & ~ply.occupied
            board &= ply.occupied
            if man == 0 and men.triangle:
                best = max(best, _best_of_lead(game, ply, quiet, scratch))
            else:
                shift = 6 * (men.free - 1 - man)
                rest = index - (squares[man] << shift)
                while quiet:
                    key = game.key[1 - ply.side, rest + (first_bit(quiet) << shift)]
                    best = max(best, _signed(game, ply, int64(key)))
                    quiet &= quiet - ONE
        while board:
            best = max(best, _best_exit(game, ply, man, first_bit(board), scratch))
            board &= board - ONE
    return best


@inlined
def _signed(game: ProofGame, ply: ProofPly, key: int) -> int:
    """The key of a result as the state before the move sees it, negated for Black to move."""
    return (1 - 2 * ply.side) * (key if game.score_resets else kept(key, ply.level))


@inlined
def _best_of_lead(game: ProofGame, ply: ProofPly, quiet: Board, scratch: ProofScratch) -> int:
    """The same over quiet moves of the king whose square fixes the symmetry."""
    best = NO_MOVE
    while quiet:
        target = first_bit(quiet)
        quiet &= quiet - ONE
        slot = _COORD[target]
        image = _IMAGE[_SYMMETRY[target]]
        for man in range(1, game.men.free):
            slot = slot << 6 | image[scratch.squares[man]]
        best = max(best, _signed(game, ply, int64(game.key[1 - ply.side, slot])))
    return best


@inlined
def _best_exit(game: ProofGame, ply: ProofPly, man: int, target: int, scratch: ProofScratch) -> int:
    """The same over the other moves of a man to a square: one, or all promotions."""
    men, squares = game.men, scratch.squares
    origin, captured = squares[man], man_on(men, squares, target)
    squares[man] = target
    best, first, last = NO_MOVE, 0, 0
    if men.kinds[man] == PAWN:
        if not 8 <= target < 56:
            first, last = 1, PROMOTIONS
        elif abs(target - origin) == 16 and not game.is_cell:
            best = _en_passant_key(game, ply, origin, target, scratch)
    if best == NO_MOVE:
        for kind in range(first, last + 1):
            best = max(best, _key_after(game, ply, man, captured, kind, scratch))
    squares[man] = origin
    return best


@inlined
def _key_after(
    game: ProofGame, ply: ProofPly, man: int, captured: int, promotion: int, scratch: ProofScratch
) -> int:
    """Signed key of the position on ``scratch.squares``, after such a move of ``man`` that captures
    ``captured``, -1 for nobody."""
    squares = scratch.squares
    if game.is_cell:
        key = key_of_exit(game.exits, game.men, man, captured, promotion, squares, ply.level)
    else:
        reset = reset_number(game.men, captured, man, promotion)
        own = game.value, game.depth
        fresh = fresh_after(game.resets, own, reset, squares, ply.side, scratch.after)
        key = key_of(fresh & 255, fresh >> 8, ply.level)
    return _signed(game, ply, key)


@inlined
def _en_passant_key(game: ProofGame, ply: ProofPly, origin: int, target: int, scratch: ProofScratch) -> int:
    """Signed key of a double step that may be taken en passant, ``NO_MOVE`` if it may not."""
    men, entries, side = game.men, game.en_passant, ply.side
    occupied, passed = ply.occupied ^ bit(origin) ^ bit(target), (origin + target) >> 1
    if not takers_en_passant(men, scratch.squares, occupied, 1 - side, passed):
        return NO_MOVE
    slot = canonical_slot_of(game, scratch)
    shift = 6 * men.free
    mirrored = slot >> shift - 6 & 63 != scratch.squares[0]
    row = entries.row[slot >> shift, (target & 7 ^ 7 * mirrored) + 8 * side]
    slot &= (1 << shift) - 1
    return _signed(
        game, ply, key_of(int64(entries.value[row, slot]), int64(entries.depth[row, slot]), ply.level)
    )


@inlined
def _best_en_passant(game: ProofGame, ply: ProofPly, square: int, scratch: ProofScratch) -> int:
    """The same over the en passant captures on ``square``; ``NO_MOVE`` if none is legal."""
    men, squares, side = game.men, scratch.squares, ply.side
    best = NO_MOVE
    victim = man_on(men, squares, square - 8 + 16 * side)
    for man in range(men.free, men.kinds.size):
        if takes_en_passant(men, squares, ply.occupied, side, man, square):
            origin = squares[man]
            squares[man] = square
            best = max(best, _key_after(game, ply, man, victim, 0, scratch))
            squares[man] = origin
    return best
