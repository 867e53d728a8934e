"""Where two sets of rules give a position of the same material different values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.errors import TbgenError
from tbgen.index.layout import Side, Slot
from tbgen.index.position import board_of
from tbgen.progress import Progress, silent
from tbgen.report.scan.blocks import blocks_of, symmetric_slots
from tbgen.report.scan.source import TableSource

EXAMPLES: Final = 8
"""Most examples of a material."""


@dataclass(frozen=True, slots=True)
class Differing:
    """The most frequent way in which values differ, or the next one, with an example."""

    r: GScore
    wg: GScore
    white_to_move: bool
    count: int
    """Positions on the board."""
    fen: str
    """The one that takes longest by the rules r, of equally long ones that with the smallest slot."""
    r_depth: int
    wg_depth: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How many positions of a material have another value by the rules wg than by the rules r.

    Counts are of positions on the board, without those with an en passant right, White to move first.
    """

    material: Material
    positions: tuple[int, int]
    differing: tuple[int, int]
    sides: tuple[Mapping[tuple[GScore, GScore], int], Mapping[tuple[GScore, GScore], int]]
    """Positions by the value of r and that of wg, where these differ, the most frequent first."""
    examples: tuple[Differing, ...]
    """The most frequent pairs of both sides to move."""

    @property
    def share(self) -> float:
        """Which part of the positions has another value."""
        total = sum(self.positions)
        return sum(self.differing) / total if total else 0.0


def difference(r: TableSource, wg: TableSource, progress: Progress = silent) -> Difference:
    """Read two tables of the same material once and compare their fresh values.

    :param progress: told how many slots are compared.

    :raises TbgenError: if they do not hold the same positions.
    :raises DamagedTableError: if one cannot be used.
    """
    layout = r.layout
    fixed = symmetric_slots(layout)
    counts, symmetric = np.zeros((2, 2, 1 << 16), np.int64)
    longest: dict[tuple[int, int], tuple[int, int, int]] = {}
    done = 0
    for start, size in blocks_of(layout):
        among = fixed[slice(*np.searchsorted(fixed, [start, start + size]))] - start
        for side in (0, 1):
            (value, depth), (other, other_depth) = (table.fresh(side, start, size) for table in (r, wg))
            if not np.array_equal(value == NONE, other == NONE):
                raise TbgenError(f"the tables of {layout.material} do not hold the same positions")
            key = value.astype(np.uint16) << 8 | other
            counts[side] += np.bincount(key, minlength=1 << 16)
            symmetric[side] += np.bincount(key[among], minlength=1 << 16)
            _note(longest, side, start, key, depth, other_depth)
            done += size
            progress("compared", done, 2 * r.info.size)
    board = 2 * counts if layout.pawns else 8 * counts - 4 * symmetric
    board[:, NONE << 8 | NONE] = 0
    every = board.sum(axis=1).tolist()
    codes = np.arange(1 << 16)
    board[:, codes >> 8 == codes & 255] = 0
    differing = board.sum(axis=1).tolist()
    pairs = [(int(board[side, code]), side, int(code)) for side, code in np.argwhere(board)]
    pairs.sort(key=lambda pair: (-pair[0], *pair[1:]))
    sides: tuple[dict[tuple[GScore, GScore], int], dict[tuple[GScore, GScore], int]] = ({}, {})
    examples: list[Differing] = []
    for number, side, code in pairs:
        both = GScore.from_code(code >> 8), GScore.from_code(code & 255)
        sides[side][both] = number
        if len(examples) < EXAMPLES:
            r_depth, place, wg_depth = longest[side, code]
            fen = board_of(layout, Side(side), Slot(-place)).fen()
            examples.append(Differing(*both, side == 0, number, fen, r_depth, wg_depth))
    totals = (every[0], every[1]), (differing[0], differing[1])
    return Difference(layout.material, *totals, sides, tuple(examples))


def _note(
    longest: dict[tuple[int, int], tuple[int, int, int]],
    side: int,
    start: int,
    key: NDArray[Any],
    depth: NDArray[np.uint16],
    other_depth: NDArray[np.uint16],
) -> None:
    """Note the longest of the differing positions of a block: depth, minus the slot, and the other depth."""
    where = np.flatnonzero(key >> 8 != key & 255)
    keys, depths = key[where], depth[where]
    order = np.lexsort((where, -depths.astype(np.int64), keys))
    kinds, first = np.unique(keys[order], return_index=True)
    for kind, place in zip(kinds.tolist(), order[first].tolist(), strict=True):
        slot = int(where[place])
        found = (int(depth[slot]), -(start + slot), int(other_depth[slot]))
        if (side, kind) not in longest or found > longest[side, kind]:
            longest[side, kind] = found
