"""Steps and attacks of men on an empty board for the move generator of the proof.

Squares are numbered as in python-chess (a1 = 0, h8 = 63); bit ``s`` of a bitboard (uint64) is square ``s``.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, product
from typing import Final

import numpy as np
from numpy.typing import NDArray

KING, QUEEN, ROOK, BISHOP, KNIGHT, PAWN = range(6)
"""Kinds of men: first those of ``KIND_LETTERS`` in this order, then the pawn. Described men have greater
numbers."""

_LEAPS: Final = {"W": 1, "F": 2, "D": 4, "N": 5, "A": 8, "H": 9, "C": 10, "Z": 13, "G": 18}
"""Squared length of the leap of each atom, a letter of a described man. All lengths are different."""

Step = tuple[int, int, int]
"""Number of files and ranks of a single step, and the maximum number of steps in a move."""

Ways = tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.bool_]]
"""Rows of ``delta``, ``inside`` and ``rides`` (:class:`tbgen.verify.kernels.moves.ProofMen`) for one man."""


def steps_of(name: str) -> list[Step]:
    """Return the steps of the king, piece or described man with this name."""
    if name == "N" or len(name) > 1:
        atoms = [(atom, len(list(run))) for atom, run in groupby(name.strip("[]"))]
    else:
        atoms = [(name, 1)]
    steps = set()
    for atom, times in atoms:
        lengths = {"K": {1, 2}, "Q": {1, 2}, "R": {1}, "B": {2}}.get(atom) or {_LEAPS[atom]}
        riding = atom in "QRB" or times > 1
        for x, y in product(range(-4, 5), repeat=2):
            if x * x + y * y in lengths:
                steps.add((x, y, 7 if riding else 1))
    return sorted(steps)


def reach_of(steps: Iterable[Step]) -> list[int]:
    """Return, for each square, the set of squares that a man with these steps attacks on an empty board."""
    all_steps = list(steps)
    return [
        _bitboard({reached for x, y, max_steps in all_steps for reached in _walk(square, x, y)[:max_steps]})
        for square in range(64)
    ]


def _walk(square: int, x: int, y: int) -> list[int]:
    """Return the squares that repeated steps lead to, up to the edge of the board."""
    file, rank = square % 8 + x, square // 8 + y
    squares = []
    while 0 <= file < 8 and 0 <= rank < 8:
        squares.append(8 * rank + file)
        file, rank = file + x, rank + y
    return squares


def _bitboard(squares: Iterable[int]) -> int:
    return sum(1 << square for square in squares)


def ways_of(steps: Sequence[Step], count: int) -> Ways:
    """Return the ways of a man with these steps, padded to ``count`` ways without squares."""
    delta, inside, rides = np.zeros(count, np.int64), np.zeros(count, np.uint64), np.zeros(count, np.bool_)
    for way, (x, y, max_steps) in enumerate(steps):
        delta[way] = 8 * y + x
        rides[way] = max_steps > 1
        inside[way] = _bitboard({square for square in range(64) if _walk(square, x, y)})
    return delta, inside, rides


def pawn_reach(colour: int) -> list[int]:
    """Return, for each square, the set of squares that a pawn attacks."""
    return reach_of([(file, 1 - 2 * colour, 1) for file in (-1, 1)])
