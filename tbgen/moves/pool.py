"""The pool of a table: making it, loading blocks of sub-tables into it, and the file for the phases that
leave it.

The pool and its blocks are explained in ``tbgen.moves.kernels.targets``. ``PoolLoader`` owns its memory.
These rules hold while a table is solved:

=================  =================================  =====================  =================================
slots              written                            read                   memory released
=================  =================================  =====================  =================================
table with pawns   by ``store``, after their phase    by phases solved       before a group of phases, what
                                                      later                  pawn steps reach no more
table without      by the sweeps, which use the pool  by the same sweeps     see ``tbgen.retro.workspace``
pawns              as their workspace
en passant         by the solver of their phase       by phases solved       with the next row
                                                      later
smaller tables     when the loader is made            by all phases          without pawns, when results are
                                                                             put into the table's order
after promotions   before a group of phases           by this group          before the next group
=================  =================================  =====================  =================================

Blocks after promotions may lie in slots of phases that are solved later. If a solved table is loaded instead
of being solved, ``load_solved`` or an unpacker writes its slots, and ``clear`` releases them and the blocks
after promotions. Released memory must be written before it is read again; a debug switch
(``tbgen.system.memory.CHECKS_MEMORY``) fills it with a pattern, and tests run with it.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import gettempdir
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.compiler.structs import Codes, Ints, Plies
from tbgen.index.layout import SIDES, TOUCHING_PAIRS, Layout, Side, layout_of
from tbgen.index.table import EnPassantSource, SolvedTable, Source, scratch_bytes
from tbgen.index.zeroing import (
    Block,
    block_slots,
    en_passant_configs,
    first_needed_phase,
    max_overflow_slots,
    promotion_places,
    targets_of,
)
from tbgen.moves.frames import expand, to_solver_order
from tbgen.moves.structs import NO_PROVER, Pool, Routes
from tbgen.moves.targets import make_targets
from tbgen.system.files import ScratchFile
from tbgen.system.memory import discard, zeros

QUARTERS: Final = 4
"""Number of elements for each slot in the arrays of values and of depths of a solver, which are at the
beginning of the pool if there are no pawns."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class Map(Protocol):
    """The built-in ``map``, or a function with the same result that distributes the calls over threads."""

    def __call__(self, function: Callable[[Item], Result], items: Iterable[Item], /) -> Iterable[Result]:
        """Call a function on all items; return its results in the order of the items."""


def no_routes() -> Routes:
    """Return empty routes for the pool of a table. Only cells have routes."""
    return Routes(
        np.empty(0, np.int16), np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(2, np.uint64), 0
    )


class PoolLoader:
    """Makes the pool of a table and fills it from the sub-tables.

    Sub-tables with fewer men are small and stay in the pool. Sub-tables with the same number of men, which
    promotions lead to, would together be too large. Of these, the pool contains only the phases that the
    phases being solved can reach. Where possible, they occupy the slots of phases of the table that are
    solved later.

    :param table: the table itself, if it has already been solved.
    :param needed_blocks: the needed blocks of sub-tables with fewer men; None for all their blocks.
    :param mapper: called like ``map``; may distribute the loading over threads.
    """

    def __init__(
        self,
        layout: Layout,
        sources: Mapping[Material, Source],
        table: SolvedTable | None = None,
        needed_blocks: Collection[Block] | None = None,
        mapper: Map = map,
    ) -> None:
        self._layout = layout
        self._sources = sources
        materials = sorted({target.material for target in targets_of(layout).values()} - {layout.material})
        self._block_number: dict[Block, int] = {}
        block_at = {layout.material: 0}
        block_count = len(layout.placements)
        for material in materials:
            block_at[material] = block_count
            for phase in range(len(layout_of(material).placements)):
                self._block_number[material, phase] = block_count
                block_count += 1
        smaller = [block for block in self._block_number if block[0].men < layout.material.men]
        kept_blocks = [block for block in smaller if needed_blocks is None or block in needed_blocks]
        ep_start = 2 * layout.size
        ep_slots = len(en_passant_configs(layout)) * layout.phase_size
        own_slots = ep_start + ep_slots
        if not layout.pawns:  # then the workspace is part of the pool
            own_slots = max(own_slots, QUARTERS * layout.slots_to_solve)
        begin_of_block = {}
        end = own_slots
        for block, side in product(kept_blocks, SIDES):
            begin_of_block[block, side] = end
            end += block_slots(block)
        self._promoted_at = end
        slots = end + max_overflow_slots(layout)
        self.pool: Final = Pool(
            zeros(slots, np.uint8),
            zeros(slots, np.uint16),
            make_targets(layout, block_at, block_count, en_passant_configs(layout)),
            no_routes(),
            np.empty(0, np.uint64),
            NO_PROVER,
        )
        self._table = table
        if table is None:
            self.pool.value[ep_start : ep_start + ep_slots] = NONE
        self._load(begin_of_block, mapper)

    def store(self, phase: int, value: Codes, depth: Plies, starts: Ints) -> None:
        """Copy the fresh values and depths of a solved phase to the pool. Without pawns, they are there.

        :param starts: int64 (2,), index of the first slot with each side to move.
        """
        pool = self.pool
        size = self._layout.phase_size
        for side in SIDES if self._layout.pawns else ():
            begin = int(pool.targets.start[phase, side])
            start = int(starts[side])
            pool.value[begin : begin + size] = value[start : start + size]
            pool.depth[begin : begin + size] = depth[start : start + size]

    def keep_only(self, group: Sequence[int]) -> None:
        """Release the memory that neither a group nor later groups need: phases that pawn steps no longer
        reach, and targets of promotions from earlier groups."""
        layout = self._layout
        size = self._layout.phase_size
        first_phase = first_needed_phase(layout, group)
        used = [
            (side * layout.size + first_phase * size, side * layout.size + (group[-1] + 1) * size)
            for side in SIDES
        ]
        promoted_blocks = promotion_places(layout, group, self._promoted_at)
        used += [(begin, begin + block_slots(block)) for (block, _), begin in promoted_blocks.items()]
        used += [(2 * layout.size, self._promoted_at), (len(self.pool.value), 0)]
        end = 0
        for begin, stop in sorted(used):
            discard(self.pool.value[end:begin])
            discard(self.pool.depth[end:begin])
            end = max(end, stop)

    def load_solved(self, phases: Iterable[int]) -> None:
        """Load some phases from the solved table, in place of those loaded before, with their en passant
        positions.

        They are the first phases in the pool. Blocks that promotions lead to come after as many phases as the
        table has up to the group being solved.
        """
        assert self._table is not None
        size = self._layout.phase_size
        loaded = sorted(phases)
        for (index, phase), side in product(enumerate(loaded), SIDES):
            begin = side * self._layout.size + index * size
            self.pool.targets.start[phase, side] = begin
            self._copy(self._table, self._layout, phase, side, begin)
            for array in (self.pool.value, self.pool.depth):
                to_solver_order(self._layout, array[begin : begin + size])
        self.load_en_passant(self._table, loaded)

    def load_en_passant(self, table: EnPassantSource, phases: Container[int]) -> None:
        """Load the en passant positions of some phases into the pool."""
        size = self._layout.phase_size
        for row, config in enumerate(en_passant_configs(self._layout).tolist()):
            if config[0] in phases:
                begin = self.pool.targets.ep_offset + row * size
                part = slice(begin, begin + size)
                table.read_en_passant(row, self.pool.value[part], self.pool.depth[part])

    def clear(self) -> None:
        """Release the memory of the phases of the table and of the blocks that promotions lead to."""
        for part in slice(2 * self._layout.size), slice(self._promoted_at, None):
            discard(self.pool.value[part])
            discard(self.pool.depth[part])

    def load_blocks(self, phases: Sequence[int], mapper: Map = map, movers: Collection[Side] = SIDES) -> None:
        """Load into the pool the blocks that promotions from some phases lead to.

        :param phases: consecutive phases with the same number of remaining pawn steps.
        :param mapper: called like ``map``; may distribute the work over threads.
        :param movers: the sides whose promotions are needed.
        """
        for block in self._block_number:
            if block[0].men == self._layout.material.men:
                self.pool.targets.start[self._block_number[block]] = -1
        self._load(promotion_places(self._layout, phases, self._promoted_at, movers), mapper)

    def _load(self, begin_of_block: Mapping[tuple[Block, Side], int], mapper: Map) -> None:
        for (block, side), begin in begin_of_block.items():
            self.pool.targets.start[self._block_number[block], side] = begin

        def fill(block_and_side: tuple[Block, Side]) -> None:
            (material, phase), side = block_and_side
            self._copy(
                self._sources[material], layout_of(material), phase, side, begin_of_block[block_and_side]
            )
            if material.men == self._layout.material.men and not material.pawns:
                self._discard_touching(layout_of(material), begin_of_block[block_and_side])

        list(mapper(fill, begin_of_block))

    def _discard_touching(self, layout: Layout, begin: int) -> None:
        """Release the memory of the slots with kings on neighbouring squares; no promotion leads to them."""
        slots = layout.phase_size // (64 * layout.king_coords)
        for pair in TOUCHING_PAIRS:
            part = slice(begin + pair * slots, begin + (pair + 1) * slots)
            discard(self.pool.value[part])
            discard(self.pool.depth[part])

    def _copy(self, source: Source, layout: Layout, phase: int, side: Side, begin: int) -> None:
        """Copy one phase of a table with ``side`` to move to the pool, from index ``begin`` on.

        Slots that are not canonical are also filled.
        """
        part = slice(begin, begin + layout.phase_size)
        value, depth = self.pool.value[part], self.pool.depth[part]
        source.read_slots(side, phase * layout.phase_size, value, depth)
        expand(layout, phase, value, depth)


class SolvedPhases:
    """The solved phases of a table with pawns, in a temporary file.

    The file has the values and depths of both sides to move, then the function numbers of the stored side.

    :param path: the file of the table; None if the table is not written. Messages name it, and the temporary
        file is in its directory.
    :raises TbgenError: if there is too little space on the disk.
    """

    def __init__(self, layout: Layout, path: Path | None, has_functions: bool) -> None:
        self._size = layout.size
        self._phase_size = layout.phase_size
        self._numbers_at = scratch_bytes(layout.size, has_functions=False)
        path = path or Path(gettempdir(), layout.material.name)
        self._file = ScratchFile(path, scratch_bytes(layout.size, has_functions))
        self.close = self._file.close

    def write(self, phase: int, side: Side, first_slot: int, value: Codes, depth: Plies) -> None:
        """Write the values and depths of consecutive slots of a phase, from slot ``first_slot`` on."""
        slot = side * self._size + phase * self._phase_size + first_slot
        self._file.write(slot, value)
        self._file.write(2 * (self._size + slot), depth)

    def write_numbers(self, phase: int, *halves: NDArray[np.unsignedinteger]) -> None:
        """Write the function numbers of a phase: uint32 (phase size,), or their lower and upper halves."""
        offset = self._offset_of_numbers(phase)
        for half in halves:
            self._file.write(offset, half)
            offset += half.nbytes

    def read_numbers(self, phase: int, *halves: NDArray[np.unsignedinteger]) -> None:
        """Read the function numbers of a phase into arrays like those of :meth:`write_numbers`."""
        offset = self._offset_of_numbers(phase)
        for half in halves:
            self._file.read(offset, half)
            offset += half.nbytes

    def _offset_of_numbers(self, phase: int) -> int:
        return self._numbers_at + 4 * phase * self._phase_size

    def results(self) -> tuple[Codes, Plies]:
        """Return the values and depths, shape (2, size), after the last phase has been written."""
        memory = self._file.map()
        slots = 2 * self._size
        value, depth = np.frombuffer(memory, np.uint8, slots), np.frombuffer(memory, np.uint16, slots, slots)
        return value.reshape(2, -1), depth.reshape(2, -1)

    def numbers(self) -> NDArray[np.uint32]:
        """Return the function numbers, shape (size,), once those of all phases are in four bytes each."""
        return np.frombuffer(self._file.map(), np.uint32, offset=self._numbers_at)
