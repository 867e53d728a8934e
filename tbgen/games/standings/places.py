"""The places of players: by an order, and what breaks ties in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby

from tbgen.games.standings.players import Player
from tbgen.games.standings.tiebreaks import Field, Number, Tiebreak


def placed(players: Sequence[Player], breaks: Sequence[Tiebreak], field: Field) -> list[Player]:
    """Return the players with their places and what they have by each tiebreak, the best first.

    A tiebreak looks at the players that those before it have left level, once. In the order ``percent`` a
    player that has met none of them counts as even with them. All this is exact; players that stay level
    share a place.
    """
    numbers: dict[str, dict[str, Number]] = {player.name: {} for player in players}

    def parted(level: Sequence[Player], each: Tiebreak) -> Iterator[list[Player]]:
        for player in level:
            numbers[player.name][each.key] = each.value(player, level, field)

        def weight(player: Player) -> float | Fraction:
            return each.weight(numbers[player.name][each.key], player, field)

        for _, group in groupby(sorted(level, key=weight, reverse=True), weight):
            yield list(group)

    groups = [sorted(players, key=lambda player: player.name)]
    for each in (field.first, *breaks):
        groups = [part for level in groups for part in parted(level, each)]
    ordered: list[Player] = []
    for level in groups:
        place = len(ordered) + 1
        ordered += [replace(player, place=place, tiebreaks=numbers[player.name]) for player in level]
    return ordered
