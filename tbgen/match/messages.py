"""The messages of a running event, and its summary at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tbgen.games.live_file import EventStart, GameEnd, GameMove, GameStart, GameThought
from tbgen.games.standings import Standings
from tbgen.games.standings.encounters import MatchScore


@dataclass(frozen=True, slots=True)
class Standing:
    """The score of two players, or the standings of more, by the encounters that are whole."""

    score: MatchScore | None
    standings: Standings | None


@dataclass(frozen=True, slots=True)
class Ends:
    """By player, how all games so far have ended, and how many of them so."""

    by_player: Mapping[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the person who runs the event."""

    text: str


Message: TypeAlias = EventStart | GameStart | GameMove | GameThought | GameEnd | Standing | Ends | Note

Listener: TypeAlias = Callable[[Message], object]
"""Receives the messages of an event; it must return at once, for clocks run meanwhile."""


@dataclass(slots=True)
class Summary:
    """The outcome of an event."""

    standings: Standings | None = None
    """By the encounters that are whole."""
    games: int = 0
    """Finished ones, those of former runs included."""
    winner: str | None = None
    """The winner of a knockout."""
    faults: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By player and fault, the number of games lost."""
    verified: int = 0
    """Adjudications that were played on, in this run."""
    thinking: float = 0.0
    """Seconds that engines have thought in this run."""

    @property
    def left_out(self) -> int:
        """Finished games of encounters that are not whole."""
        return self.games - (0 if self.standings is None else len(self.standings.games))
