"""How much stronger than its opponents a player is, from points that may be any share of a game."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tbgen.errors import UsageError

_ROUNDING: Final = 1e-9
"""What is smaller is no difference: all games of both had equally many points."""
_TWO_SIDED_95: Final = 1.959964
"""Standard deviations to either side that hold 95 % of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Elo:
    """A difference in Elo points, and how sure it is."""

    difference: float
    """Infinite if all games were won, or all lost."""
    margin: float
    """Half the width of the 95 % interval, in Elo points; infinite if an end of it has no Elo."""
    superiority: float
    """Likelihood of superiority (LOS): the probability that the player is the stronger one."""

    def __str__(self) -> str:
        margin = f"{self.margin:.1f}" if math.isfinite(self.margin) else "unbounded"
        return f"{self.difference:+.1f} +- {margin}"


def elo(points: Sequence[float]) -> Elo:
    """Return the difference that the points of single games, from 0 to 1, tell.

    With mean m and standard error s of the points the difference is that at which m is expected, the
    margin half the difference between m + 1.96 s and m - 1.96 s. cuteRMob takes the root of the mean square
    for that of the variance, and so prints margins that are too small and a LOS that is too sure. A single
    game has an unbounded margin and a LOS of one half.

    >>> print(elo([1] * 40 + [0] * 31 + [0.5] * 29))
    +31.4 +- 58.1

    :raises UsageError: if there are no games.
    """
    if not points:
        raise UsageError("there are no games to tell an Elo difference from")
    count = len(points)
    mean = math.fsum(points) / count
    if count == 1:  # which says nothing about the spread
        return Elo(_difference(mean), math.inf, 0.5)
    variance = math.fsum((share - mean) ** 2 for share in points) / count
    error = math.sqrt(variance / count)
    low, high = mean - _TWO_SIDED_95 * error, mean + _TWO_SIDED_95 * error
    margin = (_difference(high) - _difference(low)) / 2 if low > 0 and high < 1 else math.inf
    return Elo(_difference(mean), margin, _superiority(mean - 0.5, error))


def _difference(expected: float) -> float:
    """Return the Elo difference at which so many points per game are expected."""
    if expected <= 0:
        return -math.inf
    return math.inf if expected >= 1 else -400 * math.log10(1 / expected - 1) + 0.0


def _superiority(lead: float, error: float) -> float:
    if error < _ROUNDING:
        return 0.5 if abs(lead) < _ROUNDING else float(lead > 0)
    return 0.5 + 0.5 * math.erf(lead / (error * math.sqrt(2)))
