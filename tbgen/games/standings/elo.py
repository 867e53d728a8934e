"""How much stronger than its opponents a player is, from points that may be any share of a game."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import Final

from msgspec import Struct

from tbgen.errors import UsageError

NORMALISED: Final = 800 / math.log(10)
"""Normalised Elo points for each standard deviation by which the mean of a game exceeds 1/2."""
_ROUNDING: Final = 1e-9
"""What is smaller is no difference: all games of both had equally many points."""
_TWO_SIDED_95: Final = 1.959964
"""Standard deviations to either side that hold 95 % of a normal distribution."""


class Elo(Struct, frozen=True, rename={"superiority": "los"}):
    """A difference in Elo points, and how sure it is."""

    difference: float
    """Infinite if all games were won, or all lost."""
    margin: float
    """Half the width of the 95 % interval, in Elo points; infinite if an end of it has no Elo."""
    superiority: float
    """Likelihood of superiority (LOS): the probability that the player is the stronger one."""
    normalised: float
    """Normalised Elo: by how many standard deviations of a game the mean exceeds 1/2, times 800 / ln 10.

    It tells how many games it takes to see the difference, whatever the share of draws. Infinite where all
    games had equally many points, but for 0 where these were a half."""
    normalised_margin: float
    """The same of the 95 % interval; infinite if the points do not spread."""

    def __str__(self) -> str:
        return f"{elo_text(self.difference)} +- {margin_text(self.margin)}"


def elo_text(value: float) -> str:
    """Return a difference in Elo points; a question mark for one that is not known.

    >>> elo_text(-0.04), elo_text(-0.06), elo_text(math.nan)
    ('+0.0', '-0.1', '?')
    """
    return "?" if math.isnan(value) else f"{value:+z.1f}"


def margin_text(value: float) -> str:
    """Return a margin in Elo points."""
    return f"{value:.1f}" if math.isfinite(value) else "unbounded"


def elo(points: Sequence[float], *, pairs: bool = False) -> Elo:
    """Return the difference that the points of single games, from 0 to 1, tell.

    With mean m and standard error s of the points the difference is that at which m is expected, the
    margin half the difference between m + 1.96 s and m - 1.96 s. cuteRMob takes the root of the mean square
    for that of the variance, and so prints margins that are too small and a LOS that is too sure. A single
    game has an unbounded margin, a LOS of one half and no normalised difference.

    The two games of a pair, with the same opening and colours reversed, are not independent: taken together
    they have the smaller, true margin.

    :param points: of games; or of pairs of games, the means of both.
    :param pairs: whether they are of pairs, which matters to the normalised difference alone: it is one per
        game all the same.

    >>> print(elo([1] * 40 + [0] * 31 + [0.5] * 29))
    +31.4 +- 58.1
    >>> one = elo([0, 0.5, 0.5, 0.5, 0.5, 0.75, 0.75, 1], pairs=True)
    >>> print(one, f"{one.normalised:+.1f} +- {one.normalised_margin:.1f}")
    +43.7 +- 140.9 +56.4 +- 170.2

    :raises UsageError: if there are no games.
    """
    if not points:
        raise UsageError("there are no games to tell an Elo difference from")
    count, mean = len(points), fmean(points)
    if count == 1:  # which says nothing about the spread
        return Elo(_difference(mean), math.inf, 0.5, math.nan, math.inf)
    error = math.sqrt(math.fsum((share - mean) ** 2 for share in points)) / count
    low, high = mean - _TWO_SIDED_95 * error, mean + _TWO_SIDED_95 * error
    margin = (_difference(high) - _difference(low)) / 2 if low > 0 and high < 1 else math.inf
    normalised = _normalised(mean - 0.5, error, 2 * count if pairs else count)
    return Elo(_difference(mean), margin, _superiority(mean - 0.5, error), *normalised)


def _difference(expected: float) -> float:
    """Return the Elo difference at which so many points per game are expected."""
    if expected <= 0:
        return -math.inf
    return math.inf if expected >= 1 else -400 * math.log10(1 / expected - 1) + 0.0


def _superiority(lead: float, error: float) -> float:
    if error < _ROUNDING:
        return 0.5 if abs(lead) < _ROUNDING else float(lead > 0)
    return NormalDist(0, error).cdf(lead)


def _normalised(lead: float, error: float, games: int) -> tuple[float, float]:
    """Return the normalised difference and its margin: a standard deviation is the error of so many games."""
    if error < _ROUNDING:
        return (0.0 if abs(lead) < _ROUNDING else math.copysign(math.inf, lead)), math.inf
    unit = NORMALISED / math.sqrt(games)
    return lead / error * unit, _TWO_SIDED_95 * unit
