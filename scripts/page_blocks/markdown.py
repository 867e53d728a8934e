"""Parts of Markdown that several blocks need."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

LINE_LENGTH: Final = 120
"""Maximum length of a line of a hand-written page, in characters."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Bars in cells are escaped."""
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in (head, ["---"] * len(head), *rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)


def code(names: Iterable[str]) -> str:
    """Return names as code, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def wrapped(paragraph: str) -> str:
    """Return a paragraph in lines of the length that pages have."""
    return textwrap.fill(paragraph, LINE_LENGTH, break_long_words=False, break_on_hyphens=False)
