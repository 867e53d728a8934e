"""The positions with which the wiki of r-mobility shows what basic endgames give.

Its other remarks are not repeated here: their text was not at hand.
"""

from typing import Final, NamedTuple

PAGE: Final = "https://wiki.chessdom.org/R-Mobility"


class Shown(NamedTuple):
    """One position of the wiki."""

    fen: str
    value: str
    """What play comes to."""
    line: str
    """In SAN."""


SHOWN: Final = {
    "KPvK": (Shown("4k3/4P3/4K3/8/8/8/8/8 b - - 0 1", "G0.5", ""),),
    "KBvK": (
        Shown("8/8/8/4KBk1/8/8/8/8 b - - 0 1", "G1.5", "Kh5 Kf4 Kh6 Kg4"),
        Shown("6k1/8/5K2/5B2/8/8/8/8 b - - 0 1", "G0.5", "Kf8 Bd7 Kg8 Be6+ Kh7 Bf7 Kh8 Kg6"),
    ),
    "KNvK": (Shown("8/8/8/2kNK3/8/8/8/8 b - - 0 1", "G3.5", ""),),
    "KvK": (
        Shown("8/6k1/8/4K3/8/8/8/8 b - - 0 1", "G5.5", "Kf7 Kf5"),
        Shown("8/8/8/2K3k1/8/8/8/8 w - - 0 1", "-G8.5", ""),
    ),
}
"""By material."""
