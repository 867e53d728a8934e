"""Pairings, colours and openings: round robins, gauntlets, knockouts and Swiss tournaments.

*Knockout*: the loser of a duel is out. The first player of the list is seeded first. In each stage the best
seed that is left meets the worst one, the second best the second worst, in a bracket that keeps the two best
apart until the final; if the players are no power of two, the best go through the first stage without
playing.

A duel has as many encounters as the event has rounds. More points in them win it, by the event's scoring. If
they are level, the two play on, one encounter at a time from the next opening, until one leads after it or
:data:`MOST_EXTRA` more have been played; then the better seed goes through.

*Swiss tournament*: everybody plays every round, against somebody with about as many points. Pairs are those
of the FIDE (Dutch) System, Handbook C.04.3, as the package caissify-pairings finds them. For pairing a whole
encounter counts as one game: a point for more points in it, half a point each if they are level. The player
that is left over has a bye, which is worth a point for pairing and nothing else. The first player of the list
is the first in the order of C.04.2, and White of the first game of an encounter counts as White.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from tbgen.errors import NamedChoice, UsageError
from tbgen.extras import needs_extra
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


MOST_EXTRA: Final = 4
"""Encounters that a level duel goes on for."""


class Knockout(Schedule):
    """The rounds of a knockout: those of a stage, then one for each encounter that level duels go on for."""

    waits = True

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._places: list[str | None] = bracket(plan.players)
        """Those of the stage, two neighbours each a duel; None where nobody is."""
        self._duels: list[tuple[str, str]] = []
        """Of the stage that is on, the better seed first; no two players have more than one."""
        self._extra = 0
        """Encounters of the stage beyond those that each duel has."""

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]] | None:
        """Return the duels of a stage, each as often as it has encounters, or those that go on."""
        rounds, seed = self.plan.rounds, self.plan.players.index
        level = [duel for duel in self._duels if self._lead(duel, results) == 0]
        if level and self._extra < MOST_EXTRA:
            self._extra += 1
            return self._meet(level, [rounds + self._extra - 1])
        if self._duels:
            out = {duel[self._lead(duel, results) >= 0] for duel in self._duels}
            left = [None if player in out else player for player in self._places]
            self._places = [one or other for one, other in _neighbours(left)]
        if len(self._places) == 1:
            self.winner = self._places[0]
            return None
        self._extra = 0
        self._duels = [
            (one, other) if seed(one) < seed(other) else (other, one)
            for one, other in _neighbours(self._places)
            if one is not None and other is not None
        ]
        return self._meet(self._duels, range(rounds))

    def _meet(self, duels: Sequence[tuple[str, str]], turns: Iterable[int]) -> list[tuple[str, str]]:
        """Return the encounters of some duels; where each is a single game, colours change in turn.

        :param turns: their numbers in a duel, counted from 0.
        """
        single = self.plan.games == 1 and self.plan.swap
        return [(b, a) if single and turn % 2 else (a, b) for turn in turns for a, b in duels]

    def _lead(self, duel: tuple[str, str], results: Results) -> Fraction:
        """Return by how many points the better seed leads."""
        games = {key for key, game in self.fixtures.items() if {game.white, game.black} == set(duel)}
        return self.lead(duel[0], {key: results[key] for key in games & results.keys()})


def bracket(players: Sequence[str]) -> list[str | None]:
    """Return players by place, the best seed first; opponents stand side by side.

    >>> bracket("123456")
    ['1', None, '4', '5', '2', None, '3', '6']
    """
    order = [0]
    while len(order) < len(players):
        size = 2 * len(order)
        order = [seed for place in order for seed in (place, size - 1 - place)]
    return [players[seed] if seed < len(players) else None for seed in order]


def _neighbours(places: Sequence[str | None]) -> list[tuple[str | None, str | None]]:
    return list(zip(places[::2], places[1::2], strict=True))


class Swiss(Schedule):
    """The rounds of a Swiss tournament.

    :raises UsageError: if there are too few players for so many rounds.
    :raises MissingExtraError: if the package that pairs is not installed.
    """

    waits = True

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, len(plan.players) // 2)
        most = len(plan.players) - 1 + len(plan.players) % 2
        if plan.rounds > most:
            raise UsageError(
                f"a Swiss tournament of {len(plan.players)} has at most {most} rounds, in which nobody meets "
                "anybody twice: ask for fewer with --rounds, or for more games with --tournament round-robin"
            )
        with needs_extra("a Swiss tournament", "match"):
            from caissify_pairings import generate_pairings
        self._pair = generate_pairings
        self._players: dict[str, dict[str, Any]] = {
            name: {"id": number, "starting_number": number, "name": name, "rating": 0, "score": 0.0}
            | {"bye_count": 0, "color_hist": [], "float_history": []}
            for number, name in enumerate(plan.players, 1)
        }
        """The players as the package has them."""
        self._pairs: Sequence[tuple[str, str]] = ()
        """Those of the last round."""
        self._met: set[tuple[int, int]] = set()

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]]:
        """Return the pairs of players of a round."""
        if number > 1:
            self._score(number - 1, results)
        names = self.plan.players
        found = self._pair(
            "dutch",
            list(self._players.values()),
            self._met,
            number,
            self.plan.rounds,
            bye_value=1.0,
            max_byes_per_player=1,
            initial_color="white",
        )
        met = [(pair["white_id"], pair["black_id"]) for pair in found if pair["black_id"] is not None]
        pairs = [(names[white - 1], names[black - 1]) for white, black in met]
        if len(pairs) < len(names) // 2:
            raise UsageError(
                f"round {number} cannot be paired with opponents that have not met: ask for fewer rounds"
            )
        self._pairs = pairs
        self._met.update(met)
        return pairs

    def _score(self, number: int, results: Results) -> None:
        """Add what a round has come to, the last that was paired, to the players."""
        before = {name: player["score"] for name, player in self._players.items()}
        for place, (white, black) in enumerate(self._pairs, 1):
            games = {key: points for key, points in results.items() if key[:2] == (number, place)}
            lead, ahead = self.lead(white, games), before[white] - before[black]
            points = ((lead > 0) - (lead < 0) + 1) / 2
            self._add(white, points, "white", _float(ahead))
            self._add(black, 1 - points, "black", _float(-ahead))
        for name in set(self._players) - set(itertools.chain.from_iterable(self._pairs)):
            self._add(name, 1, "none", "down")  # C.04.3, article 1.4.3: as of a player that floats down
            self._players[name]["bye_count"] += 1

    def _add(self, name: str, points: float, colour: str, floated: str) -> None:
        player = self._players[name]
        player["score"] += points
        player["color_hist"].append(colour)
        player["float_history"].append(floated)


def _float(ahead: float) -> str:
    """Return the float of a player that is so many points ahead of the opponent."""
    return "down" if ahead > 0 else "up" if ahead < 0 else "none"
