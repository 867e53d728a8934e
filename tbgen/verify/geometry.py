"""Squares as seen from squares: the numpy tables that the forward generator reads.

Squares are numbered as in python-chess (a1 = 0, h8 = 63); bit ``s`` of a bit board (uint64) is square ``s``.
"""

from collections.abc import Iterable
from itertools import groupby, product
from typing import Final

import numpy as np
from numpy.typing import NDArray

Boards = NDArray[np.uint64]

KING, QUEEN, ROOK, BISHOP, KNIGHT, PAWN = range(6)
"""Kinds of men, in the order of ``PIECE_ORDER``, then the pawn; described men have greater numbers."""

_STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
_SLANTED = ((1, 1), (1, -1), (-1, 1), (-1, -1))
_JUMPS = tuple((x, y) for x in (-2, -1, 1, 2) for y in (-2, -1, 1, 2) if abs(x) != abs(y))
_WALKS: tuple[tuple[tuple[tuple[int, int], ...], int], ...] = (
    (_STRAIGHT + _SLANTED, 1),
    (_STRAIGHT + _SLANTED, 7),
    (_STRAIGHT, 7),
    (_SLANTED, 7),
    (_JUMPS, 1),
    (((-1, 1), (1, 1)), 1),
)


def _walk(square: int, step: tuple[int, int]) -> list[int]:
    """Return the squares that repeated steps lead to, up to the edge of the board."""
    file, rank = square % 8 + step[0], square // 8 + step[1]
    squares = []
    while 0 <= file < 8 and 0 <= rank < 8:
        squares.append(8 * rank + file)
        file, rank = file + step[0], rank + step[1]
    return squares


def _board(squares: list[int]) -> int:
    return sum(1 << square for square in squares)


def _lines() -> tuple[Boards, Boards]:
    between, behind = np.zeros((2, 64, 64), np.uint64)
    for square in range(64):
        for step in _STRAIGHT + _SLANTED:
            line = _walk(square, step)
            for place, other in enumerate(line):
                between[square, other] = _board(line[:place])
                behind[square, other] = _board(line[place + 1 :])
    return between, behind


def _reach(ahead: int, square: int, steps: Iterable[tuple[int, int]], length: int) -> int:
    """Return what a man attacks on an empty board whose pawns go up (1) or down (-1) the board."""
    return sum(_board(_walk(square, (x, ahead * y))[:length]) for x, y in steps)


REACH: Final = np.array(
    [[[_reach(ahead, square, *walk) for square in range(64)] for walk in _WALKS] for ahead in (1, -1)],
    np.uint64,
)
"""Shape (2, 6, 64): what a man attacks on an empty board, by colour and kind."""

BETWEEN, BEHIND = _lines()
"""Shape (64, 64): the squares between two squares of a line; those beyond the second, seen from the first."""

_LEAPS: Final = {"W": 1, "F": 2, "D": 4, "N": 5, "A": 8, "H": 9, "C": 10, "Z": 13, "G": 18}
"""Atoms of described men, by the squared length of their leaps: no two have the same."""


def steps_of(name: str) -> list[tuple[int, int, int]]:
    """Return how a man of a name moves, a piece of chess or described: files, ranks and number of steps."""
    if name == "N" or len(name) > 1:
        atoms = [(atom, len(list(run))) for atom, run in groupby(name.strip("[]"))]
    else:
        atoms = [(name, 1)]
    found = set()
    for atom, times in atoms:
        lengths = {"K": {1, 2}, "Q": {1, 2}, "R": {1}, "B": {2}}.get(atom) or {_LEAPS[atom]}
        riding = atom in "QRB" or times > 1
        for x, y in product(range(-3, 4), repeat=2):
            if x * x + y * y in lengths:
                found.add((x, y, 7 if riding else 1))
    return sorted(found)


def reach_of(steps: Iterable[tuple[int, int, int]]) -> list[int]:
    """Return what a man with some steps attacks on an empty board, by its square."""
    walks = list(steps)
    return [
        _board(sorted({reached for x, y, number in walks for reached in _walk(square, (x, y))[:number]}))
        for square in range(64)
    ]
