"""The games of a running event: whole encounters count, and the test takes them in the order of the schedule.

Short games end first, so a test of the games that happen to be finished would favour the quicker winner. It
takes the encounters from the first one up to the first that is not finished, and no other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, NamedTuple

from tbgen.board.scoring import Scheme
from tbgen.games.outcome import RESULTS
from tbgen.games.pgn.splitter import RawGame
from tbgen.games.settings import GameOptions
from tbgen.games.standings.elo import Elo, Sprt, TestSettings, elo, sprt
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.tournament import Standings, standings
from tbgen.games.tagging import TaggedGame, outcome_of_tags

_KEY: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


class Key(NamedTuple):
    """The place of a game in its event, as the tag ``Round`` has it."""

    round: int
    """Counted from 1."""
    encounter: int
    """Of a round, counted from 1: two players with one opening."""
    game: int
    """Of an encounter, counted from 1."""

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> Key | None:
        """Read the tag; None if it has another form."""
        match = _KEY.fullmatch(text)
        return None if match is None else cls(*map(int, match.groups()))


def finished_game(raw: RawGame, file: str, options: GameOptions) -> GameRecord | None:
    """Return what the tags of a game say; None unless they are those of a finished game of an event.

    :param file: the name of the file, for the record.
    """
    tags = raw.values
    record = GameRecord.of(file, TaggedGame(raw, outcome_of_tags(tags, options), None))
    if record is None or Key.parse(record.round) is None or tags.get("Result") not in RESULTS:
        return None
    return record


@dataclass(frozen=True, slots=True)
class MatchScore:
    """The score of a match of two players."""

    player: str
    opponent: str
    points: Fraction
    """Of the player, in whole encounters."""
    games: int
    """In whole encounters."""
    elo: Elo | None
    """None before the first encounter is whole."""
    test: Sprt | None
    """None without a test."""


class Encounters:
    """The finished games of an event, by encounters.

    :param players: of the event; the score of a match is that of the first.
    :param games: number of games of an encounter.
    """

    def __init__(self, players: Sequence[str], games: int, test: TestSettings | None = None) -> None:
        self.games: dict[Key, GameRecord] = {}
        self._players, self._size, self._test = players, games, test
        self._shares: dict[tuple[int, int], float] = {}
        """By round and encounter: the first player's points per game of whole encounters of a match."""
        self._points = Fraction()
        self._tested: list[float] = []
        self._found: Sprt | None = None
        """The state of the test when it was last computed."""

    def __len__(self) -> int:
        return len(self.games)

    def add(self, game: GameRecord) -> None:
        """Add a finished game."""
        key = Key.parse(game.round)
        assert key is not None
        self.games[key] = game
        members = self._members(key)
        if len(members) == self._size and len(self._players) == 2:
            points = sum((self._part(one) for one in members), Fraction())
            self._points += points
            self._shares[key.round, key.encounter] = float(points / self._size)
            # In a match that can be tested, each encounter is a round of its own.
            while (following := (len(self._tested) + 1, 1)) in self._shares:
                self._tested.append(self._shares[following])

    @property
    def untested(self) -> bool:
        """Whether :meth:`test` would have to compute."""
        return self._test is not None and (self._found is None or self._found.count < len(self._tested))

    def complete(self) -> list[GameRecord]:
        """Return the games of whole encounters, in the order of the schedule."""
        return [game for key, game in sorted(self.games.items()) if len(self._members(key)) == self._size]

    def ends(self) -> dict[str, Counter[str]]:
        """Return by player how all finished games have ended, such as ``won by mate``, and how many so."""
        found = {name: Counter[str]() for name in self._players}
        for game in self.games.values():
            for name, points in ((game.white, game.points), (game.black, 1 - game.points)):
                word = "level" if 2 * points == 1 else "won" if 2 * points > 1 else "lost"
                found[name][f"{word} by {game.outcome.basis.value}"] += 1
        return found

    def test(self) -> Sprt | None:
        """Return the state of the test; None without one."""
        test = self._test
        if test is not None and self.untested:
            self._found = sprt(tuple(self._tested), *test.numbers, model=test.model, pairs=self._size == 2)
        return self._found

    def score(self) -> MatchScore | None:
        """Return the score of a match; None of an event of more players."""
        if len(self._players) != 2:
            return None
        shares, count = list(self._shares.values()), len(self._shares)
        found = elo(shares, pairs=self._size == 2) if shares else None
        player, opponent = self._players
        return MatchScore(player, opponent, self._points, self._size * count, found, self.test())

    def standings(self, scheme: Scheme) -> Standings | None:
        """Return the standings by whole encounters, with the test; None before there is one."""
        records = self.complete()
        if not records:
            return None
        return replace(standings(records, scheme), sprt=self.test(), tested=self._players[0])

    def _members(self, key: Key) -> list[GameRecord]:
        """Return the finished games of the encounter of a game."""
        keys = (key._replace(game=number) for number in range(1, self._size + 1))
        return [self.games[each] for each in keys if each in self.games]

    def _part(self, game: GameRecord) -> Fraction:
        """Return the first player's points of a game."""
        return game.points if game.white == self._players[0] else 1 - game.points
