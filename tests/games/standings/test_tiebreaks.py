"""Tiebreaks computed by hand."""

import io
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.games.outcome import Basis
from tbgen.games.standings import GameRecord, standings
from tbgen.games.standings.orders import ORDERS
from tbgen.games.standings.tables import tables
from tbgen.games.standings.tiebreaks import TIEBREAKS, Dependence, OrderBy, TieData
from tbgen.games.tagging import tag_games
from tests.support.exhaustive import sample
from tests.support.tournaments import game

VALUES = {"1": "G0.0", "0": "-G0.0", "=": "G9.0"}


def match(white: str, black: str, result: str = "1", **other: Any) -> GameRecord:
    return game(white, black, VALUES[result], **other)


def matches(text: str) -> list[GameRecord]:
    """Return games by their results in chess for White, such as ``A-B 1, C-D =``."""
    return [match(pair[0], pair[2], result) for pair, result in map(str.split, text.split(","))]


def numbers(games: list[GameRecord], *names: str) -> dict[str, list[Any]]:
    """Return the numbers of players by tiebreaks, after the points in chess."""
    players = standings(games, order=replace(ORDERS["tcec"], tiebreaks=names)).players
    return {player.name: [player.tiebreaks[name] for name in ("classical", *names)] for player in players}


ROUND_ROBIN = matches("A-B 1, C-D =, C-A =, B-D 1, D-A 0, B-C 1")


def test_a_round_robin_by_hand() -> None:
    names = ("sb", "koya", "progressive", "wins", "black-wins")
    assert numbers(ROUND_ROBIN, *names) == {
        "A": [2.5, 2 + 0.5 * 1 + 0.5, 1, 1 + 1.5 + 2.5, 2, 1],
        "B": [2, 0.5 + 1, 0, 0 + 1 + 2, 2, 0],
        "C": [1, 0.5 * 0.5 + 0.5 * 2.5, 0.5, 0.5 + 1 + 1, 0, 0],
        "D": [0.5, 0.5 * 1, 0, 0.5 + 0.5 + 0.5, 0, 0],
    }


def test_buchholz_of_a_small_swiss_by_hand() -> None:
    """Three rounds of six; points are A 2.5, C 2, E 1.5, B 1, D 1, F 1."""
    games = matches("A-B 1, C-D 1, E-F =, C-A =, B-E 0, F-D =, A-E 1, D-C =, B-F 1")
    names = ("buchholz", "buchholz-cut1", "buchholz-cut2", "buchholz-median1", "sb")
    assert numbers(games, *names) == {
        "A": [2.5, 1 + 2 + 1.5, 3.5, 2, 1.5, 1 + 1 + 1.5],
        "C": [2, 1 + 2.5 + 1, 3.5, 2.5, 1, 1 + 1.25 + 0.5],
        "E": [1.5, 1 + 1 + 2.5, 3.5, 2.5, 1, 0.5 + 1],
        "B": [1, 2.5 + 1.5 + 1, 4, 2.5, 1.5, 1],
        "D": [1, 2 + 1 + 2, 4, 2, 2, 0.5 + 1],
        "F": [1, 1.5 + 1 + 1, 2.5, 1.5, 1, 0.75 + 0.5],
    }


def test_byes_count_as_won_games() -> None:
    """Two rounds of three: C has no opponent in the first, B none in the second."""
    games = matches("A-B 1, C-A =")
    names = ("classical", "points", "rmobility", "wins", "buchholz", "sb", "koya")
    found = standings(games, order=replace(ORDERS["tcec"], tiebreaks=names), byes=True)
    drawn = found.games[1].points_by(Scheme.EXPONENTIAL)
    assert {player.name: [player.tiebreaks[name] for name in names] for player in found.players} == {
        "A": [1.5, 2 - drawn, 2 - drawn, 1, 1 + 1.5, 1 + 0.5 * 1.5, 1 + 0.5],
        "C": [1.5, 1 + drawn, 1 + drawn, 1, 1.5 + 1, 0.5 * 1.5, 0.5],
        "B": [1, 1, 1, 1, 1.5 + 1, 0, 0],
    }
    assert {player.name: player.results.games for player in found.players} == dict.fromkeys("ABC", 2)
    for row in TIEBREAKS.values():
        if row.term and row.rank is None:  # where all values are proved, what it may be is what it is
            for player in found.players:
                number = row.number_of(player, (), found.tiebreak_data)
                assert found.certainty.sums(row, player) == (number, number), row.key
    assert "Byes count as won games: C 1, B 1." in next(iter(tables(found, {"standings"}))).note
    assert [player.place for player in standings(games, order="tcec").players] == [1, 2, 3]


def test_progressive_points_follow_the_rounds_and_include_byes() -> None:
    """Three rounds of three, in another order in the file: B wins after its bye, which comes first."""
    rows = (("2.1", "A", "B", "0"), ("3.1", "C", "B", "0"), ("1.1", "A", "C", "1"))
    games = [replace(match(white, black, result), round=key) for key, white, black, result in rows]
    order, byes = replace(ORDERS["tcec"], tiebreaks=("progressive",)), dict.fromkeys("ABC", 1)
    found = {
        player.name: player.tiebreaks["progressive"]
        for player in standings(games, order=order, byes=byes).players
    }
    assert found == {"B": 1 + 2 + 3, "A": 1 + 1 + 2, "C": 0 + 1 + 1}
    unnumbered = [replace(game, round="") for game in games]
    found = {
        player.name: player.tiebreaks["progressive"]
        for player in standings(unnumbered, order=order, byes=byes).players
    }
    assert found == {"B": 1 + 2 + 3, "A": 0 + 1 + 2, "C": 0 + 0 + 1}


def test_direct_encounters_are_compared_again_among_level_players() -> None:
    """Places 7 to 9 of league 2 in season 19 of TCEC: 2.5, 2.5 and 1, then 1.5 to 0.5 between two players."""
    games = matches("A-B 1, B-A =, A-C 1, C-A 1, B-C 1, C-B 0, C-X 1, C-X =")  # all have 2.5 points
    assert numbers(games, "direct") == {"A": [2.5, 2.5], "B": [2.5, 2.5], "C": [2.5, 1], "X": [0.5, None]}
    assert numbers(games, "direct-fide") == {"A": [2.5, 1], "B": [2.5, 2], "C": [2.5, 3], "X": [0.5, None]}
    # After crashes, direct encounters look at those who are still level: A has 1 of 2 against C.
    games[:2] = [match("A", "B", "="), match("B", "A", "0", basis=Basis.ABANDONED)]
    crashed = numbers(games, "crashes", "direct")
    assert crashed == {"A": [2.5, 0, 1], "C": [2.5, 0, 1], "B": [2.5, 1, None], "X": [0.5, 0, None]}


def test_several_games_against_one_opponent_count_by_their_mean_for_fide() -> None:
    """All three have 2.5 points."""
    games = matches("A-B 1, B-A 1, B-A 1, A-B 1, A-C 0, B-C =, C-X =, A-X =, C-X =")
    assert numbers(games, "direct")["C"] == [2.5, 1.5]
    assert [numbers(games, "direct")[name][1] for name in "ABC"] == [2, 2.5, 1.5]
    assert [numbers(games, "direct-fide")[name][1] for name in "ABC"] == [3, 2, 1]


def test_a_player_who_is_first_with_any_missing_results_is_placed() -> None:
    """All have one point by games against others, but not all have met."""
    first = matches("A-B 1, A-C 1, B-X 1, C-X 1, B-Y 1, C-Y 1")
    assert [numbers(first, "direct-fide")[name] for name in "ABC"] == [[2, 1], [2, 2], [2, 2]]
    # B and C have not met A or each other: nobody is sure to be first.
    open_ = matches("A-B 1, B-X 1, C-X 1")
    assert [numbers(open_, "direct-fide")[name] for name in "ABC"] == [[1, 1], [1, 1], [1, 1]]


def sure_of_fide(scores: dict[frozenset[str], dict[str, Fraction]], level: list[str]) -> dict[str, int]:
    """Return places by FIDE's article 6, by trying every outcome of the missing games."""
    missing = [frozenset(pair) for pair in combinations(level, 2) if frozenset(pair) not in scores]
    totals = []
    for outcome in product((Fraction(0), Fraction(1, 2), Fraction(1)), repeat=len(missing)):
        found = dict.fromkeys(level, Fraction())
        for one, other in combinations(level, 2):
            pair = frozenset((one, other))
            share = scores[pair][one] if pair in scores else outcome[missing.index(pair)]
            found[one] += share
            found[other] += 1 - share
        totals.append(found)
    if not missing:
        parts: list[list[str]] = []
        for name in sorted(level, key=lambda name: -totals[0][name]):
            if parts and totals[0][parts[-1][0]] == totals[0][name]:
                parts[-1].append(name)
            else:
                parts.append([name])
    else:
        left = list(level)
        parts = []
        while first := [
            name for name in left if all(t[name] > t[o] for t in totals for o in left if o != name)
        ]:
            parts.append(first)
            left.remove(first[0])
        parts += [left] if left else []
    places: dict[str, int] = {}
    for part in parts:
        within = dict.fromkeys(part, 1) if len(part) in (1, len(level)) else sure_of_fide(scores, part)
        before = len(places)
        places |= {name: place + before for name, place in within.items()}
    return places


def test_direct_encounters_of_fide_by_every_outcome_of_missing_games() -> None:
    random = Random(36)
    for _ in range(sample(60, 1000)):
        level = list("ABCDE"[: random.randint(2, 5)])
        games, scores = [], {}
        for one, other in combinations(level, 2):
            if random.random() < 0.7:
                results = random.choices("1=0", k=random.choice((1, 1, 2)))
                games += [match(one, other, result) for result in results]
                halves = sum({"1": 2, "=": 1, "0": 0}[result] for result in results)
                share = Fraction(halves, 2 * len(results))
                scores[frozenset((one, other))] = {one: share, other: 1 - share}
        games += [match(name, "X") for name in level]
        players = {player.name: player for player in standings(games).players}
        field = TieData.of(players.values(), OrderBy.CHESS, Scheme.EXPONENTIAL)
        group = [players[name] for name in level]
        found = {one.name: TIEBREAKS["direct-fide"].number_of(one, group, field) for one in group}
        assert found == sure_of_fide(scores, level), (scores, level)


def test_ways_to_lose_and_lengths_of_games() -> None:
    ways = [Basis.ABANDONED, Basis.TIME_FORFEIT, Basis.ILLEGAL_MOVE, Basis.FORFEIT]
    ways += [Basis.RESIGNATION, Basis.ADJUDICATION]
    games = [match("A", "B", basis=basis) for basis in ways]
    assert numbers(games, "crashes", "forfeits", "games") == {"A": [6, 0, 0, 6], "B": [0, 1, 4, 6]}
    games = lasting(matches("A-B 1, B-A 0, A-B =, B-A 1"), 40, 51, 200, None)
    found = numbers(games, "won-moves", "lost-moves", "double-wins")
    assert found == {"A": [2.5, 45.5, None, 1], "B": [1.5, None, 45.5, 0]}
    games = [game("A", "B", value) for value in ("G0.5", "G0.5", "-G0.5")]
    assert numbers(games, "stalemates") == {"A": [1.5, 1], "B": [1.5, -1]}


def lasting(games: list[GameRecord], *moves: int | None) -> list[GameRecord]:
    return [replace(record, move_count=count) for record, count in zip(games, moves, strict=True)]


def test_players_with_the_fewest_are_first() -> None:
    games = lasting(matches("A-X 1, B-X 1, C-X 1"), 40, 30, None)
    assert list(numbers(games, "won-moves")) == ["B", "A", "C", "X"]
    games += [match("X", "C", basis=Basis.ABANDONED), *matches("X-A 1, X-B 1")]
    assert list(numbers(games, "crashes", "won-moves"))[1:] == ["B", "A", "C"]


def test_moves_are_those_of_the_tag() -> None:
    text = '[White "A"]\n[PlyCount "{}"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n'
    found = tag_games(io.BytesIO("".join(map(text.format, ("93", "94", "many", "²"))).encode()))
    records = [record for each in found if (record := GameRecord.of("x", each)) is not None]
    assert [record.move_count for record in records] == [47, 47, None, None]


def test_rows_are_consistent() -> None:
    """Of sums over games a better value never adds less, whatever the scheme; titles tell columns apart.

    Each tiebreak is named in this file, which has it by hand.
    """
    text = Path(__file__).read_text()
    assert [key for key in TIEBREAKS if f'"{key}"' not in text] == []
    titles = [row.title for row in TIEBREAKS.values()]
    assert len(titles) == len(set(titles))
    assert [it.key for it in TIEBREAKS.values() if it.dependence is Dependence.VALUES and not it.term] == []
    assert [it.key for it in TIEBREAKS.values() if it.low_best and it.term] == []
    values, record = (
        sorted(GScore(rank, white) for rank in range(30) for white in (True, False)),
        match("A", "B"),
    )
    for scheme, lead, row in product(Scheme, OrderBy, TIEBREAKS.values()):
        if row.term is not None and row.rank is None:
            field = TieData(lead, scheme, {})
            terms = [row.term(field, record, value, True) for value in values]
            assert terms == sorted(terms), (row.key, scheme)
            terms = [row.term(field, record, value, False) for value in values]
            assert terms == sorted(terms, reverse=True), (row.key, scheme)
