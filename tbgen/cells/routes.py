"""The ways out of a cell: what moves may do to its pawns, frozen men and set of mobile men.

A *route* stands for all moves that do the same; it leads to positions of another cell, the *destination*,
with the mobile men that are left where the move has left them. Promoted men and frozen men that have moved
stand frozen there. A mobile man that captures a pawn or a frozen man has *landed*: he stands on one square in
all positions that the route leads to, which are few of those of the destination.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import chess

from tbgen.board.kinds import KINDS, KING, NO_PROMOTION, PROMOTIONS, attacks
from tbgen.cells.cell import MOST_MOBILE, PAWN, Castling, Cell, Lineup, Man, man_of
from tbgen.index.layout import SIDES, Side
from tbgen.index.zeroing import NO_SQUARE, ROUTE_VICTIMS

_NOBODY: Final = -1


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
    by_pawn: bool = False
    """Whether it is taken by pawn moves."""
    castled: bool = False
    """Whether it is castling, after which its side has no right left, wherever its men stand."""
    landed: tuple[int, int] | None = None
    """Place among the destination's mobile men of one that has captured a pawn or frozen man, and where."""

    @property
    def whole(self) -> Self:
        """The same for all positions of the destination, wherever the man stands that has landed."""
        return self if self.landed is None else replace(self, landed=None)

    @property
    def part(self) -> Cell:
        """The positions that it leads to, as a cell: a man that has landed stands frozen there."""
        cell = self.destination
        if self.landed is None:
            return cell
        place, square = self.landed
        left = (man for other, man in enumerate(cell.mobile) if other != place)
        return Cell.of_men(left, cell.standing | {square: cell.mobile[place]})


def home_of_route(route: Route) -> Cell:
    """Return the cell whose solution says what a route is worth: with a promoted man mobile if there may be
    one more."""
    cell = route.destination
    if route.promoted is not None and len(cell.mobile) < MOST_MOBILE:
        cell = cell.freed([route.promoted])
    return cell


def routes_of(lineup: Lineup) -> Iterator[Route]:
    """Yield all ways out of a cell; no legal move may take some of them."""
    for side in SIDES:
        yield from _Walker(lineup, side).all()


class _Walker:
    """The ways out by moves of one side."""

    def __init__(self, lineup: Lineup, side: Side) -> None:
        self.cell, self.side, self.castlings = lineup.cell, side, lineup.castlings
        self.standing = lineup.cell.standing
        self.number = [man for man, square in enumerate(lineup.squares) if square < 0]
        """Of each mobile man among all."""
        self.own = [place for place, man in enumerate(self.cell.mobile) if man.colour == side]
        self.enemies = [place for place, man in enumerate(self.cell.mobile) if self._may_capture(man)]
        self.taken = {square for square, man in self.standing.items() if self._may_capture(man)}

    def all(self) -> Iterator[Route]:
        """Yield them."""
        for square, man in self.standing.items():
            if man.colour == self.side:
                yield from self._by_pawn(square) if man.kind == PAWN else self._by_frozen_man(square, man)
        for castling in self.castlings:
            if self.standing[castling.king].colour == self.side:
                yield self._castled(castling)
        yield from (self._landed(square, place) for square in self.taken for place in self.own)
        if self.own:
            yield from (self._route(NO_SQUARE, NO_SQUARE, victim) for victim in self.enemies)

    def _may_capture(self, man: Man) -> bool:
        return man.colour != self.side and man.kind != KING

    def _victims(self, square: int) -> Sequence[int]:
        """The mobile men that a capture on a square may take; nobody where a man stands there to be taken."""
        if square in self.standing:
            return (_NOBODY,) if square in self.taken else ()
        return self.enemies

    def _by_pawn(self, pawn: int) -> Iterator[Route]:
        step = -8 if self.side else 8
        if pawn + step not in self.standing:
            yield from self._pawn_to(pawn, pawn + step)
            if pawn >> 3 == (6 if self.side else 1) and pawn + 2 * step not in self.standing:
                yield from self._pawn_to(pawn, pawn + 2 * step)
        for square in chess.scan_forward(chess.BB_PAWN_ATTACKS[not self.side][pawn]):
            for victim in self._victims(square):
                yield from self._pawn_to(pawn, square, victim)

    def _pawn_to(self, pawn: int, square: int, victim: int = _NOBODY) -> Iterator[Route]:
        for promotion in (NO_PROMOTION,) if 8 <= square < 56 else PROMOTIONS:
            yield self._route(pawn, square, victim, promotion)

    def _by_frozen_man(self, square: int, man: Man) -> Iterator[Route]:
        for target in chess.scan_forward(attacks(KINDS[man.kind], square, self.cell.still)):
            if target not in self.standing:
                yield self._route(square, target)
            yield from (self._route(square, target, victim) for victim in self._victims(target))

    def _castled(self, castling: Castling) -> Route:
        standing = self.standing.copy()
        king, rook = (standing.pop(square) for square in castling[:2])
        cell = Cell.of_men(self.cell.mobile, standing | {castling.king_to: king, castling.rook_to: rook})
        return Route(self.side, _number(*castling[:2]), cell, quiet=True, castled=True)

    def _landed(self, square: int, place: int) -> Route:
        """The way of a mobile man who captures what stands on a square."""
        route = self._route(NO_SQUARE, square)
        return replace(
            route, number=_number(NO_SQUARE, square, self.number[place] + 1), landed=(place, square)
        )

    def _route(self, origin: int, target: int, victim: int = _NOBODY, promotion: int = NO_PROMOTION) -> Route:
        """The way of the man on a square, or of any mobile man, which captures what stands on another or a
        mobile victim; it is not said which mobile man captures what stands still."""
        standing = self.standing.copy()
        captured = standing.pop(target, None)
        man = standing.pop(origin, None)
        if man is not None:
            standing[target] = man_of(self.side, promotion) if promotion else man
        mobile = [each for place, each in enumerate(self.cell.mobile) if place != victim]
        by_pawn = man is not None and man.kind == PAWN
        quiet = man is not None and not by_pawn and captured is None and victim == _NOBODY
        return Route(
            self.side,
            _number(origin, target, 0 if victim == _NOBODY else self.number[victim] + 1, promotion),
            Cell.of_men(mobile, standing),
            target if promotion else None,
            quiet,
            self._passed(origin, target) if by_pawn else None,
            by_pawn,
        )

    def _passed(self, origin: int, target: int) -> int | None:
        """The square that a pawn has passed where an enemy pawn may capture it, if there is one."""
        passed = (origin + target) // 2
        takers = chess.BB_PAWN_ATTACKS[not self.side][passed] & self.cell.pawns[1 - self.side]
        return passed if abs(target - origin) == 16 and takers else None


def _number(origin: int, target: int, captured: int = 0, promotion: int = NO_PROMOTION) -> int:
    return ((origin * (NO_SQUARE + 1) + target) * ROUTE_VICTIMS + captured) * len(KINDS) + promotion
