"""The server's answers and requests as documents; docs/web.md explains their fields."""

from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.documents import Count, Document, Plies, SideName
from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.outcome import Basis, Doubt
from tbgen.probe.probe_document import (
    Category,
    MoveDocument,
    PlyDocument,
    PointsDocument,
    PositionDocument,
    RefusalDocument,
)
from tbgen.tables.inventory import TableDocument
from tbgen.web.configuration import MAX_BATCH_POSITIONS, MAX_FEN_LENGTH

FenText: TypeAlias = Annotated[
    str,
    Meta(
        max_length=MAX_FEN_LENGTH,
        examples=["8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"],
        description="A FEN of up to seven fields, the last one the accrued score; underscores may stand for "
        "spaces; described men are in brackets",
    ),
]
_GScoreText: TypeAlias = Annotated[
    str, Meta(pattern=r"^[-mM]?[Gg][0-9]{1,3}(\.[05])?$", examples=["G3.5", "-G3.5"])
]
AccruedText: TypeAlias = Annotated[
    _GScoreText, Meta(description="The accrued score; it overrides that of the FEN")
]
ValueText: TypeAlias = Annotated[_GScoreText, Meta(description="The required fresh value of the position")]
MaterialText: TypeAlias = Annotated[
    str,
    Meta(
        max_length=60, examples=["KBvK"], description="The material; colours are those of its canonical name"
    ),
]

DayText: TypeAlias = Annotated[
    str, Meta(max_length=10, examples=["2026-11-25"], description="The day of the puzzle")
]
SideText: TypeAlias = Annotated[SideName, Meta(description="The side to move")]

SCHEMA_PREFIX: Final = "#/components/schemas/"
"""Prefix of references to document schemas in OpenAPI."""


class PositionMovesDocument(PositionDocument):
    """A position with its legal moves, best first."""

    moves: list[MoveDocument]
    """The moves, best first; an empty list in mate and stalemate."""


class Level(StrEnum):
    """Difficulty of a position to solve or to play."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


LevelText: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": list(Level)})]


class PuzzleDocument(PositionMovesDocument, kw_only=True):
    """A position in which only the first of the moves keeps the value.

    ``tempting`` has the wrong moves that look just as good, in UCI notation.
    """

    level: Level
    """By the number of tempting moves: at most one for ``easy``, two to four for ``medium``, more for
    ``hard``."""
    tempting: list[str]
    """The wrong moves, in UCI notation, that are captures, or leave the opponent no more moves than the right
    one does. The right move is the first of ``moves``."""


class MainlineDocument(PositionDocument):
    """A position with best play from it."""

    mainline: list[PlyDocument]
    """The moves until the accrued score is the value: ``uci``, ``san``, then ``accrued`` and ``depth``."""


class StateDocument(Document, kw_only=True):
    """A position with any number of men, and its accrued score.

    Value, depth, points and category are null if unavailable.
    """

    fen: str
    accrued: GScore
    """As in a position."""
    value: GScore | None
    depth: Plies | None
    points: PointsDocument | None
    category: Category | None
    """Value, depth, points and category; null unless a table, all moves together or the end of the game
    determine them."""


class LegalMoveDocument(StateDocument, kw_only=True):
    """A legal move, with the state that it leads to."""

    uci: str
    san: str
    zeroing: bool
    checkmate: bool
    stalemate: bool
    """As in a move."""


class LegalMovesDocument(StateDocument, kw_only=True):
    """A position with any number of men, and its legal moves.

    ``refusal`` says why tables do not determine the value of the position; null if they do.
    """

    rules: Variant
    checkmate: bool
    stalemate: bool
    insufficient_material: bool
    position_score: GScore
    """As in a position."""
    refusal: RefusalDocument | None
    """The error with which ``/r`` refuses the position; null if it answers."""
    moves: list[LegalMoveDocument]
    """The moves, best first, with the state after each. Those without a value come last."""


class AccruedScoreDocument(Document):
    """The value of a position for one accrued score."""

    accrued: GScore
    value: GScore
    depth: Plies | None
    points: PointsDocument


class AccruedScoresDocument(Document):
    """The values of a position for all possible accrued scores, best for White first."""

    fen: str
    material: Material
    rules: Variant
    position_score: GScore
    """As in a position."""
    accrued_scores: Annotated[list[AccruedScoreDocument], Meta(min_length=1)]
    """For each possible accrued score, best for White first: ``accrued``, ``value``, ``depth`` and
    ``points``. In mate, in stalemate and, in r-mobility, where an en passant capture is legal, only the
    position score is possible."""


class TablesDocument(Document):
    """The tables of the server."""

    tables: list[TableDocument]
    """The tables of both variants, as in ``TableDocument``."""


class BatchRequest(Document):
    """Positions to look up, with or without their moves."""

    fens: Annotated[list[str], Meta(extra_json_schema={"maxItems": MAX_BATCH_POSITIONS})]
    """Up to 100 positions."""
    moves: bool = True
    """Whether the answers have moves, which take nine tenths of the time."""


class BatchRefusalDocument(Document):
    """A position of a batch, as it was sent, with the reason why it has no answer."""

    fen: str
    """The position, as it was sent."""
    code: str
    message: str
    """As in an error."""


_BATCH_TYPES: Final = (PositionMovesDocument, PositionDocument, BatchRefusalDocument)
_BatchAnswer: TypeAlias = Annotated[
    Any, Meta(extra_json_schema={"anyOf": [{"$ref": SCHEMA_PREFIX + item.__name__} for item in _BATCH_TYPES]})
]


class BatchDocument(Document):
    """The answers about many positions, in order."""

    rules: Variant
    """The variant."""
    positions: list[_BatchAnswer]
    """For each position, in the order of ``fens``, ``PositionMovesDocument``, without moves
    ``PositionDocument``, or ``BatchRefusalDocument``."""


class GamePlyDocument(StateDocument, kw_only=True):
    """A position of a game, with the move that led to it, and the comment and glyphs after that move.

    Value, depth, points and category are null if no table has them.
    """

    ply: Count
    """The number of the position, 0 for the first."""
    uci: str | None
    san: str | None
    """The move that led to the position; null for the first."""
    comment: str
    """The comment after the move."""
    nags: list[Count]
    """The numbers of the move's annotation glyphs: 1 to 6 for ``!``, ``?``, ``!!``, ``??``, ``!?`` and
    ``?!``."""
    position_score: GScore
    """As in a position."""
    clock: Count
    """The clock of the 50-move rule."""


class ReplyDocument(Document):
    """The engine's move in a game."""

    uci: str
    san: str
    """The move."""


class OutcomeDocument(Document):
    """The outcome of a game."""

    value: GScore
    holder: SideName
    basis: Basis
    """The result, its holder, and the grounds."""
    proven: bool
    """Whether the result is proven (docs/referee.md)."""
    depth: Plies | None
    points: PointsDocument
    """As in a position."""
    doubts: list[Doubt]
    """Contradictions within the game (docs/referee.md#doubtful-games)."""


class VariationPlyDocument(GamePlyDocument, kw_only=True):
    """A position of a variation. ``after`` is the number of the position before it.

    Positions are numbered from 0, first those of ``plies``, then those of ``variations``.
    """

    after: Count
    """The number of the position before it."""


class GameDocument(Document):
    """A refereed game, ply by ply."""

    rules: Variant
    fifty_move_rule: FiftyMoveRule
    """The rules, from options and tags."""
    plies: list[GamePlyDocument]
    variations: list[VariationPlyDocument]
    """The positions of the game, and those of its variations; they are numbered in this order, from 0."""
    cut_variations: Count
    """Number of variations that are cut before an illegal move."""
    outcome: OutcomeDocument
    """The outcome."""
    missing_tables: list[str]
    """The tables that would determine more values."""


class ListedGameDocument(Document):
    """One of many games: tags, last comment and result in chess, and either the outcome or an error."""

    number: Count
    """The number of the game in the request."""
    tags: dict[str, str]
    comment: str
    result: str
    """The tags, the last comment and the result in chess, from the PGN."""
    plies: Count
    """Number of plies."""
    outcome: OutcomeDocument | None
    error: str | None
    """The outcome, or the error of a broken game; the other is null."""
    pgn: str
    """The text of the game, for ``/r/game``."""


class GamesDocument(Document):
    """Refereed games."""

    rules: Variant
    games: list[ListedGameDocument]
    """The variant, and the games in the order of the request."""
