"""Block of docs/report.md: the columns of CSV files."""

from page_blocks.markdown import code, table
from tbgen.report.data import CSV, DIFFERENCES


def csv_columns() -> str:
    """Return a table of the CSV files with the titles of their columns."""
    files = CSV | {"differences": DIFFERENCES}
    return table(("file", "columns"), [(code([name]), code(file.columns)) for name, file in files.items()])
