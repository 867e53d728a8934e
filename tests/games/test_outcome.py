"""Intervals of scores, and the points that they determine."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.board.score import MAX_CODED_RANK, GScore
from tbgen.board.scoring import EXPONENTIAL, Komi, Scheme, ScoreInterval, Scoring
from tbgen.board.variant import Variant
from tbgen.games.game_options import FiftyMoveRule, GameSettings
from tbgen.games.outcome import Basis, Outcome
from tests.support.exhaustive import sample
from tests.support.refusals import refusal

ALL = sorted(GScore(rank, white) for white in (True, False) for rank in range(MAX_CODED_RANK + 1))
scores = st.sampled_from(ALL)
intervals = st.builds(lambda one, other: ScoreInterval(*sorted((one, other))), scores, scores)


def members(interval: ScoreInterval) -> list[GScore]:
    """Return all scores of an interval, found by comparison."""
    return [score for score in ALL if interval.lower <= score <= interval.upper]


@given(intervals)
def test_printed_intervals_can_be_parsed(interval: ScoreInterval) -> None:
    assert ScoreInterval.parse(str(interval)) == interval


def test_intervals_in_words_and_invalid_ones() -> None:
    assert ScoreInterval.parse("-G0.0 G0.5").description == "between -G0.0 and G0.5"
    assert ScoreInterval.parse("-G0.0 G0.0").description == "not known"
    for text in ("", "G2.0", "G2.0 -G4.5", "-G4.5 G2.0 G1.0", "-G4.5, G2.0", "a b"):
        assert refusal(ScoreInterval.parse, text)


@settings(max_examples=sample(20, 100))
@given(intervals, intervals)
def test_a_value_in_two_intervals(one: ScoreInterval, other: ScoreInterval) -> None:
    both = [score for score in members(one) if score in members(other)]
    if both:
        assert members(one.intersection(other)) == both
    else:
        with pytest.raises(ValueError, match="no score is both in"):
            one.intersection(other)


@given(intervals, scores)
def test_the_nearest_score(interval: ScoreInterval, score: GScore) -> None:
    def steps(other: GScore) -> int:
        return abs(ALL.index(other) - ALL.index(score))

    assert interval.nearest(score) == min(members(interval), key=steps)


@given(intervals, st.sampled_from(Scheme), st.integers(0, 30), st.integers(0, 140), st.booleans())
def test_the_bounds_show_whether_all_scores_print_the_same_points(
    interval: ScoreInterval, scheme: Scheme, cutoff: int, quarters: int, white: bool
) -> None:
    scoring = Scoring(scheme, GScore(cutoff, True), Komi(quarters | (scheme is Scheme.FULL), white))
    assert interval.gives_equal_points(scoring) == (
        len({scoring.tag(score) for score in members(interval)}) == 1
    )


def test_intervals_that_decide_points() -> None:
    """Examples by hand, with cutoff G6.0 and komi G5.75, which White must beat."""
    by_komi = {Scheme.WINNER, Scheme.KOMI, Scheme.FULL}
    for text, agreeing in (
        ("G7.5 G6.0", {Scheme.CLASSICAL, Scheme.OTB, *by_komi}),
        ("-G8.5 G7.5", {Scheme.EXPONENTIAL, Scheme.CLASSICAL, Scheme.OTB, *by_komi}),
        ("G5.5 G4.0", {Scheme.CLASSICAL, Scheme.OTB, *by_komi}),
        ("G4.0 G3.5", {Scheme.CLASSICAL, *by_komi}),
        ("G0.5 G0.0", {Scheme.OTB, *by_komi}),
        ("-G0.0 G0.0", set()),
    ):
        interval = ScoreInterval.parse(text)
        assert {scheme for scheme in Scheme if interval.gives_equal_points(Scoring(scheme))} == agreeing, text


def test_bounds_decide_by_the_scoring() -> None:
    settings = GameSettings(Variant.R_MOBILITY, FiftyMoveRule.LEGACY, False, EXPONENTIAL)
    for accrued, value, basis in (("G3.0", "G4.5", Basis.NEAREST_BOUND), ("G4.5", "G4.5", Basis.PLAYED)):
        bounds = ScoreInterval.parse("G5.0 G4.5")
        known = Outcome(
            GScore(value), basis, GScore(accrued), settings, bounds=bounds, missing_syzygy="KRvKP.rtbw"
        )
        assert known.lacks == ["Syzygy file KRvKP.rtbw is missing"]
        assert known.narrowed(ScoreInterval.parse("G4.5 G4.5"), Basis.SOLVED).lacks == []
        assert known.scored_by(EXPONENTIAL) == known
        by_winner = known.scored_by(Scoring(Scheme.WINNER))
        assert (str(by_winner.value), by_winner.basis, by_winner.proven) == ("G4.5", Basis.BOUNDED, True)
        assert (str(by_winner.accrued), by_winner.lacks) == (accrued, [])
        back = by_winner.scored_by(EXPONENTIAL)
        assert back == known
        assert not back.proven


def test_the_interval_of_an_outcome() -> None:
    settings = GameSettings(Variant.R_MOBILITY, FiftyMoveRule.LEGACY, False, EXPONENTIAL)
    score, bounds = GScore("G3.0"), ScoreInterval.parse("G5.0 G2.5")
    assert str(Outcome(score, Basis.TABLEBASE, score, settings).interval) == "G3.0 G3.0"
    assert str(Outcome(score, Basis.PLAYED, score, settings).interval) == "-G0.0 G0.0"
    assert Outcome(score, Basis.PLAYED, score, settings, bounds=bounds).interval == bounds
