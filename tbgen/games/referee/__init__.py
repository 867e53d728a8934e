"""Refereeing games: the accrued score ply by ply, what ends a game, and what a stopped game is worth."""

from tbgen.games.referee.adjudication import Adjudication, adjudicate
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.referee.fifty import FiftyMoveRule
from tbgen.games.referee.result import Basis, Result

__all__ = ["Adjudication", "Arbiter", "Basis", "FiftyMoveRule", "Result", "adjudicate"]
