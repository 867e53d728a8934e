"""The games of a running event, its score and its test. Only complete encounters count.

Short games end first, so a test of all games that happen to be finished would favour the quicker winner. The
test therefore uses only the encounters that precede the first incomplete encounter of the schedule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, NamedTuple

from tbgen.board.scoring import Scheme
from tbgen.games.outcome import RESULTS, Basis
from tbgen.games.pgn.splitter import RawGame
from tbgen.games.settings import GameOptions
from tbgen.games.standings.elo import Elo, Sprt, TestSettings, elo, sprt
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.tournament import Standings, standings
from tbgen.games.tagging import TaggedGame, outcome_of_tags

_NOUNS: Final = {
    Basis.SOLVED: "solving",
    Basis.BOUNDED: "proved bounds",
    Basis.ABANDONED: "abandonment",
    Basis.PLAYED: "accrued score",
    Basis.TABLE_MISSING: "accrued score (table missing)",
}
"""Nouns for those bases that are not nouns themselves."""
_GAME_ID: Final = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


class GameId(NamedTuple):
    """The numbers that identify a game of an event, as in the tag ``Round``."""

    round: int
    """Number of the round, from 1."""
    encounter: int
    """Number of the encounter within its round, from 1."""
    game: int
    """Number of the game within its encounter, from 1."""

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> GameId | None:
        """Parse the tag ``Round``; return None unless it has the form ``round.encounter.game``."""
        match = _GAME_ID.fullmatch(text)
        return None if match is None else cls(*map(int, match.groups()))


def finished_game(raw: RawGame, file: str, options: GameOptions) -> GameRecord | None:
    """Return the record of a game from its tags; None if they are not those of a finished game of an event.

    :param file: name of the file, for the record.
    """
    tags = raw.values
    record = GameRecord.of(file, TaggedGame(raw, outcome_of_tags(tags, options), None))
    if raw.flaw or record is None or GameId.parse(record.round) is None or tags.get("Result") not in RESULTS:
        return None
    return record


@dataclass(frozen=True, slots=True)
class MatchScore:
    """The score of a match between two players."""

    player: str
    opponent: str
    points: Fraction
    """The player's points in complete encounters."""
    games: int
    """Number of games in complete encounters."""
    elo: Elo | None
    """The Elo difference; None before an encounter is complete."""
    test: Sprt | None
    """The state of the test; None if there is no test."""


class Encounters:
    """The finished games of an event, grouped by encounter.

    :param players: players of the event. In a match, the score is that of the first player.
    :param encounter_size: number of games in an encounter.
    :param test: settings of the test; None for no test.
    """

    def __init__(self, players: Sequence[str], encounter_size: int, test: TestSettings | None = None) -> None:
        self.games: dict[GameId, GameRecord] = {}
        self._players, self._size, self._test = players, encounter_size, test
        self._shares: dict[tuple[int, int], float] = {}
        """The first player's points per game in complete encounters of a match, by round and encounter."""
        self._points = Fraction()
        self._sample: list[float] = []
        """The elements of ``_shares`` that the test uses, in the order of the schedule."""
        self._state: Sprt | None = None
        """The state of the test when it was last computed."""

    def __len__(self) -> int:
        return len(self.games)

    def add(self, game: GameRecord) -> None:
        """Add a finished game."""
        key = GameId.parse(game.round)
        assert key is not None
        self.games[key] = game
        members = self._members(key)
        if len(members) == self._size and len(self._players) == 2:
            points = sum((self._points_of_first_player(member) for member in members), Fraction())
            self._points += points
            self._shares[key.round, key.encounter] = float(points / self._size)
            # In a match that can be tested, each encounter is a round of its own.
            while (following := (len(self._sample) + 1, 1)) in self._shares:
                self._sample.append(self._shares[following])

    @property
    def is_test_outdated(self) -> bool:
        """Whether the state of the test has to be computed again, because more encounters are complete."""
        return self._test is not None and (self._state is None or self._state.count < len(self._sample))

    def countable_games(self) -> list[GameRecord]:
        """Return the games of complete encounters, in the order of the schedule."""
        return [game for key, game in sorted(self.games.items()) if len(self._members(key)) == self._size]

    def ending_counts(self) -> dict[str, Counter[str]]:
        """Return, for each player, the number of finished games by ending, such as ``won by mate``."""
        counts = {name: Counter[str]() for name in self._players}
        for game in self.games.values():
            for name, points in ((game.white, game.points), (game.black, 1 - game.points)):
                word = "level" if 2 * points == 1 else "won" if 2 * points > 1 else "lost"
                basis = game.outcome.basis
                counts[name][f"{word} by {_NOUNS.get(basis, basis.value)}"] += 1
        return counts

    def test(self) -> Sprt | None:
        """Return the state of the test; None if there is no test."""
        test = self._test
        if test is not None and self.is_test_outdated:
            self._state = sprt(tuple(self._sample), *test.args, model=test.model, pairs=self._size == 2)
        return self._state

    def score(self) -> MatchScore | None:
        """Return the score of the match; None if the event has more than two players."""
        if len(self._players) != 2:
            return None
        shares, count = list(self._shares.values()), len(self._shares)
        difference = elo(shares, pairs=self._size == 2) if shares else None
        player, opponent = self._players
        return MatchScore(player, opponent, self._points, self._size * count, difference, self.test())

    def standings(self, scheme: Scheme) -> Standings | None:
        """Return the standings of all players from complete encounters, with the test.

        If no encounter is complete, return None.
        """
        records = self.countable_games()
        if not records:
            return None
        return replace(
            standings(records, scheme, entrants=self._players),
            sprt=self.test(),
            tested_player=self._players[0],
        )

    def _members(self, key: GameId) -> list[GameRecord]:
        """Return the finished games of an encounter.

        :param key: numbers of any game of the encounter.
        """
        keys = (key._replace(game=number) for number in range(1, self._size + 1))
        return [self.games[each] for each in keys if each in self.games]

    def _points_of_first_player(self, game: GameRecord) -> Fraction:
        """Return the first player's points in a game."""
        return game.points if game.white == self._players[0] else 1 - game.points
