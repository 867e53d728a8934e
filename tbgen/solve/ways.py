"""The ways out of a cell as the proof finds them, by python-chess: which moves lead where."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import chess

from tbgen.cells.cell import TYPES, Cell, Frozen, man_of
from tbgen.cells.routes import Route
from tbgen.index.layout import SIDES, Side
from tbgen.verify.geometry import KING, PAWN
from tbgen.verify.kernels.resets import PROMOTIONS

_TYPES: Final = (*TYPES, chess.PAWN)
"""python-chess's type of each kind of man, pawns included."""


class StandingMan(NamedTuple):
    """A man of a cell."""

    colour: Side
    kind: int
    square: int | None
    """None if he is mobile."""


class Way(NamedTuple):
    """How moves leave a cell; the fields are those of ``tbgen.solve.kernels.cell_proof.way_number``."""

    mover: int
    target: int
    victim: int
    promotion: int
    route: Route
    """What that leads to; without a number."""


def men_of_cell(cell: Cell) -> list[StandingMan]:
    """Return the men of a cell: the kings, White's first, other mobile men in their order, those that stand
    still, and the pawns."""
    men = [StandingMan(man.colour, man.kind, None) for man in cell.mobile]
    men += [StandingMan(man.colour, man.kind, square) for square, man in cell.frozen]
    kings = sorted((man for man in men if man.kind == KING), key=lambda man: man.colour)
    pawns = [
        StandingMan(side, PAWN, square) for side in SIDES for square in chess.scan_forward(cell.pawns[side])
    ]
    return kings + [man for man in men if man.kind != KING] + pawns


def ways_out(cell: Cell) -> Iterator[Way]:
    """Yield all ways out of a cell; no legal move may take some of them."""
    for side in SIDES:
        yield from _WaysOf(cell, side).all()


class _WaysOf:
    """The ways out by moves of one side."""

    def __init__(self, cell: Cell, side: Side) -> None:
        self.cell, self.side = cell, side
        self.men = men_of_cell(cell)
        self.still = {man.square: man for man in self.men if man.square is not None}
        self.board = chess.BaseBoard(None)
        for square, man in self.still.items():
            self.board.set_piece_at(square, _piece(man.colour, man.kind))
        self.victims = [  # mobile men that may be captured, by 1 + their number
            1 + number for number, man in enumerate(cell.mobile) if man.colour != side and man.kind != KING
        ]

    def all(self) -> Iterator[Way]:
        """Yield them."""
        if any(man.colour == self.side for man in self.cell.mobile):
            for square in self.still:
                if self._is_prey(square):
                    yield self._way(None, square, 0)
            for victim in self.victims:
                yield self._way(None, 0, victim)
        for square, man in self.still.items():
            if man.colour == self.side:
                yield from self._of_pawn(square) if man.kind == PAWN else self._of_piece(square)

    def _of_piece(self, square: int) -> Iterator[Way]:
        for target in self.board.attacks(square):
            if target not in self.still:
                yield self._way(square, target, 0)
                for victim in self.victims:
                    yield self._way(square, target, victim)
            elif self._is_prey(target):
                yield self._way(square, target, 0)

    def _of_pawn(self, square: int) -> Iterator[Way]:
        ahead = -8 if self.side else 8
        steps = 2 if chess.square_rank(square) == (6 if self.side else 1) else 1
        for target in range(square + ahead, square + ahead * (steps + 1), ahead):
            if target in self.still:
                break
            yield from self._pawn_to(square, target, 0)
        for target in self.board.attacks(square):
            if self._is_prey(target):
                yield from self._pawn_to(square, target, 0)
            elif target not in self.still:
                for victim in self.victims:
                    yield from self._pawn_to(square, target, victim)

    def _pawn_to(self, square: int, target: int, victim: int) -> Iterator[Way]:
        if chess.square_rank(target) in (0, 7):
            for promotion in range(1, PROMOTIONS + 1):
                yield self._way(square, target, victim, promotion)
        else:
            yield self._way(square, target, victim)

    def _is_prey(self, square: int) -> bool:
        """Whether an enemy other than the king stands still on a square."""
        man = self.still.get(square)
        return man is not None and man.colour != self.side and man.kind != KING

    def _way(self, origin: int | None, target: int, victim: int, promotion: int = 0) -> Way:
        """A way out of the man on a square, or of any mobile man."""
        still = {square: man for square, man in self.still.items() if victim or square != target}
        mover, passed, quiet = len(self.men), None, False
        if origin is not None:
            man = still.pop(origin)
            mover = self.men.index(man)
            still[target] = man._replace(kind=promotion or man.kind)
            quiet = man.kind != PAWN and not victim and target not in self.still
            if man.kind == PAWN and abs(target - origin) == 16:
                passed = self._passed(origin, target)
        cell = Cell(
            tuple(man for number, man in enumerate(self.cell.mobile) if number + 1 != victim),
            tuple(
                Frozen(square, man_of(man.colour, man.kind))
                for square, man in sorted(still.items())
                if man.kind != PAWN
            ),
            *(
                sum(1 << square for square, man in still.items() if (man.colour, man.kind) == (side, PAWN))
                for side in SIDES
            ),
        )
        route = Route(self.side, 0, cell, target if promotion else None, quiet, passed)
        return Way(mover, target, victim, promotion, route)

    def _passed(self, origin: int, target: int) -> int | None:
        """The square that a double step passes, if an enemy pawn may capture there."""
        square = (origin + target) // 2
        takers = self.board.attackers(bool(self.side), square) & self.board.pawns
        return square if takers else None


def _piece(colour: Side, kind: int) -> chess.Piece:
    return chess.Piece(_TYPES[kind], colour == SIDES[0])
