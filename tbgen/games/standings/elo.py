"""Elo differences between a player and its opponents, and the sequential probability ratio test (SPRT)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import NormalDist, fmean
from typing import ClassVar, Final, Literal, Self

from msgspec import Struct

from tbgen.errors import NamedChoice, UsageError, quote
from tbgen.keywords import struct_of

NORMALISED_UNIT: Final = 800 / math.log(10)
"""Normalised Elo points of a mean that exceeds 1/2 by one standard deviation of a game's points."""
_ROUNDING_ERROR: Final = 1e-9
"""Bound below which a number is treated as 0, because it may be a rounding error."""
DEVIATIONS_95: Final = 1.959964
"""95 % of a normal distribution lies within this number of standard deviations of the mean."""

_MAX_ELO: Final = 2000
"""Maximum absolute value of the two strengths of a test, in Elo points."""
_GAME_POINTS: Final = (0.0, 0.5, 1.0)
"""Points of a game that are considered possible even if they have not been observed."""
_PAIR_POINTS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Mean points of a pair that are considered possible even if they have not been observed."""

_NUMBER_NAMES: Final = ("elo0", "elo1", "alpha", "beta")
_TEST_WORD: Final = re.compile(
    r"(elo[01]|alpha|beta|model)=.*|[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.I
)


class Elo(Struct, frozen=True):
    """A difference in Elo points, with its uncertainty."""

    difference: float
    """The difference; infinite if all games were won, or all were lost."""
    margin: float
    """Half the width of the 95 % interval, in Elo points; infinite if a bound of the interval is infinite."""
    superiority: float
    """Likelihood of superiority (LOS): the probability that the player is the stronger one."""
    normalised: float
    """Normalised Elo: the excess of the mean over 1/2, in standard deviations of a game, times 800 / ln 10.

    It determines how many games are needed to detect the difference, whatever the share of draws. It is 0 if
    all games had 1/2 point, and infinite if all games had the same number of points, but not 1/2."""
    normalised_margin: float
    """Half the width of the 95 % interval of normalised Elo; infinite if all games had the same points."""

    def __str__(self) -> str:
        return f"{elo_text(self.difference)} +- {margin_text(self.margin)}"


def elo_text(value: float) -> str:
    """Return a difference in Elo points as text: a question mark if the difference is not a number.

    >>> elo_text(-0.04), elo_text(-0.06), elo_text(math.nan)
    ('+0.0', '-0.1', '?')
    """
    return "?" if math.isnan(value) else f"{value:+z.1f}"


def margin_text(value: float) -> str:
    """Return a margin in Elo points as text."""
    return f"{value:.1f}" if math.isfinite(value) else "unbounded"


def elo(points: Sequence[float], *, pairs: bool = False) -> Elo:
    """Return the Elo difference that follows from the points of games.

    Let m be the mean of the points and s its standard error. The Elo difference is the one at which m points
    per game are expected. The margin is half the distance between the Elo differences for m + 1.96 s and
    m - 1.96 s. cuteRMob uses the root mean square minus the mean in place of the standard deviation, so its
    margins are too small and its LOS is too extreme. From a single game, the margin is unbounded, the LOS is
    one half, and the normalised difference is undefined.

    The two games of a pair, with the same opening and colours reversed, are not independent. The margin is
    correct only if the mean of both games is used as one sample; this makes the margin smaller.

    :param points: points of each game, from 0 to 1, or the mean points of each pair of games.
    :param pairs: whether the points are those of pairs. This affects only the normalised difference, which
        always refers to single games.

    >>> print(elo([1] * 40 + [0] * 31 + [0.5] * 29))
    +31.4 +- 58.1
    >>> one = elo([0, 0.5, 0.5, 0.5, 0.5, 0.75, 0.75, 1], pairs=True)
    >>> print(one, f"{one.normalised:+.1f} +- {one.normalised_margin:.1f}")
    +43.7 +- 140.9 +56.4 +- 170.2

    :raises UsageError: if there are no games.
    """
    if not points:
        raise UsageError("an Elo difference needs at least one game")
    count = len(points)
    mean = fmean(points)
    if count == 1:  # a single game says nothing about the standard deviation
        return Elo(_difference(mean), math.inf, 0.5, math.nan, math.inf)
    error = math.sqrt(math.fsum((share - mean) ** 2 for share in points)) / count
    low = mean - DEVIATIONS_95 * error
    high = mean + DEVIATIONS_95 * error
    margin = (_difference(high) - _difference(low)) / 2 if low > 0 and high < 1 else math.inf
    normalised = _normalised_elo(mean - 0.5, error, 2 * count if pairs else count)
    return Elo(_difference(mean), margin, superiority(mean - 0.5, error), *normalised)


def _difference(mean_points: float) -> float:
    """Return the Elo difference at which ``mean_points`` per game are expected."""
    if mean_points <= 0:
        return -math.inf
    return math.inf if mean_points >= 1 else -400 * math.log10(1 / mean_points - 1) + 0.0


def superiority(excess: float, error: float) -> float:
    """Return the probability that a quantity is above 0, of which an estimate and its error are known."""
    if error < _ROUNDING_ERROR:
        return 0.5 if abs(excess) < _ROUNDING_ERROR else float(excess > 0)
    return NormalDist(0, error).cdf(excess)


def _normalised_elo(excess: float, error: float, game_count: int) -> tuple[float, float]:
    """Return the normalised difference and its margin.

    :param excess: excess of the mean over 1/2.
    :param error: standard error of the mean.
    """
    if error < _ROUNDING_ERROR:
        return (0.0 if abs(excess) < _ROUNDING_ERROR else math.copysign(math.inf, excess)), math.inf
    unit = NORMALISED_UNIT / math.sqrt(game_count)
    return excess / error * unit, DEVIATIONS_95 * unit


class Anchor(Struct, frozen=True):
    """The origin of the scale of ratings: the rating of a player, or the mean of all."""

    rating: float = 0.0
    player: str = ""
    """Name of the player; empty for the mean."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``NAME=RATING``, or ``RATING`` for the mean.

        :raises UsageError: if the text is anything else.
        """
        name, _, rating = text.rpartition("=")
        try:
            anchor = cls(float(rating), name)
        except ValueError:
            anchor = cls(math.nan)
        if not math.isfinite(anchor.rating):
            raise UsageError(f"{quote(text)} is not an anchor: expected NAME=RATING, or a mean such as 2800")
        return anchor


DEFAULT_ANCHOR: Final = Anchor()


class EloModel(NamedChoice, noun="a model of a test", normalized="normalised"):
    """The model of a test: the meaning of its strengths, and the likelihood of results."""

    LOGISTIC = "logistic"
    """Usual Elo (the default). A strength determines only the mean of the points; of all distributions with
    this mean, the likeliest one is used (the generalised likelihood ratio)."""
    NORMALISED = "normalised"
    """Normalised Elo, as in Stockfish's test framework. The length of a test does not depend on the share of
    draws."""
    BAYESIAN = "bayesian"
    """Bayes-Elo, as in Cute Chess. A game of p points counts as 2p - 1 wins and 2(1 - p) draws if p is at
    least 1/2, else as 1 - 2p losses and 2p draws. The ratio needs at least a win and a loss."""


class TestSettings(Struct, frozen=True):
    """The settings of a test: the two strengths to compare, the probabilities of error, and the model."""

    __test__: ClassVar[bool] = False  # pytest must not collect this class

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: EloModel = EloModel.LOGISTIC

    @property
    def args(self) -> tuple[float, float, float, float]:
        """The strengths and the probabilities of error, as positional arguments of :func:`sprt`."""
        return self.elo0, self.elo1, self.alpha, self.beta


def sprt_settings(words: Sequence[str]) -> TestSettings:
    """Parse settings such as ``elo0=0 elo1=5 alpha=0.05 beta=0.05``, or only the numbers in this order.

    :param words: the arguments of the option; each may contain several settings, separated by spaces.
    :raises UsageError: if a word is invalid or missing, or the numbers are out of range.

    >>> sprt_settings(["-1", "5"]) == sprt_settings(["elo1=5 elo0=-1"])
    True
    """
    settings = " ".join(words).split()
    texts = [part for part in settings if "=" not in part]
    if len(texts) not in (0, 2, 4):
        raise UsageError(f"--sprt {quote(' '.join(settings))}: expected ELO0 ELO1, or ELO0 ELO1 ALPHA BETA")
    named = (part.split("=", 1) for part in settings if "=" in part)
    items = [*zip(_NUMBER_NAMES, texts, strict=False), *named]
    return struct_of("sprt", [f"{key}={_json_number(value)}" for key, value in items], TestSettings)


def _json_number(text: str) -> str:
    """Return a number in the syntax of JSON: without a plus sign, and with a digit before its point."""
    try:
        return str(float(text))
    except ValueError:
        return text


def is_test_word(word: str) -> bool:
    """Return whether a word can be part of the ``words`` of :func:`sprt_settings`."""
    return all(map(_TEST_WORD.fullmatch, word.split()))


class Sprt(TestSettings, frozen=True, kw_only=True):
    """A test and its state."""

    pairs: bool
    """Whether the test uses pairs of games instead of single games."""
    count: int
    """Number of games or pairs."""
    wins: float
    """Number of wins. A game with a fraction of a point counts partly as a draw, partly as a win or loss."""
    losses: float
    draws: float
    llr: float
    """Logarithm of the likelihood ratio. Under Bayes-Elo, it is 0 until there are a win and a loss."""
    lower: float
    """Bound of ``llr`` at which elo0 is accepted."""
    upper: float
    """Bound of ``llr`` at which elo1 is accepted."""

    @property
    def verdict(self) -> Literal["H0", "H1", "continue"]:
        """``H1`` if elo1 is accepted, ``H0`` if elo0 is accepted, else ``continue``."""
        return "H1" if self.llr >= self.upper else "H0" if self.llr <= self.lower else "continue"


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
    """Return the state of a test after some results.

    The logistic and the normalised model compare the most likely distributions of results under both
    strengths. Results may be any fractions of a point. A win, draw or loss (in pairs: a multiple of half a
    point) that has not been observed counts as a thousandth of a result. Thus the ratio for a side that
    always wins is finite, and grows.

    Under Bayes-Elo, which cuteRMob uses, this function returns a ratio even without draws, whereas cuteRMob's
    ratio is then not a number.

    :param points: points of each game, from 0 to 1, or the mean points of each pair of games.
    :param elo0: the lower strength, in Elo (with the normalised model, in normalised Elo).
    :param elo1: the higher strength, in the same unit.
    :param alpha: probability of accepting elo1 although elo0 is true.
    :param beta: probability of accepting elo0 although elo1 is true.
    :param pairs: whether the points are those of pairs.

    :raises UsageError: if elo0 is not below elo1, alpha or beta is not a probability of error, or the model
        for pairs is Bayes-Elo.

    >>> test = sprt([1, 1, 1, 0, .5, .5, .75, .25, .625, .5625, .4375], 0, 50)
    >>> print(f"{test.llr:.4f}", test.verdict)
    0.5183 continue
    >>> print(f"{sprt([1] * 300, 0, 10).llr:.2f}")
    8.51
    """
    model = EloModel(model)
    if not -_MAX_ELO <= elo0 < elo1 <= _MAX_ELO:
        raise UsageError(
            f"a test needs elo0 below elo1, both from -{_MAX_ELO} to {_MAX_ELO}, not {elo0:g} and {elo1:g}"
        )
    if not (0 < alpha < 1 and 0 < beta < 1 and alpha + beta < 1):
        raise UsageError(
            f"alpha {alpha:g} and beta {beta:g} are not probabilities of error: expected numbers such as 0.05"
        )
    wins = math.fsum(2 * share - 1 for share in points if share >= 0.5)
    losses = math.fsum(1 - 2 * share for share in points if share < 0.5)
    draws = math.fsum(2 * min(share, 1 - share) for share in points)
    if model is EloModel.BAYESIAN:
        if pairs:
            raise UsageError("Bayes-Elo has no model for pairs of games: choose another model")
        llr = _bayesian_llr(wins, losses, draws, elo0, elo1) if wins >= 1 and losses >= 1 else 0.0
    else:
        llr = _sample_llr(points, model, elo0, elo1, pairs) if points else 0.0
    lower = math.log(beta / (1 - alpha))
    upper = math.log((1 - beta) / alpha)
    results = {"wins": wins, "losses": losses, "draws": draws}
    bounds = {"llr": llr, "lower": lower, "upper": upper}
    return Sprt(elo0, elo1, alpha, beta, model, pairs=pairs, count=len(points), **results, **bounds)


def _sample_llr(points: Sequence[float], model: EloModel, elo0: float, elo1: float, pairs: bool) -> float:
    """Return the log-likelihood ratio of the most likely distributions under both strengths."""
    from tbgen.games.standings.likelihood import Sample

    sample = Sample.of(points, _PAIR_POINTS if pairs else _GAME_POINTS)
    if model is EloModel.LOGISTIC:
        h0, h1 = (sample.distribution_with_mean(1 / (1 + 10 ** (-elo / 400))) for elo in (elo0, elo1))
    else:  # the standard deviation of a pair's mean is that of a game divided by the square root of 2
        unit = math.sqrt(2 if pairs else 1) / NORMALISED_UNIT
        h0, h1 = (sample.distribution_with_ratio(elo * unit) for elo in (elo0, elo1))
    return sample.log_ratio(h0, h1)


def _bayesian_llr(wins: float, losses: float, draws: float, elo0: float, elo1: float) -> float:
    """Return the log-likelihood ratio under Bayes-Elo, at the draw rate of the games.

    With u = 10^((drawElo - elo) / 400) and v = 10^((drawElo + elo) / 400), the probability of a win is
    1 / (1 + u), the probability of a loss is 1 / (1 + v), and therefore the probability of a draw is
    (u v - 1) / ((1 + u) (1 + v)). The product u v is the same for all elo.
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
    """Return ln(1 + 10^(elo / 400)), without overflow for large ``elo``."""
    exponent = elo / 400 * math.log(10)
    return max(exponent, 0.0) + math.log1p(math.exp(-abs(exponent)))
