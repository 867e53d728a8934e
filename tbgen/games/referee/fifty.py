"""The 50-move rules of r-mobility."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from tbgen.errors import UsageError, quote
from tbgen.score import GScore
from tbgen.scoring import OTB_CUTOFF

PLIES: Final = 100
"""The counter at which the rule ends a game."""


class FiftyMoveRule(StrEnum):
    """When fifty moves of both sides without progress end a game."""

    IMPROVING = "improving"
    """cuteRMob's default: an accrued score that improves to one below the cutoff is progress."""
    LEGACY = "legacy"
    """Captures and pawn moves alone are progress; the 100th ply counts only if it mates or stalemates."""
    CUTERMOB_LEGACY = "cutermob-legacy"
    """As legacy, but the 100th ply never counts; for comparison with cuteRMob's files."""
    NONE = "none"
    """No such rule, as tables have it."""
    OTB = "otb"
    """Over the board: a new record of G3.5 or less is progress."""

    @classmethod
    def parse(cls, text: str) -> FiftyMoveRule:
        """Read the name of a rule.

        :raises UsageError: if there is no rule of that name.
        """
        try:
            return cls(text.lower())
        except ValueError:
            names = ", ".join(rule.value for rule in cls)
            raise UsageError(f"{quote(text)} is not a 50-move rule: expected one of {names}") from None

    @property
    def bare_kings_end(self) -> bool:
        """Whether the rule goes with an end by bare kings, which cuteRMob has and the TCEC wiki has not."""
        return self in (FiftyMoveRule.IMPROVING, FiftyMoveRule.CUTERMOB_LEGACY)

    def is_progress(self, improved: GScore, cutoff: GScore) -> bool:
        """Tell whether an accrued score that has just improved starts the count anew."""
        match self:
            case FiftyMoveRule.IMPROVING:
                return improved.rank < cutoff.rank
            case FiftyMoveRule.OTB:
                return improved.rank < OTB_CUTOFF.rank
            case _:
                return False

    def counts(self, clock: int, terminal: bool) -> bool:
        """Tell whether the score of a position counts, by the plies without progress up to it.

        :param terminal: whether it is mate or stalemate.
        """
        match self:
            case FiftyMoveRule.LEGACY:
                return clock < PLIES or terminal
            case FiftyMoveRule.CUTERMOB_LEGACY:
                return clock < PLIES
            case _:
                return True

    def ends(self, clock: int) -> bool:
        """Tell whether the rule ends the game."""
        return self is not FiftyMoveRule.NONE and clock >= PLIES
