"""What is certain of standings: against all values that open games may have, one after the other."""

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.games.outcome import Basis
from tbgen.games.standings import ORDERS, GameRecord, Order, standings
from tbgen.games.standings.document import document
from tbgen.games.standings.tables import tables
from tbgen.games.standings.tiebreaks import TIEBREAKS, Lead
from tests.support.exhaustive import sample
from tests.support.tournaments import game

BOUNDS = ["G1.0 G0.5", "-G0.5 G0.5", "G8.0 G7.0", "-G1.0 G1.5"]
"""Not all scores between these ends are tried: the ends, and those that balances of small ranks count."""
TRIED = [GScore(rank, white) for rank in (1, 2, 3, 14, 15, 16) for white in (True, False)]


def random_event(random: Random) -> list[GameRecord]:
    """Up to ten games of three or four players, up to four of them with bounds alone."""
    names, games = "ABCD"[: random.choice((3, 4))], []
    for number in range(random.randint(3, 10)):
        white, black = random.sample(names, 2)
        if number < random.randint(0, 4):
            bounds = random.choice(BOUNDS)
            value = bounds.split()[random.randrange(2)]
            games.append(
                game(white, black, value, basis=Basis.PLAYED, bounds=bounds, result="1/2-1/2", number=number)
            )
        else:
            value = random.choice(("G0.0", "-G0.0", "G1.0", "-G1.0", "G1.0", "G0.5"))
            games.append(game(white, black, value, number=number))
    random.shuffle(games)
    return games


def every_value(games: list[GameRecord]) -> Iterator[list[GameRecord]]:
    """The games with every choice of values for those that are open."""
    choices = []
    for each in games:
        lower, upper = each.outcome.interval
        values = sorted({lower, upper, *(score for score in TRIED if lower <= score <= upper)})
        choices.append([proved(each, value) for value in values])
    yield from map(list, product(*choices))


def proved(each: GameRecord, value: GScore) -> GameRecord:
    return replace(each, outcome=replace(each.outcome, value=value, basis=Basis.SOLVED, bounds=None))


def orders(random: Random) -> Order:
    order = random.choice(list(ORDERS.values()))
    if random.random() < 0.6:
        names = (
            "direct",
            "rmobility",
            "wins",
            "sb",
            "stalemates",
            "g1.0",
            "balances",
            "points",
            "direct-fide",
        )
        order = order.with_tiebreaks(tuple(random.sample(names, random.randint(1, 4))))
    return order


@pytest.mark.parametrize("seed", range(sample(40, 600)))
def test_places_and_sums_are_those_of_all_values(seed: int) -> None:
    random = Random(seed)
    games, order = random_event(random), orders(random)
    scheme = random.choice([Scheme.EXPONENTIAL, Scheme.CLASSICAL, Scheme.WINNER])
    found = standings(games, scheme, order)
    certainty, rmobility = found.certainty, TIEBREAKS["rmobility"]
    assert len(certainty.unproven) == sum(each.outcome.basis is Basis.PLAYED for each in games)
    sums: dict[str, list[Fraction]] = {player.name: [] for player in found.players}
    seen: dict[str, set[int]] = {player.name: set() for player in found.players}
    for choice in every_value(games):
        by_values = standings(choice, scheme, order)
        for player in by_values.players:
            sums[player.name].append(player.points[Scheme.EXPONENTIAL] or Fraction())
            seen[player.name].add(player.place)
    for player in found.players:
        assert certainty.sums(rmobility, player) == (min(sums[player.name]), max(sums[player.name]))
        best, worst = certainty.places[player.name]
        assert best <= min(seen[player.name]), (player.name, order)
        assert max(seen[player.name]) <= worst, (player.name, order)
    others = {"stalemates", "g1.0", "balances", "points"} & set(order.tiebreaks)  # also of values
    certain = all(len(each) == 1 for each in seen.values())
    if "no place depends" in certainty.sentence or not certainty.unproven:
        assert certain
    elif order.lead is Lead.CHESS and order.tiebreaks[-1] == "rmobility" and not others:
        assert not certain, order


@pytest.mark.parametrize(("bounds", "certain"), [("-G1.0 G1.0", True), ("-G1.0 G0.5", False)])
def test_a_game_between_two_counts_for_both(bounds: str, certain: bool) -> None:
    """A has 1/4 more by the first game, and B may get up to 1/8, or 1/4, back from the second."""
    games = [game("A", "B", "G0.5"), game("B", "A", "G1.0", basis=Basis.PLAYED, bounds=bounds)]
    found = standings(games, order=ORDERS["tcec"].with_tiebreaks(("rmobility",)))
    assert [found.certainty.places[name] for name in "AB"] == ([(1, 1), (2, 2)] if certain else [(1, 2)] * 2)
    assert found.certainty.sentence == "1 of 2 values is not proved, " + (
        "but no place depends on that." if certain else "and places 1 to 2 may depend on that."
    )


def test_nothing_is_known_of_a_game_as_played() -> None:
    games = [game("A", "X", "G1.0", basis=Basis.PLAYED), game("B", "X", "G1.5"), game("X", "C", "G0.0")]
    found = standings(games, order="tcec")
    a = next(player for player in found.players if player.name == "A")
    assert found.certainty.sums(TIEBREAKS["rmobility"], a) == (0, 1)
    assert found.certainty.places == {"X": (1, 1), "A": (2, 3), "B": (2, 3), "C": (4, 4)}
    # In chess it is a draw whatever its value is, and wins are not of values either.
    chess = standings(games, order=ORDERS["tcec"].with_tiebreaks(("wins", "sb")))
    assert chess.certainty.sentence == "1 of 3 values is not proved, but no place depends on that."


def test_ranges_of_places_that_overlap_are_one() -> None:
    level = [game(name, f"X{name}", "G1.0", basis=Basis.PLAYED) for name in "ABC"]
    found = standings(level, order="tcec")
    assert found.certainty.sentence == "3 of 3 values are not proved, and places 1 to 6 may depend on that."
    known = standings([proved(each, each.value) for each in level])
    assert known.certainty.sentence == "All values are proved."
    assert "bounds" not in {table.key for table in tables(known)}


def test_many_ranges_and_many_players() -> None:
    def level(name: str, points: int) -> list[GameRecord]:
        lost = [game(name, f"X{name}", "-G0.0")] * (20 - points)
        return (
            [game(name, f"X{name}", "G0.0")] * points + lost + [game(name, "Y", "G1.0", basis=Basis.PLAYED)]
        )

    games = [record for at in range(7) for name in "AB" for record in level(f"{name}{at}", at)]
    assert standings(games, order="tcec").certainty.sentence.endswith(
        "and places 16 to 17, 18 to 19, 20 to 21, 22 to 23, 24 to 25, 26 to 27 and others may depend on that."
    )
    many = [game(f"A{at}", f"B{at}", "G0.0") for at in range(151)]
    assert standings(many).certainty.places["A7"] == (1, 1)
    many += [game("A7", "B7", "G1.0", basis=Basis.PLAYED)]
    assert standings(many).certainty.places["A7"] == (1, 302)


def test_equal_players_are_certain_if_nobody_can_join_them() -> None:
    """A and B are level by proved games; direct encounters part them, but for C, which may be level too."""
    games = [game("A", "B", "G0.0"), game("B", "X", "G0.0"), game("X", "A", "G0.0")]
    games += [game("C", "Y", "G1.0", basis=Basis.PLAYED, bounds="G3.0 G1.0")]
    assert standings(games).certainty.sentence.endswith("but no place depends on that.")
    games += [game("C", "Z", "G0.5"), game("C", "A", "G9.0", basis=Basis.PLAYED)]
    assert "may depend" in standings(games).certainty.sentence


def test_who_is_level_may_depend_on_values() -> None:
    """A is ahead of B by their game; but if C has no more points than they, all three are level in it."""
    games = [game("A", "B", "G0.0"), game("C", "A", "G0.0"), game("B", "C", "G0.0")]
    games += [game("C", "X", "G9.0", basis=Basis.PLAYED)]
    found = standings(games, order="points")
    assert [(player.place, player.name) for player in found.players][:3] == [(1, "C"), (2, "A"), (3, "B")]
    assert [found.certainty.places[name].best for name in "ABC"] == [1, 1, 1]
    by_values = standings([*games[:3], proved(games[3], GScore("-G0.0"))], order="points")
    assert {player.name for player in by_values.players if player.place == 1} == {"A", "B", "C", "X"}


def test_balances_of_ranks_without_a_column_part_players() -> None:
    """C may have a G8.5 in place of its G9.0, of which A has one too; and Y be level with C in G9.0 then."""
    games = [game("A", "X", "G9.0"), game("C", "Y", "G9.0", basis=Basis.PLAYED, bounds="G9.0 G8.0")]
    found = standings(games, order=ORDERS["tcec"].with_tiebreaks(("balances",)))
    assert [found.certainty.places[name] for name in "ACYX"] == [(1, 2), (1, 3), (2, 4), (3, 4)]


def test_it_is_in_the_document_and_in_a_table() -> None:
    games = [game("A", "B", "G1.0", basis=Basis.PLAYED, bounds="G1.5 G0.5"), game("B", "A", "G1.0", number=2)]
    found = standings(games, order=ORDERS["tcec"].with_tiebreaks(("rmobility",)))
    told = document(found)
    assert told["unproven"] == {
        "count": 1,
        "games": ["x.pgn 1"],
        "sentence": "1 of 2 values is not proved, and places 1 to 2 may depend on that.",
    }
    player = told["players"][0]
    assert (player["name"], player["possible_places"]) == ("A", {"best": 1, "worst": 2})
    assert player["sums"]["rmobility"] == {"least": 0.9375, "most": 1.125}
    assert json.dumps(told)
    (table,) = tables(found, {"bounds"})
    assert list(zip(table.titles, table.shown()[0], strict=True)) == [
        ("", "1"),
        ("player", "A"),
        ("best", "1"),
        ("worst", "2"),
        ("unproven", "1"),
        ("r-mobility", "1.0000"),
        ("at least", "0.9375"),
        ("at most", "1.1250"),
    ]
    assert found.certainty.sentence in next(tables(found, {"standings"})).note
