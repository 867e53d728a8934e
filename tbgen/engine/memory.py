"""The transposition table: what searches have found out about states."""

from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Final, NamedTuple

import chess

from tbgen.store.cache import Recent

if TYPE_CHECKING:
    from tbgen.engine.room import SearchRoom

ENTRY_BYTES: Final = 560
"""About what a state takes: a bit more than was measured."""


class MemoryEntry(NamedTuple):
    """What has been found out about a state.

    :ivar search: number of the search: to others an entry is a hint which move to try first, for their plies
        count from elsewhere and other positions came before.
    :ivar lower: the side to move has this at least.
    :ivar upper: it has this at most.
    """

    search: int
    depth: int
    lower: int
    upper: int
    move: chess.Move | None

    def decides(self, alpha: int, beta: int) -> bool:
        """Tell whether the bounds tell the value as far as it lies between two others."""
        return self.lower >= beta or self.upper <= alpha or self.lower == self.upper


class Memory(Recent[MemoryEntry]):
    """The states met last and what is known of them, within a bound on memory.

    :param mebibytes: what it may take.

    :ivar searches: numbers for searches that begin.
    """

    def __init__(self, mebibytes: int) -> None:
        self._mebibytes = mebibytes
        self._most = max((mebibytes << 20) // ENTRY_BYTES, 1)
        super().__init__(self._most, lambda _: 1)
        self.searches = count()

    @cached_property
    def room(self) -> "SearchRoom":
        """What the compiled search works with, which has a table of its own."""
        from tbgen.engine.room import SearchRoom  # takes numba

        return SearchRoom.of(self._mebibytes)

    @property
    def permille(self) -> int:
        """How full it is, in thousandths."""
        return 1000 * self.size // self._most
