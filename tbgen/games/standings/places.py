"""The order of players, and what breaks ties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import groupby
from typing import Final

from tbgen.board.scoring import Scheme
from tbgen.games.standings.players import Player, Results, Row, Seat

_Key = tuple[Fraction, ...]

_EVEN: Final = Fraction(1, 2)
"""The share that says nothing of a player."""


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
    scheme, then by stalemates given minus suffered, then by the same for G1.0, G1.5, and so on. In the order
    ``percent`` each of these is taken per game, so that nobody is placed by how many games it has played; who
    has met none of those tied counts as even with them. All this is exact; players whom nothing parts share a
    place.
    """
    standing = _Standing(order, scheme)
    ranks = sorted({rank for row in rows for held in row.held(given=True).values() for rank in held if rank})
    keys: dict[str, _Key] = {}
    direct: dict[str, Fraction | None] = {}
    first = {row.name: standing.first(row.seats) for row in rows}
    for _, tied in groupby(sorted(rows, key=lambda row: first[row.name]), key=lambda row: first[row.name]):
        group = list(tied)
        names = {row.name for row in group}
        for row in group:
            if len(group) > 1:
                among = [seat for seat in row.seats if seat.opponent in names - {row.name}]
                direct[row.name] = standing.direct(among)
            met = direct.get(row.name)
            among_tied = _EVEN if met is None else met
            keys[row.name] = (first[row.name], among_tied, standing.sum(row), *standing.balances(row, ranks))
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
        self._points: Callable[[Results], Fraction] = (
            (lambda results: results.classical) if order is Order.TCEC else (lambda results: results.points)
        )

    def first(self, seats: Sequence[Seat]) -> Fraction:
        """Return what comes first."""
        results = Results.of(seats)
        return results.share if self._order is Order.PERCENT else self._points(results)

    def direct(self, among: Sequence[Seat]) -> Fraction | None:
        """Return what comes of the games among those tied; per game None where there is none."""
        return None if self._order is Order.PERCENT and not among else self.first(among)

    def sum(self, row: Row) -> Fraction:
        """Return what comes after direct encounters; 0 where there are no such points."""
        total = row.total(self._scheme if self._order is Order.TCEC else Scheme.EXPONENTIAL) or Fraction()
        return total / self._games(row)

    def balances(self, row: Row, ranks: Sequence[int]) -> list[Fraction]:
        """Return results given minus suffered for each rank."""
        given, suffered = row.held(given=True), row.held(given=False)
        sums = [sum(given[white][rank] - suffered[white][rank] for white in (True, False)) for rank in ranks]
        return [Fraction(balance, self._games(row)) for balance in sums]

    def _games(self, row: Row) -> int:
        """Return what sums are divided by."""
        return len(row.seats) if self._order is Order.PERCENT else 1
