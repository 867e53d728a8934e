"""The PGN tags of r-mobility, most of them cuteRMob's."""

from typing import Final, NamedTuple

from tbgen.board.variant import Variant


class ResultTags(NamedTuple):
    """The names of the tags in which the result by one variant stands."""

    result: str
    """The result as a G-score, such as ``-G5.5``."""
    basis: str
    """The grounds of the result, such as ``tablebase``; tbgen's own."""
    accrued: str
    """The accrued score when the game ended; tbgen's own."""
    bounds: str
    """What best play is proved to come to where the result is not exact, such as ``-G4.5 G2.0``, White's
    worse end first; tbgen's own."""


R: Final = ResultTags("RMobilityResult", "RMobilityBasis", "RMobilityAccrued", "RMobilityBounds")
WG: Final = ResultTags("WGMobilityResult", "WGMobilityBasis", "WGMobilityAccrued", "WGMobilityBounds")
RESULT: Final = {Variant.R_MOBILITY: R, Variant.WHOLE_GAME: WG}

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

REPLACED: Final = {variant: SHARED.union(names) for variant, names in RESULT.items()}
"""All tags that tagging by a variant replaces."""
