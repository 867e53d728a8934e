"""Move generation for one position, independent of the solver.

A position is an int64 array ``squares``: the squares of the free men in the order of the slot's digits, then
those of the other men, pawns last. :class:`ProofMen` contains their kinds and colours. Sides and colours are
0 for White and 1 for Black.

If some men are described, the moves of all men are found by following their steps square by square, and each
move is tried to see whether it is legal.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, intrinsic, kernel
from tbgen.index.layout import TRIANGLE
from tbgen.verify.geometry import BEHIND, BETWEEN, BISHOP, PAWN, QUEEN, REACH

Bitboard: TypeAlias = np.uint64
"""A set of squares."""

ZERO = np.uint64(0)
ONE = np.uint64(1)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@intrinsic
def count_bits(typing_context: Any, board: Any) -> Any:
    """Number of set bits of a uint64, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen


@intrinsic
def first_bit(typing_context: Any, board: Any) -> Any:
    """Index of the lowest set bit of a non-zero uint64, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@inlined
def bit(square: int) -> Bitboard:
    """The bitboard of one square (int64 0..63)."""
    return ONE << np.uint64(square)


Squares: TypeAlias = NDArray[np.int64]
"""Shape (8,) or more: squares of men."""


class ProofMen(NamedTuple):
    """The men of a table or cell, as the kernels read them.

    The free men, whose squares are the digits of the slot, come first. The men that do not move in a phase
    follow.
    """

    kinds: NDArray[np.int64]
    """Shape (men,): kind of each man, pawns last."""
    colours: NDArray[np.int64]
    """Shape (men,): colour of each man."""
    king_index: NDArray[np.int64]
    """Shape (2,): index of the king of each side."""
    free_count: int
    """Number of free men."""
    in_triangle: bool
    """Whether the first man's square is restricted to the triangle, as in tables without pawns."""
    phase_size: int
    """Number of slots of a phase."""
    placements: NDArray[np.uint8]
    """Shape (phases, men that do not move): squares of these men."""
    steps: NDArray[np.int64]
    """Shape (men, max steps, 3): files, ranks and maximum repetitions of each step, padded with 0
    repetitions; shape (0, 0, 3) if no man is described."""
    reach: NDArray[np.uint64]
    """Shape (men, 64): squares that each man attacks on an empty board, by its square; shape (0, 64) if no
    man is described."""


@kernel
def reach_stepwise(men: ProofMen, squares: Squares, occupied: Bitboard, man: int) -> Bitboard:
    """Squares that a man attacks: in each direction those up to, and including, the first occupied square."""
    reach = ZERO
    for number in range(men.steps.shape[1]):
        file, rank = squares[man] & 7, squares[man] >> 3
        for _ in range(men.steps[man, number, 2]):
            file += men.steps[man, number, 0]
            rank += men.steps[man, number, 1]
            if file < 0 or file > 7 or rank < 0 or rank > 7:
                break
            reach |= bit(8 * rank + file)
            if occupied & bit(8 * rank + file):
                break
    return reach


@kernel
def attacked_stepwise(
    men: ProofMen, squares: Squares, occupied: Bitboard, square: int, colour: int, captured_square: int
) -> bool:
    """Whether a man of the given colour attacks ``square``. A man on ``captured_square`` is ignored, because
    it has been captured."""
    for man in range(men.kinds.size):
        may_attack = men.colours[man] == colour and squares[man] != captured_square
        if not may_attack or men.reach[man, squares[man]] & bit(square) == ZERO:
            continue
        if reach_stepwise(men, squares, occupied, man) & bit(square):
            return True
    return False


@kernel
def find_targets_stepwise(
    men: ProofMen, squares: Squares, occupied: Bitboard, side: int, targets: NDArray[np.uint64]
) -> bool:
    """Implement :func:`find_legal_targets` for positions with described men."""
    king, own = men.king_index[side], ZERO
    for man in range(men.kinds.size):
        targets[man] = ZERO
        if men.colours[man] == side:
            own |= bit(squares[man])
    for man in range(men.kinds.size):
        if men.colours[man] != side:
            continue
        untried = reach_stepwise(men, squares, occupied, man) & ~own
        while untried:
            target = first_bit(untried)
            untried ^= bit(target)
            after = occupied & ~bit(squares[man]) | bit(target)
            king_square = target if man == king else squares[king]
            if not attacked_stepwise(men, squares, after, king_square, 1 - side, target):
                targets[man] |= bit(target)
    return attacked_stepwise(men, squares, occupied, squares[king], 1 - side, -1)


_TRIANGLE = np.array(TRIANGLE, np.int64)
_LAST_ROWS = np.uint64(0xFF000000000000FF)


@inlined
def place_men(men: ProofMen, slot: int, squares: Squares) -> Bitboard:
    """Fill ``squares`` with the squares of the men of a slot. Return the occupied squares, or 0 if two men
    share a square."""
    for man in range(men.free_count - 1, -1, -1):
        squares[man] = slot & 63
        slot >>= 6
    if men.in_triangle:
        squares[0] = _TRIANGLE[squares[0]]
    for man in range(men.free_count, men.kinds.size):
        squares[man] = men.placements[slot, man - men.free_count]
    occupied = ZERO
    for man in range(men.kinds.size):
        occupied |= bit(squares[man])
    return occupied if count_bits(occupied) == men.kinds.size else ZERO


@inlined
def man_on(men: ProofMen, squares: Squares, square: int) -> int:
    """Index of the man on a square, -1 if the square is empty."""
    index = -1
    for man in range(men.kinds.size):
        if squares[man] == square:
            index = man
    return index


@inlined
def attacked(men: ProofMen, squares: Squares, occupied: Bitboard, square: int, colour: int) -> bool:
    """Whether a man of the given colour attacks ``square``. Men on squares outside ``occupied`` are
    ignored."""
    if men.steps.size:
        return attacked_stepwise(men, squares, occupied, square, colour, int64(-1))
    target = bit(square)
    for man in range(men.kinds.size):
        if men.colours[man] != colour or not REACH[colour, men.kinds[man], squares[man]] & target:
            continue
        if BETWEEN[square, squares[man]] & occupied == ZERO and occupied & bit(squares[man]):
            return True
    return False


@inlined
def find_legal_targets(
    men: ProofMen, squares: Squares, occupied: Bitboard, side: int, targets: NDArray[np.uint64]
) -> bool:
    """Fill ``targets``, uint64 (men,), with the legal target squares of each man, except those of en passant
    captures.

    Men of the side not to move have no targets. Return whether the side to move is in check.
    """
    if men.steps.size:
        return find_targets_stepwise(men, squares, occupied, side, targets)
    count = men.kinds.size
    own_king = men.king_index[side]
    king = squares[own_king]
    own, danger, allowed = ZERO, ZERO, FULL
    for man in range(count):
        targets[man] = ZERO
        if men.colours[man] == side:
            own |= bit(squares[man])
            targets[man] = FULL
    for man in range(count):
        if men.colours[man] == side:
            continue
        square = squares[man]
        attacks = reach = REACH[1 - side, men.kinds[man], square]
        if QUEEN <= men.kinds[man] <= BISHOP:
            line = BETWEEN[king, square] | bit(square)
            for other in range(count):
                if other != own_king:
                    reach &= ~BEHIND[square, squares[other]]
            if reach & bit(king):
                allowed &= line
            elif attacks & bit(king):
                # If only one man is in between, and it belongs to the side to move, it is pinned to the line.
                blockers = BETWEEN[king, square] & occupied
                if blockers & (blockers - ONE) == ZERO:
                    for other in range(count):
                        if blockers == bit(squares[other]):
                            targets[other] &= line
        elif reach & bit(king):
            allowed &= bit(square)
        danger |= reach
    enemies = occupied & ~own
    for man in range(count):
        if men.colours[man] != side:
            continue
        square = squares[man]
        reach = REACH[side, men.kinds[man], square]
        if man == own_king:
            targets[man] &= reach & ~own & ~danger
        elif men.kinds[man] == PAWN:
            targets[man] &= allowed & (reach & enemies | _pawn_steps(square, occupied, side))
        else:
            if men.kinds[man] <= BISHOP:
                for other in range(count):
                    reach &= ~BEHIND[square, squares[other]]
            targets[man] &= allowed & reach & ~own
    return allowed != FULL


@inlined
def _pawn_steps(square: int, occupied: Bitboard, side: int) -> Bitboard:
    """Target squares of a pawn's single and double step, ignoring checks and pins."""
    ahead = 8 - 16 * side
    single = bit(square + ahead) & ~occupied
    if single and square >> 3 == 1 + 5 * side:
        return single | bit(square + 2 * ahead) & ~occupied
    return single


@inlined
def count_moves(men: ProofMen, targets: NDArray[np.uint64]) -> int:
    """Number of moves to ``targets``. A pawn's target on the last rank counts as four moves."""
    moves = 0
    for man in range(men.kinds.size):
        moves += count_bits(targets[man])
        if men.kinds[man] == PAWN:
            moves += 3 * count_bits(targets[man] & _LAST_ROWS)
    return moves


@inlined
def may_take_en_passant(
    men: ProofMen, squares: Squares, occupied: Bitboard, side: int, pawn: int, target: int
) -> bool:
    """Whether the man ``pawn`` is a pawn of ``side`` that may legally capture en passant on ``target``."""
    if men.kinds[pawn] != PAWN or men.colours[pawn] != side:
        return False
    if REACH[side, PAWN, squares[pawn]] & bit(target) == ZERO:
        return False
    victim = target - 8 + 16 * side
    after = occupied ^ bit(squares[pawn]) ^ bit(target) ^ bit(victim)
    return not attacked(men, squares, after, squares[men.king_index[side]], 1 - side)


@inlined
def count_en_passant(men: ProofMen, squares: Squares, occupied: Bitboard, side: int, target: int) -> int:
    """Number of pawns of ``side`` that may legally capture en passant on ``target``."""
    captures = 0
    for man in range(men.free_count, men.kinds.size):
        if may_take_en_passant(men, squares, occupied, side, man, target):
            captures += 1
    return captures
