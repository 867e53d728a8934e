"""The fresh values and depths of all sub-tables of a table, joined in two arrays: for the proof of the table,
and for computing the layers to be proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.zeroing import sides_after_promotion

FreshArrays = tuple[NDArray[np.uint8], NDArray[np.uint16]]
"""Fresh values and depths of a table, shape (2, size) each."""


class SubTables:
    """The fresh values and depths of all sub-tables of a layout.

    The arrays join the parts for each sub-table and side to move. Promotions lead to sub-tables with as many
    men as the table itself; these are large. Of these sub-tables, only the sides to move that promotions can
    lead to are included.

    :param read: returns one of the tables. It is called for one table at a time, and its result is copied.
    """

    def __init__(self, layout: Layout, read: Callable[[Material], FreshArrays]) -> None:
        self.offsets, end = _offsets_of(layout)
        """Index of the first slot of each table and side to move."""
        self.value: Final = np.empty(end, np.uint8)
        self.depth: Final = np.empty(end, np.uint16)
        for material in sorted(layout.material.successors()):
            fresh = read(material)
            for side in SIDES:
                if (material, side) in self.offsets:
                    start = self.offsets[material, side]
                    part = slice(start, start + layout_of(material).size)
                    self.value[part], self.depth[part] = fresh[0][side], fresh[1][side]
            del fresh  # free the memory before the next table is read

    def sources(self) -> dict[Material, SubTableSource]:
        """Return the sub-tables as sources."""
        return {material: SubTableSource(self, material) for material, _ in self.offsets}


def sub_table_slots(layout: Layout) -> int:
    """Return the number of slots that :class:`SubTables` stores for a layout."""
    return _offsets_of(layout)[1]


def _offsets_of(layout: Layout) -> tuple[dict[tuple[Material, Side], int], int]:
    """Return the index of the first slot of each table and side to move, and the total number of slots."""
    promoted = sides_after_promotion(layout)
    offsets: dict[tuple[Material, Side], int] = {}
    end = 0
    for material in sorted(layout.material.successors()):
        large = material.men == layout.material.men
        for side in sorted(promoted[material]) if large else SIDES:
            offsets[material, side] = end
            end += layout_of(material).size
    return offsets, end


@dataclass(frozen=True)
class SubTableSource:
    """A sub-table with the interface :class:`tbgen.index.table.Source`."""

    tables: SubTables
    material: Material

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Fill arrays with the values and depths of a phase with ``side`` to move.

        :raises KeyError: if the sub-table is stored without that side to move.
        """
        start = self.tables.offsets[self.material, side] + phase * len(value)
        part = slice(start, start + len(value))
        value[:], depth[:] = self.tables.value[part], self.tables.depth[part]
