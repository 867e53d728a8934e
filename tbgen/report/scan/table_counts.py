"""The counts that a report on a table is made of."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.index.layout import Layout
from tbgen.index.symmetry import IMAGE
from tbgen.report.scan import accrued
from tbgen.report.scan.source import TableSource

Counts = NDArray[np.int64]

CAPTURES: Final = 1
"""Class bit of positions in which the side to move has a legal capture."""
LIKE_BISHOPS: Final = 2
"""Class bit of positions in which a side has its two or more bishops on one colour."""
CLASSES: Final = 4

ANY, QUIET, EN_PASSANT = range(3)
"""Kinds of longest positions: all, those without a legal capture, and those with an en passant right, which
the others do not have."""

Longest = dict[tuple[int, ...], tuple[int, int]]
"""Longest positions by what tells them apart: depth and place, which is negative, so that of equally long
positions the first in the table is the greatest."""


class TableCounts:
    """The counts of one table, all 0 at first. Codes and slots are the table's.

    The first axis of counts without en passant positions has all positions up to symmetry, then those that a
    symmetry of the board maps onto themselves.

    :param layers: whether accrued scores of packed tables are counted; those that are stored as runs are,
        and so are those of the variant that needs none.
    """

    def __init__(self, source: TableSource, layers: bool) -> None:
        self.info, self.layout = source.info, source.layout
        self.depths = self.info.max_depth + 1
        """Number of depths: the greatest one plus 1."""
        self.counts: Counts = np.zeros((2, 2, CLASSES, 256, self.depths), np.int64)
        """Shape (2, 2 sides, classes, 256 codes, depths)."""
        self.en_passant: Counts = np.zeros((2, 256, self.depths), np.int64)
        """Shape (2 sides, 256, depths): en passant positions up to symmetry."""
        self.king: Counts = np.zeros((2, 2, 64, 256), np.int64)
        """Shape (2, 2 sides, 64, 256): positions by the square of Black's king."""
        self.states: Counts = np.zeros((2, 2, 2, accrued.COLUMNS), np.int64)
        """Shape (2, 2 sides, 2 holders, columns of :mod:`tbgen.report.scan.accrued`)."""
        stored = not self.info.variant.layered or self.info.stores_runs
        self.has_accrued = stored or (layers and self.info.has_layers)
        """Whether accrued scores are counted."""
        self.en_passant_rows: list[tuple[int, int]] = []
        """Pawn placement and target square of the rows of en passant positions."""
        self.longest: Longest = {}
        """By kind, side and code: depth, and less the slot, or, with an en passant right, less row times
        phase size and slot within the phase."""

    @property
    def material(self) -> Material:
        """The material of the table."""
        return self.layout.material

    def on_board(self) -> Counts:
        """Return ``counts`` with every image of a position counted, without the first axis."""
        return images(self.layout, self.counts)

    def king_on_board(self) -> Counts:
        """Return ``king`` with every image of a position counted where it has the king."""
        twice: Counts = 2 * self.king[0] - self.king[1]
        total = np.zeros_like(twice)
        for image in IMAGE[:2] if self.layout.pawns else IMAGE:
            total[:, list(image)] += twice
        return total // 2

    def merge(self, other: TableCounts) -> None:
        """Add another part of the same table, without its en passant positions."""
        self.counts += other.counts
        self.king += other.king
        self.states += other.states
        for key, found in other.longest.items():
            self.longest[key] = max(found, self.longest.get(key, found))


def images(layout: Layout, counts: Counts) -> Counts:
    """Return numbers of positions on the board.

    :param counts: of all positions up to symmetry, and of those that a symmetry of the board maps onto
        themselves, along the first axis.
    """
    every, symmetric = counts
    board: Counts = 2 * every if layout.pawns else 8 * every - 4 * symmetric
    return board


def note_longest(
    longest: Longest, kind: tuple[int, ...], keys: NDArray[Any], present: Counts, depths: int, start: int
) -> None:
    """Note the longest ones of consecutive positions from a place on, by their kind and code.

    :param keys: of each position a code times the number of depths, plus its depth.
    :param present: the keys that count, ascending.
    """
    deepest = {key // depths: key for key in present.tolist()}  # of equal codes the last one stays
    for code, key in deepest.items():
        depth, before = key % depths, longest.get((*kind, code), (-1, 0))
        if before < (depth, -start):
            longest[*kind, code] = max(before, (depth, -start - int(np.argmax(keys == key))))
