"""Points: the scorings, their cutoff and their komi, in numbers and in text."""

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tbgen
from tbgen.board.score import MAX_RANK, GScore
from tbgen.board.scoring import (
    DEFAULT_CUTOFF,
    DEFAULT_KOMI,
    EXPONENTIAL,
    Komi,
    Scheme,
    Scoring,
    parse_cutoff,
    points,
)
from tbgen.errors import UsageError
from tbgen.probe.documents import points_document
from tests.support.paths import DATA

# Points as cuteRMob, the r-mobility fork of Cute Chess, gives them: 29 scores, 2 cutoffs, 12 komis.
ROWS = [json.loads(line) for line in (DATA / "points.jsonl").read_text().splitlines()]

# What cuteRMob reads as a komi or a score. It takes junk for something; we refuse these.
TEXTS = [json.loads(line) for line in (DATA / "scores_and_komis.jsonl").read_text().splitlines()]
REFUSED_SCORES = {"G3.", "G3.4", "G3.75", "G3.9", "G12.05", "G", "-G", "3.5", "+G3.5", "", "Gx.5"}
REFUSED_KOMIS = {"G5.3", "G5.2", "G5.7", "5.75", "", "+G4.0"}

scores = st.builds(GScore, st.integers(0, MAX_RANK), st.booleans())
komis = st.builds(Komi, st.integers(0, 2 * MAX_RANK), st.booleans())
cutoffs = st.builds(GScore, st.integers(0, MAX_RANK), st.just(True))


def test_points_agree_with_cutermob() -> None:
    assert len(ROWS) == 696
    for row in ROWS:
        for name in ("classical", "exponential", "harmonic", "winner", "komi"):
            expected = row["komi_pts" if name == "komi" else name]
            assert list(points(row["g"], name, row["cutoff"], row["komi"])) == expected, (name, row)


@pytest.mark.parametrize("row", [r for r in TEXTS if "half_units" in r], ids=lambda r: repr(r["in"]))
def test_scores_are_read_as_by_cutermob_or_refused(row: dict[str, str]) -> None:
    if row["in"] in REFUSED_SCORES:
        with pytest.raises(UsageError, match="is not a G-score: expected"):
            GScore.parse(row["in"])
    else:
        score = GScore.parse(row["in"])
        assert (score.rank, score.holder, str(score)) == (row["half_units"], row["side"], row["print"])


@pytest.mark.parametrize("row", [r for r in TEXTS if "quarter_units" in r], ids=lambda r: repr(r["in"]))
def test_komis_are_read_as_by_cutermob_or_refused(row: dict[str, str]) -> None:
    if row["in"] in REFUSED_KOMIS:
        with pytest.raises(UsageError, match="is not a komi: expected"):
            Komi.parse(row["in"])
    else:
        komi = Komi.parse(row["in"])
        side = "white" if komi.white else "black"
        assert (komi.quarters, side, str(komi)) == (row["quarter_units"], row["side"], row["print"])


@given(komis)
def test_komis_print_as_they_are_read(komi: Komi) -> None:
    assert re.fullmatch(r"-?G\d+\.(0|25|5|75)", str(komi))
    assert Komi.parse(str(komi)) == Komi.parse(str(komi).replace("-", "m").replace("G", "g")) == komi


@pytest.mark.parametrize("text", ["-G6.0", "mG6.0", "6.0", "", "G6.25", "G", "six", "G6.0 "])
def test_a_cutoff_is_a_score_without_sign(text: str) -> None:
    with pytest.raises(UsageError, match="is not a cutoff: expected a G-score without sign"):
        parse_cutoff(text)


def test_a_cutoff_has_an_end() -> None:
    with pytest.raises(UsageError, match=r"the largest one is G999\.5"):
        parse_cutoff("G1000")


@pytest.mark.parametrize("text", ["G1000", "-G5.75\n", "G5.125", "G" + "9" * 5000])
def test_bad_komis_get_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Komi.parse(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250


@given(scores, st.sampled_from(Scheme), cutoffs, komis)
def test_points_are_shared_out_and_mirrored(
    value: GScore, scheme: Scheme, cutoff: GScore, komi: Komi
) -> None:
    if scheme is Scheme.FULL:
        komi = Komi(komi.quarters | 1, komi.white)
    white, black = Scoring(scheme, cutoff, komi).points(value)
    assert white + black == 1
    assert 0 <= white <= 1
    assert Scoring(scheme, cutoff, Komi(komi.quarters, not komi.white)).points(-value) == (black, white)


@given(scores, scores, st.sampled_from(Scheme), cutoffs, komis)
def test_a_better_result_never_gets_less(
    one: GScore, other: GScore, scheme: Scheme, cutoff: GScore, komi: Komi
) -> None:
    """By any cutoff and komi, on which intervals that decide points rest."""
    if scheme is Scheme.FULL:
        komi = Komi(komi.quarters | 1, komi.white)
    scoring = Scoring(scheme, cutoff, komi)
    worse, better = sorted((one, other))
    assert scoring.lead(worse) <= scoring.lead(better)


@pytest.mark.parametrize("scheme", Scheme)
def test_no_cutoff_and_komi_turn_the_order_round(scheme: Scheme) -> None:
    """All of them up to G10.0, and all results."""
    ranks = [GScore(rank, white) for rank in range(25) for white in (True, False)]
    for cutoff in range(21):
        for quarters in range(scheme is Scheme.FULL, 41, 1 + (scheme is Scheme.FULL)):
            for white in (True, False):
                scoring = Scoring(scheme, GScore(cutoff, True), Komi(quarters, white))
                leads = [scoring.lead(score) for score in sorted(ranks)]
                assert leads == sorted(leads)


@given(scores, komis)
def test_full_points_leave_no_draws(value: GScore, komi: Komi) -> None:
    odd = Komi(komi.quarters | 1, komi.white)
    assert set(Scoring(Scheme.FULL, komi=odd).points(value)) == {0, 1}
    # Without a cutoff: the komi's colour has to beat it, and the other side wins with anything it holds.
    beaten = value.white == odd.white and 2 * value.rank < odd.quarters
    winner = odd.white if beaten else value.white if value.white != odd.white else not odd.white
    assert Scoring(Scheme.FULL, komi=odd).points(value).white == winner
    with pytest.raises(
        UsageError, match=r"full points need a komi that no score equals, in quarters such as"
    ):
        Scoring(Scheme.FULL, komi=Komi(odd.quarters + 1, odd.white))


@given(scores)
def test_over_the_board_only_g3_5_and_less_is_recorded(value: GScore) -> None:
    assert points(value, "otb") == points(value, "winner", "G4.0")


@pytest.mark.parametrize(
    ("value", "scoring", "text"),
    [
        *(("G0.0", "exponential", "1.0000-0.0000"), ("-G0.0", "exponential", "0.0000-1.0000")),
        *(("G1.0", "exponential", "0.6250-0.3750"), ("-G3.5", "exponential", "0.4961-0.5039")),
        *(("G20.5", "exponential", "0.5000-0.5000"), ("G0.5", "exponential", "0.7500-0.2500")),
        *(("-G0.5", "harmonic", "0.2500-0.7500"), ("G5.5", "harmonic", "0.5417-0.4583")),
        *(("G0.0", "classical", "1-0"), ("-G0.0", "classical", "0-1"), ("G0.5", "classical", "1/2-1/2")),
        *(("G5.5", "winner", "1-0"), ("-G6.0", "winner", "1/2-1/2")),
        *(("G5.5", "komi", "1-0"), ("G6.5", "komi", "0-1"), ("-G6.5", "komi", "0-1")),
        *(("G3.5", "otb", "1-0"), ("-G4.0", "otb", "1/2-1/2"), ("G6.5", "full", "0-1")),
    ],
)
def test_points_print_as_in_tags(value: str, scoring: str, text: str) -> None:
    assert Scoring.parse(scoring).tag(GScore.parse(value)) == text


@given(scores, st.sampled_from(Scheme))
def test_the_lead_is_exact_and_documents_are_not_rounded(value: GScore, scheme: Scheme) -> None:
    scoring = Scoring(scheme)
    white, black = scoring.points(value)
    assert float(scoring.lead(value)) == pytest.approx(white - black, abs=1e-15)
    assert scoring.lead(value) == -Scoring(scheme, komi=Komi(23, False)).lead(-value)
    document = json.loads(json.dumps(points_document(scoring, value).plain()))
    assert document == {"white": white, "black": black}


@given(scores)
def test_no_exponential_points_are_lost(value: GScore) -> None:
    """Also where the points themselves are a half each as floating-point numbers."""
    lead = EXPONENTIAL.lead(value)
    assert lead == Fraction(1 if value.white else -1, 2**value.rank)
    assert points("G26.0") != (0.5, 0.5) == points("G26.5")
    assert EXPONENTIAL.points(GScore.parse("-G8.5")).white == 0.5 - 0.5**18


@given(scores, st.sampled_from([Scheme.EXPONENTIAL, Scheme.HARMONIC]))
def test_no_decided_game_prints_as_drawn(value: GScore, scheme: Scheme) -> None:
    scoring = Scoring(scheme)
    white, black = (Fraction(share) for share in scoring.text(value).split("-"))
    assert white + black == 1
    assert (white > black) == value.white
    assert abs(white - (1 + scoring.lead(value)) / 2) <= abs(scoring.lead(value)) / 2
    if not re.fullmatch(r"0\.5000-0\.5000", scoring.tag(value)):
        assert scoring.text(value) == scoring.tag(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [("G4.0", "0.5020-0.4980"), ("-G5.5", "0.4998-0.5002"), ("G8.5", "0.5000038-0.4999962")],
)
def test_points_print_for_readers(value: str, text: str) -> None:
    assert EXPONENTIAL.text(GScore.parse(value)) == text


def test_komi_above_the_cutoff_goes_to_its_colour_where_nothing_counts() -> None:
    """cuteRMob's rows have no such case for the side that the komi does not belong to, except with g6.25."""
    assert points("-G7.0", "komi", "G6.0", "G6.25") == (1, 0)
    assert points("-G5.5", "komi", "G6.0", "G6.25") == (0, 1)
    assert points("-G7.0", "komi", "G6.0", "G6.0") == (0.5, 0.5)
    assert points("-G7.0", "komi", "G6.0", "G5.75") == (0, 1)


@pytest.mark.parametrize(
    "text", ["RMobility Winner", "rMobilityWinner", "R-Mobility Winner", " rmobility_winner ", "Winner"]
)
def test_names_as_cutermob_writes_them(text: str) -> None:
    assert Scheme.parse(text) is Scheme.WINNER


def test_unknown_scorings_are_refused() -> None:
    with pytest.raises(UsageError, match="'elo' is not a scoring: expected one of exponential, harmonic"):
        points("G1.0", "elo")
    assert Scoring.parse("Exponential") == Scoring(Scheme.EXPONENTIAL, DEFAULT_CUTOFF, DEFAULT_KOMI)


def test_what_the_package_offers() -> None:
    assert tbgen.points("-G1.0") == tbgen.Points(0.375, 0.625)
