"""Refereeing games: the accrued score ply by ply, what ends a game, and what a stopped game is worth."""

from tbgen.referee.adjudication import Adjudication, adjudicate
from tbgen.referee.arbiter import Arbiter
from tbgen.referee.fifty import FiftyMoveRule
from tbgen.referee.result import Basis, Result

__all__ = ["Adjudication", "Arbiter", "Basis", "FiftyMoveRule", "Result", "adjudicate"]
