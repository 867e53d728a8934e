"""What is left of a budget while cells are solved."""

import time
from typing import Final

from tbgen.solve.budget import Budget

_BYTES_AT_LEAST: Final = 400 << 20
"""Bytes of the process without any cell."""
_BYTES_PER_SLOT: Final = 2 * 75
"""Of both games of a cell while they are solved, per slot for one side to move."""
_SECONDS_PER_SLOT: Final = 8e-7
"""Of both games, before anything has been measured."""
_TELLING: Final = 64**3
"""Slots of a cell that tells how long others will take."""


class OutOfBudgetError(Exception):
    """What is next takes more time or memory than is left."""


class Meter:
    """What is left of a budget."""

    def __init__(self, budget: Budget) -> None:
        self._memory = budget.memory
        self._end = time.perf_counter() + budget.seconds
        self._cells = budget.cells
        self._seconds_per_slot = _SECONDS_PER_SLOT
        self._sweeping_per_slot = 0.0
        """The part of it that the sweeps take: what comes after it is known where moves lead."""
        self.reserved = 0
        """Slots of a cell that is to be solved in any case."""

    @property
    def left(self) -> float:
        """Seconds left, none without cells left."""
        return 0.0 if self._cells == 0 else self._end - time.perf_counter()

    def ask(self, size: int, kept: int) -> None:
        """Ask whether a cell of ``size`` slots may be solved, ``kept`` bytes being in use.

        :raises OutOfBudgetError: if it takes more than is left.
        """
        seconds = (size + self.reserved) * self._seconds_per_slot
        if self.left < seconds or not self.fits(size, kept):
            raise OutOfBudgetError
        if self.reserved and self._cells == 1:
            raise OutOfBudgetError

    def ask_again(self, size: int) -> None:
        """Ask whether there still is time for a cell, while it is found out where its moves lead: how long
        that takes is hard to foresee.

        :raises OutOfBudgetError: if it takes more than is left.
        """
        if self.left < size * self._sweeping_per_slot + self.reserved * self._seconds_per_slot:
            raise OutOfBudgetError

    def fits(self, size: int, kept: int) -> bool:
        """Whether there is memory for a cell of ``size`` slots beside ``kept`` bytes in use."""
        return kept + memory_needed(max(size, self.reserved)) <= self._memory

    def prolong(self, seconds: float) -> None:
        """Take note of time that does not count."""
        self._end += seconds

    def learn(self, size: int, seconds: float, sweeping: float) -> None:
        """Take note of a solved cell, of how long it has taken, and of how much of that after it was known
        where its moves lead."""
        if self._cells is not None:
            self._cells -= 1
        if size >= _TELLING:
            self._seconds_per_slot, self._sweeping_per_slot = seconds / size, sweeping / size


def memory_needed(size: int) -> int:
    """Return about how many bytes it takes to solve a cell of ``size`` slots for each side to move."""
    return size * _BYTES_PER_SLOT + _BYTES_AT_LEAST
