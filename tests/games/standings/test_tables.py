"""The formatting of numbers and tables for readers."""

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import ValidationError

from tbgen.games.outcome import Basis, Doubt
from tbgen.games.standings import standings
from tbgen.games.standings.elo import Anchor
from tbgen.games.standings.json_files import StandingsDocument
from tbgen.games.standings.knockout import Duel
from tbgen.games.standings.players import Results
from tbgen.games.standings.render import comma_separated, text_lines
from tbgen.games.standings.table import Column, StandingsTable, make_show
from tbgen.games.standings.tables import KEYS, overview_keys, tables
from tbgen.games.standings.tournament import EventResult, LeftOutCounts
from tests.support.exhaustive import sample
from tests.support.tournaments import game, games


@settings(max_examples=sample(30, 100))
@given(st.lists(st.fractions(-50, 50), min_size=1))
def test_decimals_are_aligned_and_four_at_most(points: list[Fraction]) -> None:
    show = make_show(points)
    texts = [show(value) for value in points]
    decimals = len(texts[0].partition(".")[2])
    assert {len(text.partition(".")[2]) for text in texts} == {decimals}
    for value, shown in zip(points, texts, strict=True):
        assert abs(Fraction(shown) - value) <= Fraction(1, 2 * 10**4) + Fraction(1, 10**9)
        assert Fraction(shown) or not shown.startswith("-")
    assert decimals <= 4
    assert decimals == 0 or not all(text.endswith("0") for text in texts)


def test_points_that_differ_slightly_look_equal() -> None:
    """Places and scores beside them show the difference."""
    show = make_show([Fraction(1, 2) + Fraction(1, 2**18), None, Fraction(3, 4)])
    assert [show(each) for each in (Fraction(1, 2) + Fraction(1, 2**18), Fraction(3, 4))] == ["0.50", "0.75"]


def test_wide_tables_are_split_into_blocks_with_their_text_columns() -> None:
    columns = [Column("name", "name", is_text=True), *(Column(f"c{at}", f"head{at}") for at in range(5))]
    table = StandingsTable("x", "X", "", columns, [["one", 1, 2, 3, 4, 5], ["two", 6, 7, 8, None, 10]])
    blocks = ["X", "name  head0  head1\none       1      2\ntwo       6      7"]
    blocks += [
        "name  head2  head3\none       3      4\ntwo       8",
        "name  head4\none       5\ntwo      10",
        "",
    ]
    assert "\n".join(text_lines([table], 20)) == "\n\n".join(blocks).removesuffix("\n")
    assert list(text_lines([table], 3))[2:4] == ["name  head0", "one       1"]  # one column at the least
    assert comma_separated(table) == "name,c0,c1,c2,c3,c4\none,1,2,3,4,5\ntwo,6,7,8,,10\n"


def test_no_name_is_a_formula_for_a_spreadsheet() -> None:
    for mark in "=+-@":
        found = {
            table.key: table
            for table in tables(standings([game(f"{mark}1", "B", "-G0.0", round_=f"{mark}1")]))
        }
        for table in found.values():
            assert f"\n{mark}1" not in comma_separated(table)
            assert f",{mark}1" not in comma_separated(table)
        assert ",-G0.0," in comma_separated(found["games"])  # which is no name


def test_tables_have_their_keys_once_and_in_order() -> None:
    (doubtful,) = games("AB G0.0")
    doubtful = replace(doubtful, outcome=replace(doubtful.outcome, doubts=(Doubt.RESULT,)))
    changed = game("B", "A", "G0.5", basis=Basis.TABLEBASE, accrued="G3.5")
    found = standings([doubtful, changed, game("B", "A", "G9.0", basis=Basis.PLAYED)])
    found = replace(found, left_out=LeftOutCounts(1, 0), sprt=found.test(0, 5), anchor=Anchor(2800))
    duel = Duel("final", ("A", "B"), (), (), None, None)
    found = replace(found, result=EventResult(None, (), None, "", [[duel]]))
    few = {"rounds"}  # for three players or more
    assert [table.key for table in tables(found)] == [key for key in KEYS if key not in few]
    for table in tables(found):
        assert len({column.key for column in table.columns}) == len(table.columns)
        assert {len(row) for row in table.rows} == {len(table.columns)}
    assert set(KEYS) - overview_keys(replace(found, result=None)) == {"games", "meetings"}


def test_the_document_has_what_tables_show_and_is_read_as_it_is_written() -> None:
    bounded = game("A", "B", "G1.0", basis=Basis.PLAYED, bounds="G2.0 G1.0")
    bounded = replace(bounded, outcome=replace(bounded.outcome, doubts=(Doubt.RESULT,)))
    found = standings([bounded])
    found = replace(found, sprt=found.test(0, 5))
    told = json.loads(json.dumps(StandingsDocument.of_standings(found).builtins(), allow_nan=False))
    assert json.loads(json.dumps(StandingsDocument.read(told).builtins())) == told
    with pytest.raises(ValidationError, match="points"):
        Results.read({"games": 1, "points": "1/0", "wins": 1, "draws": 0, "losses": 0})
    names = {"player": "name", "result": "value", "elo_margin": "elo", "los": "elo"}
    for part, key in (("games", "games"), ("players", "standings")):
        (table,) = tables(found, {key})
        keys = {names.get(column.key, column.key) for column in (table.csv_table or table).columns}
        assert keys - told[part][0].keys() - set(told["tiebreaks"]) == set()


def test_a_large_crosstable_is_shown_only_on_request() -> None:
    found = standings([game(f"A{number}", f"B{number}", "G0.0") for number in range(33)])
    both = {"crosstable", "crosspoints"}
    assert not both & overview_keys(found)
    assert both <= {table.key for table in tables(found)}


def test_histograms_have_a_column_for_each_score_in_csv() -> None:
    """Readers see the eight lowest ranks, and the other ranks in one column."""
    ranks = [f"G{rank / 2}" for rank in range(2, 26)]
    (held,) = tables(standings([game("A", "B", rank) for rank in [*ranks, "-G12.5"]]), {"given"})
    rows = list(csv.reader(io.StringIO(comma_separated(held))))
    assert rows[0] == ["player", "colour", *ranks]
    assert rows[1] == ["A", "White", *["1"] * 24]
    assert rows[4] == ["B", "Black", *["0"] * 23, "1"]
    assert held.titles == ["player", "as", *ranks[:8], "more"]
    assert held.formatted_rows()[0][-1] == "16"


def test_doubtful_games_are_a_table() -> None:
    sound, one = games("AB G1.0, AB G0.0")
    one = replace(one, outcome=replace(one.outcome, doubts=(Doubt.TRUNCATED, Doubt.RESULT)))
    (table,) = tables(standings([sound, one]), {"doubtful"})
    assert [row[1:3] for row in table.rows] == [["A - B", "truncated, result"]]
    assert Doubt.RESULT.sentence in table.note
    assert list(tables(standings([sound]), {"doubtful"})) == []


def test_wide_letters_count_two_columns() -> None:
    """By Unicode's annex 11, East Asian letters and emoji are two columns wide."""
    names = {"象棋": 4, "Zoe\u0308": 3, "\N{FISH} fish": 7, "abc": 3}
    records = [game(name, "X", "G0.0") for name in names]
    lines = list(text_lines(tables(standings(records), {"colours"}), 100))
    assert next(line for line in lines if line.startswith("player")).startswith("player   as")
    found = {name: line for name in names for line in lines if line.startswith(name)}
    blanks = {name: line[len(name) :].index("Black") for name, line in found.items()}
    assert blanks == {name: 9 - width for name, width in names.items()}


def test_no_difference_is_shown_as_minus_zero() -> None:
    (table,) = tables(standings(games("AB G0.0, AB -G0.0, BA G15.0")), {"standings"})
    shown = [dict(zip(table.titles, row, strict=True)) for row in table.formatted_rows()]
    assert [(row["player"], row["Elo"]) for row in shown] == [("B", "+0.0"), ("A", "+0.0")]


def test_readers_see_no_file_name_if_all_games_are_from_one_file() -> None:
    first, other = games("AB G0.0, BA G0.0")
    for records, titles in (
        ([first], ["game", "round"]),
        ([first, replace(other, file="y.pgn")], ["file", "game"]),
    ):
        table = next(tables(standings(records), {"games"}))
        assert table.titles[:2] == titles
        assert comma_separated(table).startswith("file,number,round,")
