"""The tiebreaks of standings, each a small function and a row of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any, Final

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.errors import UsageError, quote
from tbgen.games.outcome import Basis
from tbgen.games.standings.players import Player, Seat
from tbgen.games.standings.record import GameRecord
from tbgen.games.standings.table import Column, signed

_EVEN_SHARE: Final = Fraction(1, 2)
"""Share of points of a player who counts as even with other players."""
_SHOWN_RANKS: Final = (1, 2, 3, 4)
"""Ranks whose balances always have a column: stalemate, G1.0, G1.5, G2.0."""
_CRASH_BASES: Final = (Basis.ABANDONED,)
"""Bases that TCEC's program counts as crashes: disconnections and stalled connections, not losses on time."""
_FORFEIT_BASES: Final = (*_CRASH_BASES, Basis.TIME_FORFEIT, Basis.ILLEGAL_MOVE, Basis.FORFEIT)
_BALANCE_NAME: Final = re.compile(r"g\d{1,3}(\.[05])?", re.ASCII)


class Lead(StrEnum):
    """The number by which players are ordered before ties are broken."""

    PERCENT = "percent"
    """Points per game, which is equivalent to points if all have played the same number of games."""
    POINTS = "points"
    """The sum of points."""
    CHESS = "chess"
    """The sum of points in chess."""


@dataclass(frozen=True)
class Field:
    """The data for tiebreaks: all players, and the number by which they are ordered."""

    lead: Lead
    scheme: Scheme
    players: Mapping[str, Player]
    """The players by name."""

    @classmethod
    def of(cls, players: Iterable[Player], lead: Lead, scheme: Scheme) -> Field:
        """Return the field of some players."""
        return cls(lead, scheme, {player.name: player for player in players})

    @property
    def leading_tiebreak(self) -> Tiebreak:
        """The number by which players are ordered first, as a tiebreak between all players."""
        return TIEBREAKS["classical" if self.lead is Lead.CHESS else "points"]

    def points_of(self, seat: Seat) -> Fraction:
        """Return a player's points in a game: in chess if these order players, else by the scheme."""
        return Fraction(seat.halves, 2) if self.lead is Lead.CHESS else seat.points

    def total(self, player: Player) -> Fraction:
        """Return the sum of a player's points, as :meth:`points_of` defines them, over all games."""
        results = player.results
        return results.classical if self.lead is Lead.CHESS else results.points


Number = Fraction | int | None
"""The number of a player by a tiebreak; None if it is undefined."""
_LevelPlayers = Sequence[Player]
_Value = Callable[[Player, _LevelPlayers, "Field"], Number]
_Term = Callable[[Field, GameRecord, GScore, bool], Fraction | int]
"""Function that returns a game's term in a sum, from field, game, value and whether the player is White."""


class Dependence(Enum):
    """The way in which a tiebreak depends on values of games, which may be unproved."""

    NOTHING = "results in chess, moves, and how games ended"
    POINTS = "the points that come first"
    LEVEL = "who is level, and the points of games among them"
    VALUES = "values of games"


@dataclass(frozen=True, slots=True)
class Tiebreak:
    """A number that separates level players, and its column in the standings."""

    key: str
    """Name, one word."""
    title: str
    """Heading of the column; empty for no column."""
    words: str
    """Description in the sentence on the order of players; empty if another tiebreak's words cover it."""
    value: _Value
    """Function that returns the number of a player, given all players level by the previous tiebreaks,
    including himself."""
    depends: Dependence = Dependence.NOTHING
    """Dependence on values of games. It makes places uncertain if values are unproved."""
    fewest: bool = False
    """Whether the smaller number is better."""
    show: Callable[[Any], str] | None = None
    """Function that formats the number, as in :class:`Column`."""
    per_game: bool = True
    """Whether the order by points per game divides the number by the number of games."""
    undefined_weight: float | Fraction = -math.inf
    """Weight of a player whose number is undefined."""
    term: _Term | None = None
    """Term of a game, if the tiebreak is a sum over games that depends on values; otherwise None."""
    rank: int | None = None
    """Rank of the results that the sum counts; None for all results."""

    @property
    def column(self) -> Column:
        """The column in a table of players."""
        return Column(self.key, self.title, lambda player: player.tiebreaks[self.key], self.show)

    def divisor(self, player: Player, field: Field) -> int:
        """Return the divisor of a player's number."""
        return player.results.games if self.per_game and field.lead is Lead.PERCENT else 1

    def weight(self, value: Number, player: Player, field: Field) -> float | Fraction:
        """Return the number by which a player is ordered; greater is better."""
        if value is None:
            return self.undefined_weight
        return Fraction(-value if self.fewest else value, self.divisor(player, field))

    def compare(self, one: Player, other: Player, field: Field) -> int:
        """Return 1 if the first player is better by this tiebreak, -1 if worse, 0 if level."""
        own, others = (self.weight(each.tiebreaks[self.key], each, field) for each in (one, other))
        return (own > others) - (own < others)


def _points_sum(key: str, title: str, words: str, scheme: Scheme | None = None) -> Tiebreak:
    """Return the tiebreak by the sum of the points of all games. A bye counts as one point.

    :param scheme: scheme of the points; None for the scheme of the standings.
    """

    def term(field: Field, game: GameRecord, value: GScore, white: bool) -> Fraction:
        share = game.share(scheme or field.scheme, value)
        return share if white else 1 - share

    def total(player: Player, _: _LevelPlayers, field: Field) -> Number:
        terms = (term(field, seat.game, seat.game.value, seat.white) for seat in player.seats)
        return sum(terms, Fraction(player.byes))

    return Tiebreak(key, title, words, total, Dependence.VALUES, term=term)


def _direct_points(player: Player, level: _LevelPlayers, field: Field) -> Fraction | None:
    """Return the points in games against other level players; in the order ``percent``, points per game."""
    names = {other.name for other in level} - {player.name}
    met = [seat for seat in player.seats if seat.opponent in names]
    if not names or (field.lead is Lead.PERCENT and not met):
        return None
    points = sum(map(field.points_of, met), Fraction())
    return points / len(met) if field.lead is Lead.PERCENT else points


def _direct_places(player: Player, level: _LevelPlayers, field: Field) -> int | None:
    """Return the place among level players by direct encounters (FIDE Handbook C.07 of 2026, article 6).

    Several games against one opponent count by their mean (6.1.2). Players who are still level are compared
    again by the games among them (6.2). If not all have met, a player who would be first with any results of
    the missing games is placed first, and then the next such player. The others are compared again (6.3).
    """
    if len(level) == 1:
        return None
    placed_above = 0
    while True:
        means_by_name = {one.name: _means(one, level, field) for one in level}
        least = {name: sum(means, Fraction()) for name, means in means_by_name.items()}
        most = {name: least[name] + len(level) - 1 - len(means) for name, means in means_by_name.items()}
        own = least[player.name]
        if least == most:
            placed_above += sum(points > own for points in least.values())
            rest = [one for one in level if least[one.name] == own]
        else:
            rest = sorted(level, key=lambda one: least[one.name], reverse=True)
            while len(rest) > 1 and least[rest[0].name] > max(most[one.name] for one in rest[1:]):
                if rest.pop(0).name == player.name:
                    return 1 + placed_above
                placed_above += 1
        if len(rest) in (1, len(level)):
            return 1 + placed_above
        level = rest


def _means(player: Player, level: _LevelPlayers, field: Field) -> list[Fraction]:
    """Return the mean points of a player against each opponent whom he has met."""
    games = {other.name: list[Fraction]() for other in level if other.name != player.name}
    for seat in player.seats:
        if seat.opponent in games:
            games[seat.opponent].append(field.points_of(seat))
    return [sum(points, Fraction()) / len(points) for points in games.values() if points]


def _sonneborn_berger(player: Player, _: _LevelPlayers, field: Field) -> Fraction:
    terms = (field.points_of(seat) * field.total(field.players[seat.opponent]) for seat in player.seats)
    return sum(terms, Fraction())


def _buchholz(lowest_cut: int, highest_cut: int, player: Player, _: _LevelPlayers, field: Field) -> Fraction:
    """Return the sum of the opponents' points over all games, without some lowest and highest terms.

    The virtual opponent of a bye has the points of the player, but at most half a point per game (C.07 of
    2026, article 16.4).

    :param lowest_cut: number of lowest terms to leave out.
    :param highest_cut: number of highest terms to leave out.
    """
    games = player.results.games
    terms = [field.total(field.players[seat.opponent]) for seat in player.seats]
    terms += [min(field.total(player), Fraction(games, 2))] * player.byes
    terms.sort()
    return sum(terms[lowest_cut : max(len(terms) - highest_cut, lowest_cut)], Fraction())


def _koya(player: Player, _: _LevelPlayers, field: Field) -> Fraction:
    """Return the points against opponents who have made at least half of the possible points."""

    def is_strong(other: Player) -> bool:
        return 2 * field.total(other) >= other.results.games

    points = (field.points_of(seat) for seat in player.seats if is_strong(field.players[seat.opponent]))
    return sum(points, Fraction())


def _progressive(player: Player, _: _LevelPlayers, field: Field) -> Fraction:
    """Return the sum of the cumulative points after each game, in the order of the files."""
    return sum(accumulate(map(field.points_of, player.seats)), Fraction())


def _losses(bases: Sequence[Basis], player: Player, _: _LevelPlayers, field: Field) -> int:
    """Return the number of lost games whose basis is one of ``bases``."""
    return sum(not seat.halves and seat.game.outcome.basis in bases for seat in player.seats)


def _moves(halves: int, player: Player, _: _LevelPlayers, field: Field) -> Fraction | None:
    """Return the mean number of moves of the games with ``halves`` half points; None if unavailable."""
    lengths = [seat.game.moves for seat in player.seats if seat.halves == halves]
    recorded = [length for length in lengths if length is not None]
    return Fraction(sum(recorded), len(recorded)) if recorded else None


def _of_player(count: Callable[[Player], Number]) -> _Value:
    """Return the function for a tiebreak that depends on the player alone."""
    return lambda player, _, __: count(player)


def balance(rank: int) -> Tiebreak:
    """Return the tiebreak by results of a rank: how many a player has given, minus how many he suffered."""

    def term(_: Field, __: GameRecord, value: GScore, white: bool) -> int:
        return 0 if value.rank != rank else 1 if value.white == white else -1

    def value(player: Player, _: _LevelPlayers, __: Field) -> int:
        return player.given[rank] - player.suffered[rank]

    score = GScore(rank, True)
    name, results = ("stalemates", "stalemates") if rank == 1 else (str(score).lower(), str(score))
    title, words = f"{score} +-", f"{results} given minus suffered"
    return Tiebreak(name, title, words, value, Dependence.VALUES, show=signed, term=term, rank=rank)


_ROWS: Final = (
    _points_sum("points", "points", "points"),
    Tiebreak(
        "classical", "classical", "points in chess (classical)", _of_player(lambda p: p.results.classical)
    ),
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
        fewest=True,
        per_game=False,
    ),
    Tiebreak("wins", "+", "wins (+)", _of_player(lambda p: p.results.wins)),
    Tiebreak("black-wins", "B wins", "wins with Black", _of_player(lambda p: p.colours[False].results.wins)),
    Tiebreak("double-wins", "2 wins", "pairs won twice", _of_player(lambda p: p.pairs.halves[4])),
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
    Tiebreak("crashes", "crashes", "fewest crashes", partial(_losses, _CRASH_BASES), fewest=True),
    Tiebreak("forfeits", "forfeits", "fewest forfeits", partial(_losses, _FORFEIT_BASES), fewest=True),
    Tiebreak(
        "games", "games", "fewest games", _of_player(lambda p: p.results.games), fewest=True, per_game=False
    ),
    Tiebreak(
        "won-moves",
        "m won",
        "fewest moves of won games (m won)",
        partial(_moves, 2),
        fewest=True,
        per_game=False,
    ),
    Tiebreak("lost-moves", "m lost", "most moves of lost games (m lost)", partial(_moves, 0), per_game=False),
)
BALANCES: Final = "balances"
"""Name for the balances of stalemates, G1.0, G1.5 and so on, up to the highest score that occurs."""
TIEBREAKS: Final[Mapping[str, Tiebreak]] = {row.key: row for row in (*_ROWS, balance(1))}
"""The tiebreaks by name, without the balances ``g1.0`` and so on."""


def parse_names(text: str) -> tuple[str, ...]:
    """Parse names of tiebreaks, separated by commas.

    :raises UsageError: if no tiebreak has one of the names.
    """
    parsed = tuple(name.strip().lower() for name in text.split(","))
    for name in parsed:
        if name != BALANCES:
            tiebreak(name)
    return parsed


def tiebreak(name: str) -> Tiebreak:
    """Return the tiebreak with a name.

    :raises UsageError: if no tiebreak has this name.
    """
    if name in TIEBREAKS:
        return TIEBREAKS[name]
    if _BALANCE_NAME.fullmatch(name):
        return balance(GScore(name).rank)
    expected = ", ".join((*TIEBREAKS, BALANCES))
    raise UsageError(f"{quote(name)} is not a tiebreak: expected some of {expected}, or scores such as g1.0")


def tiebreaks(names: Iterable[str], players: Iterable[Player]) -> list[Tiebreak]:
    """Return the tiebreaks with some names, without duplicates.

    :param players: the players, whose results determine the balances.
    """
    rows: dict[str, Tiebreak] = {}
    for name in names:
        named_rows = _balances(players) if name == BALANCES else [tiebreak(name)]
        rows |= {row.key: row for row in named_rows if row.key not in rows}
    return list(rows.values())


def _balances(players: Iterable[Player]) -> list[Tiebreak]:
    """Return the balances of all ranks that occur except mate: two with words, four with a column."""
    ranks = {rank for player in players for rank in player.given if rank}
    rows = [balance(rank) for rank in sorted({*ranks, *_SHOWN_RANKS})]
    words = {1: "the same for G1.0, and so on"}
    return [
        replace(row, words=row.words if not at else words.get(at, ""), title=row.title if at < 4 else "")
        for at, row in enumerate(rows)
    ]
