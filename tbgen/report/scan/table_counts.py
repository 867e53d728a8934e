"""The counts that a report on a table is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.index.layout import Layout
from tbgen.index.symmetry import IMAGE
from tbgen.report.scan import accrued
from tbgen.report.scan.source import TableSource
from tbgen.store.info import TableInfo

Counts = NDArray[np.int64]

CAPTURES: Final = 1
"""Class bit of positions in which the side to move has a legal capture."""
LIKE_BISHOPS: Final = 2
"""Class bit of positions in which a side has its two or more bishops on one colour."""
CLASSES: Final = 4

ANY, QUIET = 0, 1
"""Kinds of longest positions: all, and those without a legal capture."""

Found = tuple[int, int]
"""Depth and place of a longest position: greater depths count more, then smaller places."""


@dataclass(slots=True)
class TableCounts:
    """The counts of one table. Codes and slots are the table's."""

    info: TableInfo
    layout: Layout
    counts: Counts
    """Shape (2 sides, classes, 256 codes, depths): positions up to symmetry."""
    symmetric: Counts
    """The same, of positions that a board symmetry maps onto themselves."""
    en_passant: Counts
    """Shape (2 sides, 256, depths): en passant positions up to symmetry."""
    king: Counts
    """Shape (2 sides, 64, 256): positions up to symmetry by the square of Black's king."""
    king_symmetric: Counts
    states: Counts
    """Shape (2 sides, 2 holders, columns of :mod:`tbgen.report.scan.accrued`), up to symmetry."""
    states_symmetric: Counts
    en_passant_rows: list[tuple[int, int]]
    """Pawn placement and target square of the rows of en passant positions."""
    has_accrued: bool
    """Whether accrued scores are counted."""
    longest: dict[tuple[int, int, int], Found] = field(default_factory=dict)
    """By kind, side and code: depth and slot."""
    longest_en_passant: dict[tuple[int, int], Found] = field(default_factory=dict)
    """By side and code: depth, and row times phase size plus slot within the phase."""

    @classmethod
    def empty(cls, source: TableSource, layers: bool) -> TableCounts:
        """Return a scan of nothing.

        :param layers: whether accrued scores of packed tables are counted; those that are stored as runs are,
            and so are those of the variant that needs none.
        """
        info = source.info
        depths = info.max_depth + 1
        return cls(
            info,
            source.layout,
            counts=np.zeros((2, CLASSES, 256, depths), np.int64),
            symmetric=np.zeros((2, CLASSES, 256, depths), np.int64),
            en_passant=np.zeros((2, 256, depths), np.int64),
            king=np.zeros((2, 64, 256), np.int64),
            king_symmetric=np.zeros((2, 64, 256), np.int64),
            states=accrued.empty(),
            states_symmetric=accrued.empty(),
            en_passant_rows=source.en_passant_rows(),
            has_accrued=not info.variant.resets or info.stores_runs or (layers and info.has_layers),
        )

    @property
    def material(self) -> Material:
        """The material of the table."""
        return self.layout.material

    def on_board(self) -> Counts:
        """Return ``counts`` with every image of a position counted."""
        return self._images(self.counts, self.symmetric)

    def states_on_board(self) -> Counts:
        """Return ``states`` with every image of a position counted."""
        return self._images(self.states, self.states_symmetric)

    def king_on_board(self) -> Counts:
        """Return ``king`` with every image of a position counted where it has the king."""
        twice, total = 2 * self.king - self.king_symmetric, np.zeros_like(self.king)
        for image in IMAGE[:2] if self.layout.pawns else IMAGE:
            total[:, list(image)] += twice
        return total // 2

    def _images(self, counts: Counts, symmetric: Counts) -> Counts:
        return 2 * counts if self.layout.pawns else 8 * counts - 4 * symmetric

    def merge(self, other: TableCounts) -> None:
        """Add another part of the same table."""
        for name in (
            *("counts", "symmetric", "en_passant", "king", "king_symmetric", "states", "states_symmetric"),
        ):
            mine = getattr(self, name)
            mine += getattr(other, name)
        for key, found in other.longest.items():
            self.longest[key] = better(self.longest.get(key), found)
        for place, found in other.longest_en_passant.items():
            self.longest_en_passant[place] = better(self.longest_en_passant.get(place), found)


def better(one: Found | None, other: Found) -> Found:
    """Return the longer of two positions, of equally long ones the first in the table."""
    return other if one is None else max(one, other, key=lambda found: (found[0], -found[1]))
