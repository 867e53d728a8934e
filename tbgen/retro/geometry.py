"""Board geometry and the moves of men as constant arrays for the kernels; squares a1 = 0 to h8 = 63.

The arrays of chess men are constants in the compiled kernels. For described men the kernels are compiled
again, with arrays as arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board import kinds
from tbgen.board.kinds import EVERY_MOVE, KINDS, KING, Kind, Step, between, ways
from tbgen.compiler.structs import Struct
from tbgen.index.layout import IMAGE, INTO_TRIANGLE, INVERSE, TRIANGLE, TRIANGLE_COORD
from tbgen.retro.kernels.words import ZERO, Ints, Words

KIND_COUNT: Final = len(KINDS)
"""Number of kinds of chess men without pawns: the four that pawns promote to, and the king."""

BIT: Final = np.array([1 << square for square in range(64)], np.uint64)

PAWN_ATTACKS: Final = np.array([chess.BB_PAWN_ATTACKS[colour] for colour in chess.COLORS], np.uint64)
"""uint64 (2, 64): squares that a pawn of each colour attacks."""

BETWEEN: Final = np.array(
    [[between(KINDS[1], start, stop) for stop in range(64)] for start in range(64)], np.uint64
)
"""uint64 (64, 64): squares strictly between two squares on a line of a queen."""

IMAGES: Final = np.array(IMAGE, np.int64)
INVERSES: Final = np.array(INVERSE, np.int64)
TRIANGLE_SQUARE: Final = np.array(TRIANGLE, np.int64)
SYMMETRY_OF: Final = np.array([symmetries[0] for symmetries in INTO_TRIANGLE], np.int64)
"""int64 (64,): a symmetry that maps a square into the triangle."""
TRIANGLE_OF: Final = np.array([TRIANGLE_COORD[IMAGE[INTO_TRIANGLE[q][0]][q]] for q in range(64)], np.int64)
"""int64 (64,): coordinate 0 to 9 of the image of a square in the triangle."""


def _king_tables() -> tuple[np.ndarray, np.ndarray]:
    rows: list[list[tuple[int, int, int]]] = [[], []]
    for coord, square in enumerate(TRIANGLE):
        for (target,) in filter(None, ways(KINDS[KING], square)):
            symmetry, other = int(SYMMETRY_OF[target]), int(TRIANGLE_OF[target])
            rows[0].append((coord, other, symmetry))
            rows[1].append((other, coord, INVERSE[symmetry]))
    tables = np.zeros((2, 10, 16, 2), np.int64)
    for table, moves in zip(tables, rows, strict=True):
        for coord, *move in moves:
            table[coord, 0, 0] += 1
            table[coord, table[coord, 0, 0]] = move
    return tables[0], tables[1]


KING_FORWARD, KING_BACKWARD = _king_tables()
"""Moves of White's king between triangle coordinates, int64 (10, 16, 2).

``[coord, 0, 0]`` is the number of moves; each further row is (other coordinate, symmetry by which the other
men are mapped). The backward rows list every triangle square from which a king can have moved to ``coord``,
so both slots of a position with both kings on the long diagonal are reached."""


@dataclass(frozen=True, eq=False)
class Movement(Struct):
    """The moves of some kinds; the first axis of an array is the number of the kind."""

    ways: Ints
    """int64 (kinds,): number of *ways* of a man: its directions of leaps and rides."""
    leaps: Ints
    """int64 (kinds,): number of ways of one step (leaps), which come first."""
    way: NDArray[np.int8]
    """int8 (kinds, 64, max ways, 8): ``way[k, s, w, 0]`` is the number of squares on way ``w`` of a man on
    ``s``, followed by these squares, nearest first."""
    length: Ints
    """int64 (kinds, max ways): greatest number of steps."""
    distance: Words
    """uint64 (kinds, max ways): number of bits by which a step rotates a word."""
    landing: Words
    """uint64 (kinds, max ways): squares on which a step can end."""
    shared: Ints
    """int64 (kinds, max ways): bit n is set if another way reaches the square after n steps of a ride
    whenever this ride does. The move then counts only as one of the other way."""
    shares: bool
    """Whether any bit of ``shared`` is set."""
    leap_targets: Ints
    """int64 (kinds, 64, 1 + max leaps): number of squares to which a man leaps, followed by these squares."""
    attacks: Words
    """uint64 (kinds, 64): squares that a man attacks on an empty board."""
    passed: Words
    """uint64 (kinds, 64, 64): squares that must be empty for a move from one square to another."""


MAX_TARGETS: Final = 63
"""Greatest number of squares to which a man moves."""
MAX_STEPS: Final = sum(EVERY_MOVE.lengths)
"""Greatest total number of steps of the ways of a man."""


class _Orthodox(Movement):
    constant: ClassVar[str] = f"{__name__}.ORTHODOX"


@cache
def movement_of(men: tuple[Kind, ...]) -> Movement:
    """Return the moves of some kinds, numbered by their position in ``men``."""
    return Movement(*_arrays(men))


def _arrays(men: Sequence[Kind]) -> tuple[Any, ...]:
    """Return the fields of :class:`Movement` for some kinds."""
    counts = np.array([(len(kind.steps), len(kind.leaps)) for kind in men], np.int64).T.copy()
    most = counts.max(axis=1)
    way = np.zeros((len(men), 64, most[0], 8), np.int8)
    length, shared = np.zeros((2, len(men), most[0]), np.int64)
    distance, landing = np.zeros((2, len(men), most[0]), np.uint64)
    leap_targets = np.zeros((len(men), 64, 1 + most[1]), np.int64)
    for number, kind in enumerate(men):
        for at, (step, steps) in enumerate(zip(kind.steps, kind.lengths, strict=True)):
            length[number, at], distance[number, at] = steps, (8 * step[1] + step[0]) % 64
            shared[number, at] = sum(1 << n for n in range(1, steps + 1) if _is_shared(kind, step, n))
        for square in range(64):
            lines = kinds.ways(kind, square)
            leaps = [target for each in lines[: len(kind.leaps)] for target in each]
            leap_targets[number, square, : len(leaps) + 1] = len(leaps), *leaps
            for at, line in enumerate(lines):
                way[number, square, at, : len(line) + 1] = len(line), *line
                landing[number, at] |= BIT[line[0]] if line else ZERO
    squares = range(64)
    attacks = np.array([kinds.reach(kind) for kind in men], np.uint64)
    passed = [[[kinds.between(kind, start, stop) for stop in squares] for start in squares] for kind in men]
    moves = counts[0], counts[1], way, length, distance, landing, shared, bool(shared.any())
    return *moves, leap_targets, attacks, np.array(passed, np.uint64)


def _is_shared(kind: Kind, step: Step, steps: int) -> bool:
    """Whether a leap or a ride with longer steps reaches the square after ``steps`` steps of a ride; it
    passes fewer squares."""
    goal = steps * step[0], steps * step[1]
    longer = [tuple(step) for step in kind.rides]
    return step in kind.rides and (
        goal in kind.leaps
        or any((n * step[0], n * step[1]) in longer for n in range(2, steps + 1) if steps % n == 0)
    )


ORTHODOX: Final = _Orthodox(*_arrays(KINDS))
"""The moves of the kinds of chess."""
