"""The bounds of exits, combined from all sources. docs/glossary.md explains the terms."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np

from tbgen.beyond.exit_sources import ExitSource, combine_blocks, trivial_bound
from tbgen.beyond.promoted_cells import PromotedCells, WonCells
from tbgen.beyond.solved_cells import SolvedCells, end_of
from tbgen.beyond.table_source import Tables
from tbgen.beyond.threshold_cells import ThresholdCells, gather_proofs
from tbgen.board.score import Code
from tbgen.cells.bounds import (
    ENDS,
    UPPER,
    WORST,
    Block,
    BoundsGame,
    CallbackBoundsSource,
    part_of,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.cells.frames import CellFrame, frame_of_cell
from tbgen.cells.interval import Interval
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.cells.threshold import Threshold, can_prove_thresholds, find_good_exits, proved_after
from tbgen.index.layout import Side
from tbgen.moves.kernels.words import Words
from tbgen.store.cache import LruCache

_Versions: TypeAlias = tuple[int, int, tuple[tuple[int, int, int], ...]]
"""The versions of what a block was computed from: those of the forced mates and of the thresholds after
promotions and, for each route, its number, and the versions of its home's bounds and thresholds."""
_MAX_LOOKAHEAD_BYTES: Final = 1 << 30
"""Maximum size in bytes of the cache of blocks that were computed by looking one ply ahead."""
_MAX_PROOFS_AHEAD_BYTES: Final = 1 << 29
"""Maximum size in bytes of the cache of proofs that were found by looking one ply ahead."""


class ExitBounds:
    """The combined bounds of all exit sources; implements :class:`tbgen.cells.bounds.BoundsSource`.

    :param sources: further sources, besides tables, solved cells and forced mates after promotions.
    :ivar tables: the tables.
    :ivar cells: the solved cells.
    :ivar threshold_cells: the cells in which thresholds have been proved.
    :ivar wins: the forced mates after promotions.
    :ivar promotions: the thresholds that have been tried in cells in which a promoted man is mobile too.
    """

    def __init__(
        self, tables: Tables, cells: SolvedCells, *sources: ExitSource, wins: WonCells | None = None
    ) -> None:
        self.tables = tables
        self.cells = cells
        self.wins = WonCells() if wins is None else wins
        self.threshold_cells = ThresholdCells(cells.kept)
        self.promotions = PromotedCells(tables, self.wins.mobile_count)
        self._sources = (tables, cells, self.threshold_cells, self.wins, self.promotions, *sources)
        self._proofs_ahead = LruCache[tuple[_Versions, Words]](
            _MAX_PROOFS_AHEAD_BYTES, lambda item: item[1].nbytes
        )
        """The results of :meth:`_lookahead_proofs`, by cell and threshold."""
        self._lookaheads = LruCache[tuple[_Versions, Block]](
            _MAX_LOOKAHEAD_BYTES, lambda item: item[1].nbytes
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the sources and of both caches in memory."""
        return (
            sum(source.nbytes for source in self._sources) + self._lookaheads.size + self._proofs_ahead.size
        )

    def forget(self) -> None:
        """Drop everything from memory that can be computed or read again."""
        self._lookaheads.clear()
        self._proofs_ahead.clear()
        self.tables.forget()
        self.threshold_cells.forget()
        self.cells.close_all()

    def block(self, route: Route, end: int) -> Block | None:
        """Return the best lower or upper bounds of the positions after a route; None if unavailable."""
        block = self.stored_block(route, end)
        if route.is_quiet or end != end_of(side_after(route)):
            return block
        if any(source.final and source.knows(route) for source in self._sources):
            return block
        lookahead = self._lookahead_block(route, end)
        return block if lookahead is None else combine_blocks(block, part_of(lookahead, route), end)

    def proofs(self, route: Route, threshold: Threshold) -> Words | bool:
        """Return after which moves of a route a threshold is proved (``ProofLookup``).

        Nothing is proved after quiet moves, because the accrued score still counts.
        """
        if route.is_quiet:
            return False
        proved = self._stored_proofs(route, threshold)
        if proved is True or threshold.prover != side_after(route):
            return proved
        if any(source.final and source.knows(route) for source in self._sources):
            return proved
        if self.threshold_cells.has_tried(route, threshold):
            return proved
        return _either(proved, self._lookahead_proofs(route, threshold))

    def _stored_proofs(self, route: Route, threshold: Threshold) -> Words | bool:
        """Return after which moves of a route the sources prove a threshold."""
        if threshold.follows_from(self.bound(route, threshold.end)):
            return True
        proved: Words | bool = False
        for source in self._sources:
            if source.knows(route):
                proved = _either(proved, source.proofs(route, threshold))
                if source.exact:
                    break
        return proved

    def _lookahead_proofs(self, route: Route, threshold: Threshold) -> Words | bool:
        """Return after which moves of a route the prover can prove a threshold by a capture or pawn move."""
        cell, end = route.destination, threshold.end
        if not can_prove_thresholds(cell):
            block = self._lookahead_block(route, end)
            return proved_after(route, threshold, block, WORST[end])
        frame = frame_of_cell(cell)
        routes = self._routes_ahead(frame, threshold.prover, end)
        if not routes:
            return False
        key = (cell, threshold)
        versions = self._versions_of(routes)
        entry = self._proofs_ahead.get(key)
        if entry is None or entry[0] != versions:
            proofs = {ahead.number: self._stored_proofs(ahead, threshold) for ahead in routes}
            entry = versions, find_good_exits(frame, proofs, threshold.prover)
            self._proofs_ahead.put(key, entry)
        if route.landing is None:
            return entry[1]
        return gather_proofs(route.subcell.minus_frozen(cell), cell.mobile, 0, entry[1])

    def stored_block(self, route: Route, end: int) -> Block | None:
        """Return the sources' bounds for the positions after a route; None if unavailable.

        The bounds are at least as good as the result of :meth:`bound`.
        """
        if route.is_quiet:
            return None
        block = None
        for source in self._sources:
            if source.knows(route):
                bounds = source.block(route, end)
                block = block if bounds is None else combine_blocks(block, part_of(bounds, route), end)
                if source.exact:
                    return block
        bound = self.bound(route, end)
        if block is None or bound == WORST[end]:
            return block
        return combine_blocks(block, Block(np.array([bound], np.uint8), np.zeros(1, np.uint16)), end)

    def bound(self, route: Route, end: int) -> Code:
        """Return a lower or upper bound that holds for all positions that a route leads to."""
        return WORST[end] if route.is_quiet else trivial_bound(route.destination, end)

    def has_solved(self, cell: Cell) -> bool:
        """Return whether a canonical cell has been solved, for all scores or for some thresholds."""
        return cell in self.cells or cell in self.threshold_cells

    def has_table_of(self, cell: Cell) -> bool:
        """Return whether tables contain a cell's positions, so that the cell need not be solved."""
        return self.tables.has_cell(cell)

    def knows_values(self, route: Route) -> bool:
        """Return whether the blocks of both ends are equal and contain the value of every position."""
        return not route.is_quiet and any(source.knows_values(route) for source in self._sources)

    def _lookahead_block(self, route: Route, end: int) -> Block | None:
        """Return the bounds that follow from the captures and pawn moves in each position after a route.

        None is returned if no such move has bounds.
        """
        cell, side = route.destination, side_after(route)
        frame = frame_of_cell(cell)
        routes = self._routes_ahead(frame, side, end)
        if not routes:
            return None
        versions = self._versions_of(routes)
        entry = self._lookaheads.get((cell, side))
        if entry is None or entry[0] != versions:
            entry = versions, self._best_exits(frame, routes, end)
            self._lookaheads.put((cell, side), entry)
        return entry[1]

    def _routes_ahead(self, frame: CellFrame, side: Side, end: int) -> list[Route]:
        """Return the captures and pawn moves out of a cell after which bounds are available."""
        return [
            ahead
            for ahead in routes_of(frame)
            if ahead.side == side and not ahead.is_quiet and self._is_bounded(ahead, end)
        ]

    def _versions_of(self, routes: Iterable[Route]) -> _Versions:
        homes = [(route, home_of_route(route)) for route in routes]
        by_route = tuple(
            (route.number, self.cells.version(home), self.threshold_cells.version(home))
            for route, home in homes
        )
        return self.wins.version, self.promotions.version, by_route

    def _is_bounded(self, route: Route, end: int) -> bool:
        """Return whether bounds after a route are available without looking ahead."""
        return self.bound(route, end) != WORST[end] or any(source.knows(route) for source in self._sources)

    def _best_exits(self, frame: CellFrame, routes: Sequence[Route], end: int) -> Block:
        """Return, for each position of a cell, the best bound that the given routes imply.

        :param routes: routes out of the cell, all of the same side.
        """
        (pool,) = pools_of_ends(frame, routes, CallbackBoundsSource(self.stored_block, self.bound), [end])
        return BoundsGame(frame, pool).best_exits(routes[0].side, trivial_bound(frame.cell, end))

    def fresh_bounds(self, position: CellPosition) -> Interval:
        """Return the bounds of a position in its fresh state. They agree with :meth:`block`."""
        bounds, final = self.stored_bounds(position)
        return bounds if final else bounds.intersection(self._lookahead_bounds(position))

    def bounds_for_any_accrued(self, position: CellPosition) -> Interval:
        """Return bounds of a position that hold with any accrued score."""
        if position.is_over:
            return WORST
        bounds = WORST
        for source in self._sources:
            bounds = bounds.intersection(source.bounds_for_any_accrued(position) or bounds)
        return bounds

    def _lookahead_bounds(self, position: CellPosition) -> Interval:
        """Return the bounds that follow from the best capture or pawn move of the side to move."""
        bounds = list(WORST)
        end = end_of(side_of(position.board))
        better = max if end == UPPER else min
        for step in position.moves():
            if step.zeroing and not position.board.is_en_passant(step.move):
                bounds[end] = better(bounds[end], self.stored_bounds(step.after)[0][end])
        return Interval(*bounds)

    def stored_bounds(self, position: CellPosition) -> tuple[Interval, bool]:
        """Return the sources' bounds for a position, and whether these bounds are final.

        Looking one ply ahead cannot narrow final bounds. The bounds are at least as narrow as those that hold
        for all positions of the cell.
        """
        bounds = Interval(*(trivial_bound(position.cell, end) for end in ENDS))
        final = False
        if position.is_over:
            bounds = Interval(position.position_score, position.position_score)
        for source in self._sources:
            if bounds.exact:
                return bounds, True
            source_bounds = source.fresh_bounds(position)
            if source_bounds is not None:
                bounds, final = bounds.intersection(source_bounds), final or source.final
        return bounds, final or bounds.exact


def _either(one: Words | bool, other: Words | bool) -> Words | bool:
    """Return the positions in one or both of two sets; True and False stand for all positions and none."""
    if isinstance(one, bool):
        return one or other
    return one if other is False else True if other is True else one | other
