"""Intervals of scores, and what is proved of a value that lies in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from tbgen.board.score import GScore
from tbgen.board.scoring import Scoring
from tbgen.errors import UsageError, quote


class ScoreInterval(NamedTuple):
    """The scores that a value is proved to lie between, ends included, seen by White.

    :ivar lower: White gets this at least.
    :ivar upper: White gets this at most.

    >>> bounds = ScoreInterval.parse("-G4.5 G2.0")
    >>> print(bounds, bounds.nearest(GScore("G1.5")), bounds.nearest(GScore("-G9.0")))
    -G4.5 G2.0 G2.0 -G9.0
    """

    lower: GScore
    upper: GScore

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an interval as it prints: both ends with a space between.

        :raises UsageError: if the text is anything else.
        """
        ends = [GScore(word) for word in text.split()]
        if len(ends) != 2 or ends[0] > ends[1]:
            raise UsageError(f"{quote(text)} is no interval: expected two scores, White's worse one first")
        return cls(*ends)

    def __str__(self) -> str:
        return f"{self.lower} {self.upper}"

    @property
    def words(self) -> str:
        """What the interval says of a value, for a reader."""
        if self.exact:
            return str(self.lower)
        return "not known" if self == ANYTHING else f"between {self.lower} and {self.upper}"

    @property
    def exact(self) -> bool:
        """Whether the ends meet."""
        return self.lower == self.upper

    def within(self, other: Self) -> Self:
        """Return what is left of the interval if the value lies in another one too.

        :raises ValueError: if it cannot lie in both.
        """
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        if lower > upper:
            raise ValueError(f"no score is both in {self} and in {other}")
        return type(self)(lower, upper)

    def nearest(self, score: GScore) -> GScore:
        """Return the score of the interval that is nearest to a score: the score itself if it lies there."""
        return max(self.lower, min(score, self.upper))

    def agree(self, scoring: Scoring) -> bool:
        """Tell whether all its scores print the same points, as tags have them.

        The ends tell: a better score never gets less, by any scoring.
        """
        return scoring.tag(self.lower) == scoring.tag(self.upper)

    def document(self) -> dict[str, str]:
        """Return the ends for JSON."""
        return {"lower": str(self.lower), "upper": str(self.upper)}


ANYTHING: Final = ScoreInterval(GScore(0, False), GScore(0, True))
"""The interval of all scores, which says nothing."""


@dataclass(frozen=True, slots=True)
class ProvedValue:
    """What is proved of the value of a state.

    :ivar bounds: the value lies between these.
    :ivar depth: plies until the accrued score is the value, where both are known.
    """

    bounds: ScoreInterval
    depth: int | None = None

    def and_also(self, other: ProvedValue) -> ProvedValue:
        """Return what follows from both.

        :raises ValueError: if they contradict each other.
        """
        depth = other.depth if self.depth is None else self.depth
        return ProvedValue(self.bounds.within(other.bounds), depth)
