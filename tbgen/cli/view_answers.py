"""What ``tbgen probe --view`` says about a position, as text and as a JSON document."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import chess

from tbgen.board.scoring import Points
from tbgen.cli.answers import situation
from tbgen.cli.display import diagram
from tbgen.documents import UNSET, UnsetType
from tbgen.probe.documents import ViewDocument, ViewMoveDocument, worth_fields
from tbgen.probe.view_tables import ViewMove, ViewResult
from tbgen.probe.views import View
from tbgen.text import plies


@dataclass(frozen=True, slots=True)
class ViewAnswer:
    """A position in classical chess or one of its kin."""

    fen: str
    board: chess.Board
    result: ViewResult
    moves: list[ViewMove] | None

    @property
    def remark(self) -> None:
        """Nothing is missing."""

    def document(self) -> dict[str, Any]:
        """Return the JSON document."""
        result = self.result
        moves: list[ViewMoveDocument] | UnsetType = UNSET
        if self.moves is not None:
            moves = [
                ViewMoveDocument(uci=move.uci, san=move.san, **worth_fields(move)) for move in self.moves
            ]
        return ViewDocument(
            fen=self.fen,
            material=result.material.name,
            view=result.view,
            **worth_fields(result),
            moves=moves,
        ).plain()

    def text(self) -> Iterator[str]:
        """Yield the lines for a reader."""
        result = self.result
        yield from diagram(self.board)
        yield ""
        yield f"{result.material}, {situation(self.board)}, {_NAMES[result.view]}"
        yield f"value           {_result(result.points)}"
        if result.depth is not None:
            yield f"depth           {plies(result.depth)}"
        yield f"points          {result.points.white:g}-{result.points.black:g}  (White-Black)"
        if self.moves:
            yield ""
            width = max(len(move.san) for move in self.moves)
            for move in self.moves:
                depth = "" if move.depth is None else f"  {plies(move.depth):>9}"
                yield f"{move.san:{width}}  {_result(move.points):>10}{depth}"


_NAMES = {
    View.CLASSICAL: "classical chess",
    View.STALEMATE_WINS: "stalemate wins",
    View.LASKER: "stalemate counts 3/4 (Lasker)",
}


def _result(points: Points) -> str:
    side, share = ("White", points.white) if points.white > points.black else ("Black", points.black)
    return "draw" if share == 0.5 else f"{side} wins" if share == 1 else f"{side} {share:g}"
