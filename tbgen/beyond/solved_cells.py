"""Cells solved before: open, or packed (:mod:`tbgen.cells.packing`) in memory or on disk."""

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
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, Block, Bounds, gathered, side_after
from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.cells.file import PackedBounds
from tbgen.cells.frames import WORTH_THREADS
from tbgen.cells.packing import pack, unpack
from tbgen.cells.routes import Route, home_of_route
from tbgen.cells.window import EVERYTHING, Interval
from tbgen.index.layout import MIRROR_RANKS, SIDES, Side
from tbgen.store.cache import Recent

_PACKING_BYTES: Final = 16
"""For each slot, while a cell is packed."""
_CHUNK: Final = 1 << 17
"""Positions whose bounds are compared at a time."""
OPEN_BYTES: Final = 1 << 30
"""What cells that are open may take, unless said otherwise: four or five of four mobile men."""


class _ClosedCell(NamedTuple):
    """What is known of a cell without opening it."""

    version: int = 0
    """Another one whenever more is known of its positions."""
    window: Interval = EVERYTHING
    ends: tuple[int, ...] = ()


class SolvedCells(ExitSource):
    """Bounds of canonical cells: packed, on disk where that is possible, and those used last open.

    In blocks, and when a cell is opened again, depths are those that packed cells have. A large
    cell is packed and kept by a thread of its own, one at a time, while the next one is solved: at once if
    cells are kept on disk, else when it is closed, for until then it may be solved again.

    :param kept: cells on disk.
    :param open_bytes: what open cells may take; the one used last always stays.
    """

    final = proved = True

    def __init__(self, kept: KeptCells | None = None, open_bytes: int = OPEN_BYTES) -> None:
        self._kept = kept
        self._packed = Recent[PackedBounds](sys.maxsize, attrgetter("nbytes"))
        """Those that are not on disk; none of them goes."""
        self._open = Recent[Bounds](open_bytes, attrgetter("nbytes"), least=1)
        self._opening = Lock()
        self._packer = ThreadPoolExecutor(1)
        self._unpacked: set[Cell] = set()
        """Open ones that are to be packed when they are closed..."""
        self._packing: dict[Cell, Bounds] = {}
        """...and those that are packed now, or next."""
        self._at_work: Future[None] | None = None
        """What packs the large one among these."""
        self._found: dict[Cell, _ClosedCell] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of all bounds in memory: packed, open, and on the way from one to the other."""
        packing = list(self._packing.values())
        room = max((_PACKING_BYTES * bounds.cell.size for bounds in packing), default=0)
        return self._packed.size + self._open.size + sum(bounds.nbytes for bounds in packing) + room

    def forget(self) -> None:
        """Close all cells."""
        self._close(self._open.clear())

    def close_one(self) -> bool:
        """Close the cell that has not been used for longest, and wait until it is packed; return whether any
        was open."""
        closed = self._open.drop_one()
        self._close(closed)
        self.settle()
        return bool(closed)

    def add(self, bounds: Bounds, told: Interval = EVERYTHING) -> None:
        """Keep the bounds of a canonical cell, and what was known before where that is better: it is put into
        their arrays.

        :param told: between which scores what they were found from told all that could be known.
        """
        cell, told = bounds.cell, told.within(bounds.window)
        self.settle()
        if self._kept is not None and self._kept.changed(cell) and (other := self._read(cell)):
            bounds = narrower(other, bounds)
        if (before := self.get(cell)) is not None:
            if set(before.ends) - set(bounds.ends):  # what was known there was told in its own window
                told = told.within(before.window)
            bounds = narrower(before, bounds)
        bounds = replace(bounds, window=told)
        self._unpacked.add(cell)
        self._put(bounds, more=True)
        if self._kept is not None:
            self._close([bounds])

    def settle(self) -> None:
        """Wait for what is being packed; if cells are kept on disk, all of them are there then."""
        if (at_work := self._at_work) is not None:
            wait([at_work])  # an interruption leaves it at work
            self._at_work = None
            at_work.result()

    def _put(self, bounds: Bounds, *, more: bool) -> None:
        """Have a cell open, and close those not used for longest where they take too much.

        :param more: whether more is known of the cell than before.
        """
        cell = bounds.cell
        self._found[cell] = _ClosedCell(self.version(cell) + more, bounds.window, bounds.ends)
        self._close(self._open.put(cell, bounds))

    def _close(self, closed: Iterable[Bounds]) -> None:
        """Pack and keep what would be lost: large cells meanwhile."""
        new = [bounds for bounds in closed if bounds.cell in self._unpacked]
        for bounds in new:  # whatever comes between, they are known
            self._packing[bounds.cell] = bounds
            self._unpacked.remove(bounds.cell)
        for bounds in new:
            if bounds.cell.size < WORTH_THREADS:
                self._keep(bounds.cell)
            else:
                self.settle()
                self._at_work = self._packer.submit(self._keep, bounds.cell)

    def _keep(self, cell: Cell) -> None:
        packed = pack(self._packing[cell])
        if self._kept is None or not self._kept.put(cell, packed):
            self._packed.put(cell, packed)
        del self._packing[cell]

    def get(self, cell: Cell) -> Bounds | None:
        """Return the bounds of a canonical cell, if there are any."""
        bounds = self._open.get(cell)
        if bounds is None:
            with self._opening:  # the games of both ends ask at the same time
                bounds = self._open.get(cell) or self._opened(cell)
        return bounds

    def _opened(self, cell: Cell) -> Bounds | None:
        if (bounds := self._packing.get(cell)) is not None:
            return bounds
        packed, seen = self._packed.get(cell), self._seen(cell)
        bounds = self._read(cell) if packed is None else unpack(packed, cell)
        if bounds is not None:  # and another process may know more of it now
            self._put(bounds, more=seen not in (None, self._seen(cell)))
        return bounds

    def _seen(self, cell: Cell) -> Stamp | None:
        return None if self._kept is None else self._kept.seen(cell)

    def _read(self, cell: Cell) -> Bounds | None:
        """Return the bounds of a cell on disk, if they are there and can be used."""
        packed = None if self._kept is None else self._kept.get(cell)
        if packed is None or self._kept is None:
            return None
        try:
            return unpack(packed, cell)
        except ValueError as error:
            self._kept.refuse(cell, str(error))
            return None

    def version(self, cell: Cell) -> int:
        """Return a number that is another one whenever more is known of a cell, canonical or not."""
        return self._found.get(cell.canonical()[0], _ClosedCell()).version

    def __contains__(self, cell: Cell) -> bool:
        """Whether a cell, canonical or not, is solved."""
        home = cell.canonical()[0]
        if home in self._unpacked or home in self._packing:  # in this order, until it is packed
            return True
        return any(held.get(home) is not None for held in (self._open, self._packed)) or self._is_kept(home)

    def window(self, cell: Cell) -> Interval:
        """Return between which scores the solution of a canonical cell tells all that could be known."""
        return self._found_of(cell).window

    def ends(self, cell: Cell) -> tuple[int, ...]:
        """Return the ends at which a canonical cell is solved."""
        return self._found_of(cell).ends

    def _found_of(self, cell: Cell) -> _ClosedCell:
        if cell not in self._found:
            self.get(cell)
        return self._found.get(cell, _ClosedCell())

    def _is_kept(self, cell: Cell) -> bool:
        """Whether a canonical cell is on disk, and can be used."""
        return self._kept is not None and cell in self._kept and self.get(cell) is not None

    def knows(self, route: Route) -> bool:
        """Whether the cell that a route leads to is solved."""
        return home_of_route(route) in self

    def same_ends(self, route: Route) -> bool:
        """Whether the solution of the cell that a route leads to has values, not just bounds."""
        return route.passed is None and self.has_values(home_of_route(route).canonical()[0])

    def has_values(self, cell: Cell) -> bool:
        """Whether the solution of a canonical cell, if there is one, has values, not just bounds."""
        bounds = self.get(cell)
        return bounds is not None and bounds.same_ends

    def block(self, route: Route, end: int) -> Block | None:
        """Return one end of what the solution says of the positions that a route leads to, if anything."""
        side = side_after(route)
        if route.passed is not None and end != end_of(side):
            # The side with a right to capture en passant has one more choice, and a better score to lose:
            # nothing else is known of it.
            return None
        home, symmetry = home_of_route(route).canonical()
        bounds = self.get(home)
        if bounds is None:
            return None
        if symmetry & MIRROR_RANKS:
            side, end = Side(1 - side), 1 - end
        stored = Block(bounds.value[end, side], bounds.depth[end, side])
        settled = WORST[end], bounds.value[1 - end, side]
        men = [(man.colour, man.kind) for man in home.mobile]
        cell = route.part.apart_from(home_of_route(route))
        return gathered(cell, men, symmetry, stored, settled=settled)

    def worth(self, position: CellPosition) -> Interval | None:
        """Return what the solution says of a position, if its cell is solved."""
        home, symmetry = position.cell.canonical()
        bounds = self.get(home)
        if bounds is None:
            return None
        seen = position.seen_by(symmetry)
        there = Interval(*(Code(int(bounds.value[end, side_of(seen.board), seen.slot])) for end in ENDS))
        found = list(there.swapped if symmetry & MIRROR_RANKS else there)
        if position.board.has_legal_en_passant():
            end = 1 - end_of(side_of(position.board))
            found[end] = WORST[end]
        return Interval(*found)


def end_of(side: Side) -> int:
    """Return the end of the interval that a side's choices may improve: White gets at least what one of his
    moves is worth, Black too."""
    return UPPER if side else LOWER


def narrower(one: Bounds, other: Bounds) -> Bounds:
    """Return the better of two bounds of every position, in the arrays of the others, which were found later,
    as their window was."""
    if other.lie_once:
        return other
    for end, worse in ((LOWER, np.greater), (UPPER, np.less)):
        for side in SIDES:
            value, depth = other.value[end, side], other.depth[end, side]
            for first in range(0, len(value), _CHUNK):
                part = slice(first, first + _CHUNK)
                now, before = value[part], one.value[end, side, part]
                keep = worse(now, before)
                if other.window != EVERYTHING:  # scores that are not told apart have no depth
                    keep |= (now == before) & other.window.blurs(now, end)
                np.copyto(now, before, where=keep)
                np.copyto(depth[part], one.depth[end, side, part], where=keep)
    return replace(other, ends=tuple(sorted({*one.ends, *other.ends})))
