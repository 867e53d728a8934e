"""The positions with which the wiki of r-mobility shows what basic endgames give.

Its other remarks are not repeated here: their text was not at hand.
"""

from collections.abc import Mapping
from typing import Final

PAGE: Final = "https://wiki.chessdom.org/R-Mobility"


SHOWN: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "KPvK": (("4k3/4P3/4K3/8/8/8/8/8 b - - 0 1", "G0.5", ""),),
    "KBvK": (
        ("8/8/8/4KBk1/8/8/8/8 b - - 0 1", "G1.5", "Kh5 Kf4 Kh6 Kg4"),
        ("6k1/8/5K2/5B2/8/8/8/8 b - - 0 1", "G0.5", "Kf8 Bd7 Kg8 Be6+ Kh7 Bf7 Kh8 Kg6"),
    ),
    "KNvK": (("8/8/8/2kNK3/8/8/8/8 b - - 0 1", "G3.5", ""),),
    "KvK": (
        ("8/6k1/8/4K3/8/8/8/8 b - - 0 1", "G5.5", "Kf7 Kf5"),
        ("8/8/8/2K3k1/8/8/8/8 w - - 0 1", "-G8.5", ""),
    ),
}
"""By material: FEN, what play comes to, and the line in SAN."""
