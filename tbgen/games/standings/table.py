"""Tables with values in their cells, which each output format shows in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

_MAX_DECIMALS: Final = 4
"""Maximum number of decimals of points that readers see; comparisons and CSV are exact."""


class Link(NamedTuple):
    """A text with the address to which a page links it."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text


Cell = str | int | float | Fraction | Link | None
"""A value; None for no value, an empty text for a cell that cannot have one. Fractions are exact."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    key: str
    """Name in CSV files, one word."""
    title: str
    """Heading for readers."""
    source: str | Callable[[Any], Cell] = ""
    """Function that returns the cell for an item, or the name of the item's attribute, which may be nested
    (``results.games``); empty for the attribute named by the key."""
    show: Callable[[Any], str] | None = str
    """Function that formats a value for readers; None for points, which get the same number of decimals
    throughout the column."""
    word: bool = False
    """Whether the column contains text instead of numbers."""
    marks_per_line: int = 0
    """Number of marks, one for each game, that a page writes in a line; 0 for a column without marks."""

    def cell(self, item: Any) -> Any:
        """Return the :data:`Cell` of an item."""
        if callable(self.source):
            return self.source(item)
        for name in (self.source or self.key).split("."):
            item = None if item is None else getattr(item, name)
        return item


@dataclass(frozen=True, slots=True)
class StandingsTable:
    """A table with a title."""

    key: str
    """Name in CSV files, one word."""
    title: str
    note: str
    """Explanation for readers; may be empty."""
    columns: Sequence[Column]
    """The columns; text columns at the left are repeated in every block of a wide table."""
    rows: Sequence[Sequence[Cell]]
    gap: int = 2
    """Number of spaces between columns in text output."""
    data: StandingsTable | None = None
    """The table for CSV files, if it contains more than readers see; None for this table."""
    summary: str = ""
    """Most important part of the explanation. If it is set, pages collapse the note."""

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

    def shown(self) -> list[list[str]]:
        """Return the cells formatted for readers."""
        shows = [
            column.show or aligned(row[at] for row in self.rows) for at, column in enumerate(self.columns)
        ]
        return [
            ["" if cell is None else show(cell) for show, cell in zip(shows, row, strict=True)]
            for row in self.rows
        ]


def aligned(values: Iterable[Cell]) -> Callable[[Any], str]:
    """Return a function that formats points, with the decimals that the longest value needs, at most four.

    >>> show = aligned([Fraction(22), Fraction(43, 2), None])
    >>> show(Fraction(22)), aligned([Fraction(1, 3)])(Fraction(1, 3)), aligned([Fraction(7)])(Fraction(7))
    ('22.0', '0.3333', '7')
    """
    rounded = [round(value, _MAX_DECIMALS) for value in values if isinstance(value, Fraction)]
    needed = (at for at in range(_MAX_DECIMALS) if all(round(value, at) == value for value in rounded))
    decimals = next(needed, _MAX_DECIMALS)

    return lambda value: f"{float(round(value, decimals)):.{decimals}f}"


def signed(value: float) -> str:
    """Return a difference with its sign; 0 has none."""
    return f"{value:+}" if value else "0"


def percent(value: Fraction) -> str:
    """Return a share in per cent, without the sign, which is in the heading.

    >>> percent(Fraction(2, 3))
    '66.7'
    """
    return f"{float(100 * value):.1f}"
