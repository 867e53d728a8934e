"""The games of a running event, and its test. Only complete encounters count.

Short games end first, so a test of all games that happen to be finished would favour the quicker winner. The
test therefore uses only the encounters before the first incomplete encounter of the schedule.
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
    """The place of a game in its event, in the form of the tag ``Round``."""

    round: int
    """Number of the round, from 1."""
    encounter: int
    """Number of the encounter in its round, from 1."""
    game: int
    """Number of the game in its encounter, from 1."""

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> Key | None:
        """Parse the tag; return None if it has another form."""
        match = _KEY.fullmatch(text)
        return None if match is None else cls(*map(int, match.groups()))


def finished_game(raw: RawGame, file: str, options: GameOptions) -> GameRecord | None:
    """Return the record of a game from its tags; None unless the tags describe a finished game of an event.

    :param file: name of the file, for the record.
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
    """Points of the player in complete encounters."""
    games: int
    """Number of games in complete encounters."""
    elo: Elo | None
    """The Elo difference; None before an encounter is complete."""
    test: Sprt | None
    """The state of the test; None without a test."""


class Encounters:
    """The finished games of an event, by encounters.

    :param players: players of the event. The score of a match is that of the first player.
    :param games: number of games of an encounter.
    :param test: settings of the test; None for no test.
    """

    def __init__(self, players: Sequence[str], games: int, test: TestSettings | None = None) -> None:
        self.games: dict[Key, GameRecord] = {}
        self._players, self._size, self._test = players, games, test
        self._shares: dict[tuple[int, int], float] = {}
        """The first player's points per game in complete encounters of a match, by round and encounter."""
        self._points = Fraction()
        self._tested: list[float] = []
        """The shares that the test uses, in the order of the schedule."""
        self._state: Sprt | None = None
        """The last computed state of the test."""

    def __len__(self) -> int:
        return len(self.games)

    def add(self, game: GameRecord) -> None:
        """Add a finished game."""
        key = Key.parse(game.round)
        assert key is not None
        self.games[key] = game
        members = self._members(key)
        if len(members) == self._size and len(self._players) == 2:
            points = sum((self._first_points(member) for member in members), Fraction())
            self._points += points
            self._shares[key.round, key.encounter] = float(points / self._size)
            # In a match that can be tested, each encounter is a round of its own.
            while (following := (len(self._tested) + 1, 1)) in self._shares:
                self._tested.append(self._shares[following])

    @property
    def is_test_outdated(self) -> bool:
        """Whether :meth:`test` has to compute a new state, because more encounters are complete."""
        return self._test is not None and (self._state is None or self._state.count < len(self._tested))

    def complete_games(self) -> list[GameRecord]:
        """Return the games of complete encounters, in the order of the schedule."""
        return [game for key, game in sorted(self.games.items()) if len(self._members(key)) == self._size]

    def ending_counts(self) -> dict[str, Counter[str]]:
        """Return the number of finished games by player and ending, such as ``won by mate``."""
        counts = {name: Counter[str]() for name in self._players}
        for game in self.games.values():
            for name, points in ((game.white, game.points), (game.black, 1 - game.points)):
                word = "level" if 2 * points == 1 else "won" if 2 * points > 1 else "lost"
                counts[name][f"{word} by {game.outcome.basis.value}"] += 1
        return counts

    def test(self) -> Sprt | None:
        """Return the state of the test; None without a test."""
        test = self._test
        if test is not None and self.is_test_outdated:
            self._state = sprt(tuple(self._tested), *test.numbers, model=test.model, pairs=self._size == 2)
        return self._state

    def score(self) -> MatchScore | None:
        """Return the score of a match; None if the event has more than two players."""
        if len(self._players) != 2:
            return None
        shares, count = list(self._shares.values()), len(self._shares)
        difference = elo(shares, pairs=self._size == 2) if shares else None
        player, opponent = self._players
        return MatchScore(player, opponent, self._points, self._size * count, difference, self.test())

    def standings(self, scheme: Scheme) -> Standings | None:
        """Return the standings by complete encounters, with the test; None without a complete encounter."""
        records = self.complete_games()
        if not records:
            return None
        return replace(standings(records, scheme), sprt=self.test(), tested=self._players[0])

    def _members(self, key: Key) -> list[GameRecord]:
        """Return the finished games of an encounter.

        :param key: key of any game of the encounter.
        """
        keys = (key._replace(game=number) for number in range(1, self._size + 1))
        return [self.games[each] for each in keys if each in self.games]

    def _first_points(self, game: GameRecord) -> Fraction:
        """Return the first player's points of a game."""
        return game.points if game.white == self._players[0] else 1 - game.points
