"""Block of docs/referee.md: the scorings."""

from page_blocks.docstrings import attribute_docstrings
from page_blocks.markdown import code, table
from tbgen.board.scoring import Scheme


def scorings() -> str:
    """Return a table of the scorings, with the points that each gives."""
    meanings = attribute_docstrings(Scheme)
    return table(("`--scoring`", "points"), [(code([scheme]), meanings[scheme.name]) for scheme in Scheme])
