"""How the men of a table move, as arrays that the kernels read, by kind.

The kinds of chess are part of the code of the kernels, which are compiled anew for men that are described.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board import kinds
from tbgen.board.betza import EVERY_MOVE
from tbgen.board.kinds import KINDS, Kind, Step
from tbgen.compiler.structs import Struct
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ZERO, Ints, Words


@dataclass(frozen=True, eq=False)
class Movement(Struct):
    """The moves of some kinds; the first axis of an array is the number of the kind."""

    ways: Ints
    """int64 (kinds,): number of steps that a man can take, each of which begins a *way*."""
    leaps: Ints
    """int64 (kinds,): number of ways of one step, which come first."""
    way: NDArray[np.int8]
    """int8 (kinds, 64, most ways, 8): ``way[k, s, w, 0]`` squares lie on way ``w`` of a man on ``s``; they
    follow, nearest first."""
    length: Ints
    """int64 (kinds, most ways): greatest number of steps."""
    distance: Words
    """uint64 (kinds, most ways): the squares by which a step rotates a word."""
    landing: Words
    """uint64 (kinds, most ways): the squares on which a step can end."""
    shared: Ints
    """int64 (kinds, most ways): bit n is set where the square after n steps of a ride is one that another way
    reaches whenever this one does: the move counts there."""
    shares: bool
    """Whether any bit of ``shared`` is set."""
    leap_targets: Ints
    """int64 (kinds, 64, 1 + most leaps): number of squares to which a man leaps, and these."""
    attacks: Words
    """uint64 (kinds, 64): squares that a man attacks on an empty board."""
    passed: Words
    """uint64 (kinds, 64, 64): squares that a man passes on its way from one square to another."""


MOST_TARGETS: Final = 63
"""Most squares to which a man goes."""
MOST_STEPS: Final = sum(EVERY_MOVE.lengths)
"""Most steps that the ways of a man have."""


class _Orthodox(Movement):
    constant: ClassVar[str] = f"{__name__}.ORTHODOX"


@cache
def movement_of(men: tuple[Kind, ...]) -> Movement:
    """Return the moves of some kinds, numbered by their places."""
    return Movement(*_arrays(men))


def _arrays(men: Sequence[Kind]) -> tuple[Any, ...]:
    """Return the fields of the moves of some kinds."""
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
            found = kinds.ways(kind, square)
            leaps = [target for each in found[: len(kind.leaps)] for target in each]
            leap_targets[number, square, : len(leaps) + 1] = len(leaps), *leaps
            for at, line in enumerate(found):
                way[number, square, at, : len(line) + 1] = len(line), *line
                landing[number, at] |= BIT[line[0]] if line else ZERO
    squares = range(64)
    attacks = np.array([kinds.reach(kind) for kind in men], np.uint64)
    passed = [[[kinds.between(kind, start, stop) for stop in squares] for start in squares] for kind in men]
    moves = counts[0], counts[1], way, length, distance, landing, shared, bool(shared.any())
    return *moves, leap_targets, attacks, np.array(passed, np.uint64)


def _is_shared(kind: Kind, step: Step, steps: int) -> bool:
    """Whether a leap, or a ride by longer steps, leads where so many steps of a ride do: less stands in its
    way."""
    goal = steps * step[0], steps * step[1]
    longer = [tuple(step) for step in kind.rides]
    return step in kind.rides and (
        goal in kind.leaps
        or any((n * step[0], n * step[1]) in longer for n in range(2, steps + 1) if steps % n == 0)
    )


ORTHODOX: Final = _Orthodox(*_arrays(KINDS))
"""The moves of the kinds of chess."""
