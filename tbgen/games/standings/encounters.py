"""The games of a running event: whole encounters count, and the test takes them in the order of the schedule.

Short games end first, so a test of the games that happen to be finished would favour the quicker winner. It
takes the encounters from the first one up to the first that is not finished, and no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

from msgspec import Struct

from tbgen.board.scoring import Scheme
from tbgen.games.pgn.reader import RESULTS
from tbgen.games.pgn.splitter import RawGame
from tbgen.games.settings import GameOptions
from tbgen.games.standings.elo import Elo, elo
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.sprt import EloModel, Sprt, sprt
from tbgen.games.standings.tournament import Standings, standings
from tbgen.games.tagging.outcome_tags import outcome_of_tags
from tbgen.games.tagging.tagged import TaggedGame


class Key(NamedTuple):
    """The place of a game in its event, as the tag ``Round`` has it."""

    round: int
    """Counted from 1."""
    encounter: int
    """Of a round, counted from 1: two players, who play one opening."""
    game: int
    """Of an encounter, counted from 1."""

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> Key | None:
        """Read the tag; None if it has another form."""
        parts = text.split(".")
        if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
            return None
        return cls(*map(int, parts))


@dataclass(frozen=True, slots=True)
class FinishedGame:
    """A finished game of an event."""

    key: Key
    record: GameRecord

    @property
    def points(self) -> Fraction:
        """White's points, exactly, by the event's scoring."""
        return self.record.share(self.record.outcome.settings.scoring.scheme)


def finished_game(raw: RawGame, file: str, options: GameOptions) -> FinishedGame | None:
    """Return what the tags of a game say; None unless they are those of a finished game of an event.

    :param file: the name of the file, for the record.
    """
    tags = raw.values
    key, told = Key.parse(tags.get("Round", "")), TaggedGame(raw, outcome_of_tags(tags, options), None)
    record = GameRecord.of(file, told)
    if key is None or record is None or tags.get("Result") not in RESULTS:
        return None
    return FinishedGame(key, record)


class TestSettings(Struct, frozen=True):
    """The sequential test that ends a match."""

    __test__: ClassVar[bool] = False  # no test of pytest

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: EloModel = EloModel.LOGISTIC


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
        self.games: dict[Key, FinishedGame] = {}
        self._players, self._size, self._test = players, games, test
        self._encounters: dict[tuple[int, int], list[FinishedGame]] = {}
        self._shares: dict[tuple[int, int], float] = {}
        self._points = Fraction()
        self._tested: list[float] = []
        self._found: Sprt | None = None
        """The state of the test when it was last computed."""

    def __contains__(self, key: object) -> bool:
        return key in self.games

    def __len__(self) -> int:
        return len(self.games)

    def add(self, game: FinishedGame) -> None:
        """Add a finished game."""
        self.games[game.key] = game
        place = game.key[:2]
        members = self._encounters.setdefault(place, [])
        members.append(game)
        if len(members) == self._size and len(self._players) == 2:
            points = sum((self._part(one) for one in members), Fraction())
            self._points += points
            self._shares[place] = float(points / self._size)
            # In a match each encounter is a round of its own.
            while (next_place := (len(self._tested) + 1, 1)) in self._shares:
                self._tested.append(self._shares[next_place])

    @property
    def untested(self) -> bool:
        """Whether :meth:`test` would have to compute."""
        return self._test is not None and (self._found is None or self._found.count < len(self._tested))

    def whole(self) -> Iterator[FinishedGame]:
        """Yield the games of whole encounters, in the order of the schedule."""
        for place in sorted(self._encounters):
            members = self._encounters[place]
            if len(members) == self._size:
                yield from sorted(members, key=lambda one: one.key)

    def test(self) -> Sprt | None:
        """Return the state of the test; None without one."""
        test = self._test
        if test is not None and self.untested:
            numbers = (test.elo0, test.elo1, test.alpha, test.beta)
            self._found = sprt(tuple(self._tested), *numbers, model=test.model, pairs=self._size == 2)
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
        records = [one.record for one in self.whole()]
        return replace(standings(records, scheme), sprt=self.test()) if records else None

    def _part(self, one: FinishedGame) -> Fraction:
        """Return the first player's points of a game."""
        return one.points if one.record.white == self._players[0] else 1 - one.points
