"""The transposition table: what searches have found out about states."""

from collections.abc import Hashable
from enum import Enum
from typing import Final, NamedTuple

import chess

ENTRY_BYTES: Final = 400
"""About what a state takes: a bit more than was measured."""


class Bound(Enum):
    """What a stored value says of the true one."""

    EXACT = "exact"
    LOWER = "lower"
    UPPER = "upper"


class MemoryEntry(NamedTuple):
    """What has been found out about a state.

    :ivar search: number of the search: to others an entry is a hint which move to try first, for their plies
        count from elsewhere and other positions came before.
    :ivar value: seen by the side to move.
    """

    search: int
    depth: int
    bound: Bound
    value: int
    move: chess.Move | None

    def decides(self, alpha: int, beta: int) -> bool:
        """Tell whether the value does for a search that asks where it lies between two others."""
        if self.bound is Bound.EXACT:
            return True
        return self.value >= beta if self.bound is Bound.LOWER else self.value <= alpha


class Memory:
    """States and what is known of them, within a bound on memory.

    There are two halves: when the new one is full, the old one goes.

    :param mebibytes: what it may take.
    """

    def __init__(self, mebibytes: int) -> None:
        self._half = max((mebibytes << 20) // ENTRY_BYTES // 2, 1)
        self._searches = 0
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._new: dict[Hashable, MemoryEntry] = {}
        self._old: dict[Hashable, MemoryEntry] = {}

    def new_search(self) -> int:
        """Return the number of a search that begins."""
        self._searches += 1
        return self._searches

    def get(self, state: Hashable) -> MemoryEntry | None:
        """Return what is known of a state."""
        return self._new.get(state) or self._old.get(state)

    def put(self, state: Hashable, entry: MemoryEntry) -> None:
        """Keep what has been found out about a state, in the place of what was known."""
        if len(self._new) >= self._half and state not in self._new:
            self._old, self._new = self._new, {}
        self._new[state] = entry

    @property
    def permille(self) -> int:
        """How full it is, in thousandths."""
        return min(1000, 1000 * (len(self._new) + len(self._old)) // (2 * self._half))
