"""Rendering of tables as aligned text, Markdown and CSV, and of standings as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING

from tbgen.games.standings.table import StandingsTable
from tbgen.games.standings.tournament import Standings
from tbgen.text import counted, csv_text, pad, screen_width

if TYPE_CHECKING:
    from markupsafe import Markup


_MAX_SENTENCE_WIDTH = 110
"""Maximum width, in characters, of a line of running text."""

_FIRST_TABLE_KEYS = ("standings", "crosstable", "crosspoints")
"""Keys of the tables that precede the plots of points and Elo."""


def text_lines(tables: Iterable[StandingsTable], width: int) -> Iterator[str]:
    """Yield lines of aligned text. Tables that are wider than ``width`` characters are split into blocks.

    Each block begins with the leftmost text columns of the table.
    """
    for table in tables:
        yield table.title
        yield from wrap(table.explanation, min(width, _MAX_SENTENCE_WIDTH))
        rows = [table.titles, *table.formatted_rows()]
        widths = [max(map(screen_width, column)) for column in zip(*rows, strict=True)]
        for block in _blocks(widths, table.text_column_count, table.gap, width):
            yield ""
            for row in rows:
                cells = [pad(row[i], widths[i], pad_left=not table.columns[i].is_text) for i in block]
                yield (" " * table.gap).join(cells).rstrip()
        yield ""


def _blocks(widths: Sequence[int], text_count: int, gap: int, width: int) -> Iterator[list[int]]:
    """Yield the column indices of each block: the text columns, and as many others as fit (at least one)."""
    text_columns = list(range(text_count))
    text_width = sum(widths[:text_count]) + gap * text_count
    block = text_columns.copy()
    used_width = text_width
    for index in range(text_count, len(widths)):
        if used_width + widths[index] > width and len(block) > text_count:
            yield block
            block = text_columns.copy()
            used_width = text_width
        block.append(index)
        used_width += widths[index] + gap
    yield block


def markdown(tables: Iterable[StandingsTable]) -> Iterator[str]:
    """Yield lines of Markdown. Tables are in GitHub's syntax."""
    for table in tables:
        yield f"## {table.title}"
        yield ""
        if table.explanation:
            yield from (_escape(table.explanation), "")
        rule = ["---" if column.is_text else "--:" for column in table.columns]
        for row in (table.titles, rule, *table.formatted_rows()):
            yield f"| {' | '.join(map(_escape, row))} |"
        yield ""


def comma_separated(table: StandingsTable) -> str:
    """Return a table as CSV with a header line. Numbers are not rounded; infinite numbers are ``inf``."""
    table = table.csv_table or table
    rows = ([float(cell) if isinstance(cell, Fraction) else cell for cell in row] for row in table.rows)
    return csv_text([column.key for column in table.columns], rows)


def _escape(cell: str) -> str:
    """Escape the characters of a cell that have a meaning in Markdown."""
    for mark in "\\`*_<>[]|&~":
        cell = cell.replace(mark, f"\\{mark}")
    return cell


def page(
    standings: Standings, tables: Sequence[StandingsTable], title: str, plots: Mapping[str, Sequence[Markup]]
) -> str:
    """Return the page: standings and crosstables, then plots of points and Elo, then the other tables.

    :param plots: from :func:`tbgen.games.standings.result_charts.plots`; empty for a page without plots.
    """
    from tbgen.html.style import template_environment

    summary = (
        f"{counted(len(standings.games), 'game')} of {counted(len(standings.players), 'player')}, scored by "
        f"r-mobility ({standings.scheme.value} points)."
    )
    template = template_environment("tbgen.games.standings").get_template("standings.html.jinja")
    first_tables = [table for table in tables if table.key in _FIRST_TABLE_KEYS]
    other_tables = [table for table in tables if table.key not in _FIRST_TABLE_KEYS]
    return template.render(
        title=title, summary=summary, first_tables=first_tables, other_tables=other_tables, plots=plots
    )
