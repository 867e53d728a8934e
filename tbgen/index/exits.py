"""What the best zeroing move of a position is worth: its exit (section 4 of docs/theory.md)."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tbgen.board.score import Code
from tbgen.errors import TbgenError
from tbgen.index.layout import Side, Slot


class BestExit(NamedTuple):
    """What the best zeroing moves of a position lead to."""

    value: Code
    """Best fresh value for the mover, with the colours of the table that the position is of."""
    nearest: int
    """Smallest depth of the positions with this value that they lead to, in plies from there."""
    farthest: int
    """Greatest such depth."""


class ExitsOfMany(Protocol):
    """Finds the exits of positions of one table, by looking up where their zeroing moves lead."""

    def __call__(
        self, side: Side, slots: Sequence[Slot], *, captures_only: bool = False
    ) -> list[BestExit | TbgenError | None]:
        """Return the exit of each legal position, None if it has no zeroing move; in its place a
        ``MissingTableError`` if a table that a move leads to has not been built, or a ``DamagedTableError``
        if the file of one cannot be used.

        :param slots: any slots of the positions, canonical or not.
        :param captures_only: whether pawn moves that capture nothing are left aside.
        """
