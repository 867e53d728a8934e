"""The common style of all pages: style sheet, pictures of men, and the template environment."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import chess
import chess.svg
from markupsafe import Markup, escape

from tbgen.text import counted, duration, number, part_text, plies, share_text, size_text

if TYPE_CHECKING:
    import jinja2


MAN_SIZE: Final = 40
"""Width and height of a man in :func:`men_svg`."""
SQUARE: Final = 45
"""Width and height of a square, and of a man, in the module chess.svg."""
_MARGIN: Final = 15
"""Margin of a board in chess.svg."""

_GROUP_TAG: Final = re.compile(r'<g id="[a-z-]+" class="[a-z ]+"')
_STYLE_ATTRIBUTE: Final = re.compile(r'style="([^"]*)"')
_STYLE_PROPERTY: Final = re.compile(r"([a-z-]+): ?([^;]+); ?")

_NEGATIVE_SCORE: Final = re.compile(r"-G[0-9.]*[0-9]")


def style_sheet() -> str:
    """Return the style sheet of all pages."""
    return files("tbgen.html").joinpath("templates", "style.css").read_text("utf-8")


def scheme_script() -> str:
    """Return the script that makes pages light or dark, as the reader chooses."""
    return files("tbgen.html").joinpath("templates", "scheme.js").read_text("utf-8")


def corner(square: chess.Square) -> tuple[int, int]:
    """Return the coordinates of the upper left corner of a square in chess.svg."""
    return _MARGIN + SQUARE * chess.square_file(square), _MARGIN + SQUARE * (7 - chess.square_rank(square))


def men_svg() -> str:
    """Return an SVG file with all men of chess.svg; the id of each is its side and kind, such as ``wk``.

    A man fills a square of width :data:`MAN_SIZE` whose upper left corner is the origin.
    """
    size = f'width="{MAN_SIZE}" height="{MAN_SIZE}"'
    groups = "".join(_man_svg(symbol, svg) for symbol, svg in chess.svg.PIECES.items())
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><defs>{groups}</defs></svg>'


def _man_svg(symbol: str, svg: str) -> str:
    """Return a man with a short id, and with attributes instead of styles.

    A page with a strict Content-Security-Policy ignores styles.
    """
    name = ("w" if symbol.isupper() else "b") + symbol.lower()
    scale = f"scale({MAN_SIZE / SQUARE:.4f})"
    named_svg = _GROUP_TAG.sub(f'<g id="{name}" transform="{scale}"', svg, count=1)
    return _STYLE_ATTRIBUTE.sub(lambda style: _STYLE_PROPERTY.sub(r'\1="\2" ', style[1]).rstrip(), named_svg)


def template_environment(package: str) -> jinja2.Environment:
    """Return the environment for the pages of a package.

    Templates are in the folders ``templates`` of the package and of ``tbgen.html``. Every page extends
    ``base.html.jinja`` of ``tbgen.html``. Output is escaped, and an undefined name is an error. Filters are
    ``n`` (number), ``share``, ``part`` (of a total), ``counted``, ``plies``, ``size``, ``duration`` and
    ``prose``. The function ``style_sheet`` returns the style for a self-contained page. The function ``wide``
    returns the attributes of an element around a table that may be wider than the page.

    :param package: name of the package, such as ``tbgen.report``.
    """
    import jinja2

    loaders = [jinja2.PackageLoader(name, "templates") for name in (package, "tbgen.html")]
    jinja_environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    jinja_environment.filters |= {
        function.__name__: function for function in (counted, plies, duration, prose)
    }
    jinja_environment.filters |= {"n": number, "part": part_text, "share": share_text, "size": size_text}
    jinja_environment.globals |= {"style_sheet": lambda: Markup(style_sheet()), "wide": wide_attributes}
    return jinja_environment


def wide_attributes(name: str) -> Markup:
    """Return the attributes of an element that scrolls sideways, even by keyboard.

    :param name: the name of the table in the element, for screen readers.
    """
    return Markup(f'class="wide" tabindex="0" role="region" aria-label="{escape(name)}"')


def prose(sentence: str) -> Markup:
    """Return a sentence that does not break after the minus of a score or before a per cent sign.

    >>> prose("Black gets -G3.5 & more.")
    Markup('Black gets <span class="score">-G3.5</span> &amp; more.')
    """
    unbroken_text = sentence.replace(" %", "\N{NO-BREAK SPACE}%")
    return Markup(_NEGATIVE_SCORE.sub(r'<span class="score">\g<0></span>', str(escape(unbroken_text))))
