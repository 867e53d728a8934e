"""Answers about positions, as text and as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import chess
from msgspec import Struct

from tbgen.board.fen import AnyBoard
from tbgen.board.san import move_prefix
from tbgen.board.scoring import Points, Scoring
from tbgen.board.variant import Variant
from tbgen.documents import UNSET, UnsetType
from tbgen.errors import MissingLayerError
from tbgen.probe.moves import LinePly, RankedMove
from tbgen.probe.probe_document import (
    MoveDocument,
    PlyDocument,
    PointsDocument,
    ProbeDocument,
    ViewDocument,
    ViewMoveDocument,
    points_document,
)
from tbgen.probe.states import ProbeResult
from tbgen.probe.views import View
from tbgen.text import plies

if TYPE_CHECKING:
    from tbgen.probe.views import ViewMove, ViewResult

_DEPTH_NOT_STORED: Final = "?  (the table stores only the value: --depths computes the depth)"
_NO_DEPTH_WITH_CASTLING: Final = "?  (not known with castling rights)"
_VIEW_LABELS: Final = {
    View.CLASSICAL: "classical chess",
    View.STALEMATE_WINS: "stalemate wins",
    View.LASKER: "stalemate counts 3/4 (Lasker)",
}


class MobilityAnswer(Struct, frozen=True):
    """The answer for a position in r-mobility or in whole-game mobility."""

    board: AnyBoard
    variant: Variant
    scoring: Scoring
    result: ProbeResult
    moves: list[RankedMove] | None
    line: list[LinePly] | MissingLayerError | None
    note: str | None
    """A remark about an ignored part of the FEN."""

    def document(self, fen: str) -> ProbeDocument:
        """Return the JSON document about the position, which the user entered as ``fen``."""
        line: list[PlyDocument] | UnsetType | None = UNSET
        if self.line is not None:
            line = list(map(PlyDocument.of, self.line)) if isinstance(self.line, list) else None
        return ProbeDocument.of(
            self.result,
            fen=fen,
            rules=self.variant,
            holder=self.result.value.holder,
            points=points_document(self.scoring, self.result.value),
            moves=UNSET if self.moves is None else list(map(MoveDocument.of, self.moves)),
            line=line,
            note=self.note or UNSET,
        )

    def text(self) -> Iterator[str]:
        """Yield the lines of text output."""
        result = self.result
        variant = self.variant
        yield from diagram(self.board)
        yield ""
        variant_text = "" if variant is Variant.R_MOBILITY else f", {variant.label}"
        yield f"{result.material}, {_situation(self.board)}{variant_text}"
        yield f"value           {result.value}  ({result.value.holder.capitalize()} holds it)"
        rights = isinstance(self.board, chess.Board) and self.board.clean_castling_rights()
        reason = _NO_DEPTH_WITH_CASTLING if rights else _DEPTH_NOT_STORED
        yield f"depth           {reason if result.depth is None else plies(result.depth)}"
        yield f"accrued score   {result.accrued}"
        yield f"position score  {result.position_score}"
        yield f"points          {self.scoring.text(result.value)}  (White-Black)"
        if self.moves:
            yield ""
            width = max(len(move.san) for move in self.moves)
            for move in self.moves:
                reset = "  resets" if variant.is_reset_by(move.zeroing) else ""
                depth = "?" if move.depth is None else plies(move.depth)
                yield f"{move.san:{width}}  {move.value:>6}  {depth:>9}{reset}"
        if isinstance(self.line, list):
            yield ""
            yield from line_text(self.board, self.line)


class ViewAnswer(Struct, frozen=True):
    """The answer for a position in classical chess or a related game."""

    board: AnyBoard
    result: ViewResult
    moves: list[ViewMove] | None

    def document(self, fen: str) -> ViewDocument:
        """Return the JSON document about the position, which the user entered as ``fen``."""
        result = self.result
        ranked_moves = self.moves or ()
        moves = [ViewMoveDocument.of(move, points=PointsDocument.of(move.points)) for move in ranked_moves]
        return ViewDocument.of(
            result,
            fen=fen,
            points=PointsDocument.of(result.points),
            moves=UNSET if self.moves is None else moves,
        )

    def text(self) -> Iterator[str]:
        """Yield the lines of text output."""
        result = self.result
        yield from diagram(self.board)
        yield ""
        yield f"{result.material}, {_situation(self.board)}, {_VIEW_LABELS[result.view]}"
        yield f"value           {_result_text(result.points)}"
        if result.depth is not None:
            yield f"depth           {plies(result.depth)}"
        yield f"points          {result.points.white:g}-{result.points.black:g}  (White-Black)"
        if self.moves:
            yield ""
            width = max(len(move.san) for move in self.moves)
            for move in self.moves:
                depth = "" if move.depth is None else f"  {plies(move.depth):>9}"
                yield f"{move.san:{width}}  {_result_text(move.points):>10}{depth}"


def _result_text(points: Points) -> str:
    side, share = ("White", points.white) if points.white > points.black else ("Black", points.black)
    return "draw" if share == 0.5 else f"{side} wins" if share == 1 else f"{side} {share:g}"


def _situation(board: AnyBoard) -> str:
    """Return the side to move, or ``mate`` or ``stalemate`` if the game is over."""
    if any(board.legal_moves):
        return f"{side_to_move(board)} to move"
    return "mate" if board.is_check() else "stalemate"


def diagram(board: AnyBoard) -> Iterator[str]:
    """Yield the rows of a board with coordinates."""
    if isinstance(board, chess.Board):
        return board_text({square: piece.symbol() for square, piece in board.piece_map().items()})
    cells = {square: board.symbol_at(square) for square in board.men}
    return board_text(cells, max(map(len, cells.values())))


def board_text(square_texts: Mapping[chess.Square, str], width: int = 1) -> Iterator[str]:
    """Yield the rows of a board with coordinates and a text on each square of ``square_texts``."""
    for rank in reversed(range(8)):
        row = (square_texts.get(chess.square(file, rank), ".") for file in range(8))
        yield f"{rank + 1}  {' '.join(f'{text:{width}}' for text in row)}".rstrip()
    yield f"   {' '.join(f'{file:{width}}' for file in chess.FILE_NAMES)}".rstrip()


def line_text(board: AnyBoard, line: Sequence[LinePly], name: str = "best play") -> Iterator[str]:
    """Yield the length of a line, then a text for each ply: number, move, and the accrued score after it."""
    yield f"{name}: {plies(len(line))}"
    move_number = board.fullmove_number
    is_white_to_move = board.turn
    width = max((len(ply.san) for ply in line), default=0)
    for ply in line:
        yield f"{move_prefix(move_number, is_white_to_move):>6} {ply.san:{width}}  {ply.accrued!s:>6}"
        move_number = move_number + (not is_white_to_move)
        is_white_to_move = not is_white_to_move


def side_to_move(board: AnyBoard) -> str:
    """Return the side to move, ``White`` or ``Black``."""
    return "White" if board.turn else "Black"
