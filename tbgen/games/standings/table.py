"""Tables whose cells are values. Each output format shows the values in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

_MAX_DECIMALS: Final = 4
"""Maximum number of decimals of points in tables for readers. Comparisons and CSV are exact."""


class Link(NamedTuple):
    """A text and the address to which it is linked on a page."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text


Cell = str | int | float | Fraction | Link | None
"""The value of a cell. None means that there is no value, an empty string that there cannot be one.
Fractions are exact."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    key: str
    """Name in CSV files, a single word."""
    title: str
    """Heading for readers."""
    source: str | Callable[[Any], Cell] = ""
    """Function that returns the cell for an item; or the name of an attribute of the item, possibly nested
    (``results.games``); or empty for the attribute whose name is the key."""
    show: Callable[[Any], str] | None = str
    """Function that formats a value for readers. None means that the values are points, which are shown with
    the same number of decimals in all cells of the column."""
    is_text: bool = False
    """Whether the column contains text instead of numbers."""
    marks_per_line: int = 0
    """Number of marks, one per game, that a page shows in each line of a cell; 0 if there are no marks."""

    def cell(self, item: Any) -> Any:
        """Return the :data:`Cell` of an item."""
        if callable(self.source):
            return self.source(item)
        for name in (self.source or self.key).split("."):
            item = None if item is None else getattr(item, name)
        return item


@dataclass(frozen=True, slots=True)
class StandingsTable:
    """A table of standings, with its title and its explanation."""

    key: str
    """Name in CSV files, a single word."""
    title: str
    note: str
    """Explanation for readers; may be empty."""
    columns: Sequence[Column]
    """The columns. The leftmost text columns are repeated in every block of a wide table."""
    rows: Sequence[Sequence[Cell]]
    gap: int = 2
    """Number of spaces between columns in text output."""
    csv_table: StandingsTable | None = None
    """The table for CSV files, if it contains more than the table for readers; None if both are the same."""
    summary: str = ""
    """The most important part of the explanation. If there is a summary, pages collapse the note."""

    @classmethod
    def of(
        cls, key: str, title: str, columns: Sequence[Column], items: Iterable[object], note: str = ""
    ) -> Self:
        """Return a table with a row for each item."""
        return cls(key, title, note, columns, [[column.cell(item) for column in columns] for item in items])

    @property
    def explanation(self) -> str:
        """The whole explanation for readers."""
        return f"{self.summary} {self.note}".strip()

    @property
    def text_column_count(self) -> int:
        """Number of text columns that precede the first column of numbers."""
        return next((i for i, column in enumerate(self.columns) if not column.is_text), len(self.columns))

    @property
    def heading_column(self) -> int:
        """Index of the column that names the rows: one with players or numbers, else the first column."""
        keys = [column.key for column in self.columns[: self.text_column_count]]
        return next((keys.index(key) for key in ("player", "number") if key in keys), 0)

    @property
    def titles(self) -> list[str]:
        """The headings for readers."""
        return [column.title for column in self.columns]

    def formatted_rows(self) -> list[list[str]]:
        """Return the rows, with their cells formatted for readers."""
        formatters = [
            column.show or make_show(row[i] for row in self.rows) for i, column in enumerate(self.columns)
        ]
        return [
            ["" if cell is None else show(cell) for show, cell in zip(formatters, row, strict=True)]
            for row in self.rows
        ]


def make_show(values: Iterable[Cell]) -> Callable[[Any], str]:
    """Return a function that formats points with as many decimals as the values need, but at most four.

    >>> show = make_show([Fraction(22), Fraction(43, 2), None])
    >>> show(Fraction(22)), make_show([Fraction(1, 3)])(Fraction(1, 3))
    ('22.0', '0.3333')
    >>> make_show([Fraction(7)])(Fraction(7))
    '7'
    """
    rounded_values = [round(value, _MAX_DECIMALS) for value in values if isinstance(value, Fraction)]
    enough = (n for n in range(_MAX_DECIMALS) if all(round(value, n) == value for value in rounded_values))
    decimals = next(enough, _MAX_DECIMALS)

    return lambda value: f"{float(round(value, decimals)):.{decimals}f}"


def signed_text(value: float) -> str:
    """Return a difference as text with its sign; 0 has no sign."""
    return f"{value:+}" if value else "0"


def percent_text(value: Fraction) -> str:
    """Return a share in per cent, without the per cent sign, which is in the heading.

    >>> percent_text(Fraction(2, 3))
    '66.7'
    """
    return f"{float(100 * value):.1f}"
