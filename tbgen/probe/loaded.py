"""A plain table in memory, of which many positions are looked up at once."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.table import FRESH, LAST_RUN
from tbgen.store import schema
from tbgen.store.reader import TableFile

Codes = NDArray[np.uint8]
Depths = NDArray[np.int32]

UNKNOWN: Final = -1
"""Depth that is not stored, or of no position."""


class LoadedTable:
    """The values, depths and runs of a plain table.

    :raises DamagedTableError: if the file does not decode.
    """

    def __init__(self, file: TableFile) -> None:
        self._value, self._depth = file.data(schema.VALUE), file.data(schema.DEPTH)
        self._mask = file.data(schema.RUN_MASK).view("<u8")
        self._rank, self._run_value = file.data(schema.RUN_RANK), file.data(schema.RUN_VALUE)
        self._run_depth = file.data(schema.RUN_DEPTH)
        count = np.bitwise_count(self._mask).astype(np.int64)
        self._before = np.cumsum(count).reshape(count.shape) - count  # slots with runs before each word
        self._begin = np.concatenate([[0], np.flatnonzero(self._rank >= LAST_RUN) + 1])

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return sum(each.nbytes for each in vars(self).values())

    def fresh(self, side: Codes, slots: NDArray[np.int64]) -> tuple[Codes, Depths]:
        """Return codes of W and D in plies; NONE and 0 where there is no position.

        :param side: uint8 (n,), sides to move.
        """
        return self._value[side, slots], self._depth[side, slots].astype(np.int32)

    def accrued(self, side: Codes, slots: NDArray[np.int64], accrued: Codes) -> tuple[Codes, Depths]:
        """Return codes of V(P, A) and D(P, A) where W does not decide.

        :param side: uint8 (n,), sides to move.
        :param accrued: codes of A, which must have been folded in and differ from g(P), and whose rank must
            not exceed that of W.
        """
        value, depth = accrued.copy(), np.zeros(len(slots), np.int32)
        holder, word, bit = (accrued > NONE).astype(np.int64), slots >> 6, (slots & 63).astype(np.uint64)
        mask = self._mask[holder, side, word]
        left = np.flatnonzero(mask >> bit & np.uint64(1))
        earlier = np.bitwise_count(mask[left] & (np.uint64(1) << bit[left]) - np.uint64(1))
        run = self._begin[self._before[holder[left], side[left], word[left]] + earlier]
        rank, found = np.minimum(accrued, 255 - accrued)[left], np.full(len(left), -1)
        at = np.arange(len(left))
        while len(at):  # all slots together go from run to run
            start = self._rank[run]
            counts = start % LAST_RUN <= rank[at]
            found[at[counts]] = run[counts]
            on = counts & (start < LAST_RUN)
            at, run = at[on], run[on] + 1
        told = np.flatnonzero(found >= 0)
        told = told[self._run_value[found[told]] != NONE]
        places, runs = left[told], found[told]
        value[places], depth[places] = self._run_value[runs], self._run_depth[runs]
        fresh = places[value[places] == FRESH]
        value[fresh], depth[fresh] = self.fresh(side[fresh], slots[fresh])
        return value, depth
