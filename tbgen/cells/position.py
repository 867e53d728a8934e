"""Positions of cells: a board, and which of its men are mobile."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeAlias

import chess

from tbgen.board.mobility import own_score
from tbgen.board.score import Code, Rank
from tbgen.cells.cell import MOST_MOBILE, Cell, side_of
from tbgen.index.layout import Side
from tbgen.index.symmetry import MIRROR_FILES, MIRROR_RANKS

CellPlace: TypeAlias = tuple[Cell, Side, int]
"""What tells a position from others: its cell, side to move and slot."""


@dataclass(frozen=True)
class CellPosition:
    """A legal position, seen from its cell."""

    board: chess.Board
    mobile: chess.Bitboard
    """Squares of the mobile men."""

    @cached_property
    def cell(self) -> Cell:
        """The position's cell."""
        return Cell.of_board(self.board, chess.scan_forward(self.mobile))

    @cached_property
    def slot(self) -> int:
        """Its slot in the cell."""
        return self.cell.slot(self.cell.squares_of(self.board))

    @property
    def place(self) -> CellPlace:
        """What tells it from other positions."""
        return self.cell, side_of(self.board), self.slot

    @cached_property
    def rank(self) -> Rank:
        """Its rank."""
        return Rank(own_score(self.board).rank)

    @property
    def own(self) -> Code:
        """Code of its own score."""
        return Code(255 - self.rank if self.board.turn else self.rank)

    @property
    def over(self) -> bool:
        """Whether it is mate or stalemate."""
        return self.rank < 2

    def seen_by(self, symmetry: int) -> Self:
        """Return the position seen by a symmetry: files mirrored, or ranks and colours swapped, or both."""
        if not symmetry:
            return self
        board, mobile = self.board, self.mobile
        if symmetry & MIRROR_FILES:
            board, mobile = board.transform(chess.flip_horizontal), chess.flip_horizontal(mobile)
        if symmetry & MIRROR_RANKS:
            board, mobile = board.mirror(), chess.flip_vertical(mobile)
        return type(self)(board, mobile)

    def moves(self) -> Iterator["Step"]:
        """Yield the legal moves; promoted men are mobile where there is room for one more."""
        for move in self.board.legal_moves:
            after = self.board.copy(stack=False)
            after.push(move)
            origin, target = chess.BB_SQUARES[move.from_square], chess.BB_SQUARES[move.to_square]
            mobile = self.mobile & ~target
            moved = bool(mobile & origin)
            if moved:
                mobile = mobile & ~origin | target
            if move.promotion and mobile.bit_count() < MOST_MOBILE:
                mobile |= target
            zeroing = self.board.is_zeroing(move)
            yield Step(move, type(self)(after, mobile), zeroing, moved and not zeroing)


@dataclass(frozen=True)
class Step:
    """A legal move."""

    move: chess.Move
    after: CellPosition
    zeroing: bool
    inside: bool
    """Whether it stays in the cell."""
