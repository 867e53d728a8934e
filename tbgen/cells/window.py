"""Intervals of codes, and windows: the intervals in which cells are solved.

If the value of a state is proved to lie between two scores, scores beyond them need not be distinguished.
Exits at or below the worse score may count as mates by Black, and exits at or above the better score as mates
by White (section 11 of docs/theory.md). In a narrower window, a cell is solved faster, because in most
positions a single move that is good enough determines the value (docs/solve_reference.md).

An *end* of an interval is the lower bound (0) or the upper bound (1).
"""

from functools import lru_cache
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import MAX_CODED_RANK, NONE, Code, rank_of_code
from tbgen.cells.kernels.values import map_exits_to_window, write_bounds
from tbgen.moves.kernels.words import Codes, Plies

FAR_DEPTH: Final = 60_000
"""Placeholder for an unknown depth, in plies: greater than every real depth."""


class Interval(NamedTuple):
    """The codes of two scores: bounds of a value, or a window beyond which scores are not distinguished."""

    lower: Code
    """The score that is worse for White."""
    upper: Code
    """The score that is better for White."""

    @property
    def exact(self) -> bool:
        """Whether both scores are equal."""
        return self.lower == self.upper

    @property
    def last_rank(self) -> int:
        """The greatest rank of a score that is not beyond the interval, if one side holds both of its scores.

        All scores of greater rank are then beyond the same end. If there is no code for such a score, or if
        each side holds one of the two scores, the result is greater than every rank that has a code.
        """
        rank, one_holder = max(map(rank_of_code, self)), (self.lower < NONE) == (self.upper < NONE)
        return rank if one_holder and rank < MAX_CODED_RANK else MAX_CODED_RANK + 1

    @property
    def swapped(self) -> Self:
        """The interval with the colours swapped."""
        return type(self)(Code(255 - self.upper), Code(255 - self.lower))

    def covers(self, other: "Interval") -> bool:
        """Return whether this interval contains the other interval."""
        return self.lower >= other.lower and self.upper <= other.upper

    def intersection(self, other: "Interval") -> Self:
        """Return the intersection with another interval. If it is empty, ``lower`` is better than ``upper``.

        >>> Interval(Code(250), Code(10)).intersection(Interval(Code(255), Code(20)))
        Interval(lower=250, upper=20)
        """
        return type(self)(min(self.lower, other.lower), max(self.upper, other.upper))

    def hull(self, other: "Interval") -> Self:
        """Return the smallest interval that covers this interval and the other interval.

        >>> Interval(Code(250), Code(10)).hull(Interval(Code(255), Code(20)))
        Interval(lower=255, upper=10)
        """
        return type(self)(max(self.lower, other.lower), min(self.upper, other.upper))

    def nearest(self, code: Code) -> Code:
        """Return the score in this interval that is nearest to the given score.

        >>> Interval(Code(245), Code(244)).nearest(Code(3)), Interval(Code(245), Code(244)).nearest(Code(250))
        (244, 245)
        """
        return min(max(code, self.upper), self.lower)

    def clamped(self, window: "Interval") -> Self:
        """Return the interval with both scores clamped to a window."""
        return type(self)(window.nearest(self.lower), window.nearest(self.upper))

    def codes(self) -> list[Code]:
        """Return the codes of all scores in the interval, from the worst for White to the best.

        >>> Interval(Code(129), Code(125)).codes()
        [129, 126, 125]
        """
        return [Code(code) for code in range(self.lower, self.upper - 1, -1) if code not in (NONE, NONE + 1)]

    @property
    def widened(self) -> Self:
        """The interval with one further score at each side, if there is one."""
        codes = ALL_SCORES.codes()
        lower, upper = codes.index(self.lower), codes.index(self.upper)
        return type(self)(codes[max(lower - 1, 0)], codes[min(upper + 1, len(codes) - 1)])

    def map_exit(self, code: Code) -> Code:
        """Return the code with which an exit of the given value counts in this window."""
        return Code(int(_lookups_of(self).window_code[code]))

    def map_exits(self, value: Codes, depth: Plies) -> tuple[Codes, Plies]:
        """Return the values and depths with which exits of the given values and depths count in this window.

        :param depth: the depths; shape (0,) if depths are not needed.
        """
        lookups = _lookups_of(self)
        mapped = np.empty(len(value), np.uint8), np.empty(len(depth), np.uint16)
        value, depth = np.require(value, None, ["C", "W"]), np.require(depth, None, ["C", "W"])
        map_exits_to_window(value, depth, lookups.window_code, lookups.exit_keeps_depth, *mapped)
        return mapped

    def set_bounds(self, end: int, value: Codes, depth: Plies | None = None) -> None:
        """Replace the values of a game, solved in this window, by the bounds that they prove, in place.

        In the lower game, a value at or beyond the window's better score proves only that this score is a
        lower bound. In the upper game, a value at or beyond the worse score proves only that this score is an
        upper bound. The depths of these bounds are unknown.

        :param end: the game that was solved: 0 for the lower game, 1 for the upper game.
        """
        lookups = _lookups_of(self)
        depths = np.empty(0, np.uint16) if depth is None else depth.reshape(-1)
        bound, keeps_depth = lookups.bound[end], lookups.bound_keeps_depth[end]
        write_bounds(value.reshape(-1), depths, bound, keeps_depth, lookups.unknown_depth[end])

    def lacks_depth(self, value: Codes, end: int) -> NDArray[np.bool_]:
        """Return, for each bound that :meth:`set_bounds` has written at ``end``, whether its depth is
        unknown."""
        is_unknown: NDArray[np.bool_] = value == self[1 - end]
        return is_unknown if self[1 - end] != ALL_SCORES[1 - end] else np.zeros_like(is_unknown)


ALL_SCORES: Final = Interval(Code(255), Code(0))
"""The window that distinguishes all scores."""


class _Lookups(NamedTuple):
    """Look-up tables of a window. The pairs are indexed by end, the arrays by the code of a score."""

    window_code: Codes
    """The value with which an exit counts in the window."""
    exit_keeps_depth: Plies
    """1 if an exit keeps its value, and therefore its depth; else 0."""
    bound: tuple[Codes, Codes]
    """The bound that a value of a game proves."""
    bound_keeps_depth: tuple[Codes, Codes]
    """1 if this bound has the depth of the value, 0 if its depth is unknown."""
    unknown_depth: tuple[int, int]
    """The depth to store for bounds of unknown depth: the depth that makes the weakest claim."""


@lru_cache(maxsize=64)
def _lookups_of(window: Interval) -> _Lookups:
    lower, upper = window
    codes = np.arange(256)
    is_worse = (codes >= lower) & (codes != NONE) & (lower < ALL_SCORES.lower)
    is_better = (codes <= upper) & (codes != NONE) & (upper > ALL_SCORES.upper)

    bounds = np.where(is_better, upper, codes), np.where(is_worse, lower, codes)
    unknown_depths = FAR_DEPTH if upper < NONE else 0, FAR_DEPTH if lower > NONE else 0
    exits = np.where(is_worse, ALL_SCORES.lower, np.where(is_better, ALL_SCORES.upper, codes))
    at_lower, at_upper, exits = (each.astype(np.uint8) for each in (*bounds, exits))
    exit_keeps_depth = (~(is_worse | is_better)).astype(np.uint16)
    bound_keeps_depth = (~is_better).astype(np.uint8), (~is_worse).astype(np.uint8)
    return _Lookups(exits, exit_keeps_depth, (at_lower, at_upper), bound_keeps_depth, unknown_depths)
