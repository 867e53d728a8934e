"""Tables of squares for the compiled search, made once from those of python-chess.

Squares are numbered a1 = 0 to h8 = 63; a set of squares is a uint64. Sides: White 0, Black 1. Men: pawn 0,
knight 1, bishop 2, rook 3, queen 4, king 5.
"""

from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

Sets = NDArray[np.uint64]


def _sets(rows: list[int]) -> Sets:
    return np.array(rows, np.uint64)


KNIGHT: Final = _sets(chess.BB_KNIGHT_ATTACKS)
"""uint64 (64,): what a knight attacks."""
KING: Final = _sets(chess.BB_KING_ATTACKS)
"""uint64 (64,): what a king attacks."""
PAWN: Final = np.stack([_sets(chess.BB_PAWN_ATTACKS[white]) for white in (True, False)])
"""uint64 (2, 64): what a pawn of a side attacks."""
BETWEEN: Final = np.array([[chess.between(a, b) for b in range(64)] for a in range(64)], np.uint64)
"""uint64 (64, 64): the squares between two on one line."""
LINE: Final = np.array([[chess.ray(a, b) for b in range(64)] for a in range(64)], np.uint64)
"""uint64 (64, 64): the whole line through two squares, 0 if there is none."""


def _half_lines() -> Sets:
    """Return the squares of each line of a square that lie before it, and those that lie behind it."""
    lines = np.zeros((4, 2, 64), np.uint64)
    for number, (files, ranks) in enumerate(((0, 1), (1, 0), (1, 1), (-1, 1))):
        for square in range(64):
            file, rank = square & 7, square >> 3
            for step in range(1, 8):
                for sign in (-1, 1):
                    x, y = file + sign * step * files, rank + sign * step * ranks
                    if 0 <= x < 8 and 0 <= y < 8:
                        other = 8 * y + x
                        lines[number, int(other > square), square] |= np.uint64(1 << other)
    return lines


HALF_LINES: Final = _half_lines()
"""uint64 (4, 2, 64): files, ranks, diagonals and antidiagonals of a square, below it and above it."""

_random = np.random.default_rng(39)
MAN_KEYS: Final = _random.integers(1, 1 << 64, (2, 6, 64), np.uint64, endpoint=False)
"""uint64 (2, 6, 64): keys of men by side, kind and square; a position's key is the XOR of all that apply."""
RIGHT_KEYS: Final = _random.integers(1, 1 << 64, (2, 64), np.uint64, endpoint=False)
"""uint64 (2, 64): keys of rooks to castle with, and of squares to capture on en passant."""
TURN_KEY: Final = np.uint64(_random.integers(1, 1 << 64, None, np.uint64, endpoint=False))
"""The key of Black to move."""
KING_DISTANCE: Final = np.array([[chess.square_distance(a, b) for b in range(64)] for a in range(64)])
"""int64 (64, 64): a king's moves from square to square."""
MIDDLE_DISTANCE: Final = np.array(
    [(abs(2 * (square & 7) - 7) + abs(2 * (square >> 3) - 7)) // 2 for square in range(64)]
)
"""int64 (64,): how far a square is from the middle of the board."""
