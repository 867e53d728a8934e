"""Block of docs/referee.md: the doubts about games."""

from page_blocks.markdown import code, table
from tbgen.games.outcome import Doubt


def doubts() -> str:
    """Return a table of the doubts, with the sentences that commands print about them."""
    return table(("doubt", "meaning, and what counts"), [(code([doubt]), doubt.sentence) for doubt in Doubt])
