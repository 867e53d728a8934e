"""Values of the successors of positions with castling rights: many at once, with any accrued score.

A packed table stores the values with one side to move. The values with the other side to move, the derived
side, follow from the values one ply later. If all men of the derived side are mobile in a cell, the quiet
moves of this side stay in the cell, and only the best of its zeroing moves is needed for each position. See
docs/glossary.md for cells, slots and routes.
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
    CallbackBoundsSource,
    places_of,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.errors import MissingLayerError
from tbgen.index.arrays import slots_of
from tbgen.index.codes import FRESH, LAST_RUN, NO_SCORE
from tbgen.index.layout import SIDES, WHITE_TO_MOVE, Side, Slot, layout_of
from tbgen.index.position import Place, locate
from tbgen.index.table import AccruedForm, RunIndex
from tbgen.moves.kernels.words import Codes
from tbgen.probe.states import State
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER
from tbgen.tables.open_table import OpenTable

if TYPE_CHECKING:
    from tbgen.probe.values import Values

_MAX_LOADED_MEN: Final = 4
"""Maximum number of men of tables that are loaded whole, even for a few positions, and kept in memory."""
_MAX_ONE_BY_ONE: Final = 1 << 12
"""Maximum number of positions that are looked up one by one."""


class QuietMoves:
    """Finds the best quiet moves of one side in a cell in which all men of this side are mobile.

    :param side: the side that moves.
    """

    def __init__(self, cell: Cell, side: Side) -> None:
        self._cell = cell
        self._side = side
        standing = np.array([cell.standing_mask >> square & 1 for square in range(64)], bool)
        squares = np.indices((64,) * len(cell.mobile), sparse=True)
        self._distinct = np.ones((64,) * len(cell.mobile), bool)
        """bool, one axis of 64 squares for each mobile man: whether all men are on different squares."""
        for index, square in enumerate(squares):
            self._distinct &= ~standing[square]
            for other in squares[:index]:
                self._distinct &= square != other

    def best_merit(self, merit: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the greatest merit among the successors of each position: uint8 (slots,), 0 without moves.

        :param merit: uint8 (slots,): the merit of each successor, as :func:`_merits` returns it.
        """
        best = np.zeros(self._distinct.shape, np.uint8)
        for axis, man in enumerate(self._cell.mobile):
            if man.colour == self._side:
                grids = merit.reshape(best.shape), self._distinct
                merits, is_free = (np.ascontiguousarray(np.moveaxis(grid, axis, 0)) for grid in grids)
                best_of_man = np.zeros_like(merits)
                for step in KINDS[man.kind].rides:
                    np.maximum(best_of_man, _best_on_ride(merits, is_free, step), out=best_of_man)
                for step in KINDS[man.kind].leaps:
                    for origin, target in _origins_and_targets(step):
                        best_of_man[origin] = np.maximum(best_of_man[origin], merits[target])
                np.maximum(best, np.moveaxis(best_of_man, 0, axis), out=best)
        return best.reshape(-1)


def _best_on_ride(merit: NDArray[np.uint8], is_free: NDArray[np.bool_], step: Step) -> NDArray[np.uint8]:
    """Return, for each square, the greatest merit that a man reaches from it by riding in one direction."""
    best = np.zeros_like(merit)
    for origin, target in _origins_and_targets(step):
        # From an empty square, the ride continues as if it had begun there.
        best[origin] = np.where(is_free[target], np.maximum(merit[target], best[target]), 0)
    return best


@cache
def _origins_and_targets(step: Step) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return origins with the targets one step further, grouped by ascending number of steps to the edge."""
    files = np.arange(64) & 7
    ranks = np.arange(64) >> 3
    steps_to_edge = np.full(64, 7)
    for coordinate, by in ((files, step[0]), (ranks, step[1])):
        if by:
            steps_to_edge = np.minimum(steps_to_edge, (7 - coordinate if by > 0 else coordinate) // abs(by))
    origins = [np.flatnonzero(steps_to_edge == steps) for steps in range(1, int(steps_to_edge.max()) + 1)]
    return [(origin, origin + step[0] + 8 * step[1]) for origin in origins]


def is_value_fresh(fresh: Codes, ranks: Codes, side: Side, holder: Side, rank: int) -> NDArray[np.bool_]:
    """Return whether the value with an accrued score is the fresh value: bool, shape of ``fresh``.

    :param fresh: fresh values of positions with ``side`` to move.
    :param ranks: position ranks of these positions.
    :param holder: the side that holds the accrued score.
    :param rank: the rank of the accrued score.
    """
    is_fresh = (ranks == rank) & (holder != side)  # the side that has just moved holds the position score
    return np.asarray((np.minimum(fresh, 255 - fresh) < rank) | (ranks < rank) | is_fresh, np.bool_)


class TableStates:
    """Values and depths of a cell's positions with one side to move, from a table in memory.

    :param cell: a cell without castling rights. In the table, its colours may be swapped.
    :param side: the side to move.
    """

    has_depths: Final = True

    def __init__(self, index: RunIndex, cell: Cell, side: Side) -> None:
        _, self._swapped = cell.material()
        self._index = index
        self._table = index.table
        self._side = SIDES[side ^ self._swapped]
        self._ranks = ranks_of(cell)[side]
        is_position = self._ranks != NO_RANK
        self._slots = np.where(is_position, slots_in_table(cell), 0)
        self._value = np.where(is_position, self._table.value[self._side][self._slots], NONE).astype(np.uint8)
        self._depth = self._table.depth[self._side][self._slots]

    def fresh_block(self) -> Block:
        """Return the fresh values and depths."""
        return self._recolour(self._value, self._depth)

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return V(P, A) and D(P, A) of all positions, where A is this score with g(P) folded into it.

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
        return self._recolour(np.where(fresh, self._value, value), np.where(fresh, self._depth, depth))

    @cached_property
    def _runs(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        return [self._index.runs_of_slots(holder, self._side, self._slots) for holder in SIDES]

    def _recolour(self, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> Block:
        """Return values and depths from the table, converted to the colours of the cell."""
        codes = np.where(value == NONE, NONE, 255 - value) if self._swapped else value
        return Block(codes.astype(np.uint8), depth.astype(np.uint16))


def ranks_of(cell: Cell) -> NDArray[np.uint8]:
    """Return the position ranks of a cell, shape (2 sides to move, slots); ``NO_RANK`` for slots without a
    position."""
    frame = frame_of_cell(cell)
    (pool,) = pools_of_ends(frame, [], CallbackBoundsSource(), [LOWER])
    return BoundsGame(frame, pool).ranks()


def slots_in_table(cell: Cell) -> NDArray[np.int64]:
    """Return, for each slot of a cell, the canonical slot of its position in the table; -1 if it has none."""
    material, swapped = cell.material()
    layout = layout_of(material)
    slots = np.arange(cell.size)
    shift_squares = places_of(cell, zip(layout.colours, layout.kinds, strict=True), swapped)
    columns = [
        slots >> shift & 63 if shift >= 0 else np.full(cell.size, square) for shift, square in shift_squares
    ]
    for pawns in cell.pawns[::-1] if swapped else cell.pawns:
        columns += [np.full(cell.size, square) for square in chess.scan_forward(pawns)]
    squares = np.stack(columns, axis=1).astype(np.uint8)
    return slots_of(layout, squares ^ np.uint8(56) if swapped else squares)


class PackedStates:
    """Values, without depths, of a cell's positions with one side to move, from a packed table.

    :param table: the table, which stores functions for ``stored_side``.
    :param cell: a cell in which all men of the side to move are mobile.
    :param get_fresh: function that returns the fresh values of the positions that a zeroing route leads to.

    :raises DamagedTableError: if a block cannot be decoded.
    """

    has_depths: Final = False

    def __init__(
        self, table: OpenTable, stored_side: Side, cell: Cell, side: Side, get_fresh: Callable[[Route], Block]
    ) -> None:
        self._side = side
        _, self._swapped = cell.material()
        self._stored_side = SIDES[stored_side ^ self._swapped]
        frame = frame_of_cell(cell)
        routes = list(routes_of(frame))
        blocks = {route: get_fresh(route) for route in routes if self._is_needed(cell, route)}
        # All other exits get the worst value for the side to move, so that they do not count.
        exits = CallbackBoundsSource(lambda route, _: blocks.get(route), lambda route, _: WORST[route.side])
        (pool,) = pools_of_ends(frame, routes, exits, [LOWER])
        game = BoundsGame(frame, pool)
        self._ranks = game.ranks()
        self._fresh = [terminal_values(side, self._ranks[side]) for side in SIDES]
        stored_ranks = self._ranks[self._stored_side]
        slots = np.flatnonzero((stored_ranks >= FIRST_LAYER) & (stored_ranks != NO_RANK))
        value, functions = table.functions_at(slots_in_table(cell)[slots])
        self._functions = functions.without_unused()
        by_capture = game.best_exits(self._stored_side).value[slots]
        self._fresh[self._stored_side][slots] = np.where(value == NONE, by_capture, self._recolour(value))
        self._slots = slots
        self._complete_below = FIRST_LAYER
        """Position rank below which the fresh values of the derived side have been found."""
        if side != self._stored_side:
            self._quiet_moves = QuietMoves(cell, side)
            self._zeroing_merit = _merits(side, game.best_exits(side).value)

    def _is_needed(self, cell: Cell, route: Route) -> bool:
        """Return whether the values after a route are needed.

        They are needed after captures by the stored side and, if the derived side is to move, after all
        zeroing moves of the derived side.
        """
        if route.side == self._side != self._stored_side:
            return not route.is_quiet
        return route.side == self._stored_side and route.destination.men < cell.men

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return V(P, A) of all positions, where A is this score with g(P) folded into it."""
        if self._side == self._stored_side:
            value = self._stored_side_values(holder, rank)
        else:
            while self._complete_below < rank:
                self._derive(self._stored_side, self._complete_below)
            value = self._derive(holder, rank)
        return Block(value, np.zeros(len(value), np.uint16))

    def _stored_side_values(self, holder: Side, rank: int) -> Codes:
        """Return the values for :meth:`with_accrued` if the stored side is to move."""
        accrued = GScore(rank, holder == WHITE_TO_MOVE).code
        side = self._stored_side
        slots = self._slots
        fresh = self._fresh[self._stored_side]
        function_numbers = self._functions.function_numbers
        code = self._functions.values_for(Code(255 - accrued if self._swapped else accrued))[function_numbers]
        code = np.where(code == NONE, accrued, np.where(code == FRESH, fresh[slots], self._recolour(code)))
        is_fresh = is_value_fresh(fresh[slots], self._ranks[side, slots], side, holder, rank)
        value = fresh.copy()
        value[slots] = np.where(is_fresh, fresh[slots], code)
        return value

    def _derive(self, holder: Side, rank: int) -> Codes:
        """Return the values for :meth:`with_accrued` if the derived side is to move.

        The fresh values of the derived side must already be known for position ranks below ``rank``.
        """
        ranks = self._ranks[self._side]
        fresh = self._fresh[self._side]
        quiet_merit = _merits(self._side, self._stored_side_values(holder, rank))
        best = np.maximum(self._quiet_moves.best_merit(quiet_merit), self._zeroing_merit)
        value = best if self._side else ~best
        np.copyto(value, fresh, where=(ranks < rank) | (ranks == NO_RANK))
        # The side that has just moved holds the position score.
        if holder == self._stored_side and rank == self._complete_below:
            settled = ranks == rank
            fresh[settled] = value[settled]
            self._complete_below += 1
        return value

    def _recolour(self, value: Codes) -> Codes:
        """Return codes of scores, converted to the colours of the cell. Other codes become meaningless."""
        return 255 - value if self._swapped else value


def _merits(side: Side, codes: Codes) -> Codes:
    """Return how good codes are for ``side``: the greater the merit, the better; 0 for ``NONE``."""
    merits = codes.copy() if side else ~codes
    merits[codes == NONE] = 0
    return merits


def terminal_values(side: Side, ranks: NDArray[np.uint8]) -> Codes:
    """Return the values of mate and stalemate positions with ``side`` to move; ``NONE`` for all others."""
    return np.where(ranks < FIRST_LAYER, ranks if side else 255 - ranks, NONE).astype(np.uint8)


class RightlessValues:
    """Finds values and depths of positions without castling rights.

    The methods raise the same errors as :meth:`Values.stored_goal`.
    """

    def __init__(self, values: "Values") -> None:
        self._values = values
        self._library = values.library
        self._layered = values.variant.layered
        self._loaded: dict[Material, RunIndex] = {}

    def values_of(self, states: Sequence[State]) -> list[Code]:
        """Return the code of V(P, A) for each state."""
        self._values.library.prefetch(self._values.questions_of(states))
        return [code_of(self._values.stored_goal(state).value) for state in states]

    def states_after_quiet(self, route: Route) -> PackedStates | TableStates:
        """Return the states after a quiet route, for any accrued score; they inherit this score."""
        cell = route.destination
        if not self._layered:
            return self._states_in_memory(route, needs_accrued=False)
        table = self._library.table(cell.material()[0])
        if table.info.accrued_form is not AccruedForm.FUNCTIONS:
            return self._states_in_memory(route, needs_accrued=True)
        assert table.stored_side is not None, "functions are those of one side"
        side = side_after(route)
        return PackedStates(
            table, table.stored_side, cell, side, lambda zeroing: self.fresh_after(zeroing)[0]
        )

    def fresh_after(self, route: Route) -> tuple[Block, bool]:
        """Return the fresh values and depths after a zeroing route, and whether these depths are valid."""
        cell = route.destination
        is_large = cell.men > _MAX_LOADED_MEN or self._library.table(cell.material()[0]).info.derives
        if is_large and cell.size <= _MAX_ONE_BY_ONE:
            return Block(self._fresh_one_by_one(route), np.zeros(cell.size, np.uint16)), False
        return self._states_in_memory(route, needs_accrued=False).fresh_block(), True

    def _states_in_memory(self, route: Route, *, needs_accrued: bool) -> TableStates:
        """Return the states that a route leads to. Their table is loaded whole, if necessary after unpacking.

        :raises MissingLayerError: if accrued scores are needed, but the table does not store them.
        """
        assert route.ep_square is None, "tables in memory have no en passant positions"
        material, _ = route.destination.material()
        loaded = self._loaded.get(material)
        if loaded is None or (needs_accrued and not loaded.table.stores_accrued):
            # Only one large table at a time is kept in memory.
            self._loaded = {key: table for key, table in self._loaded.items() if key.men <= _MAX_LOADED_MEN}
            if needs_accrued and not self._library.table(material).info.stores_accrued:
                raise MissingLayerError(
                    f"{material} was built without accrued scores, and what castling rights are worth "
                    "depends on them: build it again (tbgen build --force)"
                )
            loaded = self._loaded[material] = self._library.loaded(material)
        return TableStates(loaded, route.destination, side_after(route))

    def _fresh_one_by_one(self, route: Route) -> NDArray[np.uint8]:
        """Look up the fresh values after a zeroing route one by one, and return them."""
        cell = route.destination
        side = side_after(route)
        slots = np.flatnonzero(ranks_of(cell)[side] != NO_RANK)
        value = np.full(cell.size, NONE, np.uint8)
        if route.ep_square is None:
            material, swapped = cell.material()
            layout = layout_of(material)
            mover = SIDES[side ^ swapped]
            places = [Place(layout, mover, Slot(slot), -1) for slot in slots_in_table(cell)[slots].tolist()]
            self._library.prefetch((place, NO_SCORE) for place in places)
            codes = [self._library.fresh_entry(place)[0] for place in places]
            value[slots] = [255 - code for code in codes] if swapped else codes
        else:
            boards = [board_after(route, slot) for slot in slots.tolist()]
            positions = [locate(board) for board in boards if board is not None]
            value[slots] = self.values_of([State(position, position.score) for position in positions])
        return value


def board_after(route: Route, slot: int) -> chess.Board | None:
    """Return the position of a slot after a route, without castling rights; None if two men would be on the
    same square."""
    board = route.destination.board_of(side_after(route), slot)
    if board is not None:
        board.ep_square = route.ep_square
    return board
