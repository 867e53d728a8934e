"""Pairings, colours and openings: round robins, gauntlets, knockouts and Swiss tournaments.

*Knockout*: the loser of a duel is eliminated. Players are seeded in the order of the list. In each stage the
best remaining seed meets the worst, the second best the second worst, in a bracket that keeps the two best
apart until the final. If the number of players is not a power of two, the best seeds get byes in the first
stage.

A duel has as many encounters as the event has rounds, and is won by points, by the event's scoring. If the
points are level, the two play further encounters, each from the next opening, until one player leads or
:data:`MOST_EXTRA` further encounters have been played; then the better seed advances.

*Swiss tournament*: all players play in every round, against opponents with about as many points. Pairings
follow the FIDE (Dutch) System, Handbook C.04.3, as implemented by the package caissify-pairings. For pairing,
an encounter counts as one game: a point for more points in it, half a point each if they are level. A player
without an opponent gets a bye, which counts as a point for pairing and as nothing else. The order of the list
is the order of C.04.2. White in the first game of an encounter counts as White.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

from tbgen.errors import UsageError
from tbgen.extras import needs_extra
from tbgen.games.standings.encounters import Key
from tbgen.match.openings import Opening, Openings
from tbgen.match.settings import EventSettings, Format

Pair: TypeAlias = tuple[str, str]
"""The players of an encounter; the first has White in its first game."""
Rounds: TypeAlias = Generator[Sequence[Pair], None, str | None]
"""Generator of the encounters of each round; returns the winner of a knockout, otherwise None."""
Lead: TypeAlias = Callable[[str, str], Fraction]
"""Function that returns the lead in points of the first of two players, in all their games so far."""


@dataclass(frozen=True, slots=True)
class Fixture:
    """A game of the schedule."""

    key: Key
    number: int
    """Number of the game in the event, from 1."""
    white: str
    black: str
    opening: Opening

    @property
    def names(self) -> tuple[str, int, str, str]:
        """Key, number, White and Black, as messages contain them."""
        return str(self.key), self.number, self.white, self.black


class Schedule:
    """The games of an event, round after round.

    :param points: returns White's points in a finished game.

    :raises UsageError: if a Swiss tournament has too few players for its rounds.
    :raises MissingExtraError: if the package for Swiss pairings is not installed.
    """

    winner: str | None = None
    """The winner of a knockout, once it is over."""

    def __init__(
        self, settings: EventSettings, openings: Openings, points: Callable[[Key], Fraction]
    ) -> None:
        self.waits = settings.format in (Format.KNOCKOUT, Format.SWISS)
        """Whether the pairings of a round depend on the results of the previous one."""
        self._settings, self._openings, self._points = settings, openings, points
        self._games: list[Fixture] = []
        self._round = self._encounters = 0
        encounters: int | None = None
        match settings.format:
            case Format.KNOCKOUT:
                self._rounds = knockout(settings, self._lead)
            case Format.SWISS:
                self._rounds, encounters = swiss(settings, self._lead), len(settings.engines) // 2
            case form:
                players, seeds = settings.players, settings.seeds
                pairs = list(gauntlet(players, seeds) if form is Format.GAUNTLET else berger(players))
                self._rounds, encounters = fixed(settings, pairs), len(pairs)
        self.total = None if encounters is None else settings.rounds * settings.games * encounters
        """Number of games; None if it depends on results."""

    def next_round(self) -> Sequence[Fixture] | None:
        """Return the games of the next round, in the order of play; None if the event is over."""
        try:
            pairs = next(self._rounds)
        except StopIteration as end:
            self.winner = end.value
            return None
        settings, first = self._settings, len(self._games)
        self._round += 1
        for place, (one, other) in enumerate(pairs, 1):
            opening = self._openings[self._round - 1 if self._openings.one_per_round else self._encounters]
            for game in range(1, settings.games + 1):
                turned = settings.reverse != (settings.swap and game % 2 == 0)
                white, black = (other, one) if turned else (one, other)
                key = Key(self._round, place, game)
                self._games.append(Fixture(key, len(self._games) + 1, white, black, opening))
            self._encounters += 1
        return self._games[first:]

    def _lead(self, one: str, other: str) -> Fraction:
        met = [game for game in self._games if {game.white, game.black} == {one, other}]
        ahead = [(game.white == one, 2 * self._points(game.key) - 1) for game in met]
        return sum((lead if white else -lead for white, lead in ahead), Fraction())


def fixed(settings: EventSettings, pairs: Sequence[Pair]) -> Rounds:
    """Yield the same pairs in every round; if they play a single game, with colours reversed each time."""
    for number in range(settings.rounds):
        turned = settings.games == 1 and settings.swap and number % 2
        yield [(b, a) for a, b in pairs] if turned else pairs
    return None


def gauntlet(players: Sequence[str], seeds: int) -> Iterator[Pair]:
    """Yield each of the first players, whose number is ``seeds``, with all others."""
    for other in players[seeds:]:
        for seed in players[:seeds]:
            yield seed, other


def berger(players: Sequence[str]) -> Iterator[Pair]:
    """Yield all pairs of players in the order of Berger's tables, White first.

    The tables are those of FIDE Handbook C.05, annex 1: the last player is fixed, the others rotate.

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
"""Maximum number of further encounters of a level duel."""


def knockout(settings: EventSettings, lead: Lead) -> Rounds:
    """Yield the rounds of a knockout; each stage has one round, and one for each further encounter."""
    players, rounds = settings.players, settings.rounds
    places = bracket(players)  # the places of the stage, of which two neighbours form a duel

    def meet(duels: Sequence[Pair], turns: Iterable[int]) -> Sequence[Pair]:
        """Return the encounters of some duels; if each is a single game, with colours reversed in turn."""
        single = settings.games == 1 and settings.swap
        return [(b, a) if single and turn % 2 else (a, b) for turn in turns for a, b in duels]

    while len(places) > 1:
        duels = [
            (one, other) if players.index(one) < players.index(other) else (other, one)
            for one, other in _neighbours(places)
            if one is not None and other is not None
        ]
        yield meet(duels, range(rounds))
        for extra in range(MOST_EXTRA):
            if level := [duel for duel in duels if not lead(*duel)]:
                yield meet(level, [rounds + extra])
        losers = {duel[lead(*duel) >= 0] for duel in duels}
        remaining = [None if player in losers else player for player in places]
        places = [one or other for one, other in _neighbours(remaining)]
    return places[0]


def bracket(players: Sequence[str]) -> list[str | None]:
    """Return the players by their places in the bracket, where opponents are neighbours; None for a bye.

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


def swiss(settings: EventSettings, lead: Lead) -> Rounds:
    """Return the rounds of a Swiss tournament.

    :raises UsageError: if the tournament has too few players for its rounds.
    :raises MissingExtraError: if the package for pairings is not installed.
    """
    count, rounds = len(settings.players), settings.rounds
    most = count - 1 + count % 2
    if rounds > most:
        raise UsageError(
            f"a Swiss tournament of {count} players has at most {most} rounds, because nobody meets the same "
            "opponent twice: ask for fewer with --rounds, or for more games with --tournament round-robin"
        )
    with needs_extra("a Swiss tournament", "match"):
        from caissify_pairings import generate_pairings
    return _swiss_rounds(settings, lead, generate_pairings)


def _swiss_rounds(settings: EventSettings, lead: Lead, pair: Callable[..., Any]) -> Rounds:
    """Yield the rounds of a Swiss tournament.

    :param pair: the pairing function of the package.
    """
    names, rounds = settings.players, settings.rounds
    players: dict[str, dict[str, Any]] = {
        name: {"id": number, "starting_number": number, "name": name, "rating": 0, "score": 0.0}
        | {"bye_count": 0, "color_hist": [], "float_history": []}
        for number, name in enumerate(names, 1)
    }  # in the form that the package requires
    met: set[tuple[int, int]] = set()
    for number in range(1, rounds + 1):
        found = pair(
            "dutch",
            list(players.values()),
            met,
            number,
            rounds,
            bye_value=1.0,
            max_byes_per_player=1,
            initial_color="white",
        )
        numbers = [(each["white_id"], each["black_id"]) for each in found if each["black_id"] is not None]
        if len(numbers) < len(names) // 2:
            raise UsageError(
                f"round {number} has no pairing in which all opponents are new: ask for fewer rounds"
            )
        met.update(numbers)
        pairs = [(names[white - 1], names[black - 1]) for white, black in numbers]
        yield pairs
        _add_round(players, pairs, lead)
    return None


def _add_round(players: dict[str, dict[str, Any]], pairs: Sequence[Pair], lead: Lead) -> None:
    """Add the results of a round to the players."""
    byes = players.keys() - {name for pair in pairs for name in pair}
    results = [(name, 1.0, "none", "down") for name in byes]  # C.04.3, article 1.4.3: a bye is a downfloat
    for white, black in pairs:
        ahead, difference = lead(white, black), players[white]["score"] - players[black]["score"]
        points = ((ahead > 0) - (ahead < 0) + 1) / 2
        results.append((white, points, "white", _float(difference)))
        results.append((black, 1 - points, "black", _float(-difference)))
    for name, points, colour, floated in results:
        player = players[name]
        player["score"] += points
        player["color_hist"].append(colour)
        player["float_history"].append(floated)
        player["bye_count"] += name in byes


def _float(ahead: float) -> str:
    """Return the float of a player, by his lead in points over his opponent."""
    return "down" if ahead > 0 else "up" if ahead < 0 else "none"
