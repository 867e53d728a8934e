"""All that a table rests on, in one piece of memory: for the proof, and for making layers that it proves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.zeroing import sides_after_promotion

Fresh = tuple[NDArray[np.uint8], NDArray[np.uint16]]
"""Value and depth of a table, shape (2, size) each."""


class SubTables:
    """Values and depths of all sub-tables of a layout, one side to move after the other.

    Of tables with as many men, which promotions lead to, only those sides to move are there that they do lead
    to: they are the large ones.

    :param read: returns one of the tables; they are asked for one by one, and copied.
    """

    def __init__(self, layout: Layout, read: Callable[[Material], Fresh]) -> None:
        self.places, end = _places(layout)
        """Where the slots of a table with one side to move begin."""
        self.value: Final = np.empty(end, np.uint8)
        self.depth: Final = np.empty(end, np.uint16)
        for material in sorted(layout.material.successors()):
            fresh = read(material)
            for side in SIDES:
                if (material, side) in self.places:
                    start = self.places[material, side]
                    part = slice(start, start + layout_of(material).size)
                    self.value[part], self.depth[part] = fresh[0][side], fresh[1][side]
            del fresh  # before the next one is read: they are large

    def sources(self) -> dict[Material, SubTableSource]:
        """Return the tables as sources."""
        return {material: SubTableSource(self, material) for material, _ in self.places}


def slots_around(layout: Layout) -> int:
    """Return how many slots there are of the sub-tables of a layout."""
    return _places(layout)[1]


def _places(layout: Layout) -> tuple[dict[tuple[Material, Side], int], int]:
    """Return where the slots of each table and side to move begin, and where the last ones end."""
    promoted = sides_after_promotion(layout)
    places: dict[tuple[Material, Side], int] = {}
    end = 0
    for material in sorted(layout.material.successors()):
        large = material.men == layout.material.men
        for side in sorted(promoted[material]) if large else SIDES:
            places[material, side] = end
            end += layout_of(material).size
    return places, end


@dataclass(frozen=True)
class SubTableSource:
    """A sub-table as :class:`tbgen.index.table.Source`."""

    tables: SubTables
    material: Material

    def read_side(self, phase: int, side: Side, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy one side of a phase.

        :raises KeyError: if no move leads to that side.
        """
        start = self.tables.places[self.material, side] + phase * len(value)
        part = slice(start, start + len(value))
        value[:], depth[:] = self.tables.value[part], self.tables.depth[part]
