"""Points: the scorings, their cutoff and their komi, in numbers and in text."""

import json
import re
from collections import defaultdict
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
from tbgen.probe.probe_document import points_document
from tests.support.exhaustive import sample
from tests.support.paths import DATA
from tests.support.refusals import refusal

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


def test_scores_and_komis_are_read_as_by_cutermob_or_refused() -> None:
    for row in TEXTS:
        kind, text = (GScore, row["in"]) if "half_units" in row else (Komi, row["in"])
        if text in (REFUSED_SCORES if kind is GScore else REFUSED_KOMIS):
            sentence = "is not a G-score: expected" if kind is GScore else "is not a komi: expected"
            assert sentence in refusal(kind.parse, text), row
            continue
        found = kind.parse(text)
        if isinstance(found, GScore):
            content, key = (found.rank, found.white), "half_units"
        else:
            content, key = (found.quarters, found.white_must_beat), "quarter_units"
        assert (*content, str(found)) == (row[key], row["side"] == "white", row["print"]), row


@given(komis)
def test_komis_print_as_they_are_read(komi: Komi) -> None:
    assert re.fullmatch(r"-?G\d+\.(0|25|5|75)", str(komi))
    assert Komi.parse(str(komi)) == Komi.parse(str(komi).replace("-", "m").replace("G", "g")) == komi


def test_cutoffs_and_komis_that_are_refused() -> None:
    for text in ("-G6.0", "mG6.0", "6.0", "", "G6.25", "G", "six", "G6.0 "):
        assert "is not a cutoff: expected a G-score without sign" in refusal(parse_cutoff, text), text
    assert "the largest one is G999.5" in refusal(parse_cutoff, "G1000")
    assert "pass others only with the name of a scheme" in refusal(points, "G5.0", EXPONENTIAL, "G3.0")
    for text in ("G1000", "-G5.75\n", "G5.125", "G" + "9" * 5000):
        assert refusal(Komi.parse, text)


@given(scores, st.sampled_from(Scheme), cutoffs, komis)
def test_points_are_shared_out_and_mirrored(
    value: GScore, scheme: Scheme, cutoff: GScore, komi: Komi
) -> None:
    if scheme is Scheme.FULL:
        komi = Komi(komi.quarters | 1, komi.white_must_beat)
    white, black = Scoring(scheme, cutoff, komi).points(value)
    assert white + black == 1
    assert 0 <= white <= 1
    assert Scoring(scheme, cutoff, Komi(komi.quarters, not komi.white_must_beat)).points(-value) == (
        black,
        white,
    )


def test_no_cutoff_and_komi_turn_the_order_round() -> None:
    """On which intervals that decide points rest: all of them, and all results, up to a few moves.

    What the definition of a scheme says of points, cutoff and komi is so, too.
    """
    most = sample(5, 20)
    ranks = sorted(GScore(rank, white) for rank in range(most + 3) for white in (True, False))
    for scheme in Scheme:
        found = defaultdict[int, set[tuple[Fraction, ...]]](set)
        for cutoff in range(most + 1):
            for quarters in range(scheme is Scheme.FULL, 2 * most + 1, 1 + (scheme is Scheme.FULL)):
                for white in (True, False):
                    scoring = Scoring(scheme, GScore(cutoff, True), Komi(quarters, white))
                    leads = [scoring.lead(score) for score in ranks]
                    assert leads == sorted(leads), scoring
                    found[cutoff].add(tuple(leads))
        assert scheme.definition.has_komi == any(len(leads) > 1 for leads in found.values())
        assert scheme.definition.has_cutoff == any(leads != found[0] for leads in found.values())
        assert scheme.definition.has_whole_points == all(
            {-1, 0, 1}.issuperset(leads) for leads in set().union(*found.values())
        )


@given(scores, komis)
def test_full_points_leave_no_draws(value: GScore, komi: Komi) -> None:
    odd = Komi(komi.quarters | 1, komi.white_must_beat)
    assert set(Scoring(Scheme.FULL, komi=odd).points(value)) == {0, 1}
    # Without a cutoff: the komi's colour has to beat it, and the other side wins with anything it holds.
    beaten = value.white == odd.white_must_beat and 2 * value.rank < odd.quarters
    winner = (
        odd.white_must_beat
        if beaten
        else value.white
        if value.white != odd.white_must_beat
        else not odd.white_must_beat
    )
    assert Scoring(Scheme.FULL, komi=odd).points(value).white == winner
    with pytest.raises(
        UsageError, match=r"full points need a komi that no score equals, in quarters such as"
    ):
        Scoring(Scheme.FULL, komi=Komi(odd.quarters + 1, odd.white_must_beat))


@given(scores)
def test_over_the_board_only_g3_5_and_less_is_recorded(value: GScore) -> None:
    assert points(value, "otb") == points(value, "winner", "G4.0")


def test_points_print_as_in_tags() -> None:
    """Of each scoring, examples by hand."""
    examples = {
        "exponential": "G0.0 1.0000-0.0000, -G0.0 0.0000-1.0000, G1.0 0.6250-0.3750, -G3.5 0.4961-0.5039, "
        "G20.5 0.5000-0.5000, G0.5 0.7500-0.2500",
        "harmonic": "-G0.5 0.2500-0.7500, G5.5 0.5417-0.4583",
        "classical": "G0.0 1-0, -G0.0 0-1, G0.5 1/2-1/2",
        "winner": "G5.5 1-0, -G6.0 1/2-1/2",
        "komi": "G5.5 1-0, G6.5 0-1, -G6.5 0-1",
        "otb": "G3.5 1-0, -G4.0 1/2-1/2",
        "full": "G6.5 0-1",
    }
    assert examples.keys() == set(Scheme)
    for scoring, rows in examples.items():
        for value, text in (row.split() for row in rows.split(", ")):
            assert Scoring.parse(scoring).tag(GScore.parse(value)) == text, (scoring, value)
    rounded = {"G4.0": "0.5020-0.4980", "-G5.5": "0.4998-0.5002", "-G26.5": "<0.5000->0.5000"}
    for value, text in rounded.items():
        assert EXPONENTIAL.text(GScore.parse(value)) == text


@given(scores, st.sampled_from(Scheme))
def test_the_lead_is_exact_and_documents_are_not_rounded(value: GScore, scheme: Scheme) -> None:
    scoring = Scoring(scheme)
    white, black = scoring.points(value)
    assert float(scoring.lead(value)) == pytest.approx(white - black, abs=1e-15)
    assert scoring.lead(value) == -Scoring(scheme, komi=Komi(23, False)).lead(-value)
    document = json.loads(json.dumps(points_document(scoring, value).builtins()))
    assert document == pytest.approx({"white": white, "black": black}, abs=2**-53, rel=0)
    lead = scoring.lead(value)  # which no document hides
    assert (document["white"] > document["black"], document["white"] < document["black"]) == (
        lead > 0,
        lead < 0,
    )


@given(scores)
def test_no_exponential_points_are_lost(value: GScore) -> None:
    """Leads stay exact even if the points round to a half each as floating-point numbers."""
    assert EXPONENTIAL.lead(value) == Fraction(1 if value.white else -1, 2**value.rank)
    assert points("G26.0") != (0.5, 0.5) == points("G26.5")
    assert EXPONENTIAL.points(GScore.parse("-G8.5")).white == 0.5 - 0.5**18


@given(scores, st.sampled_from([each for each in Scheme if not each.definition.has_whole_points]))
def test_no_decided_game_prints_as_drawn(value: GScore, scheme: Scheme) -> None:
    scoring = Scoring(scheme)
    tag = scoring.tag(value)
    white, black = (Fraction(share) for share in tag.split("-"))
    assert white + black == 1
    if white == black:
        tag = ">0.5000-<0.5000" if value.white else "<0.5000->0.5000"
    else:
        assert (white > black) == value.white
    assert scoring.text(value) == tag


def test_komi_above_the_cutoff_goes_to_its_colour_where_nothing_counts() -> None:
    """The results of cuteRMob have such a case, for the side without the komi, with g6.25 only."""
    assert points("-G7.0", "komi", "G6.0", "G6.25") == (1, 0)
    assert points("-G5.5", "komi", "G6.0", "G6.25") == (0, 1)
    assert points("-G7.0", "komi", "G6.0", "G6.0") == (0.5, 0.5)
    assert points("-G7.0", "komi", "G6.0", "G5.75") == (0, 1)
    for komi, share in (("G6.25", 1), ("G6.0", 0.5), (None, 0)):
        assert tbgen.points_by_code("komi", "G6.0", komi)[GScore("-G7.0").code] == share


def test_names_of_scorings() -> None:
    """The names of cuteRMob are accepted too."""
    for text in ("RMobility Winner", "rMobilityWinner", "R-Mobility Winner", " rmobility_winner ", "Winner"):
        assert Scheme.parse(text) is Scheme.WINNER, text
    assert "'elo' is not a scoring: expected one of exponential, harmonic" in refusal(points, "G1.0", "elo")
    assert Scoring.parse("Exponential") == Scoring(Scheme.EXPONENTIAL, DEFAULT_CUTOFF, DEFAULT_KOMI)
    assert tbgen.points("-G1.0") == tbgen.Points(0.375, 0.625)
