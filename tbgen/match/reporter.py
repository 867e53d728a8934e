"""Who is told how an event goes, and what it has come to at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import chess

from tbgen.games.settings import GameOptions
from tbgen.games.standings import Standings
from tbgen.match.game import Game
from tbgen.match.schedule import Fixture
from tbgen.match.settings import EventSettings
from tbgen.match.statistics import Score

__all__ = ["Beginning", "Reporter", "Reporters", "Summary"]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is known of an event before its first game."""

    settings: EventSettings
    options: GameOptions
    """By what games are refereed and scored."""
    total: int | None
    """How many games there are; None if results decide."""
    size: int
    """Bytes of the PGN file, all of them finished games."""


class Reporter(Protocol):
    """Who is told how an event goes; clocks run meanwhile, so nobody may take long to hear it."""

    def began(self, event: Beginning) -> None:
        """The event begins, or goes on."""

    def resumed(self, games: int) -> None:
        """So many games were there already."""

    def started(self, fixture: Fixture, total: int | None) -> None:
        """A game begins."""

    def moved(
        self, fixture: Fixture, move: chess.Move, comment: str, left: Mapping[chess.Color, float | None]
    ) -> None:
        """A move has been made, one of the book too; what is noted of it, and the seconds left on the clocks
        that there are."""

    def finished(self, game: Game, total: int | None, size: int) -> None:
        """A game is over, and kept; with it the PGN file has so many bytes."""

    def standing(self, score: Score | None, standings: Standings | None, games: int) -> None:
        """What all games have come to; the score of two players, or the standings of more."""

    def note(self, text: str) -> None:
        """Something that has to be known."""


class Reporters:
    """Several that are told the same."""

    def __init__(self, *reporters: Reporter) -> None:
        self._reporters = reporters

    def began(self, event: Beginning) -> None:
        """Tell that the event begins."""
        for reporter in self._reporters:
            reporter.began(event)

    def resumed(self, games: int) -> None:
        """Tell how many games were there already."""
        for reporter in self._reporters:
            reporter.resumed(games)

    def started(self, fixture: Fixture, total: int | None) -> None:
        """Tell that a game begins."""
        for reporter in self._reporters:
            reporter.started(fixture, total)

    def moved(
        self, fixture: Fixture, move: chess.Move, comment: str, left: Mapping[chess.Color, float | None]
    ) -> None:
        """Tell of a move."""
        for reporter in self._reporters:
            reporter.moved(fixture, move, comment, left)

    def finished(self, game: Game, total: int | None, size: int) -> None:
        """Tell that a game is over."""
        for reporter in self._reporters:
            reporter.finished(game, total, size)

    def standing(self, score: Score | None, standings: Standings | None, games: int) -> None:
        """Tell what all games have come to."""
        for reporter in self._reporters:
            reporter.standing(score, standings, games)

    def note(self, text: str) -> None:
        """Tell what has to be known."""
        for reporter in self._reporters:
            reporter.note(text)


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
