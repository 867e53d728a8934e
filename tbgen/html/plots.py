"""Plots of one look, drawn by matplotlib, as SVG and PNG: the same data give the same bytes.

The SVG takes the colours of a dark page. Plots have to be readable without colours: let fills differ by
hatching, lines by dashes and markers, and write numbers on maps.
"""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tbgen.extras import needs_extra

with needs_extra("a plot", "report"):
    from markupsafe import Markup, escape
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK: Final = "#1c1c1c"
"""Colour of text, axes and outlines; light on a dark page."""
SOFT: Final = "#8f8f8f"
"""Colour of grids, readable on light and dark."""
FIRST: Final = "#0072b2"
"""Colour of lines and small marks of the first of two sides: White, or what a player won."""
SECOND: Final = "#b34a00"
"""The same of the second: Black, or what a player lost."""
FIRST_FILL: Final = "#9ecae9"
"""Colour of large areas of the first side, plain."""
SECOND_FILL: Final = "#d95f02"
"""Colour of large areas of the second side, to be hatched."""

_DARK: Final = {INK: "#e6e6e6", FIRST: "#56b4e9", SECOND: "#e69f50"}
"""What colours become on a dark page."""

_SETTINGS: Final[Any] = {
    "svg.hashsalt": "tbgen",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "hatch.linewidth": 0.7,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
}

_BOTTOM: Final = 0.7
"""Where logarithmic scales begin, so that a bar of 1 is seen."""

_RULES: Final = "\n".join(
    f'[style*="{what}: {light}"] {{{what}: {dark} !important}}'
    for light, dark in _DARK.items()
    for what in ("fill", "stroke")
)
_STYLE: Final = f"""<style>
*{{stroke-linejoin: round; stroke-linecap: butt}}
text{{font-family: 'DejaVu Sans', sans-serif}}
@media (prefers-color-scheme: dark) {{
{_RULES}
}}
</style>"""
_SHORTER: Final = (
    (re.compile(r"<!DOCTYPE[^>]*>\n|<style.*?</style>", re.DOTALL), ""),
    (re.compile(r" font-family: 'DejaVu Sans';|(?: transform=\"rotate\(-0 [^\"]*\")"), ""),
    (re.compile(r"\n +"), "\n"),
    (re.compile(r" *\n(?=[MLCQz])"), " "),
)
"""What matplotlib writes and nobody needs."""
_TAG: Final = re.compile(r"<[^>]*>")
_DIGITS: Final = re.compile(r"(\d\.\d\d)\d+")
"""Digits of numbers in tags that nobody sees; names such as ``iCE 4.0.853`` keep theirs."""


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """Give an empty figure of a size in inches, to be drawn on and rendered within the block."""
    with rc_context(_SETTINGS):
        yield Figure(figsize=(width, height))


def svg(drawn: Figure) -> bytes:
    """Return a figure as an SVG file that needs nothing else."""
    file = io.StringIO()
    drawn.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = file.getvalue()
    for pattern, replacement in _SHORTER:
        text = pattern.sub(replacement, text)
    text = _TAG.sub(lambda tag: _DIGITS.sub(r"\1", tag[0]), text)
    return text.replace("<defs>", _STYLE + "<defs>", 1).encode()


def png(drawn: Figure) -> bytes:
    """Return a figure as a PNG file, on white."""
    file = io.BytesIO()
    drawn.savefig(file, format="png", dpi=110, facecolor="white", metadata={"Software": None})
    return file.getvalue()


def embedded(image: bytes, alternative: str) -> Markup:
    """Return an SVG as an image within a page that has no files beside it.

    :param alternative: the description of the image for screen readers.
    """
    source = b64encode(image).decode()
    return Markup(f'<img src="data:image/svg+xml;base64,{source}" alt="{escape(alternative)}">')


def logarithmic(panel: Axes, top: float) -> None:
    """Let a panel count on a logarithmic scale from 1 up to a number."""
    panel.set_yscale("log")
    panel.set_ylim(_BOTTOM, top)
    panel.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.grid(axis="y", color=SOFT, linewidth=0.3)
    bare(panel)


def top_above(highest: float, room: float) -> float:
    """Return where the scale of :func:`logarithmic` has to end for labels above the data.

    :param highest: where the highest label begins.
    :param room: which part of the panel's height labels take, 0 to 1.

    >>> round(top_above(70, 0.5))
    7000
    """
    return float(_BOTTOM * (highest / _BOTTOM) ** (1 / (1 - room)))


def bare(panel: Axes) -> None:
    """Leave only the axes of a panel that are needed, and draw its grid behind the data."""
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
