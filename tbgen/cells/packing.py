"""Packed bounds of cells: what is kept of solved cells, on disk and in memory.

Few states, which are values and depths of both ends, are shared by all positions of a cell with one side to
move. So a position is the number of its state, the frequent ones first. The numbers are compressed in an
order in which neighbours are alike: the men of the side not to move count most, then the mover's king, then
his pieces. Where there is a position follows from the cell.

The depth of an end at which nothing better than the worst is known, while the other end is better, is not
kept: it says only how far unsolved cells are. It counts as 0, and an end that is worth the worst at once is
none that a proof could claim too much by.
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
from tbgen.cells.window import EVERYTHING, Interval
from tbgen.index.layout import SIDES, Side
from tbgen.retro.kernels.frame import legal_words

_LEVEL: Final = 6
"""Of compression: less costs more bytes than it saves time, more brings nothing."""
_ROOM: Final = 1 << 16
"""States that there is room for at first: there are a few thousand, 40,000 in most of the largest cells."""


def pack(bounds: Bounds) -> PackedBounds:
    """Return bounds packed."""
    with shared_map(len(SIDES), bounds.cell.size) as shared:
        one, other = shared(lambda side: _packed_side(bounds, side), SIDES)
    return PackedBounds((one, other), (bounds.window.lower, bounds.window.upper))


def unpack(packed: PackedBounds, cell: Cell) -> Bounds:
    """Return the bounds of a cell as they were packed, but for the depths that are not kept; their ends are
    those at which more is known than of everything.

    :raises ValueError: if they are not those of this cell.
    """
    value = np.empty((len(ENDS), len(SIDES), cell.size), np.uint8)
    depth = np.empty(value.shape, np.uint16)
    there = slots_there(cell)

    def spread(side: Side) -> bool:
        states, number = _numbers(packed.sides[side], cell, side)
        own_value, own_depth = (tuple(array[end, side] for end in ENDS) for array in (value, depth))
        return spread_states(number, states, there[side], own_value, own_depth)

    with shared_map(len(SIDES), cell.size) as shared:
        if not all(shared(spread, SIDES)):
            raise ValueError(f"a state of {cell} is missing")
    return Bounds(cell, value, depth, _ends_known(packed), Interval(*map(Code, packed.window)))


def tells_all(packed: PackedBounds) -> bool:
    """Whether packed bounds are those of both ends, with all scores told apart."""
    return _ends_known(packed) == ENDS and packed.window == EVERYTHING


def _ends_known(packed: PackedBounds) -> tuple[int, ...]:
    """Return the ends at which more is known of some position than of everything; both if all bounds are
    values."""
    states = np.frombuffer(b"".join(side.states for side in packed.sides), "<u8")
    codes = states >> np.uint64(48) & np.uint64(255), states >> np.uint64(32) & np.uint64(255)
    if (codes[0] == codes[1]).all():
        return ENDS
    return tuple(end for end in ENDS if (codes[end] != WORST[end]).any())


def _packed_side(bounds: Bounds, side: Side) -> PackedSide:
    number, keys, counts = _numbered(bounds, side)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(max(len(keys), 1), np.uint32)
    rank[order] = np.arange(len(keys))
    number = _turned(number, _order(bounds.cell, side))
    renumber(number, rank)
    count = -(-max(len(keys) - 1, 1).bit_length() // 8)
    planes = number.astype("<u4", copy=False).view(np.uint8).reshape(-1, 4).T[:count]
    return PackedSide(
        keys[order].astype("<u8").tobytes(),
        tuple(zlib_ng.compress(np.ascontiguousarray(plane), _LEVEL) for plane in planes),
    )


def _numbered(bounds: Bounds, side: Side) -> tuple[Numbers, NDArray[np.uint64], NDArray[np.int64]]:
    """Return the numbers of the states of all slots, the words of the states, and how often each occurs."""
    number, room = np.empty(bounds.cell.size, np.uint32), _ROOM
    value, depth = (tuple(array[end, side] for end in ENDS) for array in (bounds.value, bounds.depth))
    worst = int(WORST[0]), int(WORST[1])
    while True:
        keys, counts = np.zeros(room, np.uint64), np.zeros(room, np.int64)
        places = np.full(2 * room, -1, np.int64)
        found = number_states(value, depth, worst, places, keys, counts, number)
        if found >= 0:
            return number, keys[:found], counts[:found]
        room *= 8


def _numbers(packed: PackedSide, cell: Cell, side: Side) -> tuple[NDArray[np.uint64], Numbers]:
    """Return the words of the states, and the numbers of the states of all slots."""
    states = np.frombuffer(packed.states, "<u8").astype(np.uint64)
    number = np.zeros(cell.size, np.uint32)
    for place, plane in enumerate(packed.planes):
        try:
            data = np.frombuffer(zlib_ng.decompress(plane), np.uint8)
        except zlib_ng.error as error:  # type: ignore[misc]  # its stub says instance, not class
            raise ValueError(str(error)) from None
        number |= data.astype(np.uint32) << np.uint32(8 * place)
    order = _order(cell, side)
    return states, _turned(number, [order.index(man) for man in range(len(order))])


def _turned(array: NDArray[Any], order: list[int]) -> NDArray[Any]:
    """Return an array (slots,) in the order in which the men so numbered count, the first one most."""
    return np.ascontiguousarray(array.reshape([64] * len(order)).transpose(order)).reshape(-1)


def _order(cell: Cell, mover: Side) -> list[int]:
    """Return the places of the mobile men in the order in which their squares count."""
    men = list(enumerate(cell.mobile))
    others = [place for place, man in reversed(men) if man.colour != mover]
    return [*others, *(place for place, man in men if man.colour == mover)]


def slots_there(cell: Cell) -> list[Flags]:
    """Return which slots stand for positions, by side to move."""
    frame = frame_of_cell(cell)
    words = frame.frame.words
    legal = np.zeros((len(SIDES), words), np.uint64)
    legal_words(frame.frame, legal, 0, words)
    found = np.unpackbits(legal.view(np.uint8), axis=-1, bitorder="little").view(bool)
    last = frame.squares[-1]
    return list(found if last < 0 else found.reshape(len(SIDES), -1, 64)[..., last].copy())
