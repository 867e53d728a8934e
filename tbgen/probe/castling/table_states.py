"""Positions of a table in memory with any accrued score, many at once."""

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.cells.bounds import NO_RANK, Block
from tbgen.index.layout import SIDES, Side
from tbgen.index.table import FRESH, LAST_RUN, Table

_NO_RUN: Final = -1


class IndexedTable:
    """A table in memory, with an index of its runs."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._bits = np.unpackbits(table.run_mask.view(np.uint8), bitorder="little").reshape(-1, 64)
        self._before = np.concatenate([[0], np.cumsum(self._bits.sum(axis=1, dtype=np.int64))])
        self._first = np.concatenate([[0], np.flatnonzero(table.run_rank & LAST_RUN) + 1])

    def first_runs(self, holder: int, side: Side, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the first run of each slot for the accrued scores of a holder, -1 if it has
        none."""
        word, bit = np.divmod((2 * holder + side) * self.table.layout.size + slots, 64)
        bits = self._bits[word]
        skipped = self._before[word] + np.where(np.arange(64) < bit[:, np.newaxis], bits, 0).sum(
            axis=1, dtype=np.int64
        )
        return np.where(bits[np.arange(len(slots)), bit], self._first[skipped], _NO_RUN)


class TableStates:
    """Values and depths of some positions of a table in memory with one side to move.

    :param side: the side to move as the table sees it.
    :param slots: int64 (n,), canonical; -1 where there is no position.
    :param swapped: whether the table has the colours the other way round.
    :param ranks: uint8 (n,): ranks of the positions, ``NO_RANK`` where there is none.
    """

    timed: Final = True

    def __init__(
        self,
        stored: IndexedTable,
        side: Side,
        slots: NDArray[np.int64],
        swapped: bool,
        ranks: NDArray[np.uint8],
    ) -> None:
        table = self._table = stored.table
        self._side, self._swapped, self._ranks = side, swapped, ranks
        slots = np.where(ranks == NO_RANK, 0, slots)
        self._stored, self._slots = stored, slots
        self._value = np.where(ranks == NO_RANK, NONE, table.value[side][slots]).astype(np.uint8)
        self._depth = table.depth[side][slots]

    def fresh(self) -> Block:
        """Return fresh values and depths."""
        return self._seen(self._value, self._depth)

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values and depths with the accrued score of a rank that a side has, the positions' own
        folded in; only of tables that store accrued scores."""
        holder = Side(holder ^ self._swapped)
        accrued = rank if holder == 0 else 255 - rank
        value = np.full(len(self._value), accrued, np.uint8)
        depth = np.zeros(len(self._value), np.uint16)
        run = self._runs(holder, rank)
        there = run != _NO_RUN
        said = self._table.run_value[run[there]]
        value[there] = np.where(said == NONE, accrued, said)
        depth[there] = np.where(said == NONE, 0, self._table.run_depth[run[there]])
        # A position's own score is that of the side that has moved.
        own = (self._ranks == rank) & (holder == 1 - self._side)
        fresh = (np.minimum(self._value, 255 - self._value) < rank) | (self._ranks < rank) | own
        fresh |= (value == FRESH) | (self._value == NONE)
        return self._seen(np.where(fresh, self._value, value), np.where(fresh, self._depth, depth))

    @cached_property
    def _first(self) -> list[NDArray[np.int64]]:
        return [self._stored.first_runs(holder, self._side, self._slots) for holder in SIDES]

    def _runs(self, holder: int, rank: int) -> NDArray[np.int64]:
        """Return the number of the run that counts at a rank, for each position that has one."""
        found = np.full(len(self._ranks), _NO_RUN)
        run = self._first[holder].copy()
        going = run != _NO_RUN
        while going.any():
            start = self._table.run_rank[run]
            going &= start % LAST_RUN <= rank
            found[going] = run[going]
            going &= start < LAST_RUN
            run[going] += 1
        return found

    def _seen(self, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> Block:
        """Return codes as seen with the colours of the positions."""
        seen = np.where(value == NONE, NONE, 255 - value) if self._swapped else value
        return Block(seen.astype(np.uint8), depth.astype(np.uint16))
