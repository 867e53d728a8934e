"""Forward generation where some men are described: step by step, and every move is tried."""

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import kernel
from tbgen.verify.kernels.bitboards import ZERO, Board, bit, first_bit
from tbgen.verify.kernels.men import ProofMen, Squares


@kernel
def reached(men: ProofMen, squares: Squares, occupied: Board, man: int) -> Board:
    """Squares that a man attacks: on each of its ways up to the first occupied one."""
    found = ZERO
    for number in range(men.steps.shape[1]):
        file, rank = squares[man] & 7, squares[man] >> 3
        for _ in range(men.steps[man, number, 2]):
            file += men.steps[man, number, 0]
            rank += men.steps[man, number, 1]
            if file < 0 or file > 7 or rank < 0 or rank > 7:
                break
            found |= bit(8 * rank + file)
            if occupied & bit(8 * rank + file):
                break
    return found


@kernel
def attacked_by_described(
    men: ProofMen, squares: Squares, occupied: Board, square: int, colour: int, gone: int
) -> bool:
    """Whether a man of a colour attacks ``square``; those that stood on ``gone`` have been captured."""
    for man in range(men.kinds.size):
        attacker = men.colours[man] == colour and squares[man] != gone
        if not attacker or men.reach[man, squares[man]] & bit(square) == ZERO:
            continue
        if reached(men, squares, occupied, man) & bit(square):
            return True
    return False


@kernel
def targets_of_described(
    men: ProofMen, squares: Squares, occupied: Board, side: int, targets: NDArray[np.uint64]
) -> bool:
    """As ``tbgen.verify.kernels.moves.legal_targets``."""
    king, own = men.king[side], ZERO
    for man in range(men.kinds.size):
        targets[man] = ZERO
        if men.colours[man] == side:
            own |= bit(squares[man])
    for man in range(men.kinds.size):
        if men.colours[man] != side:
            continue
        left = reached(men, squares, occupied, man) & ~own
        while left:
            target = first_bit(left)
            left ^= bit(target)
            after = occupied & ~bit(squares[man]) | bit(target)
            safe = target if man == king else squares[king]
            if not attacked_by_described(men, squares, after, safe, 1 - side, target):
                targets[man] |= bit(target)
    return attacked_by_described(men, squares, occupied, squares[king], 1 - side, -1)
