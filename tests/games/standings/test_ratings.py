"""Joint ratings, compared with lists that Ordo and BayesElo have printed."""

import dataclasses
import math
from itertools import combinations

import numpy as np
import pytest

from tbgen.errors import UsageError
from tbgen.games.standings import elo, standings
from tbgen.games.standings.elo import Anchor
from tbgen.games.standings.ratings import Scores
from tests.support.tournaments import games

ELO = 400 / math.log(10)

ORDO = {
    2747.5: (4, 7),
    2741.0: (3, 7),
    2737.5: (3, 7),
    2730.0: (2, 7),
    2706.0: (-1, 7),
    2704.0: (-1, 7),
    2612.0: (-11, 6),
}
"""A round robin as Ordo printed it: for the points of each player in 5,422 games (the first played
5,424), rating and margin. A quarter of the games was drawn (github.com/akanalytics/odonata, in a comment)."""
BAYES = ((58, 39), (50, 1), (48, -8), (48, -9), (45, -23))
"""A round robin of 100 games a pair as BayesElo printed it: Elo by per cent of the points (MIT 6.172,
project 4 of 2018, tests/README.txt). 55 % of the games were drawn."""


def round_robin(totals: list[float], per_pair: int, draws: float) -> Scores:
    """Return single games of a round robin in which players score given shares of their points."""
    size = len(totals)
    factor = size / sum(totals) / 2  # makes the mean 1/2
    shares = [factor * total for total in totals]
    rows: list[tuple[int, int, float]] = []
    for one, other in combinations(range(size), 2):
        lead = (shares[one] - shares[other]) * (size - 1) / size
        wins = round(per_pair * ((1 - draws) / 2 + lead))
        level = round(per_pair * draws)
        results = [1.0] * wins + [0.5] * level + [0.0] * (per_pair - wins - level)
        rows += [(one, other, points) for points in results]
    one_column, other_column, points_column = np.array(rows).T
    return Scores(
        one_column.astype(np.intp), other_column.astype(np.intp), points_column, np.ones(len(points_column))
    )


def test_ratings_and_margins_agree_with_ordo() -> None:
    found, covariance = round_robin([*ORDO], 904, 0.256).fit(len(ORDO))
    for rating, error, (printed, margin) in zip(
        found, np.diag(covariance) ** 0.5, ORDO.values(), strict=True
    ):
        assert ELO * rating == pytest.approx(printed, abs=0.6)
        assert 1.96 * ELO * error == pytest.approx(margin, abs=1)


def test_ratings_agree_with_bayeselo_but_for_its_weight_of_draws() -> None:
    """BayesElo counts a draw as a win and a loss and expects few draws, so for near players its differences
    are smaller: by 0.9256 / (2 * 0.3635 * (1 + draws)), from its constants.
    Whole per cents leave 4 points open."""
    found, _ = round_robin([share for share, _ in BAYES], 100, 0.55).fit(len(BAYES))
    for rating, (_, printed) in zip(found, BAYES, strict=True):
        assert ELO * rating * 0.9256 / (2 * 0.3635 * 1.55) == pytest.approx(printed, abs=4)


def test_the_ratings_of_two_players_differ_by_their_elo() -> None:
    found = standings(games("AB G0.0 3, AB G2.0 2, BA G0.0, AB -G1.5"))
    ratings = found.ratings
    assert ratings["A"].rating == -ratings["B"].rating > 0
    assert ratings["A"].rating - ratings["B"].rating == pytest.approx(elo(found.players[0].shares).difference)


def test_an_anchor_fixes_a_player_and_its_margin() -> None:
    records = games("AB G0.0, AB -G0.0, BC G1.0, CA G0.5, CA -G3.0, BC -G0.0")
    free = standings(records).ratings
    found = dataclasses.replace(standings(records), anchor=Anchor.parse("x=B=2800"))
    with pytest.raises(UsageError, match="no player is called 'x=B': expected one of"):
        found.ratings  # noqa: B018 - computed here
    fixed = dataclasses.replace(found, anchor=Anchor.parse("B=2800")).ratings
    assert (fixed["B"].rating, fixed["B"].margin) == (2800, 0)
    for name, rating in free.items():
        assert fixed[name].rating == pytest.approx(2800 + rating.rating - free["B"].rating)
    assert sum(rating.rating for rating in free.values()) == pytest.approx(0)


@pytest.mark.parametrize("text", ["B", "B=", "B=high", "nan", "inf"])
def test_anchors_that_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not an anchor: expected NAME=RATING, or a mean such as 2800"):
        Anchor.parse(text)


def test_players_who_cannot_be_compared() -> None:
    """A wins all games, Z none; B and C are level, D and E likewise, and nobody else has met these."""
    ratings = standings(games("AB G0.0, CA -G0.0, BC G1.0, CB G1.0, DE G0.0, ED G0.0, BZ G0.0")).ratings
    assert (ratings["A"].rating, ratings["Z"].rating) == (math.inf, -math.inf)
    assert ratings["B"].group == ratings["C"].group != ratings["D"].group == ratings["E"].group
    assert ratings["B"].rating == pytest.approx(0, abs=1e-9) == ratings["D"].rating
    between = standings(games("AB G0.0, BC G0.0")).ratings
    assert math.isnan(between["B"].rating)
