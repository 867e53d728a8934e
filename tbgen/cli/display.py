"""How commands show positions and lines of play."""

from collections.abc import Iterator, Sequence
from typing import Any

import chess

from tbgen.probe.documents import PlyDocument
from tbgen.probe.line import LinePly
from tbgen.text import plies


def diagram(board: chess.Board) -> Iterator[str]:
    """Yield the rows of a board with its coordinates."""
    for rank, row in zip(range(8, 0, -1), str(board).splitlines(), strict=True):
        yield f"{rank}  {row}"
    yield "   a b c d e f g h"


def line_text(board: chess.Board, line: Sequence[LinePly], name: str = "best play") -> Iterator[str]:
    """Yield the length of a line, then a text per ply: number, move and the accrued score after it."""
    yield f"{name}: {plies(len(line))}"
    number, white = board.fullmove_number, board.turn
    width = max((len(ply.san) for ply in line), default=0)
    for ply in line:
        label = f"{number}." if white else f"{number}..."
        yield f"{label:>6} {ply.san:{width}}  {ply.accrued!s:>6}"
        number, white = number + (not white), not white


def line_document(line: Sequence[LinePly]) -> list[dict[str, Any]]:
    """Return a line for a JSON document."""
    return [PlyDocument.of(ply).plain() for ply in line]


def mover(board: chess.Board) -> str:
    """Return the side to move for a reader."""
    return "White" if board.turn else "Black"
