"""Tables as aligned text, Markdown and CSV."""

import csv
import io
from collections.abc import Iterable, Iterator
from textwrap import wrap

from tbgen.games.standings.sections import Section

_WIDTH = 110


def text(tables: Iterable[Section]) -> Iterator[str]:
    """Yield lines of aligned text."""
    for table in tables:
        yield table.title
        yield from wrap(table.note, _WIDTH)
        yield ""
        widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
        for row in (table.columns, *table.rows):
            cells = [
                cell.ljust(width) if place < table.texts else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            yield "  ".join(cells).rstrip()
        yield ""


def markdown(tables: Iterable[Section]) -> Iterator[str]:
    """Yield lines of Markdown, with tables as GitHub has them."""
    for table in tables:
        yield f"## {table.title}"
        yield ""
        if table.note:
            yield from (_escaped(table.note), "")
        rule = ["---" if place < table.texts else "--:" for place in range(len(table.columns))]
        for row in (table.columns, rule, *table.rows):
            yield f"| {' | '.join(map(_escaped, row))} |"
        yield ""


def comma_separated(tables: Iterable[Section]) -> Iterator[str]:
    """Yield lines of CSV: the title alone before each table, an empty line after it."""
    for table in tables:
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        rows = [[*map(_harmless, row[: table.texts]), *row[table.texts :]] for row in table.rows]
        writer.writerows([[table.title], table.columns, *rows])
        yield from file.getvalue().splitlines()
        yield ""


def _harmless(cell: str) -> str:
    """Return a word that no spreadsheet takes for a formula: an apostrophe before it says that it is text."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def _escaped(cell: str) -> str:
    """Return a cell that Markdown does not take for anything else."""
    for mark in "\\`*_<>[]|&~":
        cell = cell.replace(mark, f"\\{mark}")
    return cell
