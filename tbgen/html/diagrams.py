"""Diagrams of positions for HTML pages: the men of chess.svg, drawn once per page and used by every board."""

from __future__ import annotations

import re
from typing import Final

import chess
import chess.svg
from markupsafe import Markup, escape

from tbgen.html.style import corner

_INNER: Final = re.compile(r"<desc>.*?</desc>|<defs ?/>|</?svg[^>]*>", re.DOTALL)


def sprites() -> Markup:
    """Return what has to stand once in a page before its diagrams: an empty board and all men, not shown."""
    board = _INNER.sub("", chess.svg.board(None, size=390))
    men = "".join(chess.svg.PIECES[symbol] for symbol in "KQRBNPkqrbnp")
    return Markup(
        f'<svg width="0" height="0" aria-hidden="true" class="sprites"><defs><g id="board">{board}</g>{men}'
        "</defs></svg>"
    )


def diagram(fen: str, rules: str = "r") -> Markup:
    """Return a board as SVG, with a description for screen readers.

    What asks the explorer for the position stands in it as ``data-query``, so that a server can make a link
    of it.

    :param rules: of the page that it is for.
    :raises ValueError: if the FEN means nothing.
    """
    position = chess.Board(fen)
    men = "".join(_man(square, piece) for square, piece in sorted(position.piece_map().items()))
    query = f"fen={fen.replace(' ', '_')}" + (f"&rules={rules}" if rules != "r" else "")
    return Markup(
        f'<svg class="board" data-query="{escape(query)}" viewBox="0 0 390 390" role="img" '
        f'aria-label="{escape(described(position))}">'
        f'<use href="#board"/>{men}</svg>'
    )


def _man(square: chess.Square, piece: chess.Piece) -> str:
    left, top = corner(square)
    name = f"{chess.COLOR_NAMES[piece.color]}-{chess.PIECE_NAMES[piece.piece_type]}"
    return f'<use href="#{name}" x="{left}" y="{top}"/>'


def described(position: chess.Board) -> str:
    """Return where the men of a position stand, in words.

    >>> described(chess.Board("8/8/8/4KBk1/8/8/8/8 b - - 0 1"))
    'White: Ke5, Bf5. Black: Kg5. Black to move.'
    """
    white, black = (", ".join(_men(position, colour)) for colour in (chess.WHITE, chess.BLACK))
    return f"White: {white}. Black: {black}. {'White' if position.turn else 'Black'} to move."


def _men(position: chess.Board, colour: chess.Color) -> list[str]:
    return [
        (chess.piece_symbol(kind).upper() if kind != chess.PAWN else "") + chess.square_name(square)
        for kind in reversed(chess.PIECE_TYPES)
        for square in position.pieces(kind, colour)
    ]
