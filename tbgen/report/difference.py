"""Comparison of the values that both variants give the positions of a material."""

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
from tbgen.report.blocks import blocks_of, symmetric_slots
from tbgen.report.model import SIDES, ReportPart, Sides, ratio
from tbgen.report.scan import Counts, Longest, images, note_longest
from tbgen.report.source import TableSource

MAX_EXAMPLES: Final = 8
"""Maximum number of examples of a material."""


class ValuePair(ReportPart):
    """The number of positions that have one value by the rules r and another by the rules wg."""

    r: GScore
    wg: GScore
    count: int
    """Positions on the board."""


class DifferenceSide(ReportPart):
    """The different values with one side to move, counted on the board."""

    positions: int
    """Number of all positions."""
    differing: int
    pairs: tuple[ValuePair, ...]
    """The pairs of different values, the most frequent pair first."""


class DifferenceExample(ReportPart):
    """A frequent pair of different values, with an example."""

    r: GScore
    wg: GScore
    to_move: SideName
    count: int
    """Positions on the board."""
    fen: str
    """The example with the greatest depth by the rules r, of several the one with the smallest slot."""
    r_depth: int
    wg_depth: int


class Difference(ReportPart):
    """The positions of a material whose values by the rules r and wg differ.

    Positions with an en passant right are not counted.
    """

    material: Material
    white: DifferenceSide
    """With White to move."""
    black: DifferenceSide
    examples: tuple[DifferenceExample, ...]
    """The most frequent pairs of both sides to move."""

    @property
    def sides(self) -> Sides[DifferenceSide]:
        """The differences with either side to move."""
        return Sides(self.white, self.black)

    @property
    def share(self) -> float:
        """Share of the positions whose values differ, 0 to 1."""
        return ratio(sum(side.differing for side in self.sides), sum(side.positions for side in self.sides))


def difference(r: TableSource, wg: TableSource, progress: Progress = silent) -> Difference:
    """Read two tables of the same material once and compare their fresh values.

    :param progress: receives the number of slots compared.

    :raises TbgenError: if the tables do not hold the same positions.
    :raises DamagedTableError: if a table cannot be used.
    """
    layout, longest = r.layout, Longest()
    board = images(layout, _count_pairs(r, wg, longest, progress))
    board[:, NONE << 8 | NONE] = 0
    positions = board.sum(axis=1).tolist()
    codes = np.arange(1 << 16)
    board[:, codes >> 8 == codes & 255] = 0
    differing = board.sum(axis=1).tolist()
    places = sorted(np.argwhere(board).tolist(), key=lambda place: (-board[*place], place))

    def of_side(to_move: int) -> DifferenceSide:
        pairs = (
            ValuePair(*_values(code), int(board[side, code])) for side, code in places if side == to_move
        )
        return DifferenceSide(positions[to_move], differing[to_move], tuple(pairs))

    def example(side: int, code: int) -> DifferenceExample:
        r_depth, place = longest[side, code]
        wg_depth = int(wg.fresh(side, -place, 1)[1][0])
        fen = board_of(layout, Side(side), Slot(-place)).fen()
        return DifferenceExample(*_values(code), SIDES[side], int(board[side, code]), fen, r_depth, wg_depth)

    examples = tuple(example(*place) for place in places[:MAX_EXAMPLES])
    return Difference(layout.material, of_side(0), of_side(1), examples)


def _count_pairs(r: TableSource, wg: TableSource, longest: Longest, progress: Progress) -> Counts:
    """Count positions up to symmetry by their pair of values, and record in ``longest`` the deepest positions
    by the rules r among those with different values.

    :return: shape (2, 2 sides, pairs of codes), the argument of :func:`tbgen.report.scan.images`.
    """
    layout, depths, done = r.layout, r.info.max_depth + 1, 0
    fixed, counts = symmetric_slots(layout), np.zeros((2, 2, 1 << 16), np.int64)
    for start, size in blocks_of(layout):
        among = fixed[slice(*np.searchsorted(fixed, [start, start + size]))] - start
        for side in (0, 1):
            (value, depth), (other, _) = (table.fresh(side, start, size) for table in (r, wg))
            if not np.array_equal(value == NONE, other == NONE):
                raise TbgenError(f"the tables of {layout.material} do not hold the same positions")
            pair = value.astype(np.uint16) << 8 | other
            for numbers, pairs in zip(counts[:, side], (pair, pair[among]), strict=True):
                numbers += np.bincount(pairs, minlength=1 << 16)
            keys = pair * np.int64(depths) + depth
            note_longest(longest, (side,), keys, np.unique(keys[value != other]), depths, start)
            done += size
            progress("compared", done, 2 * r.info.size)
    return counts


def _values(pair: int) -> tuple[GScore, GScore]:
    """Return the values of a pair of codes."""
    return GScore.from_code(pair >> 8), GScore.from_code(pair & 255)
