"""Tables with values in their cells, which every format shows in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

_MOST_DECIMALS: Final = 4
"""Of points that readers see; they are compared and written as CSV exactly."""


class Link(NamedTuple):
    """A text that a page links to an address."""

    text: str
    address: str

    def __str__(self) -> str:
        return self.text


Cell = str | int | float | Fraction | Link | None
"""Nothing is None, an empty text what cannot be; fractions are exact."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    key: str
    """Its name in CSV files, one word."""
    title: str
    """Its heading for readers."""
    source: str | Callable[[Any], Cell] = ""
    """Returns its cell in the row of an item; or the attribute of items that is the cell, maybe one of an
    attribute (``results.games``); by default the one of the column's key."""
    show: Callable[[Any], str] | None = str
    """How readers see a value; None for points, with equally many decimals throughout the column."""
    word: bool = False
    """Whether it holds text, and not numbers."""
    line: int = 0
    """Of a column of games one by one, a mark each: how many of them a page writes in a line; else 0."""

    def cell(self, item: Any) -> Any:
        """Return the cell of an item: a :data:`Cell`."""
        if callable(self.source):
            return self.source(item)
        for name in (self.source or self.key).split("."):
            item = None if item is None else getattr(item, name)
        return item


@dataclass(frozen=True, slots=True)
class StandingsTable:
    """A table with a title."""

    key: str
    """Its name in CSV files, one word."""
    title: str
    note: str
    """What a reader has to know; may be empty."""
    columns: Sequence[Column]
    """Those that hold text and stand at the left belong to each row, however wide the table is."""
    rows: Sequence[Sequence[Cell]]
    gap: int = 2
    """Spaces between columns of text."""
    data: StandingsTable | None = None
    """What CSV files have instead, where readers see less."""
    first: str = ""
    """What a reader has to know before the note, which pages fold then."""

    @classmethod
    def of(
        cls, key: str, title: str, columns: Sequence[Column], items: Iterable[object], note: str = ""
    ) -> Self:
        """Return a table with a row for each item."""
        return cls(key, title, note, columns, [[column.cell(item) for column in columns] for item in items])

    @property
    def sentences(self) -> str:
        """All that a reader has to know."""
        return f"{self.first} {self.note}".strip()

    @property
    def texts(self) -> int:
        """How many columns at the left hold text."""
        return next((at for at, column in enumerate(self.columns) if not column.word), len(self.columns))

    @property
    def head(self) -> int:
        """The column that says what a row is about: players or numbers at the left, else the first."""
        keys = [column.key for column in self.columns[: self.texts]]
        return next((keys.index(key) for key in ("player", "number") if key in keys), 0)

    @property
    def titles(self) -> list[str]:
        """The headings for readers."""
        return [column.title for column in self.columns]

    def shown(self) -> list[list[str]]:
        """Return the cells as readers see them."""
        shows = [
            column.show or aligned(row[at] for row in self.rows) for at, column in enumerate(self.columns)
        ]
        return [
            ["" if cell is None else show(cell) for show, cell in zip(shows, row, strict=True)]
            for row in self.rows
        ]


def aligned(values: Iterable[Cell]) -> Callable[[Any], str]:
    """Return how to show points: all with as many decimals as the longest of them needs, four at most.

    >>> show = aligned([Fraction(22), Fraction(43, 2), None])
    >>> show(Fraction(22)), aligned([Fraction(1, 3)])(Fraction(1, 3)), aligned([Fraction(7)])(Fraction(7))
    ('22.0', '0.3333', '7')
    """
    rounded = [round(value, _MOST_DECIMALS) for value in values if isinstance(value, Fraction)]
    needed = (at for at in range(_MOST_DECIMALS) if all(round(value, at) == value for value in rounded))
    decimals = next(needed, _MOST_DECIMALS)

    return lambda value: f"{float(round(value, decimals)):.{decimals}f}"


def signed(value: float) -> str:
    """Return a difference with its sign; none of 0."""
    return f"{value:+}" if value else "0"


def percent(value: Fraction) -> str:
    """Return a share in hundredths, without the sign that the heading has.

    >>> percent(Fraction(2, 3))
    '66.7'
    """
    return f"{float(100 * value):.1f}"
