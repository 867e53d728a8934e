"""Views: classical chess and its kin as functions of r-mobility (docs/theory.md, section 10)."""

from typing import Final

from tbgen.board.score import GScore
from tbgen.board.scoring import Points
from tbgen.errors import NamedChoice


class View(NamedChoice, what="a view"):
    """A game with the moves of chess whose values are a function of those of r-mobility."""

    CLASSICAL = "classical"
    """Win, draw or loss, without the 50-move rule."""
    STALEMATE_WINS = "stalemate-wins"
    """Stalemate wins as mate does."""
    LASKER = "lasker"
    """Stalemate gives 3/4 of the point, as Emanuel Lasker proposed."""

    @classmethod
    def parse(cls, text: str) -> "View":
        """Read the name of a view.

        :raises UsageError: if there is none of that name.
        """
        return cls(text)

    def points(self, value: GScore) -> Points:
        """Return what the game of the view gives where r-mobility gives a score.

        >>> View.LASKER.points(GScore("-G0.5"))
        Points(white=0.25, black=0.75)
        """
        shares = _HOLDERS_SHARE[self]
        share = shares[value.rank] if value.rank < len(shares) else 0.5
        return Points(share, 1 - share) if value.white else Points(1 - share, share)

    def depth(self, value: GScore, depth: int | None) -> int | None:
        """Return the plies to mate of a value with its depth, 0 without; None in views that know none."""
        mate = 0 if value.rank else depth
        return mate if self is View.CLASSICAL else None


_HOLDERS_SHARE: Final = {
    View.CLASSICAL: (1.0, 0.5),
    View.STALEMATE_WINS: (1.0, 1.0),
    View.LASKER: (1.0, 0.75),
}
"""Points of the holder of rank 0, and of rank 1."""
