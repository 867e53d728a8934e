"""Elo, compared with cuteRMob where it is right, with fastchess, and with independent formulas."""

import json
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbgen.errors import UsageError
from tbgen.games.standings import elo
from tests.support.paths import DATA

ROWS = [json.loads(line) for line in (DATA / "elo_and_sprt.jsonl").read_text().splitlines()]
"""Elo and SPRT by cuteRMob, including its errors."""

shares = st.lists(st.sampled_from([0.0, 0.25, 0.4375, 0.5, 0.5625, 0.625, 0.75, 1.0]), min_size=2)


def spread(points: float, squares: float, count: int) -> list[float]:
    """Return points with a certain sum and sum of squares."""
    mean = points / count
    deviation = math.sqrt(max(squares / count - mean * mean, 0) * count / 2)
    return [mean + deviation, mean - deviation] + [mean] * (count - 2)


def test_elo_agrees_with_cutermob_and_margins_do_not() -> None:
    for row in (row for row in ROWS if "sq" in row):
        found = elo(spread(row["points"], row["sq"], int(row["n"])))
        assert found.difference == pytest.approx(float(row["elo"]), abs=1e-9), row
        # cuteRMob takes the root mean square minus the mean for the deviation of the points.
        mean = row["points"] / row["n"]
        wrong = (math.sqrt(row["sq"] / row["n"]) - mean) / math.sqrt(row["n"])
        assert row["stdev"] == pytest.approx(wrong, abs=1e-12), row
        right = math.sqrt(row["sq"] / row["n"] - mean * mean) / math.sqrt(row["n"])
        assert right <= wrong + 1e-9 or found.margin > float(row["err"]), row


def test_the_published_example() -> None:
    """40 wins, 31 losses and 29 draws; cuteRMob prints +-19.5 and LOS 99.9."""
    found = elo([1] * 40 + [0] * 31 + [0.5] * 29)
    assert found.difference == pytest.approx(31.354042247812043)
    assert found.margin == pytest.approx(58.06, abs=0.005)
    assert found.superiority == pytest.approx(0.8586, abs=0.00005)
    assert str(found) == "+31.4 +- 58.1"


@given(shares)
def test_elo_by_independent_formulas(points: list[float]) -> None:
    found = elo(points)
    mean, error = statistics.fmean(points), statistics.pstdev(points) / math.sqrt(len(points))
    if not 0 < mean < 1:
        assert found.difference == math.copysign(math.inf, mean - 0.5)
        assert found.margin == math.inf
        return
    assert 1 / (1 + 10 ** (-found.difference / 400)) == pytest.approx(mean)
    if error > 1e-12:
        normal = statistics.NormalDist(mean, error)
        assert found.superiority == pytest.approx(1 - normal.cdf(0.5), abs=1e-9)
        low, high = normal.inv_cdf(0.025), normal.inv_cdf(0.975)
        if low > 1e-6 and high < 1 - 1e-6:
            width = 400 * math.log10(high / (1 - high)) - 400 * math.log10(low / (1 - low))
            assert found.margin == pytest.approx(width / 2, rel=1e-5)
        elif low < -1e-6 or high > 1 + 1e-6:
            assert found.margin == math.inf


def test_elo_of_few_games() -> None:
    with pytest.raises(UsageError, match="needs at least one game"):
        elo([])
    assert str(elo([1, 1])) == "+inf +- unbounded"
    assert str(elo([0.5] * 10)) == "+0.0 +- 0.0"
    assert elo([0.5] * 10).superiority == 0.5
    assert (elo([0.75]).margin, elo([0.75]).superiority) == (math.inf, 0.5)
    assert (elo([1, 1]).normalised, elo([0, 0]).normalised) == (math.inf, -math.inf)
    assert (elo([0.5] * 10).normalised, elo([0.5] * 10).normalised_margin) == (0, math.inf)
    assert math.isnan(elo([1]).normalised)
    assert elo([0.75]).normalised_margin == math.inf


def test_elo_agrees_with_fastchess() -> None:
    """Numbers and digits are those of app/tests/elo_test.cpp; pairs have 0, 1/2, 1, 1 1/2 or 2 points."""
    names = ("normalised", "normalised_margin", "difference", "margin", "superiority")
    for counts, expected in (
        ((89, 123, 76), (-20.76, 40.13, None, None, 0.1553)),
        ((96, 111, 136), (49.77, 36.77, 40.70, 30.43, 0.9960)),
        ((356, 0, 34), (-508.44, 34.48, None, None, None)),
        ((34, 54, 63, 64, 75), (57.94, 28.28, 55.58, 27.65, 1.0)),
        ((332, 433, 498, 333, 334), (-9.17, 10.96, -8.64, 10.33, 0.0505)),
        ((7895, 8757, 5685, 568, 9999), (-19.01, 2.65, -21.04, 2.95, 0.0)),
    ):
        most = len(counts) - 1
        points = [at / most for at, count in enumerate(counts) for _ in range(count)]
        measured = elo(points, pairs=most == 4)
        for name, value in zip(names, expected, strict=True):
            if value is not None:
                digits = 5.1e-5 if name == "superiority" else 0.00501
                assert getattr(measured, name) == pytest.approx(value, abs=digits), (counts, name)


@given(shares)
def test_normalised_elo_is_the_mean_in_standard_deviations(points: list[float]) -> None:
    found, spread = elo(points), statistics.pstdev(points)
    if spread > 1e-9:
        lead = (statistics.fmean(points) - 0.5) / spread
        assert found.normalised == pytest.approx(lead * 800 / math.log(10), abs=1e-9)
        assert found.normalised_margin == pytest.approx(1.959964 * 800 / math.log(10) / len(points) ** 0.5)
        # Pairs of games that do not depend on each other spread less by the root of two.
        pairs = [(one + other) / 2 for one in points for other in points]
        assert elo(pairs, pairs=True).normalised == pytest.approx(found.normalised, abs=1e-9)
