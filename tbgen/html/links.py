"""The links of a page with diagrams to the explorer. Needs no extra."""

import re
from html import escape
from typing import Final

_DIAGRAM: Final = re.compile(r'<svg class="board" data-query="([^"]*)".*?</svg>', re.DOTALL)
_NAVIGATION: Final = re.compile(r'<nav class="site"[^>]*><ul>')


def with_links(page: str, explorer: str) -> str:
    """Return a page in which every diagram is a link to the explorer, which its navigation begins with, too.

    One that has such links stays as it is.

    :param explorer: its address, or the way there from the page.
    """
    if 'class="explore"' in page:
        return page
    place = escape(explorer)

    def linked(diagram: re.Match[str]) -> str:
        address = f"{place}?{diagram[1]}"
        return f'<a class="explore" href="{address}" title="Open in the explorer">{diagram[0]}</a>'

    linking = _DIAGRAM.sub(linked, page)
    return _NAVIGATION.sub(lambda found: f'{found[0]}\n<li><a href="{place}">Explorer</a></li>', linking, 1)
