"""What a game comes to, and on what grounds."""

from dataclasses import dataclass
from enum import StrEnum

from tbgen.score import GScore


class Basis(StrEnum):
    """The grounds of a result."""

    MATE = "mate"
    STALEMATE = "stalemate"
    BARE_KINGS = "bare kings"
    """Kings alone, and twice in a row the side to move has all of a king's eight moves."""
    FIFTY_MOVES = "fifty-move rule"
    REPETITION = "repetition"
    TABLEBASE = "tablebase"
    """Best play of both sides from the position and the accrued score in which the game stopped."""
    FORFEIT = "forfeit"
    """Won off the board: by the clock, an illegal move, a crash, resignation or an adjudicated win."""
    PLAYED = "played"
    """The accrued score of a game that stopped where no table can say more: not proven."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a game that is over on the board."""

    value: GScore
    reason: Basis

    @property
    def classical(self) -> str:
        """The result in chess, as PGN has it."""
        return classical(self.value)


def classical(value: GScore) -> str:
    """Return what a result is in chess, where nothing but mate wins: ``1-0``, ``0-1`` or ``1/2-1/2``."""
    if value.rank:
        return "1/2-1/2"
    return "1-0" if value.white else "0-1"
