"""How much stronger a player is than its opponents, and the sequential probability ratio test of that."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import ClassVar, Final, Literal

from msgspec import Struct

from tbgen.documents import struct_of
from tbgen.errors import NamedChoice, UsageError, quote

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


_MOST_ELO: Final = 2000
"""Differences beyond which no test makes sense."""
_GAME: Final = (0.0, 0.5, 1.0)
_PAIR: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Points of a game, and means of a pair, that count as possible though none was seen."""


_NUMBERS: Final = ("elo0", "elo1", "alpha", "beta")
_WORD: Final = re.compile(
    r"(elo[01]|alpha|beta|model)=.*|[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.I
)


class EloModel(NamedChoice, what="a model of a test", normalized="normalised"):
    """What the two strengths of a test are, and how likely results are with them."""

    LOGISTIC = "logistic"
    """Elo as usual, and nothing assumed of results but their mean."""
    NORMALISED = "normalised"
    """Normalised Elo, mean by standard deviation: as long a test whatever the share of draws."""
    BAYESIAN = "bayesian"
    """Bayes-Elo as Cute Chess has it: wins, draws and losses, and no ratio before one win and one loss."""


class TestSettings(Struct, frozen=True):
    """The numbers of a test."""

    __test__: ClassVar[bool] = False  # no test of pytest

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: EloModel = EloModel.LOGISTIC

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """Both strengths and both probabilities, as :func:`sprt` takes them."""
        return self.elo0, self.elo1, self.alpha, self.beta


def sprt_settings(words: Sequence[str]) -> TestSettings:
    """Read a test: ``elo0=0 elo1=5 alpha=0.05 beta=0.05``, or the numbers in this order.

    :param words: each of one number or of several.
    :raises UsageError: if one means nothing or is missing, or no test can have them.

    >>> sprt_settings(["-1", "5"]) == sprt_settings(["elo1=5 elo0=-1"])
    True
    """
    given = " ".join(words).split()
    bare = [word for word in given if "=" not in word]
    if len(bare) not in (0, 2, 4):
        raise UsageError(f"--sprt {quote(' '.join(given))}: expected ELO0 ELO1, or ELO0 ELO1 ALPHA BETA")
    named = [*zip(_NUMBERS, bare, strict=False), *(word.split("=", 1) for word in given if "=" in word)]
    found = struct_of("sprt", [f"{key}={_plain(value)}" for key, value in named], TestSettings)
    assert found is not None
    return found


def _plain(text: str) -> str:
    """Return a number as JSON has it, without a plus and with a digit before its point."""
    try:
        return str(float(text))
    except ValueError:
        return text


def is_of_test(word: str) -> bool:
    """Tell whether a word can be one of :func:`sprt_settings`."""
    return all(map(_WORD.fullmatch, word.split()))


class Sprt(TestSettings, frozen=True, kw_only=True):
    """A test and where it stands."""

    pairs: bool
    """Whether pairs of games were tested, and not single ones."""
    count: int
    """How many of them."""
    wins: float
    """Results won; shares of a point count in part as wins or losses, in part as draws."""
    losses: float
    draws: float
    llr: float
    """Logarithm of the likelihood ratio; by Bayes-Elo 0 before there is one win and one loss."""
    lower: float
    upper: float
    """Bounds of the ratio's logarithm."""

    @property
    def verdict(self) -> Literal["H0", "H1", "continue"]:
        """``H1`` if elo1 is accepted, ``H0`` if elo0 is, else ``continue``."""
        if self.llr >= self.upper:
            return "H1"
        return "H0" if self.llr <= self.lower else "continue"


def sprt(
    points: Sequence[float],
    elo0: float,
    elo1: float,
    alpha: float = 0.05,
    beta: float = 0.05,
    *,
    model: EloModel | str = EloModel.LOGISTIC,
    pairs: bool = False,
) -> Sprt:
    """Return the test of some results.

    The logistic and the normalised model compare the likeliest distributions of results with either strength,
    whatever shares of a point they are made of. Wins, draws and losses (in pairs: each half point) that have
    not been seen count a thousandth, so that the ratio of a side that always wins is finite, and grows.

    Bayes-Elo, which cuteRMob uses, knows wins, draws and losses: p points of a game are 2p - 1 wins and
    2(1 - p) draws if p is 1/2 or more, else 1 - 2p losses and 2p draws. Games without a draw have
    a ratio as well, where cuteRMob's is not a number.

    :param points: of single games, from 0 to 1; or of pairs of games, the means of both.
    :param elo0: the lower strength; normalised Elo in that model.
    :param alpha: probability of accepting elo1 though elo0 is true.
    :param beta: probability of accepting elo0 though elo1 is true.
    :param pairs: whether the points are of pairs.

    :raises UsageError: if elo0 is not below elo1, alpha and beta are no probabilities of error, or pairs are
        to be tested by Bayes-Elo.

    >>> test = sprt([1, 1, 1, 0, .5, .5, .75, .25, .625, .5625, .4375], 0, 50)
    >>> print(f"{test.llr:.4f}", test.verdict)
    0.5183 continue
    >>> print(f"{sprt([1] * 300, 0, 10).llr:.2f}")
    8.51
    """
    model = EloModel(model)
    if not -_MOST_ELO <= elo0 < elo1 <= _MOST_ELO:
        raise UsageError(
            f"a test needs elo0 below elo1, both from -{_MOST_ELO} to {_MOST_ELO}, not {elo0:g} and {elo1:g}"
        )
    if not (0 < alpha < 1 and 0 < beta < 1 and alpha + beta < 1):
        raise UsageError(
            f"alpha {alpha:g} and beta {beta:g} are no probabilities of error: expected some such as 0.05"
        )
    wins = math.fsum(2 * share - 1 for share in points if share >= 0.5)
    losses = math.fsum(1 - 2 * share for share in points if share < 0.5)
    draws = math.fsum(2 * min(share, 1 - share) for share in points)
    if model is EloModel.BAYESIAN:
        if pairs:
            raise UsageError("Bayes-Elo has no model of pairs of games: choose another model")
        ratio = _bayesian(wins, losses, draws, elo0, elo1) if wins >= 1 and losses >= 1 else 0.0
    else:
        ratio = _generalised(points, model, elo0, elo1, pairs) if points else 0.0
    lower, upper = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
    results = {"wins": wins, "losses": losses, "draws": draws}
    bounds = {"llr": ratio, "lower": lower, "upper": upper}
    return Sprt(elo0, elo1, alpha, beta, model, pairs=pairs, count=len(points), **results, **bounds)


def _generalised(points: Sequence[float], model: EloModel, elo0: float, elo1: float, pairs: bool) -> float:
    """Return the logarithm of the likelihood ratio of the likeliest distributions."""
    from tbgen.games.standings.likelihood import Sample

    sample = Sample.of(points, _PAIR if pairs else _GAME)
    if model is EloModel.LOGISTIC:
        zero, one = (sample.with_mean(1 / (1 + 10 ** (-elo / 400))) for elo in (elo0, elo1))
    else:  # the mean of a pair spreads less than a game by the root of two
        unit = math.sqrt(2 if pairs else 1) / NORMALISED
        zero, one = (sample.with_ratio(elo * unit) for elo in (elo0, elo1))
    return sample.log_ratio(zero, one)


def _bayesian(wins: float, losses: float, draws: float, elo0: float, elo1: float) -> float:
    """Return the logarithm of the likelihood ratio; the rate of draws is that of the games.

    With u = 10^((drawElo - elo) / 400) and v = 10^((drawElo + elo) / 400) the chance of a win is 1 / (1 + u),
    of a loss 1 / (1 + v), and so of a draw (u v - 1) / ((1 + u) (1 + v)), where u v is the same for all elo.
    """
    count = wins + losses + draws
    won, lost = wins / count, losses / count
    draw_elo = 200 * math.log10((1 - lost) / lost * (1 - won) / won) if draws else 0.0
    x = 10 ** (-draw_elo / 400)
    scale = 4 * x / (1 + x) ** 2
    (u0, v0), (u1, v1) = (
        (_softplus(draw_elo - elo / scale), _softplus(draw_elo + elo / scale)) for elo in (elo0, elo1)
    )
    return (wins + draws) * (u0 - u1) + (losses + draws) * (v0 - v1)


def _softplus(elo: float) -> float:
    """Return ln(1 + 10^(elo / 400)), also of differences whose power is too large a number."""
    exponent = elo / 400 * math.log(10)
    return max(exponent, 0.0) + math.log1p(math.exp(-abs(exponent)))
