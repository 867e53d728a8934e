"""Forced mates after promotions to a queen, where there are more mobile men than cells have: an exit source.

A promotion beside two pieces leads to positions of five mobile men, 64 times as many as a cell has. Which of
them are won takes one bit each (:mod:`tbgen.cells.wins`), and a forced mate is worth G0.0 whatever comes
before it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import LOWER, Block, Knowledge
from tbgen.cells.cell import MOST_MOBILE, PAWN, Cell, mobile_squares, side_of
from tbgen.cells.interval import Interval
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route
from tbgen.cells.window import FAR
from tbgen.cells.wins import Wins, after_step, solve_wins, without_man, without_pawn
from tbgen.index.layout import BLACK_TO_MOVE, SIDES, WHITE_TO_MOVE, Side
from tbgen.index.symmetry import IMAGE, MIRROR_FILES
from tbgen.retro.kernels.bits import Words
from tbgen.solve.exits import ExitSource
from tbgen.solve.promotions import QUEEN, is_to_queen, promoted_man, symmetries, whole_cell, wholes_of

Flags: TypeAlias = NDArray[np.bool_]

_MATE: Final = (Code(0), Code(255))
"""What a forced mate is worth, by the side that gives it."""


class WonCells(ExitSource):
    """What is known to be won after promotions, by cells in which all kings and pieces are mobile and White
    is the side that promotes.

    :param mobile: how many men are mobile besides the queen.
    """

    def __init__(self, mobile: int = MOST_MOBILE) -> None:
        self.mobile = mobile
        self._wins: dict[Cell, Wins] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept in memory."""
        return sum(wins.nbytes for wins in self._wins.values())

    def __contains__(self, cell: Cell) -> bool:
        """Whether a cell has been solved, as it is or with its files mirrored."""
        return not self._wins.keys().isdisjoint((cell, cell.image(MIRROR_FILES)))

    def won(self, cell: Cell, side: Side) -> Words | None:
        """Return which positions of a cell White is known to win, uint64 (words,); None if that is not
        known."""
        wins = self._wins.get(cell)
        return None if wins is None else wins.won[side]

    def solve(self, cell: Cell, known: Knowledge, *, levels: bool = False, threads: int = 1) -> Wins:
        """Find what White wins in a cell, and keep it.

        :param known: tells what captures are worth.
        :param levels: whether the answer is to have what a proof needs.
        """

        def won_after(after: Cell, side: Side) -> Words | None:
            if after in self._wins:
                found: Words = self._wins[after].won[side]
                return found
            if after.size > 64**self.mobile:
                return None
            promoted = after.frozen[0].square if after.frozen else None
            block = known.block(Route(SIDES[1 - side], 0, after, promoted), LOWER)
            return None if block is None else _packed(block.value == _MATE[WHITE_TO_MOVE])

        wins = solve_wins(cell, won_after, levels=levels, threads=threads)
        self._wins[cell] = replace(wins, level=wins.level[:0])
        return wins

    def knows(self, route: Route) -> bool:
        """Whether anything is known of the positions that a route leads to."""
        return self._found(route) is not None

    def block(self, route: Route, end: int, bound: Code) -> Block | None:
        """Return the forced mates among the positions that a route leads to, at the end that they decide."""
        found = self._found(route)
        if found is None or end != route.side:  # LOWER is White's end, UPPER Black's
            return None
        wins, symmetry = found
        assert route.promoted is not None, "only promotions are known"
        place = wins.cell.mobile.index(promoted_man(QUEEN))
        won = _with_man_on(wins, place, IMAGE[symmetry][route.promoted])
        stored = Block(
            np.where(won, np.uint8(0), np.uint8(NONE)), np.where(won, np.uint16(FAR), np.uint16(0))
        )
        rest = [(man.colour, man.kind) for number, man in enumerate(wins.cell.mobile) if number != place]
        return gathered(replace(route.destination, frozen=()), rest, symmetry, stored)

    def worth(self, position: CellPosition) -> Interval | None:
        """Return what :meth:`sure` does."""
        return self.sure(position)

    def sure(self, position: CellPosition) -> Interval | None:
        """Return G0.0 if the side that has just moved is known to force mate, whatever has accrued."""
        board = position.board
        if not self._wins or chess.popcount(board.occupied & ~board.pawns) <= self.mobile:
            return None
        winner = SIDES[board.turn]
        cell = Cell.of_board(board, mobile_squares(board))
        for symmetry in symmetries(winner):
            wins = self._wins.get(cell.image(symmetry))
            if wins is not None:
                seen = CellPosition(board, board.occupied & ~board.pawns).seen_by(symmetry)
                mate = wins.has(BLACK_TO_MOVE, seen.slot)
                return Interval(_MATE[winner], _MATE[winner]) if mate else None
        return None

    def unsolved(self, home: Cell) -> Iterator[Cell]:
        """Yield the cells to solve for what is won in the home of a promotion, in order."""
        for whole in wholes_of(home, self.mobile):
            if is_to_queen(home) and whole not in self:
                yield from self.with_those_below(whole)

    def with_those_below(self, cell: Cell, seen: set[Cell] | None = None) -> Iterator[Cell]:
        """Yield a cell after those that steps or captures of the other side's pawns lead to, and captures
        that leave it pawns: tables may hold these, but to decode them takes longer, many times as long if
        pawns are about to be promoted.

        :param seen: cells that have been yielded; this adds more.
        """
        seen = set() if seen is None else seen
        if cell in seen or cell in self._wins:
            return
        seen.add(cell)
        for pawn in chess.scan_forward(cell.black_pawns):
            yield from self.with_those_below(without_pawn(cell, pawn), seen)
            if pawn >= 16 and pawn - 8 not in cell.standing:
                yield from self.with_those_below(after_step(cell, pawn, pawn - 8, PAWN), seen)
        for number, man in enumerate(cell.mobile if cell.black_pawns else ()):
            if man.piece and man.colour == BLACK_TO_MOVE:
                yield from self.with_those_below(without_man(cell, number), seen)
        yield cell

    def is_won(self, board: chess.Board) -> bool:
        """Whether a position of a cell that has been solved, as it is, is won by White."""
        position = CellPosition(board, board.occupied & ~board.pawns)
        wins = self._wins.get(position.cell)
        return wins is not None and wins.has(side_of(board), position.slot)

    def _found(self, route: Route) -> "_Found | None":
        """Return what is known of the cell that a route leads to, and the symmetry that leads there."""
        whole = whole_cell(route.destination, route.side, self.mobile)
        if route.promoted is None or whole is None or not is_to_queen(route.destination):
            return None
        for symmetry in symmetries(route.side):
            wins = self._wins.get(whole.image(symmetry))
            if wins is not None:
                return _Found(wins, symmetry)
        return None


class _Found(NamedTuple):
    wins: Wins
    symmetry: int


def _packed(bits: Flags) -> Words:
    words: Words = np.packbits(bits, bitorder="little").view(np.uint64)
    return words


def _with_man_on(wins: Wins, place: int, square: int) -> Flags:
    """Return which positions are won, Black to move, with one of the men on a square, by the squares of the
    others."""
    words, scalars = wins.won[BLACK_TO_MOVE], len(wins.cell.mobile) - 1
    if place == scalars:
        bits: Flags = (words >> np.uint64(square) & np.uint64(1)).astype(np.bool_)
        return bits
    some = np.ascontiguousarray(words.reshape((64,) * scalars).take(square, place))
    flags: Flags = np.unpackbits(some.view(np.uint8).ravel(), bitorder="little").view(np.bool_)
    return flags
