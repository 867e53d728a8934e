"""The knowledge of a search: bounds of exits from all sources, layers of solved cells, and bounds of states.

The *layer* of a cell for an accrued score contains the bounds of its positions with this accrued score.
docs/glossary.md explains the other terms.

If both bounds of a state are equal, they are its value, whatever else is unknown. This does not hold for
depths: the depths in the lower and the upper game may be equal and still be wrong. One side hurries towards
the value, and the other side delays it. A capture or pawn move may swap these roles: a side may improve on
the accrued score with a pawn move, after which it is the opponent who hurries to make the new score the final
one. So a depth is reported only if the values and depths of all positions that can be reached are proved. The
game then has only one solution.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import chess
import numpy as np

from tbgen.beyond.budget import Meter
from tbgen.beyond.exit_sources import Answer, ExitSource, combine_blocks, trivial_bound
from tbgen.beyond.promoted_cells import PromotedCells, WonCells
from tbgen.beyond.solved_cells import SolvedCells, end_of
from tbgen.beyond.table_source import Tables
from tbgen.beyond.threshold_cells import ThresholdCells, gather_proofs
from tbgen.board.score import NONE, Code, GScore, rank_of_code
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    UPPER,
    WORST,
    Block,
    Bounds,
    BoundsGame,
    CallbackBoundsSource,
    part_of,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import MAX_MOBILE, Cell, CellPosition, PositionKey, Step, side_of
from tbgen.cells.frames import ARRAY_MEMORY, WORKSPACES, CellFrame, frame_of_cell
from tbgen.cells.games import Games
from tbgen.cells.interval import ALL_SCORES, Interval
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.cells.threshold import Threshold, ThresholdSolution, can_ask, find_good_exits, proved_after
from tbgen.index.layout import MIRROR_RANKS, Side
from tbgen.moves.kernels.words import Words
from tbgen.store.cache import LruCache
from tbgen.system.memory import resident_memory, trim_memory

if TYPE_CHECKING:
    from tbgen.beyond.proof import Prover

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
        self.tables, self.cells, self.wins = tables, cells, WonCells() if wins is None else wins
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
        """Bytes of the sources and of the cache of blocks in memory."""
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
        if not can_ask(cell):
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
            by_number = {after.number: self._stored_proofs(after, threshold) for after in routes}
            entry = versions, find_good_exits(frame, by_number, threshold.prover)
            self._proofs_ahead.put(key, entry)
        if route.landing is None:
            return entry[1]
        return gather_proofs(route.subcell.minus_frozen(cell), cell.mobile, 0, entry[1])

    def stored_block(self, route: Route, end: int) -> Block | None:
        """Return the sources' bounds for the positions after a route; None if unavailable.

        The bounds are at least as good as the result of :meth:`bound`.
        """
        block = None
        for source in () if route.is_quiet else self._sources:
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
        zeroing = (after for after in routes_of(frame) if after.side == side and not after.is_quiet)
        return [after for after in zeroing if self._is_bounded(after, end)]

    def _versions_of(self, routes: Iterable[Route]) -> _Versions:
        homes = ((route.number, home_of_route(route)) for route in routes)
        by_route = tuple(
            (number, self.cells.version(home), self.threshold_cells.version(home)) for number, home in homes
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
        bounds, final = self._stored_bounds(position)
        return bounds if final else bounds.intersection(self._lookahead_bounds(position))

    def bounds_for_any_accrued(self, position: CellPosition) -> Interval:
        """Return bounds of a position that hold with any accrued score."""
        bounds = WORST
        for source in () if position.is_over else self._sources:
            bounds = bounds.intersection(source.bounds_for_any_accrued(position) or bounds)
        return bounds

    def _lookahead_bounds(self, position: CellPosition) -> Interval:
        """Return the bounds that follow from the best capture or pawn move of the side to move."""
        bounds = list(WORST)
        end = end_of(side_of(position.board))
        better = max if end == UPPER else min
        for step in position.moves():
            if step.zeroing and not position.board.is_en_passant(step.move):
                bounds[end] = better(bounds[end], self._stored_bounds(step.after)[0][end])
        return Interval(*bounds)

    def _stored_bounds(self, position: CellPosition) -> tuple[Interval, bool]:
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


class UnmadeLayerError(Exception):
    """Raised if a layer has not been made and its cell is too large to make it now."""


class CellLayers:
    """Makes layers, and keeps them and the games that make them.

    Games (:class:`tbgen.cells.games.Games`) are kept because setting them up takes longer than making a
    layer. Layers and games only save time, so they are dropped when memory is needed for something else. If
    layers are proved, games are not kept, so that a layer and its proof use the current bounds of the exits.

    :param root: the cell whose games are kept longest. The games of one other cell are kept as well.
    :param prover: proves each layer, and each threshold that is tried again. None if nothing is to be proved.
    """

    def __init__(self, exits: ExitBounds, meter: Meter, root: Cell, prover: "Prover | None") -> None:
        self._exits, self._meter, self._root, self._prover = exits, meter, root, prover
        self._layers: dict[tuple[Cell, Code], tuple[int, Bounds]] = {}
        """Maps a cell and an accrued score to the version of the cell's fresh bounds, and the layer."""
        self._games: dict[Cell, Games] = {}
        """Maps a cell to its games; the root is last."""
        self._keeps_games = prover is None
        self.max_slots = 64**MAX_MOBILE
        """Maximum number of slots of a cell for which missing layers are made."""

    def is_made(self, cell: Cell, accrued: Code) -> bool:
        """Return whether a layer has been made from the current bounds of its cell."""
        entry = self._layers.get((cell, accrued))
        return entry is not None and entry[0] == self._exits.cells.version(cell)

    def layer(self, fresh: Bounds, accrued: Code) -> Bounds:
        """Return the layer of a cell with an accrued score, and make it if necessary.

        A value is ``NONE`` where the fresh value applies.

        :raises UnmadeLayerError: if the layer is not made, and the cell has more than ``max_slots`` slots.
        """
        key = fresh.cell, accrued
        if not self.is_made(*key):
            if fresh.cell.size > self.max_slots:
                raise UnmadeLayerError
            games = self._games_of(fresh)
            if not self._meter.has_memory(self._kept_bytes + fresh.nbytes):
                self._layers.clear()
            score = GScore.from_code(accrued)
            layer = games.accrued_bounds(fresh, score)
            self._layers[key] = self._exits.cells.version(fresh.cell), layer
            if self._prover is not None:
                self._prover.prove_layer(fresh, layer, score)
        return self._layers[key][1]

    def is_proved(
        self, position: CellPosition, threshold: Threshold, accrued: Code | None, *, guess: bool = False
    ) -> bool:
        """Return whether a threshold that has been tried in a canonical cell is proved for a state.

        If the ranks of a threshold are not kept, the threshold is tried again. If no time remains, it counts
        as not proved.

        :param accrued: the accrued score; None if it is the position score.
        :param guess: whether to guess, rather than to try the threshold again.
        """
        cell = position.cell
        thresholds = self._exits.threshold_cells
        place = side_of(position.board), position.slot
        solution = thresholds.solution(cell, threshold)
        if accrued is None or not solution.depends_on(accrued):
            return solution.is_proved(*place)
        ranked = thresholds.ranked(cell, threshold)
        if ranked is None and guess:
            return threshold.follows_from(accrued)
        if ranked is None:
            if self._meter.seconds_left <= 0:
                return False
            (ranked,) = thresholds.solve(
                {cell: [threshold]},
                self._exits.proofs,
                self._meter.threads,
                with_rounds=self._prover is not None,
            )
            if self._prover is not None:
                self._prover.prove_threshold(cell, ranked)
        return ranked.is_proved(*place, accrued)

    def replace_games(self, games: Games) -> None:
        """Drop the layers of a cell that has just been solved, and keep its games for new layers."""
        self._layers = {key: layer for key, layer in self._layers.items() if key[0] != games.cell}
        self._keep(games)

    def free_memory(self, slots: int) -> int:
        """Free memory step by step until it suffices to solve a cell of ``slots`` slots.

        Return the bytes that are still in use.

        The steps are:

        - return freed memory to the system;
        - drop memory that is reserved for later arrays;
        - wait until all cells are packed;
        - drop layers, then games;
        - close open cells, the least recently used first, and wait until each is packed;
        - drop everything that can be computed or read again.
        """
        # Up to a tenth of the resident memory may be fragments of freed arrays.
        if not self._meter.has_memory_for(slots, resident_memory() - self._meter.forcing_bytes):
            trim_memory()
        if not self._meter.has_memory_for(slots, self._kept_bytes + ARRAY_MEMORY.idle_bytes):
            ARRAY_MEMORY.release()
        if not self._meter.has_memory_for(slots, self._kept_bytes):
            self._exits.cells.wait_for_packing()
        if not self._meter.has_memory_for(slots, self._kept_bytes):
            self._layers.clear()
        while self._games and not self._meter.has_memory_for(slots, self._kept_bytes):
            del self._games[next(iter(self._games))]
        while not self._meter.has_memory_for(slots, self._kept_bytes) and self._exits.cells.close_one():
            pass
        if not self._meter.has_memory_for(slots, self._kept_bytes):
            self._exits.forget()
        return self._kept_bytes

    def drop_all(self) -> int:
        """Drop workspaces, layers, games and everything that can be computed or read again.

        :returns: the bytes that are still in use.
        """
        WORKSPACES.release()
        self._layers.clear()
        self._games.clear()
        self._exits.forget()
        self._exits.cells.wait_for_packing()
        ARRAY_MEMORY.release()
        return self._kept_bytes

    def stop_keeping_games(self) -> None:
        """Drop all games, and keep none from now on."""
        self._games.clear()
        self._keeps_games = False

    def _games_of(self, fresh: Bounds) -> Games:
        """Return the games of a cell that make layers from its fresh bounds."""
        cell = fresh.cell
        games = self._games.get(cell)
        if games is None or not games.ends.issuperset(fresh.ends):
            self.free_memory(cell.size)
            games = Games(cell, self._exits, self._meter.threads, fresh.ends)
            self._keep(games)
        return games

    def _keep(self, games: Games) -> None:
        if not self._keeps_games:
            return
        if (earlier_games := self._games.get(games.cell)) is not None:
            games.add(earlier_games)
        root_games = {cell: each for cell, each in self._games.items() if cell == self._root != games.cell}
        self._games = {games.cell: games} | root_games

    @property
    def _kept_bytes(self) -> int:
        """Bytes in use by layers, games and exit sources."""
        layers = sum(layer.nbytes for _, layer in self._layers.values())
        return self._exits.nbytes + layers + sum(games.nbytes for games in self._games.values())


_MIN_GUESSED_SLOTS: Final = 64**4
"""Minimum number of slots of a cell whose layers may be guessed, because making them takes a long time."""


class States:
    """Looks up states in solved cells and their layers, and in the exit sources for other cells.

    :param guess: whether to guess bounds of large cells in layers that have not been made. The guess is the
        accrued score if this score can change the bound, else the fresh bound.
    :param scores_of: returns the scores that need to be distinguished in a canonical cell. Thresholds beyond
        them are ignored.
    """

    def __init__(
        self,
        exits: ExitBounds,
        layers: CellLayers,
        *,
        guess: bool = False,
        scores_of: Callable[[Cell], Interval] = lambda cell: ALL_SCORES,
    ) -> None:
        self._exits, self._layers, self._guess, self._scores_of = exits, layers, guess, scores_of
        self._relevant: dict[
            Cell, tuple[Interval, Mapping[Threshold, ThresholdSolution], Sequence[Threshold]]
        ] = {}
        """The relevant scores of each cell, its solutions, and the thresholds that are relevant."""

    def answer(self, position: CellPosition, accrued: Code) -> Answer:
        """Return the bounds of a state of any cell."""
        _, symmetry = position.cell.canonical()
        answer = self.look_up(position.image(symmetry), image_score(accrued, symmetry))
        return answer.swapped if symmetry & MIRROR_RANKS else answer

    @staticmethod
    def _may_differ(accrued: Code, score: Code, fresh: Code) -> bool:
        """Return whether the bound with an accrued score may differ from the fresh bound.

        The bounds are equal if the position score or the fresh bound has a smaller rank than the accrued
        score (docs/theory.md, fact F1).

        :param score: the position score.
        :param fresh: the fresh bound.
        """
        return rank_of_code(accrued) <= min(rank_of_code(score), rank_of_code(fresh))

    def look_up(self, position: CellPosition, accrued: Code) -> Answer:
        """Return the bounds of a state of a canonical cell."""
        score = position.position_score
        if position.is_over:
            return Answer(Interval(score, score), (0, 0))
        if position.board.has_legal_en_passant():
            intervals = [self.answer_after(step, score).bounds for step in position.moves()]
            return Answer(best_of(intervals, position.board))
        fresh = self._exits.cells.get(position.cell)
        if fresh is None:
            bounds = self._exits.fresh_bounds(position) if accrued == score else WORST
            return Answer(self._with_thresholds(position, accrued, bounds))
        answer = self._look_up_codes(position, accrued, fresh)
        bounds = self._with_thresholds(position, accrued, answer.bounds)
        if accrued == score and (after_promotion := self._exits.promotions.fresh_bounds(position)):
            bounds = bounds.intersection(after_promotion)
        return answer if bounds == answer.bounds else Answer(bounds)

    def _with_thresholds(self, position: CellPosition, accrued: Code, interval: Interval) -> Interval:
        """Return bounds of a state of a canonical cell, narrowed by what follows from thresholds about the
        cell."""
        bounds = list(interval)
        cell = position.cell
        score = None if accrued == position.position_score else accrued
        guess = self._guess and cell.size >= _MIN_GUESSED_SLOTS
        for threshold in self._relevant_thresholds(cell):
            if threshold.better(bounds[threshold.end]) != bounds[threshold.end] and self._layers.is_proved(
                position, threshold, score, guess=guess
            ):
                bounds[threshold.end] = threshold.bound
        return Interval(*bounds)

    def _relevant_thresholds(self, cell: Cell) -> Sequence[Threshold]:
        """Return the thresholds about a canonical cell that may prove bounds among the relevant scores.

        Of the thresholds beyond these scores, none is needed if that of the outermost score has been tried.
        """
        scores = self._scores_of(cell)
        tried = self._exits.threshold_cells.solutions(cell)
        entry = self._relevant.get(cell)
        if entry is None or entry[0] != scores or entry[1] is not tried:
            inside = {each: each._replace(bound=scores.nearest(each.bound)) for each in tried}
            relevant = [
                threshold
                for threshold, nearest in inside.items()
                if nearest.bound != scores[nearest.end] and (threshold == nearest or nearest not in tried)
            ]
            self._relevant[cell] = entry = scores, tried, relevant
        return entry[2]

    def _look_up_codes(self, position: CellPosition, accrued: Code, fresh: Bounds) -> Answer:
        """Return the bounds of a state of a canonical cell that follow from the fresh bounds of the cell."""
        score = position.position_score
        cell = position.cell
        side = side_of(position.board)
        slot = position.slot
        ends, depths = [], []
        for end in ENDS:
            bounds = fresh
            if accrued != score and self._may_differ(accrued, score, Code(int(fresh.value[end, side, slot]))):
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

    def answer_after(self, step: Step, accrued: Code) -> Answer:
        """Return the bounds of the state after a move.

        :param accrued: the accrued score before the move.
        """
        if step.zeroing:
            return Answer(self._exits.fresh_bounds(step.after))
        return Answer(WORST) if not step.is_inside else self.answer(step.after, carried_score(step, accrued))


def best_of(intervals: list[Interval], board: chess.Board) -> Interval:
    """Return the bounds of a state that follow from the bounds after all its moves."""
    best = min if board.turn else max
    return Interval(*(best(interval[end] for interval in intervals) for end in ENDS))


def carried_score(step: Step, accrued: Code) -> Code:
    """Return the accrued score after a quiet move, from the accrued score before the move."""
    score = step.after.position_score
    return score if rank_of_code(score) < rank_of_code(accrued) else accrued


def image_score(accrued: Code, symmetry: int) -> Code:
    """Return the accrued score in the image of a state under a symmetry."""
    return Code(255 - accrued) if symmetry & MIRROR_RANKS else accrued


_MAX_EXAMINED_POSITIONS: Final = 2000
"""Maximum number of positions that :func:`proved_keys` examines."""


def proved_keys(states: States, exits: ExitBounds, start: CellPosition) -> frozenset[PositionKey]:
    """Return the keys of all positions that can be reached from ``start`` within its cell.

    The result is empty unless the values and depths of all these positions, and of all positions after moves
    out of the cell, are available: only then are the depths proved. The result is also empty if there are too
    many positions.
    """
    reached, queue = {start.key}, [start]
    while queue:
        here = queue.pop()
        if here.is_over:
            continue
        if len(reached) > _MAX_EXAMINED_POSITIONS or states.answer(here, here.position_score).depth is None:
            return frozenset()
        for step in here.moves():
            if step.is_inside:
                if (key := step.after.key) not in reached:
                    reached.add(key)
                    queue.append(step.after)
            elif not _is_goal_available(exits, step):
                return frozenset()
    return frozenset(reached)


def _is_goal_available(exits: ExitBounds, step: Step) -> bool:
    """Return whether the value and depth after a move out of a cell are available."""
    after = step.after
    if not step.zeroing or after.board.has_pseudo_legal_en_passant():
        return False
    cell = after.cell.canonical()[0]
    return after.is_over or exits.tables.fresh_bounds(after) is not None or exits.cells.has_values(cell)
