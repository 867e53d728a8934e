"""Supplying the pool: which blocks of the successor tables a group of phases needs, and getting them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import Layout, layout_of
from tbgen.index.source import Source, StoredTable
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, swap_colours
from tbgen.material import Material
from tbgen.retro.canonical import expand
from tbgen.retro.targets import Pool, Target, en_passant_configs, make_directory, targets_of
from tbgen.score import NONE

Block = tuple[Material, int]
"""A phase of a material."""

Map = Callable[[Callable[[Block], None], Iterable[Block]], Iterable[None]]


class Supply:
    """The pool of a table, and what it takes to fill it.

    Tables with fewer men are small and stay in the pool. Tables with as many men, which promotions reach, do
    not fit all at once: only the phases that can be reached from those being solved are there.
    """

    def __init__(
        self, layout: Layout, sources: Mapping[Material, Source], table: StoredTable | None = None
    ) -> None:
        self._layout, self._sources = layout, sources
        found = targets_of(layout)
        materials = sorted({target.material for target in found.values()} - {layout.material})
        self._promoted = {
            side: [
                target for (mover, man, kind), target in found.items() if (mover, man) == (side, 0) and kind
            ]
            for side in (0, 1)
        }
        self._number: dict[Block, int] = {}
        block_at = {layout.material: 0}
        blocks = len(layout.placements)
        for material in materials:
            block_at[material] = blocks
            for phase in range(len(layout_of(material).placements)):
                self._number[material, phase] = blocks
                blocks += 1
        kept = [block for block in self._number if block[0].men < layout.material.men]
        own = 2 * layout.size + len(en_passant_configs(layout)) * layout.phase_size
        self._room_at = own + sum(map(_slots, kept))
        room = max(sum(map(_slots, self._needed(group))) for group in phase_groups(layout))
        self.pool: Final = Pool(
            np.empty(self._room_at + room, np.uint8),
            np.empty(self._room_at + room, np.uint16),
            make_directory(layout, block_at, blocks),
        )
        if table is None:
            self.pool.value[:own] = NONE
            self.pool.depth[:own] = 0
        self._table = table
        self._load(kept, own, map)

    def recall(self, phase: int) -> None:
        """Bring what pawn moves from a phase reach into the pool, and the phase itself, from the table that
        was solved before."""
        assert self._table is not None
        size, configs = self._layout.phase_size, en_passant_configs(self._layout).tolist()
        own = [array[: 2 * self._layout.size].reshape(2, -1) for array in (self.pool.value, self.pool.depth)]
        for reached in _by_pawn_steps(self._layout, phase):
            part = slice(reached * size, (reached + 1) * size)
            self._table.read_phase(reached, *(array[:, part] for array in own))
            expand(self._layout, reached, *(array[:, part] for array in own))
            for row, config in enumerate(configs):
                if config[0] == reached:
                    at = self.pool.targets.ep_offset + row * size
                    part = slice(at, at + size)
                    self._table.read_en_passant(row, self.pool.value[part], self.pool.depth[part])

    def prepare(self, phases: Iterable[int], run: Map = map) -> None:
        """Bring whatever zeroing moves from some phases of equally many pawn steps reach into the pool.

        ``run`` is called like ``map`` and may spread the work over threads.
        """
        needed = self._needed(phases)
        for block in self._number:
            if block[0].men == self._layout.material.men:
                self.pool.targets.begin[self._number[block]] = -1
        self._load(needed, self._room_at, run)

    def _needed(self, phases: Iterable[int]) -> list[Block]:
        """The blocks that promotions without a capture reach."""
        blocks = set()
        white_pawns = self._layout.white_pawns
        for phase in phases:
            placement = self._layout.placements[phase]
            for number, square in enumerate(placement):
                side = 0 if number < white_pawns else 1
                if square >> 3 == (6, 1)[side]:
                    white = [q for n, q in enumerate(placement[:white_pawns]) if n != number]
                    black = [q for n, q in enumerate(placement[white_pawns:]) if n != number - white_pawns]
                    blocks |= {_block(target, white, black) for target in self._promoted[side]}
        return sorted(blocks)

    def _load(self, blocks: Iterable[Block], at: int, run: Map) -> None:
        for block in blocks:
            size = _slots(block) // 2
            self.pool.targets.begin[self._number[block]] = at, at + size
            at += 2 * size
        for _ in run(self._fill, blocks):
            pass

    def _fill(self, block: Block) -> None:
        material, phase = block
        layout, at = layout_of(material), self.pool.targets.begin[self._number[block], 0]
        arrays: list[NDArray[Any]] = [
            array[at : at + 2 * layout.phase_size].reshape(2, -1)
            for array in (self.pool.value, self.pool.depth)
        ]
        self._sources[material].read_phase(phase, *arrays)
        expand(layout, phase, *arrays)


def phase_groups(layout: Layout) -> list[list[int]]:
    """Return the phases in the order of solving; those of one group do not depend on each other."""
    phases = range(len(layout.placements))
    return [
        list(group) for _, group in groupby(phases, lambda row: layout.steps_left(layout.placements[row]))
    ]


def _by_pawn_steps(layout: Layout, phase: int) -> set[int]:
    """A phase, and those that pawn moves of the table lead to."""
    found = {phase}
    placement = layout.placements[phase]
    for number, square in enumerate(placement):
        step = 8 if number < layout.white_pawns else -8
        for target in (square + step, square + 2 * step):
            if not 0 <= target < 64:
                continue
            moved = [*placement[:number], target, *placement[number + 1 :]]
            row = phase_of(layout, moved[: layout.white_pawns], moved[layout.white_pawns :])
            if row is not None:
                found.add(row)
    return found


def _slots(block: Block) -> int:
    return 2 * layout_of(block[0]).phase_size


def phase_of(layout: Layout, white: Sequence[int], black: Sequence[int]) -> int | None:
    """Return the phase of some pawns, be it by their mirror image; None if they cannot stand so."""
    for symmetry in (0, MIRROR_FILES):
        image = IMAGE[symmetry]
        placement = (*sorted(image[q] for q in white), *sorted(image[q] for q in black))
        if placement in layout.rows:
            return layout.rows[placement]
    return None


def _block(target: Target, white: list[int], black: list[int]) -> Block:
    """The block of a target with these pawns left."""
    if target.swapped:
        white, black = ([swap_colours(square) for square in squares] for squares in (black, white))
    phase = phase_of(layout_of(target.material), white, black)
    assert phase is not None
    return target.material, phase
