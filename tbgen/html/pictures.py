"""Pictures of boards that stand for themselves: files of SVG, with words on squares. Needs no extra."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

import chess
import chess.svg

from tbgen.html.style import SQUARE, corner

_SIZE: Final = 390
_MARKED: Final = "#7fb069"
_WORDS: Final = (11, 9)
"""Sizes of the first word on a square and of those below it."""


def picture(
    board: chess.BaseBoard,
    words: Mapping[chess.Square, Sequence[str]],
    marked: Iterable[chess.Square],
    title: str,
    arrows: Iterable[chess.svg.Arrow] = (),
) -> str:
    """Return an SVG file of a board.

    :param words: what is written on squares, one word below the other; at most three are legible.
    :param marked: squares that are coloured.
    :param title: the description for screen readers.
    :param arrows: drawn on the board, one over the other.
    """
    drawn = chess.svg.board(board, size=_SIZE, fill=dict.fromkeys(marked, _MARKED), arrows=arrows)
    written = "".join(_written(square, lines) for square, lines in sorted(words.items()))
    head, end = drawn.rsplit("</svg>", 1)
    start = head.index(">") + 1
    return f"{head[:start]}<title>{escape(title)}</title>{head[start:]}{written}</svg>{end}\n"


def _written(square: chess.Square, words: Sequence[str]) -> str:
    left, top = (edge + SQUARE / 2 for edge in corner(square))
    first = top - 6 * (len(words) - 1) + 4
    return "".join(
        f'<text x="{left}" y="{first + 12 * number}" font-size="{_WORDS[min(number, 1)]}" '
        f'font-family="sans-serif" text-anchor="middle">{escape(word)}</text>'
        for number, word in enumerate(words)
    )
