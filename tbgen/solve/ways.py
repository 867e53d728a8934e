"""The ways out of a cell as the proof finds them, by python-chess: which moves lead where."""

from collections.abc import Iterator
from typing import NamedTuple

import chess

from tbgen.cells.cell import PAWN, Cell, Man, man_of, piece_of
from tbgen.cells.routes import Route
from tbgen.index.layout import SIDES, Side
from tbgen.verify.geometry import KING
from tbgen.verify.kernels.resets import PROMOTIONS


class Way(NamedTuple):
    """How moves leave a cell; the fields are those of :func:`tbgen.verify.kernels.exits.way_number`."""

    mover: int
    target: int
    victim: int
    promotion: int
    route: Route
    """What that leads to; without a number."""


def ways_out(cell: Cell) -> Iterator[Way]:
    """Yield all ways out of a cell; no legal move may take some of them."""
    for side in SIDES:
        yield from _WaysOf(cell, side).all()


class _WaysOf:
    """The ways out by moves of one side."""

    def __init__(self, cell: Cell, side: Side) -> None:
        self.cell, self.side, self.still = cell, side, cell.standing
        self.board = chess.BaseBoard(None)
        for square, man in self.still.items():
            self.board.set_piece_at(square, piece_of(man))
        self.victims = [  # mobile men that may be captured, by 1 + their number
            1 + number for number, man in enumerate(cell.mobile) if self._is_prey(man)
        ]

    def all(self) -> Iterator[Way]:
        """Yield them."""
        if any(man.colour == self.side for man in self.cell.mobile):
            for square, man in self.still.items():
                if self._is_prey(man):
                    yield self._way(None, square)
            for victim in self.victims:
                yield self._way(None, 0, victim)
        for square, man in self.still.items():
            if man.colour == self.side:
                for target in self._targets(square, man):
                    for victim in self._captured(square, target, man):
                        yield from self._to(square, target, victim, man)

    def _targets(self, square: int, man: Man) -> Iterator[int]:
        """Yield the squares that a man may come to."""
        yield from self.board.attacks(square)
        if man.kind == PAWN:
            ahead = -8 if self.side else 8
            steps = 2 if chess.square_rank(square) == (6 if self.side else 1) else 1
            for target in range(square + ahead, square + ahead * (steps + 1), ahead):
                if target in self.still:
                    break
                yield target

    def _captured(self, square: int, target: int, man: Man) -> list[int]:
        """What a man may capture of the mobile men as it comes to a square: 0 for none of them, so that it
        moves quietly, or captures what stands there."""
        if target in self.still:
            return [0] if self._is_prey(self.still[target]) else []
        if man.kind != PAWN:
            return [0, *self.victims]
        return [0] if chess.square_file(square) == chess.square_file(target) else self.victims

    def _to(self, square: int, target: int, victim: int, man: Man) -> Iterator[Way]:
        promotes = man.kind == PAWN and chess.square_rank(target) in (0, 7)
        for promotion in range(1, PROMOTIONS + 1) if promotes else (0,):
            yield self._way(square, target, victim, promotion)

    def _is_prey(self, man: Man) -> bool:
        """Whether a man is an enemy other than the king."""
        return man.colour != self.side and man.kind != KING

    def _way(self, origin: int | None, target: int, victim: int = 0, promotion: int = 0) -> Way:
        """A way out of the man on a square, or of any mobile man."""
        still = {square: man for square, man in self.still.items() if victim or square != target}
        mover, passed, quiet = self.cell.men, None, False
        if origin is not None:
            man = still.pop(origin)
            mover = len(self.cell.mobile) + list(self.still).index(origin)
            still[target] = man_of(self.side, promotion) if promotion else man
            quiet = man.kind != PAWN and not victim and target not in self.still
            if man.kind == PAWN and abs(target - origin) == 16:
                passed = self._passed(origin, target)
        mobile = (man for number, man in enumerate(self.cell.mobile, 1) if number != victim)
        cell = Cell.of_men(mobile, still)
        route = Route(self.side, 0, cell, target if promotion else None, quiet, passed)
        return Way(mover, target, victim, promotion, route)

    def _passed(self, origin: int, target: int) -> int | None:
        """The square that a double step passes, if an enemy pawn may capture there."""
        square = (origin + target) // 2
        takers = self.board.attackers(bool(self.side), square) & self.board.pawns
        return square if takers else None
