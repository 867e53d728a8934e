"""Intervals of codes, and windows, the intervals in which a cell is solved.

If the value of a state is proved to lie between two scores, no scores beyond them need to be distinguished:
exits at or below the worse score may count as mates by Black, and exits at or above the better score as mates
by White (section 11 of docs/theory.md). Then a single move that is good enough determines the value of most
positions, so a cell is solved faster in a narrower window (docs/solve_reference.md).
"""

from functools import lru_cache
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.cells.kernels.values import map_exits_to_window, prove_bounds
from tbgen.retro.kernels.words import Codes, Plies

FAR: Final = 60_000
"""Placeholder for an unknown depth, in plies: larger than any depth of a value."""


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
    def swapped(self) -> Self:
        """The interval with the colours swapped."""
        return type(self)(Code(255 - self.upper), Code(255 - self.lower))

    def covers(self, other: "Interval") -> bool:
        """Return whether this interval contains another one."""
        return self.lower >= other.lower and self.upper <= other.upper

    def within(self, other: "Interval") -> Self:
        """Return the intersection with another interval; if it is empty, ``lower`` is better than ``upper``.

        >>> Interval(Code(250), Code(10)).within(Interval(Code(255), Code(20)))
        Interval(lower=250, upper=20)
        """
        return type(self)(min(self.lower, other.lower), max(self.upper, other.upper))

    def hull(self, other: "Interval") -> Self:
        """Return the smallest interval that covers this one and another.

        >>> Interval(Code(250), Code(10)).hull(Interval(Code(255), Code(20)))
        Interval(lower=255, upper=10)
        """
        return type(self)(max(self.lower, other.lower), min(self.upper, other.upper))

    def nearest(self, code: Code) -> Code:
        """Return the score of the interval that is nearest to a score.

        >>> Interval(Code(245), Code(244)).nearest(Code(3)), Interval(Code(245), Code(244)).nearest(Code(250))
        (244, 245)
        """
        return min(max(code, self.upper), self.lower)

    def clamped(self, window: "Interval") -> Self:
        """Return the interval with both scores clamped to a window."""
        return type(self)(window.nearest(self.lower), window.nearest(self.upper))

    def close_window(self, code: Code) -> Self:
        """Return the smallest window within this one that shows whether a state has a given value.

        Return this window itself if the value lies outside it.

        >>> Interval(Code(255), Code(0)).close_window(Code(245))
        Interval(lower=246, upper=244)
        >>> Interval(Code(245), Code(0)).close_window(Code(245))
        Interval(lower=245, upper=244)
        """
        if not self.lower >= code >= self.upper:
            return self
        worse, better = (
            (code + 1 if code != NONE - 1 else code + 3),
            (code - 1 if code != NONE + 2 else code - 3),
        )
        return type(self)(Code(min(worse, self.lower)), Code(max(better, self.upper)))

    def map_exit(self, code: Code) -> Code:
        """Return the value with which an exit counts in this window."""
        return Code(int(_lookups(self).exit_code[code]))

    def map_exits(self, value: Codes, depth: Plies) -> tuple[Codes, Plies]:
        """Return the values and depths with which exits count in this window.

        :param depth: shape (0,) if depths are not needed.
        """
        lookups = _lookups(self)
        mapped = np.empty(len(value), np.uint8), np.empty(len(depth), np.uint16)
        value, depth = np.require(value, None, ["C", "W"]), np.require(depth, None, ["C", "W"])
        map_exits_to_window(value, depth, lookups.exit_code, lookups.exit_keeps_depth, *mapped)
        return mapped

    def set_bounds(self, end: int, value: Codes, depth: Plies | None = None) -> None:
        """Replace the values of a game in this window by the bounds that they prove at one end, in place.

        A value at or beyond the better score of the window proves only this score as lower bound. A value at
        or beyond the worse score proves only this score as upper bound. The depth of these bounds is unknown.
        """
        lookups = _lookups(self)
        depths = np.empty(0, np.uint16) if depth is None else depth.reshape(-1)
        bound, keeps_depth = lookups.bound[end], lookups.bound_keeps_depth[end]
        prove_bounds(value.reshape(-1), depths, bound, keeps_depth, lookups.unknown_depth[end])

    def without_depth(self, value: Codes, end: int) -> NDArray[np.bool_]:
        """Return which of the bounds that :meth:`set_bounds` has written at one end have an unknown depth."""
        is_unknown: NDArray[np.bool_] = value == self[1 - end]
        return is_unknown if self[1 - end] != ALL_SCORES[1 - end] else np.zeros_like(is_unknown)


ALL_SCORES: Final = Interval(Code(255), Code(0))
"""The window that distinguishes all scores."""


class _Lookups(NamedTuple):
    """Look-up tables of a window. Pairs are indexed by end, arrays by the code of a score."""

    exit_code: Codes
    """The value with which an exit counts in the window."""
    exit_keeps_depth: Plies
    """1 if the exit keeps its value and therefore its depth, else 0."""
    bound: tuple[Codes, Codes]
    """The bound that a value of the game proves."""
    bound_keeps_depth: tuple[Codes, Codes]
    """1 if this bound has the depth of the value, 0 if its depth is unknown."""
    unknown_depth: tuple[int, int]
    """The depth to store for bounds of unknown depth: the one that claims least."""


@lru_cache(maxsize=64)
def _lookups(window: Interval) -> _Lookups:
    lower, upper = window
    codes = np.arange(256)
    is_worse = (codes >= lower) & (codes != NONE) & (lower < ALL_SCORES.lower)
    is_better = (codes <= upper) & (codes != NONE) & (upper > ALL_SCORES.upper)

    bounds = np.where(is_better, upper, codes), np.where(is_worse, lower, codes)
    unknown_depths = FAR if upper < NONE else 0, FAR if lower > NONE else 0
    exits = np.where(is_worse, ALL_SCORES.lower, np.where(is_better, ALL_SCORES.upper, codes))
    at_lower, at_upper, exits = (each.astype(np.uint8) for each in (*bounds, exits))
    exit_keeps_depth = (~(is_worse | is_better)).astype(np.uint16)
    bound_keeps_depth = (~is_better).astype(np.uint8), (~is_worse).astype(np.uint8)
    return _Lookups(exits, exit_keeps_depth, (at_lower, at_upper), bound_keeps_depth, unknown_depths)
