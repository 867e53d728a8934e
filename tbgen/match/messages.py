"""The messages of a running event, and its summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tbgen.games.live_file import EventStart, GameEnd, GameMove, GameStart
from tbgen.games.standings import Standings
from tbgen.games.standings.encounters import MatchScore


@dataclass(frozen=True, slots=True)
class Standing:
    """The score of two players, or the standings of more, by the encounters that are whole."""

    score: MatchScore | None
    standings: Standings | None


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the person who runs the event."""

    text: str


Message: TypeAlias = EventStart | GameStart | GameMove | GameEnd | Standing | Note

Listener: TypeAlias = Callable[[Message], object]
"""Receives the messages of an event; it must return at once, for clocks run meanwhile."""


@dataclass(slots=True)
class Summary:
    """The outcome of an event."""

    standings: Standings | None
    games: int
    """Finished ones, those of former runs included."""
    left_out: int
    """Of these, the games of encounters that are not whole."""
    faults: Mapping[str, Mapping[str, int]]
    """By player and fault, the number of games lost."""
    verified: int
    """Adjudications that were played on, in this run."""
    thinking: float
    """Seconds that engines have thought in this run."""
    winner: str | None
    """The winner of a knockout."""
