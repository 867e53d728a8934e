"""What players have made: points, results, meetings, pairs of games, and the Elo differences they tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

from tbgen.board.scoring import Scheme
from tbgen.errors import UsageError
from tbgen.games.outcome import RESULTS
from tbgen.games.standings.elo import Elo, elo
from tbgen.games.standings.record import GameRecord, Pair

_COLOURS: Final = (True, False)


@dataclass(frozen=True, slots=True)
class Seat:
    """A game as one of its players sees it."""

    game: GameRecord
    white: bool
    points: Fraction
    """Of the player, by the scheme of the standings, exactly."""
    halves: int
    """Half points in chess: 0, 1 or 2."""

    @property
    def opponent(self) -> str:
        """The name of the player with the other colour."""
        return self.game.black if self.white else self.game.white


@dataclass(frozen=True, slots=True)
class Results:
    """What some games of a player come to."""

    games: int
    points: Fraction
    """By the scheme of the standings."""
    wins: int
    """By the result in chess, as draws and losses."""
    draws: int
    losses: int

    @classmethod
    def of(cls, seats: Sequence[Seat], byes: int = 0) -> Results:
        """Count games, and byes as won ones."""
        counts = Counter(seat.halves for seat in seats)
        points = sum((seat.points for seat in seats), Fraction(byes))
        return cls(len(seats) + byes, points, counts[2] + byes, counts[1], counts[0])

    @property
    def share(self) -> Fraction:
        """Points per game; 0 without a game."""
        return self.points / self.games if self.games else Fraction()

    @property
    def classical(self) -> Fraction:
        """Points in chess: one for a win, a half for a draw."""
        return self.wins + Fraction(self.draws, 2)


@dataclass(frozen=True, slots=True)
class Pairs:
    """What pairs of games come to: the same start with either colour."""

    shares: Sequence[float]
    """Points per game of each pair, in the order of the files."""
    halves: Sequence[int]
    """How many pairs brought 0, 1, 2, 3 and 4 half points in chess (pentanomial)."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[Seat, Seat]]) -> Pairs:
        """Count pairs."""
        shares, halves = [], [0] * 5
        for one, other in pairs:
            shares.append(float((one.points + other.points) / 2))
            halves[one.halves + other.halves] += 1
        return cls(shares, halves)

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return len(self.shares)

    @property
    def elo(self) -> Elo | None:
        """The difference that they tell; None without a pair."""
        return elo(self.shares, pairs=True) if self.shares else None


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a player has made against another."""

    player: str
    opponent: str
    results: Results
    pairs: Pairs


@dataclass(frozen=True)
class Player:
    """A player and all that it has made."""

    name: str
    seats: list[Seat] = field(default_factory=list)
    """Its games, in order."""
    paired: list[tuple[Seat, Seat]] = field(default_factory=list)
    """Its pairs of games."""
    byes: int = 0
    """Games without an opponent, which count as won."""
    place: int = 0
    """Counted from 1; level players share one."""
    tiebreaks: Mapping[str, Fraction | int | None] = field(default_factory=dict)
    """What orders players, and then what breaks ties, by the keys of tiebreaks."""

    @cached_property
    def results(self) -> Results:
        """Of all its games and byes."""
        return Results.of(self.seats, self.byes)

    @cached_property
    def points(self) -> Mapping[Scheme, Fraction | None]:
        """By every scheme; None where the komi of a game allows none."""
        return {scheme: self._total(scheme) for scheme in Scheme}

    @cached_property
    def colours(self) -> Mapping[bool, Results]:
        """As White (True) and as Black."""
        return {white: Results.of([seat for seat in self.seats if seat.white == white]) for white in _COLOURS}

    @cached_property
    def given(self) -> Mapping[bool, Mapping[int, int]]:
        """The number of results that the player holds, by rank, as White (True) and as Black."""
        return self._count_held(given=True)

    @cached_property
    def suffered(self) -> Mapping[bool, Mapping[int, int]]:
        """The same for those that the opponent holds."""
        return self._count_held(given=False)

    @cached_property
    def meetings(self) -> Mapping[str, Meeting]:
        """By opponent."""
        seats, pairs = defaultdict[str, list[Seat]](list), defaultdict[str, list[tuple[Seat, Seat]]](list)
        for seat in self.seats:
            seats[seat.opponent].append(seat)
        for pair in self.paired:
            pairs[pair[0].opponent].append(pair)
        return {
            name: Meeting(self.name, name, Results.of(met), Pairs.of(pairs[name]))
            for name, met in seats.items()
        }

    @property
    def shares(self) -> Sequence[float]:
        """The points of each game, in order."""
        return [float(seat.points) for seat in self.seats]

    @cached_property
    def elo(self) -> Elo:
        """Against the field."""
        return elo(self.shares)

    @cached_property
    def pairs(self) -> Pairs:
        """What all its pairs of games come to."""
        return Pairs.of(self.paired)

    def _total(self, scheme: Scheme) -> Fraction | None:
        try:
            shares = [(seat.white, seat.game.share(scheme)) for seat in self.seats]
        except UsageError:
            return None
        return sum((share if white else 1 - share for white, share in shares), Fraction(self.byes))

    def _count_held(self, *, given: bool) -> dict[bool, Counter[int]]:
        found: dict[bool, Counter[int]] = {white: Counter() for white in _COLOURS}
        for seat in self.seats:
            if (seat.game.value.white == seat.white) is given:
                found[seat.white][seat.game.value.rank] += 1
        return found


def players_of(games: Iterable[GameRecord], pairs: Iterable[Pair], scheme: Scheme) -> list[Player]:
    """Return the players, without their places, in the order in which they appear.

    :raises UsageError: if the scheme has no points for the komi of a game.
    """
    players: dict[str, Player] = {}
    seats: dict[int, tuple[Seat, Seat]] = {}
    for game in games:
        share, halves = game.share(scheme), RESULTS.get(game.classical, 1)
        seats[id(game)] = Seat(game, True, share, halves), Seat(game, False, 1 - share, 2 - halves)
        for name, seat in zip((game.white, game.black), seats[id(game)], strict=True):
            players.setdefault(name, Player(name)).seats.append(seat)
    for one, other in pairs:
        (white, black), (others_white, others_black) = seats[id(one)], seats[id(other)]
        players[one.white].paired.append((white, others_black))
        players[one.black].paired.append((black, others_white))
    return list(players.values())


def with_byes(players: Sequence[Player]) -> list[Player]:
    """Return the players with a bye for each game that one has fewer than the others."""
    most = max((len(player.seats) for player in players), default=0)
    return [replace(player, byes=most - len(player.seats)) for player in players]
