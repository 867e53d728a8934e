"""Arrays of board geometry and of the moves of men, for the kernels. Squares are a1 = 0 to h8 = 63.

The arrays for chess men are constants in the compiled kernels. For described men (docs/described.md), the
kernels are compiled again with the arrays as arguments.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, Final

import chess
import numpy as np

from tbgen.board import kinds
from tbgen.board.kinds import ALL_MOVES_KIND, KINDS, KING, Kind, Step, between, ways
from tbgen.index.layout import IMAGE, INTO_TRIANGLE, INVERSE, TRIANGLE, TRIANGLE_COORD
from tbgen.moves.structs import Movement

KIND_COUNT: Final = len(KINDS)
"""Number of kinds of chess men other than pawns: the four that pawns promote to, and the king."""

BIT: Final = np.array([1 << square for square in range(64)], np.uint64)
"""uint64 (64,): for each square, the set that contains only this square."""

PAWN_ATTACKS: Final = np.array([chess.BB_PAWN_ATTACKS[colour] for colour in chess.COLORS], np.uint64)
"""uint64 (2, 64): squares that a pawn of each colour attacks."""

BETWEEN: Final = np.array(
    [[between(KINDS[1], start, stop) for stop in range(64)] for start in range(64)], np.uint64
)
"""uint64 (64, 64): squares strictly between two squares that a queen's move connects."""

BEHIND: Final = (BETWEEN[:, None] >> np.arange(64, dtype=np.uint64)[:, None] & np.uint64(1)) @ BIT
"""uint64 (64, 64): for two squares on a line, the squares beyond the second, as seen from the first."""

IMAGES: Final = np.array(IMAGE, np.int64)
"""int64 (8, 64): image of each square under each symmetry of the board."""
INVERSES: Final = np.array(INVERSE, np.int64)
"""int64 (8,): inverse of each symmetry."""
TRIANGLE_SQUARE: Final = np.array(TRIANGLE, np.int64)
"""int64 (10,): square at each coordinate of the triangle (``tbgen.index.layout.TRIANGLE``)."""
SYMMETRY_OF: Final = np.array([symmetries[0] for symmetries in INTO_TRIANGLE], np.int64)
"""int64 (64,): for each square, a symmetry that maps it into the triangle."""
TRIANGLE_OF: Final = np.array([TRIANGLE_COORD[IMAGE[INTO_TRIANGLE[q][0]][q]] for q in range(64)], np.int64)
"""int64 (64,): coordinate, 0 to 9, of the image of each square in the triangle."""

MAX_STEPS: Final = sum(ALL_MOVES_KIND.lengths)
"""Greatest number of steps of a man on all its ways together."""


def _make_king_tables() -> tuple[np.ndarray, np.ndarray]:
    listed_moves: list[list[tuple[int, int, int]]] = [[], []]
    for coord, square in enumerate(TRIANGLE):
        for (target,) in filter(None, ways(KINDS[KING], square)):
            symmetry, new_coord = int(SYMMETRY_OF[target]), int(TRIANGLE_OF[target])
            listed_moves[0].append((coord, new_coord, symmetry))
            listed_moves[1].append((new_coord, coord, INVERSE[symmetry]))
    tables = np.zeros((2, 10, 16, 2), np.int64)
    for table, moves in zip(tables, listed_moves, strict=True):
        for coord, *move in moves:
            table[coord, 0, 0] += 1
            table[coord, table[coord, 0, 0]] = move
    return tables[0], tables[1]


KING_TARGETS, KING_ORIGINS = _make_king_tables()
"""Moves of White's king from, and to, each coordinate of the triangle: int64 (10, 16, 2).

``[coord, 0, 0]`` is the number of moves. Each further row is one move: the coordinate of the target or
origin, and the symmetry that maps the other men. ``KING_ORIGINS`` lists every square of the triangle from
which a king can have moved to ``coord``. If the position before the move has two slots, because both kings
are on the long diagonal, both slots are therefore found."""


class _Orthodox(Movement):
    constant_path: ClassVar[str] = f"{__name__}.ORTHODOX"


@cache
def movement_of(men: tuple[Kind, ...]) -> Movement:
    """Return the moves of some kinds, which are numbered by their index in ``men``."""
    return Movement(*_movement_fields(men))


def _movement_fields(men: Sequence[Kind]) -> tuple[Any, ...]:
    """Return the fields of :class:`Movement` for some kinds."""
    counts = np.array([(len(kind.steps), len(kind.leaps)) for kind in men], np.int64).T.copy()
    max_counts = counts.max(axis=1)
    way = np.zeros((len(men), 64, max_counts[0], 8), np.int8)
    length, shared = np.zeros((2, len(men), max_counts[0]), np.int64)
    rotation, landing = np.zeros((2, len(men), max_counts[0]), np.uint64)
    leap_targets = np.zeros((len(men), 64, 1 + max_counts[1]), np.int64)
    for number, kind in enumerate(men):
        for index, (step, steps) in enumerate(zip(kind.steps, kind.lengths, strict=True)):
            length[number, index] = steps
            rotation[number, index] = (8 * step[1] + step[0]) % 64
            shared[number, index] = sum(1 << n for n in range(1, steps + 1) if _is_shared(kind, step, n))
        for square in range(64):
            lines = kinds.ways(kind, square)
            leaps = [target for way_line in lines[: len(kind.leaps)] for target in way_line]
            leap_targets[number, square, : len(leaps) + 1] = len(leaps), *leaps
            for index, line in enumerate(lines):
                way[number, square, index, : len(line) + 1] = len(line), *line
                landing[number, index] |= BIT[line[0]] if line else np.uint64(0)
    squares = range(64)
    attacks = np.array([kinds.reach(kind) for kind in men], np.uint64)
    passed = [[[kinds.between(kind, start, stop) for stop in squares] for start in squares] for kind in men]
    moves = counts[0], counts[1], way, length, rotation, landing, shared, bool(shared.any())
    return *moves, leap_targets, attacks, np.array(passed, np.uint64)


def _is_shared(kind: Kind, step: Step, steps: int) -> bool:
    """Whether a leap, or a ride with longer steps, leads to the square after ``steps`` steps of a ride.

    Such a move passes over fewer squares.
    """
    offset = steps * step[0], steps * step[1]
    rides = [tuple(step) for step in kind.rides]
    return step in kind.rides and (
        offset in kind.leaps
        or any((n * step[0], n * step[1]) in rides for n in range(2, steps + 1) if steps % n == 0)
    )


ORTHODOX: Final = _Orthodox(*_movement_fields(KINDS))
"""The moves of chess men."""
