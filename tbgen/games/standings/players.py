"""What players have made: points, results, meetings, pairs of games, and the Elo differences they tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from tbgen.board.scoring import Scheme
from tbgen.games.standings.elo import Elo, elo
from tbgen.games.standings.pairs import Pair
from tbgen.games.standings.record import GameRecord

_HALVES: Final = {"1-0": 2, "0-1": 0}
"""Half points of White by the result in chess; one each if it is neither."""


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
        """Who has the other colour."""
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
    def of(cls, seats: Sequence[Seat]) -> Results:
        """Count games."""
        counts = Counter(seat.halves for seat in seats)
        points = sum((seat.points for seat in seats), Fraction())
        return cls(len(seats), points, counts[2], counts[1], counts[0])

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
    def elo(self) -> Elo | None:
        """The difference that they tell; None without a pair."""
        return elo(self.shares, pairs=True) if self.shares else None


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a player has made against another."""

    results: Results
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Player:
    """A player and all that it has made."""

    name: str
    place: int
    """Counted from 1; players whom nothing parts share one."""
    results: Results
    points: Mapping[Scheme, Fraction | None]
    """By every scheme; None where the komi of a game allows none."""
    direct: Fraction | None
    """Points in the games between all who are level with it, by percentage per game; None if nobody is, or
    by percentage if it has met none of them."""
    colours: Mapping[bool, Results]
    """As White (True) and as Black."""
    given: Mapping[bool, Mapping[int, int]]
    """How many results of which rank the player holds, as White (True) and as Black."""
    suffered: Mapping[bool, Mapping[int, int]]
    """The same for those that the opponent holds."""
    meetings: Mapping[str, Meeting]
    """By opponent."""
    shares: Sequence[float]
    """The points of each game, in order."""
    elo: Elo
    """Against the field."""
    pairs: Pairs
    """All pairs of games."""

    def balance(self, rank: int) -> int:
        """Return how many results of a rank the player has given, minus those suffered."""
        return sum(
            self.given[white].get(rank, 0) - self.suffered[white].get(rank, 0) for white in (True, False)
        )


@dataclass(slots=True)
class Row:
    """The games of a player, as they come in."""

    name: str
    seats: list[Seat] = field(default_factory=list)
    pairs: list[tuple[Seat, Seat]] = field(default_factory=list)

    @property
    def by_opponent(self) -> Mapping[str, list[Seat]]:
        """Games by opponent."""
        found: dict[str, list[Seat]] = defaultdict(list)
        for seat in self.seats:
            found[seat.opponent].append(seat)
        return found

    def total(self, scheme: Scheme) -> Fraction | None:
        """Return the points by a scheme, None if it has none for the komi of a game."""
        leads = [(seat.game.leads[scheme], seat.white) for seat in self.seats]
        ahead = Fraction()
        for lead, white in leads:
            if lead is None:
                return None
            ahead += lead if white else -lead
        return (len(leads) + ahead) / 2

    def held(self, *, given: bool) -> dict[bool, Counter[int]]:
        """Return by colour how many results of which rank the player, or the opponent, holds."""
        found: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
        for seat in self.seats:
            if (seat.game.value.white == seat.white) is given:
                found[seat.white][seat.game.value.rank] += 1
        return found

    def player(self, place: int, direct: Fraction | None) -> Player:
        """Return the player at its place."""
        shares = [float(seat.points) for seat in self.seats]
        pairs: dict[str, list[tuple[Seat, Seat]]] = defaultdict(list)
        for pair in self.pairs:
            pairs[pair[0].opponent].append(pair)
        meetings = {
            name: Meeting(Results.of(seats), Pairs.of(pairs[name]))
            for name, seats in self.by_opponent.items()
        }
        colours = {
            white: Results.of([seat for seat in self.seats if seat.white == white]) for white in (True, False)
        }
        return Player(
            self.name,
            place,
            Results.of(self.seats),
            {each: self.total(each) for each in Scheme},
            direct,
            colours,
            self.held(given=True),
            self.held(given=False),
            meetings,
            shares,
            elo(shares),
            Pairs.of(self.pairs),
        )


def rows_of(games: Iterable[GameRecord], pairs: Iterable[Pair], scheme: Scheme) -> list[Row]:
    """Return the games of each player, in the order in which players appear.

    :raises UsageError: if the scheme has no points for the komi of a game.
    """
    rows: dict[str, Row] = {}
    seats: dict[int, tuple[Seat, Seat]] = {}
    for game in games:
        share, halves = game.share(scheme), _HALVES.get(game.classical, 1)
        seats[id(game)] = Seat(game, True, share, halves), Seat(game, False, 1 - share, 2 - halves)
        for name, seat in zip((game.white, game.black), seats[id(game)], strict=True):
            rows.setdefault(name, Row(name)).seats.append(seat)
    for one, other in pairs:
        (white, black), (others_white, others_black) = seats[id(one)], seats[id(other)]
        rows[one.white].pairs.append((white, others_black))
        rows[one.black].pairs.append((black, others_white))
    return list(rows.values())
