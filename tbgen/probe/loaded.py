"""A plain table in memory, of which many positions are looked up at once."""

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.arrays import ranges
from tbgen.index.table import FRESH, LAST_RUN
from tbgen.store import schema
from tbgen.store.table_file import TableFile


class LoadedTable:
    """The values, depths and runs of a plain table.

    :ivar value: shape (2, size).
    :ivar depth: shape (2, size).
    :raises DamagedTableError: if the file does not decode.
    """

    def __init__(self, file: TableFile) -> None:
        self.value, self.depth = file.data(schema.VALUE), file.data(schema.DEPTH)
        self.run_rank, self.run_value = file.data(schema.RUN_RANK), file.data(schema.RUN_VALUE)
        self.run_depth = file.data(schema.RUN_DEPTH)
        self._mask = file.data(schema.RUN_MASK).view("<u8").reshape(4, -1)
        count = np.bitwise_count(self._mask).astype(np.int64)
        self._before = np.cumsum(count).reshape(count.shape) - count  # slots with runs before each word
        self._begin = np.concatenate([[0], np.flatnonzero(self.run_rank >= LAST_RUN) + 1])

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return sum(each.nbytes for each in vars(self).values())

    @property
    def stores_accrued(self) -> bool:
        """Whether it has values of accrued scores."""
        return bool(self._mask.size)

    def runs(
        self, holder: NDArray[np.int64] | int, side: NDArray[np.uint8] | int, slots: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the runs of slots for the accrued scores of a holder, shape (n,) each: the place of the slot
        among the slots, and the number of the run, those of a slot by rising rank."""
        row, word, bit = 2 * holder + side, slots >> 6, (slots & 63).astype(np.uint64)
        mask, one = self._mask[row, word], np.uint64(1)
        place = np.flatnonzero(mask >> bit & one)
        earlier = np.bitwise_count(mask[place] & (one << bit[place]) - one)
        number = self._before[row, word][place] + earlier
        counts = self._begin[number + 1] - self._begin[number]
        return np.repeat(place, counts), ranges(self._begin[number], counts)

    def look_up(
        self, side: NDArray[np.uint8], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return values and depths, as :meth:`tbgen.packed.file.PackedFile.look_up` does; NONE and 0 where
        there is no position."""
        value, depth = self.value[side, slots], self.depth[side, slots].astype(np.int32)
        rank = np.minimum(accrued, 255 - accrued)
        held = np.flatnonzero((accrued >= 0) & (rank <= np.minimum(value, 255 - value)))
        if not len(held):
            return value, depth
        code, said, plies = accrued[held], np.full(len(held), NONE, np.uint8), np.zeros(len(held), np.int32)
        place, run = self.runs((code > NONE).astype(np.int64), side[held], slots[held])
        counts = self.run_rank[run] % LAST_RUN <= rank[held][place]
        place, run = place[counts], run[counts]
        said[place], plies[place] = self.run_value[run], self.run_depth[run]  # the last of a slot stays
        inherits = said != FRESH
        held, code, said, plies = held[inherits], code[inherits], said[inherits], plies[inherits]
        value[held], depth[held] = np.where(said == NONE, code, said), plies
        return value, depth
