"""Arrays of board geometry and of the moves of men, for the kernels. Squares are a1 = 0 to h8 = 63.

The arrays for chess men are constants in the compiled kernels. For described men (docs/described.md), the
kernels are compiled again with the arrays as arguments.
"""

from collections.abc import Sequence
from functools import cache
from typing import ClassVar, Final

import chess
import numpy as np

from tbgen.board.kinds import ALL_MOVES_KIND, KINDS, KING, QUEEN, Kind, Step, between, reach, ways
from tbgen.compiler.structs import Ints
from tbgen.index.layout import IMAGE, INTO_TRIANGLE, INVERSE, TRIANGLE, TRIANGLE_COORD
from tbgen.moves.structs import Movement

KIND_COUNT: Final = len(KINDS)
"""Number of kinds of chess men other than pawns: the four that pawns promote to, and the king."""

BIT: Final = np.array([1 << square for square in range(64)], np.uint64)
"""uint64 (64,): for each square, the set that contains only this square."""

PAWN_ATTACKS: Final = np.array([chess.BB_PAWN_ATTACKS[colour] for colour in chess.COLORS], np.uint64)
"""uint64 (2, 64): squares that a pawn of each colour attacks."""

BETWEEN: Final = np.array(
    [[between(KINDS[QUEEN], start, stop) for stop in range(64)] for start in range(64)], np.uint64
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


def _make_king_tables() -> tuple[Ints, Ints]:
    targets, origins = np.zeros((10, 16, 2), np.int64), np.zeros((10, 16, 2), np.int64)
    for coord, square in enumerate(TRIANGLE):
        for (target,) in filter(None, ways(KINDS[KING], square)):
            symmetry, new_coord = SYMMETRY_OF[target], TRIANGLE_OF[target]
            moves = (targets[coord], new_coord, symmetry), (origins[new_coord], coord, INVERSE[symmetry])
            for rows, other_coord, other_symmetry in moves:
                rows[0, 0] += 1
                rows[rows[0, 0]] = other_coord, other_symmetry
    return targets, origins


KING_TARGETS, KING_ORIGINS = _make_king_tables()
"""Moves of White's king from, and to, each coordinate of the triangle: int64 (10, 16, 2).

``[coord, 0, 0]`` is the number of moves. Each further row is one move: the coordinate of the target or
origin, and the symmetry that maps the other men. ``KING_ORIGINS`` lists every square of the triangle from
which a king can have moved to ``coord``. If the position before the move has two slots, because both kings
are on the long diagonal, both slots are therefore found."""


class _Orthodox(Movement):
    constant_path: ClassVar[str] = f"{__name__}.ORTHODOX"


@cache
def movement_of(kinds: tuple[Kind, ...]) -> Movement:
    """Return the moves of some kinds, which are numbered by their index in ``kinds``."""
    return _make_movement(Movement, kinds)


def _make_movement(movement_type: type[Movement], kinds: Sequence[Kind]) -> Movement:
    """Return the moves of some kinds as a structure of the given type."""
    way_count = np.array([len(kind.steps) for kind in kinds], np.int64)
    leap_count = np.array([len(kind.leaps) for kind in kinds], np.int64)
    by_way = len(kinds), way_count.max()
    way_squares = np.zeros((len(kinds), 64, way_count.max(), 8), np.int8)
    length, shared_steps = np.zeros(by_way, np.int64), np.zeros(by_way, np.int64)
    rotation, landing = np.zeros(by_way, np.uint64), np.zeros(by_way, np.uint64)
    leap_targets = np.zeros((len(kinds), 64, 1 + leap_count.max()), np.int64)
    for index, kind in enumerate(kinds):
        for way, (step, steps) in enumerate(zip(kind.steps, kind.lengths, strict=True)):
            length[index, way] = steps
            rotation[index, way] = (8 * step[1] + step[0]) % 64
            shared_steps[index, way] = sum(1 << n for n in range(1, steps + 1) if _is_shared(kind, step, n))
        for square in range(64):
            ways_here = ways(kind, square)
            leaps = [target for squares in ways_here[: len(kind.leaps)] for target in squares]
            leap_targets[index, square, : len(leaps) + 1] = len(leaps), *leaps
            for way, squares in enumerate(ways_here):
                way_squares[index, square, way, : len(squares) + 1] = len(squares), *squares
                landing[index, way] |= BIT[squares[0]] if squares else np.uint64(0)
    passed_squares = [
        [[between(kind, start, stop) for stop in range(64)] for start in range(64)] for kind in kinds
    ]
    return movement_type(
        way_count=way_count,
        leap_count=leap_count,
        way_squares=way_squares,
        length=length,
        rotation=rotation,
        landing=landing,
        shared_steps=shared_steps,
        has_shared_steps=bool(shared_steps.any()),
        leap_targets=leap_targets,
        attacks=np.array([reach(kind) for kind in kinds], np.uint64),
        passed_squares=np.array(passed_squares, np.uint64),
    )


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


ORTHODOX: Final = _make_movement(_Orthodox, KINDS)
"""The moves of chess men."""
