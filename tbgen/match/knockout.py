"""A knockout: the loser of a duel is out.

The first player of the list is seeded first. In each stage the best seed that is left meets the worst one,
the second best the second worst, in a bracket that keeps the two best apart until the final; if the players
are no power of two, the best go through the first stage without playing.

A duel has as many encounters as the event has rounds. More points in them win it, by the event's scoring. If
they are level, the two play on, one encounter at a time from the next opening, until one leads after it or
:data:`MOST_EXTRA` more have been played; then the better seed goes through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from tbgen.match.schedule import Plan, Results, Schedule

MOST_EXTRA: Final = 4
"""Encounters that a level duel goes on for."""


class Knockout(Schedule):
    """The rounds of a knockout: those of a stage, then one for each encounter that level duels go on for."""

    waits = True

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._places: list[str | None] = bracket(plan.players)
        """Those of the stage, two neighbours each a duel; None where nobody is."""
        self._duels: list[tuple[str, str]] = []
        """Of the stage that is on, the better seed first; no two players have more than one."""
        self._extra = 0
        """Encounters of the stage beyond those that each duel has."""

    def encounters(self, number: int, results: Results) -> Sequence[tuple[str, str]] | None:
        """Return the duels of a stage, each as often as it has encounters, or those that go on."""
        rounds, seed = self.plan.rounds, self.plan.players.index
        level = [duel for duel in self._duels if self._lead(duel, results) == 0]
        if level and self._extra < MOST_EXTRA:
            self._extra += 1
            return self._meet(level, [rounds + self._extra - 1])
        if self._duels:
            out = {duel[self._lead(duel, results) >= 0] for duel in self._duels}
            left = [None if player in out else player for player in self._places]
            self._places = [one or other for one, other in _neighbours(left)]
        if len(self._places) == 1:
            self.winner = self._places[0]
            return None
        self._extra = 0
        self._duels = [
            (one, other) if seed(one) < seed(other) else (other, one)
            for one, other in _neighbours(self._places)
            if one is not None and other is not None
        ]
        return self._meet(self._duels, range(rounds))

    def _meet(self, duels: Sequence[tuple[str, str]], turns: Iterable[int]) -> list[tuple[str, str]]:
        """Return the encounters of some duels; where each is a single game, colours change in turn.

        :param turns: their numbers in a duel, counted from 0.
        """
        single = self.plan.games == 1 and self.plan.swap
        return [(b, a) if single and turn % 2 else (a, b) for turn in turns for a, b in duels]

    def _lead(self, duel: tuple[str, str], results: Results) -> Fraction:
        """Return by how many points the better seed leads."""
        games = {key for key, game in self.fixtures.items() if {game.white, game.black} == set(duel)}
        return self.lead(duel[0], {key: results[key] for key in games & results.keys()})


def bracket(players: Sequence[str]) -> list[str | None]:
    """Return players by place, the best seed first; opponents stand side by side.

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
