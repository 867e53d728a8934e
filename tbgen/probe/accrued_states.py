"""Values of the successors of positions with castling rights: many at once, with any accrued score.

A packed table stores the values with one side to move. The values of the other side, the derived one, follow
from the values one ply later. In a cell in which all men of the derived side are mobile, its quiet moves stay
in the cell, and only the best of its zeroing moves counts. See docs/glossary.md for cells, slots and routes.
"""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, Step
from tbgen.board.material import Material
from tbgen.board.score import NONE, Code, GScore, code_of
from tbgen.cells.bounds import (
    LOWER,
    NO_RANK,
    WORST,
    Block,
    BoundsGame,
    SomeKnowledge,
    places_of,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.errors import MissingLayerError
from tbgen.index.arrays import slots_of
from tbgen.index.layout import SIDES, WHITE_TO_MOVE, Side, Slot, layout_of
from tbgen.index.position import locate
from tbgen.index.table import FRESH, LAST_RUN, NO_SCORE
from tbgen.packed.file import PackedFile
from tbgen.probe.states import State
from tbgen.probe.values import Place
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER
from tbgen.retro.kernels.words import Codes
from tbgen.store.table_file import LoadedTable

if TYPE_CHECKING:
    from tbgen.probe.values import Values


class QuietMoves:
    """Finds the best quiet moves of a side in a cell in which all men of that side are mobile.

    :param side: the side that moves.
    """

    def __init__(self, cell: Cell, side: Side) -> None:
        self._cell, self._side = cell, side
        standing = np.array([cell.standing_mask >> square & 1 for square in range(64)], bool)
        squares = np.indices((64,) * len(cell.mobile), sparse=True)
        self._distinct = np.ones((64,) * len(cell.mobile), bool)
        """bool, one axis of 64 squares for each mobile man: whether no two men stand on the same square."""
        for number, square in enumerate(squares):
            self._distinct &= ~standing[square]
            for other in squares[:number]:
                self._distinct &= square != other

    def best(self, merit: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the greatest merit among the successors of each position, 0 without moves: uint8 (slots,).

        :param merit: uint8 (slots,): merits of the successors, as :func:`_merit` returns them.
        """
        best = np.zeros(self._distinct.shape, np.uint8)
        for axis, man in enumerate(self._cell.mobile):
            if man.colour == self._side:
                grids = merit.reshape(best.shape), self._distinct
                reached, free = (np.ascontiguousarray(np.moveaxis(grid, axis, 0)) for grid in grids)
                of_man = np.zeros_like(reached)
                for step in KINDS[man.kind].rides:
                    np.maximum(of_man, _slide(reached, free, step), out=of_man)
                for step in KINDS[man.kind].leaps:
                    for origin, target in _origins_and_targets(step):
                        of_man[origin] = np.maximum(of_man[origin], reached[target])
                np.maximum(best, np.moveaxis(of_man, 0, axis), out=best)
        return best.reshape(-1)


def _slide(reached: NDArray[np.uint8], free: NDArray[np.bool_], step: Step) -> NDArray[np.uint8]:
    """Return the greatest merit that a man reaches by a ride in one direction from each square."""
    best = np.zeros_like(reached)
    for origin, target in _origins_and_targets(step):
        # From an empty square the ride continues as if it began there.
        best[origin] = np.where(free[target], np.maximum(reached[target], best[target]), 0)
    return best


@cache
def _origins_and_targets(step: Step) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return origins, and targets one step further, grouped by the steps to the edge, fewest first."""
    files, ranks = np.arange(64) & 7, np.arange(64) >> 3
    steps_to_edge = np.full(64, 7)
    for coordinate, by in ((files, step[0]), (ranks, step[1])):
        if by:
            steps_to_edge = np.minimum(steps_to_edge, (7 - coordinate if by > 0 else coordinate) // abs(by))
    origins = [np.flatnonzero(steps_to_edge == steps) for steps in range(1, int(steps_to_edge.max()) + 1)]
    return [(origin, origin + step[0] + 8 * step[1]) for origin in origins]


def is_value_fresh(fresh: Codes, ranks: Codes, side: Side, holder: Side, rank: int) -> NDArray[np.bool_]:
    """Return where the value with an accrued score is the fresh value: bool, shape of ``fresh``.

    :param fresh: fresh values of positions with ``side`` to move.
    :param ranks: position ranks of the same positions.
    :param holder: the side that holds the accrued score, whose rank is ``rank``.
    """
    is_fresh = (ranks == rank) & (holder != side)  # the side that has just moved holds the position score
    return np.asarray((np.minimum(fresh, 255 - fresh) < rank) | (ranks < rank) | is_fresh, np.bool_)


class TableStates:
    """Values and depths from a table in memory, of the positions of a cell with one side to move.

    :param cell: a cell without castling rights. The table may have its colours swapped.
    :param side: the side to move.
    """

    has_depths: Final = True

    def __init__(self, table: LoadedTable, cell: Cell, side: Side) -> None:
        _, self._swapped = cell.material()
        self._table, self._side = table, SIDES[side ^ self._swapped]
        self._ranks = ranks_of(cell)[side]
        is_position = self._ranks != NO_RANK
        self._slots = np.where(is_position, slots_in_table(cell), 0)
        self._value = np.where(is_position, table.value[self._side][self._slots], NONE).astype(np.uint8)
        self._depth = table.depth[self._side][self._slots]

    def fresh(self) -> Block:
        """Return fresh values and depths."""
        return self._recoloured(self._value, self._depth)

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values and depths with an accrued score, into which the position scores are folded.

        The table must store accrued scores.
        """
        holder = Side(holder ^ self._swapped)
        accrued = GScore(rank, holder == WHITE_TO_MOVE).code
        value = np.full(len(self._value), accrued, np.uint8)
        depth = np.zeros(len(self._value), np.uint16)
        slot, run = self._runs[holder]
        applies = self._table.run_rank[run] % LAST_RUN <= rank
        slot, run = slot[applies], run[applies]
        value[slot] = self._table.run_value[run]  # the last run that applies overwrites earlier ones
        depth[slot] = self._table.run_depth[run]
        value[value == NONE] = accrued
        fresh = is_value_fresh(self._value, self._ranks, self._side, holder, rank)
        fresh |= (value == FRESH) | (self._value == NONE)
        return self._recoloured(np.where(fresh, self._value, value), np.where(fresh, self._depth, depth))

    @cached_property
    def _runs(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        return [self._table.runs(holder, self._side, self._slots) for holder in SIDES]

    def _recoloured(self, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> Block:
        """Return values and depths of the table with the colours of the cell."""
        codes = np.where(value == NONE, NONE, 255 - value) if self._swapped else value
        return Block(codes.astype(np.uint8), depth.astype(np.uint16))


def ranks_of(cell: Cell) -> NDArray[np.uint8]:
    """Return the position ranks of a cell, shape (2 sides to move, slots); ``NO_RANK`` where a slot is no
    position."""
    frame = frame_of_cell(cell)
    (pool,) = pools_of_ends(frame, [], SomeKnowledge(), [LOWER])
    return BoundsGame(frame, pool).ranks()


def slots_in_table(cell: Cell) -> NDArray[np.int64]:
    """Return the canonical slots of a cell's positions in their table, -1 for slots without a position."""
    material, swapped = cell.material()
    layout, slots = layout_of(material), np.arange(cell.size)
    places = places_of(cell, zip(layout.colours, layout.kinds, strict=True), swapped)
    columns = [slots >> shift & 63 if shift >= 0 else np.full(cell.size, square) for shift, square in places]
    for pawns in cell.pawns[::-1] if swapped else cell.pawns:
        columns += [np.full(cell.size, square) for square in chess.scan_forward(pawns)]
    squares = np.stack(columns, axis=1).astype(np.uint8)
    return slots_of(layout, squares ^ np.uint8(56) if swapped else squares)


class PackedStates:
    """Values from a packed table, without depths, of the positions of a cell with one side to move.

    :param cell: a cell in which all men of the side to move are mobile.
    :param fresh: function that returns the fresh values of the positions that a zeroing route leads to.

    :raises DamagedTableError: if a block does not decode.
    """

    has_depths: Final = False

    def __init__(self, file: PackedFile, cell: Cell, side: Side, fresh: Callable[[Route], Block]) -> None:
        self._side, (_, self._swapped) = side, cell.material()
        self._stored_side = SIDES[file.side ^ self._swapped]
        frame = frame_of_cell(cell)
        routes = list(routes_of(frame))
        blocks = {route: fresh(route) for route in routes if self._is_needed(cell, route)}
        # All other exits are ignored: they get the worst value for the side to move.
        exits = SomeKnowledge(lambda route, _: blocks.get(route), lambda route, _: WORST[route.side])
        (pool,) = pools_of_ends(frame, routes, exits, [LOWER])
        game = BoundsGame(frame, pool)
        self._ranks = game.ranks()
        self._fresh = [terminal_values(side, self._ranks[side]) for side in SIDES]
        stored_ranks = self._ranks[self._stored_side]
        slots = np.flatnonzero((stored_ranks >= FIRST_LAYER) & (stored_ranks != NO_RANK))
        value, functions = file.of_stored_side(slots_in_table(cell)[slots])
        self._functions = functions.without_unused()
        by_capture = game.best_exits(self._stored_side).value[slots]
        self._fresh[self._stored_side][slots] = np.where(value == NONE, by_capture, self._recoloured(value))
        self._slots = slots
        self._complete_below = FIRST_LAYER
        """Position rank below which the fresh values of the derived side are complete."""
        if side != self._stored_side:
            self._quiet = QuietMoves(cell, side)
            self._zeroing_merit = _merit(side, game.best_exits(side).value)

    def _is_needed(self, cell: Cell, route: Route) -> bool:
        """Return whether the values after a route are needed: after captures of the stored side and, if the
        derived side is to move, after all zeroing moves of the derived side."""
        if route.side == self._side != self._stored_side:
            return not route.is_quiet
        return route.side == self._stored_side and route.destination.men < cell.men

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values with an accrued score, into which the position scores are folded."""
        if self._side == self._stored_side:
            value = self._of_stored(holder, rank)
        else:
            while self._complete_below < rank:
                self._derive(self._stored_side, self._complete_below)
            value = self._derive(holder, rank)
        return Block(value, np.zeros(len(value), np.uint16))

    def _of_stored(self, holder: Side, rank: int) -> Codes:
        """Return the values of :meth:`with_accrued` if the stored side is to move."""
        accrued = GScore(rank, holder == WHITE_TO_MOVE).code
        side, slots, fresh = self._stored_side, self._slots, self._fresh[self._stored_side]
        number = self._functions.number
        code = self._functions.values_for(Code(255 - accrued if self._swapped else accrued))[number]
        code = np.where(code == NONE, accrued, np.where(code == FRESH, fresh[slots], self._recoloured(code)))
        is_fresh = is_value_fresh(fresh[slots], self._ranks[side, slots], side, holder, rank)
        value = fresh.copy()
        value[slots] = np.where(is_fresh, fresh[slots], code)
        return value

    def _derive(self, holder: Side, rank: int) -> Codes:
        """Return the values of :meth:`with_accrued` if the derived side is to move.

        The fresh values of the derived side must be complete for position ranks below ``rank``.
        """
        ranks, fresh = self._ranks[self._side], self._fresh[self._side]
        quiet_merit = _merit(self._side, self._of_stored(holder, rank))
        best = np.maximum(self._quiet.best(quiet_merit), self._zeroing_merit)
        value = best if self._side else ~best
        np.copyto(value, fresh, where=(ranks < rank) | (ranks == NO_RANK))
        # The side that has just moved holds the position score.
        if holder == self._stored_side and rank == self._complete_below:
            settled = ranks == rank
            fresh[settled] = value[settled]
            self._complete_below += 1
        return value

    def _recoloured(self, value: Codes) -> Codes:
        """Return codes of scores with the colours of the cell. Other codes become meaningless."""
        return 255 - value if self._swapped else value


def _merit(side: Side, code: Codes) -> Codes:
    """Return the merits of codes for a side: the greater, the better; 0 for ``NONE``."""
    merit = code.copy() if side else ~code
    merit[code == NONE] = 0
    return merit


def terminal_values(side: Side, ranks: NDArray[np.uint8]) -> Codes:
    """Return the values of mate and stalemate positions with a side to move, ``NONE`` elsewhere."""
    return np.where(ranks < FIRST_LAYER, ranks if side else 255 - ranks, NONE).astype(np.uint8)


_MAX_LOADED_MEN: Final = 4
"""Most men of tables that are loaded whole and kept in memory even if only a few positions are needed."""
_MAX_SINGLES: Final = 1 << 12
"""Most positions that are looked up one by one."""


class RightlessValues:
    """Finds values and depths of positions without castling rights.

    Its methods raise as :meth:`Values.stored` does.
    """

    def __init__(self, values: "Values") -> None:
        self._values, self._layered = values, values.variant.layered
        self._loaded: dict[Material, LoadedTable] = {}

    def values_of(self, states: Sequence[State]) -> list[Code]:
        """Return the code of V(P, A) of each state."""
        self._values.learn(self._values.questions_of(states))
        return [code_of(self._values.stored(state).value) for state in states]

    def inheriting_states(self, route: Route) -> PackedStates | TableStates:
        """Return the states after a quiet route, which inherit the accrued score, for every accrued score."""
        cell = route.destination
        file = self._values.packed_table(cell.material()[0]) if self._layered else None
        if file is None or not file.info.stores_accrued:
            return self._in_memory(route, accrued=self._layered)
        return PackedStates(file, cell, side_after(route), lambda zeroing: self.fresh(zeroing)[0])

    def fresh(self, route: Route) -> tuple[Block, bool]:
        """Return the fresh values and depths after a zeroing route, and whether the depths are valid."""
        cell = route.destination
        is_large = cell.men > _MAX_LOADED_MEN or self._values.packed_table(cell.material()[0]) is not None
        if is_large and cell.size <= _MAX_SINGLES:
            return Block(self._fresh_one_by_one(route), np.zeros(cell.size, np.uint16)), False
        return self._in_memory(route, accrued=False).fresh(), True

    def _in_memory(self, route: Route, *, accrued: bool) -> TableStates:
        """Return the states that a route leads to, from a table loaded whole (unpacked first if packed).

        :raises MissingLayerError: if accrued scores are needed and the table stores none.
        """
        assert route.ep_square is None, "tables in memory have no en passant positions"
        material, _ = route.destination.material()
        loaded = self._loaded.get(material)
        if loaded is None or (accrued and not loaded.stores_accrued):
            # Only one large table is kept at a time.
            self._loaded = {key: table for key, table in self._loaded.items() if key.men <= _MAX_LOADED_MEN}
            if accrued and not self._values.table(material).info.stores_accrued:
                raise MissingLayerError(
                    f"{material} was built without accrued scores, and what castling rights are worth "
                    "depends on them: build it again (tbgen build --force)"
                )
            loaded = self._loaded[material] = LoadedTable(self._values.plain_table(material))
        return TableStates(loaded, route.destination, side_after(route))

    def _fresh_one_by_one(self, route: Route) -> NDArray[np.uint8]:
        """Return the fresh values after a zeroing route, looked up one by one."""
        cell, side = route.destination, side_after(route)
        slots = np.flatnonzero(ranks_of(cell)[side] != NO_RANK)
        value = np.full(cell.size, NONE, np.uint8)
        if route.ep_square is None:
            material, swapped = cell.material()
            layout, mover = layout_of(material), SIDES[side ^ swapped]
            places = [Place(layout, mover, Slot(slot), -1) for slot in slots_in_table(cell)[slots].tolist()]
            self._values.learn((place, NO_SCORE) for place in places)
            codes = [self._values.fresh(place)[0] for place in places]
            value[slots] = [255 - code for code in codes] if swapped else codes
        else:
            boards = [board_after(route, slot) for slot in slots.tolist()]
            positions = [locate(board) for board in boards if board is not None]
            value[slots] = self.values_of([State(position, position.score) for position in positions])
        return value


def board_after(route: Route, slot: int) -> chess.Board | None:
    """Return the position of a slot after a route, without castling rights; None if two men would stand on
    one square."""
    board = route.destination.board_of(side_after(route), slot)
    if board is not None:
        board.ep_square = route.ep_square
    return board
