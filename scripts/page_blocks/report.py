"""Blocks of docs/report.md: the columns of CSV files, and the marks of men."""

from page_blocks.docstrings import attribute_docstrings
from page_blocks.markdown import code, table
from tbgen.report.data import CSV, DIFFERENCES
from tbgen.report.mating import MULLER, MatingMarks


def csv_columns() -> str:
    """Return a table of the CSV files with the titles of their columns."""
    files = CSV | {"differences": DIFFERENCES}
    return table(("file", "columns"), [(code([name]), code(file.columns)) for name, file in files.items()])


def marks() -> str:
    """Return a table of the marks of men, with the men that have them by default."""
    meanings = attribute_docstrings(MatingMarks).items()
    rows = [(code([name]), meaning, code(sorted(getattr(MULLER, name)))) for name, meaning in meanings]
    return table(("mark", "meaning", "default"), rows)
