"""Orders of players: the rules of events as data, and the ranking of players under these rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from typing import Final

from tbgen.errors import UsageError, quote
from tbgen.games.standings.players import Player
from tbgen.games.standings.tiebreaks import BALANCES, Number, OrderBy, Tiebreak, TieData

_WIKI: Final = "https://wiki.chessdom.org/"
_FIDE: Final = "https://handbook.fide.com/files/handbook/C02Standards.pdf"
_DEFAULT_TIEBREAKS: Final = ("direct", "rmobility", BALANCES)


@dataclass(frozen=True, slots=True)
class Order:
    """The number by which players are ordered, and the tiebreaks. The first number that differs decides."""

    name: str
    order_by: OrderBy
    tiebreaks: tuple[str, ...]
    """Names of the tiebreaks, as in :data:`tbgen.games.standings.tiebreaks.TIEBREAKS`."""
    rules: str = ""
    """The event or body that uses these rules, with dates; empty for tbgen's own orders."""
    source: str = ""
    """Address of the rules; empty if there is none."""

    def with_tiebreaks(self, names: tuple[str, ...]) -> Order:
        """Return a copy of the order with other tiebreaks, and without rules and source."""
        return Order(self.name, self.order_by, names)


_ORDER_LIST: Final = (
    Order("percent", OrderBy.PERCENT, _DEFAULT_TIEBREAKS),
    Order("points", OrderBy.POINTS, _DEFAULT_TIEBREAKS),
    Order(
        "tcec",
        OrderBy.CHESS,
        ("direct", "rmobility"),
        rules="TCEC's leagues since season 20 (December 2020)",
        source="https://owiki.org/wiki/TCEC_Season_20",
    ),
    Order(
        "tcec-s18",
        OrderBy.CHESS,
        ("crashes", "direct", "wins", "sb"),
        rules="TCEC's leagues of season 18 (May to July 2020)",
        source="https://en.wikipedia.org/wiki/TCEC_Season_18",
    ),
    Order(
        "tcec-s19",
        OrderBy.CHESS,
        ("crashes", "direct", "wins", "sb", "rmobility"),
        rules="TCEC's leagues of season 19 (August to October 2020)",
        source="https://en.wikipedia.org/wiki/TCEC_Season_19",
    ),
    Order(
        "tcec-qualification",
        OrderBy.CHESS,
        ("sb", "rmobility"),
        rules="TCEC's qualification leagues since season 23 (August 2022)",
        source=f"{_WIKI}TCEC_Leagues_Season_Rules",
    ),
    Order(
        "tcec-swiss",
        OrderBy.CHESS,
        ("sb", "rmobility", "wins", "direct"),
        rules="TCEC Swiss (since 2021)",
        source=f"{_WIKI}TCEC_Swiss_rules",
    ),
    Order(
        "tcec-4k",
        OrderBy.CHESS,
        ("direct", "sb", "rmobility", "double-wins", "won-moves", "lost-moves"),
        rules="TCEC 4k (May 2023)",
        source=f"{_WIKI}TCEC_4k_Rules",
    ),
    Order(
        "fide-round-robin",
        OrderBy.CHESS,
        ("direct-fide", "wins", "sb", "koya"),
        rules="FIDE for round robins (C.02, 13.16.2, 2021)",
        source=_FIDE,
    ),
    Order(
        "fide-swiss",
        OrderBy.CHESS,
        ("buchholz-cut1", "buchholz", "sb", "progressive", "direct-fide", "wins", "black-wins"),
        rules="FIDE for Swiss events without consistent ratings (C.02, 13.16.4, 2021)",
        source=_FIDE,
    ),
)
ORDERS: Final[Mapping[str, Order]] = {order.name: order for order in _ORDER_LIST}
"""The orders by name. The first order is the default."""


def order_of(name: str, tiebreaks: tuple[str, ...] | None = None) -> Order:
    """Return the order with the given name.

    :param tiebreaks: tiebreaks that replace those of the order; None for its own.

    :raises UsageError: if no order has this name.
    """
    if name not in ORDERS:
        raise UsageError(f"{quote(name)} is not an order: expected one of {', '.join(ORDERS)}")
    order = ORDERS[name]
    return order if tiebreaks in (None, order.tiebreaks) else order.with_tiebreaks(tiebreaks)


@dataclass(frozen=True, slots=True)
class Ranking:
    """How the players of an event are ordered."""

    order: Order
    byes: bool = False
    """Whether byes of a Swiss event count as won games."""


DEFAULT_RANKING: Final = Ranking(ORDERS["percent"])


def ranked_players(players: Sequence[Player], tiebreaks: Sequence[Tiebreak], data: TieData) -> list[Player]:
    """Return the players with their places and their numbers for each tiebreak, best first.

    Each tiebreak is applied once, to the players who are still level after the previous tiebreaks. Numbers
    are compared exactly. Players who remain level share a place.
    """
    numbers: dict[str, dict[str, Number]] = {player.name: {} for player in players}

    def split(level_players: Sequence[Player], tiebreak: Tiebreak) -> Iterator[list[Player]]:
        for player in level_players:
            numbers[player.name][tiebreak.key] = tiebreak.number_of(player, level_players, data)

        def weight(player: Player) -> float | Fraction:
            return tiebreak.weight(numbers[player.name][tiebreak.key], player, data)

        for _, group in groupby(sorted(level_players, key=weight, reverse=True), weight):
            yield list(group)

    groups = [sorted(players, key=lambda player: player.name)]
    for tiebreak in (data.leading_tiebreak, *tiebreaks):
        groups = [subgroup for group in groups for subgroup in split(group, tiebreak)]
    ranked: list[Player] = []
    for group in groups:
        place = len(ranked) + 1
        ranked += [replace(player, place=place, tiebreaks=numbers[player.name]) for player in group]
    return ranked
