"""Looking many positions of a packed table up at once, from arrays to arrays."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.errors import TbgenError
from tbgen.index.arrays import squares_of
from tbgen.index.exits import ExitsOfMany
from tbgen.index.layout import Layout, Side
from tbgen.packed.batch import BatchDecoder, room_for, room_of
from tbgen.packed.coded_file import CodedFile
from tbgen.packed.kernels.probe import follow
from tbgen.packed.kernels.questions import DAMAGED, Batch, ask
from tbgen.packed.order import digit_order, rows_of
from tbgen.packed.rooms import THREAD

Exits: TypeAlias = NDArray[np.int64]
"""Code of the best zeroing move, NONE without one; smallest and greatest depth after it: int64 (n, 3)."""
ExitsOfArrays: TypeAlias = Callable[[Side, NDArray[np.int64], bool], Exits]
"""Takes the side to move, slots, and whether captures alone count."""

_AT_ONCE: Final = 1 << 19
"""Positions whose questions are kept in memory together, some 200 MiB."""
_PART: Final = 1 << 12


def ranks_of(layout: Layout, side: Side, slots: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
    """Return the ranks of positions, without en passant rights, at canonical slots: int64 (n,)."""
    rows, found = rows_of(layout, side), np.empty(len(slots), np.int64)

    def count(first: int) -> None:
        part = slots[first : first + _PART]
        batch = room_for(len(part), 1)
        batch.slot[:], batch.accrued[:] = part, -1
        ask(rows, batch, THREAD.room, 0, len(part))
        found[first : first + _PART] = batch.rank

    firsts = range(0, len(slots), _PART)
    if len(firsts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(count, firsts))
    else:  # to start threads takes longer
        list(map(count, firsts))
    return found


class ArrayDecoder(BatchDecoder):
    """Looks positions of one table up.

    :param one_by_one: finds exits as :class:`BatchDecoder` asks for them; not needed here.
    :param exits: finds the exits of the table's positions.
    """

    def __init__(self, file: CodedFile, one_by_one: ExitsOfMany, exits: ExitsOfArrays, threads: int) -> None:
        super().__init__(file, one_by_one, threads)
        self._exits_of_arrays = exits
        self._exceptions = file.exceptions()

    def look_up_arrays(
        self, side: NDArray[np.uint8], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return codes of W, D in plies, and codes of V(P, A).

        :param side: uint8 (n,), sides to move.
        :param slots: int64 (n,), canonical slots of legal positions.
        :param accrued: int64 (n,), codes of A where W may not decide, which have been folded in and differ
            from g(P), or -1.
        :returns: int64 (n,) each; the third is what W is where ``accrued`` is -1 or of a greater rank.
        :raises DamagedTableError: if a block does not decode.
        """
        found, order = np.empty((3, len(slots)), np.int64), self._order_of(slots)
        for first in range(0, len(slots), _AT_ONCE):
            part = order[first : first + _AT_ONCE]
            found[:, part] = self._look_up_part(side[part], slots[part], accrued[part])
        value, depth, inherited = found
        return value, depth, inherited

    def _order_of(self, slots: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the order in which most positions that need a block come one after the other.

        The men of the stored side come first: they stand as before where a quiet move of the other side
        leads.
        """
        layout, side = self._file.layout, self._stored
        key, squares = slots // layout.phase_size, squares_of(layout, slots)
        for man in sorted(digit_order(layout, side)[:-1], key=lambda man: layout.colours[man] != side):
            key = key << 6 | squares[:, man]
        return np.argsort(key)

    def _look_up_part(
        self, side: NDArray[np.uint8], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        derived = side == self._derived
        questions = np.ones(len(slots), np.int64)
        questions[derived] = ranks_of(self._file.layout, self._derived, slots[derived], self._threads) >> 1
        batch = room_of(questions)
        batch.slot[:], batch.accrued[:], batch.derived[:], batch.exits[:] = (
            slots,
            accrued,
            derived,
            (NONE, 0, 0),
        )
        self._enter_exceptions(batch)
        self._find_captures(batch, self._follow(batch))
        value, rank = batch.value, np.minimum(batch.value, 255 - batch.value)
        inherits = (accrued >= 0) & (np.minimum(accrued, 255 - accrued) <= rank)
        inherited = np.where(inherits, batch.inherited, value)
        if (value == DAMAGED).any() or (inherited == DAMAGED).any():
            raise self._damaged()
        return value, batch.depth, inherited

    def _enter_exceptions(self, batch: Batch) -> None:
        """Enter what is stored of the derived side."""
        slots, values, depths = self._exceptions
        if len(slots):
            place = np.minimum(np.searchsorted(slots, batch.slot), len(slots) - 1)
            known = batch.derived & (slots[place] == batch.slot)
            batch.known[:] = known
            batch.value[known], batch.depth[known] = values[place[known]], depths[place[known]]

    def _find_exits(self, batch: Batch) -> dict[int, TbgenError]:
        places = np.flatnonzero(batch.zeroing)
        if len(places):
            batch.exits[places] = self._exits_of_arrays(self._derived, batch.slot[places], False)
        return {}

    def _find_captures(self, batch: Batch, failed: dict[int, TbgenError]) -> None:
        places = np.flatnonzero(batch.target >= 0)
        if len(places):
            slots, number = np.unique(batch.target[places], return_inverse=True)
            exits = self._exits_of_arrays(self._stored, slots, True)
            if (exits[:, 0] == NONE).any():
                raise self._damaged()
            batch.capture[places] = exits[number]
            follow(self._coding, batch, True, THREAD.room)
