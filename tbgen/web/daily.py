"""Positions of a day: always the same ones, and those that a site without a server draws.

``page/static/draws.js`` draws in the same way, from the same pieces of the same tables; tests compare them.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import chess
import numpy as np

from tbgen.board.material import Material
from tbgen.index.layout import Side, Slot, layout_of
from tbgen.index.position import board_of
from tbgen.store.reader import TableFile
from tbgen.store.schema import VALUE
from tbgen.web.stock import Stock

_DRAWS: Final = 60
_TRIED: Final = 8
"""Positions of one piece of a table, which a site loads as a whole."""
_WORD: Final = (1 << 32) - 1

Item = TypeVar("Item")


class Draws:
    """Numbers that a text decides: FNV-1a [1] makes a seed of it, and Mulberry32 [2] numbers of this.

    [1] RFC 9923. [2] Tommy Ettinger, 2017, in the public domain.
    """

    def __init__(self, text: str) -> None:
        self._state = 0x811C9DC5
        for letter in text.encode("ascii", "replace"):
            self._state = (self._state ^ letter) * 0x01000193 & _WORD

    def word(self) -> int:
        """Return a number of 32 bits."""
        self._state = state = self._state + 0x6D2B79F5 & _WORD
        mixed = (state ^ state >> 15) * (1 | state) & _WORD
        mixed ^= mixed + (mixed ^ mixed >> 7) * (61 | mixed) & _WORD
        return mixed ^ mixed >> 14

    def below(self, most: int) -> int:
        """Return a number from 0 up to one below ``most``."""
        return self.word() * most >> 32

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return items in another order."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            at = self.below(last + 1)
            found[last], found[at] = found[at], found[last]
        return found


def drawn_by(
    draws: Draws, stock: Stock, materials: Sequence[Material], most_rank: int, plies: range
) -> Iterator[list[chess.Board]]:
    """Yield, one by one, positions of plain tables whose side to move gets a score of its own.

    :param most_rank: the greatest rank of that score.
    :param plies: in how many it may be reached.
    """
    names = sorted(materials, key=str)
    for _ in range(_DRAWS if names else 0):
        material = names[draws.below(len(names))]
        layout, side = layout_of(material), Side(draws.below(2))
        for slot in _tried(draws, stock, material, side, most_rank, plies):
            board = board_of(layout, side, slot)
            yield [board.mirror() if draws.below(2) == 0 else board]


def _tried(
    draws: Draws, stock: Stock, material: Material, side: Side, most_rank: int, plies: range
) -> list[Slot]:
    """Return slots of such positions in one piece of a table."""
    file = stock.tables.table_file(material)
    assert isinstance(file, TableFile)
    array, size = file.array(VALUE), layout_of(material).size
    start = draws.below(array.chunks_of_row) * array.step
    count = min(array.step, size - start)
    value, depth = np.empty(count, np.uint8), np.empty(count, np.uint16)
    file.read_slots(side, start, value, depth)
    ranks = value if side == 0 else 255 - value
    fit = np.flatnonzero((ranks <= most_rank) & (depth >= plies.start) & (depth < plies.stop))
    return [Slot(start + int(at)) for at in draws.shuffled(fit.tolist())[:_TRIED]]
