"""What is said about positions as JSON documents, on the command line and by HTTP.

The command line leaves out what it has never said; docs/web.md says what the fields mean.
"""

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tbgen.board.score import GScore
from tbgen.board.scoring import Points, Scoring
from tbgen.board.variant import Variant
from tbgen.documents import UNSET, Document, Plies, ScoreText, Share, SideName, UnsetType
from tbgen.probe.moves import LinePly
from tbgen.probe.tablebase import View

if TYPE_CHECKING:
    from tbgen.probe.moves import RankedMove
    from tbgen.probe.states import ProbeResult
    from tbgen.probe.tablebase import ViewMove, ViewResult


class Category(StrEnum):
    """What a value means to the side to move."""

    MATE = "mate"
    """It mates."""
    STALEMATE = "stalemate"
    """It stalemates."""
    AHEAD = "ahead"
    """It holds the value."""
    BEHIND = "behind"
    """The other side holds the value."""
    STALEMATED = "stalemated"
    """It is stalemated, now or in the end."""
    MATED = "mated"
    """It is mated, now or in the end."""

    @classmethod
    def of(cls, value: GScore, white: bool) -> "Category":
        """Return what a value means to a side.

        >>> Category.of(GScore("-G0.5"), white=True).value
        'stalemated'
        """
        of_holder, of_other = (cls.MATE, cls.STALEMATE, cls.AHEAD), (cls.MATED, cls.STALEMATED, cls.BEHIND)
        return (of_holder if value.white == white else of_other)[min(value.rank, 2)]


class ViewCategory(StrEnum):
    """What the value of a view means to the side to move."""

    WIN = "win"
    STALEMATE = "stalemate"
    """More than half a point, less than a whole one."""
    DRAW = "draw"
    STALEMATED = "stalemated"
    """Less than half a point, but not nothing."""
    LOSS = "loss"

    @classmethod
    def of(cls, points: Points, white: bool) -> "ViewCategory":
        """Return what points mean to a side."""
        share = points.white if white else points.black
        if share in (0, 1):
            return cls.WIN if share else cls.LOSS
        return cls.DRAW if share == 0.5 else cls.STALEMATE if share > 0.5 else cls.STALEMATED


class PointsDocument(Document):
    """What a value is worth to each side, together 1."""

    white: Share
    black: Share


@lru_cache(1 << 10)  # the same values come again and again
def points_document(scoring: Scoring, value: GScore) -> PointsDocument:
    """Return the points of a value, not rounded."""
    return PointsDocument(*scoring.points(value))


class MoveDocument(Document, kw_only=True):
    """A legal move, and what is said of the position that it leads to."""

    uci: str
    san: str
    checkmate: bool | UnsetType = UNSET
    stalemate: bool | UnsetType = UNSET
    accrued: ScoreText | UnsetType = UNSET
    value: ScoreText
    depth: Plies | None
    zeroing: bool
    points: PointsDocument | UnsetType = UNSET
    category: Category | UnsetType = UNSET


def move_fields(move: "RankedMove") -> dict[str, Any]:
    """Return the fields of a :class:`MoveDocument` that always stand in it."""
    return {
        "uci": move.uci,
        "san": move.san,
        "value": str(move.value),
        "depth": move.depth,
        "zeroing": move.zeroing,
    }


class PlyDocument(Document):
    """One move of best play, with the accrued score after it and the plies that are left then."""

    uci: str
    san: str
    accrued: ScoreText
    depth: Plies

    @classmethod
    def of(cls, ply: LinePly) -> "PlyDocument":
        """Return the document of a ply."""
        return cls(ply.uci, ply.san, str(ply.accrued), ply.depth)


class PositionDocument(Document, kw_only=True):
    """A position in r-mobility, or in whole-game mobility."""

    fen: str
    material: str
    rules: Variant
    checkmate: bool | UnsetType = UNSET
    stalemate: bool | UnsetType = UNSET
    insufficient_material: bool | UnsetType = UNSET
    position_score: ScoreText
    accrued: ScoreText
    value: ScoreText
    holder: SideName
    depth: Plies | None
    points: PointsDocument
    category: Category | UnsetType = UNSET
    note: str | UnsetType | None = UNSET
    """What of the question did not count."""


def position_fields(fen: str, variant: Variant, scoring: Scoring, result: "ProbeResult") -> dict[str, Any]:
    """Return the fields of a :class:`PositionDocument` that always stand in it."""
    return {
        "fen": fen,
        "material": result.material.name,
        "rules": variant,
        "position_score": str(result.position_score),
        "accrued": str(result.accrued),
        "value": str(result.value),
        "holder": result.value.holder,
        "depth": result.depth,
        "points": points_document(scoring, result.value),
    }


class ProbeDocument(PositionDocument, kw_only=True):
    """A position with its legal moves, best first, and best play from it."""

    moves: list[MoveDocument] | UnsetType = UNSET
    line: list[PlyDocument] | UnsetType | None = UNSET
    """None if it takes depths that are not stored."""


class ViewMoveDocument(Document, kw_only=True):
    """A legal move, and what a view says of the position that it leads to."""

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
    """A position in classical chess or one of its kin."""

    fen: str
    material: str
    view: View
    checkmate: bool | UnsetType = UNSET
    stalemate: bool | UnsetType = UNSET
    insufficient_material: bool | UnsetType = UNSET
    winner: SideName | None
    depth: Plies | None
    points: PointsDocument
    category: ViewCategory | UnsetType = UNSET
    moves: list[ViewMoveDocument] | UnsetType = UNSET


def worth_fields(of: "ViewResult | ViewMove") -> dict[str, Any]:
    """Return the fields of a :class:`ViewDocument` or :class:`ViewMoveDocument` that say what a view does."""
    return {"winner": of.winner, "depth": of.depth, "points": PointsDocument(*of.points)}


class RefusalDocument(Document):
    """Why there is no answer."""

    code: str
    message: str
