"""Tables whose cells are values. Each output format shows the values in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

_MAX_DECIMALS: Final = 4
"""Maximum number of decimals of points that readers see. Comparisons and CSV are exact."""


class Link(NamedTuple):
    """A text with the address to which a page links it."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text


Cell = str | int | float | Fraction | Link | None
"""A value. None means no value, an empty text a cell that cannot have a value. Fractions are exact."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    key: str
    """Name in CSV files, one word."""
    title: str
    """Heading for readers."""
    source: str | Callable[[Any], Cell] = ""
    """Function that returns the cell for an item; or the name of an attribute of the item, possibly nested
    (``results.games``); or empty for the attribute named by the key."""
    show: Callable[[Any], str] | None = str
    """Function that formats a value for readers. None means points, with the same number of decimals in all
    cells of the column."""
    word: bool = False
    """Whether the column contains text instead of numbers."""
    marks_per_line: int = 0
    """Number of marks that a page writes in a line, one mark per game; 0 for a column without marks."""

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
    """Name in CSV files, one word."""
    title: str
    note: str
    """Explanation for readers; may be empty."""
    columns: Sequence[Column]
    """The columns. Text columns at the left are repeated in every block of a wide table."""
    rows: Sequence[Sequence[Cell]]
    gap: int = 2
    """Number of spaces between columns in text output."""
    data: StandingsTable | None = None
    """The table for CSV files, if it contains more than readers see; None for this table."""
    summary: str = ""
    """The most important part of the explanation. If it is not empty, pages collapse the note."""

    @classmethod
    def of(
        cls, key: str, title: str, columns: Sequence[Column], items: Iterable[object], note: str = ""
    ) -> Self:
        """Return a table with a row for each item."""
        return cls(key, title, note, columns, [[column.cell(item) for column in columns] for item in items])

    @property
    def sentences(self) -> str:
        """The whole explanation for readers."""
        return f"{self.summary} {self.note}".strip()

    @property
    def text_column_count(self) -> int:
        """Number of text columns at the left."""
        return next((at for at, column in enumerate(self.columns) if not column.word), len(self.columns))

    @property
    def heading_column(self) -> int:
        """Index of the column that names the rows: players or numbers at the left, else the first column."""
        keys = [column.key for column in self.columns[: self.text_column_count]]
        return next((keys.index(key) for key in ("player", "number") if key in keys), 0)

    @property
    def titles(self) -> list[str]:
        """The headings for readers."""
        return [column.title for column in self.columns]

    def formatted_rows(self) -> list[list[str]]:
        """Return the cells formatted for readers."""
        formatters = [
            column.show or formatter(row[at] for row in self.rows) for at, column in enumerate(self.columns)
        ]
        return [
            ["" if cell is None else show(cell) for show, cell in zip(formatters, row, strict=True)]
            for row in self.rows
        ]


def formatter(values: Iterable[Cell]) -> Callable[[Any], str]:
    """Return a function that formats points with as many decimals as the longest value needs, at most four.

    >>> show = formatter([Fraction(22), Fraction(43, 2), None])
    >>> show(Fraction(22)), formatter([Fraction(1, 3)])(Fraction(1, 3))
    ('22.0', '0.3333')
    >>> formatter([Fraction(7)])(Fraction(7))
    '7'
    """
    rounded = [round(value, _MAX_DECIMALS) for value in values if isinstance(value, Fraction)]
    needed = (at for at in range(_MAX_DECIMALS) if all(round(value, at) == value for value in rounded))
    decimals = next(needed, _MAX_DECIMALS)

    return lambda value: f"{float(round(value, decimals)):.{decimals}f}"


def signed(value: float) -> str:
    """Return a difference with its sign; 0 has no sign."""
    return f"{value:+}" if value else "0"


def percent(value: Fraction) -> str:
    """Return a share in per cent, without a per cent sign, which is in the heading.

    >>> percent(Fraction(2, 3))
    '66.7'
    """
    return f"{float(100 * value):.1f}"
