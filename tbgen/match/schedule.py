"""Pairings, colours and openings, and the formats whose games are known beforehand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tbgen.errors import NamedChoice
from tbgen.games.standings.encounters import Key
from tbgen.match.openings import Opening, Openings


@dataclass(frozen=True, slots=True)
class Fixture:
    """A game to be played."""

    key: Key
    number: int
    """Of the event, counted from 1."""
    white: str
    black: str
    opening: Opening

    @property
    def names(self) -> tuple[str, int, str, str]:
        """Key, number, White and Black, as messages have them."""
        return str(self.key), self.number, self.white, self.black


class Format(NamedChoice, what="a format of events", swisstcec="swiss"):
    """How the players of an event meet."""

    ROUND_ROBIN = "round-robin"
    """Everybody meets everybody; with two players it is a match."""
    GAUNTLET = "gauntlet"
    """The first player, or some of the first, meets the others."""
    KNOCKOUT = "knockout"
    SWISS = "swiss"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a schedule is made of."""

    players: Sequence[str]
    rounds: int
    """Of a knockout the encounters of a duel, of the others rounds."""
    games: int
    """Of an encounter: 2 with colours reversed, or 1."""
    openings: Openings
    seeds: int = 1
    """How many players of a gauntlet meet the others."""
    swap: bool = True
    """Whether colours are reversed in turn."""
    reverse: bool = False
    """Whether White and Black are exchanged everywhere."""


Results = Mapping[Key, Fraction]
"""White's points of each finished game."""


class Schedule(ABC):
    """The games of an event, round after round.

    :param encounters: number of encounters of a round; None if results decide that, and about the end.
    """

    waits = False
    """Whether a round is known only when the one before it has been played."""
    winner: str | None = None
    """The player that has won, if that is not for the standings to say."""

    def __init__(self, plan: Plan, encounters: int | None = None) -> None:
        self.plan = plan
        self.total = None if encounters is None else plan.rounds * plan.games * encounters
        """How many games there are; None if results decide."""
        self.fixtures: dict[Key, Fixture] = {}
        """All games so far."""
        self._encounters = 0

    @abstractmethod
    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]] | None:
        """Return the pairs of players of a round, White of the first game first; None if the event is over.

        :param number: of the round, counted from 1.
        :param results: of the rounds before, if the schedule waits.
        """

    def round(self, number: int, results: Results) -> Sequence[Fixture] | None:
        """Return the games of a round, in the order of play; None if the event is over."""
        over = self.total is not None and number > self.plan.rounds
        pairs = None if over else self.encounters(number, results)
        if pairs is None:
            return None
        plan, openings, games, found = self.plan, self.plan.openings, self.plan.games, list[Fixture]()
        for place, (one, other) in enumerate(pairs, 1):
            opening = openings[number - 1 if openings.shared else self._encounters]
            for game in range(1, games + 1):
                turned = plan.reverse != (plan.swap and game % 2 == 0)
                white, black = (other, one) if turned else (one, other)
                count = self._encounters * games + game
                found.append(Fixture(Key(number, place, game), count, white, black, opening))
            self._encounters += 1
        self.fixtures |= {fixture.key: fixture for fixture in found}
        return found

    def lead(self, player: str, results: Results) -> Fraction:
        """Return by how many points a player leads in games that it has played."""
        ahead = [(self.fixtures[key].white == player, 2 * points - 1) for key, points in results.items()]
        return sum((lead if white else -lead for white, lead in ahead), Fraction())


class FixedSchedule(Schedule):
    """Some pairs meet once in each round; where that is for a single game, colours change each time.

    :param pairs: the first of each has White in the first game.
    """

    def __init__(self, plan: Plan, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(plan, len(pairs))
        self._pairs = pairs

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]]:
        """Return the pairs of players of a round."""
        turned = self.plan.games == 1 and number % 2 == 0 and self.plan.swap
        return [(b, a) for a, b in self._pairs] if turned else self._pairs


def round_robin(plan: Plan) -> Schedule:
    """Return the schedule in which everybody meets everybody once in each round, by Berger's tables.

    The pairs come from FIDE Handbook C.05, annex 1: the last player stays, the others go round.
    """
    return FixedSchedule(plan, list(berger(plan.players)))


def gauntlet(plan: Plan) -> Schedule:
    """Return the schedule in which the first player, or each of the first ones, meets all others."""
    seeds, others = plan.players[: plan.seeds], plan.players[plan.seeds :]
    return FixedSchedule(plan, [(seed, other) for other in others for seed in seeds])


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
