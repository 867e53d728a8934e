"""Values after promotions, where there are more mobile men than cells have: an exit source.

A promotion beside two pieces leads to positions of five mobile men, 64 times as many as a cell has. They are
solved for values alone (:mod:`tbgen.cells.values`), each end if need be, and in a row with what steps and
captures of pawns lead to. Of their values only those are kept that promotions lead to: with a man on the last
rank that may be the promoted one, and the other side to move.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.board.kinds import KING
from tbgen.board.score import NONE, Code
from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import ENDS, LOWER, WORST, Block, Interval, Knowledge, side_after
from tbgen.cells.cell import Cell, mobile_squares
from tbgen.cells.lineup import lineup_of_cell
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.values import solve_values
from tbgen.costs import RATES, memory_of, seconds_of
from tbgen.index.layout import BLACK_TO_MOVE, SIDES, Side
from tbgen.index.position import PIECE_TYPES
from tbgen.index.symmetry import IMAGE, MIRROR_RANKS
from tbgen.retro.kernels.bits import Codes
from tbgen.solve.exits import ExitSource
from tbgen.solve.promotions import promoted_man, symmetries, whole_cell, wholes_of
from tbgen.solve.solved_cells import end_of
from tbgen.solve.tables import Tables
from tbgen.solve.won_cells import WonCells
from tbgen.store.cache import Recent

_FAR: Final = 60_000
"""Plies that no value takes: nothing says how many it does."""
_OPEN: Final = 256 << 20
"""Bytes of values that are kept unpacked."""
_SLICE_LEVEL: Final = 6
_WHOLE_LEVEL: Final = 1
"""Of compression, for what is kept and for what is soon read again."""
_CHUNK: Final = 1 << 20
"""Words of 64 positions that are looked at at a time."""

_Slices: TypeAlias = dict[tuple[int, int], bytes]
"""Values with Black to move and a man of some kind on a square, packed, by kind and square."""


class PromotedCells(ExitSource):
    """Bounds of positions after promotions, by whole cells (:mod:`tbgen.solve.promotions`).

    :param tables: they say what captures and steps of pawns lead to, as far as they hold it.
    :param won: what is known to be won in whole cells.
    """

    def __init__(self, tables: Tables, won: WonCells) -> None:
        self._tables, self._won, self._mobile = tables, won, won.mobile
        self._slices: dict[Cell, tuple[_Slices, _Slices]] = {}
        """By end."""
        self._open = Recent[Codes](_OPEN, lambda values: values.nbytes, least=1)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept in memory."""
        ends = {id(end): end for by_end in self._slices.values() for end in by_end}
        return sum(len(packed) for end in ends.values() for packed in end.values()) + self._open.size

    def __len__(self) -> int:
        """The number of cells that have been solved."""
        return len(self._slices)

    def __contains__(self, cell: Cell) -> bool:
        """Whether a whole cell has been solved, as it is or with its files mirrored."""
        return not self._slices.keys().isdisjoint(map(cell.image, symmetries(SIDES[0])))

    def forget(self) -> None:
        """Drop from memory what can be unpacked again."""
        self._open.clear()

    def unsolved(self, home: Cell) -> list[Cell]:
        """Return the whole cells to solve for what is known after a promotion that leads to a home, each
        after those that steps and captures of pawns lead to and that no table holds."""
        cells: dict[Cell, None] = {}

        def walk(cell: Cell) -> None:
            for route in self._large_routes(cell):
                if (
                    route.promoted is None
                    and route.destination not in cells
                    and not self._tables.knows(route)
                ):
                    walk(route.destination)
            cells[cell] = None

        for whole in wholes_of(home, self._mobile):
            if whole not in self:
                walk(whole)
        return list(cells)

    def _large_routes(self, cell: Cell) -> list[Route]:
        """Return the ways out of a whole cell on which no mobile man is captured."""
        routes = routes_of(lineup_of_cell(cell))
        return [route for route in routes if len(route.destination.mobile) > self._mobile]

    def takes(self, cells: Sequence[Cell]) -> tuple[float, int]:
        """Return about how many seconds, and bytes of memory, it takes to solve whole cells."""
        seconds, memory = 0.0, 0
        for cell in cells:
            around = sum(route.part.size for route in self._large_routes(cell) if route.promoted is None)
            games = len(ENDS) if any(cell.pawns) else 1  # without pawns all exits are values
            seconds += games * seconds_of("values", cell.size)
            memory = max(memory, memory_of("values", cell.size) + cell.size + around)
        return seconds, memory + (RATES.process["cells"] << 20)

    def solve(
        self,
        cells: Sequence[Cell],
        known: Knowledge,
        threads: int = 1,
        between: Callable[[], object] = lambda: None,
    ) -> Iterator[Cell]:
        """Solve whole cells, in the order of :meth:`unsolved`; yield each when it is solved.

        :param known: tells what captures of mobile men are worth.
        :param between: called every few seconds; what it raises ends the work.
        :raises NoCodeError: if a cell has scores beyond G63.0.
        :raises MemoryError: if there is too little.
        """
        wholes: dict[Cell, _Whole] = {}
        needed = {
            (route.destination, side_after(route)) for cell in cells for route in self._large_routes(cell)
        }
        for cell in cells:
            around = _Around(known, self._tables, wholes, self._mobile)
            exact = all(map(around.same_ends, routes_of(lineup_of_cell(cell))))
            sides = [side for side in SIDES if (cell, side) in needed]
            slices, planes = [], []
            for end in ENDS[:1] if exact else ENDS:
                values = solve_values(cell, around, end, threads, between)
                if end == LOWER:
                    _add_wins(values, cell, self._won)
                slices.append(_slices_of(values, cell))
                planes.append({side: zlib_ng.compress(values[side], _WHOLE_LEVEL) for side in sides})
                del values
            wholes[cell] = _Whole(planes[0], planes[-1])
            self._slices[cell] = slices[0], slices[-1]
            yield cell

    def knows(self, route: Route) -> bool:
        """Whether anything is known of the positions that a route leads to."""
        return self._found(route) is not None

    def block(self, route: Route, end: int, bound: Code) -> Block | None:
        """Return one end of what is known of the positions that a route leads to."""
        found = self._found(route)
        if found is None:
            return None
        cell, symmetry = found
        assert route.promoted is not None, "only promotions are known"
        end = 1 - end if symmetry & MIRROR_RANKS else end
        kind = route.destination.frozen[0].man.kind
        values = self._values(cell, end, kind, IMAGE[symmetry][route.promoted])
        # The worse for the side of the end the more, or the fewer, plies it takes.
        slow = values < NONE if end == LOWER else (values > NONE)
        stored = Block(values, np.where(slow, np.uint16(_FAR), np.uint16(0)))
        place = cell.mobile.index(promoted_man(kind))
        rest = [(man.colour, man.kind) for number, man in enumerate(cell.mobile) if number != place]
        return gathered(replace(route.destination, frozen=()), rest, symmetry, stored)

    def worth(self, position: CellPosition) -> Interval | None:
        """Return what is known of a position after a promotion, fresh."""
        board = position.board
        if not self._slices or chess.popcount(board.occupied & ~board.pawns) <= self._mobile:
            return None
        cell = Cell.of_board(board, mobile_squares(board))
        for symmetry in symmetries(SIDES[board.turn]):
            whole = cell.image(symmetry)
            if whole in self._slices:
                return self._worth(whole, position.seen_by(symmetry).board, symmetry)
        return None

    def _worth(self, whole: Cell, seen: chess.Board, symmetry: int) -> Interval | None:
        """Return what is known of a position as it is seen by a symmetry, as it was seen before."""
        pieces = seen.occupied_co[chess.WHITE] & ~seen.kings & ~seen.pawns & chess.BB_RANK_8
        if not pieces:
            return None
        square = chess.lsb(pieces)
        kind = PIECE_TYPES.index(seen.piece_type_at(square))
        squares = whole.squares_of(seen)
        squares.remove(square)
        slot = whole.slot(squares)
        found = [Code(int(self._values(whole, end, kind, square)[slot])) for end in ENDS]
        if symmetry & MIRROR_RANKS:
            found = [Code(255 - code) for code in reversed(found)]
        return Interval(*found)

    def _found(self, route: Route) -> tuple[Cell, int] | None:
        """Return the solved whole cell that a route leads to, and the symmetry that leads there."""
        whole = None if route.promoted is None else whole_cell(route.destination, route.side, self._mobile)
        images = [] if whole is None else [(whole.image(each), each) for each in symmetries(route.side)]
        return next((image for image in images if image[0] in self._slices), None)

    def _values(self, cell: Cell, end: int, kind: int, square: int) -> Codes:
        """Return one end of all positions of a whole cell with a man of a kind on a square of the last rank,
        Black to move, by the squares of the others: codes, shape (slots,)."""
        key = cell, end, kind, square
        values = self._open.get(key)
        if values is None:
            values = np.frombuffer(zlib_ng.decompress(self._slices[cell][end][kind, square]), np.uint8)
            self._open.put(key, values)
        return values


@dataclass(frozen=True)
class _Whole:
    """Bounds of all positions of a whole cell, packed: by side to move."""

    lower: dict[Side, bytes]
    upper: dict[Side, bytes]

    @property
    def exact(self) -> bool:
        """Whether both ends are the same."""
        return self.lower is self.upper

    def values(self, end: int, side: Side) -> Codes:
        """Return one end with a side to move: codes, shape (slots,)."""
        packed = (self.lower, self.upper)[end][side]
        return np.frombuffer(zlib_ng.decompress(packed), np.uint8)


@dataclass(frozen=True)
class _Around:
    """What is known around a whole cell, as :class:`tbgen.cells.bounds.Knowledge`: of other whole cells what
    tables or those solved before say, and else what is known."""

    known: Knowledge
    tables: Tables
    wholes: dict[Cell, _Whole]
    mobile: int

    def block(self, route: Route, end: int) -> Block | None:
        """Return one end of what is known about the positions that a route leads to, if anything."""
        if len(route.destination.mobile) <= self.mobile:
            return self.known.block(route, end)
        if self.tables.knows(route):
            return self.tables.block(route, end, WORST[end])
        whole, side = self.wholes.get(route.destination), side_after(route)
        # After a double step that may be captured, only the bound of the other side holds.
        if whole is None or (route.passed is not None and end != end_of(side)):
            return None
        return Block(whole.values(end, side), np.zeros(0, np.uint16))

    def bound(self, route: Route, end: int) -> Code:
        """Return one end that holds for all of them."""
        return self.known.bound(route, end)

    def same_ends(self, route: Route) -> bool:
        """Whether both ends are known to be the same."""
        if len(route.destination.mobile) <= self.mobile:
            return self.known.same_ends(route)
        whole = self.wholes.get(route.destination)
        return self.tables.same_ends(route) or (whole is not None and whole.exact and route.passed is None)


def _slices_of(values: NDArray[np.uint8], cell: Cell) -> _Slices:
    """Return the values, uint8 (2, slots), that promotions lead to."""
    boards = values[BLACK_TO_MOVE].reshape((64,) * len(cell.mobile))
    places = {man.kind: cell.mobile.index(man) for man in cell.mobile if man == promoted_man(man.kind)}
    return {
        (kind, square): zlib_ng.compress(np.ascontiguousarray(boards.take(square, place)), _SLICE_LEVEL)
        for kind, place in places.items()
        if kind != KING
        for square in chess.SquareSet(chess.BB_RANK_8)
    }


def _add_wins(values: NDArray[np.uint8], cell: Cell, won: WonCells) -> None:
    """Put what White is known to win into the values, uint8 (2, slots), of the lower end."""
    for side in SIDES:
        words = won.won(cell, side)
        if words is None:
            continue
        for first in range(0, len(words), _CHUNK):
            part = np.unpackbits(words[first : first + _CHUNK].view(np.uint8), bitorder="little")
            values[side, 64 * first : 64 * first + len(part)][part.view(bool)] = WORST[1]
