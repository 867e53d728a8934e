"""The order of players, and what breaks ties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import groupby

from tbgen.games.standings.players import Player, Results, Row, Seat
from tbgen.scoring import Scheme

_Key = tuple[Fraction, ...]


class Order(StrEnum):
    """What players are ordered by, before ties are broken."""

    PERCENT = "percent"
    """Points per game; that is by points where all have played equally many games."""
    POINTS = "points"
    """The sum of points."""
    TCEC = "tcec"
    """Points in chess, then those of direct encounters, then the sum of points."""


def placed(rows: Sequence[Row], order: Order, scheme: Scheme) -> list[Player]:
    """Return the players, the best first.

    Ties are broken as the TCEC wiki has it: by the points of the games between all who are tied (once, not
    again among those still tied), then by exponential points, in the order ``tcec`` by the points of the
    scheme, then by stalemates given minus suffered, then by the same for G1.0, G1.5, and so on. All this is
    exact; players whom nothing parts share a place.
    """
    standing = _Standing(order, scheme)
    ranks = sorted({rank for row in rows for held in row.held(given=True).values() for rank in held if rank})
    keys: dict[str, _Key] = {}
    direct: dict[str, Fraction] = {}
    first = {row.name: standing.first(row.seats) for row in rows}
    for _, tied in groupby(sorted(rows, key=lambda row: first[row.name]), key=lambda row: first[row.name]):
        group = list(tied)
        names = {row.name for row in group}
        for row in group:
            if len(group) > 1:
                among = [seat for seat in row.seats if seat.opponent in names - {row.name}]
                direct[row.name] = standing.points(Results.of(among))
            balances = _balances(row, ranks)
            keys[row.name] = (first[row.name], direct.get(row.name, Fraction()), standing.sum(row), *balances)
    players: list[Player] = []
    ordered = sorted(rows, key=lambda row: ([-part for part in keys[row.name]], row.name))
    for number, row in enumerate(ordered, 1):
        shared = players and keys[players[-1].name] == keys[row.name]
        place = players[-1].place if shared else number
        players.append(row.player(place, direct.get(row.name)))
    return players


class _Standing:
    """What an order looks at."""

    def __init__(self, order: Order, scheme: Scheme) -> None:
        self._order = order
        self._scheme = scheme
        self.points: Callable[[Results], Fraction] = (
            (lambda results: results.classical) if order is Order.TCEC else (lambda results: results.points)
        )

    def first(self, seats: Sequence[Seat]) -> Fraction:
        """Return what comes first."""
        results = Results.of(seats)
        return results.share if self._order is Order.PERCENT else self.points(results)

    def sum(self, row: Row) -> Fraction:
        """Return what comes after direct encounters; 0 where there are no such points."""
        total = row.total(self._scheme if self._order is Order.TCEC else Scheme.EXPONENTIAL) or Fraction()
        return total / len(row.seats) if self._order is Order.PERCENT else total


def _balances(row: Row, ranks: Sequence[int]) -> list[Fraction]:
    """Return results given minus suffered for each rank."""
    given, suffered = row.held(given=True), row.held(given=False)
    return [
        Fraction(sum(given[white][rank] - suffered[white][rank] for white in (True, False))) for rank in ranks
    ]
