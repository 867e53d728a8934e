"""Tiebreaks: a small function each, and one row of a table."""

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

_EVEN: Final = Fraction(1, 2)
"""The share that says nothing of a player."""
_SHOWN_RANKS: Final = (1, 2, 3, 4)
"""Ranks whose balances always have a column: stalemates, G1.0, G1.5, G2.0."""
_CRASHES: Final = (Basis.ABANDONED,)
"""What TCEC's program counts: disconnections and stalled connections, no losses on time."""
_FORFEITS: Final = (*_CRASHES, Basis.TIME_FORFEIT, Basis.ILLEGAL_MOVE, Basis.FORFEIT)
_BALANCE: Final = re.compile(r"g\d{1,3}(\.[05])?", re.ASCII)


class Lead(StrEnum):
    """What players are ordered by, before ties are broken."""

    PERCENT = "percent"
    """Points per game; that is by points where all have played equally many games."""
    POINTS = "points"
    """The sum of points."""
    CHESS = "chess"
    """The sum of points in chess."""


@dataclass(frozen=True)
class Field:
    """All players, and by what they are ordered: what tiebreaks look at."""

    lead: Lead
    scheme: Scheme
    players: Mapping[str, Player]
    """By name."""

    @classmethod
    def of(cls, players: Iterable[Player], lead: Lead, scheme: Scheme) -> Field:
        """Return the field of some players."""
        return cls(lead, scheme, {player.name: player for player in players})

    @property
    def first(self) -> Tiebreak:
        """What players are ordered by first, as if it broke a tie between all."""
        return TIEBREAKS["classical" if self.lead is Lead.CHESS else "points"]

    def made(self, seat: Seat) -> Fraction:
        """Return the points of a game: in chess if these come first, else by the scheme."""
        return Fraction(seat.halves, 2) if self.lead is Lead.CHESS else seat.points

    def total(self, player: Player) -> Fraction:
        """Return all such points of a player."""
        results = player.results
        return results.classical if self.lead is Lead.CHESS else results.points


Number = Fraction | int | None
"""What a player has by a tiebreak; None if there is no such thing."""
_Level = Sequence[Player]
_Value = Callable[[Player, _Level, "Field"], Number]
_Term = Callable[[Field, GameRecord, GScore, bool], Fraction | int]
"""What a game adds to a sum: its value, and whether the player has White."""


class Dependence(Enum):
    """What of values, which need not be proved, a tiebreak depends on."""

    NOTHING = "results in chess, moves, and how games ended"
    POINTS = "the points that come first"
    LEVEL = "who is level, and the points of games among them"
    VALUES = "values of games"


@dataclass(frozen=True, slots=True)
class Tiebreak:
    """A number that parts level players, and its column in the standings."""

    key: str
    """Its name, one word."""
    title: str
    """The heading of its column; empty if it has none."""
    words: str
    """What it is, in the sentence on the order of players; empty if those before say it too."""
    value: _Value
    """Returns the number of a player among all that those before have left level, itself included."""
    depends: Dependence = Dependence.NOTHING
    """What of values it depends on: places are certain where this is."""
    fewest: bool = False
    """Whether the smaller number is the better one."""
    show: Callable[[Any], str] | None = None
    """As in :class:`Column`."""
    per_game: bool = True
    """Whether the order by points per game divides it by the number of games."""
    without: float | Fraction = -math.inf
    """What a player without a number counts as."""
    term: _Term | None = None
    """If it depends on values and is a sum over games: what a game adds."""
    rank: int | None = None
    """The rank whose results alone the sum counts; None if all count."""

    @property
    def column(self) -> Column:
        """Its column in a table of players."""
        return Column(self.key, self.title, lambda player: player.tiebreaks[self.key], self.show)

    def parts(self, player: Player, field: Field) -> int:
        """Return by what its number is divided."""
        return player.results.games if self.per_game and field.lead is Lead.PERCENT else 1

    def weight(self, value: Number, player: Player, field: Field) -> float | Fraction:
        """Return what a player is ordered by, the greater the better."""
        if value is None:
            return self.without
        return Fraction(-value if self.fewest else value, self.parts(player, field))

    def compare(self, one: Player, other: Player, field: Field) -> int:
        """Return 1, -1 or 0: how two players compare by what they have."""
        own, others = (self.weight(each.tiebreaks[self.key], each, field) for each in (one, other))
        return (own > others) - (own < others)


def _sum(key: str, title: str, words: str, scheme: Scheme | None = None) -> Tiebreak:
    """Return the sum of the points of all games, a bye being a point.

    :param scheme: what games are scored by; that of the standings if None.
    """

    def term(field: Field, game: GameRecord, value: GScore, white: bool) -> Fraction:
        share = game.share(scheme or field.scheme, value)
        return share if white else 1 - share

    def total(player: Player, _: _Level, field: Field) -> Number:
        terms = (term(field, seat.game, seat.game.value, seat.white) for seat in player.seats)
        return sum(terms, Fraction(player.byes))

    return Tiebreak(key, title, words, total, Dependence.VALUES, term=term)


def _direct(player: Player, level: _Level, field: Field) -> Fraction | None:
    """Return the points against the others, all games added up; in the order ``percent`` a share."""
    names = {other.name for other in level} - {player.name}
    met = [seat for seat in player.seats if seat.opponent in names]
    if not names or (field.lead is Lead.PERCENT and not met):
        return None
    made = sum(map(field.made, met), Fraction())
    return made / len(met) if field.lead is Lead.PERCENT else made


def _direct_fide(player: Player, level: _Level, field: Field) -> int | None:
    """Return the place among those level by direct encounters, as FIDE has it: C.07 of 2026, article 6.

    Several games against one opponent count by their mean (6.1.2). Those still level are compared again by
    the games among them (6.2). If not all have met, whoever is first whatever the missing games bring is
    placed, then the next, and the others are compared again (6.3).
    """
    if len(level) == 1:
        return None
    above = 0
    while True:
        met = {one.name: _means(one, level, field) for one in level}
        least = {name: sum(means, Fraction()) for name, means in met.items()}
        most = {name: least[name] + len(level) - 1 - len(means) for name, means in met.items()}
        own = least[player.name]
        if least == most:
            above += sum(points > own for points in least.values())
            left = [one for one in level if least[one.name] == own]
        else:
            left = sorted(level, key=lambda one: least[one.name], reverse=True)
            while len(left) > 1 and least[left[0].name] > max(most[one.name] for one in left[1:]):
                if left.pop(0).name == player.name:
                    return 1 + above
                above += 1
        if len(left) in (1, len(level)):
            return 1 + above
        level = left


def _means(player: Player, level: _Level, field: Field) -> list[Fraction]:
    """Return the mean points of a player against each of the others that it has met."""
    games = {other.name: list[Fraction]() for other in level if other.name != player.name}
    for seat in player.seats:
        if seat.opponent in games:
            games[seat.opponent].append(field.made(seat))
    return [sum(points, Fraction()) / len(points) for points in games.values() if points]


def _sonneborn_berger(player: Player, _: _Level, field: Field) -> Fraction:
    made = (field.made(seat) * field.total(field.players[seat.opponent]) for seat in player.seats)
    return sum(made, Fraction())


def _buchholz(worst: int, best: int, player: Player, _: _Level, field: Field) -> Fraction:
    """Return the points of the opponents of each game, without so many of the worst and the best.

    In a bye the opponent is taken to have made as much as the player, but at most a half in each game: C.07
    of 2026, article 16.4.
    """
    games = player.results.games
    found = [field.total(field.players[seat.opponent]) for seat in player.seats]
    found += [min(field.total(player), Fraction(games, 2))] * player.byes
    found.sort()
    return sum(found[worst : max(len(found) - best, worst)], Fraction())


def _koya(player: Player, _: _Level, field: Field) -> Fraction:
    """Return the points against opponents that have at least half of theirs."""

    def strong(other: Player) -> bool:
        return 2 * field.total(other) >= other.results.games

    made = (field.made(seat) for seat in player.seats if strong(field.players[seat.opponent]))
    return sum(made, Fraction())


def _progressive(player: Player, _: _Level, field: Field) -> Fraction:
    """Return the sum of the points after each game, in the order of the files."""
    return sum(accumulate(map(field.made, player.seats)), Fraction())


def _lost(bases: Sequence[Basis], player: Player, _: _Level, field: Field) -> int:
    """Return the games that were lost in one of some ways."""
    return sum(not seat.halves and seat.game.outcome.basis in bases for seat in player.seats)


def _moves(halves: int, player: Player, _: _Level, field: Field) -> Fraction | None:
    """Return the mean number of moves of the games that brought so many half points; None without one."""
    lengths = [seat.game.moves for seat in player.seats if seat.halves == halves]
    known = [length for length in lengths if length is not None]
    return Fraction(sum(known), len(known)) if known else None


def _alone(count: Callable[[Player], Number]) -> _Value:
    """Return the tiebreak that the player alone tells."""
    return lambda player, _, __: count(player)


def balance(rank: int) -> Tiebreak:
    """Return the results of a rank that players have given, minus those suffered."""

    def term(_: Field, __: GameRecord, value: GScore, white: bool) -> int:
        return 0 if value.rank != rank else 1 if value.white == white else -1

    def value(player: Player, _: _Level, __: Field) -> int:
        return player.given[rank] - player.suffered[rank]

    score = GScore(rank, True)
    name, what = ("stalemates", "stalemates") if rank == 1 else (str(score).lower(), str(score))
    title, words = f"{score} +-", f"{what} given minus suffered"
    return Tiebreak(name, title, words, value, Dependence.VALUES, show=signed, term=term, rank=rank)


_ROWS: Final = (
    _sum("points", "points", "points"),
    Tiebreak("classical", "classical", "points in chess (classical)", _alone(lambda p: p.results.classical)),
    _sum("rmobility", "r-mobility", "exponential points (r-mobility)", Scheme.EXPONENTIAL),
    Tiebreak(
        "direct",
        "direct",
        "points of direct encounters (direct)",
        _direct,
        Dependence.LEVEL,
        per_game=False,
        without=_EVEN,
    ),
    Tiebreak(
        "direct-fide",
        "DE",
        "places by direct encounters as FIDE has them (DE)",
        _direct_fide,
        Dependence.LEVEL,
        fewest=True,
        per_game=False,
    ),
    Tiebreak("wins", "wins", "wins (+)", _alone(lambda p: p.results.wins)),
    Tiebreak("black-wins", "B wins", "wins with Black", _alone(lambda p: p.colours[False].results.wins)),
    Tiebreak("double-wins", "2 wins", "pairs won twice", _alone(lambda p: p.pairs.halves[4])),
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
    Tiebreak("crashes", "crashes", "fewest crashes", partial(_lost, _CRASHES), fewest=True),
    Tiebreak("forfeits", "forfeits", "fewest forfeits", partial(_lost, _FORFEITS), fewest=True),
    Tiebreak(
        "games", "games", "fewest games", _alone(lambda p: p.results.games), fewest=True, per_game=False
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
"""Stands for stalemates, G1.0, G1.5 and so on, through all scores that occur."""
TIEBREAKS: Final[Mapping[str, Tiebreak]] = {row.key: row for row in (*_ROWS, balance(1))}
"""By their names; besides, ``g1.0`` and so on are balances."""


def names(text: str) -> tuple[str, ...]:
    """Read names of tiebreaks, separated by commas.

    :raises UsageError: if there is none of a name.
    """
    found = tuple(name.strip().lower() for name in text.split(","))
    for name in found:
        if name != BALANCES:
            tiebreak(name)
    return found


def tiebreak(name: str) -> Tiebreak:
    """Return the tiebreak of a name.

    :raises UsageError: if there is none.
    """
    if name in TIEBREAKS:
        return TIEBREAKS[name]
    if _BALANCE.fullmatch(name):
        return balance(GScore(name).rank)
    known = ", ".join((*TIEBREAKS, BALANCES))
    raise UsageError(f"{quote(name)} is no tiebreak: expected some of {known}, or scores such as g1.0")


def tiebreaks(names: Iterable[str], players: Iterable[Player]) -> list[Tiebreak]:
    """Return the tiebreaks of some names, each of them once, for some players."""
    rows: dict[str, Tiebreak] = {}
    for name in names:
        found = _balances(players) if name == BALANCES else [tiebreak(name)]
        rows |= {row.key: row for row in found if row.key not in rows}
    return list(rows.values())


def _balances(players: Iterable[Player]) -> list[Tiebreak]:
    """Return the balances of all ranks but mate that occur, two of them with words; four have a column."""
    given = {rank for player in players for rank in player.given if rank}
    rows = [balance(rank) for rank in sorted({*given, *_SHOWN_RANKS})]
    words = {1: "the same for G1.0, and so on"}
    return [
        replace(row, words=row.words if not at else words.get(at, ""), title=row.title if at < 4 else "")
        for at, row in enumerate(rows)
    ]
