"""What is known after promotions, where there are more mobile men than cells have: from all of them mobile.

A promotion beside two pieces leads to positions of five mobile men, 64 times as many as a cell has. They are
solved for values alone (:mod:`tbgen.cells.values`), each end on its own, and after what further steps and
captures of pawns lead to. Of their values only those are kept that promotions lead to, as bounds of the homes
of promotions: with the promoted man frozen on the last rank and the other side to move.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray
from zlib_ng import zlib_ng

from tbgen.board.score import NONE, Code
from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import ENDS, LOWER, WORST, Block, Bounds, Knowledge, side_after
from tbgen.cells.cell import Cell
from tbgen.cells.lineup import lineup_of_cell
from tbgen.cells.packing import slots_there
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.values import solve_values
from tbgen.cells.window import EVERYTHING, FAR, Window
from tbgen.index.layout import BLACK_TO_MOVE, SIDES, Side
from tbgen.index.symmetry import MIRROR_RANKS
from tbgen.retro.kernels.bits import Codes
from tbgen.solve.promotions import large_routes, promoted_man, symmetries, wholes_of
from tbgen.solve.solved_cells import end_of
from tbgen.solve.tables import Tables
from tbgen.solve.won_cells import WonCells

_LEVEL: Final = 1
"""Of compression, of what is soon read again."""
_CHUNK: Final = 1 << 20
"""Words of 64 positions that are looked at at a time."""


def _all_scores(_: Cell) -> Window:
    return EVERYTHING


class PromotedCells:
    """Solves whole cells (:mod:`tbgen.solve.promotions`).

    :param tables: they say what captures and steps of pawns lead to, as far as they hold it.
    :param won: what is known to be won in whole cells.
    """

    def __init__(self, tables: Tables, won: WonCells) -> None:
        self._tables, self._won, self._mobile = tables, won, won.mobile
        self._solved: dict[tuple[Cell, int, int], Window] = {}
        """Whole cells, with the kinds of men whose promotions are known, at which ends, and in which
        window."""

    def unsolved(
        self,
        home: Cell,
        window_of: Callable[[Cell], Window] = _all_scores,
        ends: Sequence[int] = ENDS,
    ) -> list[Cell]:
        """Return the whole cells to solve for what is known after a promotion that leads to a home, each
        after those that steps and captures of pawns lead to and that no table holds.

        :param window_of: tells between which scores it matters what positions of a cell are worth.
        :param ends: those that are wanted: of whole cells, White having promoted.
        """
        cells: dict[Cell, None] = {}

        def walk(cell: Cell) -> None:
            for route in large_routes(cell, self._mobile):
                if (
                    route.promoted is None
                    and route.destination not in cells
                    and not self._tables.knows(route)
                ):
                    walk(route.destination)
            cells[cell] = None

        for whole in wholes_of(home, self._mobile):
            kind, window = home.frozen[0].man.kind, window_of(whole)
            if not all(self._is_solved(whole, kind, end, window) for end in ends):
                walk(whole)
        return list(cells)

    def _is_solved(self, whole: Cell, kind: int, end: int, window: Window) -> bool:
        images = (self._solved.get((whole.image(each), kind, end)) for each in symmetries(SIDES[0]))
        return any(solved is not None and solved.covers(window) for solved in images)

    def solve(
        self,
        cells: Sequence[Cell],
        kind: int,
        known: Knowledge,
        threads: int = 1,
        between: Callable[[], object] = lambda: None,
        window_of: Callable[[Cell], Window] = _all_scores,
        ends: Sequence[int] = ENDS,
    ) -> Iterator[Bounds]:
        """Solve whole cells, in the order of :meth:`unsolved`; yield the bounds of the homes, which are
        canonical cells, of all promotions to a kind of man.

        :param known: tells what captures of mobile men are worth.
        :param between: called every few seconds; what it raises ends the work.
        :param window_of: tells between which scores it matters what positions of a cell are worth.
        :param ends: those of whole cells to find out; both where they are known to be the same.
        :raises NoCodeError: if a cell has scores beyond G63.0.
        :raises MemoryError: if there is too little.
        """
        wholes: dict[Cell, _Whole] = {}
        needed = {
            (route.destination, side_after(route))
            for cell in cells
            for route in large_routes(cell, self._mobile)
        }
        for cell in cells:
            around = _Around(known, self._tables, wholes, self._mobile)
            exact = all(map(around.same_ends, routes_of(lineup_of_cell(cell))))
            window = EVERYTHING if exact else window_of(cell)
            sides = [side for side in SIDES if (cell, side) in needed]
            homes: dict[int, dict[int, Codes]] = {square: {} for square in chess.SquareSet(chess.BB_RANK_8)}
            planes = dict[int, dict[Side, bytes]]()
            for end in ENDS[:1] if exact else ends:
                values = solve_values(cell, around, end, threads, between, window)
                if end == LOWER:
                    _add_wins(values, cell, self._won)
                boards = values[BLACK_TO_MOVE].reshape((64,) * len(cell.mobile))
                same = ENDS if exact else [end]
                for square, found in homes.items():
                    codes = boards.take(square, cell.mobile.index(promoted_man(kind))).reshape(-1)
                    found |= dict.fromkeys(same, codes)
                packed = {side: zlib_ng.compress(values[side], _LEVEL) for side in sides}
                planes |= dict.fromkeys(same, packed)
                del values, boards
            wholes[cell] = _Whole(planes, exact)
            for square, found in homes.items():
                if square not in cell.standing:
                    yield _bounds_of_home(cell, kind, square, found, window)
            self._solved |= {(cell, kind, end): window for end in planes}


def _bounds_of_home(
    whole: Cell, kind: int, square: int, found: Mapping[int, Codes], window: Window
) -> Bounds:
    """Return bounds of the canonical cell in which a man of a kind is frozen on a square of the last rank.

    :param found: by ends, what is known with Black to move, by the squares of the other men.
    :param window: in which that was found.
    """
    rest = list(whole.mobile)
    rest.remove(promoted_man(kind))
    home, symmetry = Cell.of_men(rest, whole.standing | {square: promoted_man(kind)}).canonical()
    there, swapped = slots_there(home), symmetry & MIRROR_RANKS
    side, men = BLACK_TO_MOVE ^ bool(swapped), [(man.colour, man.kind) for man in rest]
    value = np.full((len(ENDS), len(SIDES), home.size), NONE, np.uint8)
    depth = np.zeros(value.shape, np.uint16)
    for end in ENDS:
        np.copyto(value[end], WORST[end], where=there)
    for seen, codes in found.items():
        end = 1 - seen if swapped else seen
        stored = Block(codes, np.zeros(home.size, np.uint16))
        known = gathered(replace(home, frozen=()), men, symmetry, stored).value
        value[end, side] = np.where(there[side], known, np.uint8(NONE))
        # The worse for the side of the end the more plies it takes, or the fewer.
        depth[end, side, (known < NONE) if end == LOWER else (known > NONE)] = FAR
    ends = tuple(sorted(1 - end if swapped else end for end in found))
    return Bounds(home, value, depth, ends, window.swapped if swapped else window)


@dataclass(frozen=True)
class _Whole:
    """Bounds of all positions of a whole cell.

    :ivar planes: they themselves, packed: by end and side to move.
    :ivar exact: whether both ends are known to be the same.
    """

    planes: dict[int, dict[Side, bytes]]
    exact: bool

    def values(self, end: int, side: Side) -> Codes:
        """Return one end with a side to move: codes, shape (slots,)."""
        return np.frombuffer(zlib_ng.decompress(self.planes[end][side]), np.uint8)


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


def _add_wins(values: NDArray[np.uint8], cell: Cell, won: WonCells) -> None:
    """Put what White is known to win into the values, uint8 (2, slots), of the lower end."""
    for side in SIDES:
        words = won.won(cell, side)
        if words is None:
            continue
        for first in range(0, len(words), _CHUNK):
            part = np.unpackbits(words[first : first + _CHUNK].view(np.uint8), bitorder="little")
            values[side, 64 * first : 64 * first + len(part)][part.view(bool)] = WORST[1]
