"""Positions of a packed table with any accrued score, many at once.

The table stores one side to move. What the other side has follows by a ply: its quiet moves stay among the
positions of a cell in which all its men are mobile, and of its zeroing moves the best one counts.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code, GScore
from tbgen.cells.bounds import LOWER, NO_RANK, WORST, Block, BoundsGame, SomeKnowledge, pools_of_ends
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.quiet import QuietMoves
from tbgen.cells.routes import Route, routes_of
from tbgen.index.layout import SIDES, WHITE_TO_MOVE, Side
from tbgen.index.table import FRESH
from tbgen.packed.file import PackedFile
from tbgen.probe.castling.table_states import fresh_holds, slots_in_table
from tbgen.retro.kernels.bits import Codes
from tbgen.retro.kernels.layers import FIRST_LAYER


class PackedStates:
    """Values of the positions of a cell with one side to move; depths are not known.

    :param cell: all men of the side to move are mobile in it.
    :param fresh: returns the fresh values of the positions that a zeroing route leads to.

    :raises DamagedTableError: if a block does not decode.
    """

    timed: Final = False

    def __init__(self, file: PackedFile, cell: Cell, side: Side, fresh: Callable[[Route], Block]) -> None:
        self._side, (_, self._swapped) = side, cell.material()
        self._stored = SIDES[file.side ^ self._swapped]
        frame = frame_of_cell(cell)
        routes = list(routes_of(frame))
        blocks = {route: fresh(route) for route in routes if self._counts(cell, route)}
        # What else leaves the cell is not asked for, and counts as little as it can for the side to move.
        exits = SomeKnowledge(lambda route, _: blocks.get(route), lambda route, _: WORST[route.side])
        (pool,) = pools_of_ends(frame, routes, exits, [LOWER])
        game = BoundsGame(frame, pool)
        self._ranks = game.ranks()
        self._fresh = [values_of_ended(side, self._ranks[side]) for side in SIDES]
        of_stored = self._ranks[self._stored]
        on = np.flatnonzero((of_stored >= FIRST_LAYER) & (of_stored != NO_RANK))
        value, functions = file.of_stored_side(slots_in_table(cell)[on])
        self._functions = functions.used()
        by_capture = game.best_exits(self._stored).value[on]
        self._fresh[self._stored][on] = np.where(value == NONE, by_capture, self._seen(value))
        self._on = on
        self._known = FIRST_LAYER
        """The derived side's fresh values are known of positions with a smaller rank."""
        if side != self._stored:
            self._quiet = QuietMoves(cell, side)
            self._zeroing = _merit(side, game.best_exits(side).value)

    def _counts(self, cell: Cell, route: Route) -> bool:
        """Whether a route may give values that are not stored: captures, and if the side to move is not
        stored, all its zeroing moves."""
        if route.side == self._side != self._stored:
            return not route.quiet
        return route.side == self._stored and route.destination.men < cell.men

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values with the accrued score of a rank that a side has, the positions' own folded in."""
        if self._side == self._stored:
            value = self._of_stored(holder, rank)
        else:
            while self._known < rank:
                self._derive(self._stored, self._known)
            value = self._derive(holder, rank)
        return Block(value, np.zeros(len(value), np.uint16))

    def _of_stored(self, holder: Side, rank: int) -> Codes:
        """The same of the side that is stored."""
        accrued = GScore(rank, holder == WHITE_TO_MOVE).code
        side, on, fresh = self._stored, self._on, self._fresh[self._stored]
        said = self._functions.said(Code(255 - accrued if self._swapped else accrued))[self._functions.number]
        said = np.where(said == NONE, accrued, np.where(said == FRESH, fresh[on], self._seen(said)))
        alone = fresh_holds(fresh[on], self._ranks[side, on], side, holder, rank)
        value = fresh.copy()
        value[on] = np.where(alone, fresh[on], said)
        return value

    def _derive(self, holder: Side, rank: int) -> Codes:
        """The same of the side that is not stored, whose fresh values are known of smaller ranks."""
        ranks, fresh = self._ranks[self._side], self._fresh[self._side]
        after = _merit(self._side, self._of_stored(holder, rank))
        best = np.maximum(self._quiet.best(after), self._zeroing)
        value = best if self._side else ~best
        np.copyto(value, fresh, where=(ranks < rank) | (ranks == NO_RANK))
        if holder == self._stored and rank == self._known:  # a position's own score is the mover's
            own = ranks == rank
            fresh[own] = value[own]
            self._known += 1
        return value

    def _seen(self, value: Codes) -> Codes:
        """Return codes as seen with the colours of the cell; those of no score mean nothing."""
        return 255 - value if self._swapped else value


def _merit(side: Side, code: Codes) -> Codes:
    """Return codes as the greater the better for a side, 0 for ``NONE``."""
    merit = code.copy() if side else ~code
    merit[code == NONE] = 0
    return merit


def values_of_ended(side: Side, ranks: NDArray[np.uint8]) -> Codes:
    """Return the values of positions that have ended, ``NONE`` elsewhere."""
    return np.where(ranks < FIRST_LAYER, ranks if side else 255 - ranks, NONE).astype(np.uint8)
