"""What endgames give, and mating potential: the rule of thumb, and truths that everybody knows."""

from pathlib import Path

import chess
import pytest

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.errors import MissingTableError, UsageError
from tbgen.probe.tablebase import open_tablebase
from tbgen.report.facts.endgames import UNUSUAL_SHARE, endgame
from tbgen.report.facts.mating import marks_of_tables, mating_potential
from tbgen.report.facts.mating_rule import MatingMarks, mating_rule
from tbgen.report.facts.wiki import SHOWN
from tbgen.report.facts.wording import meaning, percent
from tbgen.report.model import Endgame, Verdict
from tests.support.reports import count_table


@pytest.mark.parametrize(
    ("name", "divisor", "leader", "wins"),
    [
        ("KvK", 1, None, None),
        ("KQvK", 1, True, True),
        ("KBvK", 8, True, False),
        ("KNNvK", 8, True, False),
        ("KBNvK", 1, True, True),
        ("KQvKR", 2, True, True),
        ("KRvKB", 8, True, False),
        ("KRvKR", 1, None, None),
        ("KRvKP", 1, True, True),
        ("KBvKP", 8, True, False),
        ("KPvK", 1, True, None),
        ("KBPvKN", 4, True, False),
        ("KRPvKB", 1, True, None),
        ("KQPvKR", 1, True, None),
        ("KBBvKQ", 2, False, True),  # of one piece against two the rule says no more
        ("KQNvKQ", 8, True, False),
        ("KBBvKN", 2, True, True),  # the bishops are a pair
        ("KBNvKN", 8, True, False),
        ("KNNvKQ", 2, False, True),
        ("KRPvKR", 1, True, None),
        ("KBPvKB", 4, True, False),
        ("KQPvKQ", 1, True, None),
        ("KRPvKQ", 2, False, True),
        ("KPPvKN", 8, False, False),
        ("K[WD]vK", 1, True, True),
        ("K[WF]vK", 1, True, True),
        ("KNvK[WF]", 8, True, False),
        ("K[WF][WF]vK", 1, True, True),
        ("K[W]vK", 8, True, False),
        ("K[W][W]vK", 8, True, False),
        ("K[F][F]vK", 8, True, False),
        ("K[F][N]vK", 1, True, True),
        ("K[N][N]vK", 8, True, False),
        ("K[WD][F]vK", 1, True, True),
        ("K[BD]vK", 8, True, False),
        ("K[BD][BD]vK", 1, True, True),
        ("KQvK[WF]", 8, True, False),
        ("KQvK[WD]", 2, True, True),
        ("K[RN]vK[WF]", 8, True, False),
        ("KRvK[RN]", 2, False, True),
        ("KBvK[BDD]", 8, False, False),
    ],
)
def test_rule(name: str, divisor: int, leader: bool | None, wins: bool | None) -> None:
    rule = mating_rule(Material.parse(name))
    assert (rule.divisor, rule.wins) == (divisor, wins)
    assert rule.leader == (None if leader is None else chess.COLOR_NAMES[leader])
    assert rule.reason


def test_values_are_adjustable() -> None:
    values = {"Q": 9.5, "R": 7.0, "B": 3.0, "N": 3.5, "P": 1.0}
    assert mating_rule(Material.parse("KRvKB"), values).divisor == 2
    rule = mating_rule(Material.parse("KBvKN"), values)
    assert (rule.leader, rule.advantage) == ("black", 0.5)
    assert mating_rule(Material.parse("KNvK"), values).divisor == 1
    assert mating_rule(Material.parse("KNvK[WD]"), values).leader == "white"
    assert mating_rule(Material.parse("KNvK[WD]"), values | {"[WD]": 4.0}).leader == "black"


def test_two_men_bound_to_a_colour_are_worth_an_eighth_of_one_more() -> None:
    assert mating_rule(Material.parse("KBBvK")).advantage == round(2 * 3.25 + 3.25 / 8, 2)
    assert mating_rule(Material.parse("KBNvK")).advantage == 2 * 3.25


def test_marks_are_what_the_rule_is_told() -> None:
    for marks, name, divisor in (
        (MatingMarks(), "K[WD]vK", 8),
        (MatingMarks(), "KNNvK", 1),
        (MatingMarks(mating=frozenset("N")), "KNvK", 1),
        (MatingMarks(mating=frozenset("N")), "KNvK[W]", 8),  # only with a man more than the defender
        (MatingMarks(mating=frozenset("N")), "KBNvKB", 2),
        (MatingMarks(mating=frozenset("B")), "KBvK", 8),  # whatever is said: it is bound to a colour
        (MatingMarks(no_pair=frozenset("R")), "KRRvK", 8),
        (MatingMarks(no_pair=frozenset("R")), "KQRvK", 1),
        (MatingMarks(tough=frozenset("N")), "KQvKN", 8),
        (MatingMarks(tough=frozenset("N")), "KQRvKN", 2),
        (MatingMarks(tough=frozenset("N")), "KQPvKN", 1),
        (MatingMarks(no_pair=frozenset("R")), "KRRvKP", 8),
    ):
        assert mating_rule(Material.parse(name), marks=marks).divisor == divisor, name


def test_marks_of_tables(three_men: Path) -> None:
    """A knight that counts as light does not mate alone; a rook that does, mates."""
    values = {"Q": 9.5, "R": 3.0, "B": 3.25, "N": 3.25, "P": 1.0}
    assert marks_of_tables(Material.parse("KNvK"), three_men) == MatingMarks()
    assert marks_of_tables(Material.parse("KRvK"), three_men) == MatingMarks()
    marks = marks_of_tables(Material.parse("KRvK"), three_men, values=values)
    assert marks == MatingMarks(mating=frozenset("R"))
    assert mating_potential("KRvK", three_men, values=values).agrees is False
    assert mating_potential("KRvK", three_men, values=values, marks="tables").agrees is True


@pytest.mark.slow
def test_marks_of_tables_of_four_men(tables: Path) -> None:
    marks = marks_of_tables(Material.parse("KNNvKB"), tables)
    assert marks == MatingMarks(no_pair=frozenset("N"))
    assert marks_of_tables(Material.parse("KBBvKN"), tables) == MatingMarks()
    heavy = {"Q": 9.5, "R": 3.0, "B": 3.25, "N": 3.25, "P": 1.0}
    assert marks_of_tables(Material.parse("KRvKR"), tables, values=heavy).mating == {"R"}


@pytest.mark.parametrize(
    ("name", "white", "black"),
    [
        ("KvK", Verdict.NO_HELP_MATE, Verdict.NO_HELP_MATE),
        ("KQvK", Verdict.GENERAL, Verdict.NO_HELP_MATE),
        ("KRvK", Verdict.GENERAL, Verdict.NO_HELP_MATE),
        ("KBvK", Verdict.NO_HELP_MATE, Verdict.NO_HELP_MATE),
        ("KNvK", Verdict.NO_HELP_MATE, Verdict.NO_HELP_MATE),
        ("KPvK", Verdict.SOMETIMES, Verdict.NO_HELP_MATE),
    ],
)
def test_truth_of_three_men(name: str, white: Verdict, black: Verdict, three_men: Path) -> None:
    found = mating_potential(name, three_men)
    assert (found.truth[0].verdict, found.truth[1].verdict) == (white, black)
    assert found.agrees is (None if name in ("KvK", "KPvK") else True)
    assert found.sentence.startswith(f"{name}: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "white", "black", "agrees"),
    [
        ("KBBvK", Verdict.GENERAL, Verdict.NO_HELP_MATE, True),
        ("KBNvK", Verdict.GENERAL, Verdict.NO_HELP_MATE, True),
        ("KNNvK", Verdict.NEVER, Verdict.NO_HELP_MATE, True),
        ("KQvKR", Verdict.GENERAL, Verdict.SOMETIMES, True),
        ("KRvKR", Verdict.SOMETIMES, Verdict.SOMETIMES, None),
        ("KRvKB", Verdict.SOMETIMES, Verdict.NO_HELP_MATE, True),
        ("KBvKB", Verdict.NEVER, Verdict.NEVER, None),
        ("KBvKN", Verdict.NEVER, Verdict.NEVER, None),
    ],
)
def test_truth_of_four_men(
    name: str, white: Verdict, black: Verdict, agrees: bool | None, tables: Path
) -> None:
    found = mating_potential(name, tables)
    assert (found.truth[0].verdict, found.truth[1].verdict) == (white, black)
    assert found.agrees is agrees
    assert ("wrong" in found.sentence) is (agrees is False)


@pytest.mark.slow
def test_bishops_of_one_colour(tables: Path) -> None:
    found = mating_potential("KBBvK", tables)
    assert found.like_bishops is not None
    assert found.like_bishops[0].verdict is Verdict.NO_HELP_MATE
    assert found.truth.white.to_move.share > 0.99


@pytest.mark.slow
def test_known_shares(tables: Path) -> None:
    """Two knights have mates, none of them forced; a rook seldom beats a bishop."""
    knights = mating_potential("KNNvK", tables).truth[0]
    assert knights.mates > 0
    for chance in (knights.to_move, knights.waiting):
        assert (chance.forced, str(chance.best)) == (0, "G0.5")
    rook = mating_potential("KRvKB", tables).truth[0]
    assert 0.05 < rook.to_move.share < 0.2
    assert str(mating_potential("KRvKB", tables).truth.black.to_move.best)[0] == "G"  # White holds it


def test_values_of_wrong_rules(three_men: Path) -> None:
    """With a bishop worth more than it is, the rule expects wins that there are not."""
    found = mating_potential("KNvK", three_men, values={"Q": 9.5, "R": 5, "B": 3.25, "N": 3.75, "P": 1})
    assert found.agrees is False
    assert found.sentence.endswith("The rule is wrong here.")


def test_errors(three_men: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        mating_potential("KX", three_men)
    with pytest.raises(MissingTableError):
        mating_potential("KQvK", tmp_path)


# What endgames give


def given(directory: Path, name: str) -> Endgame:
    return endgame(count_table(directory, name))


def modes(found: Endgame) -> list[str]:
    return [str(side.mode) for side in found.sides]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("KvK", ["-G5.5", "G5.5"]),
        ("KBvK", ["G1.5", "G1.5"]),
        ("KNvK", ["G3.5", "G3.5"]),
        ("KPvK", ["G0.0", "G0.0"]),
        ("KQvK", ["G0.0", "G0.0"]),
    ],
)
def test_typical_values(name: str, expected: list[str], three_men: Path) -> None:
    found = given(three_men, name)
    assert modes(found) == expected
    assert all(value in found.sentence for value in expected)


@pytest.mark.slow
def test_two_knights_stalemate(tables: Path) -> None:
    found = given(tables, "KNNvK")
    assert modes(found) == ["G0.5", "G0.5"]
    assert found.sides[0].share(GScore.parse("G0.5")) > 0.98


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
    """Best play comes to what the wiki's does, in as many plies where it gives a line."""
    with open_tablebase(three_men) as tables:
        for name, shown in SHOWN.items():
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
    assert meaning(GScore.parse("G0.0")) == "G0.0 (White mates)"
    assert meaning(GScore.parse("-G3.5")) == "-G3.5"
    shares = (0.0, 0.0001, 0.5, 0.9999, 1.0)
    assert [percent(share) for share in shares] == [
        *("0 %", "less than 0.1 %", "50.0 %", "more than 99.9 %", "100 %"),
    ]


def test_what_is_asked_of_whom(three_men: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBGEN_DIR", str(three_men))
    assert mating_potential("KRvK") == mating_potential("KRvK", three_men)
    assert mating_potential("KvKR") == mating_potential("KRvK")
