"""Tables with values in their cells, which every format shows in its own way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

_MOST_DECIMALS: Final = 12


class Part(NamedTuple):
    """Points out of a number of games."""

    points: Fraction
    games: int


Cell = str | int | float | Fraction | Part | None
"""Nothing is None; fractions are exact."""


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
    """How readers see a value; None for points, with as many decimals as tell those of the column apart."""
    word: bool = False
    """Whether it holds text, and not numbers."""

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

    @classmethod
    def of(
        cls, key: str, title: str, columns: Sequence[Column], items: Iterable[object], note: str = ""
    ) -> Self:
        """Return a table with a row for each item."""
        return cls(key, title, note, columns, [[column.cell(item) for column in columns] for item in items])

    @property
    def texts(self) -> int:
        """How many columns at the left hold text."""
        return next((at for at, column in enumerate(self.columns) if not column.word), len(self.columns))

    @property
    def titles(self) -> list[str]:
        """The headings for readers."""
        return [column.title for column in self.columns]

    def shown(self) -> list[list[str]]:
        """Return the cells as readers see them."""
        shows = [
            column.show or telling_apart([row[at] for row in self.rows])
            for at, column in enumerate(self.columns)
        ]
        return [
            ["" if cell is None else show(cell) for show, cell in zip(shows, row, strict=True)]
            for row in self.rows
        ]


def decimal(points: Fraction, decimals: int = 4) -> str:
    """Return points to so many decimals, without needless ones.

    >>> decimal(Fraction(7)), decimal(Fraction(15, 2)), decimal(Fraction(1, 3)), decimal(Fraction(-1, 10**6))
    ('7', '7.5', '0.3333', '0')
    """
    whole, part = divmod(abs(round(points * 10**decimals)), 10**decimals)
    sign = "-" if points < 0 and (whole or part) else ""
    return f"{sign}{whole}.{part:0{decimals}}".rstrip("0").rstrip(".")


def telling_apart(values: Sequence[Cell]) -> Callable[[Any], str]:
    """Return how to show the points of a column: with four decimals, or as many as tell them apart.

    >>> show = telling_apart([Fraction(1, 2) + Fraction(1, 2**18), Fraction(1, 2) - Fraction(1, 2**18)])
    >>> show(Fraction(1, 2) + Fraction(1, 2**18))
    '0.500004'
    """
    found = (value.points if isinstance(value, Part) else value for value in values)
    points = {value for value in found if isinstance(value, Fraction)}
    decimals = 4
    while decimals < _MOST_DECIMALS and len({decimal(each, decimals) for each in points}) < len(points):
        decimals += 1
    return lambda value: decimal(value, decimals)


def signed(value: float) -> str:
    """Return a difference with its sign; none of 0."""
    return f"{value:+}" if value else "0"


def elo_text(value: float) -> str:
    """Return a difference in Elo points."""
    return f"{value:+.1f}"


def margin_text(value: float) -> str:
    """Return a margin in Elo points."""
    return f"{value:.1f}" if math.isfinite(value) else "unbounded"


def percent(value: Fraction) -> str:
    """Return a share in hundredths, without the sign that the heading has.

    >>> percent(Fraction(2, 3))
    '66.7'
    """
    return f"{float(100 * value):.1f}"
