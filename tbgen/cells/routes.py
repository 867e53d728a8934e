"""The routes out of a cell: how a move changes the cell's pawns, frozen men and mobile men.

A *route* stands for all moves that make the same change. It leads to positions of another cell, the
*destination*. In the destination, the remaining mobile men are still mobile; promoted men and frozen men
that have moved are frozen. A mobile man that captures a pawn or a frozen man has *landed*: it is on the same
square in all positions that the route leads to. These positions are only a small part of the destination.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import chess

from tbgen.board.kinds import KINDS, KING, NO_PROMOTION, PROMOTIONS, attacks
from tbgen.cells.cell import MAX_MOBILE, PAWN, Castling, Cell, Lineup, Man, man_of
from tbgen.index.layout import SIDES, Side
from tbgen.index.zeroing import NO_SQUARE, ROUTE_VICTIMS

_NO_MAN: Final = -1
"""Placeholder for the index of the captured mobile man if no mobile man is captured."""


@dataclass(frozen=True)
class Route:
    """A change of a cell's pawns, frozen men and mobile men by a move out of the cell."""

    side: Side
    """The side that moves."""
    number: int
    """The number of the route in ``tbgen.moves.kernels.targets.Routes``."""
    destination: Cell
    promoted_on: int | None = None
    """Square of the promoted man; None if the move is not a promotion."""
    is_quiet: bool = False
    """Whether the moves are quiet (moves of a frozen king or piece without a capture, or castling), so that
    the accrued score still counts."""
    ep_square: int | None = None
    """The square of a possible en passant capture after the move; None if there is none."""
    is_by_pawn: bool = False
    """Whether the moves are pawn moves."""
    is_castling: bool = False
    """Whether the move is castling. After it, the side has no castling rights, wherever its men stand."""
    landing: tuple[int, int] | None = None
    """The man that has landed: its index among the destination's mobile men, and its square; else None."""

    @property
    def without_landing(self) -> Self:
        """The same route without ``landing``. It stands for all positions of the destination, whatever the
        square of the man that has landed."""
        return self if self.landing is None else replace(self, landing=None)

    @property
    def subcell(self) -> Cell:
        """The cell that contains only the positions that the route leads to: the destination, with a man that
        has landed frozen on its square."""
        cell = self.destination
        if self.landing is None:
            return cell
        mobile_index, square = self.landing
        remaining = (man for index, man in enumerate(cell.mobile) if index != mobile_index)
        return Cell.of_men(remaining, cell.standing | {square: cell.mobile[mobile_index]})


def home_of_route(route: Route) -> Cell:
    """Return a route's *home*, the cell whose solution bounds the positions that the route leads to.

    It is the destination, except that a promoted man is mobile unless ``MAX_MOBILE`` men are already mobile.
    """
    cell = route.destination
    if route.promoted_on is not None and len(cell.mobile) < MAX_MOBILE:
        cell = cell.with_freed([route.promoted_on])
    return cell


def routes_of(lineup: Lineup) -> Iterator[Route]:
    """Yield all routes out of a cell, some of which may have no legal move."""
    for side in SIDES:
        yield from _RoutesOfSide(lineup, side).routes()


class _RoutesOfSide:
    """The routes of moves by one side."""

    def __init__(self, lineup: Lineup, side: Side) -> None:
        self.cell = lineup.cell
        self.side = side
        self.castlings = lineup.castlings
        self.standing = lineup.cell.standing
        self.index = [man for man, square in enumerate(lineup.squares) if square < 0]
        """Index of each mobile man in the lineup."""
        self.own_men = [index for index, man in enumerate(self.cell.mobile) if man.colour == side]
        """Indices of the side's mobile men."""
        self.mobile_victims = [index for index, man in enumerate(self.cell.mobile) if self._is_victim(man)]
        self.standing_victims = {square for square, man in self.standing.items() if self._is_victim(man)}

    def routes(self) -> Iterator[Route]:
        """Yield the routes."""
        for square, man in self.standing.items():
            if man.colour == self.side:
                yield from (
                    self._pawn_routes(square) if man.kind == PAWN else self._frozen_man_routes(square, man)
                )
        for castling in self.castlings:
            if self.standing[castling.king].colour == self.side:
                yield self._castling_route(castling)
        yield from (
            self._landing_route(square, index) for square in self.standing_victims for index in self.own_men
        )
        if self.own_men:
            yield from (self._route(NO_SQUARE, NO_SQUARE, victim) for victim in self.mobile_victims)

    def _is_victim(self, man: Man) -> bool:
        return man.colour != self.side and man.kind != KING

    def _victims(self, square: int) -> Sequence[int]:
        """Return the indices of the mobile men that a move to the square may capture.

        If the move captures a pawn or frozen man, return only ``_NO_MAN``. If a man on the square blocks the
        move, return nothing.
        """
        if square in self.standing:
            return (_NO_MAN,) if square in self.standing_victims else ()
        return self.mobile_victims

    def _pawn_routes(self, pawn: int) -> Iterator[Route]:
        step = -8 if self.side else 8
        if pawn + step not in self.standing:
            yield from self._pawn_routes_to(pawn, pawn + step)
            if pawn >> 3 == (6 if self.side else 1) and pawn + 2 * step not in self.standing:
                yield from self._pawn_routes_to(pawn, pawn + 2 * step)
        for square in chess.scan_forward(chess.BB_PAWN_ATTACKS[not self.side][pawn]):
            for victim in self._victims(square):
                yield from self._pawn_routes_to(pawn, square, victim)

    def _pawn_routes_to(self, pawn: int, square: int, victim: int = _NO_MAN) -> Iterator[Route]:
        for promotion in (NO_PROMOTION,) if 8 <= square < 56 else PROMOTIONS:
            yield self._route(pawn, square, victim, promotion)

    def _frozen_man_routes(self, square: int, man: Man) -> Iterator[Route]:
        for target in chess.scan_forward(attacks(KINDS[man.kind], square, self.cell.standing_mask)):
            if target not in self.standing:
                yield self._route(square, target)
            yield from (self._route(square, target, victim) for victim in self._victims(target))

    def _castling_route(self, castling: Castling) -> Route:
        standing = self.standing.copy()
        king, rook = (standing.pop(square) for square in castling[:2])
        cell = Cell.of_men(self.cell.mobile, standing | {castling.king_to: king, castling.rook_to: rook})
        return Route(self.side, _route_number(*castling[:2]), cell, is_quiet=True, is_castling=True)

    def _landing_route(self, square: int, index: int) -> Route:
        """Return the route of the mobile man ``index`` that captures the pawn or frozen man on ``square``."""
        route = self._route(NO_SQUARE, square)
        return replace(
            route, number=_route_number(NO_SQUARE, square, self.index[index] + 1), landing=(index, square)
        )

    def _route(self, origin: int, target: int, victim: int = _NO_MAN, promotion: int = NO_PROMOTION) -> Route:
        """Return the route of the pawn or frozen man on ``origin``, or of a mobile man if ``origin`` is
        ``NO_SQUARE``.

        The move captures the pawn or frozen man on ``target``, if any, or the mobile man with the index
        ``victim``. If a mobile man captures a pawn or frozen man, the route does not say which mobile man.
        """
        standing = self.standing.copy()
        captured_man = standing.pop(target, None)
        man = standing.pop(origin, None)
        if man is not None:
            standing[target] = man_of(self.side, promotion) if promotion else man
        mobile = [each for index, each in enumerate(self.cell.mobile) if index != victim]
        is_by_pawn = man is not None and man.kind == PAWN
        quiet = man is not None and not is_by_pawn and captured_man is None and victim == _NO_MAN
        return Route(
            self.side,
            _route_number(origin, target, 0 if victim == _NO_MAN else self.index[victim] + 1, promotion),
            Cell.of_men(mobile, standing),
            target if promotion else None,
            quiet,
            self._ep_square(origin, target) if is_by_pawn else None,
            is_by_pawn,
        )

    def _ep_square(self, origin: int, target: int) -> int | None:
        """Return the square of a possible en passant capture after a pawn move; None if there is none."""
        passed = (origin + target) // 2
        capturers = chess.BB_PAWN_ATTACKS[not self.side][passed] & self.cell.pawns[1 - self.side]
        return passed if abs(target - origin) == 16 and capturers else None


def _route_number(origin: int, target: int, victim_number: int = 0, promotion: int = NO_PROMOTION) -> int:
    return ((origin * (NO_SQUARE + 1) + target) * ROUTE_VICTIMS + victim_number) * len(KINDS) + promotion
