"""Refereeing games: the accrued score ply by ply, what ends a game, and what a stopped game is worth."""

from tbgen.games.outcome import Basis, Outcome
from tbgen.games.referee.adjudication import adjudicate, replay
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.settings import FiftyMoveRule, GameOptions, GameSettings

__all__ = [
    "Arbiter",
    "Basis",
    "FiftyMoveRule",
    "GameOptions",
    "GameSettings",
    "Outcome",
    "adjudicate",
    "replay",
]
