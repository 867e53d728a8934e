"""JSON documents about positions, for the command line and for HTTP.

Fields whose default is ``UNSET`` are optional. docs/web.md describes all fields.
"""

from enum import StrEnum
from functools import lru_cache
from math import nextafter

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.scoring import Points, Scoring
from tbgen.board.variant import Variant
from tbgen.documents import UNSET, Document, Plies, Share, SideName, UnsetType
from tbgen.probe.views import View


class Category(StrEnum):
    """The meaning of a value for the side to move."""

    MATE = "mate"
    """The side to move gives mate, now or later."""
    STALEMATE = "stalemate"
    """The side to move gives stalemate, now or later."""
    AHEAD = "ahead"
    """The side to move holds the value, which is neither mate nor stalemate."""
    BEHIND = "behind"
    """The opponent holds the value, which is neither mate nor stalemate."""
    STALEMATED = "stalemated"
    """The side to move is stalemated, now or later."""
    MATED = "mated"
    """The side to move is mated, now or later."""

    @classmethod
    def of(cls, value: GScore, is_white: bool) -> "Category":
        """Return what a value means for White or Black.

        >>> Category.of(GScore("-G0.5"), is_white=True).value
        'stalemated'
        """
        if value.white == is_white:
            return (cls.MATE, cls.STALEMATE, cls.AHEAD)[min(value.rank, 2)]
        return (cls.MATED, cls.STALEMATED, cls.BEHIND)[min(value.rank, 2)]


class ViewCategory(StrEnum):
    """The meaning of points in a view for the side to move."""

    WIN = "win"
    STALEMATE = "stalemate"
    """More than half a point, but less than a full point."""
    DRAW = "draw"
    STALEMATED = "stalemated"
    """Less than half a point, but more than 0."""
    LOSS = "loss"

    @classmethod
    def of(cls, points: Points, is_white: bool) -> "ViewCategory":
        """Return what points mean for White or Black."""
        share = points.white if is_white else points.black
        if share in (0, 1):
            return cls.WIN if share else cls.LOSS
        return cls.DRAW if share == 0.5 else cls.STALEMATE if share > 0.5 else cls.STALEMATED


class PointsDocument(Document):
    """The points that a value gives each side; their sum is 1."""

    white: Share
    black: Share


@lru_cache(1 << 10)  # the same values are often repeated
def points_document(scoring: Scoring, value: GScore) -> PointsDocument:
    """Return the points that a value gives each side, not rounded.

    If a lead is too small for a float (from G26.5 on), the points differ by the least possible amount.
    """
    points = PointsDocument.of(scoring.points(value))
    lead = scoring.lead(value)
    if not lead or points.white != points.black:
        return points
    more, less = nextafter(points.white, 1), nextafter(points.white, 0)
    return PointsDocument(more, less) if lead > 0 else PointsDocument(less, more)


class MoveDocument(Document, kw_only=True):
    """A legal move, with the value and depth of the state that the move leads to."""

    uci: str
    san: str
    """The move in UCI notation and in SAN."""
    checkmate: bool | UnsetType = UNSET
    stalemate: bool | UnsetType = UNSET
    accrued: GScore | UnsetType = UNSET
    value: GScore
    depth: Plies | None
    """Whether the move ends the game; accrued score, value and depth of the state after the move."""
    zeroing: bool
    """Whether the move is a capture or a pawn move."""
    points: PointsDocument | UnsetType = UNSET
    category: Category | UnsetType = UNSET
    """The points of the value, and its meaning for the side to move after the move."""


class PlyDocument(Document):
    """One move of best play, with the accrued score and the number of remaining plies after the move."""

    uci: str
    san: str
    accrued: GScore
    depth: Plies


class PositionDocument(Document, kw_only=True):
    """A position in r-mobility, or in whole-game mobility."""

    fen: str
    """The position, in six fields."""
    material: Material
    """The material of the table that holds the position, such as ``KBvK``."""
    rules: Variant
    """The rules: ``r`` or ``wg``."""
    checkmate: bool | UnsetType = UNSET
    stalemate: bool | UnsetType = UNSET
    insufficient_material: bool | UnsetType = UNSET
    """As in chess; insufficient material does not end a game of r-mobility."""
    position_score: GScore
    """g(P), the score of the position itself."""
    accrued: GScore
    """The accrued score used, with the position score folded in."""
    value: GScore
    """The G-score that best play of both sides reaches; Black's scores have a minus."""
    holder: SideName
    """The holder of the value."""
    depth: Plies | None
    """Plies until the accrued score is the value, 0 if it already is; null where a packed table does not
    store the depth."""
    points: PointsDocument
    """The points of ``white`` and ``black`` by TCEC's exponential scoring, or by ``--scoring``."""
    category: Category | UnsetType = UNSET
    """The meaning of the value for the side to move."""
    note: str | UnsetType | None = UNSET
    """Why the seventh field of the FEN does not count; null if it counts or is missing."""


class ProbeDocument(PositionDocument, kw_only=True):
    """A position with its legal moves, best first, and best play from it."""

    moves: list[MoveDocument] | UnsetType = UNSET
    line: list[PlyDocument] | UnsetType | None = UNSET
    """Best play; None if it needs depths that are not stored."""


class ViewMoveDocument(Document, kw_only=True):
    """A legal move, with the winner, the depth and the points in a view after the move."""

    uci: str
    san: str
    zeroing: bool | UnsetType = UNSET
    checkmate: bool | UnsetType = UNSET
    stalemate: bool | UnsetType = UNSET
    winner: SideName | None
    depth: Plies | None
    points: PointsDocument
    category: ViewCategory | UnsetType = UNSET


class ViewDocument(Document, kw_only=True):
    """A position in a view, such as classical chess."""

    fen: str
    material: Material
    """As in a position of r-mobility."""
    view: View
    """The simpler game."""
    checkmate: bool | UnsetType = UNSET
    stalemate: bool | UnsetType = UNSET
    insufficient_material: bool | UnsetType = UNSET
    """As in chess."""
    winner: SideName | None
    """The side that wins; null in a draw."""
    depth: Plies | None
    """Plies to mate in ``classical``, else null."""
    points: PointsDocument
    """The points of ``white`` and ``black``."""
    category: ViewCategory | UnsetType = UNSET
    """The meaning of the points for the side to move."""
    moves: list[ViewMoveDocument] | UnsetType = UNSET
    """The moves, best first."""


class RefusalDocument(Document):
    """An error, sent in place of an answer."""

    code: str
    """The kind of error."""
    message: str
    """A sentence that says what is wrong and what to do."""


class PositionErrorDocument(Document):
    """A position, as the user entered it, with the reason why it has no answer."""

    fen: str
    error: str
    code: str
