"""The SPRT, against cuteRMob where it is right, against fastchess, and against trying all there is."""

import json
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.errors import UsageError
from tbgen.games.standings import EloModel, sprt
from tbgen.games.standings.likelihood import Sample
from tests.support.exhaustive import sample
from tests.support.paths import DATA

ROWS = [json.loads(line) for line in (DATA / "elo_and_sprt.jsonl").read_text().splitlines()]
"""Elo and SPRT as cuteRMob computes them, its errors included."""


@pytest.mark.parametrize("row", [row for row in ROWS if "elo0" in row], ids=lambda row: row["points"])
def test_sprt_agrees_with_cutermob(row: dict[str, str]) -> None:
    games = [float(share) for share in row["points"].split()]
    numbers = (float(row[key]) for key in ("elo0", "elo1", "alpha", "beta"))
    found = sprt(games, *numbers, model="bayesian")
    assert (found.wins, found.losses, found.draws) == pytest.approx(
        (row["wins"], row["losses"], row["draws"])
    )
    assert found.verdict == row["status"] == "continue"
    if found.draws == 0:
        assert row["llr"] == "-nan"  # where we leave the draws out
        assert found.llr > 0
        return
    assert found.llr == pytest.approx(float(row["llr"]), abs=1e-12)
    if found.wins >= 1:
        assert found.lower == pytest.approx(float(row["lower"]))
        assert found.upper == pytest.approx(float(row["upper"]))


def test_sprt_without_draws_is_the_plain_binomial_one() -> None:
    wins, losses = 60, 40
    chance = 1 / (1 + 10 ** (-20 / 400))
    binomial = wins * math.log(chance / 0.5) + losses * math.log((1 - chance) / 0.5)
    games = [1.0] * wins + [0.0] * losses
    assert sprt(games, 0, 20, model="bayesian").llr == pytest.approx(binomial)
    # A thousandth of a draw changes little.
    assert sprt(games, 0, 20, model="logistic").llr == pytest.approx(binomial, abs=1e-4)


@pytest.mark.parametrize("model", EloModel)
def test_sprt_decides(model: EloModel) -> None:
    chances = random.Random(1)
    strong = [chances.choice([0, 0.5, 0.625, 1, 1]) for _ in range(3000)]
    assert sprt(strong, 0, 10, model=model).verdict == "H1"
    assert sprt([1 - share for share in strong], 0, 10, model=model).verdict == "H0"
    assert sprt(strong[:4], 0, 10, model=model).verdict == "continue"


@pytest.mark.parametrize(
    "numbers", [(5, 5), (5, 0), (0, 5, 0, 0.05), (0, 5, 0.5, 0.5), (0, math.inf), (0, 1e6)]
)
def test_tests_that_are_none(numbers: tuple[float, ...]) -> None:
    with pytest.raises(UsageError):
        sprt([1, 0], *numbers)


def test_models_that_are_none() -> None:
    with pytest.raises(
        UsageError, match="'elo' is not a model of a test: expected one of logistic, normalised"
    ):
        sprt([1, 0], 0, 5, model="elo")
    with pytest.raises(UsageError, match="Bayes-Elo has no model of pairs"):
        sprt([1, 0], 0, 5, model="bayesian", pairs=True)
    assert sprt([1, 0], 0, 5, model="Normalized").model is EloModel.NORMALISED


def of_counts(counts: Sequence[int]) -> list[float]:
    """Points of so many lost, drawn and won games; or of pairs, by the half points they brought."""
    return [place / (len(counts) - 1) for place, count in enumerate(counts) for _ in range(count)]


@pytest.mark.parametrize(
    ("model", "counts", "elo0", "elo1", "llr"),
    [
        ("normalised", (36027, 68692, 36433), 0, 2, 0.92),
        ("normalised", (10650, 20431, 10871), -1.75, 0.25, 2.30),
        ("normalised", (0, 0, 4250), 0, 10, 120.56),
        ("logistic", (21184, 40708, 21404), 0.5, 2.5, -1.57),
        ("logistic", (57030, 106593, 57433), 0, 2, -2.59),
        ("normalised", (365, 16618, 36229, 16974, 390), 0, 2, 2.25),
        ("normalised", (127, 4883, 10712, 5150, 104), -1.75, 0.25, 3.01),
        ("normalised", (0, 0, 0, 0, 5550), 0, 5, 111.82),
        ("logistic", (223, 9863, 21279, 10037, 246), 0.5, 2.5, -3.07),
        ("logistic", (871, 26175, 55983, 26678, 821), 0, 2, -4.98),
    ],
)
def test_sprt_agrees_with_fastchess(
    model: str, counts: tuple[int, ...], elo0: float, elo1: float, llr: float
) -> None:
    """Its figures (app/tests/sprt_test.cpp); it iterates less closely for a side that always wins."""
    found = sprt(of_counts(counts), elo0, elo1, model=model, pairs=len(counts) == 5)
    lopsided = counts[0] == counts[1] == 0
    assert found.llr == pytest.approx(llr, abs=0.00501, rel=3e-4 if lopsided else 1e-9)
    assert found.count == sum(counts)


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "llr"),
    [((68526, 128429, 68965), 0, 2, -1.26), ((21484, 41111, 21629), 0.5, 2.5, -1.13)],
)
def test_bayes_elo_agrees_with_fastchess(
    counts: tuple[int, ...], elo0: float, elo1: float, llr: float
) -> None:
    """Its bounds are in Bayes-Elo; those of Cute Chess, and ours, in Elo."""
    lost, _, won = (count / sum(counts) for count in counts)
    odds = math.sqrt((1 - lost) / lost * (1 - won) / won)  # 10^(drawElo / 400)
    scale = 4 / odds / (1 + 1 / odds) ** 2
    found = sprt(of_counts(counts), elo0 * scale, elo1 * scale, model="bayesian")
    assert found.llr == pytest.approx(llr, abs=0.00501)


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "llr"),
    [((77, 1, 0, 0, 0), -1000, -500, -2.95), ((72, 10, 0, 0, 0), -1000, -500, -2.97)],
)
def test_lopsided_matches_agree_with_fastchess(
    counts: tuple[int, ...], elo0: float, elo1: float, llr: float
) -> None:
    """Figures of its pull request 882, which mended its issue 879."""
    assert sprt(of_counts(counts), elo0, elo1, model="normalised", pairs=True).llr == pytest.approx(
        llr, abs=0.00501
    )


def test_the_match_that_never_ended() -> None:
    """Issues 877 and 879 of fastchess: a loop without end, and a ratio that is not a number."""
    assert sprt(of_counts((144, 3, 1, 0, 0)), -1500, -500, model="normalised", pairs=True).verdict == "H0"
    # And one lost pair proves next to nothing, where -111 was printed once.
    assert -0.1 < sprt([0], -1500, -500, model="normalised", pairs=True).llr < 0


@pytest.mark.parametrize(("model", "pairs"), [("logistic", False), ("logistic", True), ("normalised", True)])
def test_an_unbeaten_side_gets_on(model: str, pairs: bool) -> None:
    ratios = [sprt([1.0] * count, 0, 50, model=model, pairs=pairs).llr for count in (1, 2, 5, 20, 100)]
    assert 0 < ratios[0] < ratios[1] < ratios[2] < ratios[3] < ratios[4] < 100
    assert sprt([1.0] * 100, 0, 50, model=model, pairs=pairs).verdict == "H1"
    assert sprt([0.0] * 100, 0, 50, model=model, pairs=pairs).verdict == "H0"


lopsided = st.lists(st.sampled_from([0, 0, 0, 1, 3, 50, 20_000]), min_size=5, max_size=5)
bounds = st.sampled_from(
    [(0, 2), (-1.75, 0.25), (0, 50), (-2000, -500), (500, 1500), (-2000, 2000), (0, 0.01)]
)


@settings(max_examples=sample(20, 100))
@given(lopsided, bounds, st.sampled_from([EloModel.LOGISTIC, EloModel.NORMALISED]), st.booleans())
def test_ratios_are_finite_and_mirrored(
    counts: list[int], numbers: tuple[float, float], model: EloModel, pairs: bool
) -> None:
    games = of_counts(counts)
    found = sprt(games, *numbers, model=model, pairs=pairs).llr
    assert math.isfinite(found)
    other = sprt([1 - share for share in games], -numbers[1], -numbers[0], model=model, pairs=pairs).llr
    assert other == pytest.approx(-found, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("draws", [0, 10**5])
def test_bayes_elo_is_finite(draws: int) -> None:
    found = sprt([1.0, 0.0] + [0.5] * draws, 0, 1000, model="bayesian")
    assert math.isfinite(found.llr)
    assert found.llr < 0


def test_before_the_first_game() -> None:
    assert [sprt([], 0, 5, model=model).llr for model in EloModel] == [0, 0, 0]


@settings(max_examples=sample(20, 100))
@given(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3), st.floats(0.01, 4), st.booleans())
def test_the_likeliest_distribution_of_three_results_by_going_through_all(
    counts: list[float], size: float, negative: bool
) -> None:
    """Mean and deviation determine a distribution of three results, so all with a ratio make one curve.

    What has the ratio is on it, so it is no likelier than the likeliest there.
    """
    ratio = -size if negative else size
    seen = Sample(np.array([0, 0.5, 1]), np.array(counts))
    found = seen.with_ratio(ratio)
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


@settings(max_examples=sample(20, 100))
@given(
    st.lists(st.sampled_from([1e-3, 1, 7, 300]), min_size=6, max_size=6),
    st.sampled_from([-2.5, -0.3, -0.005, 0, 0.01, 0.4, 1.5]),
    st.integers(0, 2**32 - 1),
)
def test_no_other_distribution_is_likelier(counts: list[float], ratio: float, seed: int) -> None:
    """Against mixtures at random of distributions with a smaller and with a larger ratio."""
    seen = Sample(np.array([0, 0.25, 0.5, 0.5625, 0.75, 1]), np.array(counts))
    likelihood = seen.counts @ np.log(seen.with_ratio(ratio))
    random_numbers = np.random.default_rng(seed)

    def excess(share: float, one: Sample, other: Sample) -> float:
        mixed = (1 - share) * one.counts + share * other.counts
        mean = mixed @ seen.values
        return float(mean - 0.5 - ratio * math.sqrt(mixed @ (seen.values - mean) ** 2))

    for _ in range(30):
        one, other = (Sample(seen.values, random_numbers.dirichlet(np.array(counts) + 0.1)) for _ in range(2))
        if excess(0, one, other) > excess(1, one, other):
            one, other = other, one
        if not excess(0, one, other) < 0 < excess(1, one, other):
            continue
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle, one, other) < 0 else (low, middle)
        mixed = (1 - low) * one.counts + low * other.counts
        assert seen.counts @ np.log(np.maximum(mixed, 1e-300)) <= likelihood + 1e-6 * abs(likelihood)
