"""Arrays indexed by square for the compiled search: geometry, Zobrist keys, and values of men.

The geometry is computed with python-chess when the module is imported. The values of men are those of PeSTO
[1], in centipawns.

Squares are numbered from a1 = 0 to h8 = 63; a set of squares is a uint64. The sides are White 0 and Black 1.
The kinds of men are pawn 0, knight 1, bishop 2, rook 3, queen 4 and king 5.

[1] https://www.chessprogramming.org/PeSTO%27s_Evaluation_Function
"""

from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

SquareSets = NDArray[np.uint64]

SQUARES_BETWEEN: Final = np.array([[chess.between(a, b) for b in range(64)] for a in range(64)], np.uint64)
"""uint64 (64, 64): squares between two squares, 0 if these are not on one line."""
LINE: Final = np.array([[chess.ray(a, b) for b in range(64)] for a in range(64)], np.uint64)
"""uint64 (64, 64): all squares of the line through two squares, 0 if no line contains both."""

_generator = np.random.default_rng(39)
MAN_KEYS: Final = _generator.integers(1, 1 << 64, (2, 6, 64), np.uint64, endpoint=False)
"""uint64 (2, 6, 64): Zobrist keys of men by side, kind and square, combined by XOR into a position's key."""
CASTLING_AND_EP_KEYS: Final = _generator.integers(1, 1 << 64, (2, 64), np.uint64, endpoint=False)
"""uint64 (2, 64): Zobrist keys by square: row 0 for rooks with castling rights, row 1 for en passant
squares."""
TURN_KEY: Final = np.uint64(_generator.integers(1, 1 << 64, None, np.uint64, endpoint=False))
"""Zobrist key that is included if Black is to move."""
KING_DISTANCE: Final = np.array([[chess.square_distance(a, b) for b in range(64)] for a in range(64)])
"""int64 (64, 64): number of king moves between two squares."""
CENTRE_DISTANCE: Final = np.array(
    [(abs(2 * (square & 7) - 7) + abs(2 * (square >> 3) - 7)) // 2 for square in range(64)]
)
"""int64 (64,): distance of a square from the centre of the board, in files plus ranks."""

_KIND_VALUES: Final = ((82, 337, 365, 477, 1025, 0), (94, 281, 297, 512, 936, 0))
"""Values of men by phase (middlegame, endgame) and kind. The piece-square tables (PST) below add a value for
the man's square. For White's men, they list the squares from a8 to h8, then from a7 to h7, down to h1."""
_PAWN_PST: Final = (
    """0 0 0 0 0 0 0 0 98 134 61 95 68 126 34 -11 -6 7 26 31 65 56 25 -20 -14 13 6 21 23 12 17 -23
    -27 -2 -5 12 17 6 10 -25 -26 -4 -4 -10 3 3 33 -12 -35 -1 -20 -23 -15 24 38 -22 0 0 0 0 0 0 0 0""",
    """0 0 0 0 0 0 0 0 178 173 158 134 147 132 165 187 94 100 85 67 56 53 82 84 32 24 13 5 -2 4 17 17
    13 9 -3 -7 -7 -8 3 -1 4 7 -6 1 0 -5 -1 -8 13 8 8 10 13 0 2 -7 0 0 0 0 0 0 0 0""",
)
_KNIGHT_PST: Final = (
    """-167 -89 -34 -49 61 -97 -15 -107 -73 -41 72 36 23 62 7 -17 -47 60 37 65 84 129 73 44
    -9 17 19 53 37 69 18 22 -13 4 16 13 28 19 21 -8 -23 -9 12 10 19 17 25 -16
    -29 -53 -12 -3 -1 18 -14 -19 -105 -21 -58 -33 -17 -28 -19 -23""",
    """-58 -38 -13 -28 -31 -27 -63 -99 -25 -8 -25 -2 -9 -25 -24 -52 -24 -20 10 9 -1 -9 -19 -41
    -17 3 22 22 22 11 8 -18 -18 -6 16 25 16 17 4 -18 -23 -3 -1 15 10 -3 -20 -22
    -42 -20 -10 -5 -2 -20 -23 -44 -29 -51 -23 -15 -22 -18 -50 -64""",
)
_BISHOP_PST: Final = (
    """-29 4 -82 -37 -25 -42 7 -8 -26 16 -18 -13 30 59 18 -47 -16 37 43 40 35 50 37 -2 -4 5 19 50 37 37 7 -2
    -6 13 13 26 34 12 10 4 0 15 15 15 14 27 18 10 4 15 16 0 7 21 33 1 -33 -3 -14 -21 -13 -12 -39 -21""",
    """-14 -21 -11 -8 -7 -9 -17 -24 -8 -4 7 -12 -3 -13 -4 -14 2 -8 0 -1 -2 6 0 4 -3 9 12 9 14 10 3 2
    -6 3 13 19 7 10 -3 -9 -12 -3 8 10 13 3 -7 -15 -14 -18 -7 -1 4 -9 -15 -27 -23 -9 -23 -5 -9 -16 -5 -17""",
)
_ROOK_PST: Final = (
    """32 42 32 51 63 9 31 43 27 32 58 62 80 67 26 44 -5 19 26 36 17 45 61 16 -24 -11 7 26 24 35 -8 -20
    -36 -26 -12 -1 9 -7 6 -23 -45 -25 -16 -17 3 0 -5 -33 -44 -16 -20 -9 -1 11 -6 -71
    -19 -13 1 17 16 7 -37 -26""",
    """13 10 18 15 12 12 8 5 11 13 13 11 -3 3 8 3 7 7 7 5 4 -3 -5 -3 4 3 13 1 2 1 -1 2
    3 5 8 4 -5 -6 -8 -11 -4 0 -5 -1 -7 -12 -8 -16 -6 -6 0 2 -9 -9 -11 -3 -9 2 3 -1 -5 -13 4 -20""",
)
_QUEEN_PST: Final = (
    """-28 0 29 12 59 44 43 45 -24 -39 -5 1 -16 57 28 54 -13 -17 7 8 29 56 47 57 -27 -27 -16 -16 -1 17 -2 1
    -9 -26 -9 -10 -2 -4 3 -3 -14 2 -11 -2 -5 2 14 5 -35 -8 11 2 8 15 -3 1 -1 -18 -9 10 -15 -25 -31 -50""",
    """-9 22 22 27 27 19 10 20 -17 20 32 41 58 25 30 0 -20 6 9 49 47 35 19 9 3 22 24 45 57 40 57 36
    -18 28 19 47 31 34 39 23 -16 -27 15 6 9 17 10 5 -22 -23 -30 -16 -16 -23 -36 -32
    -33 -28 -22 -43 -5 -32 -20 -41""",
)
_KING_PST: Final = (
    """-65 23 16 -15 -56 -34 2 13 29 -1 -20 -7 -8 -4 -38 -29 -9 24 2 -16 -20 6 22 -22
    -17 -20 -12 -27 -30 -25 -14 -36 -49 -1 -27 -39 -46 -44 -33 -51 -14 -14 -22 -46 -44 -30 -15 -27
    1 7 -8 -64 -43 -16 9 8 -15 36 12 -54 8 -28 24 14""",
    """-74 -35 -18 -18 -11 15 4 -17 -12 17 14 17 17 38 23 11 10 17 23 15 20 45 44 13
    -8 22 24 27 26 33 26 3 -18 -4 21 24 27 23 9 -11 -19 -3 11 21 23 16 7 -9
    -27 -11 4 13 14 4 -5 -17 -53 -34 -21 -11 -28 -14 -24 -43""",
)
PHASE_WEIGHTS: Final = np.array([0, 1, 1, 2, 4, 0])
"""int64 (6,): contribution of each kind of man to the phase, from 0 (endgame) to ``TOTAL_PHASE``."""
TOTAL_PHASE: Final = 24
"""Sum of the ``PHASE_WEIGHTS`` of the men of the initial position."""


def _square_sets(masks: list[int]) -> SquareSets:
    return np.array(masks, np.uint64)


KNIGHT_ATTACKS: Final = _square_sets(chess.BB_KNIGHT_ATTACKS)
"""uint64 (64,): squares that a knight attacks."""
KING_ATTACKS: Final = _square_sets(chess.BB_KING_ATTACKS)
"""uint64 (64,): squares that a king attacks."""
PAWN_ATTACKS: Final = np.stack([_square_sets(chess.BB_PAWN_ATTACKS[white]) for white in (True, False)])
"""uint64 (2, 64): squares that a pawn attacks, by its side and square."""


def _half_lines() -> SquareSets:
    """Return the squares on each line through each square: those with lower and those with higher numbers."""
    lines = np.zeros((4, 2, 64), np.uint64)
    for direction, (files, ranks) in enumerate(((0, 1), (1, 0), (1, 1), (-1, 1))):
        for square in range(64):
            file, rank = square & 7, square >> 3
            for step in range(1, 8):
                for sign in (-1, 1):
                    x, y = file + sign * step * files, rank + sign * step * ranks
                    if 0 <= x < 8 and 0 <= y < 8:
                        other = 8 * y + x
                        lines[direction, int(other > square), square] |= np.uint64(1 << other)
    return lines


HALF_LINES: Final = _half_lines()
"""uint64 (4, 2, 64): squares on the file, rank, diagonal and antidiagonal of a square, first those with lower
numbers than the square, then those with higher numbers."""


def _man_values() -> np.ndarray[tuple[int, int, int, int], np.dtype[np.int64]]:
    values = np.zeros((2, 2, 6, 64), np.int64)
    for kind, phases in enumerate((_PAWN_PST, _KNIGHT_PST, _BISHOP_PST, _ROOK_PST, _QUEEN_PST, _KING_PST)):
        for phase, text in enumerate(phases):
            black_values = _KIND_VALUES[phase][kind] + np.array(text.split(), np.int64)
            values[phase, 1, kind] = black_values
            values[phase, 0, kind] = black_values.reshape(8, 8)[::-1].ravel()
    return values


MAN_VALUES: Final = _man_values()
"""int64 (2, 2, 6, 64): values of men by phase (middlegame, endgame), side, kind and square."""
