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


class Exits(Protocol):
    """Finds the exits of the positions of one table, by looking up where their zeroing moves lead."""

    def __call__(
        self, side: Side, slot: Slot, ep_square: int = -1, *, captures_only: bool = False
    ) -> BestExit | None:
        """Return the exit of a legal position, None if it has no zeroing move.

        :param slot: any slot of the position, canonical or not.
        :param ep_square: target of a legal en passant capture as the table numbers it, -1 without.
        :param captures_only: whether pawn moves that capture nothing are left aside.
        :raises MissingTableError: if a table that a move leads to has not been built.
        :raises DamagedTableError: if the file of one cannot be used.
        """


class ExitsOfMany(Protocol):
    """Finds the exits of many positions of one table."""

    def __call__(
        self, side: Side, slots: Sequence[Slot], *, captures_only: bool = False
    ) -> list[BestExit | TbgenError | None]:
        """Return for each position what :class:`Exits` does, or the error that it would raise."""
