"""Who plays whom, with which colours and from which opening: the formats whose games are known beforehand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from tbgen.errors import UsageError, quote
from tbgen.games.standings.encounters import Key
from tbgen.match.openings import Opening, Openings

__all__ = ["Fixture", "Format", "Plan", "Schedule"]


@dataclass(frozen=True, slots=True)
class Fixture:
    """A game to be played."""

    key: Key
    number: int
    """Of the event, counted from 1."""
    white: str
    black: str
    opening: Opening


class Format(StrEnum):
    """How the players of an event meet."""

    ROUND_ROBIN = "round-robin"
    """Everybody meets everybody; with two players it is a match."""
    GAUNTLET = "gauntlet"
    """The first player, or some of the first, meets the others."""
    KNOCKOUT = "knockout"
    SWISS = "swiss"

    @classmethod
    def parse(cls, text: str) -> Format:
        """Read a name, also as Cute Chess writes it (``roundrobin``).

        :raises UsageError: if there is no format of that name.
        """
        try:
            return cls(text.lower().replace("roundrobin", "round-robin").replace("knock-out", "knockout"))
        except ValueError:
            names = ", ".join(each.value for each in cls)
            raise UsageError(f"{quote(text)} is no format of events: expected one of {names}") from None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a schedule is made of."""

    players: Sequence[str]
    rounds: int
    """Of a knockout the encounters of a duel, of the others rounds."""
    games: int
    """Of an encounter: 2 with colours reversed, or 1."""
    openings: Openings
    shared_openings: bool = False
    """Whether all encounters of a round play the same opening, and not each its own."""
    seeds: int = 1
    """How many players of a gauntlet meet the others."""


Results = Mapping[Key, Fraction]
"""White's points of each finished game."""


class Schedule(ABC):
    """The games of an event, round after round."""

    waits = False
    """Whether a round is known only when the one before it has been played."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.fixtures: dict[Key, Fixture] = {}
        """All games so far."""
        self._encounters = 0

    @property
    def winner(self) -> str | None:
        """Who has won, if that is not for the standings to say."""
        return None

    @property
    def total(self) -> int | None:
        """How many games there are; None if results decide."""
        return None

    @abstractmethod
    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]] | None:
        """Return who meets in a round, the first White in the first game; None if the event is over.

        :param number: of the round, counted from 1.
        :param results: of the rounds before, if the schedule waits.
        """

    def round(self, number: int, results: Results) -> Sequence[Fixture] | None:
        """Return the games of a round, in the order of play; None if the event is over."""
        pairs = self.encounters(number, results)
        if pairs is None:
            return None
        found = list(self._games(number, pairs))
        self.fixtures |= {fixture.key: fixture for fixture in found}
        return found

    def _games(self, number: int, pairs: Sequence[tuple[str, str]]) -> Iterator[Fixture]:
        shared, games = self.plan.shared_openings, self.plan.games
        for place, (one, other) in enumerate(pairs, 1):
            opening = self.plan.openings[number - 1 if shared else self._encounters]
            for game in range(1, games + 1):
                white, black = (one, other) if game % 2 else (other, one)
                count = self._encounters * games + game
                yield Fixture(Key(number, place, game), count, white, black, opening)
            self._encounters += 1


class RoundRobin(Schedule):
    """Everybody meets everybody once in each round, by Berger's tables.

    The pairs come from FIDE Handbook C.05, annex 1: the last player stays, the others go round.
    """

    @property
    def total(self) -> int:
        """How many games there are."""
        count = len(self.plan.players)
        return self.plan.rounds * self.plan.games * count * (count - 1) // 2

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]] | None:
        """Return who meets in a round."""
        if number > self.plan.rounds:
            return None
        pairs = list(berger(self.plan.players))
        # Where an encounter is a single game, colours change from round to round.
        return [(b, a) for a, b in pairs] if self.plan.games % 2 and number % 2 == 0 else pairs


def berger(players: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield all pairs of players in the order of Berger's tables, the first of each with White.

    >>> list(berger("1234"))
    [('1', '4'), ('2', '3'), ('4', '3'), ('1', '2'), ('2', '4'), ('3', '1')]
    """
    ring: list[str | None] = [*players, *([None] if len(players) % 2 else [])]
    *moving, last = ring
    half = len(ring) // 2
    for turn in range(len(moving)):
        first = turn * half % len(moving)
        turned = moving[first:] + moving[:first]
        for at in range(half):
            one, other = (turned[0], last) if at == 0 else (turned[at], turned[-at])
            if at == 0 and turn % 2:
                one, other = other, one
            if one is not None and other is not None:
                yield one, other


class Gauntlet(Schedule):
    """The first player, or each of the first ones, meets all others once in each round."""

    @property
    def total(self) -> int:
        """How many games there are."""
        seeds = self.plan.seeds
        return self.plan.rounds * self.plan.games * seeds * (len(self.plan.players) - seeds)

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]] | None:
        """Return who meets in a round."""
        if number > self.plan.rounds:
            return None
        players, seeds = self.plan.players, self.plan.seeds
        pairs = [(seed, other) for other in players[seeds:] for seed in players[:seeds]]
        return [(b, a) for a, b in pairs] if self.plan.games % 2 and number % 2 == 0 else pairs
