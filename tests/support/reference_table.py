"""Solutions of the reference solver as tables of the package.

Run as a program, it prints the digests of tables of described men: tests/data/described.r.txt.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.layout import Layout, Slot, layout_of
from tbgen.index.table import Table
from tests.support.digests import digest_of
from tests.support.reference import solve, solve_whole_game
from tests.support.reference_moves import DESCRIBED
from tests.support.shared import shared


@shared
def reference_table(name: str) -> Table:
    """The table of KvK or KXvK; solved once."""
    solution = solve(name)
    material = Material.parse(name)
    layout = layout_of(material)
    table = empty_table(material)
    slots, nodes = _positions(layout, solution.legal)
    sides = np.repeat([0, 1], [len(part) for part in slots])
    slot, node = np.concatenate(slots), np.concatenate(nodes)
    table.value[sides, slot] = solution.value[node]
    table.depth[sides, slot] = solution.depth[node]
    fresh_rank = _rank(solution.value[node])
    runs = []
    before = np.full((2, len(node)), NONE, np.uint8), np.zeros((2, len(node)), np.uint16)
    for layer in solution.layers():
        holder, rank = int(layer.accrued >= 128), min(layer.accrued, 255 - layer.accrued)
        value, depth = layer.value.ravel()[node], layer.depth.ravel()[node]
        alive = layer.mask.ravel()[node] & (rank <= fresh_rank) & (solution.score[node] != layer.accrued)
        value = np.where((value == solution.value[node]) & (depth == solution.depth[node]), FRESH, value)
        value = np.where(layer.value.ravel()[node] == layer.accrued, NONE, value)
        depth[(value == FRESH) | (value == NONE)] = 0
        new = np.flatnonzero(alive & ((value != before[0][holder]) | (depth != before[1][holder])))
        before[0][holder][new], before[1][holder][new] = value[new], depth[new]
        runs.append(np.array([np.full(len(new), holder), sides[new], slot[new], np.full(len(new), rank),
                              value[new], depth[new]]))  # fmt: skip
    found = np.concatenate(runs, axis=1)
    found = found[:, np.lexsort(found[3::-1])]
    last = np.append((found[:3, 1:] != found[:3, :-1]).any(axis=0), True)
    bits = np.zeros((2, 2, layout.size), np.uint8)
    bits[found[0], found[1], found[2]] = 1
    table.run_mask = np.packbits(bits, axis=-1, bitorder="little").view("<u8").astype(np.uint64)
    table.run_rank = (found[3] + LAST_RUN * last).astype(np.uint8)
    table.run_value, table.run_depth = found[4].astype(np.uint8), found[5].astype(np.uint16)
    return table


@shared
def whole_game_table(name: str) -> Table:
    """The table of KvK or KXvK for whole-game mobility; solved once."""
    solution, material = solve_whole_game(name), Material.parse(name)
    table = replace(
        empty_table(material), variant=Variant.WHOLE_GAME, run_mask=np.zeros((2, 2, 0), np.uint64)
    )
    for side, (slots, nodes) in enumerate(zip(*_positions(table.layout, solution.legal), strict=True)):
        table.value[side, slots] = solution.value[nodes]
        table.depth[side, slots] = solution.depth[nodes]
    return table


def empty_table(material: Material) -> Table:
    """A table without any position."""
    layout = layout_of(material)
    return Table(
        material,
        Variant.R_MOBILITY,
        np.full((2, layout.size), NONE, np.uint8),
        np.zeros((2, layout.size), np.uint16),
        np.zeros((2, 2, layout.size // 64), np.uint64),
        np.empty(0, np.uint8),
        np.empty(0, np.uint8),
        np.empty(0, np.uint16),
        np.empty((0, 2), np.int32),
        np.empty((0, layout.phase_size), np.uint8),
        np.empty((0, layout.phase_size), np.uint16),
    )


def _positions(
    layout: Layout, legal: NDArray[np.bool_]
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Canonical slots of the legal positions of each side, and their numbers in the reference."""
    slots: list[list[int]] = [[], []]
    nodes: list[list[int]] = [[], []]
    for slot in range(layout.size):
        free, placement = layout.squares(Slot(slot))
        if layout.slot(free, placement) == slot:
            for side in (0, 1):
                squares = (side, *free, *placement)
                if legal[squares]:
                    slots[side].append(slot)
                    nodes[side].append(int(np.ravel_multi_index(squares, legal.shape)))
    return [np.array(part) for part in slots], [np.array(part) for part in nodes]


def _rank(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.minimum(codes, 255 - codes)


if __name__ == "__main__":
    print("# Digests of tables of described men, from python -m tests.support.reference_table")
    for man in DESCRIBED:
        print(f"K{man}vK r", digest_of(reference_table(f"K{man}vK")), flush=True)
