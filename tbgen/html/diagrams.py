"""Boards and described men (docs/described.md) as SVG, and links from diagrams to the page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from xml.sax import saxutils

import chess
import chess.svg
from markupsafe import Markup, escape

from tbgen.board.fen import AnyBoard
from tbgen.board.kinds import ATOMS, FEN_LETTERS
from tbgen.board.material import described_kind
from tbgen.board.named import named_picture
from tbgen.html.style import MAN_SIZE, SQUARE, corner

_WRAPPING_TAGS: Final = re.compile(r"<desc>.*?</desc>|<defs ?/>|</?svg[^>]*>", re.DOTALL)

_BOARD_SIZE: Final = 390
_FIGURE_SIZE: Final = 200
"""Size of a board in a notebook, in pixels."""
_MARK_FILL: Final = "#7fb069"
_WORD_SIZES: Final = (11, 9)
"""Font sizes of the first word on a square, and of the words below the first."""

_MIDDLE: Final = MAN_SIZE / 2
_STEP: Final = min(4.4, 14.7 / max(map(max, ATOMS.values())))
"""Distance between neighbouring squares on a tile. The longest leap of a described man stays on the tile."""
_START, _END = 3.0, 14.5
"""Distances, along files or ranks, from the middle of a tile to the start and end of a ride's line."""
_COLOURS: Final = {True: ("#fff", "#000"), False: ("#000", "#fff")}
"""Colours of the tile and of the marks on it; the key says whether the man is White's."""

_DIAGRAM: Final = re.compile(r'<svg class="board" data-query="([^"]*)".*?</svg>', re.DOTALL)
_NAVIGATION: Final = re.compile(r'<nav class="site"[^>]*><ul>')


def sprites() -> Markup:
    """Return hidden definitions of an empty board and of all men; a page needs them before its diagrams."""
    board = _WRAPPING_TAGS.sub("", chess.svg.board(None, size=390))
    men = "".join(chess.svg.PIECES[symbol] for symbol in FEN_LETTERS)
    return Markup(
        f'<svg width="0" height="0" aria-hidden="true" class="sprites"><defs><g id="board">{board}</g>{men}'
        "</defs></svg>"
    )


def diagram(fen: str, rules: str = "r") -> Markup:
    """Return a board as SVG, with a description for screen readers.

    The attribute ``data-query`` is the explorer's query for the position, which :func:`with_links` uses.

    :param rules: the variant of the page that contains the diagram, ``r`` or ``wg``.
    :raises ValueError: if the FEN is invalid.
    """
    position = chess.Board(fen)
    men = "".join(_man_svg(square, piece) for square, piece in sorted(position.piece_map().items()))
    query = f"fen={fen.replace(' ', '_')}" + (f"&rules={rules}" if rules != "r" else "")
    return Markup(
        f'<svg class="board" data-query="{escape(query)}" viewBox="0 0 390 390" role="img" '
        f'aria-label="{escape(board_words(position))}">'
        f'<use href="#board"/>{men}</svg>'
    )


def _man_svg(square: chess.Square, piece: chess.Piece) -> str:
    left, top = corner(square)
    name = f"{chess.COLOR_NAMES[piece.color]}-{chess.PIECE_NAMES[piece.piece_type]}"
    return f'<use href="#{name}" x="{left}" y="{top}"/>'


def board_words(position: chess.Board) -> str:
    """Return the squares of the men of a position, and the side to move, in words.

    >>> board_words(chess.Board("8/8/8/4KBk1/8/8/8/8 b - - 0 1"))
    'White: Ke5, Bf5. Black: Kg5. Black to move.'
    """
    white, black = (", ".join(_man_labels(position, colour)) for colour in (chess.WHITE, chess.BLACK))
    return f"White: {white}. Black: {black}. {'White' if position.turn else 'Black'} to move."


def _man_labels(position: chess.Board, colour: chess.Color) -> list[str]:
    return [
        (chess.piece_symbol(kind).upper() if kind != chess.PAWN else "") + chess.square_name(square)
        for kind in reversed(chess.PIECE_TYPES)
        for square in position.pieces(kind, colour)
    ]


def board_picture(
    board: chess.BaseBoard,
    words: Mapping[chess.Square, Sequence[str]],
    squares: Iterable[chess.Square],
    title: str,
    arrows: Iterable[chess.svg.Arrow] = (),
    size: int = _BOARD_SIZE,
) -> str:
    """Return an SVG file of a board.

    :param words: the words to write on squares, one below the other; at most three are legible.
    :param squares: the squares to colour.
    :param title: the description for screen readers.
    :param arrows: the arrows, later ones on top of earlier ones.
    :param size: width and height in pixels.
    """
    drawing = chess.svg.board(board, size=size, fill=dict.fromkeys(squares, _MARK_FILL), arrows=arrows)
    texts = "".join(_word_texts(square, lines) for square, lines in sorted(words.items()))
    content, tail = drawing.rsplit("</svg>", 1)
    offset = content.index(">") + 1
    return f"{content[:offset]}<title>{saxutils.escape(title)}</title>{content[offset:]}{texts}</svg>{tail}\n"


def board_figure(board: AnyBoard, value: str) -> str:
    """Return a board with its value and FEN as HTML, for notebooks. Described men are not drawn."""
    picture = ""
    if isinstance(board, chess.Board):
        picture = board_picture(board, {}, (), board_words(board), size=_FIGURE_SIZE)
    words = f"{'White' if board.turn else 'Black'} to move: {value}"
    caption = f"<figcaption>{words}<br><small>{escape(board.fen())}</small></figcaption>"
    return f'<figure style="display: inline-block">{picture}{caption}</figure>'


def _word_texts(square: chess.Square, words: Sequence[str]) -> str:
    left, top = (edge + SQUARE / 2 for edge in corner(square))
    first_baseline = top - 6 * (len(words) - 1) + 4
    return "".join(
        f'<text x="{left}" y="{first_baseline + 12 * index}" font-size="{_WORD_SIZES[min(index, 1)]}" '
        f'font-family="sans-serif" text-anchor="middle">{saxutils.escape(word)}</text>'
        for index, word in enumerate(words)
    )


def picture_of_man(letters: str, white: bool) -> bytes:
    """Return an SVG file of a described man, :data:`MAN_SIZE` wide and high.

    If ``men.toml`` names a picture of the man, that picture is returned. Otherwise a tile shows the man's
    moves from the middle: each leap as a dot, each ride as a line. The line has a dot if the first step of
    the ride is a leap.

    :param letters: the man's description or name, without brackets.

    :raises UsageError: if the man does not exist.
    """
    name = described_kind(letters).name
    path = named_picture(name, white)
    if path is not None:
        with suppress(OSError):  # the picture has been removed since men.toml was read
            return path.read_bytes()
    return _tile_of_man(name, white).encode()


def _tile_of_man(name: str, white: bool) -> str:
    """Return the tile of a man with a canonical name, such as ``[WF]``."""
    kind = described_kind(name[1:-1])
    fill, ink = _COLOURS[white]
    dot_steps = kind.leaps + tuple(step for step in kind.rides if max(map(abs, step)) > 1)
    dots = "".join(f'<circle cx="{_xy(x * _STEP)}" cy="{_xy(-y * _STEP)}" r="1.8"/>' for x, y in dot_steps)
    rays = [(x / size, -y / size) for x, y in kind.rides for size in [max(abs(x), abs(y))]]
    lines = "".join(f"M{_xy(x * _START)} {_xy(y * _START)}L{_xy(x * _END)} {_xy(y * _END)}" for x, y in rays)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {MAN_SIZE} {MAN_SIZE}" '
        f'width="{MAN_SIZE}" height="{MAN_SIZE}"><title>{name if white else name.lower()}</title>'
        f'<rect x="2" y="2" width="36" height="36" rx="8" fill="{fill}" stroke="#000" stroke-width="1.5"/>'
        f'<rect x="3.5" y="3.5" width="33" height="33" rx="6.5" fill="none" stroke="{ink}" '
        f'stroke-width=".8"/><g fill="{ink}">{dots}</g>'
        f'<circle cx="{_MIDDLE:g}" cy="{_MIDDLE:g}" r="1.3" fill="none" stroke="{ink}" stroke-width=".8"/>'
        f'<path d="{lines}" stroke="{ink}" stroke-width="1.6" stroke-linecap="round"/></svg>\n'
    )


def _xy(distance: float) -> str:
    """Return a coordinate on the tile, given the distance from its middle."""
    return f"{_MIDDLE + distance:g}"


def with_links(page: str, explorer: str) -> str:
    """Return a page with links to the explorer: from every diagram, and as the first navigation item. A line
    below a diagram of r-mobility also links to the page to play on.

    A page that already has such links is returned unchanged.

    :param explorer: the address of the explorer, or its path from the page.
    """
    if 'class="explore"' in page:
        return page
    target = html.escape(explorer)
    folder = target[: target.rfind("/") + 1]

    def with_link(match: re.Match[str]) -> str:
        address = f"{target}?{match[1]}"
        links = f'<a href="{address}">Explore</a>'
        if "&amp;rules=" not in match[1]:  # the page plays r-mobility only
            links += f' · <a href="{folder}play.html?{match[1]}">Play</a>'
        diagram_link = f'<a class="explore" href="{address}" title="Open in the explorer">{match[0]}</a>'
        return f'{diagram_link}\n<p class="open">{links}</p>'

    page = _DIAGRAM.sub(with_link, page)
    return _NAVIGATION.sub(lambda match: f'{match[0]}\n<li><a href="{target}">Explorer</a></li>', page, 1)
