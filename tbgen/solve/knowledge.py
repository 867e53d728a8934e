"""All that is known about the positions that moves out of a cell lead to: from all sources, or a ply on."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from tbgen.board.score import Code
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    UPPER,
    WORST,
    Block,
    BoundsGame,
    SomeKnowledge,
    part_of,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import Cell, side_of
from tbgen.cells.frames import CellFrame, frame_of_cell
from tbgen.cells.interval import Interval
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.solve.exits import ExitSource, both
from tbgen.solve.promoted_cells import PromotedCells
from tbgen.solve.solved_cells import SolvedCells, end_of
from tbgen.solve.tables import Tables
from tbgen.solve.won_cells import WonCells
from tbgen.store.cache import Recent

_BARE: Final = (Code(254), Code(1))
"""What is known where one side has a bare king: it cannot mate, so that the other gets -G0.5 at least, or
G0.5 at most."""
_Sources: TypeAlias = tuple[tuple[int, int], ...]
"""Ways out that a block was decided by: the numbers of their routes, and how often bounds of their
destinations were added."""
_PLIES_KEPT: Final = 1 << 30
"""Bytes of blocks that a ply further on has decided and that are kept."""


class Known:
    """All that is known: see :class:`tbgen.cells.bounds.Knowledge`.

    :param others: sources besides tables, solved cells and what is won after promotions.
    """

    def __init__(
        self, tables: Tables, cells: SolvedCells, *others: ExitSource, won: WonCells | None = None
    ) -> None:
        self.tables, self.cells, self.won = tables, cells, WonCells() if won is None else won
        self.promoted = PromotedCells(tables, self.won)
        self._sources = (tables, cells, self.won, *others)
        self._plies = Recent[tuple[_Sources, Block]](_PLIES_KEPT, lambda ply: ply[1].nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes of what the sources keep in memory, and of what is kept of plies further on."""
        return sum(source.nbytes for source in self._sources) + self._plies.size

    def forget(self) -> None:
        """Drop from memory what can be found or read again."""
        self._plies.clear()
        self.tables.forget()
        self.cells.forget()

    def block(self, route: Route, end: int) -> Block | None:
        """Return one end of what is known about the positions that a route leads to, if anything."""
        block = self.stored(route, end)
        if route.quiet or end != end_of(side_after(route)):
            return block
        if any(source.final and source.knows(route) for source in self._sources):
            return block
        by_ply = self._by_ply(route, end)
        return block if by_ply is None else both(block, part_of(by_ply, route), end)

    def stored(self, route: Route, end: int) -> Block | None:
        """Return what the sources say of the positions that a route leads to, if anything."""
        block = None
        for source in () if route.quiet else self._sources:
            if source.knows(route):
                found = source.block(route, end, self.bound(route, end))
                block = block if found is None else both(block, part_of(found, route), end)
                if source.exact:
                    break
        return block

    def bound(self, route: Route, end: int) -> Code:
        """Return one end that holds for all positions that a route leads to."""
        return WORST[end] if route.quiet else _bare(route.destination, end)

    def same_ends(self, route: Route) -> bool:
        """Whether the blocks of both ends are the same, and have the values of all positions."""
        return not route.quiet and any(source.same_ends(route) for source in self._sources)

    def _by_ply(self, route: Route, end: int) -> Block | None:
        """Return what is known because the side to move may go on by a capture or pawn move."""
        cell, side = route.destination, side_after(route)
        frame = frame_of_cell(cell)
        own = (after for after in routes_of(frame) if after.side == side and not after.quiet)
        routes = [after for after in own if self._knows(after, end)]
        if not routes:
            return None
        rests_on = tuple((after.number, self.cells.version(home_of_route(after))) for after in routes)
        ply = self._plies.get((cell, side))
        if ply is None or ply[0] != rests_on:
            ply = rests_on, self._best_exits(frame, routes, end)
            self._plies.put((cell, side), ply)
        return ply[1]

    def _knows(self, route: Route, end: int) -> bool:
        """Whether anything is known, without looking on, of the positions that a route leads to."""
        return self.bound(route, end) != WORST[end] or any(source.knows(route) for source in self._sources)

    def _best_exits(self, frame: CellFrame, routes: Sequence[Route], end: int) -> Block:
        """Return what the best of some ways out of a cell, all of one side, is worth to that side."""
        (pool,) = pools_of_ends(frame, routes, SomeKnowledge(self.stored, self.bound), [end])
        return BoundsGame(frame, pool).best_exits(routes[0].side, _bare(frame.cell, end))

    def worth(self, position: CellPosition) -> Interval:
        """Return what is known of a position, fresh: the accrued score being its own. Blocks say the same."""
        found = self._final_worth(position) or self._worth_by_ply(position)
        for source in self._sources:
            if not source.final and not found.exact:
                found = found.within(source.worth(position) or found)
        return found

    def sure(self, position: CellPosition) -> Interval:
        """Return what is known of a position with any accrued score."""
        found = Interval(*WORST)
        for source in () if position.over else self._sources:
            found = found.within(source.sure(position) or found)
        return found

    def _worth_by_ply(self, position: CellPosition) -> Interval:
        """Return what the best capture or pawn move is worth to the side to move."""
        found = [_bare(position.cell, end) for end in ENDS]
        end = end_of(side_of(position.board))
        better = max if end == UPPER else min
        for step in position.moves():
            if step.zeroing and not position.board.is_en_passant(step.move):
                after = self._final_worth(step.after)
                worth = _bare(step.after.cell, end) if after is None else after[end]
                found[end] = better(found[end], worth)
        return Interval(*found)

    def _final_worth(self, position: CellPosition) -> Interval | None:
        """Return the interval of a position by a source that knows as much as a ply further on."""
        if position.over:
            return Interval(position.own, position.own)
        found = (source.worth(position) for source in self._sources if source.final)
        return next((worth for worth in found if worth is not None), None)


def _bare(cell: Cell, end: int) -> Code:
    """Return the bound that holds because a side has a bare king, or the worst."""
    white, black = cell.sides()
    return _BARE[end] if (black if end == LOWER else white) == "K" else WORST[end]
