"""Board geometry as constant arrays for the kernels. Squares a1 = 0 ... h8 = 63; kinds as in
``PIECE_ORDER``."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from tbgen.index.symmetry import IMAGE, INTO_TRIANGLE, INVERSE, TRIANGLE, TRIANGLE_COORD

KING, QUEEN, ROOK, BISHOP, KNIGHT = range(5)

_DIRECTIONS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1))
"""(file, rank) steps; the first four are a rook's, the last four a bishop's."""
_KNIGHT_STEPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))

FIRST_RAY: Final = np.array([0, 0, 0, 4, 0])
"""First ray of each kind (sliders only)."""
LAST_RAY: Final = np.array([0, 8, 4, 8, 0])
"""One past the last ray of each kind; leapers have none."""


def _on_board(file: int, rank: int) -> bool:
    return 0 <= file < 8 and 0 <= rank < 8


def _rays() -> np.ndarray:
    rays = np.zeros((64, 8, 8), np.int64)
    for square in range(64):
        for number, (df, dr) in enumerate(_DIRECTIONS):
            file, rank, length = square % 8 + df, square // 8 + dr, 0
            while _on_board(file, rank):
                length += 1
                rays[square, number, length] = rank * 8 + file
                file, rank = file + df, rank + dr
            rays[square, number, 0] = length
    return rays


def _leaps(steps: Sequence[tuple[int, int]]) -> np.ndarray:
    leaps = np.zeros((64, 9), np.int64)
    for square in range(64):
        targets = [
            (square // 8 + dr) * 8 + square % 8 + df
            for df, dr in steps
            if _on_board(square % 8 + df, square // 8 + dr)
        ]
        leaps[square, 0] = len(targets)
        leaps[square, 1 : len(targets) + 1] = targets
    return leaps


def _masks(leaps: np.ndarray) -> np.ndarray:
    return np.array([sum(1 << int(t) for t in row[1 : row[0] + 1]) for row in leaps], np.uint64)


RAY: Final = _rays()
"""int64 (64, 8, 8): ``RAY[s, d, 0]`` squares lie on ray ``d`` of ``s``; they follow, nearest first."""
KING_LEAP: Final = _leaps(_DIRECTIONS)
"""int64 (64, 9): number of a king's targets, then the targets."""
KNIGHT_LEAP: Final = _leaps(_KNIGHT_STEPS)
"""int64 (64, 9): number of a knight's targets, then the targets."""
BIT: Final = np.array([1 << square for square in range(64)], np.uint64)
KING_ATTACKS: Final = _masks(KING_LEAP)
KNIGHT_ATTACKS: Final = _masks(KNIGHT_LEAP)
PAWN_LEAP: Final = np.array([_leaps([(-1, 1), (1, 1)]), _leaps([(-1, -1), (1, -1)])])
"""int64 (2, 64, 9): number of squares a pawn of each colour attacks, then the squares."""
PAWN_ATTACKS: Final = np.array([_masks(PAWN_LEAP[0]), _masks(PAWN_LEAP[1])])
"""uint64 (2, 64): squares that a pawn of each colour attacks."""


def _between() -> tuple[np.ndarray, np.ndarray]:
    between = np.zeros((64, 64), np.uint64)
    ray_number = np.full((64, 64), -1, np.int64)
    for square in range(64):
        for number in range(8):
            mask = 0
            for step in range(1, RAY[square, number, 0] + 1):
                target = int(RAY[square, number, step])
                between[square, target] = mask
                ray_number[square, target] = number
                mask |= 1 << target
    return between, ray_number


BETWEEN, RAY_NUMBER = _between()
"""uint64 (64, 64) squares strictly between two squares of a line; int64 (64, 64) the ray of the first square
on which the second lies, -1 if none."""

IMAGES: Final = np.array(IMAGE, np.int64)
INVERSES: Final = np.array(INVERSE, np.int64)
TRIANGLE_SQUARE: Final = np.array(TRIANGLE, np.int64)
SYMMETRY_OF: Final = np.array([symmetries[0] for symmetries in INTO_TRIANGLE], np.int64)
"""int64 (64,): one symmetry that brings a square into the triangle."""
TRIANGLE_OF: Final = np.array([TRIANGLE_COORD[IMAGE[INTO_TRIANGLE[q][0]][q]] for q in range(64)], np.int64)
"""int64 (64,): coordinate 0..9 of the square's image in the triangle."""


def _king_tables() -> tuple[np.ndarray, np.ndarray]:
    forward = np.zeros((10, 9, 2), np.int64)
    backward: list[list[tuple[int, int]]] = [[] for _ in range(10)]
    for coord, square in enumerate(TRIANGLE):
        forward[coord, 0, 0] = KING_LEAP[square, 0]
        for number in range(1, KING_LEAP[square, 0] + 1):
            target = int(KING_LEAP[square, number])
            symmetry = int(SYMMETRY_OF[target])
            forward[coord, number] = TRIANGLE_OF[target], symmetry
            backward[TRIANGLE_OF[target]].append((coord, INVERSE[symmetry]))
    width = max(map(len, backward)) + 1
    back = np.zeros((10, width, 2), np.int64)
    for coord, sources in enumerate(backward):
        back[coord, 0, 0] = len(sources)
        back[coord, 1 : len(sources) + 1] = sources
    return forward, back


KING_FORWARD, KING_BACKWARD = _king_tables()
"""Moves of White's king between triangle coordinates. ``[coord, 0, 0]`` is their number; each further row is
(other coordinate, symmetry that carries the remaining men along). Backward rows list, for a king that
*arrived* at ``coord``, every triangle square it may have come from, so both slots of a position with both
kings on the long diagonal are reached."""


def _shifts(steps: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    amounts = np.array([8 * dr + df for df, dr in steps], np.int64)
    landings = [sum(1 << q for q in range(64) if _on_board(q % 8 - df, q // 8 - dr)) for df, dr in steps]
    return amounts, np.array(landings, np.uint64)


RAY_SHIFT, RAY_LANDING = _shifts(_DIRECTIONS)
KNIGHT_SHIFT, KNIGHT_LANDING = _shifts(_KNIGHT_STEPS)
"""int64 (8,) and uint64 (8,): distance of a step in squares, and the squares it can end on."""
