"""Crosstables: games one by one, and points, within the width of a terminal."""

from fractions import Fraction
from itertools import permutations

import pytest

from tbgen.board.scoring import Scheme
from tbgen.games.standings import standings
from tbgen.games.standings.crosstables import crosspoints, crosstable
from tbgen.games.standings.render import comma_separated, text
from tbgen.games.standings.table import StandingsTable
from tbgen.games.standings.tournament import Standings
from tests.support.tournaments import game

LONG = "Engine v0.7_dev2-net_15.0-{:02}"


def event(players: int, rounds: int) -> Standings:
    """An event in which all players have met with either colour in each round; White wins every game."""
    names = [LONG.format(number) for number in range(players)]
    return standings([game(*pair, "G0.0") for _ in range(rounds) for pair in permutations(names, 2)])


def lines(table: StandingsTable, width: int = 100) -> list[str]:
    found = list(text([table], width))
    return found[found.index("") + 1 : -1]


def test_a_cell_has_the_games_of_two_players_in_order_of_play() -> None:
    games = [
        game("A", "B", "G0.0"),
        game("B", "A", "G3.5"),
        game("B", "C", "-G0.0"),
        game("A", "B", "G1.5", result="0-1"),  # in chess; White holds the score
        game("B", "A", "-G0.5"),
    ]
    found = standings(games, Scheme.CLASSICAL)
    assert lines(crosstable(found)) == [
        "  player sum 1    2    3",
        "1 C        1 ····      1",
        "2 A        2      ···· 1=0=",
        "3 B        2 0    0=1= ····",
    ]
    assert comma_separated(crosstable(found)).splitlines()[1:] == [
        "1,C,1.0,,,1",
        "2,A,2.0,,,1=0=",
        "3,B,2.0,0,0=1=,",
    ]


def test_points_are_those_of_the_scoring_and_aligned() -> None:
    found = standings([game("A", "B", "G0.0"), game("B", "A", "G3.5"), game("B", "C", "G1.5")])
    assert lines(crosspoints(found)) == [
        "  player    sum      1      2      3",
        "1 A      1.4961               1.4961",
        "2 C      0.4375               0.4375",
        "3 B      1.0664 0.5039 0.5625",
    ]
    assert crosspoints(found).rows[2][2] == Fraction(129, 256) + Fraction(9, 16) == Fraction(273, 256)


@pytest.mark.parametrize("rounds", [1, 2])
def test_twelve_players_fit_a_hundred_columns(rounds: int) -> None:
    """With two games for each two players, and with four, and names of thirty letters."""
    found = lines(crosstable(event(12, rounds)))
    assert len(found) == 13
    assert max(map(len, found)) <= 100


@pytest.mark.parametrize(("players", "rounds"), [(12, 4), (40, 1)])
def test_wider_crosstables_fold_and_keep_numbers_and_names(players: int, rounds: int) -> None:
    for table in (crosstable(event(players, rounds)), crosspoints(event(players, rounds))):
        found = lines(table, 60)
        assert max(map(len, found)) <= 60
        blocks = "\n".join(found).split("\n\n")
        assert len(blocks) > 1
        heads = [block.splitlines()[0].split() for block in blocks]
        numbers = [str(number) for number in range(1, players + 1)]
        assert [word for head in heads for word in head if word not in ("player", "sum")] == numbers
        for block in blocks:
            rows = [row.split() for row in block.splitlines()[1:]]
            assert [row[0] for row in rows] == numbers
            assert all(row[1] == "Engine" for row in rows)


def test_long_matches_are_counted() -> None:
    games = [game("A", "B", value) for value in ["G0.0"] * 15 + ["G0.5"] * 12 + ["-G0.0"] * 3]
    assert lines(crosstable(standings(games))) == [
        "  player sum 1          2",
        "1 A       21 ·········· +15 =12 -3",
        "2 B        9 +3 =12 -15 ··········",
    ]
    assert crosstable(standings(games[:24])).rows[0][4] == "1" * 15 + "=" * 9


@pytest.mark.parametrize(
    ("games", "line"), [(1, 2), (2, 2), (4, 2), (5, 4), (16, 4), (17, 6), (24, 6), (25, 0)]
)
def test_cells_of_pages_are_square_and_keep_pairs_together(games: int, line: int) -> None:
    table = crosstable(standings([game("A", "B", "G0.5")] * games))
    assert {column.line for column in table.columns[3:]} == {line}


def test_a_player_may_play_itself() -> None:
    table = crosstable(standings([game("A", "A", "G0.0"), game("A", "B", "G0.5")]))
    assert table.rows[0][3] == "10"
