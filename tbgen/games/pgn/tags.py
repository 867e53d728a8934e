"""The PGN tags of r-mobility, most of them cuteRMob's."""

from dataclasses import dataclass
from typing import Final

from tbgen.variant import Variant


@dataclass(frozen=True, slots=True)
class ResultTags:
    """The tags in which the result by one kind of rules stands."""

    result: str
    """The result as a G-score, such as ``-G5.5``."""
    basis: str
    """The grounds of the result, such as ``tablebase``; tbgen's own."""
    accrued: str
    """The accrued score when the game ended; tbgen's own."""

    @property
    def all(self) -> frozenset[str]:
        """All three."""
        return frozenset({self.result, self.basis, self.accrued})


R: Final = ResultTags("RMobilityResult", "RMobilityBasis", "RMobilityAccrued")
WG: Final = ResultTags("WGMobilityResult", "WGMobilityBasis", "WGMobilityAccrued")

POINTS: Final = "Points"
"""The points of White and Black, such as ``0.6250-0.3750`` or ``1-0``."""

CUTOFF: Final = "RMobilityCutoff"

SCORING: Final = "RMobilityScoring"

KOMI: Final = "Komi"
"""The komi; it belongs to the opening, and is never replaced."""

FIFTY_MOVES: Final = "RMobilityFiftyMoveRule"
"""The 50-move rule that the game was refereed by, such as ``legacy``; tbgen's own."""

LEGACY: Final = "Legacy"
"""The plain 50-move rule; cuteRMob writes the tag without a value."""

ACCRUED_BEFORE: Final = "FENAccrued"
"""The accrued score of the start position, whose FEN has six fields then."""


SHARED: Final = frozenset({POINTS, CUTOFF, SCORING, FIFTY_MOVES})
"""The tags that every tagging replaces, besides those of its result."""


def result_tags(variant: Variant) -> ResultTags:
    """Return the tags of a result by r-mobility, or by whole-game mobility."""
    return R if variant.resets else WG
