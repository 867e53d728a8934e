"""What all pages look like: the one style sheet, light or dark, and the men of boards. Needs no extra."""

import re
from importlib.resources import files
from typing import Final

import chess
import chess.svg

MAN_SIZE: Final = 40
"""Width and height of a man in :func:`men`."""
SQUARE: Final = 45
"""Width and height of a square, and of a man, in chess.svg."""
_MARGIN: Final = 15
"""Of a board in chess.svg."""

_NAME: Final = re.compile(r'<g id="[a-z-]+" class="[a-z ]+"')
_STYLE: Final = re.compile(r'style="([^"]*)"')
_PROPERTY: Final = re.compile(r"([a-z-]+): ?([^;]+); ?")


def style_sheet() -> str:
    """Return what all pages look like, as CSS."""
    return files("tbgen.html").joinpath("templates", "style.css").read_text("utf-8")


def scheme_script() -> str:
    """Return the script by which pages are light or dark as the reader likes it."""
    return files("tbgen.html").joinpath("templates", "scheme.js").read_text("utf-8")


def corner(square: chess.Square) -> tuple[int, int]:
    """Return how far the upper left corner of a square is from the left and from the top in chess.svg."""
    return _MARGIN + SQUARE * chess.square_file(square), _MARGIN + SQUARE * (7 - chess.square_rank(square))


def men() -> str:
    """Return an SVG file of all men of chess.svg, each a group whose id is its side and kind: ``wk``, ``bp``.

    A man is drawn in a square of :data:`MAN_SIZE` with its corner at the origin.
    """
    size = f'width="{MAN_SIZE}" height="{MAN_SIZE}"'
    groups = "".join(_man(symbol, drawn) for symbol, drawn in chess.svg.PIECES.items())
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><defs>{groups}</defs></svg>'


def _man(symbol: str, drawn: str) -> str:
    """Return a man with its short id, and with attributes for styles, which a strict page does not apply."""
    name = ("w" if symbol.isupper() else "b") + symbol.lower()
    scale = f"scale({MAN_SIZE / SQUARE:.4f})"
    named = _NAME.sub(f'<g id="{name}" transform="{scale}"', drawn, count=1)
    return _STYLE.sub(lambda style: _PROPERTY.sub(r'\1="\2" ', style[1]).rstrip(), named)
