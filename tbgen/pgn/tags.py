"""The PGN tags of r-mobility, most of them cuteRMob's."""

from typing import Final

RESULT: Final = "RMobilityResult"
"""The result as a G-score, such as ``-G5.5``."""

POINTS: Final = "Points"
"""The points of White and Black, such as ``0.6250-0.3750`` or ``1-0``."""

CUTOFF: Final = "RMobilityCutoff"

SCORING: Final = "RMobilityScoring"

KOMI: Final = "Komi"

LEGACY: Final = "Legacy"
"""The plain 50-move rule; cuteRMob writes the tag without a value."""

ACCRUED: Final = "FENAccrued"
"""The accrued score of the start position, whose FEN has six fields then."""
