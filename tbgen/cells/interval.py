"""Intervals of codes: what a value is proved to lie in, or where scores are told apart."""

from typing import NamedTuple, Self

from tbgen.board.score import Code


class Interval(NamedTuple):
    """Two scores, codes, seen by White."""

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
