"""A knockout: who loses a duel is out.

The first player of the list is seeded first. In each stage the best seed that is left meets the worst one,
the second best the second worst, in a bracket that keeps the two best apart until the final; if the players
are no power of two, the best go through the first stage without playing.

A duel has as many encounters as the event has rounds. More points in them win it, by the event's scoring. If
they are level, the two play on, one encounter at a time from the next opening, until one leads after it or
:data:`MOST_EXTRA` more have been played; then the better seed goes through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from tbgen.match.schedule import Plan, Results, Schedule

__all__ = ["MOST_EXTRA", "Knockout"]

MOST_EXTRA: Final = 4
"""Encounters that a level duel goes on for."""


@dataclass(slots=True)
class _Duel:
    """Two players of whom one goes on."""

    players: tuple[str, str]
    """The better seed first."""
    rounds: set[int] = field(default_factory=set)
    """Those in which it has been played."""
    met: int = 0
    """Encounters so far."""


class Knockout(Schedule):
    """The rounds of a knockout: those of a stage, then one for each encounter that level duels go on for."""

    waits = True

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._places: list[str | None] = bracket(plan.players)
        """Those of the stage, two neighbours each a duel; None where nobody is."""
        self._duels: list[_Duel] = []
        """Of the stage that is on."""
        self._extra = 0
        """Encounters of the stage beyond those that each duel has."""

    @property
    def winner(self) -> str | None:
        """Who has won; None before the end."""
        return self._places[0] if len(self._places) == 1 else None

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]] | None:
        """Return the duels of a stage, each as often as it has encounters, or those that go on."""
        level = [duel for duel in self._duels if self._lead(duel, results) == 0]
        if level and self._extra < MOST_EXTRA:
            self._extra += 1
            return self._meet(level, 1, number)
        if self._duels:
            out = {duel.players[self._lead(duel, results) >= 0] for duel in self._duels}
            left = [None if player in out else player for player in self._places]
            self._places = [one or other for one, other in _neighbours(left)]
        if self.winner is not None:
            return None
        self._extra = 0
        self._duels = [
            _Duel(
                (min(one, other, key=self.plan.players.index), max(one, other, key=self.plan.players.index))
            )
            for one, other in _neighbours(self._places)
            if one is not None and other is not None
        ]
        return self._meet(self._duels, self.plan.rounds, number)

    def _meet(self, duels: Sequence[_Duel], encounters: int, number: int) -> list[tuple[str, str]]:
        """Return the encounters of some duels; where each is a single game, colours change in turn."""
        pairs = []
        for _ in range(encounters):
            for duel in duels:
                one, other = duel.players
                pairs.append((other, one) if self.plan.games == 1 and duel.met % 2 else (one, other))
                duel.met += 1
                duel.rounds.add(number)
        return pairs

    def _lead(self, duel: _Duel, results: Results) -> Fraction:
        """Return by how many points the better seed leads."""
        lead = Fraction()
        for key, points in results.items():
            fixture = self.fixtures[key]
            if key.round in duel.rounds and {fixture.white, fixture.black} == set(duel.players):
                ahead = 2 * points - 1
                lead += ahead if fixture.white == duel.players[0] else -ahead
        return lead


def bracket(players: Sequence[str]) -> list[str | None]:
    """Return players by place, the best seed first; those who meet stand side by side.

    >>> bracket("123456")
    ['1', None, '4', '5', '2', None, '3', '6']
    """
    order = [0]
    while len(order) < len(players):
        size = 2 * len(order)
        order = [seed for place in order for seed in (place, size - 1 - place)]
    return [players[seed] if seed < len(players) else None for seed in order]


def _neighbours(places: Sequence[str | None]) -> list[tuple[str | None, str | None]]:
    return list(zip(places[::2], places[1::2], strict=True))
