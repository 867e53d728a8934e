"""Positions of a table in memory with any accrued score, many at once."""

from functools import cached_property
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, GScore
from tbgen.cells.blocks import places_of
from tbgen.cells.bounds import LOWER, NO_RANK, Block, BoundsGame, SomeKnowledge, pools_of_ends
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell
from tbgen.index.arrays import ranges, slots_of
from tbgen.index.layout import SIDES, WHITE_TO_MOVE, Side, layout_of
from tbgen.index.table import FRESH, LAST_RUN, Table
from tbgen.retro.kernels.bits import Codes


class IndexedTable:
    """A table in memory, with an index of its runs."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._mask = table.run_mask.ravel()
        self._before = np.concatenate([[0], np.cumsum(np.bitwise_count(self._mask), dtype=np.int64)])
        self._starts = np.concatenate([[0], np.flatnonzero(table.run_rank & LAST_RUN) + 1])

    def runs(self, holder: Side, side: Side, slots: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the runs of slots for the accrued scores of a holder, shape (n,) each: the place of the slot
        among the slots, and the number of the run, those of a slot by rising rank."""
        word, bit = np.divmod((2 * holder + side) * self.table.layout.size + slots, 64)
        first_bit = np.uint64(1) << bit.astype(np.uint64)
        place = np.flatnonzero(self._mask[word] & first_bit)
        earlier = np.bitwise_count(self._mask[word] & (first_bit - np.uint64(1)))
        number = (self._before[word] + earlier)[place]
        counts = self._starts[number + 1] - self._starts[number]
        return [np.repeat(place, counts), ranges(self._starts[number], counts)]


def fresh_holds(fresh: Codes, ranks: Codes, side: Side, holder: Side, rank: int) -> NDArray[np.bool_]:
    """Return where the accrued score of a rank that a side has does not matter, by the fresh values and the
    ranks of positions with one side to move."""
    own = (ranks == rank) & (holder != side)  # a position's own score is that of the side that has moved
    return np.asarray((np.minimum(fresh, 255 - fresh) < rank) | (ranks < rank) | own, np.bool_)


class TableStates:
    """Values and depths of some positions of a table in memory with one side to move.

    :param cell: the positions are those of a cell without castling rights, which may have the colours the
        other way round.
    :param side: the side to move.
    """

    timed: Final = True

    def __init__(self, stored: IndexedTable, cell: Cell, side: Side) -> None:
        table, (_, self._swapped) = stored.table, cell.material()
        self._table, self._side = table, SIDES[side ^ self._swapped]
        self._ranks = ranks_of(cell)[side]
        there = self._ranks != NO_RANK
        self._stored, self._slots = stored, np.where(there, slots_in_table(cell), 0)
        self._value = np.where(there, table.value[self._side][self._slots], NONE).astype(np.uint8)
        self._depth = table.depth[self._side][self._slots]

    def fresh(self) -> Block:
        """Return fresh values and depths."""
        return self._seen(self._value, self._depth)

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values and depths with the accrued score of a rank that a side has, the positions' own
        folded in; only of tables that store accrued scores."""
        holder = Side(holder ^ self._swapped)
        accrued = GScore(rank, holder == WHITE_TO_MOVE).code
        value = np.full(len(self._value), accrued, np.uint8)
        depth = np.zeros(len(self._value), np.uint16)
        place, run = self._runs[holder]
        counts = self._table.run_rank[run] % LAST_RUN <= rank
        place, run = place[counts], run[counts]
        value[place] = self._table.run_value[run]  # of several runs that count the last one stays
        depth[place] = self._table.run_depth[run]
        value[value == NONE] = accrued
        fresh = fresh_holds(self._value, self._ranks, self._side, holder, rank)
        fresh |= (value == FRESH) | (self._value == NONE)
        return self._seen(np.where(fresh, self._value, value), np.where(fresh, self._depth, depth))

    @cached_property
    def _runs(self) -> list[list[NDArray[np.int64]]]:
        return [self._stored.runs(holder, self._side, self._slots) for holder in SIDES]

    def _seen(self, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> Block:
        """Return codes as seen with the colours of the positions."""
        seen = np.where(value == NONE, NONE, 255 - value) if self._swapped else value
        return Block(seen.astype(np.uint8), depth.astype(np.uint16))


def ranks_of(cell: Cell) -> NDArray[np.uint8]:
    """Return the ranks of a cell's positions, shape (2 sides to move, slots); ``NO_RANK`` where there is
    none."""
    frame = frame_of_cell(cell)
    (pool,) = pools_of_ends(frame, [], SomeKnowledge(), [LOWER])
    return BoundsGame(frame, pool).ranks()


def slots_in_table(cell: Cell) -> NDArray[np.int64]:
    """Return the canonical slots of a cell's positions in their table, -1 where there is none."""
    material, swapped = cell.material()
    layout, slots = layout_of(material), np.arange(cell.size)
    places = places_of(cell, zip(layout.colours, layout.kinds, strict=True), swapped)
    columns = [slots >> shift & 63 if shift >= 0 else np.full(cell.size, square) for shift, square in places]
    for own in cell.pawns[::-1] if swapped else cell.pawns:
        columns += [np.full(cell.size, square) for square in chess.scan_forward(own)]
    squares = np.stack(columns, axis=1).astype(np.uint8)
    return slots_of(layout, squares ^ np.uint8(56) if swapped else squares)
