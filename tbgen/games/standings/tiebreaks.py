"""The tiebreaks of standings, each of which is a small function and a row of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from fractions import Fraction
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, Final

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.errors import UsageError, quote
from tbgen.games.outcome import Basis
from tbgen.games.standings.players import Player, Seat
from tbgen.games.standings.record import GameRecord, games_by_round
from tbgen.games.standings.table import Column, signed_text

_EVEN_SHARE: Final = Fraction(1, 2)
"""Points per game at which a player without direct encounters is ranked: as if he had scored half."""
_SHOWN_RANKS: Final = (1, 2, 3, 4)
"""The ranks of stalemate, G1.0, G1.5 and G2.0. Their balances always have a column."""
_CRASH_BASES: Final = (Basis.ABANDONED,)
"""Bases that TCEC's program counts as crashes."""
_FORFEIT_BASES: Final = (*_CRASH_BASES, Basis.TIME_FORFEIT, Basis.ILLEGAL_MOVE, Basis.FORFEIT)
_BALANCE_NAME: Final = re.compile(r"g\d{1,3}(\.[05])?", re.ASCII)

Number = Fraction | int | None
"""A player's number for a tiebreak; None if the number is undefined."""
_LevelPlayers = Sequence[Player]
_NumberFunction = Callable[[Player, _LevelPlayers, "TieData"], Number]

BALANCES: Final = "balances"
"""Name for all balances: of stalemates, G1.0, G1.5 and so on, up to the highest score that occurs."""


class OrderBy(StrEnum):
    """The number by which players are ordered before ties are broken."""

    PERCENT = "percent"
    """Points per game; equal to ``points`` if all players have equal numbers of games."""
    POINTS = "points"
    """Points under the scheme of the standings."""
    CHESS = "chess"
    """Points in chess."""


@dataclass(frozen=True)
class TieData:
    """The data for tiebreaks: all players, and how they are ordered before ties are broken."""

    order_by: OrderBy
    scheme: Scheme
    players: Mapping[str, Player]
    """The players by name."""

    @classmethod
    def of(cls, players: Iterable[Player], order_by: OrderBy, scheme: Scheme) -> TieData:
        """Return the data for the given players."""
        return cls(order_by, scheme, {player.name: player for player in players})

    @cached_property
    def rounds(self) -> Sequence[Sequence[GameRecord]]:
        """The games of each round, as :func:`games_by_round` returns them."""
        seats = (seat for player in self.players.values() for seat in player.seats)
        return games_by_round(seat.game for seat in seats if seat.is_white)

    @property
    def leading_tiebreak(self) -> Tiebreak:
        """The number by which players are ordered first, in the form of a tiebreak between all players."""
        return TIEBREAKS["classical" if self.order_by is OrderBy.CHESS else "points"]

    def points_of(self, seat: Seat) -> Fraction:
        """Return a player's points in a game.

        They are his points in chess if players are ordered by points in chess, else his points under the
        scheme.
        """
        return Fraction(seat.half_points, 2) if self.order_by is OrderBy.CHESS else seat.points

    def total(self, player: Player) -> Fraction:
        """Return the sum of a player's points over all games, as :meth:`points_of` defines them."""
        results = player.results
        return results.classical if self.order_by is OrderBy.CHESS else results.points


_TermFunction = Callable[[TieData, GameRecord, GScore, bool], Fraction | int]
"""Function that returns a game's term in a player's sum. Its arguments are the data, the game, the value to
assume for the game, and whether the player is White."""


class Dependence(Enum):
    """The data that a tiebreak depends on. This shows whether unproved values of games may affect the
    tiebreak."""

    NOTHING = "results in chess, moves, and how games ended"
    POINTS = "the points that come first"
    LEVEL = "who is level, and the points of games among them"
    VALUES = "values of games"


@dataclass(frozen=True, slots=True)
class Tiebreak:
    """A number that separates level players, together with its column in the standings."""

    key: str
    """Name, a single word."""
    title: str
    """Heading of the column; empty for no column."""
    words: str
    """Description in the sentence that states the order; empty if another tiebreak's description covers this
    one."""
    number_of: _NumberFunction
    """Function that returns the number of a player. Its arguments are the player, all players (including him)
    who are level after the previous tiebreaks, and the data. docs/scoring.md shows its docstring, if any,
    after ``words``."""
    dependence: Dependence = Dependence.NOTHING
    """The data that the number depends on. Unproved values among them make places uncertain."""
    low_best: bool = False
    """Whether the smaller number is better; never together with ``term``."""
    show: Callable[[Any], str] | None = None
    """Function that formats the number for readers, as in :class:`Column`."""
    per_game: bool = True
    """Whether the number is divided by the number of games if players are ordered by points per game; False
    for a mean, a share or a place."""
    undefined_weight: float | Fraction = -math.inf
    """Weight of a player whose number is undefined."""
    term: _TermFunction | None = None
    """If the number is a sum over games and depends on their values, the function that returns the term of
    one game; else None. A better value must never add less. If ``rank`` is None, each bye adds 1."""
    rank: int | None = None
    """Rank of the results that the sum counts; None if it includes all results."""

    @property
    def column(self) -> Column:
        """The column of the tiebreak in a table of players."""
        return Column(self.key, self.title, lambda player: player.tiebreaks[self.key], self.show)

    def divisor(self, player: Player, data: TieData) -> int:
        """Return the divisor by which a player's number is divided: his number of games, or 1."""
        return max(player.results.games, 1) if self.per_game and data.order_by is OrderBy.PERCENT else 1

    def weight(self, number: Number, player: Player, data: TieData) -> float | Fraction:
        """Return the number by which players are finally compared; greater is better."""
        if number is None:
            return self.undefined_weight
        return Fraction(-number if self.low_best else number, self.divisor(player, data))

    def compare(self, one: Player, other: Player, data: TieData) -> int:
        """Return 1 if this tiebreak puts the first player ahead, -1 if behind, 0 if both are level."""
        weight = self.weight(one.tiebreaks[self.key], one, data)
        other_weight = self.weight(other.tiebreaks[self.key], other, data)
        return (weight > other_weight) - (weight < other_weight)


def _points_sum(key: str, title: str, words: str, scheme: Scheme | None = None) -> Tiebreak:
    """Return the tiebreak whose number is the sum of points over all games. A bye counts as one point.

    :param scheme: scheme of the points; None for the scheme of the standings.
    """

    def term(data: TieData, game: GameRecord, value: GScore, is_white: bool) -> Fraction:
        share = game.points_by(scheme or data.scheme, value)
        return share if is_white else 1 - share

    def total(player: Player, _: _LevelPlayers, data: TieData) -> Number:
        """Return the sum over all games; a bye counts as one point."""
        terms = (term(data, seat.game, seat.game.value, seat.is_white) for seat in player.seats)
        return sum(terms, Fraction(player.byes))

    return Tiebreak(key, title, words, total, Dependence.VALUES, term=term)


def _direct_points(player: Player, level_players: _LevelPlayers, data: TieData) -> Fraction | None:
    """Return the sum of the points against other level players, or the mean if players are ordered by points
    per game. Players who stay level are not compared again among themselves."""
    names = {other.name for other in level_players} - {player.name}
    met = [seat for seat in player.seats if seat.opponent in names]
    if not names or (data.order_by is OrderBy.PERCENT and not met):
        return None
    points = sum(map(data.points_of, met), Fraction())
    return points / len(met) if data.order_by is OrderBy.PERCENT else points


def _direct_places(player: Player, level_players: _LevelPlayers, data: TieData) -> int | None:
    """Return the place among level players in direct encounters (C.07 of 2026, article 6).

    Of several games against one opponent, the mean counts (6.1.2). Players who are still level are compared
    again in the games among them (6.2). If not all have met, a player who would be first whatever the results
    of the missing games is placed first, and then the next such player. The others are compared again (6.3).
    """
    if len(level_players) == 1:
        return None
    placed_above = 0
    while True:
        means_by_name = {other.name: _mean_points(other, level_players, data) for other in level_players}
        minima = {name: sum(means, Fraction()) for name, means in means_by_name.items()}
        rivals = len(level_players) - 1
        maxima = {key: minima[key] + rivals - len(means) for key, means in means_by_name.items()}
        own_minimum = minima[player.name]
        if minima == maxima:
            placed_above += sum(points > own_minimum for points in minima.values())
            group = [other for other in level_players if minima[other.name] == own_minimum]
        else:
            group = sorted(level_players, key=lambda other: minima[other.name], reverse=True)
            while len(group) > 1 and minima[group[0].name] > max(maxima[other.name] for other in group[1:]):
                if group.pop(0).name == player.name:
                    return 1 + placed_above
                placed_above += 1
        if len(group) in (1, len(level_players)):
            return 1 + placed_above
        level_players = group


def _mean_points(player: Player, level_players: _LevelPlayers, data: TieData) -> list[Fraction]:
    """Return a player's mean points against each level opponent whom he has met."""
    games = {other.name: list[Fraction]() for other in level_players if other.name != player.name}
    for seat in player.seats:
        if seat.opponent in games:
            games[seat.opponent].append(data.points_of(seat))
    return [sum(points, Fraction()) / len(points) for points in games.values() if points]


def _sonneborn_berger(player: Player, _: _LevelPlayers, data: TieData) -> Fraction:
    """Return the sum over all games of the points in the game times all points of the opponent."""
    terms = (data.points_of(seat) * data.total(data.players[seat.opponent]) for seat in player.seats)
    return sum(terms, Fraction())


def _buchholz(low_cut: int, high_cut: int, player: Player, _: _LevelPlayers, data: TieData) -> Fraction:
    """Return the sum over all games of the opponent's points. Cuts leave out the one or two lowest terms. The
    median leaves out the lowest and the highest.

    The virtual opponent in a bye has as many points as the player, but at most half a point per game (C.07 of
    2026, article 16.4).

    :param low_cut: number of lowest terms to omit.
    :param high_cut: number of highest terms to omit.
    """
    games = player.results.games
    terms = [data.total(data.players[seat.opponent]) for seat in player.seats]
    terms += [min(data.total(player), Fraction(games, 2))] * player.byes
    terms.sort()
    return sum(terms[low_cut : max(len(terms) - high_cut, low_cut)], Fraction())


def _koya(player: Player, _: _LevelPlayers, data: TieData) -> Fraction:
    """Return the points against opponents who have scored at least half of the possible points."""

    def is_strong(other: Player) -> bool:
        return 2 * data.total(other) >= other.results.games

    points = (data.points_of(seat) for seat in player.seats if is_strong(data.players[seat.opponent]))
    return sum(points, Fraction())


def _progressive(player: Player, _: _LevelPlayers, data: TieData) -> Fraction:
    """Return the sum of the player's total points after each game, by rounds. Byes count in rounds without a
    game; without numbers of rounds, games count in the order of the files, and byes last."""
    seats = {id(seat.game): seat for seat in player.seats}
    rounds = [[seats[id(game)] for game in games if id(game) in seats] for games in data.rounds]
    idle_count = sum(not round_seats for round_seats in rounds)
    byes = player.byes
    points: list[Fraction] = []
    for round_seats in rounds or [player.seats]:
        points += map(data.points_of, round_seats)
        if rounds and not round_seats and byes:
            count = min(byes, -(-player.byes // idle_count))
            points += [Fraction(1)] * count
            byes -= count
    return sum(accumulate([*points, *[Fraction(1)] * byes]), Fraction())


def _loss_count(bases: Sequence[Basis], player: Player, _: _LevelPlayers, data: TieData) -> int:
    """Return the number of games lost by a crash or a forfeit. A crash is a disconnection or a stalled
    connection. A forfeit is a crash, or a loss on time, by an illegal move, or off the board without a stated
    reason.

    :param bases: the bases of the games to count.
    """
    return sum(not seat.half_points and seat.game.outcome.basis in bases for seat in player.seats)


def _moves(half_points: int, player: Player, _: _LevelPlayers, data: TieData) -> Fraction | None:
    """Return the mean number of moves of games with this result and a tag ``PlyCount``, if there are any.

    :param half_points: half points of the player in the games.
    """
    lengths = [seat.game.move_count for seat in player.seats if seat.half_points == half_points]
    known_lengths = [length for length in lengths if length is not None]
    return Fraction(sum(known_lengths), len(known_lengths)) if known_lengths else None


def _wins(is_white: bool | None, player: Player, _: _LevelPlayers, data: TieData) -> int:
    """Return the number of games won in chess.

    :param is_white: whether to count games as White or as Black; None to count all.
    """
    return (player if is_white is None else player.by_side[is_white]).results.wins


def balance(rank: int) -> Tiebreak:
    """Return the tiebreak that counts results of a rank: those given minus those suffered."""

    def term(_: TieData, __: GameRecord, value: GScore, is_white: bool) -> int:
        return 0 if value.rank != rank else 1 if value.white == is_white else -1

    def number_of(player: Player, _: _LevelPlayers, __: TieData) -> int:
        return player.held_counts[rank] - player.suffered_counts[rank]

    score = GScore(rank, True)
    name, results = ("stalemates", "stalemates") if rank == 1 else (str(score).lower(), str(score))
    title = f"{score} +-"
    words = f"{results} given minus suffered"
    return Tiebreak(name, title, words, number_of, Dependence.VALUES, show=signed_text, term=term, rank=rank)


_TIEBREAK_LIST: Final = (
    _points_sum("points", "points", "points"),
    Tiebreak("classical", "classical", "points in chess (classical)", lambda p, *_: p.results.classical),
    _points_sum("rmobility", "r-mobility", "exponential points (r-mobility)", Scheme.EXPONENTIAL),
    Tiebreak(
        "direct",
        "direct",
        "points of direct encounters (direct)",
        _direct_points,
        Dependence.LEVEL,
        per_game=False,
        undefined_weight=_EVEN_SHARE,
    ),
    Tiebreak(
        "direct-fide",
        "DE",
        "places by direct encounters as FIDE has them (DE)",
        _direct_places,
        Dependence.LEVEL,
        low_best=True,
        per_game=False,
    ),
    Tiebreak("wins", "+", "wins (+)", partial(_wins, None)),
    Tiebreak("black-wins", "B wins", "wins with Black", partial(_wins, False)),
    Tiebreak("double-wins", "2 wins", "pairs won twice", lambda p, *_: p.pairs.pentanomial[4]),
    Tiebreak("sb", "SB", "Sonneborn-Berger (SB)", _sonneborn_berger, Dependence.POINTS),
    Tiebreak("buchholz", "BH", "Buchholz (BH)", partial(_buchholz, 0, 0), Dependence.POINTS),
    Tiebreak("buchholz-cut1", "BH-C1", "Buchholz cut 1 (BH-C1)", partial(_buchholz, 1, 0), Dependence.POINTS),
    Tiebreak("buchholz-cut2", "BH-C2", "Buchholz cut 2 (BH-C2)", partial(_buchholz, 2, 0), Dependence.POINTS),
    Tiebreak(
        "buchholz-median1", "BH-M1", "median Buchholz (BH-M1)", partial(_buchholz, 1, 1), Dependence.POINTS
    ),
    Tiebreak("koya", "Koya", "points against the better half (Koya)", _koya, Dependence.POINTS),
    Tiebreak(
        "progressive", "progr.", "the sum of progressive points (progr.)", _progressive, Dependence.POINTS
    ),
    Tiebreak("crashes", "crashes", "fewest crashes", partial(_loss_count, _CRASH_BASES), low_best=True),
    Tiebreak("forfeits", "forfeits", "fewest forfeits", partial(_loss_count, _FORFEIT_BASES), low_best=True),
    Tiebreak("games", "games", "fewest games", lambda p, *_: p.results.games, low_best=True, per_game=False),
    Tiebreak(
        "won-moves",
        "m won",
        "fewest moves of won games (m won)",
        partial(_moves, 2),
        low_best=True,
        per_game=False,
    ),
    Tiebreak("lost-moves", "m lost", "most moves of lost games (m lost)", partial(_moves, 0), per_game=False),
)
TIEBREAKS: Final[Mapping[str, Tiebreak]] = {row.key: row for row in (*_TIEBREAK_LIST, balance(1))}
"""The tiebreaks by name. The balances ``g1.0`` and so on are not included."""


def parse_names(text: str) -> tuple[str, ...]:
    """Parse names of tiebreaks, separated by commas.

    :raises UsageError: if a name is not the name of a tiebreak.
    """
    parsed_names = tuple(name.strip().lower() for name in text.split(","))
    for name in parsed_names:
        if name != BALANCES:
            tiebreak(name)
    return parsed_names


def tiebreak(name: str) -> Tiebreak:
    """Return the tiebreak with the given name.

    :raises UsageError: if no tiebreak has this name.
    """
    if name in TIEBREAKS:
        return TIEBREAKS[name]
    if _BALANCE_NAME.fullmatch(name):
        return balance(GScore(name).rank)
    expected = ", ".join((*TIEBREAKS, BALANCES))
    raise UsageError(f"{quote(name)} is not a tiebreak: expected some of {expected}, or scores such as g1.0")


def tiebreaks(names: Iterable[str], players: Iterable[Player]) -> list[Tiebreak]:
    """Return the tiebreaks with the given names, without duplicates.

    :param players: the players. Their results determine which balances there are.
    """
    rows: dict[str, Tiebreak] = {}
    for name in names:
        named_rows = _balances(players) if name == BALANCES else [tiebreak(name)]
        rows |= {row.key: row for row in named_rows if row.key not in rows}
    return list(rows.values())


def _balances(players: Iterable[Player]) -> list[Tiebreak]:
    """Return the balances of all ranks that occur, except that of mate.

    Only the first two have a description, and only the first four a column.
    """
    ranks = {rank for player in players for rank in player.held_counts if rank}
    rows = [balance(rank) for rank in sorted({*ranks, *_SHOWN_RANKS})]
    words = {1: "the same for G1.0, and so on"}
    return [
        replace(row, words=row.words if not i else words.get(i, ""), title=row.title if i < 4 else "")
        for i, row in enumerate(rows)
    ]
