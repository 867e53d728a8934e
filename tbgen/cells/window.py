"""Intervals of codes, and windows: between which two scores it matters what positions are worth.

If the value of one state is known to lie between two scores, it stays the same, as far as it lies between
them, when whatever is worse than the worse of them becomes mate on that side, and whatever is better than the
better one mate on the other: how scores beyond are told apart does not change the best that play can reach
(section 11 of docs/theory.md). Most positions are decided at once then, by a single move that is good enough.
So a cell takes the less time the closer the window (docs/solve.md).
"""

from functools import lru_cache
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.cells.kernels.values import seen_exits, tell_proved
from tbgen.retro.kernels.words import Codes, Plies

FAR: Final = 60_000
"""Plies that no value takes: nothing says how many it does."""


class Interval(NamedTuple):
    """Two scores, codes, seen by White: what something is worth, or a window, beyond whose ends scores are
    not told apart."""

    lower: Code
    """The worse one for White."""
    upper: Code
    """The better one."""

    @property
    def exact(self) -> bool:
        """Whether the ends meet."""
        return self.lower == self.upper

    @property
    def swapped(self) -> Self:
        """The same with the colours swapped."""
        return type(self)(Code(255 - self.upper), Code(255 - self.lower))

    def covers(self, other: "Interval") -> bool:
        """Whether another interval lies within this one."""
        return self.lower >= other.lower and self.upper <= other.upper

    def within(self, other: "Interval") -> Self:
        """Return what this interval and another have in common; one upside down if that is nothing.

        >>> Interval(Code(250), Code(10)).within(Interval(Code(255), Code(20)))
        Interval(lower=250, upper=20)
        """
        return type(self)(min(self.lower, other.lower), max(self.upper, other.upper))

    def hull(self, other: "Interval") -> Self:
        """Return the closest interval that covers this one and another.

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

    def seen(self, window: "Interval") -> Self:
        """Return the interval as far as a window tells scores apart."""
        return type(self)(window.nearest(self.lower), window.nearest(self.upper))

    def about(self, code: Code) -> Self:
        """Return the closest window within this one that tells whether a state is worth a score that lies in
        it; this one if the score does not.

        >>> Interval(Code(255), Code(0)).about(Code(245)), Interval(Code(245), Code(0)).about(Code(245))
        (Interval(lower=246, upper=244), Interval(lower=245, upper=244))
        """
        if not self.lower >= code >= self.upper:
            return self
        worse, better = (
            (code + 1 if code != NONE - 1 else code + 3),
            (code - 1 if code != NONE + 2 else code - 3),
        )
        return type(self)(Code(min(worse, self.lower)), Code(max(better, self.upper)))

    def exit(self, code: Code) -> Code:
        """Return what takes the place of a score that an exit is worth."""
        return Code(int(_lookups(self).exits[code]))

    def exits(self, value: Codes, depth: Plies) -> tuple[Codes, Plies]:
        """Return what takes the place of values of exits, and of their depths, if there are any."""
        lookups = _lookups(self)
        seen = np.empty(len(value), np.uint8), np.empty(len(depth), np.uint16)
        value, depth = np.require(value, None, ["C", "W"]), np.require(depth, None, ["C", "W"])
        seen_exits(value, depth, lookups.exits, lookups.lasts, *seen)
        return seen

    def tell(self, end: int, value: Codes, depth: Plies | None = None) -> None:
        """Put in the place of values that were found from such exits, at one end, what they prove.

        What is better than the window, for the side whose end it is, proves the end of the window only, and
        nobody knows in how many plies.
        """
        lookups = _lookups(self)
        depths = np.empty(0, np.uint16) if depth is None else depth.reshape(-1)
        proved, lasts, instead = lookups.proved[end], lookups.proved_lasts[end], lookups.depth[end]
        tell_proved(value.reshape(-1), depths, proved, lasts, instead)

    def blurs(self, value: Codes, end: int) -> NDArray[np.bool_]:
        """Tell which values that :meth:`tell` has put at one end prove an end of the window: they have no
        depth."""
        blurred: NDArray[np.bool_] = value == self[1 - end]
        return blurred if self[1 - end] != EVERYTHING[1 - end] else np.zeros_like(blurred)


EVERYTHING: Final = Interval(Code(255), Code(0))
"""All scores are told apart."""


class _Lookups(NamedTuple):
    """By the code of a score."""

    exits: Codes
    """What takes its place as the worth of an exit."""
    lasts: Plies
    """1 if it is told apart, and its depth lasts; else 0."""
    proved: tuple[Codes, Codes]
    """What it proves, by ends."""
    proved_lasts: tuple[Codes, Codes]
    """1 if its depth lasts then, else 0, by ends..."""
    depth: tuple[int, int]
    """...and what takes its place if not: the least that can be claimed."""


@lru_cache(maxsize=64)
def _lookups(window: Interval) -> _Lookups:
    lower, upper = window
    codes = np.arange(256)
    worse = (codes >= lower) & (codes != NONE) & (lower < EVERYTHING.lower)
    better = (codes <= upper) & (codes != NONE) & (upper > EVERYTHING.upper)

    proved = np.where(better, upper, codes), np.where(worse, lower, codes)
    depths = FAR if upper < NONE else 0, FAR if lower > NONE else 0
    exits = np.where(worse, EVERYTHING.lower, np.where(better, EVERYTHING.upper, codes))
    one, other, exits = (each.astype(np.uint8) for each in (*proved, exits))
    lasts = (~(worse | better)).astype(np.uint16)
    proved_lasts = (~better).astype(np.uint8), (~worse).astype(np.uint8)
    return _Lookups(exits, lasts, (one, other), proved_lasts, depths)
