"""Forward generation for one position: which moves every man of the side to move has.

A position is an int64 array ``squares``: the free men in the order of the slot's digits, then those that
stand still, pawns last; what the men are stands in :class:`ProofMen`. Sides and colours are 0 White, 1 Black.
"""

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64
from tbgen.index.symmetry import TRIANGLE
from tbgen.verify.geometry import BEHIND, BETWEEN, BISHOP, PAWN, QUEEN, REACH
from tbgen.verify.kernels.bitboards import FULL, ONE, ZERO, Board, bit, count_bits
from tbgen.verify.kernels.described import attacked_by_described, targets_of_described
from tbgen.verify.kernels.men import ProofMen, Squares

_TRIANGLE = np.array(TRIANGLE, np.int64)
_LAST_ROWS = np.uint64(0xFF000000000000FF)


@inlined
def place(men: ProofMen, slot: int, squares: Squares) -> Board:
    """Put the men of a slot on ``squares``; return the occupied squares, 0 if two men clash."""
    for man in range(men.free - 1, -1, -1):
        squares[man] = slot & 63
        slot >>= 6
    if men.triangle:
        squares[0] = _TRIANGLE[squares[0]]
    for man in range(men.free, men.kinds.size):
        squares[man] = men.placements[slot, man - men.free]
    occupied = ZERO
    for man in range(men.kinds.size):
        occupied |= bit(squares[man])
    return occupied if count_bits(occupied) == men.kinds.size else ZERO


@inlined
def man_on(men: ProofMen, squares: Squares, square: int) -> int:
    """The man on a square, -1 if there is none."""
    found = -1
    for man in range(men.kinds.size):
        if squares[man] == square:
            found = man
    return found


@inlined
def attacked(men: ProofMen, squares: Squares, occupied: Board, square: int, colour: int) -> bool:
    """Whether a man of a colour that stands on an occupied square attacks ``square``."""
    if men.steps.size:
        return attacked_by_described(men, squares, occupied, square, colour, int64(-1))
    target = bit(square)
    for man in range(men.kinds.size):
        if men.colours[man] != colour or not REACH[colour, men.kinds[man], squares[man]] & target:
            continue
        if BETWEEN[square, squares[man]] & occupied == ZERO and occupied & bit(squares[man]):
            return True
    return False


@inlined
def legal_targets(
    men: ProofMen, squares: Squares, occupied: Board, side: int, targets: NDArray[np.uint64]
) -> bool:
    """Put every legal target square of every man into ``targets`` (uint64 (men,)), en passant captures apart.

    Men of the other side get an empty board. Return whether the side to move is in check.
    """
    if men.steps.size:
        return targets_of_described(men, squares, occupied, side, targets)
    count = men.kinds.size
    own_king = men.king[side]
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
                # A man of one's own that stands alone in between must stay on the line.
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
            targets[man] &= allowed & (reach & enemies | _steps(square, occupied, side))
        else:
            if men.kinds[man] <= BISHOP:
                for other in range(count):
                    reach &= ~BEHIND[square, squares[other]]
            targets[man] &= allowed & reach & ~own
    return allowed != FULL


@inlined
def _steps(square: int, occupied: Board, side: int) -> Board:
    """Squares that a pawn may step to, kings' safety apart."""
    ahead = 8 - 16 * side
    single = bit(square + ahead) & ~occupied
    if single and square >> 3 == 1 + 5 * side:
        return single | bit(square + 2 * ahead) & ~occupied
    return single


@inlined
def legal_moves(men: ProofMen, targets: NDArray[np.uint64]) -> int:
    """Number of moves to ``targets``: four for every promotion."""
    moves = 0
    for man in range(men.kinds.size):
        moves += count_bits(targets[man])
        if men.kinds[man] == PAWN:
            moves += 3 * count_bits(targets[man] & _LAST_ROWS)
    return moves


@inlined
def takes_en_passant(
    men: ProofMen, squares: Squares, occupied: Board, side: int, pawn: int, target: int
) -> bool:
    """Whether man ``pawn`` is a pawn of ``side`` that may legally capture en passant on ``target``."""
    if men.kinds[pawn] != PAWN or men.colours[pawn] != side:
        return False
    if REACH[side, PAWN, squares[pawn]] & bit(target) == ZERO:
        return False
    victim = target - 8 + 16 * side
    after = occupied ^ bit(squares[pawn]) ^ bit(target) ^ bit(victim)
    return not attacked(men, squares, after, squares[men.king[side]], 1 - side)


@inlined
def takers_en_passant(men: ProofMen, squares: Squares, occupied: Board, side: int, target: int) -> int:
    """Number of pawns of ``side`` that may legally capture en passant on ``target``."""
    takers = 0
    for man in range(men.free, men.kinds.size):
        if takes_en_passant(men, squares, occupied, side, man, target):
            takers += 1
    return takers
