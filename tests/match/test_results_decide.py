"""Formats whose rounds depend on results: knockouts and Swiss tournaments."""

import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.scoring import DEFAULT_CUTOFF, DEFAULT_KOMI, Scheme, Scoring
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.games.game_options import GameOptions
from tbgen.games.standings import GameRecord, standings
from tbgen.games.standings.encounters import GameId, event_result
from tbgen.games.standings.knockout import MAX_EXTRA_ENCOUNTERS, bracket
from tbgen.games.standings.record import EventFormat, Format
from tbgen.games.standings.tournament import EventResult
from tbgen.match.event import schedule_digests
from tbgen.match.event_settings import Entrant, EventSettings
from tbgen.match.openings import Openings, StartKind
from tbgen.match.schedule import Fixture
from tbgen.uci.process import EngineSettings
from tbgen.web.site import Archive
from tests.match.engines import words
from tests.match.test_schedule import schedule
from tests.support.exhaustive import exhaustive, sample
from tests.support.matches import event, games_of, played
from tests.support.refusals import refusal
from tests.support.tournaments import game

Result = Callable[[Fixture], float]
CLASSICAL = Scoring(Scheme.CLASSICAL, DEFAULT_CUTOFF, DEFAULT_KOMI)
VALUES = {0: "-G0.0", 0.5: "G1.5", 1: "G0.0"}
"""Results with these points of White."""


def rounds_of(
    form: Format, players: str, white: Result, rounds_when_paired: Mapping[int, int] = {}, **more: Any
) -> tuple[list[Sequence[Fixture]], EventResult]:
    """Return all rounds and the result, for the points of White in each game."""
    games: dict[GameId, GameRecord] = {}
    found: list[Sequence[Fixture]] = []
    event = schedule(players, form, lambda key: games[key].points, **more)
    event.rounds_when_paired.update(rounds_when_paired)
    while (fixtures := event.next_round()) is not None:
        found.append(fixtures)
        for each in fixtures:
            value = VALUES[white(each)]
            games[each.key] = game(each.white, each.black, value, scoring=CLASSICAL, round_=str(each.key))
    stated = EventFormat(form, tuple(players), more.get("rounds", 1), more.get("games", 2))
    return found, event_result(standings(games.values(), Scheme.CLASSICAL), stated, is_over=True)


def pairs(fixtures: Sequence[Fixture]) -> list[str]:
    """Return the distinct pairs of players of a round."""
    return list(dict.fromkeys("".join(sorted(game.white + game.black)) for game in fixtures))


def better(order: str) -> Result:
    """Let the player win who precedes the other in the list."""
    return lambda game: float(order.index(game.white) < order.index(game.black))


def by_lot(seed: int) -> Result:
    lot = random.Random(seed)
    return lambda _: lot.choice((0, 0, 0.5, 1, 1))


def test_a_knockout_is_won_by_the_best() -> None:
    for count in range(2, 10):
        names = "abcdefghi"[:count]
        order = "".join(random.Random(count).sample(names, count))
        found, result = rounds_of(Format.KNOCKOUT, names, better(order), rounds=2)
        assert (result.winner, result.decision) == (order[0], "final")
        met = list(itertools.chain.from_iterable(pairs(fixtures) for fixtures in found))
        assert len(met) == len(set(met)) == count - 1  # each duel sends one home
        assert all(len(fixtures) == 4 * len(pairs(fixtures)) for fixtures in found)
        keys = [game.key for fixtures in found for game in fixtures]
        assert len(keys) == len(set(keys))


def test_the_best_seeds_meet_last() -> None:
    found, _ = rounds_of(Format.KNOCKOUT, "abcdef", better("abcdef"))
    assert [pairs(fixtures) for fixtures in found] == [["de", "cf"], ["ad", "bc"], ["ab"]]
    assert bracket("abc") == ["a", None, "b", "c"]


def test_level_duels_continue_until_a_player_leads() -> None:
    """The first duel is decided after two further encounters, the second at once."""

    def result(game: Fixture) -> float:
        decided = game.key.round > 2 or "b" in (game.white, game.black)
        return better("dbca")(game) if decided else 0.5

    found, told = rounds_of(Format.KNOCKOUT, "abcd", result)
    assert [pairs(fixtures) for fixtures in found] == [["ad", "bc"], ["ad"], ["ad"], ["bd"]]
    openings = [fixtures[0].opening.text for fixtures in found[:3]]
    assert len(set(openings)) == 3
    assert told.sentence == "d has won the knockout, in the final against b: 2 to 0 points."


def test_after_the_last_encounter_the_better_seed_advances() -> None:
    found, result = rounds_of(Format.KNOCKOUT, "ab", lambda _: 0.5, games=1)
    assert (result.winner, result.decision) == ("a", "seeding")
    assert result.sentence == "a has won the knockout by seeding: the final against b is level."
    assert [game.white for fixtures in found for game in fixtures] == list("ababa")
    assert len(found) == 1 + MAX_EXTRA_ENCOUNTERS


def test_nobody_meets_anybody_twice_in_a_swiss() -> None:
    """FIDE Handbook C.04.1: one opponent per round, never the same twice, at most one bye."""
    for count, rounds in ((4, 3), (5, 5), (8, 5), (11, 6), (16, 6))[: sample(3, 5)]:
        names = "abcdefghijklmnop"[:count]
        found, _ = rounds_of(Format.SWISS, names, by_lot(count), rounds=rounds)
        assert len(found) == rounds
        met = list(itertools.chain.from_iterable(pairs(fixtures) for fixtures in found))
        assert len(met) == len(set(met)) == rounds * (count // 2)
        byes = Counter(name for fixtures in found for name in names if name not in "".join(pairs(fixtures)))
        assert sum(byes.values()) == rounds * (count % 2)
        assert all(times == 1 for times in byes.values())


def test_a_swiss_pairs_by_points() -> None:
    """The pairings are computed by hand with C.04.3.

    In round 1 the upper half meets the lower half, with alternating colours; in round 2 the winners meet each
    other, so that all change colours; in round 3 the two players meet who have won twice.
    """
    rounds, _ = rounds_of(Format.SWISS, "abcdefgh", better("abcdefgh"), rounds=3)
    found = [sorted(pairs(fixtures)) for fixtures in rounds]
    assert found[:2] == [["ae", "bf", "cg", "dh"], ["ad", "bc", "eh", "fg"]]
    assert (found[2][0], found[2][-1]) == ("ab", "gh")
    assert "at most 3 rounds" in refusal(lambda: schedule("abcd", Format.SWISS, rounds=4))


def test_a_swiss_ends_where_it_cannot_be_paired(caplog: pytest.LogCaptureFixture) -> None:
    """After three rounds without decision, two groups of three players are left who have met."""
    for rounds, end in ((3, ""), (4, " The event ended after round 3 of 4.")):
        found, result = rounds_of(Format.SWISS, "abcdef", lambda _: 0.5, rounds=rounds)
        assert len(found) == 3
        assert result.sentence == f"a, b, c, d, e and f share the first place.{end}"
    assert not caplog.records


def test_rounds_of_a_swiss_that_have_begun_keep_their_pairings() -> None:
    """The last round relaxes colours: of four rounds, the third is not paired as the last of three is."""

    def lot(game: Fixture) -> float:
        return random.Random(f"8 {game.key} {game.white}").choice((0, 0, 0.5, 1, 1))

    def third_round(rounds: int, rounds_when_paired: Mapping[int, int]) -> list[tuple[str, str]]:
        found, _ = rounds_of(Format.SWISS, "abcdefgh", lot, rounds_when_paired, rounds=rounds)
        return [(game.white, game.black) for game in found[2]]

    last = third_round(3, {})
    assert third_round(4, {}) != last
    assert third_round(4, {1: 3, 2: 3, 3: 3}) == last


def test_digests_of_schedules_do_not_change() -> None:
    """They are those of earlier files, and tell the number of rounds if this counts."""
    openings = Openings(None, StartKind.CHESS960, 0, GameOptions(Variant.R_MOBILITY))
    entrants = tuple(Entrant(EngineSettings(name, ())) for name in "abcd")
    for form, digest, rounds in (
        (Format.SWISS, "afff9bb28ec3725f", 2),
        (Format.SWISS, "c60bd83f2874fbf0", 3),
        (Format.KNOCKOUT, "84533c8a2c2c33ca", 2),
        (Format.ROUND_ROBIN, "ecd8ee837213df5c", 7),
    ):
        assert schedule_digests(EventSettings(entrants, Path(), form, rounds=7), openings)[digest] == rounds


def test_more_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Swiss tournament continues with more rounds than before, also in a round that has begun;
    not with fewer.

    Durations of games do not depend on the time of day, which here runs backwards.
    """
    pgn, times = tmp_path / "games.pgn", itertools.count(10**9, -3600)
    monkeypatch.setattr("time.time", lambda: next(times))
    swiss_words = ("--tournament", "swiss", "--games", "1", "--rounds")
    players = [words(name) for name in "ABCDE"]

    def swiss(rounds: str) -> list[list[str]]:
        games = played(pgn, *swiss_words, rounds, players=players)
        assert all(game.tags["GameDuration"].startswith("00:") for game in games)
        return [[game.tags[name] for name in ("Round", "White", "Black", "Tournament")] for game in games]

    before = swiss("2")
    pgn.write_text(pgn.read_text().rpartition("[Event")[0])
    after = swiss("3")
    assert (after[:3], after[3][:3], len(after)) == (before[:3], before[3][:3], 6)
    assert before[0][3].replace("rounds 2", "rounds 3") == after[3][3]
    capsys.readouterr()
    assert (
        main(event(pgn, *swiss_words, "3", "--order", "fide-swiss", "--byes", "--json", players=players)) == 0
    )
    found = json.loads(capsys.readouterr().out)["standings"]
    assert (found["order"], found["tiebreaks"][0]) == ("fide-swiss", "buchholz-cut1")
    assert sorted(player["byes"] for player in found["players"]) == [0, 0, 1, 1, 1]
    live = json.loads(dict(Archive(pgn)._answers())["event.json"])["standings"]["tables"][0]
    assert [row[1] for row in live["rows"]] == [player["name"] for player in found["players"]]
    assert main(event(pgn, *swiss_words, "2", players=players)) == 2
    assert "round 3 has begun, and the event would end with round 2: continue it" in capsys.readouterr().err
    pgn.unlink()
    duel = event(pgn, "--tournament", "knockout", "--games", "1", "--rounds")
    assert main([*duel, "1"]) == 0
    assert main([*duel, "2"]) == 2
    assert "have 1 encounter, not 2: continue it with --rounds 1, or" in capsys.readouterr().err


@pytest.mark.parametrize("form", exhaustive(["swiss", "knockout"]))
def test_events_of_all_formats_can_be_resumed(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interrupted events play the same schedule as uninterrupted ones; D loses all games."""
    pgn = tmp_path / "games.pgn"
    players = [words(name, "none" if name == "D" else "plain") for name in "ABCD"]
    rounds = "1" if form == "knockout" else "3"
    command = event(pgn, "--tournament", form, "--rounds", rounds, players=players)

    def pairings() -> list[list[str]]:
        return [[game.tags[name] for name in ("Round", "White", "Black")] for game in games_of(pgn)]

    assert main([*command, "--json"]) == 0
    whole, text = pairings(), pgn.read_text()
    assert json.loads(capsys.readouterr().out)["winner"] == ("A" if form == "knockout" else None)
    places = [found.start() for found in re.finditer(r"\[Event", text)]
    assert len(places) == len(whole)
    for place in (places[-2], places[1])[: sample(1, 2)]:
        pgn.write_text(text[:place])
        assert main(command) == 0
        assert pairings() == whole
    assert ("A has won the knockout" in capsys.readouterr().err) is (form == "knockout")
