"""Where the zeroing moves of one position lead, found from the squares of its men in some microseconds."""

import functools
from collections.abc import Iterator
from typing import Final, NamedTuple

import chess

from tbgen.board.kinds import KINDS, NO_PROMOTION, PROMOTIONS, between, reach
from tbgen.index.layout import SIDES, Layout, Placement, Side, Slot, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, swap_colours
from tbgen.index.zeroing import CAPTURED_PAWN, PROMOTED, targets_of

_PAWN_REACH: Final = tuple(tuple(chess.BB_PAWN_ATTACKS[colour]) for colour in (chess.WHITE, chess.BLACK))
"""Squares that a pawn attacks, by side and square."""
_NOTHING: Final = 0
"""Captured, as :func:`tbgen.index.zeroing.targets_of` numbers it."""


class Place(NamedTuple):
    """Where a table keeps a position."""

    layout: Layout
    side: Side
    slot: Slot
    ep_square: int
    """Target of a legal en passant capture as the table numbers it, -1 without such a right."""


class ReachedPlace(NamedTuple):
    """Where a move leads."""

    place: Place
    swapped: bool
    """Whether that table has the colours the other way round."""


class ZeroingMoves:
    """The captures and pawn moves in the positions of one table; get it from :func:`zeroing_moves_of`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._reach = tuple(map(reach, layout.kinds))
        self._rides = tuple(bool(KINDS[kind].rides) for kind in layout.kinds)
        self._men = tuple(
            tuple(man for man, colour in enumerate(layout.colours) if colour == side) for side in SIDES
        )
        self._targets = {
            key: (layout_of(target.material), target.swapped, target.source)
            for key, target in targets_of(layout).items()
        }

    def reached(
        self, side: Side, slot: Slot, ep_square: int = -1, *, captures_only: bool = False
    ) -> list[ReachedPlace]:
        """Return where the zeroing moves of a legal position lead, or its captures alone.

        :param slot: any slot of the position, canonical or not.
        :param ep_square: target of a legal en passant capture as the table numbers it, -1 without.
        """
        free, pawns = self._layout.squares(slot)
        white = self._layout.white_pawns
        mine, theirs = (pawns[white:], pawns[:white]) if side else (pawns[:white], pawns[white:])
        targets = occupied = 0
        for man in self._men[1 - side][1:]:  # all but the king
            targets |= 1 << free[man]
        for square in theirs:
            targets |= 1 << square
        for square in (*free, *pawns):
            occupied |= 1 << square
        found = []
        for man in self._men[side]:
            start = free[man]
            for stop in _squares(self._reach[man][start] & targets):
                if self._rides[man] and between(self._layout.kinds[man], start, stop) & occupied:
                    continue
                captured, left = self._captured(side, free, theirs, stop)
                moved = free.copy()
                moved[man] = stop
                if not self._in_check(side, moved, left, occupied ^ 1 << start, captured):
                    found.append(self._reached(side, captured, NO_PROMOTION, moved, mine, left))
        if mine:
            ways = self._ways_of_pawns(side, free, mine, theirs, targets, occupied, ep_square, captures_only)
            for start, stop, captured, left, men in ways:
                if not self._in_check(side, free, left, men, captured):
                    others = tuple(square for square in mine if square != start)
                    found += self._after_pawn_move(side, free, others, left, start, stop, captured, men)
        return found

    def _ways_of_pawns(
        self,
        side: Side,
        free: list[int],
        mine: Placement,
        theirs: Placement,
        targets: int,
        occupied: int,
        ep_square: int,
        captures_only: bool,
    ) -> Iterator[tuple[int, int, int, Placement, int]]:
        """Yield the pawn moves, checks aside: from where, to where, what is captured, the other side's pawns
        that are left, and which squares are occupied afterwards."""
        forward, home = (-8, 6) if side else (8, 1)
        for start in mine:
            rest, reach = occupied ^ 1 << start, _PAWN_REACH[side][start]
            for stop in _squares(reach & targets):
                yield start, stop, *self._captured(side, free, theirs, stop), rest
            if ep_square >= 0 and reach >> ep_square & 1:
                gone = ep_square - forward
                left = tuple(square for square in theirs if square != gone)
                yield start, ep_square, CAPTURED_PAWN, left, rest ^ 1 << gone | 1 << ep_square
            stop = start + forward
            if not captures_only and not occupied >> stop & 1:
                yield start, stop, _NOTHING, theirs, rest | 1 << stop
                stop += forward
                if start >> 3 == home and not occupied >> stop & 1:
                    yield start, stop, _NOTHING, theirs, rest | 1 << stop

    def _after_pawn_move(
        self,
        side: Side,
        free: list[int],
        others: Placement,
        theirs: Placement,
        start: int,
        stop: int,
        captured: int,
        occupied: int,
    ) -> Iterator[ReachedPlace]:
        """Yield where a legal pawn move leads: to one position, or to four by promotion."""
        if stop >> 3 in (0, 7):
            men = [*free, *[0] * (PROMOTED - len(free)), stop]
            for kind in PROMOTIONS:
                yield self._reached(side, captured, kind, men, others, theirs)
            return
        passed = -1
        if abs(stop - start) == 16:
            middle = (start + stop) // 2
            besides = _PAWN_REACH[side][middle]
            for square in theirs:
                men_after = occupied ^ 1 << square ^ 1 << stop | 1 << middle
                if besides >> square & 1 and not self._in_check(
                    SIDES[1 - side], free, others, men_after, _NOTHING
                ):
                    passed = middle
        yield self._reached(side, captured, NO_PROMOTION, free, (*others, stop), theirs, passed)

    def _captured(self, side: Side, free: list[int], theirs: Placement, stop: int) -> tuple[int, Placement]:
        """Return which man of the other side stands on a square, and its pawns that are left without him."""
        for man in self._men[1 - side]:
            if free[man] == stop:
                return man + 1, theirs
        return CAPTURED_PAWN, tuple(square for square in theirs if square != stop)

    def _in_check(self, side: Side, free: list[int], theirs: Placement, occupied: int, captured: int) -> bool:
        """Tell whether the other side's men, but for a captured one, attack the king of a side."""
        king = free[side]
        for man in self._men[1 - side]:
            start = free[man]
            if (
                self._reach[man][start] >> king & 1
                and man + 1 != captured
                and not (self._rides[man] and between(self._layout.kinds[man], start, king) & occupied)
            ):
                return True
        attacks = _PAWN_REACH[side][king]  # from where pawns attack, who go the other way
        return any(attacks >> square & 1 for square in theirs)

    def _reached(
        self,
        side: Side,
        captured: int,
        promotion: int,
        free: list[int],
        mine: Placement,
        theirs: Placement,
        passed: int = -1,
    ) -> ReachedPlace:
        layout, swapped, source = self._targets[side, captured, promotion]
        other = SIDES[1 - side]
        white, black = (theirs, mine) if side else (mine, theirs)
        squares = [free[man] for man in source]
        if swapped:
            other = side
            squares = [swap_colours(square) for square in squares]
            white, black = (tuple(map(swap_colours, pawns)) for pawns in (black, white))
            # An en passant right is of the same material as the position before, which is never swapped.
        if passed >= 0 and (*sorted(white), *sorted(black)) not in layout.rows:
            # Two pawns side by side are no mirror image of themselves: exactly one placement is canonical.
            passed = IMAGE[MIRROR_FILES][passed]
        return ReachedPlace(Place(layout, other, layout.slot(squares, (*white, *black)), passed), swapped)


@functools.cache
def zeroing_moves_of(layout: Layout) -> ZeroingMoves:
    """Return the zeroing moves in the positions of a table."""
    return ZeroingMoves(layout)


def _squares(mask: int) -> Iterator[int]:
    """Yield the squares of a set."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
