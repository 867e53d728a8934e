"""The certainty of standings, compared with all values that unproved games may have."""

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
from tbgen.games.standings import GameRecord, standings
from tbgen.games.standings.json_files import StandingsDocument
from tbgen.games.standings.orders import ORDERS, Order
from tbgen.games.standings.tables import tables
from tbgen.games.standings.tiebreaks import BALANCES, TIEBREAKS, Dependence, OrderBy, Tiebreak
from tbgen.games.standings.tournament import Certainty
from tests.support.exhaustive import exhaustive
from tests.support.tournaments import game, games

BOUNDS = ["G1.0 G0.5", "-G0.5 G0.5", "G8.0 G7.0", "-G1.0 G1.5"]
"""Intervals of unproved values, of which the bounds and the scores of small ranks are tried."""
TRIED = [GScore(rank, white) for rank in (1, 2, 3, 14, 15, 16) for white in (True, False)]


def random_event(random: Random) -> list[GameRecord]:
    """Return up to ten games of three or four players, up to four of them with bounds only."""
    names, records = "ABCD"[: random.choice((3, 4))], []
    for number in range(random.randint(3, 10)):
        white, black = random.sample(names, 2)
        if number < random.randint(0, 4):
            bounds = random.choice(BOUNDS)
            value = bounds.split()[random.randrange(2)]
            drawn = game(white, black, value, basis=Basis.PLAYED, bounds=bounds, result="1/2-1/2")
            records.append(replace(drawn, number=number))
        else:
            value = random.choice(("G0.0", "-G0.0", "G1.0", "-G1.0", "G1.0", "G0.5"))
            records.append(game(white, black, value, number=number))
    random.shuffle(records)
    return records


def every_value(records: list[GameRecord]) -> Iterator[list[GameRecord]]:
    """Yield the games with every choice of values for those with bounds."""
    choices = []
    for each in records:
        lower, upper = each.outcome.interval
        values = sorted({lower, upper, *(score for score in TRIED if lower <= score <= upper)})
        choices.append([proved(each, value) for value in values])
    yield from map(list, product(*choices))


def proved(each: GameRecord, value: GScore) -> GameRecord:
    return replace(each, outcome=replace(each.outcome, value=value, basis=Basis.SOLVED, bounds=None))


def orders(random: Random) -> Order:
    order = random.choice(list(ORDERS.values()))
    if random.random() < 0.6:
        names = [*TIEBREAKS, "g1.0", BALANCES]
        order = order.with_tiebreaks(tuple(random.sample(names, random.randint(1, 4))))
    return order


LONG = (0, 8, 16, 21)
"""Seeds of events with so many values that the daily tests leave them out."""


@pytest.mark.parametrize("first", [0, *exhaustive([30])])
def test_places_and_sums_are_those_of_all_values(first: int) -> None:
    daily = [seed for seed in range(15) if seed not in LONG]
    for seed in [*LONG, *range(first, first + 190)] if first else daily:
        random = Random(seed)
        check_against_all_values(random_event(random), orders(random), random.choice(SCHEMES))


SCHEMES = [Scheme.EXPONENTIAL, Scheme.CLASSICAL, Scheme.WINNER]


def check_against_all_values(records: list[GameRecord], order: Order, scheme: Scheme) -> None:
    found = standings(records, scheme, order)
    certainty, rmobility = found.certainty, TIEBREAKS["rmobility"]
    assert len(certainty.unproven_games) == sum(each.outcome.basis is Basis.PLAYED for each in records)
    sums: dict[str, list[Fraction]] = {player.name: [] for player in found.players}
    seen: dict[str, set[int]] = {player.name: set() for player in found.players}
    for choice in every_value(records):
        by_values = standings(choice, scheme, order)
        for player in by_values.players:
            sums[player.name].append(player.points[Scheme.EXPONENTIAL] or Fraction())
            seen[player.name].add(player.place)
    for player in found.players:
        assert certainty.sums(rmobility, player) == (min(sums[player.name]), max(sums[player.name]))
        best, worst = certainty.places[player.name]
        assert best <= min(seen[player.name]), (player.name, order)
        assert max(seen[player.name]) <= worst, (player.name, order)
    of_values = {name for name, each in TIEBREAKS.items() if each.dependence is Dependence.VALUES}
    others = {*of_values, "g1.0", BALANCES} - {"rmobility"} & {*order.tiebreaks}
    certain = all(len(each) == 1 for each in seen.values())
    if "no place depends" in certainty.sentence or not certainty.unproven_games:
        assert certain
    elif order.order_by is OrderBy.CHESS and order.tiebreaks[-1] == "rmobility" and not others:
        assert not certain, order


@pytest.mark.parametrize(
    ("first", "changing"),
    [("tcec", {Dependence.VALUES}), ("points", {Dependence.VALUES, Dependence.POINTS})],
    ids=["points in chess first", "points first"],
)
def test_tiebreaks_depend_on_no_more_than_declared(first: str, changing: set[Dependence]) -> None:
    records, order = random_event(Random(5)), ORDERS[first].with_tiebreaks(tuple(TIEBREAKS))
    found: dict[tuple[str, str], set[object]] = {}
    for choice in every_value(records):
        for player in standings(choice, order=order).players:
            for key, number in player.tiebreaks.items():
                found.setdefault((key, player.name), set()).add(number)
    changed = {key for (key, _), numbers in found.items() if len(numbers) > 1}
    assert changed == {key for key, each in TIEBREAKS.items() if each.dependence in changing}


def test_tiebreaks_by_values_that_are_no_sums_are_uncertain() -> None:
    records = [*games("AB G9.0, BA G9.0"), game("C", "D", "G9.0", basis=Basis.PLAYED)]
    field = standings(records, order="tcec").certainty.data
    best = Tiebreak("best", "", "", lambda player, _, __: 1 if player.name == "A" else 0, Dependence.VALUES)
    assert "may depend" in Certainty(field, [best]).sentence


def test_a_game_between_two_counts_for_both() -> None:
    """A leads by 1/4 after the first game, of which the second may give B up to 1/8, or 1/4."""
    for bounds, places, sentence in (
        ("-G1.0 G1.0", [(1, 1), (2, 2)], "but no place depends on that."),
        ("-G1.0 G0.5", [(1, 2), (1, 2)], "and places 1 to 2 may depend on that."),
    ):
        records = [*games("AB G0.5"), game("B", "A", "G1.0", basis=Basis.PLAYED, bounds=bounds)]
        certainty = standings(records, order=ORDERS["tcec"].with_tiebreaks(("rmobility",))).certainty
        assert [certainty.places[name] for name in "AB"] == places
        assert certainty.sentence == f"1 of 2 values is not proved, {sentence}"


def test_a_game_as_played_may_have_any_value() -> None:
    records = [game("A", "X", "G1.0", basis=Basis.PLAYED), *games("BX G1.5, XC G0.0")]
    found = standings(records, order="tcec")
    a = next(player for player in found.players if player.name == "A")
    assert found.certainty.sums(TIEBREAKS["rmobility"], a) == (0, 1)
    assert found.certainty.places == {"X": (1, 1), "A": (2, 3), "B": (2, 3), "C": (4, 4)}
    # In chess it is a draw whatever its value is, and wins are not of values either.
    chess = standings(records, order=ORDERS["tcec"].with_tiebreaks(("wins", "sb")))
    assert chess.certainty.sentence == "1 of 3 values is not proved, but no place depends on that."


def test_overlapping_ranges_of_places_are_merged() -> None:
    level = [game(name, f"X{name}", "G1.0", basis=Basis.PLAYED) for name in "ABC"]
    found = standings(level, order="tcec")
    assert found.certainty.sentence == "3 of 3 values are not proved, and places 1 to 6 may depend on that."
    known = standings([proved(each, each.value) for each in level])
    assert known.certainty.sentence == "All values are proved."
    assert "bounds" not in {table.key for table in tables(known)}


def test_many_ranges_and_many_players() -> None:
    records = []
    for points in range(7):
        for name in (f"A{points}", f"B{points}"):
            records += [game(name, f"X{name}", "G0.0")] * points
            records += [game(name, f"X{name}", "-G0.0")] * (20 - points)
            records += [game(name, "Y", "G1.0", basis=Basis.PLAYED)]
    assert standings(records, order="tcec").certainty.sentence.endswith(
        "and places 16 to 17, 18 to 19, 20 to 21, 22 to 23, 24 to 25, 26 to 27 and others may depend on that."
    )
    many = [game(f"A{at}", f"B{at}", "G0.0") for at in range(151)]
    assert standings(many).certainty.places["A7"] == (1, 1)
    many += [game("A7", "B7", "G1.0", basis=Basis.PLAYED)]
    assert standings(many).certainty.places["A7"] == (1, 302)


def test_equal_players_are_certain_if_nobody_can_join_them() -> None:
    """A and B are level by proved games; direct encounters separate them unless C is level too."""
    records = games("AB G0.0, BX G0.0, XA G0.0")
    records += [game("C", "Y", "G1.0", basis=Basis.PLAYED, bounds="G3.0 G1.0")]
    assert standings(records).certainty.sentence.endswith("but no place depends on that.")
    records += [game("C", "Z", "G0.5"), game("C", "A", "G9.0", basis=Basis.PLAYED)]
    assert "may depend" in standings(records).certainty.sentence


def test_the_group_of_level_players_may_depend_on_values() -> None:
    """A is ahead of B by their game; if C has the same points, direct encounters leave all three level."""
    records, open_ = games("AB G0.0, CA G0.0, BC G0.0"), game("C", "X", "G9.0", basis=Basis.PLAYED)
    found = standings([*records, open_], order="points")
    assert [(player.place, player.name) for player in found.players][:3] == [(1, "C"), (2, "A"), (3, "B")]
    assert [found.certainty.places[name].best for name in "ABC"] == [1, 1, 1]
    by_values = standings([*records, proved(open_, GScore("-G0.0"))], order="points")
    assert {player.name for player in by_values.players if player.place == 1} == {"A", "B", "C", "X"}


def test_balances_of_ranks_without_a_column_separate_players() -> None:
    """C may have a G8.5 in place of its G9.0, of which A has one too; and Y be level with C in G9.0 then."""
    records = [*games("AX G9.0"), game("C", "Y", "G9.0", basis=Basis.PLAYED, bounds="G9.0 G8.0")]
    found = standings(records, order=ORDERS["tcec"].with_tiebreaks(("balances",)))
    assert [found.certainty.places[name] for name in "ACYX"] == [(1, 2), (1, 3), (2, 4), (3, 4)]


def test_certainty_is_in_the_document_and_in_a_table() -> None:
    open_ = game("A", "B", "G1.0", basis=Basis.PLAYED, bounds="G1.5 G0.5")
    records = [open_, game("B", "A", "G1.0", number=2)]
    found = standings(records, order=ORDERS["tcec"].with_tiebreaks(("rmobility",)))
    told = StandingsDocument.of_standings(found).builtins()
    sentence = "1 of 2 values is not proved, and places 1 to 2 may depend on that."
    assert told["unproven"] == {"count": 1, "games": ["x.pgn 1"], "sentence": sentence}
    player = told["players"][0]
    assert (player["name"], player["possible_places"]) == ("A", {"best": 1, "worst": 2})
    assert player["sums"]["rmobility"] == {"least": 0.9375, "most": 1.125}
    assert json.dumps(told)
    (table,) = tables(found, {"bounds"})
    assert table.titles == ["", "player", "best", "worst", "unproven", "r-mobility", "at least", "at most"]
    assert table.formatted_rows()[0] == ["1", "A", "1", "2", "1", "1.0000", "0.9375", "1.1250"]
    assert found.certainty.sentence == sentence
    assert sentence in next(tables(found, {"standings"})).summary
    # The ends of a sum are whole, the sum is not: they have the same decimals.
    (table,) = tables(standings([game("A", "B", "G3.5", basis=Basis.PLAYED)], order="tcec"), {"bounds"})
    assert [row[-3:] for row in table.formatted_rows()] == [
        ["0.5039", "0.0000", "1.0000"],
        ["0.4961", "0.0000", "1.0000"],
    ]
