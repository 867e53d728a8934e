"""Packed bounds of solved cells, as they are stored on disk and in memory.

An *entry* consists of the values and depths of a position's lower and upper bound. The positions of a cell
with one side to move share few entries, so each position is stored as the number of its entry. Frequent
entries have small numbers. The numbers are compressed in an order in which neighbours are similar. In this
order, the most significant digits of a slot are the squares of the men of the side not to move. Then come the
squares of the mover's king and of the mover's pieces. The file does not store which slots are positions,
because the cell determines this.

If one bound is ``WORST`` and the other bound is better, the depth of the worst bound is not stored. That
depth only says how far away unsolved cells are. It is read as 0. A proof accepts this, because the worst
bound with depth 0 claims nothing.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, WORST, Bounds
from tbgen.cells.cell import Cell
from tbgen.cells.file import PackedBounds, PackedSide, PackedThreshold
from tbgen.cells.frames import frame_of_cell, threaded_map
from tbgen.cells.interval import ALL_SCORES
from tbgen.cells.kernels.values import Flags, Numbers, number_entries, renumber, unpack_entries
from tbgen.cells.threshold import Threshold, ThresholdSolution
from tbgen.index.layout import SIDES, Side
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.structs import make_men

_ZLIB_LEVEL: Final = 6
"""Compression level of zlib. The time that lower levels save is not worth the space they cost; higher levels
gain nothing."""
_INITIAL_ENTRY_CAPACITY: Final = 1 << 16
"""Initial capacity for entries. A cell usually has a few thousand, and a very large cell about 40,000."""


def pack(bounds: Bounds) -> PackedBounds:
    """Return the packed form of bounds."""
    with threaded_map(len(SIDES), bounds.cell.size) as thread_map:
        white, black = thread_map(lambda side: _pack_side(bounds, side), SIDES)
    return PackedBounds((white, black))


def unpack(packed: PackedBounds, cell: Cell) -> Bounds:
    """Unpack the bounds of a cell. Depths that are not stored become 0.

    ``ends`` of the result contains each end at which a bound is better than ``WORST``; if all lower and upper
    bounds are equal, it contains both ends.

    :raises ValueError: if the packed bounds do not belong to this cell.
    """
    value = np.empty((len(ENDS), len(SIDES), cell.size), np.uint8)
    depth = np.empty(value.shape, np.uint16)
    legal = legal_slots(cell)

    def unpack_side(side: Side) -> bool:
        entries, numbers = _read_entries(packed.sides[side], cell, side)
        side_value, side_depth = (tuple(array[end, side] for end in ENDS) for array in (value, depth))
        return unpack_entries(numbers, entries, legal[side], side_value, side_depth)

    with threaded_map(len(SIDES), cell.size) as thread_map:
        if not all(thread_map(unpack_side, SIDES)):
            raise ValueError(f"an entry of {cell} is missing")
    return Bounds(cell, value, depth, _solved_ends(packed))


def is_complete(packed: PackedBounds) -> bool:
    """Return whether the cell of packed bounds was solved at both ends."""
    return _solved_ends(packed) == ENDS


def _solved_ends(packed: PackedBounds) -> tuple[int, ...]:
    """Return the ends at which a bound is better than ``WORST``; both ends if all bounds are exact.

    If an earlier version has not distinguished all scores, no end counts as solved.
    """
    if packed.window != ALL_SCORES:
        return ()
    entries = np.frombuffer(b"".join(side.states for side in packed.sides), "<u8")
    codes = entries >> np.uint64(48) & np.uint64(255), entries >> np.uint64(32) & np.uint64(255)
    if (codes[0] == codes[1]).all():
        return ENDS
    return tuple(end for end in ENDS if (codes[end] != WORST[end]).any())


def _pack_side(bounds: Bounds, side: Side) -> PackedSide:
    numbers, entries, counts = _find_entries(bounds, side)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(max(len(entries), 1), np.uint32)
    rank[order] = np.arange(len(entries))
    numbers = _reorder(numbers, _digit_order(bounds.cell, side))
    renumber(numbers, rank)
    byte_count = -(-max(len(entries) - 1, 1).bit_length() // 8)
    planes = numbers.astype("<u4", copy=False).view(np.uint8).reshape(-1, 4).T[:byte_count]
    return PackedSide(
        entries[order].astype("<u8").tobytes(),
        tuple(zlib_ng.compress(np.ascontiguousarray(plane), _ZLIB_LEVEL) for plane in planes),
    )


def _find_entries(bounds: Bounds, side: Side) -> tuple[Numbers, NDArray[np.uint64], NDArray[np.int64]]:
    """Return the entry number of each slot, and the distinct entries and their frequencies by number."""
    numbers = np.empty(bounds.cell.size, np.uint32)
    capacity = _INITIAL_ENTRY_CAPACITY
    value, depth = (tuple(array[end, side] for end in ENDS) for array in (bounds.value, bounds.depth))
    worst = int(WORST[0]), int(WORST[1])
    while True:
        entries, counts = np.zeros(capacity, np.uint64), np.zeros(capacity, np.int64)
        hash_table = np.full(2 * capacity, -1, np.int64)
        entry_count = number_entries(value, depth, worst, hash_table, entries, counts, numbers)
        if entry_count >= 0:
            return numbers, entries[:entry_count], counts[:entry_count]
        capacity *= 8


def _read_entries(packed: PackedSide, cell: Cell, side: Side) -> tuple[NDArray[np.uint64], Numbers]:
    """Return the distinct entries, and the entry number of each slot."""
    entries = np.frombuffer(packed.states, "<u8").astype(np.uint64)
    numbers = np.zeros(cell.size, np.uint32)
    for byte, plane in enumerate(packed.planes):
        try:
            data = np.frombuffer(zlib_ng.decompress(plane), np.uint8)
        except zlib_ng.error as error:  # type: ignore[misc]  # its stub says instance, not class
            raise ValueError(str(error)) from None
        numbers |= data.astype(np.uint32) << np.uint32(8 * byte)
    order = _digit_order(cell, side)
    return entries, _reorder(numbers, [order.index(man) for man in range(len(order))])


def _reorder(array: NDArray[Any], order: list[int]) -> NDArray[Any]:
    """Return the array, shape (slots,), rearranged for slots whose squares are in another order.

    :param order: for each square of the new slot, the most significant first, its index in the old slot.
    """
    return np.ascontiguousarray(array.reshape([64] * len(order)).transpose(order)).reshape(-1)


def _digit_order(cell: Cell, mover: Side) -> list[int]:
    """Return the indices of the mobile men in the order of a packed slot, most significant first."""
    men = list(enumerate(cell.mobile))
    others = [index for index, man in reversed(men) if man.colour != mover]
    return [*others, *(index for index, man in men if man.colour == mover)]


def legal_slots(cell: Cell) -> list[Flags]:
    """Return which slots are legal positions: one array of booleans for each side to move."""
    frame = frame_of_cell(cell)
    words = frame.frame.words
    legal = np.zeros((len(SIDES), words), np.uint64)
    mark_legal(frame.frame, legal, make_men(), 0, words)
    is_legal = np.unpackbits(legal.view(np.uint8), axis=-1, bitorder="little").view(bool)
    square = frame.squares[-1]
    return list(is_legal if square < 0 else is_legal.reshape(len(SIDES), -1, 64)[..., square].copy())


def pack_threshold(solution: ThresholdSolution) -> PackedThreshold:
    """Return the packed form of a solution, without ranks."""
    with threaded_map(len(SIDES), solution.proved.shape[1] * 64) as thread_map:
        white, black = thread_map(
            lambda words: zlib_ng.compress(words.astype("<u8", copy=False), _ZLIB_LEVEL), solution.proved
        )
    return PackedThreshold(solution.threshold.end, solution.threshold.bound, (white, black))


def unpack_threshold(packed: PackedThreshold, cell: Cell) -> ThresholdSolution:
    """Unpack a threshold of a cell.

    :raises ValueError: if it does not belong to this cell.
    """
    try:
        sides = [np.frombuffer(zlib_ng.decompress(side), "<u8") for side in packed.sides]
    except zlib_ng.error as error:  # type: ignore[misc]  # its stub says instance, not class
        raise ValueError(str(error)) from None
    if any(len(side) != cell.size // 64 for side in sides):
        raise ValueError("it has positions of another cell")
    threshold = Threshold(packed.end, Code(packed.bound))
    return ThresholdSolution(threshold, np.array(sides, np.uint64), np.empty((2, 0), np.uint8))
