"""All that is known: of what moves out of a cell lead to, of layers of solved cells, and of single states.

Whether a depth that both ends of an interval agree on is sure. Values lie between both ends whatever is open.
Depths do only where the side that hurries towards a value hurries towards it after every move out of the cell
as well, and this need not be so: a side that improves on the accrued score by a pawn move may be the one that
is held to the value afterwards. So a depth is told only where nothing that play can come to is open: the game
has one solution then.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import chess
import numpy as np

from tbgen.beyond.budget import Meter
from tbgen.beyond.exit_sources import Answer, ExitSource, both, bound_of
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
from tbgen.cells.cell import MOST_MOBILE, Cell, CellPlace, CellPosition, Step, side_of
from tbgen.cells.frames import MEMORY, ROOMS, CellFrame, frame_of_cell
from tbgen.cells.games import Games
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.cells.window import Interval
from tbgen.index.layout import MIRROR_RANKS
from tbgen.store.cache import Recent
from tbgen.system.memory import give_back, held

_Sources: TypeAlias = tuple[tuple[int, int], ...]
"""Ways out that a block was decided by: the numbers of their routes, and how often bounds of their
destinations were added."""
_PLIES_KEPT: Final = 1 << 30
"""Bytes of blocks that a ply further on has decided and that are kept."""


class Known:
    """All that is known: see :class:`tbgen.cells.bounds.Knowledge`.

    :param others: sources besides tables, solved cells and what is won after promotions.
    :ivar tables: for what they alone tell: depths, lines and values with any accrued score, look-ups, and
        which tables are missing.
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
        """Return what the sources say of the positions that a route leads to, if anything; no less than holds
        for all of them."""
        block = None
        for source in () if route.quiet else self._sources:
            if source.knows(route):
                found = source.block(route, end)
                block = block if found is None else both(block, part_of(found, route), end)
                if source.exact:
                    return block
        bound = self.bound(route, end)
        if block is None or bound == WORST[end]:
            return block
        return both(block, Block(np.array([bound], np.uint8), np.zeros(1, np.uint16)), end)

    def bound(self, route: Route, end: int) -> Code:
        """Return one end that holds for all positions that a route leads to."""
        return WORST[end] if route.quiet else bound_of(route.destination, end)

    def holds(self, cell: Cell) -> bool:
        """Whether tables hold a cell's positions, so that it need not be solved."""
        return self.tables.has_cell(cell)

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
        return BoundsGame(frame, pool).best_exits(routes[0].side, bound_of(frame.cell, end))

    def worth(self, position: CellPosition) -> Interval:
        """Return what is known of a position, fresh: the accrued score being its own. Blocks say the same."""
        found, final = self._stored_worth(position)
        return found if final else found.within(self._worth_by_ply(position))

    def sure(self, position: CellPosition) -> Interval:
        """Return what is known of a position with any accrued score."""
        found = WORST
        for source in () if position.over else self._sources:
            found = found.within(source.sure(position) or found)
        return found

    def _worth_by_ply(self, position: CellPosition) -> Interval:
        """Return what the best capture or pawn move is worth to the side to move."""
        found, end = list(WORST), end_of(side_of(position.board))
        better = max if end == UPPER else min
        for step in position.moves():
            if step.zeroing and not position.board.is_en_passant(step.move):
                found[end] = better(found[end], self._stored_worth(step.after)[0][end])
        return Interval(*found)

    def _stored_worth(self, position: CellPosition) -> tuple[Interval, bool]:
        """Return what the sources say of a position, no less than holds for all of its cell; and whether a
        ply further on tells no more."""
        found, final = Interval(*(bound_of(position.cell, end) for end in ENDS)), False
        if position.over:
            found = Interval(position.own, position.own)
        for source in self._sources:
            if found.exact:
                return found, True
            worth = source.worth(position)
            if worth is not None:
                found, final = found.within(worth), final or source.final
        return found, final or found.exact


class UnmadeLayerError(Exception):
    """A layer that is asked for has not been made, and is none that is to be made."""


class CellLayers:
    """Makes layers and keeps them, and the games that make them: to set these up takes longer than a layer.

    All of it only saves time, so it goes when memory is needed for something else. Where layers
    are proved, games are not kept: each layer is made from the exits known at that moment, as its proof is.

    :param root: the cell whose games are kept longest; of all others, the games of one are kept.
    :param made: called with the fresh bounds, each layer made from them and its accrued score, if there is
        anything to call.
    """

    def __init__(
        self, known: Known, meter: Meter, root: Cell, made: Callable[[Bounds, Bounds, GScore], None] | None
    ) -> None:
        self._known, self._meter, self._root, self._made = known, meter, root, made
        self._layers: dict[tuple[Cell, Code], tuple[int, Bounds]] = {}
        """With the versions of the fresh bounds that they were made from."""
        self._games: dict[Cell, Games] = {}
        """The one of the root last."""
        self._keeps_games = made is None
        self.largest = 64**MOST_MOBILE
        """Slots of the largest cells whose layers are made when they are asked for."""

    def is_made(self, cell: Cell, accrued: Code) -> bool:
        """Whether a layer is there."""
        made = self._layers.get((cell, accrued))
        return made is not None and made[0] == self._known.cells.version(cell)

    def layer(self, fresh: Bounds, accrued: Code) -> Bounds:
        """Return what is known of the positions of a cell with an accrued score, ``NONE`` where it does not
        matter.

        :raises UnmadeLayerError: if it is not there, and is not to be made.
        """
        key = fresh.cell, accrued
        if not self.is_made(*key):
            if fresh.cell.size > self.largest:
                raise UnmadeLayerError
            games = self._games_of(fresh)
            if not self._meter.allows(self._kept + fresh.nbytes):
                self._layers.clear()
            score = GScore.from_code(accrued)
            layer = games.accrued(fresh, score)
            self._layers[key] = self._known.cells.version(fresh.cell), layer
            if self._made is not None:
                self._made(fresh, layer, score)
        return self._layers[key][1]

    def renew(self, games: Games) -> None:
        """Forget the layers of a cell, and make them by these games, since it has been solved."""
        self._layers = {key: layer for key, layer in self._layers.items() if key[0] != games.cell}
        self._keep(games)

    def make_room(self, cell: Cell) -> int:
        """Drop what is there for later arrays only, wait for what is being packed, then drop layers, then
        games, then close cells, then drop what can be found or read again, until there is memory to solve a
        cell; return the bytes of all that is kept."""
        others = held() - self._meter.besides  # a tenth of it may be what smaller arrays have left
        if not self._meter.fits(cell.size, others):
            give_back()
        if not self._meter.fits(cell.size, self._kept + MEMORY.idle):
            MEMORY.release()
        if not self._meter.fits(cell.size, self._kept):
            self._known.cells.settle()
        if not self._meter.fits(cell.size, self._kept):
            self._layers.clear()
        while self._games and not self._meter.fits(cell.size, self._kept):
            del self._games[next(iter(self._games))]
        while not self._meter.fits(cell.size, self._kept) and self._known.cells.close_one():
            pass
        if not self._meter.fits(cell.size, self._kept):
            self._known.forget()
        return self._kept

    def drop_all(self) -> int:
        """Drop work space, layers, games and what can be found or read again; return the bytes of all that is
        kept."""
        ROOMS.release()
        self._layers.clear()
        self._games.clear()
        self._known.forget()
        self._known.cells.settle()
        MEMORY.release()
        return self._kept

    def release(self) -> None:
        """Drop the games, and keep none from now on."""
        self._games.clear()
        self._keeps_games = False

    def _games_of(self, fresh: Bounds) -> Games:
        """Return games of the ends at which bounds of a cell have been found out."""
        cell = fresh.cell
        games = self._games.get(cell)
        if games is None or not games.ends.issuperset(fresh.ends):
            self.make_room(cell)
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
        """Bytes of the layers, of the games, and of what is known."""
        layers = sum(layer.nbytes for _, layer in self._layers.values())
        return self._known.nbytes + layers + sum(games.nbytes for games in self._games.values())


_WORTH_GUESSING: Final = 64**4
"""Slots of cells from which on layers take long."""


class States:
    """Looks states up in solved cells and their layers, and beyond them in all that is known.

    :param guess: whether to guess what a layer of a large cell would say that has not been made: that a bound
        is the accrued score, if this may make it another one than fresh.
    """

    def __init__(self, known: Known, layers: CellLayers, *, guess: bool = False) -> None:
        self._known, self._layers, self._guess = known, layers, guess

    def of(self, position: CellPosition, accrued: Code) -> Answer:
        """Return what is known of any state."""
        _, symmetry = position.cell.canonical()
        found = self.canonical(position.seen_by(symmetry), seen_score(accrued, symmetry))
        return found.swapped if symmetry & MIRROR_RANKS else found

    @staticmethod
    def _matters(accrued: Code, own: Code, fresh: Code) -> bool:
        """Whether a bound may be another one with an accrued score than fresh, without it.

        What improves on the accrued score all the same is the same (docs/theory.md, fact F1).
        """
        return rank_of_code(accrued) <= min(rank_of_code(own), rank_of_code(fresh))

    def canonical(self, position: CellPosition, accrued: Code) -> Answer:
        """Return what is known of a state of a canonical cell."""
        own = position.own
        if position.over:
            return Answer(Interval(own, own), (0, 0))
        if position.board.has_legal_en_passant():
            return Answer(best_of([self.after(step, own).value for step in position.moves()], position.board))
        cell, side, slot = position.cell, side_of(position.board), position.slot
        fresh = self._known.cells.get(cell)
        if fresh is None:
            return Answer(self._known.worth(position) if accrued == own else WORST)
        ends, depths = [], []
        for end in ENDS:
            bounds = fresh
            if accrued != own and self._matters(accrued, own, Code(int(fresh.value[end, side, slot]))):
                guess = self._guess and cell.size >= _WORTH_GUESSING
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
        """Return what is known of the state after a move of one with an accrued score."""
        if step.zeroing:
            return Answer(self._known.worth(step.after))
        if not step.inside:
            return Answer(WORST)
        return self.of(step.after, carried(step, accrued))


def best_of(moves: list[Interval], board: chess.Board) -> Interval:
    """Return what a position is worth to the side to move by what its moves are worth."""
    best = min if board.turn else max
    return Interval(*(best(worth[end] for worth in moves) for end in ENDS))


def carried(step: Step, accrued: Code) -> Code:
    """Return the accrued score after a quiet move."""
    own = step.after.own
    return own if rank_of_code(own) < rank_of_code(accrued) else accrued


def seen_score(accrued: Code, symmetry: int) -> Code:
    """Return the accrued score of a position that is seen by a symmetry."""
    return Code(255 - accrued) if symmetry & MIRROR_RANKS else accrued


_POSITIONS: Final = 2000
"""Positions that are looked at; with more, nothing is sure."""


def settled_play(states: States, known: Known, given: CellPosition) -> frozenset[CellPlace]:
    """Return all positions that play can come to inside the cell of a position, if the values and depths of
    all of them are known, and of all positions that moves out of the cell lead to; none if something is open,
    or if there are many.
    """
    found, left = {given.place}, [given]
    while left:
        here = left.pop()
        if here.over:
            continue
        if len(found) > _POSITIONS or states.of(here, here.own).depth is None:
            return frozenset()
        for step in here.moves():
            if step.inside:
                if (place := step.after.place) not in found:
                    found.add(place)
                    left.append(step.after)
            elif not _is_known(known, step):
                return frozenset()
    return frozenset(found)


def _is_known(known: Known, step: Step) -> bool:
    """Whether the value and depth after a move out of a cell are known."""
    after = step.after
    if not step.zeroing or after.board.has_pseudo_legal_en_passant():
        return False
    cell = after.cell.canonical()[0]
    return after.over or known.tables.worth(after) is not None or known.cells.has_values(cell)
