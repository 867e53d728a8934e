"""What players have made: points, results, meetings, pairs of games, and the Elo differences they tell."""

from __future__ import annotations

from collections import Counter
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

_COLOURS: Final = ((True, "White"), (False, "Black"))


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

    @property
    def held(self) -> bool:
        """Whether the player holds the result."""
        return self.game.value.white == self.white


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

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return len(self.shares)

    @property
    def elo(self) -> Elo | None:
        """The difference that they tell; None without a pair."""
        return elo(self.shares, pairs=True) if self.shares else None


@dataclass(frozen=True)
class GamesOfPlayer:
    """Games of a player: all of them, those with one colour, or those against one opponent."""

    name: str
    """Of the player."""
    seats: list[Seat] = field(default_factory=list)
    """In order."""
    paired: list[tuple[Seat, Seat]] = field(default_factory=list)
    """The pairs among them."""
    byes: int = 0
    """Games without an opponent, which count as won."""
    common: str = ""
    """The colour, or the opponent; empty of all games."""

    @cached_property
    def results(self) -> Results:
        """What they come to, byes among them."""
        counts = Counter(seat.halves for seat in self.seats)
        points = sum((seat.points for seat in self.seats), Fraction(self.byes))
        games, wins = len(self.seats) + self.byes, counts[2] + self.byes
        return Results(games, points, wins, counts[1], counts[0])

    @cached_property
    def pairs(self) -> Pairs:
        """What the pairs come to."""
        halves = Counter(one.halves + other.halves for one, other in self.paired)
        shares = [float((one.points + other.points) / 2) for one, other in self.paired]
        return Pairs(shares, [halves[number] for number in range(5)])

    @cached_property
    def given(self) -> Counter[int]:
        """The number of results that the player holds, by rank."""
        return Counter(seat.game.value.rank for seat in self.seats if seat.held)

    @cached_property
    def suffered(self) -> Counter[int]:
        """The same for those that the opponent holds."""
        return Counter(seat.game.value.rank for seat in self.seats if not seat.held)


@dataclass(frozen=True)
class Player(GamesOfPlayer):
    """A player and all that it has made."""

    place: int = 0
    """Counted from 1; level players share one."""
    tiebreaks: Mapping[str, Fraction | int | None] = field(default_factory=dict)
    """What orders players, and then what breaks ties, by the keys of tiebreaks."""

    @cached_property
    def points(self) -> Mapping[Scheme, Fraction | None]:
        """By every scheme; None where the komi of a game allows none."""
        return {scheme: self._total(scheme) for scheme in Scheme}

    @cached_property
    def colours(self) -> Mapping[bool, GamesOfPlayer]:
        """As White (True) and as Black."""
        found = {white: GamesOfPlayer(self.name, common=colour) for white, colour in _COLOURS}
        for seat in self.seats:
            found[seat.white].seats.append(seat)
        return found

    @cached_property
    def meetings(self) -> Mapping[str, GamesOfPlayer]:
        """By opponent."""
        found = {seat.opponent: GamesOfPlayer(self.name, common=seat.opponent) for seat in self.seats}
        for seat in self.seats:
            found[seat.opponent].seats.append(seat)
        for pair in self.paired:
            found[pair[0].opponent].paired.append(pair)
        return found

    @property
    def shares(self) -> Sequence[float]:
        """The points of each game, in order."""
        return [float(seat.points) for seat in self.seats]

    @cached_property
    def elo(self) -> Elo:
        """Against the field."""
        return elo(self.shares)

    def _total(self, scheme: Scheme) -> Fraction | None:
        try:
            shares = [(seat.white, seat.game.share(scheme)) for seat in self.seats]
        except UsageError:
            return None
        return sum((share if white else 1 - share for white, share in shares), Fraction(self.byes))


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
