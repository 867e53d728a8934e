"""The eight symmetries of the board and the triangle that White's king is brought into.

Squares are numbered as in python-chess: a1 = 0, b1 = 1, ..., h8 = 63.
"""

from typing import Final

TRIANGLE: Final = (0, 1, 2, 3, 9, 10, 11, 18, 19, 27)
"""a1 b1 c1 d1 b2 c2 d2 c3 d3 d4: one square of every orbit under the eight symmetries."""

TRIANGLE_COORD: Final = {square: coord for coord, square in enumerate(TRIANGLE)}

MIRROR_FILES: Final = 1
"""Bit of a symmetry number: a1 <-> h1."""
MIRROR_RANKS: Final = 2
"""Bit of a symmetry number: a1 <-> a8."""
TRANSPOSE: Final = 4
"""Bit of a symmetry number: b1 <-> a2, applied after the mirrors."""


def apply(symmetry: int, square: int) -> int:
    """Return the image of ``square`` under ``symmetry`` (0..7: mirror files, mirror ranks, then
    transpose)."""
    file, rank = square & 7, square >> 3
    if symmetry & MIRROR_FILES:
        file = 7 - file
    if symmetry & MIRROR_RANKS:
        rank = 7 - rank
    if symmetry & TRANSPOSE:
        file, rank = rank, file
    return rank * 8 + file


IMAGE: Final = tuple(tuple(apply(s, square) for square in range(64)) for s in range(8))
"""``IMAGE[symmetry][square]``."""

INVERSE: Final = tuple(
    next(t for t in range(8) if all(IMAGE[t][IMAGE[s][q]] == q for q in range(64))) for s in range(8)
)
"""``INVERSE[symmetry]``: the symmetry that undoes it."""

INTO_TRIANGLE: Final = tuple(
    tuple(s for s in range(8) if IMAGE[s][square] in TRIANGLE_COORD) for square in range(64)
)
"""The symmetries that bring a square into the triangle: one, or two for a square on a long diagonal."""


def swap_colours(square: int) -> int:
    """Return the square seen from the other side (ranks flipped), as used when colours are swapped."""
    return square ^ 56
