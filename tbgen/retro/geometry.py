"""Board geometry as constant arrays for the kernels. Squares a1 = 0 ... h8 = 63; moves of men are in
``tbgen.retro.movement``."""

from typing import Final

import chess
import numpy as np

from tbgen.board.kinds import KINDS, KING, between, ways
from tbgen.index.symmetry import IMAGE, INTO_TRIANGLE, INVERSE, TRIANGLE, TRIANGLE_COORD

KIND_COUNT: Final = len(KINDS)
"""Number of kinds that pawns promote to, and 1."""

BIT: Final = np.array([1 << square for square in range(64)], np.uint64)

PAWN_ATTACKS: Final = np.array([chess.BB_PAWN_ATTACKS[colour] for colour in chess.COLORS], np.uint64)
"""uint64 (2, 64): squares that a pawn of each colour attacks."""

BETWEEN: Final = np.array(
    [[between(KINDS[1], start, stop) for stop in range(64)] for start in range(64)], np.uint64
)
"""uint64 (64, 64): squares between two on a line, on which a queen goes."""

IMAGES: Final = np.array(IMAGE, np.int64)
INVERSES: Final = np.array(INVERSE, np.int64)
TRIANGLE_SQUARE: Final = np.array(TRIANGLE, np.int64)
SYMMETRY_OF: Final = np.array([symmetries[0] for symmetries in INTO_TRIANGLE], np.int64)
"""int64 (64,): one symmetry that brings a square into the triangle."""
TRIANGLE_OF: Final = np.array([TRIANGLE_COORD[IMAGE[INTO_TRIANGLE[q][0]][q]] for q in range(64)], np.int64)
"""int64 (64,): coordinate 0..9 of the square's image in the triangle."""


def _king_tables() -> tuple[np.ndarray, np.ndarray]:
    rows: list[list[tuple[int, int, int]]] = [[], []]
    for coord, square in enumerate(TRIANGLE):
        for (target,) in filter(None, ways(KINDS[KING], square)):
            symmetry, other = int(SYMMETRY_OF[target]), int(TRIANGLE_OF[target])
            rows[0].append((coord, other, symmetry))
            rows[1].append((other, coord, INVERSE[symmetry]))
    tables = np.zeros((2, 10, 16, 2), np.int64)
    for table, found in zip(tables, rows, strict=True):
        for coord, *move in found:
            table[coord, 0, 0] += 1
            table[coord, table[coord, 0, 0]] = move
    return tables[0], tables[1]


KING_FORWARD, KING_BACKWARD = _king_tables()
"""Moves of White's king between triangle coordinates. ``[coord, 0, 0]`` is their number; each further row is
(other coordinate, symmetry that carries the remaining men along). Backward rows list, for a king that
*arrived* at ``coord``, every triangle square it may have come from, so both slots of a position with both
kings on the long diagonal are reached."""
