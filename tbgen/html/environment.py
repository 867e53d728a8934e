"""The one template environment of all pages."""

from __future__ import annotations

import re
from typing import Final

import jinja2
from markupsafe import Markup, escape

from tbgen.html.style import style_sheet
from tbgen.text import counted, duration, number, part_of, plies, share, size_text

_SCORE: Final = re.compile(r"-G[0-9.]*[0-9]")


def environment(package: str) -> jinja2.Environment:
    """Return the environment for the pages of a package.

    Templates come from the folder ``templates`` of the package, and from that of this one, whose
    ``base.html.jinja`` every page extends. What they print is escaped, and a name that nobody has set is an
    error. Filters: ``n`` (number), ``share``, ``part`` (of a total), ``counted``, ``plies``, ``size``,
    ``duration`` and ``prose``; the function ``style_sheet`` gives the style for a page that is one file, and
    ``wide`` the attributes of an element about a table that may be wider than the page.

    :param package: name of the package, such as ``tbgen.report.site``.
    """
    loaders = [jinja2.PackageLoader(name, "templates") for name in (package, "tbgen.html")]
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {each.__name__: each for each in (share, counted, plies, duration, prose)}
    made.filters |= {"n": number, "part": part_of, "size": size_text}
    made.globals |= {"style_sheet": lambda: Markup(style_sheet()), "wide": wide}
    return made


def wide(name: str) -> Markup:
    """Return the attributes of what scrolls sideways, by keyboard too.

    :param name: of the table, for screen readers.
    """
    return Markup(f'class="wide" tabindex="0" role="region" aria-label="{escape(name)}"')


def prose(sentence: str) -> Markup:
    """Return a sentence in which no line breaks after the minus of a score, or before a per cent sign.

    >>> prose("Black gets -G3.5 & more.")
    Markup('Black gets <span class="score">-G3.5</span> &amp; more.')
    """
    together = sentence.replace(" %", "\N{NO-BREAK SPACE}%")
    return Markup(_SCORE.sub(r'<span class="score">\g<0></span>', str(escape(together))))
