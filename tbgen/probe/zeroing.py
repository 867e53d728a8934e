"""Where the zeroing moves of one position lead, found from the squares of its men in some microseconds."""

import functools
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import chess

from tbgen.board.kinds import NO_PROMOTION, PROMOTIONS, between, reach
from tbgen.index.layout import SIDES, Layout, Placement, Side, Slot, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, swap_colours
from tbgen.index.zeroing import CAPTURED_PAWN, PROMOTED, targets_of

_PAWN_REACH: Final = tuple(tuple(chess.BB_PAWN_ATTACKS[colour]) for colour in (chess.WHITE, chess.BLACK))
"""Squares that a pawn attacks, by side and square."""
_NOTHING: Final = 0
"""Captured, as :func:`tbgen.index.zeroing.targets_of` numbers it: by a pawn that steps forward."""


_Change: TypeAlias = tuple[Side, int, int]
"""What a move does to the men: the one that moves, the number of the man that is captured, and what a pawn
promotes to."""


class Place(NamedTuple):
    """Where a table keeps a position.

    :ivar ep_square: target of a legal en passant capture as the table numbers it, -1 without such a right.
    """

    layout: Layout
    side: Side
    slot: Slot
    ep_square: int


class ReachedPlace(NamedTuple):
    """Where a move leads.

    :ivar swapped: whether that table has the colours the other way round.
    """

    place: Place
    swapped: bool


_Move: TypeAlias = tuple[int, int, int, list[int], Placement, Sequence[int]]
"""A zeroing move, checks aside: from where, to where, the number of its capture, the squares of the free men
after it (of one that is captured the one where it stood), the mover's pawns after it, and what it promotes
to."""


class ZeroingMoves:
    """The captures and pawn moves in the positions of one table, without an en passant right; get it from
    :func:`zeroing_moves_of`."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._kinds = tuple(layout.material.kinds[kind] for kind in layout.kinds)
        self._reach = tuple(map(reach, self._kinds))
        self._men = tuple(
            tuple(man for man, colour in enumerate(layout.colours) if colour == side) for side in SIDES
        )
        self._targets = {
            (SIDES[side], *men): (layout_of(target.material), target.swapped, target.source)
            for (side, *men), target in targets_of(layout).items()
        }

    def reached(self, side: Side, slot: Slot, *, captures_only: bool = False) -> list[ReachedPlace]:
        """Return where the zeroing moves of a legal position lead, or its captures alone.

        :param slot: any slot of the position, canonical or not.
        """
        free, pawns = self._layout.squares(slot)
        white = self._layout.white_pawns
        mine, theirs = (pawns[white:], pawns[:white]) if side else (pawns[:white], pawns[white:])
        enemies = {free[man]: man + 1 for man in self._men[1 - side][1:]}  # all but the king
        enemies |= dict.fromkeys(theirs, CAPTURED_PAWN)
        occupied = 0
        for square in (*free, *pawns):
            occupied |= 1 << square
        found: list[ReachedPlace] = []
        for start, stop, captured, moved, own, promotions in self._moves(side, free, mine, enemies, occupied):
            if captured == _NOTHING and captures_only:
                continue
            left = theirs
            if captured == CAPTURED_PAWN:
                left = tuple(square for square in theirs if square != stop)
            men = occupied ^ 1 << start | 1 << stop
            if not self._in_check(side, moved, left, men, captured):
                double = captured == _NOTHING and abs(stop - start) == 16
                passed = self._passed(side, start, stop, moved, own, left, men) if double else -1
                found += [
                    self._reached((side, captured, kind), moved, own, left, passed) for kind in promotions
                ]
        return found

    def _moves(
        self, side: Side, free: list[int], mine: Placement, enemies: dict[int, int], occupied: int
    ) -> Iterator[_Move]:
        """Yield zeroing moves, checks aside.

        :param enemies: numbers of the captures, by square.
        """
        for man in self._men[side]:
            start = free[man]
            reached = self._reach[man][start]
            for stop, captured in enemies.items():
                if reached >> stop & 1 and not between(self._kinds[man], start, stop) & occupied:
                    moved = free.copy()
                    moved[man] = stop
                    yield start, stop, captured, moved, mine, (NO_PROMOTION,)
        forward, home = (-8, 6) if side else (8, 1)
        for start in mine:
            others = tuple(square for square in mine if square != start)
            targets = [target for target in enemies.items() if _PAWN_REACH[side][start] >> target[0] & 1]
            steps = 2 if start >> 3 == home else 1
            for stop in range(start + forward, start + forward * (steps + 1), forward):
                if occupied >> stop & 1:
                    break
                targets.append((stop, _NOTHING))
            for stop, captured in targets:
                if 8 <= stop < 56:
                    yield start, stop, captured, free, (*others, stop), (NO_PROMOTION,)
                else:
                    men = [*free, *[0] * (PROMOTED - len(free)), stop]
                    yield start, stop, captured, men, others, PROMOTIONS

    def _passed(
        self, side: Side, start: int, stop: int, free: list[int], mine: Placement, theirs: Placement, men: int
    ) -> int:
        """Return the square that a pawn has passed by a double step if it may be captured there, else -1."""
        middle, others = (start + stop) // 2, mine[:-1]
        for square in theirs:
            men_after = men ^ 1 << square ^ 1 << stop | 1 << middle
            able = _PAWN_REACH[side][middle] >> square & 1
            if able and not self._in_check(SIDES[1 - side], free, others, men_after, _NOTHING):
                return middle
        return -1

    def _in_check(self, side: Side, free: list[int], theirs: Placement, occupied: int, captured: int) -> bool:
        """Tell whether the other side's men, but for a captured one, attack the king of a side."""
        king = free[side]
        for man in self._men[1 - side]:
            start = free[man]
            attacks = self._reach[man][start] >> king & 1 and man + 1 != captured
            if attacks and not between(self._kinds[man], start, king) & occupied:
                return True
        pawns = _PAWN_REACH[side][king]  # from where pawns attack, which go the other way
        return any(pawns >> square & 1 for square in theirs)

    def _reached(
        self, change: _Change, free: list[int], mine: Placement, theirs: Placement, passed: int
    ) -> ReachedPlace:
        side, (layout, swapped, source) = change[0], self._targets[change]
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


zeroing_moves_of: Final = functools.cache(ZeroingMoves)
"""Returns the zeroing moves in the positions of a table."""
