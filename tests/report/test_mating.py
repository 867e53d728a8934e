"""Results of endgames, and mating potential: the rule of thumb, and well-known facts."""

from collections.abc import Callable
from pathlib import Path

import chess
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.errors import MissingTableError, UsageError
from tbgen.probe.tablebase import open_tablebase
from tbgen.report.endgames import UNUSUAL_SHARE, WIKI_EXAMPLES, endgame
from tbgen.report.mating import MatingMarks, marks_of_tables, mating_potential, mating_rule
from tbgen.report.model import Endgame, MatingPotential, Verdict
from tbgen.report.wording import percent, score_text
from tests.support.exhaustive import exhaustive
from tests.support.reports import count_table, report_table

RULES: dict[tuple[int, str | None, bool | None], str] = {
    (1, None, None): "KvK KRvKR",
    (1, "white", True): "KQvK KBNvK KRvKP K[WD]vK K[WF]vK K[WF][WF]vK K[F][N]vK K[WD][F]vK K[BD][BD]vK",
    (1, "white", None): "KPvK KRPvKB KQPvKR KRPvKR KQPvKQ",
    (2, "white", True): "KQvKR KBBvKN KQvK[WD]",
    (2, "black", True): "KBBvKQ KNNvKQ KRPvKQ KRvK[RN]",
    (4, "white", False): "KBPvKN KBPvKB",
    (8, "white", False): "KBvK KNNvK KRvKB KBvKP KQNvKQ KBNvKN KNvK[WF] K[W]vK K[W][W]vK K[F][F]vK K[N][N]vK "
    "K[BD]vK KQvK[WF] K[RN]vK[WF]",
    (8, "black", False): "KPPvKN KBvK[BDD]",
}
"""Divisor, leader, whether the leader wins, and materials. The rule reduces no lead of one piece against two,
and the two bishops of KBBvKN are a pair."""


def test_rule() -> None:
    for expected, names in RULES.items():
        for name in names.split():
            rule = mating_rule(Material.parse(name))
            assert (rule.divisor, rule.leader, rule.wins) == expected, name
            assert rule.reason


def test_values_are_adjustable() -> None:
    values = {"Q": 9.5, "R": 7.0, "B": 3.0, "N": 3.5, "P": 1.0}
    assert mating_rule(Material.parse("KRvKB"), values).divisor == 2
    rule = mating_rule(Material.parse("KBvKN"), values)
    assert (rule.leader, rule.advantage) == ("black", 0.5)
    assert mating_rule(Material.parse("KNvK"), values).divisor == 1
    assert mating_rule(Material.parse("KNvK[WD]"), values).leader == "white"
    assert mating_rule(Material.parse("KNvK[WD]"), values | {"[WD]": 4.0}).leader == "black"
    # Two men bound to a colour are worth an additional eighth of one man.
    assert mating_rule(Material.parse("KBBvK")).advantage == round(2 * 3.25 + 3.25 / 8, 2)
    assert mating_rule(Material.parse("KBNvK")).advantage == 2 * 3.25


def test_marks_are_what_the_rule_is_told() -> None:
    for marks, name, divisor in (
        (MatingMarks(), "K[WD]vK", 8),
        (MatingMarks(), "KNNvK", 1),
        (MatingMarks(mating=frozenset("N")), "KNvK", 1),
        (MatingMarks(mating=frozenset("N")), "KNvK[W]", 8),  # only with one more man than the defender
        (MatingMarks(mating=frozenset("N")), "KBNvKB", 2),
        (MatingMarks(mating=frozenset("B")), "KBvK", 8),  # bound to a colour, whatever the marks
        (MatingMarks(no_pair=frozenset("R")), "KRRvK", 8),
        (MatingMarks(no_pair=frozenset("R")), "KQRvK", 1),
        (MatingMarks(tough=frozenset("N")), "KQvKN", 8),
        (MatingMarks(tough=frozenset("N")), "KQRvKN", 2),
        (MatingMarks(tough=frozenset("N")), "KQPvKN", 1),
        (MatingMarks(no_pair=frozenset("R")), "KRRvKP", 8),
    ):
        assert mating_rule(Material.parse(name), marks=marks).divisor == divisor, name


def test_marks_of_tables(three_men: Path) -> None:
    """A knight with a small value does not mate alone; a rook with a small value does."""
    values = {"Q": 9.5, "R": 3.0, "B": 3.25, "N": 3.25, "P": 1.0}
    assert marks_of_tables(Material.parse("KNvK"), three_men) == MatingMarks()
    assert marks_of_tables(Material.parse("KRvK"), three_men) == MatingMarks()
    marks = marks_of_tables(Material.parse("KRvK"), three_men, values=values)
    assert marks == MatingMarks(mating=frozenset("R"))
    assert mating_potential("KRvK", three_men, values=values).agrees is False
    assert mating_potential("KRvK", three_men, values=values, marks="tables").agrees is True


@pytest.mark.slow
@pytest.mark.exhaustive
def test_marks_of_tables_of_four_men(tables: Path) -> None:
    assert marks_of_tables(Material.parse("KNNvKB"), tables) == MatingMarks(no_pair=frozenset("N"))
    assert marks_of_tables(Material.parse("KBBvKN"), tables) == MatingMarks()
    heavy = {"Q": 9.5, "R": 3.0, "B": 3.25, "N": 3.25, "P": 1.0}
    assert marks_of_tables(Material.parse("KRvKR"), tables, values=heavy).mating == {"R"}


def test_truth_of_three_men(three_men: Path) -> None:
    for name, white in (
        ("KvK", Verdict.NO_HELP_MATE),
        ("KQvK", Verdict.GENERAL),
        ("KRvK", Verdict.GENERAL),
        ("KBvK", Verdict.NO_HELP_MATE),
        ("KNvK", Verdict.NO_HELP_MATE),
        ("KPvK", Verdict.SOMETIMES),
    ):
        found = mating_potential(name, three_men)
        assert (found.truth[0].verdict, found.truth[1].verdict) == (white, Verdict.NO_HELP_MATE), name
        assert found.agrees is (None if name in ("KvK", "KPvK") else True)
        assert found.sentence.startswith(f"{name}: ")


def check_bishops(found: MatingPotential) -> None:
    assert found.like_bishops is not None
    assert found.like_bishops[0].verdict is Verdict.NO_HELP_MATE
    assert found.truth.white.to_move.share > 0.99


def check_knights(found: MatingPotential) -> None:
    """Such materials have mates, but none is forced."""
    assert found.truth[0].mates > 0
    for chance in (found.truth[0].to_move, found.truth[0].waiting):
        assert (chance.forced, str(chance.best)) == (0, "G0.5")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "white", "black", "agrees", "check"),
    [
        ("KBBvK", Verdict.GENERAL, Verdict.NO_HELP_MATE, True, check_bishops),
        ("KNNvK", Verdict.NEVER, Verdict.NO_HELP_MATE, True, check_knights),
        *exhaustive(
            [
                ("KRvKB", Verdict.SOMETIMES, Verdict.NO_HELP_MATE, True, None),
                ("KQvKR", Verdict.GENERAL, Verdict.SOMETIMES, True, None),
                ("KBNvK", Verdict.GENERAL, Verdict.NO_HELP_MATE, True, None),
                ("KRvKR", Verdict.SOMETIMES, Verdict.SOMETIMES, None, None),
                ("KBvKB", Verdict.NEVER, Verdict.NEVER, None, None),
                ("KBvKN", Verdict.NEVER, Verdict.NEVER, None, None),
            ]
        ),
    ],
)
def test_truth_of_four_men(
    name: str,
    white: Verdict,
    black: Verdict,
    agrees: bool | None,
    check: Callable[[MatingPotential], None] | None,
    tables: Path,
) -> None:
    report = report_table(tables, name)
    found = report.mating
    assert (found.truth[0].verdict, found.truth[1].verdict) == (white, black)
    assert found.agrees is agrees
    assert ("wrong" in found.sentence) is (agrees is False)
    if check is not None:
        check(found)
    if name == "KNNvK":
        assert modes(report.endgame) == ["G0.5", "G0.5"]
        assert report.endgame.sides[0].share(GScore.parse("G0.5")) > 0.98


def test_values_of_wrong_rules(three_men: Path) -> None:
    """With too great a value of the bishop, the rule expects wins that do not exist."""
    found = mating_potential("KNvK", three_men, values={"Q": 9.5, "R": 5, "B": 3.25, "N": 3.75, "P": 1})
    assert found.agrees is False
    assert found.sentence.endswith("The rule is wrong here.")


def test_errors(three_men: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        mating_potential("KX", three_men)
    with pytest.raises(MissingTableError):
        mating_potential("KQvK", tmp_path)


def given(directory: Path, name: str) -> Endgame:
    return endgame(count_table(directory, name))


def modes(found: Endgame) -> list[str]:
    return [str(side.mode) for side in found.sides]


def test_typical_values(three_men: Path) -> None:
    for name, *expected in (
        ("KvK", "-G5.5", "G5.5"),
        ("KBvK", "G1.5", "G1.5"),
        ("KNvK", "G3.5", "G3.5"),
        ("KPvK", "G0.0", "G0.0"),
        ("KQvK", "G0.0", "G0.0"),
    ):
        found = given(three_men, name)
        assert modes(found) == expected
        assert all(value in found.sentence for value in expected)


def test_examples_are_what_they_stand_for(three_men: Path) -> None:
    with open_tablebase(three_men) as tables:
        for name in ("KvK", "KBvK", "KNvK", "KPvK"):
            for unusual in given(three_men, name).unusual:
                board = chess.Board(unusual.fen)
                result = tables.probe(board)
                assert (result.value, result.depth) == (unusual.value, unusual.depth)
                assert chess.COLOR_NAMES[board.turn] == unusual.to_move
                assert not any(map(board.is_capture, board.legal_moves))
                assert not board.is_game_over() or board.is_insufficient_material()
                assert 0 < unusual.share < UNUSUAL_SHARE


def test_positions_of_the_wiki(three_men: Path) -> None:
    """Best play has the wiki's result, in as many plies if the wiki gives a line."""
    with open_tablebase(three_men) as tables:
        for name, shown in WIKI_EXAMPLES.items():
            found = given(three_men, name)
            assert [example.fen for example in found.examples] == [fen for fen, *_ in shown]
            for example in found.examples:
                side = found.sides[example.to_move]
                result = tables.probe(chess.Board(example.fen))
                assert (result.value, result.depth) == (example.value, len(example.line.split()))
                assert example.share == side.share(example.value)
                assert example.typical == (example.value == side.mode)
    assert given(three_men, "KQvK").examples == ()


def test_words() -> None:
    assert score_text(GScore.parse("G0.0")) == "G0.0 (White mates)"
    assert score_text(GScore.parse("-G3.5")) == "-G3.5"
    said = [percent(share) for share in (0.0, 0.0001, 0.5, 0.9999, 1.0)]
    assert said == ["0 %", "less than 0.1 %", "50.0 %", "more than 99.9 %", "100 %"]


def test_what_is_asked_of_whom(three_men: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBGEN_DIR", str(three_men))
    assert mating_potential("KRvK") == mating_potential("KRvK", three_men)
    assert mating_potential("KvKR") == mating_potential("KRvK")
