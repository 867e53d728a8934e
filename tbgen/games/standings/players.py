"""The results of players: points, meetings with other players, pairs of games, and Elo differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

from tbgen.board.scoring import Scheme
from tbgen.documents import Document
from tbgen.errors import UsageError
from tbgen.games.outcome import RESULTS
from tbgen.games.standings.elo import Elo, elo
from tbgen.games.standings.record import GameRecord, Pair

_COLOUR_NAMES: Final = ((True, "White"), (False, "Black"))


@dataclass(frozen=True, slots=True)
class Seat:
    """A game from the point of view of one of its players."""

    game: GameRecord
    is_white: bool
    """Whether the player has White."""
    points: Fraction
    """Exact points of the player under the scheme of the standings."""
    half_points: int
    """Half points of the player in chess: 0, 1 or 2."""

    @property
    def opponent(self) -> str:
        """The name of the player with the other colour."""
        return self.game.black if self.is_white else self.game.white

    @property
    def holds_result(self) -> bool:
        """Whether the player holds the result."""
        return self.game.value.white == self.is_white


class Results(Document):
    """Sums over all or some games of a player."""

    games: int
    points: Fraction
    """Points under the scheme of the standings."""
    wins: int
    """Number of games won in chess."""
    draws: int
    """Number of games drawn in chess."""
    losses: int
    """Number of games lost in chess."""

    @property
    def share(self) -> Fraction:
        """Points per game; 0 if there are no games."""
        return self.points / self.games if self.games else Fraction()

    @property
    def classical(self) -> Fraction:
        """Points in chess: one for a win, a half for a draw."""
        return self.wins + Fraction(self.draws, 2)


@dataclass(frozen=True, slots=True)
class PairResults:
    """The results of pairs of games. A pair is two games from the same start with colours reversed."""

    shares: Sequence[float]
    """Points per game in each pair, in the order of the files."""
    pentanomial: Sequence[int]
    """Numbers of pairs with 0, 1, 2, 3 and 4 half points in chess."""

    @property
    def count(self) -> int:
        """Number of pairs."""
        return len(self.shares)

    @property
    def elo(self) -> Elo | None:
        """The Elo difference that follows from the pairs; None if there are no pairs."""
        return elo(self.shares, pairs=True) if self.shares else None


@dataclass(frozen=True)
class GamesOfPlayer:
    """Games of a player: all games, the games with one colour, or the games against one opponent."""

    name: str
    """Name of the player."""
    seats: list[Seat] = field(default_factory=list)
    """The games, in the order of the files."""
    seat_pairs: list[tuple[Seat, Seat]] = field(default_factory=list)
    """The pairs among the games, as the player's seats in both games."""
    byes: int = 0
    """Number of byes, which count as won games."""
    selection: str = ""
    """The colour or the opponent by which the games are selected; empty for all games."""

    @cached_property
    def results(self) -> Results:
        """The results of the games, including byes."""
        counts = Counter(seat.half_points for seat in self.seats)
        points = sum((seat.points for seat in self.seats), Fraction(self.byes))
        games = len(self.seats) + self.byes
        wins = counts[2] + self.byes
        return Results(games=games, points=points, wins=wins, draws=counts[1], losses=counts[0])

    @cached_property
    def pairs(self) -> PairResults:
        """The results of the pairs."""
        pair_counts = Counter(earlier.half_points + later.half_points for earlier, later in self.seat_pairs)
        shares = [float((earlier.points + later.points) / 2) for earlier, later in self.seat_pairs]
        return PairResults(shares, [pair_counts[half_points] for half_points in range(5)])

    @cached_property
    def held_counts(self) -> Counter[int]:
        """Number of results held by the player, for each rank."""
        return Counter(seat.game.value.rank for seat in self.seats if seat.holds_result)

    @cached_property
    def suffered_counts(self) -> Counter[int]:
        """Number of results held by the opponent, for each rank."""
        return Counter(seat.game.value.rank for seat in self.seats if not seat.holds_result)


@dataclass(frozen=True)
class Player(GamesOfPlayer):
    """A player with all his games, his place and his tiebreaks."""

    place: int = 0
    """Place in the standings, from 1. Level players share a place."""
    tiebreaks: Mapping[str, Fraction | int | None] = field(default_factory=dict)
    """The player's number for each tiebreak, by key. The first entry is not a tiebreak: it is the number by
    which all players are ordered first."""

    @cached_property
    def points(self) -> Mapping[Scheme, Fraction | None]:
        """Points under each scheme; None if the scheme has no points for the komi of a game."""
        return {scheme: self._total(scheme) for scheme in Scheme}

    @cached_property
    def by_side(self) -> Mapping[bool, GamesOfPlayer]:
        """The games as White (True) and the games as Black (False)."""
        games = {white: GamesOfPlayer(self.name, selection=colour) for white, colour in _COLOUR_NAMES}
        for seat in self.seats:
            games[seat.is_white].seats.append(seat)
        return games

    @cached_property
    def meetings(self) -> Mapping[str, GamesOfPlayer]:
        """Games by opponent."""
        games = {seat.opponent: GamesOfPlayer(self.name, selection=seat.opponent) for seat in self.seats}
        for seat in self.seats:
            games[seat.opponent].seats.append(seat)
        for pair in self.seat_pairs:
            games[pair[0].opponent].seat_pairs.append(pair)
        return games

    @property
    def shares(self) -> Sequence[float]:
        """Points of each game, in the order of the files."""
        return [float(seat.points) for seat in self.seats]

    @cached_property
    def elo(self) -> Elo | None:
        """The Elo difference against all opponents; None if there are no games."""
        return elo(self.shares) if self.seats else None

    def _total(self, scheme: Scheme) -> Fraction | None:
        try:
            sides_and_shares = [(seat.is_white, seat.game.points_by(scheme)) for seat in self.seats]
        except UsageError:
            return None
        return sum((share if white else 1 - share for white, share in sides_and_shares), Fraction(self.byes))


def players_of(
    games: Iterable[GameRecord], pairs: Iterable[Pair], scheme: Scheme, entrants: Iterable[str] = ()
) -> list[Player]:
    """Return the players, not yet ranked, in the order in which they first appear.

    :param entrants: names of players who come first, and who need not have played.

    :raises UsageError: if the scheme has no points for the komi of a game.
    """
    players = {name: Player(name) for name in entrants}
    seats: dict[int, tuple[Seat, Seat]] = {}
    for game in games:
        share = game.points_by(scheme)
        half_points = RESULTS.get(game.classical, 1)
        seats[id(game)] = Seat(game, True, share, half_points), Seat(game, False, 1 - share, 2 - half_points)
        for name, seat in zip((game.white, game.black), seats[id(game)], strict=True):
            players.setdefault(name, Player(name)).seats.append(seat)
    for earlier, later in pairs:
        (first_white, first_black), (second_white, second_black) = seats[id(earlier)], seats[id(later)]
        players[earlier.white].seat_pairs.append((first_white, second_black))
        players[earlier.black].seat_pairs.append((first_black, second_white))
    return list(players.values())


def with_byes(players: Sequence[Player], byes: Mapping[str, int] | None = None) -> list[Player]:
    """Return the players with byes.

    :param byes: number of byes by player, where it is not 0. None: every player gets the byes that he lacks
        to the greatest number of games of any player.
    """
    max_games = max((len(player.seats) for player in players), default=0)
    bye_counts = {player.name: max_games - len(player.seats) for player in players} if byes is None else byes
    return [replace(player, byes=bye_counts.get(player.name, 0)) for player in players]
