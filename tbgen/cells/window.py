"""Intervals of codes, and windows, the intervals in which a cell is solved.

If the value of a state is proved to lie between two scores, no scores beyond them need to be distinguished:
exits at or below the worse score may count as mates by Black, and exits at or above the better score as mates
by White (section 11 of docs/theory.md). Then a single move that is good enough determines the value of most
positions. So a cell takes less time in a closer window (docs/solve_reference.md).
"""

from functools import lru_cache
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.cells.kernels.values import seen_exits, tell_proved
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
        """Return the smallest window within this one that shows whether a state has a certain value.

        The window is this one itself if the value lies outside it.

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
        """Return the value that an exit has in this window instead of its own."""
        return Code(int(_lookups(self).exit_code[code]))

    def map_exits(self, value: Codes, depth: Plies) -> tuple[Codes, Plies]:
        """Return the values and depths that exits have in this window instead of their own.

        :param depth: shape (0,) if depths are not needed.
        """
        lookups = _lookups(self)
        mapped = np.empty(len(value), np.uint8), np.empty(len(depth), np.uint16)
        value, depth = np.require(value, None, ["C", "W"]), np.require(depth, None, ["C", "W"])
        seen_exits(value, depth, lookups.exit_code, lookups.exit_keeps_depth, *mapped)
        return mapped

    def set_bounds(self, end: int, value: Codes, depth: Plies | None = None) -> None:
        """Replace the values of a game in this window by the bounds that they prove at one end, in place.

        A value beyond the window, on the side whose bound it is, proves only the score at that end of the
        window. The depth of this bound is unknown.
        """
        lookups = _lookups(self)
        depths = np.empty(0, np.uint16) if depth is None else depth.reshape(-1)
        bound, keeps_depth = lookups.bound[end], lookups.bound_keeps_depth[end]
        tell_proved(value.reshape(-1), depths, bound, keeps_depth, lookups.unknown_depth[end])

    def without_depth(self, value: Codes, end: int) -> NDArray[np.bool_]:
        """Return which bounds, as :meth:`set_bounds` leaves them at one end, have an unknown depth."""
        unknown: NDArray[np.bool_] = value == self[1 - end]
        return unknown if self[1 - end] != ALL_SCORES[1 - end] else np.zeros_like(unknown)


ALL_SCORES: Final = Interval(Code(255), Code(0))
"""The window that distinguishes all scores."""


class _Lookups(NamedTuple):
    """Look-up tables of a window, indexed by the code of a score, and by end where they are pairs."""

    exit_code: Codes
    """The value of an exit in the window."""
    exit_keeps_depth: Plies
    """1 if the exit keeps its value, and so its depth; else 0."""
    bound: tuple[Codes, Codes]
    """The bound that a value of the game proves."""
    bound_keeps_depth: tuple[Codes, Codes]
    """1 if this bound has the depth of the value, 0 if its depth is unknown."""
    unknown_depth: tuple[int, int]
    """The depth that claims least, for bounds of unknown depth."""


@lru_cache(maxsize=64)
def _lookups(window: Interval) -> _Lookups:
    lower, upper = window
    codes = np.arange(256)
    worse = (codes >= lower) & (codes != NONE) & (lower < ALL_SCORES.lower)
    better = (codes <= upper) & (codes != NONE) & (upper > ALL_SCORES.upper)

    bounds = np.where(better, upper, codes), np.where(worse, lower, codes)
    unknown_depths = FAR if upper < NONE else 0, FAR if lower > NONE else 0
    exits = np.where(worse, ALL_SCORES.lower, np.where(better, ALL_SCORES.upper, codes))
    at_lower, at_upper, exits = (each.astype(np.uint8) for each in (*bounds, exits))
    exit_keeps_depth = (~(worse | better)).astype(np.uint16)
    bound_keeps_depth = (~better).astype(np.uint8), (~worse).astype(np.uint8)
    return _Lookups(exits, exit_keeps_depth, (at_lower, at_upper), bound_keeps_depth, unknown_depths)
