"""The knowledge of a search: bounds of exits from all sources, layers of solved cells, and bounds of states.

If the bounds of a state meet in one value, that is its value, whatever else is unknown. Depths are different:
the depths of both games may agree and be wrong. The side that hurries towards a value may be another one
after a capture or pawn move: a side that improves on the accrued score by a pawn move may afterwards be the
side that is held to the value. So a depth is reported only if the values and depths of all positions that
play can reach are proved, since the game then has only one solution.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import chess
import numpy as np

from tbgen.beyond.budget import Meter
from tbgen.beyond.exit_sources import Answer, ExitSource, better_bounds, bound_of
from tbgen.beyond.promoted_cells import PromotedCells, WonCells
from tbgen.beyond.solved_cells import SolvedCells, end_of
from tbgen.beyond.table_source import Tables
from tbgen.board.score import NONE, Code, GScore, rank_of_code
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    UPPER,
    WORST,
    Block,
    Bounds,
    BoundsGame,
    SomeKnowledge,
    part_of,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import MAX_MOBILE, Cell, CellPosition, PositionKey, Step, side_of
from tbgen.cells.frames import ARRAY_MEMORY, WORKSPACES, CellFrame, frame_of_cell
from tbgen.cells.games import Games
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.cells.window import Interval
from tbgen.index.layout import MIRROR_RANKS
from tbgen.store.cache import LruCache
from tbgen.system.memory import resident_memory, trim_memory

_Sources: TypeAlias = tuple[tuple[int, int], ...]
"""The routes from which a block was computed: route number and version of the home's bounds."""
_MAX_PLY_BYTES: Final = 1 << 30
"""Maximum bytes of the cache of blocks that were computed by looking one ply further."""


class Known:
    """The bounds of all exit sources together; implements :class:`tbgen.cells.bounds.Knowledge`.

    :param others: sources besides tables, solved cells and forced mates after promotions.
    :ivar tables: the tables, which alone have depths, lines, values with any accrued score, look-ups of
        single positions, and a list of missing tables.
    """

    def __init__(
        self, tables: Tables, cells: SolvedCells, *others: ExitSource, won: WonCells | None = None
    ) -> None:
        self.tables, self.cells, self.won = tables, cells, WonCells() if won is None else won
        self.promoted = PromotedCells(tables, self.won)
        self._sources = (tables, cells, self.won, *others)
        self._plies = LruCache[tuple[_Sources, Block]](_MAX_PLY_BYTES, lambda ply: ply[1].nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes that the sources and the cache of blocks keep in memory."""
        return sum(source.nbytes for source in self._sources) + self._plies.size

    def forget(self) -> None:
        """Drop everything from memory that can be computed or read again."""
        self._plies.clear()
        self.tables.forget()
        self.cells.forget()

    def block(self, route: Route, end: int) -> Block | None:
        """Return the best lower or upper bounds of the positions after a route; None if none exist."""
        block = self.stored(route, end)
        if route.quiet or end != end_of(side_after(route)):
            return block
        if any(source.final and source.knows(route) for source in self._sources):
            return block
        by_ply = self._bounds_by_ply(route, end)
        return block if by_ply is None else better_bounds(block, part_of(by_ply, route), end)

    def stored(self, route: Route, end: int) -> Block | None:
        """Return the bounds of the sources for the positions that a route leads to; None if none exist.

        They are no worse than the bound that holds for all these positions.
        """
        block = None
        for source in () if route.quiet else self._sources:
            if source.knows(route):
                found = source.block(route, end)
                block = block if found is None else better_bounds(block, part_of(found, route), end)
                if source.exact:
                    return block
        bound = self.bound(route, end)
        if block is None or bound == WORST[end]:
            return block
        return better_bounds(block, Block(np.array([bound], np.uint8), np.zeros(1, np.uint16)), end)

    def bound(self, route: Route, end: int) -> Code:
        """Return a lower or upper bound that holds for all positions that a route leads to."""
        return WORST[end] if route.quiet else bound_of(route.destination, end)

    def has_table_of(self, cell: Cell) -> bool:
        """Return whether tables hold a cell's positions, so that the cell need not be solved."""
        return self.tables.has_cell(cell)

    def same_ends(self, route: Route) -> bool:
        """Return whether the blocks of both ends are equal, and contain the values of all positions."""
        return not route.quiet and any(source.same_ends(route) for source in self._sources)

    def _bounds_by_ply(self, route: Route, end: int) -> Block | None:
        """Return bounds from the captures and pawn moves that the side to move may play next."""
        cell, side = route.destination, side_after(route)
        frame = frame_of_cell(cell)
        zeroing = (after for after in routes_of(frame) if after.side == side and not after.quiet)
        routes = [after for after in zeroing if self._is_bounded(after, end)]
        if not routes:
            return None
        sources = tuple((after.number, self.cells.version(home_of_route(after))) for after in routes)
        ply = self._plies.get((cell, side))
        if ply is None or ply[0] != sources:
            ply = sources, self._best_exits(frame, routes, end)
            self._plies.put((cell, side), ply)
        return ply[1]

    def _is_bounded(self, route: Route, end: int) -> bool:
        """Return whether bounds after a route are available without looking another ply ahead."""
        return self.bound(route, end) != WORST[end] or any(source.knows(route) for source in self._sources)

    def _best_exits(self, frame: CellFrame, routes: Sequence[Route], end: int) -> Block:
        """Return the bounds that the best of some routes, all of one side, gives each position of a cell."""
        (pool,) = pools_of_ends(frame, routes, SomeKnowledge(self.stored, self.bound), [end])
        return BoundsGame(frame, pool).best_exits(routes[0].side, bound_of(frame.cell, end))

    def fresh_bounds(self, position: CellPosition) -> Interval:
        """Return the bounds of a position in its fresh state; blocks contain the same bounds."""
        found, final = self._stored_bounds(position)
        return found if final else found.within(self._position_bounds_by_ply(position))

    def universal_bounds(self, position: CellPosition) -> Interval:
        """Return bounds of a position that hold with any accrued score."""
        found = WORST
        for source in () if position.is_over else self._sources:
            found = found.within(source.universal_bounds(position) or found)
        return found

    def _position_bounds_by_ply(self, position: CellPosition) -> Interval:
        """Return the bounds that the best capture or pawn move gives the side to move."""
        found, end = list(WORST), end_of(side_of(position.board))
        better = max if end == UPPER else min
        for step in position.moves():
            if step.zeroing and not position.board.is_en_passant(step.move):
                found[end] = better(found[end], self._stored_bounds(step.after)[0][end])
        return Interval(*found)

    def _stored_bounds(self, position: CellPosition) -> tuple[Interval, bool]:
        """Return the bounds of the sources for a position, and whether looking a ply ahead is useless.

        The bounds are no worse than the bound that holds for the whole cell.
        """
        found, final = Interval(*(bound_of(position.cell, end) for end in ENDS)), False
        if position.is_over:
            found = Interval(position.position_score, position.position_score)
        for source in self._sources:
            if found.exact:
                return found, True
            bounds = source.fresh_bounds(position)
            if bounds is not None:
                found, final = found.within(bounds), final or source.final
        return found, final or found.exact


class UnmadeLayerError(Exception):
    """A layer has not been made, and its cell is too large to make it now."""


class CellLayers:
    """Makes layers, and keeps both layers and the games that make them.

    Setting up games takes longer than making a layer. Everything here only saves time, so it is dropped when
    memory is needed for something else. If layers are proved, games are not kept: each layer is made from the
    exits that are available at that moment, as its proof is.

    :param root: the cell whose games are kept longest. Only one other cell's games are kept.
    :param made: called with the fresh bounds, the layer made from them and the accrued score; None for no
        call.
    """

    def __init__(
        self, known: Known, meter: Meter, root: Cell, made: Callable[[Bounds, Bounds, GScore], None] | None
    ) -> None:
        self._known, self._meter, self._root, self._made = known, meter, root, made
        self._layers: dict[tuple[Cell, Code], tuple[int, Bounds]] = {}
        """The layers, each with the version of the fresh bounds from which it was made."""
        self._games: dict[Cell, Games] = {}
        """The games that are kept, those of the root last."""
        self._keeps_games = made is None
        self.largest = 64**MAX_MOBILE
        """Maximum number of slots of cells whose layers are made on request."""

    def is_made(self, cell: Cell, accrued: Code) -> bool:
        """Return whether a layer has been made from the current bounds of its cell."""
        made = self._layers.get((cell, accrued))
        return made is not None and made[0] == self._known.cells.version(cell)

    def layer(self, fresh: Bounds, accrued: Code) -> Bounds:
        """Return bounds of the positions of a cell with an accrued score, making the layer if necessary.

        The value is ``NONE`` where the accrued score does not matter.

        :raises UnmadeLayerError: if the layer is not made, and the cell has more than ``largest`` slots.
        """
        key = fresh.cell, accrued
        if not self.is_made(*key):
            if fresh.cell.size > self.largest:
                raise UnmadeLayerError
            games = self._games_of(fresh)
            if not self._meter.has_memory(self._kept + fresh.nbytes):
                self._layers.clear()
            score = GScore.from_code(accrued)
            layer = games.accrued_bounds(fresh, score)
            self._layers[key] = self._known.cells.version(fresh.cell), layer
            if self._made is not None:
                self._made(fresh, layer, score)
        return self._layers[key][1]

    def renew(self, games: Games) -> None:
        """Drop the layers of a cell that has just been solved; these games will make new ones."""
        self._layers = {key: layer for key, layer in self._layers.items() if key[0] != games.cell}
        self._keep(games)

    def free_memory(self, cell: Cell) -> int:
        """Free memory step by step until it suffices to solve a cell; return the bytes still kept.

        The steps are: return freed memory to the system, drop memory kept for later arrays, wait for cells
        that are being packed, drop layers, drop games, close cells, and drop everything that can be computed
        or read again.
        """
        others = resident_memory() - self._meter.forcing_bytes  # up to a tenth: fragments of freed arrays
        if not self._meter.has_memory_for(cell.size, others):
            trim_memory()
        if not self._meter.has_memory_for(cell.size, self._kept + ARRAY_MEMORY.idle_bytes):
            ARRAY_MEMORY.release()
        if not self._meter.has_memory_for(cell.size, self._kept):
            self._known.cells.wait_for_packing()
        if not self._meter.has_memory_for(cell.size, self._kept):
            self._layers.clear()
        while self._games and not self._meter.has_memory_for(cell.size, self._kept):
            del self._games[next(iter(self._games))]
        while not self._meter.has_memory_for(cell.size, self._kept) and self._known.cells.close_one():
            pass
        if not self._meter.has_memory_for(cell.size, self._kept):
            self._known.forget()
        return self._kept

    def drop_all(self) -> int:
        """Drop workspaces, layers, games and everything that can be computed or read again.

        :returns: the bytes still kept.
        """
        WORKSPACES.release()
        self._layers.clear()
        self._games.clear()
        self._known.forget()
        self._known.cells.wait_for_packing()
        ARRAY_MEMORY.release()
        return self._kept

    def release(self) -> None:
        """Drop the games, and keep no games from now on."""
        self._games.clear()
        self._keeps_games = False

    def _games_of(self, fresh: Bounds) -> Games:
        """Return games of a cell at the ends of its fresh bounds."""
        cell = fresh.cell
        games = self._games.get(cell)
        if games is None or not games.ends.issuperset(fresh.ends):
            self.free_memory(cell)
            games = Games(cell, self._known, self._meter.threads, fresh.ends)
            self._keep(games)
        return games

    def _keep(self, games: Games) -> None:
        if not self._keeps_games:
            return
        if (before := self._games.get(games.cell)) is not None:
            games.add(before)
        root = {cell: each for cell, each in self._games.items() if cell == self._root != games.cell}
        self._games = {games.cell: games} | root

    @property
    def _kept(self) -> int:
        """Bytes of the layers, of the games, and of the knowledge."""
        layers = sum(layer.nbytes for _, layer in self._layers.values())
        return self._known.nbytes + layers + sum(games.nbytes for games in self._games.values())


_MIN_GUESSED_SLOTS: Final = 64**4
"""Minimum number of slots of cells whose layers take long to make, so that they may be guessed."""


class States:
    """Looks up states in solved cells and their layers, and in the exit sources for other cells.

    :param guess: whether to guess the bounds in layers of large cells that have not been made. The guess is
        the accrued score if this can change the bound, else the fresh bound.
    """

    def __init__(self, known: Known, layers: CellLayers, *, guess: bool = False) -> None:
        self._known, self._layers, self._guess = known, layers, guess

    def of(self, position: CellPosition, accrued: Code) -> Answer:
        """Return the bounds of any state."""
        _, symmetry = position.cell.canonical()
        found = self.canonical(position.image(symmetry), image_score(accrued, symmetry))
        return found.swapped if symmetry & MIRROR_RANKS else found

    @staticmethod
    def _matters(accrued: Code, score: Code, fresh: Code) -> bool:
        """Return whether the bound with an accrued score may differ from the fresh bound.

        It does not if the position score or the fresh bound has a smaller rank than the accrued score
        (docs/theory.md, fact F1).

        :param score: the position score.
        """
        return rank_of_code(accrued) <= min(rank_of_code(score), rank_of_code(fresh))

    def canonical(self, position: CellPosition, accrued: Code) -> Answer:
        """Return the bounds of a state of a canonical cell."""
        score = position.position_score
        if position.is_over:
            return Answer(Interval(score, score), (0, 0))
        if position.board.has_legal_en_passant():
            after = [self.after(step, score).value for step in position.moves()]
            return Answer(best_of(after, position.board))
        cell, side, slot = position.cell, side_of(position.board), position.slot
        fresh = self._known.cells.get(cell)
        if fresh is None:
            return Answer(self._known.fresh_bounds(position) if accrued == score else WORST)
        ends, depths = [], []
        for end in ENDS:
            bounds = fresh
            if accrued != score and self._matters(accrued, score, Code(int(fresh.value[end, side, slot]))):
                guess = self._guess and cell.size >= _MIN_GUESSED_SLOTS
                if guess and not self._layers.is_made(cell, accrued):
                    ends.append(accrued)
                    depths.append(0)
                    continue
                layer = self._layers.layer(fresh, accrued)
                bounds = layer if layer.value[end, side, slot] != NONE else fresh
            ends.append(Code(int(bounds.value[end, side, slot])))
            depths.append(int(bounds.depth[end, side, slot]))
        return Answer(Interval(*ends), (depths[LOWER], depths[UPPER]))

    def after(self, step: Step, accrued: Code) -> Answer:
        """Return the bounds of the state after a move from a state with an accrued score."""
        if step.zeroing:
            return Answer(self._known.fresh_bounds(step.after))
        if not step.inside:
            return Answer(WORST)
        return self.of(step.after, carried_score(step, accrued))


def best_of(moves: list[Interval], board: chess.Board) -> Interval:
    """Return the bounds of a position that follow from the bounds after its moves."""
    best = min if board.turn else max
    return Interval(*(best(worth[end] for worth in moves) for end in ENDS))


def carried_score(step: Step, accrued: Code) -> Code:
    """Return the accrued score after a quiet move."""
    score = step.after.position_score
    return score if rank_of_code(score) < rank_of_code(accrued) else accrued


def image_score(accrued: Code, symmetry: int) -> Code:
    """Return the accrued score in the image of a state under a symmetry."""
    return Code(255 - accrued) if symmetry & MIRROR_RANKS else accrued


_MAX_RESOLVED_POSITIONS: Final = 2000
"""Maximum number of positions that :func:`resolved_play` examines."""


def resolved_play(states: States, known: Known, start: CellPosition) -> frozenset[PositionKey]:
    """Return all positions of a cell that play from a position can reach, if their depths are proved.

    This requires values and depths of all of them, and of all positions that moves out of the cell lead to.
    The result is empty if any of these is missing, or if there are too many positions.
    """
    found, waiting = {start.key}, [start]
    while waiting:
        here = waiting.pop()
        if here.is_over:
            continue
        if len(found) > _MAX_RESOLVED_POSITIONS or states.of(here, here.position_score).depth is None:
            return frozenset()
        for step in here.moves():
            if step.inside:
                if (key := step.after.key) not in found:
                    found.add(key)
                    waiting.append(step.after)
            elif not _is_resolved(known, step):
                return frozenset()
    return frozenset(found)


def _is_resolved(known: Known, step: Step) -> bool:
    """Return whether the value and depth after a move out of a cell are available."""
    after = step.after
    if not step.zeroing or after.board.has_pseudo_legal_en_passant():
        return False
    cell = after.cell.canonical()[0]
    return after.is_over or known.tables.fresh_bounds(after) is not None or known.cells.has_values(cell)
