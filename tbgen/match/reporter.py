"""Who is told how an event goes, and what it has come to at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tbgen.games.standings import Standings
from tbgen.match.game import Game
from tbgen.match.schedule import Fixture
from tbgen.match.statistics import Score

__all__ = ["Reporter", "Summary"]


class Reporter(Protocol):
    """Who is told how an event goes."""

    def resumed(self, games: int) -> None:
        """So many games were there already."""

    def started(self, fixture: Fixture, total: int | None) -> None:
        """A game begins."""

    def finished(self, game: Game, total: int | None) -> None:
        """A game is over, and kept."""

    def standing(self, score: Score | None, standings: Standings | None, games: int) -> None:
        """What all games have come to; the score of two players, or the standings of more."""

    def note(self, text: str) -> None:
        """Something that has to be known."""


@dataclass(slots=True)
class Summary:
    """What an event has come to."""

    standings: Standings | None
    score: Score | None
    games: int
    """Finished ones, those of former runs included."""
    left_out: int
    """Of these, the games of encounters that are not whole."""
    faults: dict[str, dict[str, int]]
    """By player, how many games were lost by which fault."""
    verified: int
    """Adjudications that were played on, in this run."""
    thinking: float
    """Seconds that engines have thought in this run."""
    winner: str | None
    """Who has won a knockout."""
