"""The order of players: what it goes by, and what breaks ties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from itertools import groupby
from typing import Any, Final

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.games.standings.players import Player, Results
from tbgen.games.standings.table import Column, signed

_EVEN: Final = Fraction(1, 2)
"""The share that says nothing of a player."""
_SHOWN_RANKS: Final = (1, 2, 3, 4)
"""Ranks whose balances have a column: stalemates, G1.0, G1.5, G2.0."""


class Order(StrEnum):
    """What players are ordered by, before ties are broken."""

    PERCENT = "percent"
    """Points per game; that is by points where all have played equally many games."""
    POINTS = "points"
    """The sum of points."""
    TCEC = "tcec"
    """Points in chess, then those of direct encounters, then the sum of points."""

    def lead(self, results: Results) -> Fraction:
        """Return what players are ordered by first."""
        match self:
            case Order.PERCENT:
                return results.share
            case Order.POINTS:
                return results.points
        return results.classical


@dataclass(frozen=True, slots=True)
class Tiebreak:
    """A number that parts level players, the greater one first, and its column in the standings."""

    key: str
    """Its name in CSV files, one word."""
    words: str
    """What it is, in the sentence on the order of players; empty if those before say it too."""
    value: Callable[[Player, Sequence[Player]], Fraction | int | None]
    """Returns the number for a player among all that are level by :meth:`Order.lead`, itself included."""
    title: str = ""
    """The heading of its column; empty if it has none."""
    show: Callable[[Any], str] | None = None
    """As in :class:`Column`."""
    per_game: bool = True
    """Whether the order ``percent`` divides it by the number of games."""
    without: Fraction = Fraction()
    """The number of a player that has none."""

    @property
    def column(self) -> Column:
        """Its column in a table of players."""
        return Column(self.key, self.title, lambda player: player.tiebreaks[self.key], self.show)

    def weight(self, player: Player, order: Order) -> Fraction:
        """Return what a player is ordered by, from its number."""
        value = player.tiebreaks[self.key]
        games = len(player.seats) if self.per_game and order is Order.PERCENT else 1
        return self.without if value is None else Fraction(value, games)


def tiebreaks(order: Order, scheme: Scheme, players: Sequence[Player]) -> list[Tiebreak]:
    """Return what breaks ties, as the TCEC wiki has it: the first that tells players apart decides.

    :param players: whose ranks of results have a balance each.
    """

    def direct(player: Player, level: Sequence[Player]) -> Fraction | None:
        names = {other.name for other in level} - {player.name}
        met = [seat for seat in player.seats if seat.opponent in names]
        if not names or (order is Order.PERCENT and not met):
            return None
        return order.lead(Results.of(met))

    def total(player: Player, _: Sequence[Player]) -> Fraction | None:
        return player.points[points]

    given = {rank for player in players for held in player.given.values() for rank in held if rank}
    tcec, share = order is Order.TCEC, " per game" if order is Order.PERCENT else ""
    points = scheme if tcec else Scheme.EXPONENTIAL
    words = f"by points{share} of direct encounters (direct)"
    return [
        Tiebreak("direct", words, direct, "direct", per_game=False, without=_EVEN),
        Tiebreak("points", f"by {points.value} points", total, "points" if tcec else ""),
        *map(_balance, sorted({*given, *_SHOWN_RANKS})),
    ]


def _balance(rank: int) -> Tiebreak:
    """Return the results of a rank that players have given, minus those suffered."""

    def balance(player: Player, _: Sequence[Player]) -> int:
        return player.balance(rank)

    score = GScore(rank, True)
    words = {1: "then by stalemates given minus suffered", 2: "the same for G1.0, and so on"}
    title = f"{score} +-" if rank in _SHOWN_RANKS else ""
    return Tiebreak(f"balance_{score}", words.get(rank, ""), balance, title, signed)


def placed(players: Sequence[Player], order: Order, breaks: Sequence[Tiebreak]) -> list[Player]:
    """Return the players with their places, the best first.

    Tiebreaks look at all players that are level before any tie is broken, not again at those still level. In
    the order ``percent`` a player that has met none of them counts as even with them. All this is exact;
    players that stay level share a place.
    """

    def lead(player: Player) -> Fraction:
        return order.lead(player.results)

    def weights(player: Player) -> list[Fraction]:
        return [-lead(player), *(-each.weight(player, order) for each in breaks)]

    found = []
    for _, group in groupby(sorted(players, key=lead), key=lead):
        level = list(group)
        found += [
            replace(player, tiebreaks={each.key: each.value(player, level) for each in breaks})
            for player in level
        ]
    ordered: list[Player] = []
    found.sort(key=lambda player: (weights(player), player.name))
    for _, group in groupby(found, key=weights):
        place = len(ordered) + 1
        ordered += [replace(player, place=place) for player in group]
    return ordered
