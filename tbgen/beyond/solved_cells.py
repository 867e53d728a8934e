"""The solved cells as an exit source.

The bounds of a cell are *open*, as arrays in memory, or *packed* (:mod:`tbgen.cells.packing`) in memory or on
disk. docs/glossary.md explains cells, routes and homes.
"""

import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from operator import attrgetter
from threading import Lock
from typing import Final, NamedTuple

import numpy as np

from tbgen.beyond.exit_sources import ExitSource
from tbgen.beyond.kept import KeptCells, Stamp
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, Block, Bounds, gather_block, side_after
from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.cells.file import PackedBounds
from tbgen.cells.frames import MIN_THREADED_SLOTS
from tbgen.cells.interval import Interval
from tbgen.cells.packing import pack, unpack
from tbgen.cells.routes import Route, home_of_route
from tbgen.index.layout import MIRROR_RANKS, SIDES, Side
from tbgen.store.cache import LruCache

_PACKING_BYTES_PER_SLOT: Final = 16
"""Bytes of memory for each slot of a cell that is being packed."""
_CHUNK_POSITIONS: Final = 1 << 17
"""Number of positions whose bounds are compared at a time."""
DEFAULT_OPEN_BYTES: Final = 1 << 30
"""Default limit for the memory of open cells. It suffices for four or five cells of four mobile men."""


class _CellStatus(NamedTuple):
    """The data of a cell that are available without opening it."""

    version: int = 0
    """A number that changes whenever bounds of the cell become narrower."""
    ends: tuple[int, ...] = ()
    """The ends at which the cell is solved."""


class SolvedCells(ExitSource):
    """The bounds of canonical cells. The most recently used cells are open, all others are packed.

    If cells are kept on disk, a cell is packed as soon as it is solved. Otherwise it is packed when it is
    closed, because it may be solved again until then. A separate thread packs a large cell while the next
    cell is solved. Packing may change depths; blocks always have the depths of packed cells.

    :param kept: the cells on disk; None for cells in memory only. Also an attribute.
    :param open_bytes: maximum memory of open cells. The most recently used cell always stays open.
    """

    final = proved = True

    def __init__(self, kept: KeptCells | None = None, open_bytes: int = DEFAULT_OPEN_BYTES) -> None:
        self.kept = kept
        self._packed = LruCache[PackedBounds](sys.maxsize, attrgetter("nbytes"))
        """Packed cells that are not on disk. No cell is ever dropped."""
        self._open = LruCache[Bounds](open_bytes, attrgetter("nbytes"), min_items=1)
        self._opening_lock = Lock()
        self._packer = ThreadPoolExecutor(1)
        self._unpacked: set[Cell] = set()
        """Open cells that must be packed when they are closed, because no packed form exists."""
        self._packing: dict[Cell, Bounds] = {}
        """Closed cells that are being packed or will be packed next."""
        self._packing_task: Future[None] | None = None
        """The task that packs a large cell in the background."""
        self._records: dict[Cell, _CellStatus] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of all bounds in memory, whether packed, open or being packed."""
        packing = list(self._packing.values())
        buffers = max((_PACKING_BYTES_PER_SLOT * bounds.cell.size for bounds in packing), default=0)
        return self._packed.size + self._open.size + sum(bounds.nbytes for bounds in packing) + buffers

    def close_all(self) -> None:
        """Close all cells."""
        self._close(self._open.clear())

    def close_one(self) -> bool:
        """Close the least recently used cell and wait until it is packed; return whether any was open."""
        closed = self._open.drop_least_recent()
        self._close(closed)
        self.wait_for_packing()
        return bool(closed)

    def add(self, bounds: Bounds) -> None:
        """Keep the bounds of a canonical cell, combined with its earlier bounds.

        :param bounds: the new bounds. Their arrays are changed.
        """
        cell = bounds.cell
        self.wait_for_packing()
        if self.kept is not None and self.kept.has_changed(cell) and (from_disk := self._read(cell)):
            bounds = combine_bounds(from_disk, bounds)
        if (earlier := self.get(cell)) is not None:
            bounds = combine_bounds(earlier, bounds)
        self._unpacked.add(cell)
        self._put(bounds, is_narrower=True)
        if self.kept is not None:
            self._close([bounds])

    def wait_for_packing(self) -> None:
        """Wait until no cell is being packed. Afterwards, all kept cells are on disk."""
        if (task := self._packing_task) is not None:
            wait([task])  # an interruption does not stop the task
            self._packing_task = None
            task.result()

    def _put(self, bounds: Bounds, *, is_narrower: bool) -> None:
        """Add open bounds of a cell, and close the least recently used cells if memory requires it.

        :param is_narrower: whether the bounds are narrower than the earlier bounds of the cell.
        """
        cell = bounds.cell
        self._records[cell] = _CellStatus(self.version(cell) + is_narrower, bounds.ends)
        self._close(self._open.put(cell, bounds))

    def _close(self, closed_bounds: Iterable[Bounds]) -> None:
        """Pack and keep those closed cells that have no packed form, large cells in the background."""
        to_pack = [bounds for bounds in closed_bounds if bounds.cell in self._unpacked]
        for bounds in to_pack:  # first of all, so that an interrupt loses no cell
            self._packing[bounds.cell] = bounds
            self._unpacked.remove(bounds.cell)
        for bounds in to_pack:
            if bounds.cell.size < MIN_THREADED_SLOTS:
                self._pack_and_keep(bounds.cell)
            else:
                self.wait_for_packing()
                self._packing_task = self._packer.submit(self._pack_and_keep, bounds.cell)

    def _pack_and_keep(self, cell: Cell) -> None:
        packed = pack(self._packing[cell])
        if self.kept is None or not self.kept.put(cell, packed):
            self._packed.put(cell, packed)
        del self._packing[cell]

    def get(self, cell: Cell) -> Bounds | None:
        """Return the bounds of a canonical cell; None if it is not solved."""
        bounds = self._open.get(cell)
        if bounds is None:
            with self._opening_lock:  # two threads may need the cell at the same time
                bounds = self._open.get(cell) or self._reopen(cell)
        return bounds

    def _reopen(self, cell: Cell) -> Bounds | None:
        if (bounds := self._packing.get(cell)) is not None:
            return bounds
        packed, stamp = self._packed.get(cell), self._last_stamp(cell)
        bounds = self._read(cell) if packed is None else unpack(packed, cell)
        if bounds is not None:  # another process may have replaced the file by narrower bounds
            self._put(bounds, is_narrower=stamp not in (None, self._last_stamp(cell)))
        return bounds

    def _last_stamp(self, cell: Cell) -> Stamp | None:
        return None if self.kept is None else self.kept.last_stamp(cell)

    def _read(self, cell: Cell) -> Bounds | None:
        """Return the bounds that a cell has on disk; None if they do not exist or cannot be used."""
        packed = None if self.kept is None else self.kept.get(cell)
        if packed is None or self.kept is None:
            return None
        try:
            return unpack(packed, cell)
        except ValueError as error:
            self.kept.mark_unusable(cell, str(error))
            return None

    def version(self, cell: Cell) -> int:
        """Return the version of a cell's bounds, which changes when they become narrower.

        :param cell: any cell, canonical or not.
        """
        return self._records.get(cell.canonical()[0], _CellStatus()).version

    def __contains__(self, cell: Cell) -> bool:
        """Return whether a cell, canonical or not, is solved."""
        home = cell.canonical()[0]
        if home in self._unpacked or home in self._packing:  # cells move from the former to the latter
            return True
        return any(cells.get(home) is not None for cells in (self._open, self._packed)) or self._is_kept(home)

    def ends(self, cell: Cell) -> tuple[int, ...]:
        """Return the ends at which a canonical cell is solved."""
        return self._status_of(cell).ends

    def _status_of(self, cell: Cell) -> _CellStatus:
        if cell not in self._records:
            self.get(cell)
        return self._records.get(cell, _CellStatus())

    def _is_kept(self, cell: Cell) -> bool:
        """Return whether a canonical cell is on disk, and its file can be used."""
        return self.kept is not None and cell in self.kept and self.get(cell) is not None

    def knows(self, route: Route) -> bool:
        """Return whether the home of a route is solved."""
        return home_of_route(route) in self

    def knows_values(self, route: Route) -> bool:
        """Return whether the lower and upper bounds of a route's home are equal, so that they are values."""
        return route.ep_square is None and self.has_values(home_of_route(route).canonical()[0])

    def has_values(self, cell: Cell) -> bool:
        """Return whether a canonical cell is solved, and its lower and upper bounds are equal."""
        bounds = self.get(cell)
        return bounds is not None and bounds.has_equal_ends

    def block(self, route: Route, end: int) -> Block | None:
        """Return the lower or upper bounds of the positions that a route leads to; None if unavailable."""
        side = side_after(route)
        if route.ep_square is not None and end != end_of(side):
            # The home is solved without the en passant capture. With it, the side to move has one more
            # move, which improves the position score for that side. So the solution bounds only one end.
            return None
        home, symmetry = home_of_route(route).canonical()
        bounds = self.get(home)
        if bounds is None:
            return None
        if symmetry & MIRROR_RANKS:
            side, end = Side(1 - side), 1 - end
        stored = Block(bounds.value[end, side], bounds.depth[end, side])
        worst_and_other = WORST[end], bounds.value[1 - end, side]
        men = [(man.colour, man.kind) for man in home.mobile]
        cell = route.subcell.minus_frozen(home_of_route(route))
        return gather_block(cell, men, symmetry, stored, worst_and_other=worst_and_other)

    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return the bounds of a position in its fresh state; None if its cell is not solved."""
        home, symmetry = position.cell.canonical()
        bounds = self.get(home)
        if bounds is None:
            return None
        image = position.image(symmetry)
        value = Interval(*(Code(int(bounds.value[end, side_of(image.board), image.slot])) for end in ENDS))
        bounds_by_end = list(value.swapped if symmetry & MIRROR_RANKS else value)
        if position.board.has_legal_en_passant():
            end = 1 - end_of(side_of(position.board))
            bounds_by_end[end] = WORST[end]
        return Interval(*bounds_by_end)


def end_of(side: Side) -> int:
    """Return the end of an interval that a side can improve: the lower end for White, the upper for Black.

    A side can be sure of the best bound at this end after its moves.
    """
    return UPPER if side else LOWER


def combine_bounds(old_bounds: Bounds, new_bounds: Bounds) -> Bounds:
    """Return the better of two bounds for every position, at both ends.

    The result has the arrays of ``new_bounds``.
    """
    if new_bounds.is_shared:
        return new_bounds
    for end, is_worse_than in ((LOWER, np.greater), (UPPER, np.less)):
        for side in SIDES:
            value, depth = new_bounds.value[end, side], new_bounds.depth[end, side]
            for first in range(0, len(value), _CHUNK_POSITIONS):
                chunk = slice(first, first + _CHUNK_POSITIONS)
                codes, old_codes = value[chunk], old_bounds.value[end, side, chunk]
                is_worse = is_worse_than(codes, old_codes)
                np.copyto(codes, old_codes, where=is_worse)
                np.copyto(depth[chunk], old_bounds.depth[end, side, chunk], where=is_worse)
    return replace(new_bounds, ends=tuple(sorted({*old_bounds.ends, *new_bounds.ends})))
