"""The ways out of a cell: what moves may do to its pawns, frozen men and set of mobile men.

A *route* stands for all moves that do the same; it leads to positions of another cell, the *destination*,
with the mobile men that are left where the move has left them. Promoted men and frozen men that have moved
stand frozen there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import chess

from tbgen.board.kinds import KINDS, KING, PROMOTIONS, attacks
from tbgen.cells.cell import Cell, Frozen, Man, man_of
from tbgen.cells.frames import Castling, CellFrame
from tbgen.index.layout import SIDES, Side
from tbgen.retro.kernels.targets import NO_SQUARE, ROUTE_VICTIMS

_NOBODY: Final = -1
_NOWHERE: Final = int(NO_SQUARE)


@dataclass(frozen=True)
class Route:
    """One way out."""

    side: Side
    """Whose moves take it."""
    number: int
    """As ``tbgen.retro.kernels.targets.Routes`` numbers it."""
    destination: Cell
    promoted: int | None = None
    """Square of the promoted man."""
    quiet: bool = False
    """Whether the accrued score is carried on: a quiet move of a frozen man, or castling."""
    passed: int | None = None
    """The square that a pawn has passed by a double step beside an enemy pawn: it may be captured there."""
    castled: bool = False
    """Whether it is castling, after which its side has no right left, wherever its men stand."""


def routes_of(frame: CellFrame) -> Iterator[Route]:
    """Yield all ways out of a cell; no legal move may take some of them."""
    for side in SIDES:
        walker = _Walker(frame, side)
        yield from walker.by_pawns()
        yield from walker.by_frozen_men()
        yield from walker.by_castling(frame.castlings)
        yield from walker.by_mobile_men()


class _Walker:
    """The ways out by moves of one side."""

    def __init__(self, frame: CellFrame, side: Side) -> None:
        self.cell, self.side = frame.cell, side
        digits = [man for man in frame.digits if frame.squares[man] < 0]
        self.number = dict(enumerate(digits))  # of each mobile man in the frame
        self.enemies = [
            place for place, man in enumerate(self.cell.mobile) if man.colour != side and man.kind != KING
        ]
        self.taken = {  # what may be captured of what stands still
            frozen.square: frozen
            for frozen in self.cell.frozen
            if frozen.man.colour != side and frozen.man.piece
        }
        self.enemy_pawns = self.cell.pawns[1 - side]

    def by_pawns(self) -> Iterator[Route]:
        side, still = self.side, self.cell.still
        step = -8 if side else 8
        for pawn in chess.scan_forward(self.cell.pawns[side]):
            if not still >> pawn + step & 1:
                yield from self._pawn(pawn, pawn + step)
                if pawn >> 3 == (6 if side else 1) and not still >> pawn + 2 * step & 1:
                    yield from self._pawn(pawn, pawn + 2 * step)
            for square in chess.scan_forward(chess.BB_PAWN_ATTACKS[not side][pawn]):
                if square in self.taken or self.enemy_pawns >> square & 1:
                    yield from self._pawn(pawn, square)
                elif not still >> square & 1:
                    for victim in self.enemies:
                        yield from self._pawn(pawn, square, victim)

    def by_frozen_men(self) -> Iterator[Route]:
        for frozen in self.cell.frozen:
            square, man = frozen
            if man.colour != self.side:
                continue
            for target in chess.scan_forward(attacks(man.kind, square, self.cell.still)):
                if self.cell.still >> target & 1:
                    if self._may_be_captured(target):
                        yield self._route(square, target, self._moved(self._without(target), frozen, target))
                    continue
                moved = self._moved(self.cell, frozen, target)
                yield replace(self._route(square, target, moved), quiet=True)
                for victim in self.enemies:
                    yield self._route(square, target, self._left(moved, victim), victim)

    def by_castling(self, castlings: Iterable[Castling]) -> Iterator[Route]:
        for castling in castlings:
            king, rook = (
                next(each for each in self.cell.frozen if each.square == square) for square in castling[:2]
            )
            if king.man.colour == self.side:
                moved = self._moved(self._moved(self.cell, king, castling.king_to), rook, castling.rook_to)
                yield replace(self._route(king.square, rook.square, moved), quiet=True, castled=True)

    def by_mobile_men(self) -> Iterator[Route]:
        if not any(man.colour == self.side for man in self.cell.mobile):
            return
        for square in (*self.taken, *chess.scan_forward(self.enemy_pawns)):
            yield self._route(_NOWHERE, square, self._without(square))
        for victim in self.enemies:
            yield self._route(_NOWHERE, _NOWHERE, self._left(self.cell, victim), victim)

    def _may_be_captured(self, square: int) -> bool:
        return square in self.taken or bool(self.enemy_pawns >> square & 1)

    def _pawn(self, pawn: int, square: int, victim: int = _NOBODY) -> Iterator[Route]:
        cell = self._without(square) if self._may_be_captured(square) else self.cell
        if victim != _NOBODY:
            cell = self._left(cell, victim)
        if 8 <= square < 56:
            route = self._route(pawn, square, self._with_pawn(cell, pawn, square), victim)
            if abs(square - pawn) == 16:
                passed = (pawn + square) // 2
                if chess.BB_PAWN_ATTACKS[not self.side][passed] & self.enemy_pawns:
                    route = replace(route, passed=passed)
            yield route
            return
        bare = self._without_pawn(cell, pawn)
        for kind in PROMOTIONS:
            promoted = Frozen(square, man_of(self.side, kind))
            after = replace(bare, frozen=tuple(sorted((*bare.frozen, promoted))))
            yield replace(self._route(pawn, square, after, victim, kind), promoted=square)

    def _route(
        self, origin: int, target: int, destination: Cell, victim: int = _NOBODY, promotion: int = 0
    ) -> Route:
        captured = 0 if victim == _NOBODY else self.number[victim] + 1
        number = ((origin * (_NOWHERE + 1) + target) * ROUTE_VICTIMS + captured) * len(KINDS) + promotion
        return Route(self.side, number, destination)

    def _without(self, square: int) -> Cell:
        """The cell without the enemy that stands still on a square."""
        if square in self.taken:
            return replace(
                self.cell, frozen=tuple(each for each in self.cell.frozen if each.square != square)
            )
        return self._without_pawn(self.cell, square)

    @staticmethod
    def _without_pawn(cell: Cell, square: int) -> Cell:
        bit = 1 << square
        return replace(cell, white_pawns=cell.white_pawns & ~bit, black_pawns=cell.black_pawns & ~bit)

    def _with_pawn(self, cell: Cell, origin: int, target: int) -> Cell:
        bare = self._without_pawn(cell, origin)
        if self.side:
            return replace(bare, black_pawns=bare.black_pawns | 1 << target)
        return replace(bare, white_pawns=bare.white_pawns | 1 << target)

    @staticmethod
    def _moved(cell: Cell, frozen: Frozen, target: int) -> Cell:
        others = (each for each in cell.frozen if each != frozen)
        return replace(cell, frozen=tuple(sorted((*others, Frozen(target, frozen.man)))))

    @staticmethod
    def _left(cell: Cell, victim: int) -> Cell:
        mobile: tuple[Man, ...] = (*cell.mobile[:victim], *cell.mobile[victim + 1 :])
        return replace(cell, mobile=mobile)
