"""What ``tbgen probe`` says about a position, as text and as a JSON document."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

import chess

from tbgen.board.scoring import Scoring
from tbgen.board.variant import Variant
from tbgen.cli.display import diagram, line_text, mover
from tbgen.documents import UNSET, UnsetType
from tbgen.errors import MissingLayerError
from tbgen.probe.documents import MoveDocument, PlyDocument, ProbeDocument, move_fields, position_fields
from tbgen.probe.line import LinePly
from tbgen.probe.moves import RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.text import plies

_UNKNOWN: Final = "?  (the table stores the value only: --depths makes the depth)"
_NOT_WITH_RIGHTS: Final = "?  (not known with castling rights)"


class PositionAnswer(Protocol):
    """All that is said about one position."""

    def text(self) -> Iterator[str]:
        """Yield the lines for a reader."""

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""

    @property
    def remark(self) -> str | None:
        """What is missing in the answer that was wanted, in a sentence."""


@dataclass(frozen=True, slots=True)
class MobilityAnswer:
    """A position in r-mobility, or in whole-game mobility."""

    fen: str
    board: chess.Board
    variant: Variant
    scoring: Scoring
    result: ProbeResult
    moves: list[RankedMove] | None
    line: list[LinePly] | MissingLayerError | None

    @property
    def remark(self) -> str | None:
        """What is missing in the answer that was wanted, in a sentence."""
        return str(self.line) if isinstance(self.line, MissingLayerError) else None

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        moves: list[MoveDocument] | UnsetType = UNSET
        if self.moves is not None:
            moves = [MoveDocument(**move_fields(move)) for move in self.moves]
        line: list[PlyDocument] | UnsetType | None = UNSET
        if self.line is not None:
            line = None if isinstance(self.line, MissingLayerError) else list(map(PlyDocument.of, self.line))
        fields = position_fields(self.fen, self.variant, self.scoring, self.result)
        return ProbeDocument(**fields, moves=moves, line=line).plain()

    def text(self) -> Iterator[str]:
        """Yield the lines for a reader."""
        result, variant = self.result, self.variant
        yield from diagram(self.board)
        yield ""
        game = "" if variant.resets else f", {variant.label}"
        yield f"{result.material}, {situation(self.board)}{game}"
        yield f"value           {result.value}  ({result.value.holder.capitalize()} holds it)"
        unknown = _NOT_WITH_RIGHTS if self.board.clean_castling_rights() else _UNKNOWN
        yield f"depth           {unknown if result.depth is None else plies(result.depth)}"
        yield f"accrued score   {result.accrued}"
        yield f"position score  {result.position_score}"
        yield f"points          {self.scoring.text(result.value)}  (White-Black)"
        if self.moves:
            yield ""
            width = max(len(move.san) for move in self.moves)
            for move in self.moves:
                reset = "  resets" if move.zeroing and variant.resets else ""
                depth = "?" if move.depth is None else plies(move.depth)
                yield f"{move.san:{width}}  {move.value:>6}  {depth:>9}{reset}"
        if isinstance(self.line, list):
            yield ""
            yield from line_text(self.board, self.line)


def situation(board: chess.Board) -> str:
    """Return who is to move, or how the game is over."""
    if any(board.legal_moves):
        return f"{mover(board)} to move"
    return "mate" if board.is_check() else "stalemate"
