"""Intervals of scores. An *end* of an interval is the lower bound (0) or the upper bound (1)."""

from typing import Final, NamedTuple, Self

from tbgen.board.score import NONE, Code

FAR_DEPTH: Final = 60_000
"""Placeholder for an unknown depth, in plies: greater than every real depth."""


class Interval(NamedTuple):
    """The codes of two scores: bounds of a value, or scores beyond which none are distinguished."""

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

    def clamped(self, limits: "Interval") -> Self:
        """Return the interval with both scores clamped to another interval."""
        return type(self)(limits.nearest(self.lower), limits.nearest(self.upper))

    def codes(self) -> list[Code]:
        """Return the codes of all scores in the interval, from the worst for White to the best.

        >>> Interval(Code(129), Code(125)).codes()
        [129, 126, 125]
        """
        return [Code(code) for code in range(self.lower, self.upper - 1, -1) if code not in (NONE, NONE + 1)]


ALL_SCORES: Final = Interval(Code(255), Code(0))
"""The interval of all scores."""
