"""Crosstables of single games and of points, within the width of a terminal."""

from fractions import Fraction
from itertools import permutations

from tbgen.board.scoring import Scheme
from tbgen.games.standings import standings
from tbgen.games.standings.render import comma_separated, text_lines
from tbgen.games.standings.table import StandingsTable
from tbgen.games.standings.tables import crosspoints, crosstable, tables
from tbgen.games.standings.tournament import Standings
from tests.support.tournaments import game, games

LONG = "Engine v0.7_dev2-net_15.0-{:02}"


def event(players: int, rounds: int) -> Standings:
    """Return the games of an event in which all players meet with both colours; White wins every game."""
    names = [LONG.format(number) for number in range(players)]
    return standings([game(*pair, "G0.0") for _ in range(rounds) for pair in permutations(names, 2)])


def lines(table: StandingsTable, width: int = 100) -> list[str]:
    found = list(text_lines([table], width))
    return found[found.index("") + 1 : -1]


def test_a_cell_has_the_games_of_two_players_in_the_order_of_rounds() -> None:
    """Games without rounds, or of one round, stay in the order of the files."""
    rounds = [
        game("A", "B", value, round_=of)
        for value, of in (("G0.0", "10.1"), ("-G0.0", "9.1"), ("G0.5", "9.1"))
    ]
    assert crosstable(standings(rounds)).rows[0][4] == "0=1"
    won = game("A", "B", "G1.5", result="0-1")  # in chess; White holds the score
    records = [*games("AB G0.0, BA G3.5, BC -G0.0"), won, *games("BA -G0.5")]
    found = standings(records, Scheme.CLASSICAL)
    assert lines(crosstable(found)) == [
        "  player sum 1    2    3",
        "1 C        1 ····      1",
        "2 A        2      ···· 1=0=",
        "3 B        2 0    0=1= ····",
    ]
    rows = comma_separated(crosstable(found)).splitlines()
    assert rows[1:] == ["1,C,1.0,,,1", "2,A,2.0,,,1=0=", "3,B,2.0,0,0=1=,"]


def test_points_are_those_of_the_scoring_and_aligned() -> None:
    found = standings(games("AB G0.0, BA G3.5, BC G1.5"))
    assert lines(crosspoints(found)) == [
        "  player    sum      1      2      3",
        "1 A      1.4961               1.4961",
        "2 C      0.4375               0.4375",
        "3 B      1.0664 0.5039 0.5625",
    ]
    assert crosspoints(found).rows[2][2] == Fraction(129, 256) + Fraction(9, 16) == Fraction(273, 256)


def test_twelve_players_fit_a_hundred_columns() -> None:
    """Every two players have two games or four, and names have thirty letters."""
    for rounds in (1, 2):
        found = lines(crosstable(event(12, rounds)))
        assert len(found) == 13
        assert max(map(len, found)) <= 100


def test_wider_crosstables_fold_and_keep_numbers_and_names() -> None:
    found = event(12, 4)
    for table in (crosstable(found), crosspoints(found), crosstable(event(40, 1))):
        rows = lines(table, 60)
        assert max(map(len, rows)) <= 60
        blocks = "\n".join(rows).split("\n\n")
        assert len(blocks) > 1
        heads = [block.splitlines()[0].split() for block in blocks]
        numbers = [str(number) for number in range(1, len(table.rows) + 1)]
        assert [word for head in heads for word in head if word not in ("player", "sum")] == numbers
        for block in blocks:
            words = [row.split() for row in block.splitlines()[1:]]
            assert [row[0] for row in words] == numbers
            assert all(row[1] == "Engine" for row in words)


def test_cells_of_long_matches_count_games() -> None:
    records = games("AB G0.0 15, AB G0.5 12, AB -G0.0 3")
    assert lines(crosstable(standings(records))) == [
        "  player sum 1          2",
        "1 A       21 ·········· +15 =12 -3",
        "2 B        9 +3 =12 -15 ··········",
    ]
    assert crosstable(standings(records[:24])).rows[0][4] == "1" * 15 + "=" * 9


def test_cells_of_pages_are_square_and_keep_pairs_together() -> None:
    for count, line in ((1, 2), (2, 2), (4, 2), (5, 4), (16, 4), (17, 6), (24, 6), (25, 0)):
        table = crosstable(standings(games(f"AB G0.5 {count}")))
        assert {column.marks_per_line for column in table.columns[3:]} == {line}, count


def test_a_player_may_play_itself() -> None:
    assert crosstable(standings(games("AA G0.0, AB G0.5"))).rows[0][3] == "10"


def test_rounds_of_a_swiss_with_a_bye_and_of_a_round_robin() -> None:
    """In a round robin of tbgen match, rounds follow from who meets whom; games may end in any order."""

    def rows(text: str) -> list[list[str]]:
        played = [
            game(pair[0], pair[1], value, round_=key) for key, pair, value in map(str.split, text.split(","))
        ]
        return [
            row[1:2] + row[3:]
            for table in tables(standings(played), {"rounds"})
            for row in table.formatted_rows()
        ]

    swiss = "1.1.1 AB G0.0, 2.1.2 CA -G1.0, 1.1.2 BA G1.0, 2.1.1 AC G0.0"
    assert rows(swiss) == [["A", "2w1=", "3w1="], ["B", "1b0=", "bye"], ["C", "bye", "1b0="]]
    robin = "1.1.1 AD G0.0, 1.3.1 DC -G0.0, 1.2.1 BC G0.0, 1.4.1 AB G0.0, 1.5.1 BD G0.0, 1.6.1 CA -G0.0"
    assert rows(robin) == [
        ["A", "4w1", "2w1", "3b1"],
        ["B", "3w1", "1b0", "4w1"],
        ["C", "2b0", "4b1", "1w0"],
        ["D", "1b0", "3w0", "2b0"],
    ]
    gauntlet = "1.1.1 AB G0.0, 1.2.1 AC G0.0, 1.3.1 AD G0.0, 1.4.1 AE G0.0"
    assert rows(gauntlet) == rows("1.1.1 AB G0.0, 2.1.1 BA G0.0") == []
