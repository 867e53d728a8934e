"""What is known about the positions that moves out of a cell lead to: tables, and cells solved before."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final, TypeAlias

import numpy as np

from tbgen.board.history import FRESH
from tbgen.board.material import MAX_MEN
from tbgen.board.score import NONE, Code
from tbgen.board.signed import code_of, of_gscore
from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    UPPER,
    WORST,
    Block,
    Bounds,
    BoundsGame,
    Interval,
    Knowledge,
    side_after,
)
from tbgen.cells.cell import Cell, side_of
from tbgen.cells.frames import CellFrame, frame_of_cell
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route, routes_of
from tbgen.index.layout import Side, layout_of
from tbgen.index.symmetry import MIRROR_RANKS
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.kept import KeptCells
from tbgen.solve.syzygy import Syzygy, both
from tbgen.solve.table_blocks import block_of_table, in_tables
from tbgen.solve.tables import Tables

_BARE: Final = (Code(254), Code(1))
"""What is known where one side has a bare king: it cannot mate, so that the other gets -G0.5 at least, or
G0.5 at most."""
_PLIES_KEPT: Final = 1 << 30
"""Bytes of blocks that a ply further on has decided and that are kept."""
WORTH_DECODING: Final = 64**3
"""Slots from which on a phase of a packed table is decoded."""


class Known:
    """All that is known: see :class:`tbgen.cells.bounds.Knowledge`.

    :param tables: tables that may be used.
    :param tablebase: the same, position by position.
    :param mobile: most men of a cell that are mobile.
    :param kept: cells on disk.
    :param syzygy: Syzygy files.
    """

    def __init__(
        self,
        tables: Tables,
        tablebase: Tablebase,
        mobile: int,
        kept: KeptCells | None = None,
        syzygy: Syzygy | None = None,
    ) -> None:
        self._tables, self._tablebase, self._syzygy = tables, tablebase, syzygy
        self._mobile, self._kept = mobile, kept
        self._cells: dict[Cell, Bounds] = {}
        self._added = Counter[Cell]()
        """How often bounds of a cell were added."""
        self._plies = _Plies()
        self.settled: Knowledge = _Settled(self)
        """What tables, solved cells and Syzygy files say, without looking on."""

    def add(self, bounds: Bounds) -> None:
        """Keep the bounds of a canonical cell, and what was known before where that is better.

        :raises TbgenError: if they cannot be written to disk.
        """
        before = self._cells.get(bounds.cell)
        if before is not None:
            bounds = narrower(before, bounds)
        self._cells[bounds.cell] = bounds
        self._added[bounds.cell] += 1
        if self._kept is not None:
            self._kept.put(bounds)

    def cell(self, cell: Cell) -> Bounds | None:
        """Return the bounds of a canonical cell, if there are any."""
        if cell not in self._cells and self._kept is not None:
            kept = self._kept.get(cell)
            if kept is not None:
                self._cells[cell] = kept
        return self._cells.get(cell)

    @property
    def nbytes(self) -> int:
        """Bytes of all bounds, of phases of tables, and of what is kept of plies further on and of Syzygy
        files."""
        cells = sum(bounds.nbytes for bounds in self._cells.values())
        sure = 0 if self._syzygy is None else self._syzygy.nbytes
        return cells + self._tables.nbytes + self._plies.nbytes + sure

    def home(self, route: Route) -> Cell:
        """Return the cell whose solution says what a route is worth: with a promoted man mobile if there may
        be one more."""
        cell = route.destination
        if route.promoted is not None and len(cell.mobile) < self._mobile:
            cell = cell.freed([route.promoted])
        return cell

    def in_table(self, cell: Cell) -> bool:
        """Whether a table says what a cell's positions are worth.

        A packed one does if they make a whole phase, and a large one: others take less time as cells.
        """
        if cell.men > MAX_MEN:
            return False
        material, _ = cell.material()
        if self._tables.is_packed(material):
            return cell.size >= max(layout_of(material).phase_size, WORTH_DECODING)
        return self._tables.has(material)

    def block(self, route: Route, end: int) -> Block | None:
        """Return one end of what is known about the positions that a route leads to, if anything."""
        block = self.stored(route, end)
        if route.quiet or end != _end_of(side_after(route)) or self._gives(route) or self._is_solved(route):
            return block
        return both(block, self._by_ply(route, end), end)

    def _is_solved(self, route: Route) -> bool:
        return self.cell(self.home(route).canonical()[0]) is not None

    def _by_ply(self, route: Route, end: int) -> Block | None:
        """Return what is known because whoever is to move may go on by a capture or pawn move."""
        cell, side = route.destination, side_after(route)
        frame = frame_of_cell(cell)
        routes = [
            after
            for after in routes_of(frame)
            if after.side == side and not after.quiet and self.knows(after, end)
        ]
        if not routes:
            return None
        homes = (self.home(after).canonical()[0] for after in routes)
        rests_on = tuple((after.number, self._added[home]) for after, home in zip(routes, homes, strict=True))
        block = self._plies.get((cell, side), rests_on)
        if block is None:
            block = self._best_exits(frame, routes, end)
            self._plies.put((cell, side), rests_on, block)
        return block

    def _best_exits(self, frame: CellFrame, routes: Sequence[Route], end: int) -> Block:
        """Return what the best of some ways out of a cell, all of one side, is worth to that side."""
        cell, side = frame.cell, routes[0].side
        block = BoundsGame(frame, routes, self.settled, end).best_exits(side)
        bound = _bare(cell, end)
        worse = block.value < bound if end == UPPER else block.value > bound
        worse |= block.value == NONE
        block.value[worse], block.depth[worse] = bound, 0
        return block

    def worth(self, position: CellPosition) -> Interval:
        """Return what is known of a position, fresh: the accrued score being its own. Blocks say the same."""
        found = self._by_ply_or_less(position)
        if found.exact or self._syzygy is None or not self._syzygy.gives(position.cell):
            return found
        return found.within(self.sure(position))

    def sure(self, position: CellPosition) -> Interval | None:
        """Return what is known of a position with any accrued score, if anything: who can force mate."""
        return None if self._syzygy is None or position.over else self._syzygy.worth(position.board)

    def _by_ply_or_less(self, position: CellPosition) -> Interval:
        """Return what tables and solved cells say of a position, or else a ply further on."""
        certain = self._worth(position)
        if certain is not None:
            return certain
        found = [_bare(position.cell, end) for end in ENDS]
        end = _end_of(side_of(position.board))
        better = max if end == UPPER else min
        for step in position.moves(self._mobile):
            if step.zeroing and not position.board.is_en_passant(step.move):
                after = self._worth(step.after)
                worth = _bare(step.after.cell, end) if after is None else after[end]
                found[end] = better(found[end], worth)
        return Interval(*found)

    def _worth(self, position: CellPosition) -> Interval | None:
        """Return what tables or solved cells say of a position, None if they do not know it."""
        if position.over:
            return Interval.exactly(position.own)
        cell, board = position.cell, position.board
        if self.in_table(cell):
            return Interval.exactly(code_of(of_gscore(self._tablebase.probe(board, FRESH).value)))
        home, symmetry = cell.canonical()
        bounds = self.cell(home)
        if bounds is None:
            return None
        seen = position.seen_by(symmetry)
        found = [Code(int(bounds.value[end, side_of(seen.board), seen.slot])) for end in ENDS]
        if symmetry & MIRROR_RANKS:
            found = [Code(255 - code) for code in reversed(found)]
        if board.has_legal_en_passant():
            end = 1 - _end_of(side_of(board))
            found[end] = WORST[end]
        return Interval(*found)

    def bound(self, route: Route, end: int) -> Code:
        """Return one end that holds for all positions that a route leads to."""
        return WORST[end] if route.quiet else _bare(route.destination, end)

    def stored(self, route: Route, end: int) -> Block | None:
        """Return what tables, solved cells or Syzygy files say of the positions that a route leads to, if
        anything."""
        if route.quiet:
            return None
        if self._gives(route):
            return block_of_table(self._tables, route)
        sure = None
        if self._syzygy is not None and self._syzygy.gives(route.destination):
            sure = self._syzygy.block(route, end, self.bound(route, end))
        return both(self._solved(route, end), sure, end)

    def _solved(self, route: Route, end: int) -> Block | None:
        """Return what solved cells say of the positions that a route leads to, if anything."""
        cell, side = route.destination, side_after(route)
        if route.passed is not None and end != _end_of(side):
            # Whoever may capture en passant has a choice more, and a better score to lose: that is all
            # that is known of him.
            return None
        home, symmetry = self.home(route).canonical()
        bounds = self.cell(home)
        if bounds is None:
            return None
        if symmetry & MIRROR_RANKS:
            side, end = Side(1 - side), 1 - end
        block = Block(bounds.value[end, side], bounds.depth[end, side])
        men = [(man.colour, man.kind) for man in home.mobile]
        return gathered(cell.apart_from(self.home(route)), men, symmetry, block)

    def knows(self, route: Route, end: int) -> bool:
        """Whether anything is known, without looking on, of the positions that a route leads to."""
        cell = route.destination
        if self._gives(route) or _bare(cell, end) != WORST[end]:
            return True
        if self._syzygy is not None and self._syzygy.gives(cell):
            return True
        return self._is_solved(route)

    def _gives(self, route: Route) -> bool:
        """Whether tables say all of the positions that a route leads to."""
        return self.in_table(route.destination) and in_tables(self._tables, route)


_Ways: TypeAlias = tuple[tuple[int, int], ...]
"""Ways out of a cell: the numbers of the routes, and how often bounds of where they lead were added."""


class _Plies:
    """Blocks that a ply further on has decided, those used last; safe for threads."""

    def __init__(self) -> None:
        self._blocks = OrderedDict[tuple[Cell, Side], tuple[_Ways, Block]]()
        self._lock = Lock()
        self.nbytes = 0

    def get(self, key: tuple[Cell, Side], rests_on: _Ways) -> Block | None:
        """Return the block of a cell and the side to move, if it rests on the same as when it was put."""
        with self._lock:
            before, block = self._blocks.get(key, ((), None))
            if block is None or before != rests_on:
                return None
            self._blocks.move_to_end(key)
            return block

    def put(self, key: tuple[Cell, Side], rests_on: _Ways, block: Block) -> None:
        """Keep a block, in place of others."""
        with self._lock:
            if key in self._blocks:
                self.nbytes -= self._blocks.pop(key)[1].nbytes
            self._blocks[key] = rests_on, block
            self.nbytes += block.nbytes
            while self.nbytes > _PLIES_KEPT:
                self.nbytes -= self._blocks.popitem(last=False)[1][1].nbytes


class _Settled:
    """What is known without looking on: see :class:`tbgen.cells.bounds.Knowledge`."""

    def __init__(self, known: Known) -> None:
        self.block, self.bound = known.stored, known.bound


class InTime:
    """What is known, as long as there is time to find it out: see :class:`tbgen.cells.bounds.Knowledge`."""

    def __init__(self, known: Known, ask: Callable[[], None]) -> None:
        self._known, self._ask = known, ask
        self.bound = known.bound

    def block(self, route: Route, end: int) -> Block | None:
        """Return what is known, and ask before whether there is time to look.

        :raises OutOfBudgetError: if there is none.
        """
        self._ask()
        return self._known.block(route, end)


def narrower(one: Bounds, other: Bounds) -> Bounds:
    """Return the better of two bounds of every position."""
    value, depth = other.value.copy(), other.depth.copy()
    for end, worse in ((LOWER, np.greater), (UPPER, np.less)):
        keep = worse(value[end], one.value[end])
        value[end][keep], depth[end][keep] = one.value[end][keep], one.depth[end][keep]
    return Bounds(one.cell, value, depth)


def _bare(cell: Cell, end: int) -> Code:
    """Return the bound that holds because a side has a bare king, or the worst."""
    white, black = cell.sides()
    return _BARE[end] if (black if end == LOWER else white) == "K" else WORST[end]


def _end_of(side: Side) -> int:
    """The end of the interval that a side's choices may improve: White gets at least what one of his moves is
    worth, Black too."""
    return UPPER if side else LOWER
