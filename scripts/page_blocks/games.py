"""Blocks about games: doubts (docs/referee.md) and losses of engines (docs/match.md)."""

from page_blocks.docstrings import attribute_docstrings
from page_blocks.markdown import code, table
from tbgen.games.outcome import Doubt
from tbgen.match.game import LOSSES
from tbgen.uci.process import Fault


def doubts() -> str:
    """Return a table of the doubts, with the sentences that commands print about them."""
    return table(("doubt", "meaning, and what counts"), [(code([doubt]), doubt.sentence) for doubt in Doubt])


def faults() -> str:
    """Return a table of the faults by which engines lose games, with the words in the PGN."""
    meanings = attribute_docstrings(Fault)
    rows = [(meanings[fault.name], f"`Black{words}`", code([fault])) for fault, (_, words) in LOSSES.items()]
    return table(("fault", "comment in the PGN", "`Termination`"), rows)
