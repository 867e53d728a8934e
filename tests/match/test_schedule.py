"""The pairings of a schedule."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.games.game_options import GameOptions
from tbgen.games.standings.encounters import GameId
from tbgen.games.standings.record import Format
from tbgen.match.event_settings import Entrant, EventSettings
from tbgen.match.openings import Openings, StartKind
from tbgen.match.schedule import Fixture, Schedule
from tbgen.uci.process import EngineSettings


def schedule(
    players: str,
    form: Format = Format.ROUND_ROBIN,
    points: Callable[[GameId], Fraction] = lambda _: Fraction(),
    *,
    shared: bool = False,
    **more: Any,
) -> Schedule:
    openings = Openings(None, StartKind.CHESS960, 0, GameOptions(Variant.R_MOBILITY))
    openings.one_per_round = shared
    entrants = tuple(Entrant(EngineSettings(name, ())) for name in players)
    return Schedule(EventSettings(entrants, Path(), form, **more), openings, points)


def all_of(schedule: Schedule) -> list[Fixture]:
    found: list[Fixture] = []
    while (fixtures := schedule.next_round()) is not None:
        found += fixtures
    return found


def test_everybody_meets_everybody() -> None:
    for count in range(2, 9):
        robin = schedule("abcdefgh"[:count], rounds=3)
        fixtures = all_of(robin)
        assert len(fixtures) == robin.total == 3 * count * (count - 1)
        assert set(Counter((game.white, game.black) for game in fixtures).values()) == {3}
        assert len({game.key for game in fixtures}) == len(fixtures)
        assert [game.number for game in fixtures] == list(range(1, len(fixtures) + 1))


def test_the_order_is_that_of_berger() -> None:
    """FIDE Handbook C.05, annex 1, the table for five or six players."""
    table = "16 25 34 64 53 12 26 31 45 65 14 23 36 42 51"
    games = all_of(schedule("123456", games=1))
    assert " ".join(game.white + game.black for game in games) == table


def test_colours_alternate_by_round_unless_fixed_or_reversed() -> None:
    for games, swap, reverse, expected in (
        (1, True, False, "ab ba"),
        (2, False, False, "ab ab ab ab"),
        (2, True, True, "ba ab ba ab"),
        (1, False, True, "ba ba"),
        (1, True, True, "ba ab"),
    ):
        found = all_of(schedule("ab", rounds=2, games=games, swap=swap, reverse=reverse))
        assert " ".join(game.white + game.black for game in found) == expected


def test_the_games_of_an_encounter_have_one_opening() -> None:
    own = all_of(schedule("abc", rounds=2))
    assert len({game.opening.text for game in own}) == 6
    assert all(one.opening == other.opening for one, other in zip(own[::2], own[1::2], strict=True))
    assert all(one.white == other.black for one, other in zip(own[::2], own[1::2], strict=True))
    shared = all_of(schedule("abc", rounds=2, shared=True))
    assert [len({game.opening.text for game in shared if game.key.round == r}) for r in (1, 2)] == [1, 1]
    assert len({game.opening.text for game in shared}) == 2


def test_in_a_gauntlet_the_first_players_meet_all_others() -> None:
    gauntlet = schedule("abcd", Format.GAUNTLET, rounds=2)
    games = all_of(gauntlet)
    assert len(games) == gauntlet.total == 12
    assert {frozenset(game.white + game.black) for game in games} == {frozenset("a" + b) for b in "bcd"}
    several = schedule("abcd", Format.GAUNTLET, seeds=2)
    games = all_of(several)
    pairs = {frozenset(game.white + game.black) for game in games}
    assert len(games) == several.total == 8
    assert pairs == {frozenset(one + other) for one in "ab" for other in "cd"}


def test_keys_and_names() -> None:
    assert GameId.parse(str(GameId(12, 3, 1))) == GameId(12, 3, 1)
    assert [GameId.parse(text) for text in ("", "1.2", "1.2.x", "1.2.3.4", "1.2." + 5000 * "9")] == [None] * 5
    assert Format("roundrobin") is Format.ROUND_ROBIN
    with pytest.raises(UsageError, match="expected one of round-robin"):
        Format("ladder")
