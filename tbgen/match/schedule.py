"""Pairings, colours and openings: round robins, gauntlets, knockouts and Swiss tournaments.

*Knockout*: :func:`tbgen.games.standings.knockout.knockout_rounds` describes the rules. Each encounter of a
duel has the next opening.

*Swiss tournament*: all players play in every round, against opponents with similar points. Pairings follow
the FIDE (Dutch) System, Handbook C.04.3, as implemented by the package caissify-pairings. For pairing, an
encounter counts as one game: the player with more points in the encounter gets one point, or both players get
half a point. A player without an opponent gets a bye, which counts as a point, but only for pairing. The last
round may be paired otherwise than an earlier one, so pairings depend on the number of rounds. The tournament
ends early if the rules allow no pairing of a round. Players are ranked in the order of the list, which serves
as the initial order of C.04.2. The player who has White in the first game of an encounter counts as White.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tbgen.errors import UsageError
from tbgen.extras import needs_extra
from tbgen.games.standings.encounters import GameId
from tbgen.games.standings.knockout import Lead, Pairing, Rounds, knockout_rounds
from tbgen.games.standings.record import Format
from tbgen.match.event_settings import EventSettings
from tbgen.match.openings import Opening, Openings


@dataclass(frozen=True, slots=True)
class Fixture:
    """A game in the schedule."""

    key: GameId
    number: int
    """Number of the game in the event, from 1."""
    white: str
    black: str
    opening: Opening

    @property
    def message_fields(self) -> tuple[str, int, str, str]:
        """Key, number and the names of White and Black, in the form that messages require."""
        return str(self.key), self.number, self.white, self.black


class Schedule:
    """The games of an event, created round by round.

    :param points: function that returns White's points in the finished game with the given key.

    :raises UsageError: if a Swiss tournament has too few players for its rounds.
    :raises MissingExtraError: if the package for Swiss pairings is not installed.
    """

    def __init__(
        self, settings: EventSettings, openings: Openings, points: Callable[[GameId], Fraction]
    ) -> None:
        self._settings = settings
        self._openings = openings
        self._points = points
        self.rounds_when_paired: dict[int, int] = {}
        """For each round of a Swiss tournament that an earlier run has begun, by number: the number of rounds
        of the tournament for which it was paired."""
        self._games: list[Fixture] = []
        self._round = self._encounters = 0
        match settings.format:
            case Format.KNOCKOUT:
                alternates = settings.games == 1 and settings.swap
                self._rounds = knockout_rounds(settings.event_format, self._lead, alternates=alternates)
            case Format.SWISS:
                self._rounds = swiss_rounds(settings, self._lead, self.rounds_when_paired)
            case Format.GAUNTLET:
                self._rounds = fixed_rounds(settings, list(gauntlet(settings.players, settings.seeds)))
            case _:
                self._rounds = fixed_rounds(settings, list(berger(settings.players)))
        self.total = settings.event_format.total
        """Total number of games; None if this number depends on results."""

    def next_round(self) -> Sequence[Fixture] | None:
        """Return the games of the next round, in the order of play; None if the event is over.

        :raises UsageError: if the text of an opening cannot be parsed, or its moves already end the game.
        """
        pairs = next(self._rounds, None)
        if pairs is None:
            return None
        settings = self._settings
        first_game = len(self._games)
        self._round += 1
        for encounter, (player, opponent) in enumerate(pairs, 1):
            opening = self._openings[self._round - 1 if self._openings.one_per_round else self._encounters]
            for game in range(1, settings.games + 1):
                is_turned = settings.reverse != (settings.swap and game % 2 == 0)
                white, black = (opponent, player) if is_turned else (player, opponent)
                key = GameId(self._round, encounter, game)
                self._games.append(Fixture(key, len(self._games) + 1, white, black, opening))
            self._encounters += 1
        return self._games[first_game:]

    def _lead(self, player: str, opponent: str) -> Fraction:
        games = [game for game in self._games if {game.white, game.black} == {player, opponent}]
        leads = [(game.white == player, 2 * self._points(game.key) - 1) for game in games]
        return sum((lead if white else -lead for white, lead in leads), Fraction())


def fixed_rounds(settings: EventSettings, pairs: Sequence[Pairing]) -> Rounds:
    """Yield the same pairs in every round; with one game per encounter, colours alternate between rounds."""
    for index in range(settings.rounds):
        yield [(b, a) for a, b in pairs] if settings.games == 1 and settings.swap and index % 2 else pairs


def gauntlet(players: Sequence[str], seeds: int) -> Iterator[Pairing]:
    """Yield the pairs of a gauntlet: each of the first ``seeds`` players with each of the other players."""
    for other in players[seeds:]:
        for seed in players[:seeds]:
            yield seed, other


def berger(players: Sequence[str]) -> Iterator[Pairing]:
    """Yield all pairs of players in the order of Berger's tables, White first.

    The tables are in FIDE Handbook C.05, annex 1: the last player is fixed, and the other players rotate.

    >>> list(berger("1234"))
    [('1', '4'), ('2', '3'), ('4', '3'), ('1', '2'), ('2', '4'), ('3', '1')]
    """
    ring: list[str | None] = [*players, *([None] if len(players) % 2 else [])]
    *rotating_players, fixed_player = ring
    half = len(ring) // 2
    for round_index in range(len(rotating_players)):
        start = round_index * half % len(rotating_players)
        order = rotating_players[start:] + rotating_players[:start]
        for pair in range(half):
            white, black = (order[0], fixed_player) if pair == 0 else (order[pair], order[-pair])
            if pair == 0 and round_index % 2:
                white, black = black, white
            if white is not None and black is not None:
                yield white, black


def swiss_rounds(settings: EventSettings, lead: Lead, rounds_when_paired: Mapping[int, int]) -> Rounds:
    """Return the rounds of a Swiss tournament.

    :param rounds_when_paired: the attribute of :class:`Schedule`.

    :raises UsageError: if the tournament has too few players for its rounds.
    :raises MissingExtraError: if the package for pairings is not installed.
    """
    count = len(settings.players)
    rounds = settings.rounds
    max_rounds = count - 1 + count % 2
    if rounds > max_rounds:
        raise UsageError(
            f"a Swiss tournament of {count} players has at most {max_rounds} rounds, because nobody meets "
            "the same opponent twice: ask for fewer with --rounds, or for more games with --tournament "
            "round-robin"
        )
    with needs_extra("a Swiss tournament", "match"):
        from caissify_pairings import generate_pairings
    # Otherwise the package would print a warning about a round that cannot be paired.
    logging.getLogger("caissify_pairings").setLevel(logging.CRITICAL)
    return _generate_rounds(settings, lead, rounds_when_paired, generate_pairings)


def _generate_rounds(
    settings: EventSettings, lead: Lead, rounds_when_paired: Mapping[int, int], generate_pairings: Any
) -> Rounds:
    """Yield the rounds of a Swiss tournament, up to the first round that cannot be paired.

    :param generate_pairings: the function ``generate_pairings`` of the package caissify-pairings.
    """
    names = settings.players
    players: dict[str, dict[str, Any]] = {
        name: {"id": number, "starting_number": number, "name": name, "rating": 0, "score": 0.0}
        | {"bye_count": 0, "color_hist": [], "float_history": []}
        for number, name in enumerate(names, 1)
    }  # in the form that the package requires
    met_pairs: set[tuple[int, int]] = set()
    for round_number in range(1, settings.rounds + 1):
        pairings = generate_pairings(
            "dutch",
            list(players.values()),
            met_pairs,
            round_number,
            rounds_when_paired.get(round_number, settings.rounds),
            bye_value=1.0,
            max_byes_per_player=1,
            initial_color="white",
        )
        ids = [(pair["white_id"], pair["black_id"]) for pair in pairings if pair["black_id"] is not None]
        if len(ids) < len(names) // 2:
            return
        met_pairs.update(ids)
        pairs = [(names[white - 1], names[black - 1]) for white, black in ids]
        yield pairs
        _add_round(players, pairs, lead)


def _add_round(players: dict[str, dict[str, Any]], pairs: Sequence[Pairing], lead: Lead) -> None:
    """Update the players' entries with the results of a round."""
    byes = players.keys() - {name for pair in pairs for name in pair}
    results = [(name, 1.0, "none", "down") for name in byes]  # C.04.3, article 1.4.3: a bye is a downfloat
    for white, black in pairs:
        ahead = lead(white, black)
        difference = players[white]["score"] - players[black]["score"]
        points = ((ahead > 0) - (ahead < 0) + 1) / 2
        results.append((white, points, "white", _fide_float(difference)))
        results.append((black, 1 - points, "black", _fide_float(-difference)))
    for name, points, colour, floated in results:
        player = players[name]
        player["score"] += points
        player["color_hist"].append(colour)
        player["float_history"].append(floated)
        player["bye_count"] += name in byes


def _fide_float(ahead: float) -> str:
    """Return the float (a term of FIDE) of a player who is ``ahead`` points ahead of the opponent."""
    return "down" if ahead > 0 else "up" if ahead < 0 else "none"
