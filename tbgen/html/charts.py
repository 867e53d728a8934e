"""Plots in a common style as SVG and PNG, drawn by matplotlib. The same data always give the same bytes.

The SVG adapts its colours to a dark page. Plots must be readable without colours: fills differ in hatching,
lines in dashes and markers, and maps have numbers.
"""

from __future__ import annotations

import io
import logging
import os
import re
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from tbgen.errors import UsageError
from tbgen.extras import needs_extra, without_variable

_MATPLOTLIB_WAS_LOADED: Final = "matplotlib" in sys.modules

# Otherwise matplotlib warns that it cannot write to its own directory.
logging.getLogger("matplotlib").addFilter(lambda log: not re.search("mkdir|directory", log.getMessage()))

INK: Final = "#1c1c1c"
"""Colour of text, axes and outlines on a light page."""
GREY: Final = "#8f8f8f"
"""Colour of grids, visible on light and dark pages."""
FIRST_INK: Final = "#0072b2"
"""Colour of lines and small marks for the first of two sides: White, or won games."""
SECOND_INK: Final = "#b34a00"
"""Colour of lines and small marks for the second side: Black, or lost games."""
FIRST_FILL: Final = "#9ecae9"
"""Colour of large areas for the first side, without hatching."""
SECOND_FILL: Final = "#d95f02"
"""Colour of large areas for the second side, which are hatched."""

_DARK_COLOURS: Final = {INK: "#e6e6e6", FIRST_INK: "#56b4e9", SECOND_INK: "#e69f50"}
"""Maps each colour of a light page to the colour on a dark page."""

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

_LOGARITHMIC_BOTTOM: Final = 0.7
"""Lower limit of logarithmic scales, below 1 so that a bar of 1 is visible."""

_DARK_RULES: Final = "\n".join(
    f'[style*="{property_name}: {light}"] {{{property_name}: {dark} !important}}'
    for light, dark in _DARK_COLOURS.items()
    for property_name in ("fill", "stroke")
)
_STYLE: Final = f"""<style>
*{{stroke-linejoin: round; stroke-linecap: butt}}
text{{font-family: 'DejaVu Sans', sans-serif}}
@media (prefers-color-scheme: dark) {{
{_DARK_RULES}
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
_LONG_DECIMALS: Final = re.compile(r"(\d\.\d\d)\d+")
"""Matches numbers with more than two decimals. In tags of an SVG, further decimals are invisible."""


@contextmanager
def _needs_directory() -> Iterator[None]:
    """Convert the error of an import that matplotlib can write to no directory to a UsageError."""
    try:
        yield
    except OSError as error:
        raise UsageError("plots need a directory that can be written to: set MPLCONFIGDIR to one") from error


# Files are drawn without a screen, so an unknown backend does not matter.
with needs_extra("a plot", "report"), without_variable("MPLBACKEND"), _needs_directory():
    from markupsafe import Markup, escape
    from matplotlib import rc_context, rcParams
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes

if not _MATPLOTLIB_WAS_LOADED:
    with suppress(KeyError, ValueError):  # for a caller who also plots on a screen
        rcParams["backend"] = os.environ["MPLBACKEND"]


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure of the given size in inches. Draw and save it within the ``with`` block."""
    with rc_context(_SETTINGS):
        yield Figure(figsize=(width, height))


def svg(drawing: Figure) -> bytes:
    """Return a figure as a self-contained SVG file."""
    file = io.StringIO()
    drawing.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = file.getvalue()
    for pattern, replacement in _REMOVALS:
        text = pattern.sub(replacement, text)
    text = _TAG.sub(lambda tag: _LONG_DECIMALS.sub(r"\1", tag[0]), text)
    return text.replace("<defs>", _STYLE + "<defs>", 1).encode()


def png(drawing: Figure) -> bytes:
    """Return a figure as a PNG file on a white background."""
    file = io.BytesIO()
    drawing.savefig(file, format="png", dpi=110, facecolor="white", metadata={"Software": None})
    return file.getvalue()


def img_tag(image: bytes, alt_text: str) -> Markup:
    """Return an SVG as an image that is embedded in a page, which then needs no separate file.

    :param alt_text: the description of the image for screen readers.
    """
    source = b64encode(image).decode()
    return Markup(f'<img src="data:image/svg+xml;base64,{source}" alt="{escape(alt_text)}">')


def set_log_scale(panel: Axes, top: float) -> None:
    """Give the vertical axis of a panel a logarithmic scale of counts up to ``top``."""
    panel.set_yscale("log")
    panel.set_ylim(_LOGARITHMIC_BOTTOM, top)
    panel.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.grid(axis="y", color=GREY, linewidth=0.3)
    style_panel(panel)


def top_above(label_base: float, label_share: float) -> float:
    """Return the ``top`` to pass to :func:`set_log_scale` so that labels fit above the data.

    :param label_base: lower edge of the highest label.
    :param label_share: share of the panel's height that labels need, from 0 to below 1.

    >>> round(top_above(70, 0.5))
    7000
    """
    return float(_LOGARITHMIC_BOTTOM * (label_base / _LOGARITHMIC_BOTTOM) ** (1 / (1 - label_share)))


def style_panel(panel: Axes) -> None:
    """Hide the top and right spines of a panel, and draw its grid behind the data."""
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
