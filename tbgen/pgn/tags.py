"""The PGN tags of r-mobility, most of them cuteRMob's."""

from typing import Final

RESULT: Final = "RMobilityResult"
"""The result as a G-score, such as ``-G5.5``."""

POINTS: Final = "Points"
"""The points of White and Black, such as ``0.6250-0.3750`` or ``1-0``."""

BASIS: Final = "RMobilityBasis"
"""The grounds of the result, such as ``tablebase``; tbgen's own."""

FIFTY_MOVES: Final = "RMobilityFiftyMoveRule"
"""The 50-move rule that the game was refereed by, such as ``legacy``; tbgen's own."""

WHOLE_GAME_RESULT: Final = "WGMobilityResult"
WHOLE_GAME_BASIS: Final = "WGMobilityBasis"
"""Result and basis by whole-game mobility."""

CUTOFF: Final = "RMobilityCutoff"

SCORING: Final = "RMobilityScoring"

KOMI: Final = "Komi"

LEGACY: Final = "Legacy"
"""The plain 50-move rule; cuteRMob writes the tag without a value."""

ACCRUED: Final = "FENAccrued"
"""The accrued score of the start position, whose FEN has six fields then."""
