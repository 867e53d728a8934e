"""Attacks and zeroing moves of many positions at once, which have the same men."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS, KING, PIECE_ORDER, PROMOTIONS, between, reach
from tbgen.index.layout import SIDES, Side

Chosen = NDArray[np.intp]
"""Numbers of positions, shape (n,)."""

PAWN: Final = len(PIECE_ORDER)
"""Stands for a pawn where others have the number of their kind."""
_LETTERS: Final = PIECE_ORDER + "P"
_ONE: Final = np.uint64(1)
_BIT: Final = _ONE << np.arange(64, dtype=np.uint64)
_REACH: Final = np.array([reach(kind) for kind in KINDS], np.uint64)
_QUEEN: Final = KINDS[PIECE_ORDER.index("Q")]
_PASSED: Final = np.array(
    [[between(_QUEEN, start, stop) for stop in range(64)] for start in range(64)], np.uint64
)
"""What lies between two squares; nothing where no rider gets from one to the other."""
_PAWN_REACH: Final = np.array([chess.BB_PAWN_ATTACKS[side == 0] for side in SIDES], np.uint64)
"""Squares that a pawn attacks, by side and square."""


@dataclass(frozen=True, slots=True)
class Boards:
    """Positions with the same men and the same side to move.

    :ivar men: kind and side of each man.
    :ivar squares: uint8 (n, men).
    """

    men: tuple[tuple[int, Side], ...]
    squares: NDArray[np.uint8]
    side: Side

    @classmethod
    def of_letters(cls, letters: str, squares: NDArray[np.uint8], side: Side) -> "Boards":
        """Return positions of men named as in a FEN, White's in upper case."""
        men = tuple((_LETTERS.index(man.upper()), SIDES[man.islower()]) for man in letters)
        return cls(men, squares, side)

    @property
    def letters(self) -> str:
        """The men as :meth:`of_letters` takes them."""
        return "".join(_LETTERS[kind].lower() if side else _LETTERS[kind] for kind, side in self.men)

    def of_side(self, side: Side) -> list[int]:
        """Return the columns of a side's men."""
        return [man for man, (_, owner) in enumerate(self.men) if owner == side]

    def king(self, side: Side) -> int:
        """Return the column of a side's king."""
        return self.men.index((KING, side))

    @property
    def occupied(self) -> NDArray[np.uint64]:
        """The sets of squares where men stand, uint64 (n,)."""
        return np.asarray(np.bitwise_or.reduce(_BIT[self.squares], axis=1), np.uint64)

    def legal(self) -> NDArray[np.bool_]:
        """Tell which positions the men can stand in: bool (n,)."""
        good = np.bitwise_count(self.occupied) == len(self.men)
        for man, (kind, _) in enumerate(self.men):
            if kind == PAWN:
                good &= (self.squares[:, man] >= 8) & (self.squares[:, man] < 56)
        return np.asarray(good & ~self.in_check(SIDES[1 - self.side]), np.bool_)

    def in_check(self, side: Side) -> NDArray[np.bool_]:
        """Tell in which positions a side's king is attacked: bool (n,)."""
        king, occupied = self.squares[:, self.king(side)], self.occupied
        found = np.zeros(len(self.squares), np.bool_)
        for man in self.of_side(SIDES[1 - side]):
            found |= self._attacks(man, king, occupied)
        return found

    def _attacks(
        self, man: int, target: NDArray[np.uint8], occupied: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Tell where a man attacks a square: bool (n,)."""
        (kind, side), square = self.men[man], self.squares[:, man]
        reached = _PAWN_REACH[side] if kind == PAWN else _REACH[kind]
        clear = _PASSED[square, target] & occupied == 0
        return np.asarray((reached[square] & _BIT[target] != 0) & clear, np.bool_)

    def zeroing(self, captures_only: bool) -> "Iterator[Zeroed]":
        """Yield what the zeroing moves lead to, a kind of move after the other, en passant captures aside.

        :param captures_only: whether pawn moves that capture nothing are left aside.
        """
        occupied = self.occupied
        for man in self.of_side(self.side):
            for enemy in self.of_side(SIDES[1 - self.side]):
                if self.men[enemy][0] != KING:
                    target = self.squares[:, enemy]
                    yield from self._moved(man, target, self._attacks(man, target, occupied), enemy)
            if self.men[man][0] == PAWN and not captures_only:
                yield from self._steps(man, occupied)

    def _steps(self, man: int, occupied: NDArray[np.uint64]) -> "Iterator[Zeroed]":
        forward, home = (-8, 6) if self.side else (8, 1)
        square = self.squares[:, man].astype(np.int64)
        free = _BIT[square + forward] & occupied == 0
        yield from self._moved(man, (square + forward).astype(np.uint8), free, None)
        twice = np.where(square >> 3 == home, square + 2 * forward, square)
        free &= (square >> 3 == home) & (_BIT[twice] & occupied == 0)
        for each in self._moved(man, twice.astype(np.uint8), free, None):
            yield each._replace(passed=(square + forward)[each.chosen])

    def _moved(
        self, man: int, target: NDArray[np.uint8], able: NDArray[np.bool_], captured: int | None
    ) -> "Iterator[Zeroed]":
        """Yield the positions after a man's move to a square, where it is able to go."""
        chosen = np.flatnonzero(able)
        squares = self.squares[chosen]
        squares[:, man] = target[chosen]
        men, mover = list(self.men), man
        if captured is not None:
            squares, mover = np.delete(squares, captured, 1), man - (captured < man)
            del men[captured]
        after = Boards(tuple(men), squares, SIDES[1 - self.side])
        legal = ~after.in_check(self.side)
        chosen, squares = chosen[legal], squares[legal]
        last = np.full(len(chosen), self.men[man][0] == PAWN) & (squares[:, mover] - 8 >= 48)
        yield Zeroed(chosen[~last], replace(after, squares=squares[~last]), None)
        for kind in PROMOTIONS if last.any() else ():
            men[mover] = kind, self.side
            yield Zeroed(chosen[last], replace(after, men=tuple(men), squares=squares[last]), None)


class Zeroed(NamedTuple):
    """What one kind of zeroing move leads to.

    :ivar chosen: of which positions, each once.
    :ivar passed: the squares that a pawn has passed by a double step, int64 (n,), or None.
    """

    chosen: Chosen
    boards: Boards
    passed: NDArray[np.int64] | None
