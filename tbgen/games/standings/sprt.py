"""The sequential probability ratio test: whether a player is stronger by elo1, or by no more than elo0."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from tbgen.errors import UsageError

_MOST_ELO: Final = 1000
"""Differences beyond which no test makes sense."""


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test and where it stands."""

    elo0: float
    elo1: float
    alpha: float
    beta: float
    wins: float
    """Games won; shares of a point count in part as wins or losses, in part as draws."""
    losses: float
    draws: float
    llr: float
    """Logarithm of the likelihood ratio; 0 before there is one win and one loss."""
    lower: float
    upper: float
    """Bounds of the ratio's logarithm."""

    @property
    def verdict(self) -> Literal["H0", "H1", "continue"]:
        """``H1`` if elo1 is accepted, ``H0`` if elo0 is, else ``continue``."""
        if self.llr >= self.upper:
            return "H1"
        return "H0" if self.llr <= self.lower else "continue"


def sprt(points: Iterable[float], elo0: float, elo1: float, alpha: float = 0.05, beta: float = 0.05) -> Sprt:
    """Return the test of the points of single games, from 0 to 1.

    The model is that of Bayes-Elo, which cuteRMob uses: p points of a game are 2p - 1 wins and 2(1 - p)
    draws if p is 1/2 or more, else 1 - 2p losses and 2p draws. Without any draw its term is left out, where
    cuteRMob's ratio is not a number.

    :param alpha: probability of accepting elo1 though elo0 is true.
    :param beta: probability of accepting elo0 though elo1 is true.

    :raises UsageError: if elo0 is not below elo1, or alpha and beta are no probabilities of error.

    >>> sprt([1, 1, 1, 0, .5, .5, .75, .25, .625, .5625, .4375], 0, 50).verdict
    'continue'
    """
    if not -_MOST_ELO <= elo0 < elo1 <= _MOST_ELO:
        raise UsageError(
            f"a test needs elo0 below elo1, both from -{_MOST_ELO} to {_MOST_ELO}, not {elo0:g} and {elo1:g}"
        )
    if not (0 < alpha < 1 and 0 < beta < 1 and alpha + beta < 1):
        raise UsageError(
            f"alpha {alpha:g} and beta {beta:g} are no probabilities of error: expected some such as 0.05"
        )
    shares = list(points)
    wins = math.fsum(2 * share - 1 for share in shares if share >= 0.5)
    losses = math.fsum(1 - 2 * share for share in shares if share < 0.5)
    draws = math.fsum(2 * min(share, 1 - share) for share in shares)
    ratio = _ratio(wins, losses, draws, elo0, elo1) if wins >= 1 and losses >= 1 else 0.0
    lower, upper = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
    return Sprt(elo0, elo1, alpha, beta, wins, losses, draws, ratio, lower, upper)


def _ratio(wins: float, losses: float, draws: float, elo0: float, elo1: float) -> float:
    """Return the logarithm of the likelihood ratio; the rate of draws is that of the games."""
    count = wins + losses + draws
    won, lost = wins / count, losses / count
    draw_elo = 200 * math.log10((1 - lost) / lost * (1 - won) / won) if draws else 0.0
    x = 10 ** (-draw_elo / 400)
    scale = 4 * x / (1 + x) ** 2
    (win0, loss0), (win1, loss1) = (_chances(elo / scale, draw_elo) for elo in (elo0, elo1))
    ratio = wins * math.log(win1 / win0) + losses * math.log(loss1 / loss0)
    if draws:
        ratio += draws * math.log((1 - win1 - loss1) / (1 - win0 - loss0))
    return ratio


def _chances(bayes_elo: float, draw_elo: float) -> tuple[float, float]:
    """Return the probabilities of a win and of a loss."""
    win = 1 / (1 + 10 ** ((draw_elo - bayes_elo) / 400))
    loss = 1 / (1 + 10 ** ((draw_elo + bayes_elo) / 400))
    return win, loss
