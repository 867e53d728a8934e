"""Plots in a common style, drawn by matplotlib, as SVG and PNG; the same data give the same bytes.

The SVG adapts its colours to a dark page. Plots have to be readable without colours: fills must differ in
hatching, lines in dashes and markers, and maps must have numbers.
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
"""Colour of lines and small marks of the first of two sides: White, or won games."""
SECOND: Final = "#b34a00"
"""Colour of lines and small marks of the second side: Black, or lost games."""
FIRST_FILL: Final = "#9ecae9"
"""Colour of large areas of the first side, plain."""
SECOND_FILL: Final = "#d95f02"
"""Colour of large areas of the second side, to be hatched."""

_DARK: Final = {INK: "#e6e6e6", FIRST: "#56b4e9", SECOND: "#e69f50"}
"""Replacements of colours on a dark page."""

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
"""Lower limit of logarithmic scales, below 1 so that a bar of 1 is visible."""

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
_REMOVALS: Final = (
    (re.compile(r"<!DOCTYPE[^>]*>\n|<style.*?</style>", re.DOTALL), ""),
    (re.compile(r" font-family: 'DejaVu Sans';|(?: transform=\"rotate\(-0 [^\"]*\")"), ""),
    (re.compile(r"\n +"), "\n"),
    (re.compile(r" *\n(?=[MLCQz])"), " "),
)
"""Replacements that remove superfluous parts of matplotlib's SVG."""
_TAG: Final = re.compile(r"<[^>]*>")
_DIGITS: Final = re.compile(r"(\d\.\d\d)\d+")
"""Numbers in tags, whose digits after the second decimal are invisible; text outside tags is left alone."""


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure of a size in inches, to be drawn and rendered within the block."""
    with rc_context(_SETTINGS):
        yield Figure(figsize=(width, height))


def svg(drawn: Figure) -> bytes:
    """Return a figure as a self-contained SVG file."""
    file = io.StringIO()
    drawn.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = file.getvalue()
    for pattern, replacement in _REMOVALS:
        text = pattern.sub(replacement, text)
    text = _TAG.sub(lambda tag: _DIGITS.sub(r"\1", tag[0]), text)
    return text.replace("<defs>", _STYLE + "<defs>", 1).encode()


def png(drawn: Figure) -> bytes:
    """Return a figure as a PNG file on a white background."""
    file = io.BytesIO()
    drawn.savefig(file, format="png", dpi=110, facecolor="white", metadata={"Software": None})
    return file.getvalue()


def embedded(image: bytes, alternative: str) -> Markup:
    """Return an SVG as an image embedded in a page, which then needs no separate file.

    :param alternative: the description of the image for screen readers.
    """
    source = b64encode(image).decode()
    return Markup(f'<img src="data:image/svg+xml;base64,{source}" alt="{escape(alternative)}">')


def logarithmic(panel: Axes, top: float) -> None:
    """Give a panel a logarithmic scale of counts up to ``top``."""
    panel.set_yscale("log")
    panel.set_ylim(_BOTTOM, top)
    panel.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.grid(axis="y", color=SOFT, linewidth=0.3)
    bare(panel)


def top_above(highest: float, label_share: float) -> float:
    """Return the upper limit of the scale of :func:`logarithmic` that leaves space for labels above the data.

    :param highest: lower edge of the highest label.
    :param label_share: share of the panel's height that labels need, 0 to 1.

    >>> round(top_above(70, 0.5))
    7000
    """
    return float(_BOTTOM * (highest / _BOTTOM) ** (1 / (1 - label_share)))


def bare(panel: Axes) -> None:
    """Hide the top and right spines of a panel, and draw its grid behind the data."""
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
