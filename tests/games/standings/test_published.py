"""Published tiebreaks: the tables of r-mobility and the ties of TCEC's season 18."""

import csv
from functools import cache

import pytest

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.games.standings import GameRecord, Standings, standings
from tbgen.games.standings.orders import ORDERS
from tbgen.games.standings.players import Player
from tbgen.games.standings.tiebreaks import OrderBy, TieData, tiebreak
from tests.support.paths import DATA, ROOT
from tests.support.script_modules import load_script

EVENTS = {
    "QL": "TCEC_Season_18_-_Qualification_League",
    "L1": "TCEC_Season_18_-_League_1",
    "L2": "TCEC_Season_18_-_League_2",
    "L3": "TCEC_Season_18_-_League_3",
    "Top4": "TCEC_Season_18_-_Top_of_The_Top_Bonus",
    "S19 L2": "TCEC_Season_19_-_League_2",
    "FRC4 D": "TCEC_Season_21_-_Frc4_League_D",
    "FRC6 D": "TCEC_Season_24_-_Frc6_League_D",
}


@cache
def events() -> dict[str, list[GameRecord]]:
    """The games of docs/tcec.md."""
    found = load_script("tcec").events_in(ROOT / "docs" / "tcec")
    return {short: found[name] for short, name in EVENTS.items()}


def places(result: Standings, first: int, *names: str) -> list[str]:
    """Return the players from a place on, by the beginnings of their names."""
    found = result.players[first - 1 : first - 1 + len(names)]
    assert [player.place for player in found] == list(range(first, first + len(names)))
    return [next((name for name in names if player.name.startswith(name)), player.name) for player in found]


def test_the_tables_of_r_mobility_of_season_18() -> None:
    """All 260 cells of the stored pages agree."""
    lines = (DATA / "tcec_scores.csv").read_text().splitlines()
    published = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    assert len(published) == 260
    players: dict[tuple[str, str], tuple[Player, TieData]] = {}
    for event in ("QL", "L3", "L2"):
        scores = {row["score"].lower() for row in published if row["event"] == EVENTS[event]}
        assert len(scores) == (20 if event == "QL" else 3)
        result = standings(events()[event], order="points")
        players |= {
            (EVENTS[event], player.name): (player, TieData.of(result.players, OrderBy.POINTS, result.scheme))
            for player in result.players
        }
    for row in published:
        (player, field), score = players[row["event"], row["player"]], GScore.parse(row["score"])
        number = player.held_counts[score.rank] + player.suffered_counts[score.rank]
        balance = tiebreak(row["score"].lower()).number_of(player, [player], field)
        assert (balance, number) == (int(row["net"]), int(row["games"])), row


@pytest.mark.parametrize(
    ("event", "place", "by_season_18", "by_season_20"),
    [
        ("QL", 2, ["Asymptote", "Monolith"], ["Asymptote", "Monolith"]),
        ("QL", 6, ["FabChess", "Combusken"], ["FabChess", "Combusken"]),
        ("L3", 5, ["iCE", "Marvin"], ["Marvin", "iCE"]),
        ("L3", 7, ["Topple", "Pirarucu"], ["Topple", "Pirarucu"]),
        ("L2", 2, ["Pedone", "Winter"], ["Pedone", "Winter"]),
        ("L2", 5, ["Chiron", "Wasp"], ["Chiron", "Wasp"]),
        ("L2", 7, ["ChessBrainVB", "Nemorino"], ["Nemorino", "ChessBrainVB"]),  # Nemorino crashed once
        ("L1", 3, ["Booot", "Defenchess"], ["Defenchess", "Booot"]),
        ("L1", 5, ["Fritz", "Xiphos", "ScorpioNN"], ["Fritz", "Xiphos", "ScorpioNN"]),
    ],
)
def test_the_ties_of_season_18_by_its_rules_and_by_those_since_season_20(
    event: str, place: int, by_season_18: list[str], by_season_20: list[str]
) -> None:
    games = events()[event]
    for order, names in (("tcec-s18", by_season_18), ("tcec-s19", by_season_18), ("tcec", by_season_20)):
        assert places(standings(games, order=order), place, *names) == names, order


@pytest.mark.parametrize("scheme", [Scheme.EXPONENTIAL, Scheme.CLASSICAL, Scheme.HARMONIC])
def test_r_mobility_decides_the_top_4_bonus_by_any_scoring(scheme: Scheme) -> None:
    """AllieStein and LCZero were level in all earlier tiebreaks."""
    result = standings(events()["Top4"], scheme, "tcec")
    numbers = [(player.name.split()[0], player.tiebreaks) for player in result.players]
    assert [name for name, _ in numbers] == ["AllieStein", "LCZero", "Stockfish", "Stoofvlees"]
    sums = [round(float(found["rmobility"] or 0), 4) for _, found in numbers]
    assert sums == [22.4959, 21.9816, 20.0087, 19.5138]
    assert [found["direct"] for _, found in numbers] == [7, 7, 7, 7]
    level = standings(events()["Top4"], scheme, "tcec-s18").players
    assert [player.place for player in level] == [1, 1, 3, 3]
    assert [player.tiebreaks["sb"] for player in level] == [459.75, 459.75, 417.75, 417.75]


def test_numbers_of_ties_of_season_18() -> None:
    """Direct encounters, wins, Sonneborn-Berger and r-mobility are computed from the games alone."""
    result = standings(events()["QL"], order="tcec-s19")
    found = {player.name.split()[0]: player.tiebreaks for player in result.players}
    assert [found[name]["wins"] for name in ("FabChess", "Combusken")] == [6, 5]
    assert [found[name]["sb"] for name in ("FabChess", "Combusken")] == [72.75, 81.75]
    assert [found[name]["direct"] for name in ("Asymptote", "Monolith")] == [1.5, 0.5]
    assert [round(float(found[name]["rmobility"] or 0), 4) for name in ("FabChess", "Combusken")] == [
        9.9160,
        9.9131,
    ]
    crashed = standings(events()["L2"], order="tcec-s18").players
    assert {
        player.name.split()[0]: player.tiebreaks["crashes"] for player in crashed if player.place > 6
    } == {"ChessBrainVB": 0, "Nemorino": 1, "Demolito": 0, "Gogobello": 0}


@pytest.mark.parametrize(
    ("event", "tiebreaks", "first", "second"),
    [
        ("FRC4 D", "direct,rmobility", "Berserk", 2),
        ("FRC4 D", "direct,wins", "Stoofvlees", 2),
        ("FRC6 D", "direct,sb,rmobility", "Minic", 2),
        ("FRC6 D", "direct,rmobility", "Revenge", 2),
    ],
)
def test_the_advancing_players_show_the_order(event: str, tiebreaks: str, first: str, second: int) -> None:
    """Berserk (December 2021) and Minic (May 2023) advanced from second places, which not all rules give."""
    order = ORDERS["tcec"].with_tiebreaks(tuple(tiebreaks.split(",")))
    assert standings(events()[event], order=order).players[second - 1].name.startswith(first)


def test_three_level_players_are_separated_by_each_rule() -> None:
    """Places 7 to 9 of league 2 in season 19: direct encounters 2.5, 2.5 and 1; Wasp crashed once."""
    games = events()["S19 L2"]
    crashes_first, r_mobility_next = ["Chiron", "Demolito", "Wasp"], ["Chiron", "Wasp", "Demolito"]
    by_season_19, by_season_20 = standings(games, order="tcec-s19"), standings(games, order="tcec")
    assert places(by_season_19, 7, *crashes_first) == crashes_first
    assert [player.tiebreaks["direct"] for player in by_season_19.players[6:9]] == [1.5, 0.5, None]
    assert places(by_season_20, 7, *r_mobility_next) == r_mobility_next
    assert [player.tiebreaks["direct"] for player in by_season_20.players[6:9]] == [2.5, 2.5, 1]
