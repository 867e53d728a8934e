"""Packed bounds of solved cells, as they are stored on disk and in memory.

A *state* here consists of the values and depths of both ends. The positions of a cell with one side to move
share few states, so each position is stored as the number of its state; frequent states have small numbers.
The numbers are compressed in an order in which neighbours are similar. In this order, the squares of the men
of the side not to move are the most significant digits of a slot. The squares of the mover's king and of the
mover's pieces follow. Which slots are positions is not stored, because the cell determines this.

If the bound at one end is ``WORST`` and the bound at the other end is better, the depth of the worst bound is
not stored. That depth only says how far away unsolved cells are. It is read as 0, which a proof accepts
because the worst bound with depth 0 claims nothing.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, WORST, Bounds
from tbgen.cells.cell import Cell
from tbgen.cells.file import PackedBounds, PackedSide
from tbgen.cells.frames import frame_of_cell, shared_map
from tbgen.cells.kernels.values import Flags, Numbers, number_states, renumber, spread_states
from tbgen.cells.window import ALL_SCORES, Interval
from tbgen.index.layout import SIDES, Side
from tbgen.retro.kernels.frame import legal_words

_ZLIB_LEVEL: Final = 6
"""Level of zlib: lower levels cost more space than they save time, higher levels gain nothing."""
_INITIAL_STATE_CAPACITY: Final = 1 << 16
"""Initial capacity for states. A cell usually has a few thousand; most of the largest have about 40,000."""


def pack(bounds: Bounds) -> PackedBounds:
    """Return the packed form of bounds."""
    with shared_map(len(SIDES), bounds.cell.size) as shared:
        white, black = shared(lambda side: _pack_side(bounds, side), SIDES)
    return PackedBounds((white, black), (bounds.window.lower, bounds.window.upper))


def unpack(packed: PackedBounds, cell: Cell) -> Bounds:
    """Unpack the bounds of a cell. Depths that are not stored are 0.

    In the result, ``ends`` contains every end with a bound better than ``WORST``, or both ends if all lower
    and upper bounds are equal.

    :raises ValueError: if the packed bounds do not belong to this cell.
    """
    value = np.empty((len(ENDS), len(SIDES), cell.size), np.uint8)
    depth = np.empty(value.shape, np.uint16)
    legal = legal_slots(cell)

    def spread(side: Side) -> bool:
        states, number = _read_states(packed.sides[side], cell, side)
        side_value, side_depth = (tuple(array[end, side] for end in ENDS) for array in (value, depth))
        return spread_states(number, states, legal[side], side_value, side_depth)

    with shared_map(len(SIDES), cell.size) as shared:
        if not all(shared(spread, SIDES)):
            raise ValueError(f"a state of {cell} is missing")
    return Bounds(cell, value, depth, _solved_ends(packed), Interval(*map(Code, packed.window)))


def is_complete(packed: PackedBounds) -> bool:
    """Return whether packed bounds cover both ends and distinguish all scores."""
    return _solved_ends(packed) == ENDS and packed.window == ALL_SCORES


def _solved_ends(packed: PackedBounds) -> tuple[int, ...]:
    """Return the ends with a bound better than ``WORST``; both ends if lower and upper bounds are equal."""
    states = np.frombuffer(b"".join(side.states for side in packed.sides), "<u8")
    codes = states >> np.uint64(48) & np.uint64(255), states >> np.uint64(32) & np.uint64(255)
    if (codes[0] == codes[1]).all():
        return ENDS
    return tuple(end for end in ENDS if (codes[end] != WORST[end]).any())


def _pack_side(bounds: Bounds, side: Side) -> PackedSide:
    number, keys, counts = _find_states(bounds, side)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(max(len(keys), 1), np.uint32)
    rank[order] = np.arange(len(keys))
    number = _reordered(number, _digit_order(bounds.cell, side))
    renumber(number, rank)
    byte_count = -(-max(len(keys) - 1, 1).bit_length() // 8)
    planes = number.astype("<u4", copy=False).view(np.uint8).reshape(-1, 4).T[:byte_count]
    return PackedSide(
        keys[order].astype("<u8").tobytes(),
        tuple(zlib_ng.compress(np.ascontiguousarray(plane), _ZLIB_LEVEL) for plane in planes),
    )


def _find_states(bounds: Bounds, side: Side) -> tuple[Numbers, NDArray[np.uint64], NDArray[np.int64]]:
    """Return the state number of each slot, and by number the states as words and their frequencies."""
    number, capacity = np.empty(bounds.cell.size, np.uint32), _INITIAL_STATE_CAPACITY
    value, depth = (tuple(array[end, side] for end in ENDS) for array in (bounds.value, bounds.depth))
    worst = int(WORST[0]), int(WORST[1])
    while True:
        keys, counts = np.zeros(capacity, np.uint64), np.zeros(capacity, np.int64)
        hash_table = np.full(2 * capacity, -1, np.int64)
        state_count = number_states(value, depth, worst, hash_table, keys, counts, number)
        if state_count >= 0:
            return number, keys[:state_count], counts[:state_count]
        capacity *= 8


def _read_states(packed: PackedSide, cell: Cell, side: Side) -> tuple[NDArray[np.uint64], Numbers]:
    """Return the states as words, and the state number of each slot."""
    states = np.frombuffer(packed.states, "<u8").astype(np.uint64)
    number = np.zeros(cell.size, np.uint32)
    for place, plane in enumerate(packed.planes):
        try:
            data = np.frombuffer(zlib_ng.decompress(plane), np.uint8)
        except zlib_ng.error as error:  # type: ignore[misc]  # its stub says instance, not class
            raise ValueError(str(error)) from None
        number |= data.astype(np.uint32) << np.uint32(8 * place)
    order = _digit_order(cell, side)
    return states, _reordered(number, [order.index(man) for man in range(len(order))])


def _reordered(array: NDArray[Any], order: list[int]) -> NDArray[Any]:
    """Return an array (slots,) after reordering the squares that form its slots.

    :param order: index of each square in the old slot, by its place in the new slot, most significant first.
    """
    return np.ascontiguousarray(array.reshape([64] * len(order)).transpose(order)).reshape(-1)


def _digit_order(cell: Cell, mover: Side) -> list[int]:
    """Return the indices of the mobile men in the order of compression, most significant first."""
    men = list(enumerate(cell.mobile))
    others = [place for place, man in reversed(men) if man.colour != mover]
    return [*others, *(place for place, man in men if man.colour == mover)]


def legal_slots(cell: Cell) -> list[Flags]:
    """Return, by side to move, which slots are legal positions."""
    frame = frame_of_cell(cell)
    words = frame.frame.words
    legal = np.zeros((len(SIDES), words), np.uint64)
    legal_words(frame.frame, legal, 0, words)
    is_legal = np.unpackbits(legal.view(np.uint8), axis=-1, bitorder="little").view(bool)
    square = frame.squares[-1]
    return list(is_legal if square < 0 else is_legal.reshape(len(SIDES), -1, 64)[..., square].copy())
