"""Positions with castling rights: cells in which the kings and rooks that may castle stand still.

What these do leaves the cell, and mostly without a reset: what a quiet move of theirs is worth depends on the
accrued score. So such a cell is solved layer by layer, and the worth of its exits is set anew for each layer.
Exits lead to tables once no right is left, else to cells with fewer rights, fewer men or pawns further on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import LOWER, NO_RANK, Block, Game, side_after
from tbgen.cells.cell import Cell, man_of, mobile_squares, side_of
from tbgen.cells.frames import Castling, frame_of_cell
from tbgen.cells.position import Position
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.table_states import StoredTable, TableStates
from tbgen.cells.warmup import compile_kernels
from tbgen.index.arrays import slots_of
from tbgen.index.layout import SIDES, Side, layout_of
from tbgen.index.symmetry import swap_colours
from tbgen.index.table import Table
from tbgen.material import Material
from tbgen.retro.kernels.layers import FIRST_LAYER
from tbgen.score import NONE, Code
from tbgen.variant import Variant

_SWAP: Final = np.array([swap_colours(square) for square in range(64)], np.uint8)


class Home(NamedTuple):
    """A cell and the castling rights in it."""

    cell: Cell
    castlings: tuple[Castling, ...]


@dataclass(frozen=True)
class Layers:
    """Values and depths of a cell with castling rights, of shape (2 sides to move, slots)."""

    home: Home
    value: NDArray[np.uint8]
    """Fresh values: codes, ``NONE`` where there is no position."""
    depth: NDArray[np.uint16]
    """Plies."""
    accrued: dict[tuple[Side, int], tuple[NDArray[np.uint8], NDArray[np.uint16]]]
    """The same by the holder of an accrued score and its rank; ``NONE`` where the position's own score has a
    smaller rank. Empty in whole-game mobility."""

    def goal(self, position: Position, holder: Side, rank: int) -> tuple[Code, int]:
        """Return code and depth in plies of a state whose accrued score has the position's own folded in."""
        at = side_of(position.board), position.slot
        value, depth = self.accrued.get((holder, rank), (self.value, self.depth))
        if value[at] == NONE:
            value, depth = self.value, self.depth
        return Code(int(value[at])), int(depth[at])

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values and depths with the accrued score of a rank that a side has, the positions' own
        folded in; shape (2, slots) each."""
        layer = self.accrued.get((holder, rank))
        if layer is None:
            return Block(self.value, self.depth)
        value, depth = layer
        fresh = value == NONE  # where a position's own score is that score, both are the same
        return Block(np.where(fresh, self.value, value), np.where(fresh, self.depth, depth))


class CellStates:
    """As :class:`TableStates`, for the positions of a cell with castling rights that a route leads to."""

    def __init__(self, layers: Layers, destination: Cell, side: Side) -> None:
        self._layers, self._destination, self._side = layers, destination, side

    def fresh(self) -> Block:
        """Return fresh values and depths."""
        return self._of_destination(Block(self._layers.value, self._layers.depth))

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values and depths with an accrued score."""
        return self._of_destination(self._layers.with_accrued(holder, rank))

    def _of_destination(self, block: Block) -> Block:
        men = [(man.colour, man.kind) for man in self._layers.home.cell.mobile]
        stored = Block(*(np.ascontiguousarray(array[self._side]) for array in block))
        return gathered(self._destination.apart_from(self._layers.home.cell), men, 0, stored)


class _Exits:
    """What is known of the exits of a cell: see :class:`tbgen.cells.bounds.Knowledge`."""

    def __init__(self, states: dict[Route, TableStates | CellStates]) -> None:
        self._states = states

    def block(self, route: Route, end: int) -> Block:
        return self._states[route].fresh()

    def bound(self, route: Route, end: int) -> Code:
        raise AssertionError("every exit of a cell with castling rights is known")


class CastlingSolver:
    """Solves cells with castling rights, and keeps what it has solved.

    :param table: returns a table with all its accrued scores.
    """

    def __init__(self, table: Callable[[Material], Table], variant: Variant) -> None:
        self._table, self._variant = table, variant
        self._stored: dict[Material, StoredTable] = {}
        self._layers: dict[Home, Layers] = {}

    def goal(self, board: chess.Board, holder: Side, rank: int) -> tuple[Code, int]:
        """Return the code of V(P, A) and D(P, A) in plies for a position with castling rights where play goes
        on and the position's own score has been folded into A.

        Raises as ``table`` does.
        """
        compile_kernels()
        home = _home_of(board)
        squares = [frozen.square for frozen in home.cell.frozen]
        mobile = chess.SquareSet(mobile_squares(board)) - chess.SquareSet(squares)
        return self._solved(home).goal(Position(board, int(mobile)), holder, rank)

    def _solved(self, home: Home) -> Layers:
        if home not in self._layers:
            self._layers[home] = self._solve(home)
        return self._layers[home]

    def _solve(self, home: Home) -> Layers:
        frame = frame_of_cell(home.cell, home.castlings)
        states = {route: self._states(home, route) for route in routes_of(frame)}
        game = Game(frame, states, _Exits(states), LOWER, resets=self._variant.resets)
        if not self._variant.resets:
            return Layers(home, *game.solve(), {})
        ranks = game.ranks()
        own = np.stack([255 - ranks[0], ranks[1]])
        value = np.where(ranks < FIRST_LAYER, own, NONE).astype(np.uint8)
        depth = np.zeros(value.shape, np.uint16)
        layers = {}
        for rank in range(FIRST_LAYER, 1 + int(ranks.max(initial=0, where=ranks != NO_RANK))):
            game.recall(value, depth)
            for holder in SIDES:
                for route, reached in states.items():
                    if route.quiet:
                        game.set_block(route, reached.with_accrued(holder, rank))
                layers[holder, rank] = game.open_layer(holder, rank)
            for side in SIDES:
                settled = ranks[side] == rank
                of_layer, plies = layers[SIDES[1 - side], rank]
                value[side][settled] = of_layer[side][settled]
                depth[side][settled] = plies[side][settled]
        return Layers(home, value, depth, layers)

    def _states(self, home: Home, route: Route) -> TableStates | CellStates:
        """Return what is known of the positions that a route leads to."""
        cell, side = route.destination, side_after(route)
        standing = set(cell.frozen)
        castlings = tuple(
            castling
            for castling in home.castlings
            if all(frozen in standing for frozen in home.cell.frozen if frozen.square in castling[:2])
        )
        if not castlings:
            return self._in_table(cell, side)
        still = {square for castling in castlings for square in castling[:2]}
        freed = cell.freed(frozen.square for frozen in cell.frozen if frozen.square not in still)
        return CellStates(self._solved(Home(freed, castlings)), cell, side)

    def _in_table(self, cell: Cell, side: Side) -> TableStates:
        material, swapped = cell.material()
        if material not in self._stored:
            self._stored[material] = StoredTable(self._table(material))
        layout = layout_of(material)
        columns = list(_columns(cell, swapped, list(zip(layout.colours, layout.kinds, strict=True))))
        slots = slots_of(layout, np.stack(columns, axis=1))
        ranks = Game(frame_of_cell(cell), [], _Exits({}), LOWER).ranks()[side]
        return TableStates(self._stored[material], SIDES[side ^ swapped], slots, swapped, ranks)


def _columns(cell: Cell, swapped: bool, men: list[tuple[int, int]]) -> Iterator[NDArray[np.uint8]]:
    """Yield the squares of a table's men in all slots of a cell, one array of shape (slots,) for each man in
    the table's order."""
    slots = np.arange(cell.size)
    last = len(cell.mobile) - 1
    left = [
        (man, (slots >> 6 * (last - place) & 63).astype(np.uint8)) for place, man in enumerate(cell.mobile)
    ]
    left += [(frozen.man, np.full(cell.size, frozen.square, np.uint8)) for frozen in cell.frozen]
    for colour, kind in men:
        wanted = man_of(SIDES[colour ^ swapped], kind)
        found = next(each for each in left if each[0] == wanted)
        left = [each for each in left if each is not found]
        yield _SWAP[found[1]] if swapped else found[1]
    for own in cell.pawns[::-1] if swapped else cell.pawns:
        for square in chess.scan_forward(own):
            yield np.full(cell.size, swap_colours(square) if swapped else square, np.uint8)


def _home_of(board: chess.Board) -> Home:
    """Return the cell of a position with castling rights."""
    castlings = []
    for colour in chess.COLORS:
        king = board.king(colour)
        assert king is not None
        for rook in chess.scan_forward(board.clean_castling_rights() & board.occupied_co[colour]):
            files = (2, 3) if rook < king else (6, 5)
            king_to, rook_to = (king & 56 | file for file in files)
            castlings.append(Castling(king, rook, king_to, rook_to))
    still = {square for castling in castlings for square in castling[:2]}
    mobile = [square for square in mobile_squares(board) if square not in still]
    return Home(Cell.of_board(board, mobile), tuple(castlings))
