"""Comparison of the values of a material's positions in both variants.

``r`` stands for r-mobility, ``wg`` for whole-game mobility.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.documents import SideName
from tbgen.errors import TbgenError
from tbgen.index.layout import Side, Slot
from tbgen.index.position import board_of
from tbgen.progress import Progress, silent
from tbgen.report.blocks import blocks_of, find_symmetric_slots
from tbgen.report.model import SIDES, ReportPart, Sides, ratio
from tbgen.report.scan import CountArray, Deepest, count_images, note_deepest
from tbgen.report.source import TableSource

MAX_EXAMPLES: Final = 8
"""Maximum number of examples of a material."""


class ValuePair(ReportPart):
    """Two different values, in r-mobility and in whole-game mobility, and the number of positions with these
    values."""

    r: GScore
    wg: GScore
    count: int
    """Number of positions, with all symmetric images counted."""


class SideDifferences(ReportPart):
    """The positions with one side to move whose values differ, with all symmetric images counted."""

    positions: int
    """Number of all positions."""
    differing: int
    """Number of positions whose values differ."""
    pairs: tuple[ValuePair, ...]
    """The pairs of different values, most frequent first."""


class DifferenceExample(ReportPart):
    """A frequent pair of different values, with a position as an example."""

    r: GScore
    wg: GScore
    to_move: SideName
    count: int
    """Number of positions, with all symmetric images counted."""
    fen: str
    """The position with these values that has the greatest depth in r-mobility; if there are several, the one
    with the smallest slot."""
    r_depth: int
    wg_depth: int


class Difference(ReportPart):
    """The positions of a material whose values differ between r-mobility and whole-game mobility.

    Positions with an en passant right are not counted.
    """

    material: Material
    white: SideDifferences
    """The positions with White to move."""
    black: SideDifferences
    examples: tuple[DifferenceExample, ...]
    """The most frequent pairs, ranked with White and Black to move together, each with an example."""

    @property
    def sides(self) -> Sides[SideDifferences]:
        """The differences by side to move."""
        return Sides(self.white, self.black)

    @property
    def share(self) -> float:
        """Share of the positions whose values differ, from 0 to 1."""
        return ratio(sum(side.differing for side in self.sides), sum(side.positions for side in self.sides))


def compare_tables(r: TableSource, wg: TableSource, progress: Progress = silent) -> Difference:
    """Read two tables of the same material once and compare their fresh values.

    :param progress: receives the number of slots compared.

    :raises TbgenError: if the tables do not hold the same positions.
    :raises DamagedTableError: if a table cannot be used.
    """
    layout = r.layout
    deepest = Deepest()
    board = count_images(layout, _count_pairs(r, wg, deepest, progress))
    board[:, NONE << 8 | NONE] = 0
    positions = board.sum(axis=1).tolist()
    codes = np.arange(1 << 16)
    board[:, codes >> 8 == codes & 255] = 0
    differing = board.sum(axis=1).tolist()
    ranked = sorted(np.argwhere(board).tolist(), key=lambda entry: (-board[*entry], entry))

    def make_side(to_move: int) -> SideDifferences:
        side_pairs = (pair for side, pair in ranked if side == to_move)
        pairs = tuple(ValuePair(*_scores(pair), int(board[to_move, pair])) for pair in side_pairs)
        return SideDifferences(positions[to_move], differing[to_move], pairs)

    def make_example(side: int, pair: int) -> DifferenceExample:
        r_depth, negated_place = deepest[side, pair]
        wg_depth = int(wg.fresh_results(side, -negated_place, 1)[1][0])
        fen = board_of(layout, Side(side), Slot(-negated_place)).fen()
        return DifferenceExample(*_scores(pair), SIDES[side], int(board[side, pair]), fen, r_depth, wg_depth)

    examples = tuple(make_example(*entry) for entry in ranked[:MAX_EXAMPLES])
    return Difference(layout.material, make_side(0), make_side(1), examples)


def _count_pairs(r: TableSource, wg: TableSource, deepest: Deepest, progress: Progress) -> CountArray:
    """Count positions, up to symmetry, by their pair of values.

    For each pair of different values, ``deepest`` records the position with the greatest depth in r-mobility.

    :return: counts for :func:`tbgen.report.scan.count_images`, shape (2: all slots and symmetric slots, 2
        sides, pairs of codes).
    """
    layout = r.layout
    depth_count = r.info.max_depth + 1
    compared_slots = 0
    symmetric_slots = find_symmetric_slots(layout)
    counts = np.zeros((2, 2, 1 << 16), np.int64)
    for start, size in blocks_of(layout):
        symmetric = symmetric_slots[slice(*np.searchsorted(symmetric_slots, [start, start + size]))] - start
        for side in (0, 1):
            (r_value, depth), (wg_value, _) = (table.fresh_results(side, start, size) for table in (r, wg))
            if not np.array_equal(r_value == NONE, wg_value == NONE):
                raise TbgenError(f"the tables of {layout.material} do not hold the same positions")
            pair_codes = r_value.astype(np.uint16) << 8 | wg_value
            for pair_counts, pairs in zip(counts[:, side], (pair_codes, pair_codes[symmetric]), strict=True):
                pair_counts += np.bincount(pairs, minlength=1 << 16)
            keys = pair_codes * np.int64(depth_count) + depth
            note_deepest(deepest, (side,), keys, np.unique(keys[r_value != wg_value]), depth_count, start)
            compared_slots += size
            progress("compared", compared_slots, 2 * r.info.size)
    return counts


def _scores(pair: int) -> tuple[GScore, GScore]:
    """Return the two scores that ``pair`` encodes as 256 * (code in r-mobility) + (code in whole-game
    mobility)."""
    return GScore.from_code(pair >> 8), GScore.from_code(pair & 255)
