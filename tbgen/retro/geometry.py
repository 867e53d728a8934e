"""Board geometry as constant arrays for the kernels. Squares a1 = 0 ... h8 = 63; kinds are numbers in
``tbgen.board.kinds.KINDS``, from which all moves of pieces and kings come."""

from typing import Final

import chess
import numpy as np

from tbgen.board.kinds import KINDS, KING, reach, ways
from tbgen.index.symmetry import IMAGE, INTO_TRIANGLE, INVERSE, TRIANGLE, TRIANGLE_COORD

KIND_COUNT: Final = len(KINDS)

BIT: Final = np.array([1 << square for square in range(64)], np.uint64)

WAYS: Final = np.array([len(kind.steps) for kind in KINDS])
"""int64 (kinds,): number of steps that a man of the kind can take, each of which begins a *way*."""
LEAPS: Final = np.array([len(kind.leaps) for kind in KINDS])
"""int64 (kinds,): number of ways of one step, which come first."""


def _by_way() -> tuple[np.ndarray, ...]:
    shape = len(KINDS), max(WAYS)
    squares, lengths = np.zeros((len(KINDS), 64, max(WAYS), 8), np.int8), np.zeros(shape, np.int64)
    distances, landings = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    for number, kind in enumerate(KINDS):
        for way, (files, ranks) in enumerate(kind.steps):
            lengths[number, way] = kind.lengths[way]
            distances[number, way] = (8 * ranks + files) % 64
            for square in range(64):
                passed = ways(number, square)[way]
                squares[number, square, way, : len(passed) + 1] = len(passed), *passed
                landings[number, way] |= BIT[passed[0]] if passed else np.uint64(0)
    return squares, lengths, distances, landings


WAY, LENGTH, DISTANCE, LANDING = _by_way()
"""``WAY[k, s, w, 0]``, int8, squares lie on way ``w`` of a man of kind ``k`` on ``s``; they follow, nearest
first. By kind and way ``LENGTH``, int64, is the greatest number of steps, ``DISTANCE``, uint64, the squares
by which a step rotates a word, and ``LANDING``, uint64, the squares on which a step can end."""


def _leap_targets() -> np.ndarray:
    targets = np.zeros((len(KINDS), 64, 1 + max(LEAPS)), np.int64)
    for kind, square in np.ndindex(targets.shape[:2]):
        found = [target for way in ways(kind, square)[: LEAPS[kind]] for target in way]
        targets[kind, square, : len(found) + 1] = len(found), *found
    return targets


LEAP_TARGETS: Final = _leap_targets()
"""int64 (kinds, 64, 1 + most leaps): number of squares to which a man of a kind leaps from a square, and
these."""

ATTACKS: Final = np.array([reach(kind) for kind in range(len(KINDS))], np.uint64)
"""uint64 (kinds, 64): squares that a man attacks on an empty board."""
MOST_TARGETS: Final = max(int(squares).bit_count() for squares in ATTACKS.flat)
"""Most squares that a man attacks."""


PAWN_ATTACKS: Final = np.array([chess.BB_PAWN_ATTACKS[colour] for colour in chess.COLORS], np.uint64)
"""uint64 (2, 64): squares that a pawn of each colour attacks."""


def _passed() -> np.ndarray:
    found = np.zeros((len(KINDS), 64, 64), np.uint64)
    for kind, square in np.ndindex(found.shape[:2]):
        for way in reversed(ways(kind, square)):  # leaps last, which pass nothing where a ride would
            passed = np.uint64(0)
            for target in way:
                found[kind, square, target] = passed
                passed |= BIT[target]
    return found


PASSED: Final = _passed()
"""uint64 (kinds, 64, 64): squares that a man of a kind passes on its way from one square to another."""
BETWEEN: Final = np.bitwise_or.reduce(PASSED)
"""uint64 (64, 64): squares between two on a line."""

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
        for (target,) in filter(None, ways(KING, square)):
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
