"""The SPRT, compared with cuteRMob where it is right, with fastchess, and with exhaustive search."""

import json
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.errors import UsageError
from tbgen.games.standings.elo import EloModel, sprt
from tbgen.games.standings.likelihood import Sample
from tests.support.exhaustive import sample
from tests.support.paths import DATA, rows
from tests.support.refusals import refusal

ROWS = [json.loads(line) for line in (DATA / "elo_and_sprt.jsonl").read_text().splitlines()]
"""Elo and SPRT by cuteRMob, including its errors."""


def test_sprt_agrees_with_cutermob() -> None:
    for row in (row for row in ROWS if "elo0" in row):
        points = [float(share) for share in row["points"].split()]
        numbers = (float(row[key]) for key in ("elo0", "elo1", "alpha", "beta"))
        found = sprt(points, *numbers, model="bayesian")
        expected = (row["wins"], row["losses"], row["draws"])
        assert (found.wins, found.losses, found.draws) == pytest.approx(expected), row
        assert found.verdict == row["status"] == "continue", row
        if found.draws == 0:
            assert row["llr"] == "-nan"  # where we leave the draws out
            assert found.llr > 0, row
            continue
        assert found.llr == pytest.approx(float(row["llr"]), abs=1e-12), row
        if found.wins >= 1:
            bounds = (float(row["lower"]), float(row["upper"]))
            assert (found.lower, found.upper) == pytest.approx(bounds), row


def test_sprt_without_draws_is_the_plain_binomial_one() -> None:
    wins, losses = 60, 40
    chance = 1 / (1 + 10 ** (-20 / 400))
    binomial = wins * math.log(chance / 0.5) + losses * math.log((1 - chance) / 0.5)
    games = [1.0] * wins + [0.0] * losses
    assert sprt(games, 0, 20, model="bayesian").llr == pytest.approx(binomial)
    # A thousandth of a draw changes little.
    assert sprt(games, 0, 20, model="logistic").llr == pytest.approx(binomial, abs=1e-4)


def test_sprt_decides() -> None:
    chances = random.Random(1)
    strong = [chances.choice([0, 0.5, 0.625, 1, 1]) for _ in range(3000)]
    for model in EloModel:
        assert sprt(strong, 0, 10, model=model).verdict == "H1"
        assert sprt([1 - share for share in strong], 0, 10, model=model).verdict == "H0"
        assert sprt(strong[:4], 0, 10, model=model).verdict == "continue"
        assert sprt([], 0, 5, model=model).llr == 0


def test_invalid_tests() -> None:
    for numbers in ((5, 5), (5, 0), (0, 5, 0, 0.05), (0, 5, 0.5, 0.5), (0, math.inf), (0, 1e6)):
        assert refusal(sprt, [1, 0], *numbers)
    with pytest.raises(
        UsageError, match="'elo' is not a model of a test: expected one of logistic, normalised"
    ):
        sprt([1, 0], 0, 5, model="elo")
    with pytest.raises(UsageError, match="Bayes-Elo has no model for pairs"):
        sprt([1, 0], 0, 5, model="bayesian", pairs=True)
    assert sprt([1, 0], 0, 5, model="Normalized").model is EloModel.NORMALISED


def of_counts(counts: Sequence[int]) -> list[float]:
    """Return the points for numbers of lost, drawn and won games, or of pairs by their half points."""
    return [place / (len(counts) - 1) for place, count in enumerate(counts) for _ in range(count)]


def test_sprt_agrees_with_fastchess() -> None:
    """The iteration of fastchess is less accurate for a side that always wins."""
    for model, numbers, *elos, llr in rows("fastchess_sprt.txt", " "):
        counts = list(map(int, numbers.split(",")))
        found = sprt(of_counts(counts), *map(float, elos), model=model, pairs=len(counts) == 5)
        lopsided = counts[0] == counts[1] == 0
        assert found.llr == pytest.approx(float(llr), abs=0.00501, rel=3e-4 if lopsided else 1e-9), counts
        assert found.count == sum(counts)


def test_bayes_elo_agrees_with_fastchess() -> None:
    """The strengths of fastchess are in Bayes-Elo; those of Cute Chess and tbgen are in Elo."""
    for counts, elo0, elo1, llr in (
        ((68526, 128429, 68965), 0, 2, -1.26),
        ((21484, 41111, 21629), 0.5, 2.5, -1.13),
    ):
        lost, _, won = (count / sum(counts) for count in counts)
        odds = math.sqrt((1 - lost) / lost * (1 - won) / won)  # 10^(drawElo / 400)
        scale = 4 / odds / (1 + 1 / odds) ** 2
        found = sprt(of_counts(counts), elo0 * scale, elo1 * scale, model="bayesian")
        assert found.llr == pytest.approx(llr, abs=0.00501)


def test_the_match_that_never_ended() -> None:
    """Issues 877 and 879 of fastchess were an endless loop and a ratio that is not a number."""
    assert sprt(of_counts((144, 3, 1, 0, 0)), -1500, -500, model="normalised", pairs=True).verdict == "H0"
    # And one lost pair proves next to nothing, where -111 was printed once.
    assert -0.1 < sprt([0], -1500, -500, model="normalised", pairs=True).llr < 0


def test_the_ratio_of_an_unbeaten_side_grows() -> None:
    for model, pairs in (("logistic", False), ("logistic", True), ("normalised", True)):
        ratios = [sprt([1.0] * count, 0, 50, model=model, pairs=pairs).llr for count in (1, 2, 5, 20, 100)]
        assert 0 < ratios[0] < ratios[1] < ratios[2] < ratios[3] < ratios[4] < 100
        assert sprt([1.0] * 100, 0, 50, model=model, pairs=pairs).verdict == "H1"
        assert sprt([0.0] * 100, 0, 50, model=model, pairs=pairs).verdict == "H0"
    unbeaten = sprt([1.0] * 30, 0, 50, model="bayesian")  # it has no ratio before one win and one loss
    assert (unbeaten.llr, unbeaten.verdict) == (0, "continue")


lopsided = st.lists(st.sampled_from([0, 0, 0, 1, 3, 50, 20_000]), min_size=5, max_size=5)
bounds = st.sampled_from(
    [(0, 2), (-1.75, 0.25), (0, 50), (-2000, -500), (500, 1500), (-2000, 2000), (0, 0.01)]
)


@settings(max_examples=sample(8, 100))
@given(lopsided, bounds, st.sampled_from([EloModel.LOGISTIC, EloModel.NORMALISED]), st.booleans())
def test_ratios_are_finite_and_mirrored(
    counts: list[int], numbers: tuple[float, float], model: EloModel, pairs: bool
) -> None:
    games = of_counts(counts)
    found = sprt(games, *numbers, model=model, pairs=pairs).llr
    assert math.isfinite(found)
    other = sprt([1 - share for share in games], -numbers[1], -numbers[0], model=model, pairs=pairs).llr
    assert other == pytest.approx(-found, rel=1e-6, abs=1e-6)


def test_bayes_elo_is_finite() -> None:
    for draws in (0, 10**5):
        assert -math.inf < sprt([1.0, 0.0] + [0.5] * draws, 0, 1000, model="bayesian").llr < 0


@settings(max_examples=sample(8, 100))
@given(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3), st.floats(0.01, 4), st.booleans())
def test_the_most_likely_distribution_of_three_results_by_exhaustive_search(
    counts: list[float], size: float, negative: bool
) -> None:
    """Mean and deviation determine a distribution of three results.

    So all distributions with a ratio form a curve, on which the most likely one can be searched for.
    """
    ratio = -size if negative else size
    seen = Sample(np.array([0, 0.5, 1]), np.array(counts))
    found = seen.distribution_with_ratio(ratio)
    mean = found @ seen.values
    deviation = math.sqrt(found @ (seen.values - mean) ** 2)
    assert found.sum() == pytest.approx(1)
    assert (mean - 0.5) / deviation == pytest.approx(ratio, rel=1e-6)
    spread = np.geomspace(1e-6, 0.5, 10_000)
    lead = ratio * spread  # of the mean over 1/2
    decisive = 4 * (spread**2 + lead**2)
    curve = np.stack([decisive / 2 - lead, 1 - decisive, decisive / 2 + lead])
    curve = curve[:, (curve > 0).all(0)]
    best = (seen.counts @ np.log(curve)).max()
    likelihood = seen.counts @ np.log(found)
    assert best <= likelihood + 1e-9 * abs(likelihood)
    assert (found > 0).all()
