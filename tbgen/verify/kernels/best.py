"""The best that the side to move can reach from one position in one ply, whatever kind of move it takes."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64
from tbgen.compiler.structs import Struct
from tbgen.index.symmetry import IMAGE, INTO_TRIANGLE, TRIANGLE_COORD
from tbgen.verify.geometry import PAWN
from tbgen.verify.kernels.bitboards import ONE, ZERO, Board, bit, first_bit
from tbgen.verify.kernels.keys import Accrued, code_rank, inherits, kept, key_of
from tbgen.verify.kernels.leaving import Leaving, key_of_leaving
from tbgen.verify.kernels.moves import ProofMen, allows_en_passant, legal_targets, takes_en_passant
from tbgen.verify.kernels.resets import (
    PROMOTIONS,
    Resets,
    canonical_slot,
    fresh_after,
    reset_number,
)

_IMAGE = np.array(IMAGE, np.int64)
_SYMMETRY = np.array([symmetries[0] for symmetries in INTO_TRIANGLE], np.int64)
_COORD = np.array([TRIANGLE_COORD[IMAGE[s[0]][q]] for q, s in enumerate(INTO_TRIANGLE)], np.int64)

Range: TypeAlias = tuple[int, int]
"""First slot and the one behind the last."""

NO_MOVE = -(1 << 30)
"""Less than any signed key."""


@dataclass(frozen=True)
class ProofGame(Struct):
    """A table, or one of the games of a cell, under proof, with all that its moves lead to."""

    men: ProofMen
    value: NDArray[np.uint8]
    """Shape (2, size): W as stored."""
    depth: NDArray[np.uint16]
    """Shape (2, size): D as stored."""
    resets: Resets
    """Where zeroing moves lead, of a table."""
    leaving: Leaving
    """What the moves that leave it are worth, of a cell."""
    is_cell: bool
    """Whether it is one: all slots are canonical then, and en passant positions are left to what is known."""
    ep_row: NDArray[np.int32]
    """Shape (phases, 16): number of the en passant configuration by file of the target square, from 8 on
    where White may capture; -1 where there is none."""
    ep_value: NDArray[np.uint8]
    """Shape (configurations, phase_size)."""
    ep_depth: NDArray[np.uint16]
    score_resets: bool
    """Whether captures and pawn moves reset the accrued score: not in whole-game mobility."""
    base: int
    """First slot of the window of whole phases that is being proved."""
    key: NDArray[np.int32]
    """Shape (2, window): key of every position of the window, canonical or not, at the level being proved; in
    whole-game mobility at the level ``MIDDLE``."""
    allowed: int = 0
    """0 if states have to be just what follows from their successors; 1 if they may be less good for White,
    -1 if less good for Black."""


class ProofScratch(NamedTuple):
    """Working space of one kernel call."""

    squares: NDArray[np.int64]
    """Shape (32,): squares of the men of the position in hand."""
    targets: NDArray[np.uint64]
    """Shape (32,): their legal targets."""
    after: NDArray[np.int64]
    """Shape (16,): the men of the table that a zeroing move leads to, and their images."""


@inlined
def is_claimed(game: ProofGame, own: int, code: int, accrued: Accrued, side: int) -> bool:
    """Whether claims have a state of a position with this rank and fresh value: that of its own score only
    where they may be less than what follows."""
    if game.allowed == 0:
        return inherits(own, code, accrued, side)
    return own >= accrued.rank and code_rank(code) >= accrued.rank


@inlined
def canonical_slot_of(game: ProofGame, scratch: ProofScratch) -> int:
    """Canonical slot of the position on ``scratch.squares``."""
    for man in range(game.men.kinds.size):
        scratch.after[man] = scratch.squares[man]
    return canonical_slot(game.resets, 0, scratch.after)


@inlined
def best_key(
    game: ProofGame, index: int, side: int, occupied: Board, level: int, scratch: ProofScratch
) -> int:
    """Greatest key (for Black to move: least key, negated) over all legal moves but en passant captures.

    The position is the one on ``scratch.squares``; ``index`` is its slot, canonical or not, in the window.
    """
    men, squares, targets = game.men, scratch.squares, scratch.targets
    legal_targets(men, squares, occupied, side, targets)
    sign = 1 - 2 * side
    best = NO_MOVE
    for man in range(men.kinds.size):
        board = targets[man]
        if board == ZERO:
            continue
        if man < men.free:
            quiet = board & ~occupied
            board &= occupied
            if man == 0 and men.triangle:
                best = max(best, _best_of_lead(game, side, quiet, level, scratch))
            else:
                shift = 6 * (men.free - 1 - man)
                rest = index - (squares[man] << shift)
                while quiet:
                    key = game.key[1 - side, rest + (first_bit(quiet) << shift)]
                    best = max(best, sign * _seen(game, int64(key), level))
                    quiet &= quiet - ONE
        while board:
            best = max(best, _best_leaving(game, side, man, first_bit(board), occupied, level, scratch))
            board &= board - ONE
    return best


@inlined
def _seen(game: ProofGame, key: int, level: int) -> int:
    """The key of a result where ``level`` is what the position before the move has accrued."""
    return key if game.score_resets else kept(key, level)


@inlined
def _best_of_lead(game: ProofGame, side: int, quiet: Board, level: int, scratch: ProofScratch) -> int:
    """The same over quiet moves of the king whose square fixes the symmetry."""
    men, squares = game.men, scratch.squares
    best = NO_MOVE
    while quiet:
        target = first_bit(quiet)
        quiet &= quiet - ONE
        slot = _COORD[target]
        image = _IMAGE[_SYMMETRY[target]]
        for man in range(1, men.free):
            slot = slot << 6 | image[squares[man]]
        best = max(best, (1 - 2 * side) * _seen(game, int64(game.key[1 - side, slot]), level))
    return best


@inlined
def _best_leaving(
    game: ProofGame, side: int, man: int, target: int, occupied: Board, level: int, scratch: ProofScratch
) -> int:
    """The same over the other moves of a man to a square: one, or all promotions."""
    men, squares = game.men, scratch.squares
    origin = squares[man]
    captured = -1
    if occupied & bit(target):
        for other in range(men.kinds.size):
            if squares[other] == target:
                captured = other
    squares[man] = target
    best, first, last = NO_MOVE, 0, 0
    if men.kinds[man] == PAWN:
        if not 8 <= target < 56:
            first, last = 1, PROMOTIONS
        elif abs(target - origin) == 16 and not game.is_cell:
            best = _en_passant_key(game, side, origin, target, occupied, level, scratch)
    if best == NO_MOVE:
        for kind in range(first, last + 1):
            best = max(best, _key_after(game, side, man, captured, kind, level, scratch))
    squares[man] = origin
    return best


@inlined
def _key_after(
    game: ProofGame, side: int, man: int, captured: int, promotion: int, level: int, scratch: ProofScratch
) -> int:
    """Signed key of the position on ``scratch.squares``, after such a move of ``man`` that captures
    ``captured``, -1 for nobody."""
    sign, squares = 1 - 2 * side, scratch.squares
    if game.is_cell:
        return sign * key_of_leaving(game.leaving, game.men, man, captured, promotion, squares, level)
    reset = reset_number(game.men, captured, man, promotion)
    fresh = fresh_after(game.resets, game.value, game.depth, reset, squares, side, scratch.after)
    return sign * _seen(game, key_of(fresh & 255, fresh >> 8, level), level)


@inlined
def _en_passant_key(
    game: ProofGame, side: int, origin: int, target: int, occupied: Board, level: int, scratch: ProofScratch
) -> int:
    """Signed key of a double step that may be taken en passant, ``NO_MOVE`` if it may not."""
    men, squares = game.men, scratch.squares
    if not allows_en_passant(men, squares, occupied ^ bit(origin) ^ bit(target), side, origin, target):
        return NO_MOVE
    slot = canonical_slot_of(game, scratch)
    shift = 6 * men.free
    mirrored = slot >> shift - 6 & 63 != squares[0]
    row = game.ep_row[slot >> shift, (target & 7 ^ 7 * mirrored) + 8 * side]
    slot &= (1 << shift) - 1
    code, depth = int64(game.ep_value[row, slot]), int64(game.ep_depth[row, slot])
    return (1 - 2 * side) * _seen(game, key_of(code, depth, level), level)


@inlined
def best_en_passant(
    game: ProofGame, side: int, square: int, occupied: Board, level: int, scratch: ProofScratch
) -> int:
    """The same over the en passant captures on ``square``; ``NO_MOVE`` if none is legal."""
    men, squares = game.men, scratch.squares
    best = NO_MOVE
    victim = -1
    for man in range(men.free, men.kinds.size):
        if squares[man] == square - 8 + 16 * side:
            victim = man
    for man in range(men.free, men.kinds.size):
        if takes_en_passant(men, squares, occupied, side, man, square):
            origin = squares[man]
            squares[man] = square
            best = max(best, _key_after(game, side, man, victim, 0, level, scratch))
            squares[man] = origin
    return best
