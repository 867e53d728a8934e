"""The fresh values and depths of the sub-tables of a table, joined in two arrays: for the proof of the table,
and for computing the layers to be proved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.table import Source
from tbgen.index.zeroing import (
    Block,
    batches_of,
    block_slots,
    blocks_after_promotions,
    sides_after_promotion,
)
from tbgen.system.memory import discard, zeros

BlockSide = tuple[Block, Side]
"""A phase of a sub-table with one side to move."""


class SubTables:
    """Fresh values and depths of sub-tables of a layout: only the blocks that moves from some phases lead
    to.

    Sub-tables with fewer men, which captures lead to, are small and are read first. Promotions lead to
    sub-tables with as many men as the table itself, which are large. From these, :meth:`load` reads only the
    blocks that promotions from some phases lead to, each with one side to move.

    :param source_of: returns one of the tables.
    :raises TbgenError: if a table with fewer men cannot be read.
    """

    def __init__(self, layout: Layout, source_of: Callable[[Material], Source]) -> None:
        self._layout = layout
        self._source_of = source_of
        materials = sorted(layout.material.successors())
        self.first_block = dict[Material, int]()
        """Index, in ``start``, of the first phase of each table."""
        count = 0
        for material in materials:
            self.first_block[material] = count
            count += len(layout_of(material).placements)
        self.start: Final = np.full((count, len(SIDES)), -1, np.int64)
        """Shape (blocks, 2): index in ``value`` of the first slot of each block and side to move; -1 if it
        has not been read."""
        self.sides = sides_after_promotion(layout)
        """The sides to move that moves lead to, for each table."""
        small = [material for material in materials if material.men < layout.material.men]
        self.sides |= {material: set(SIDES) for material in small}
        self._places: dict[BlockSide, int] = {}
        """Index in ``value`` of each block that promotions lead to and that has been read."""
        batches = _blocks_by_batch(layout)
        # Promotions lead to blocks of one size.
        size = next((block_slots(batch[0][0]) for batch in batches if batch), 0)
        small_slots = sum(len(SIDES) * layout_of(material).size for material in small)
        slots = small_slots + size * max(map(len, batches))
        self._free = list(range(small_slots, slots, size or 1))
        """Indices in ``value`` at which there is space for a block."""
        self.value: Final[NDArray[np.uint8]] = zeros(slots, np.uint8)
        self.depth: Final[NDArray[np.uint16]] = zeros(slots, np.uint16)
        end = 0
        for material, side in product(small, SIDES):
            for phase in range(len(layout_of(material).placements)):
                self._read(((material, phase), side), end)
                end += layout_of(material).phase_size

    def load(self, phases: Iterable[int], mapper: Callable[..., Iterable[Any]] = map) -> None:
        """Read the blocks that promotions from these phases of one batch lead to, and release all others.

        :param mapper: called like ``map``; may distribute the work over threads.
        :raises TbgenError: if a block cannot be read.
        """
        needed = promoted_blocks(self._layout, phases)
        for done in self._places.keys() - set(needed):
            self._release(done)
        new_places = {block: self._free.pop() for block in needed if block not in self._places}
        self._places |= new_places
        list(mapper(self._read, new_places.keys(), new_places.values()))

    def source(self, material: Material) -> SubTableSource:
        """Return a sub-table as a source of the blocks that have been read."""
        return SubTableSource(self, material)

    def _read(self, block_side: BlockSide, begin: int) -> None:
        """Read a block to the slots from ``begin`` on."""
        (material, phase), side = block_side
        layout = layout_of(material)
        part = slice(begin, begin + layout.phase_size)
        value, depth = self.value[part], self.depth[part]
        self._source_of(material).read_slots(side, phase * layout.phase_size, value, depth)
        if layout.pairs_to_solve:  # other pairs of kings have no canonical slots
            slots = layout.phase_size // (64 * layout.king_coords)
            others = set(range(64 * layout.king_coords))
            for pair in others - set(layout.pairs_to_solve):
                discard(value[pair * slots : (pair + 1) * slots])
                discard(depth[pair * slots : (pair + 1) * slots])
        self.start[self.first_block[material] + phase, side] = begin

    def _release(self, block_side: BlockSide) -> None:
        (material, phase), side = block_side
        begin = self._places.pop(block_side)
        self._free.append(begin)
        self.start[self.first_block[material] + phase, side] = -1
        discard(self.value[begin : begin + layout_of(material).phase_size])
        discard(self.depth[begin : begin + layout_of(material).phase_size])


def promoted_blocks(layout: Layout, phases: Iterable[int]) -> list[BlockSide]:
    """Return the blocks, with the side to move, that promotions without captures from some phases lead to."""
    sides = sides_after_promotion(layout)
    blocks = blocks_after_promotions(layout, phases)
    return [(block, side) for block in blocks for side in sorted(sides[block[0]])]


def _blocks_by_batch(layout: Layout) -> list[list[BlockSide]]:
    """Return the blocks, with the side to move, that promotions from each batch of phases lead to."""
    return [promoted_blocks(layout, range(*batch)) for batch in batches_of(layout)]


def sub_table_slots(layout: Layout) -> int:
    """Return the maximum number of slots with entries that :class:`SubTables` holds while batches of phases
    are proved."""
    small = sum(
        len(SIDES) * layout_of(material).slots_to_solve * len(layout_of(material).placements)
        for material in layout.material.successors()
        if material.men < layout.material.men
    )
    batches = _blocks_by_batch(layout)
    return small + max(sum(layout_of(block[0]).slots_to_solve for block, _ in batch) for batch in batches)


@dataclass(frozen=True)
class SubTableSource:
    """A sub-table with the interface :class:`tbgen.index.table.Source`."""

    tables: SubTables
    material: Material

    def read_slots(self, side: Side, start: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Fill arrays with the values and depths of consecutive slots of a phase; see
        :class:`tbgen.index.table.Source`.

        :raises KeyError: if the phase has not been read with that side to move.
        """
        phase, slot_in_phase = divmod(start, layout_of(self.material).phase_size)
        block_start = int(self.tables.start[self.tables.first_block[self.material] + phase, side])
        if block_start < 0:
            raise KeyError(self.material, phase, side)
        part = slice(block_start + slot_in_phase, block_start + slot_in_phase + len(value))
        value[:], depth[:] = self.tables.value[part], self.tables.depth[part]
