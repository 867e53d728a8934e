"""The budget of a solution, what is left of it and why one ends; setting one needs no compiler."""

import math
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from tbgen.costs import RATES, memory_of, seconds_of

__all__ = ["Budget", "SolvingInterruptedError", "Stop"]


@dataclass(frozen=True)
class Budget:
    """What solving a state may take."""

    seconds: float = math.inf
    """Without a limit, solving ends when nothing is left to try."""
    memory: int = 8 << 30
    """Bytes."""
    cells: int | None = None
    """How many cells to solve at most, those solved again counted again; None for any number."""
    threads: int = 2
    """Two for the two ends of an interval; more of them share the counting of moves."""


class Stop(StrEnum):
    """Why solving ended before the value was known. Of several reasons the first one of this list counts."""

    INTERRUPT = "interrupted"
    TIME = "time"
    MEMORY = "memory"
    """What is left to try takes more than is allowed."""
    CELLS = "number of cells"
    TABLES = "missing tables"
    """Nothing is left to try without tables that are missing."""
    NOTHING_LEFT = "nothing left to try"


class SolvingInterruptedError(KeyboardInterrupt):
    """Solving was interrupted.

    :ivar solution: the :class:`tbgen.Solution` that is proved by then.
    :ivar interrupt: the interrupt itself.
    """

    def __init__(self, solution: Any, interrupt: KeyboardInterrupt) -> None:
        super().__init__(*interrupt.args)
        self.solution, self.interrupt = solution, interrupt


_AGAIN: Final = 1.3
"""How much longer than its sweeps it takes to solve a cell again, before that has been measured: most of
where its moves lead has been looked up."""


class OutOfBudgetError(Exception):
    """What is next takes more than is left.

    :ivar stop: more of what: time, memory or cells.
    """

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop)
        self.stop = stop


class Meter:
    """What is left of a budget."""

    def __init__(self, budget: Budget) -> None:
        self._memory, self._cells, self.threads = budget.memory, budget.cells, budget.threads
        self._end = time.perf_counter() + budget.seconds
        self._seconds: dict[tuple[int, bool], float] = {}
        """How long the last cell of a size has taken, and the last one that was solved again..."""
        self._sweeping: dict[int, float] = {}
        """...and the part of it that the sweeps took: what comes after it is known where moves lead."""
        self._wins: dict[int, float] = {}
        """How long it has taken last to find what is won in a cell of a size."""
        self._reserved: list[tuple[int, bool]] = []
        """Slots of cells that are to be solved in any case, and whether they have been before."""
        self.besides = 0
        """Bytes that forcing moves keep, besides what callers count."""

    @property
    def left(self) -> float:
        """Seconds left, none without cells left."""
        return 0.0 if self._cells == 0 else self._end - time.perf_counter()

    @property
    def shortage(self) -> Stop:
        """What it is that is left no longer when nothing is left."""
        return Stop.CELLS if self._cells == 0 else Stop.TIME

    @contextmanager
    def reserving(self, sizes: Iterable[int], again: bool = False) -> Iterator[None]:
        """Leave time, memory and a cell each for some of so many slots that are to be solved afterwards, or
        solved again."""
        before, self._reserved = self._reserved, [*self._reserved, *((size, again) for size in sizes)]
        try:
            yield
        finally:
            self._reserved = before

    def ask(self, size: int, again: bool) -> None:
        """Ask whether there is time for a cell of ``size`` slots, solved before or not.

        :raises OutOfBudgetError: if it takes more than is left.
        """
        self.ask_for(self.seconds_of([size], again))
        if self._cells is not None and self._cells <= len(self._reserved):
            raise OutOfBudgetError(Stop.CELLS)

    def ask_for(self, seconds: float) -> None:
        """Ask whether there is so much time.

        :raises OutOfBudgetError: if there is less.
        """
        if self.left < seconds + self._seconds_reserved:
            raise OutOfBudgetError(self.shortage)

    def ask_again(self, size: int) -> None:
        """Ask whether there still is time for a cell, while it is found out where its moves lead: how long
        that takes is hard to foresee.

        :raises OutOfBudgetError: if it takes more than is left.
        """
        self.ask_for(self._sweeping.get(size, self.seconds_of([size]) / 2))

    def allows(self, size: int) -> bool:
        """Whether so many bytes may be in use beside :attr:`besides`."""
        return size + self.besides <= self._memory

    def fits(self, size: int, kept: int) -> bool:
        """Whether there is memory for a cell of ``size`` slots beside ``kept`` bytes in use."""
        return self.allows(kept + memory_needed(max([size, *(each for each, _ in self._reserved)])))

    def prolong(self, seconds: float) -> None:
        """Take note of time that does not count."""
        self._end += seconds

    def learn(self, size: int, again: bool, seconds: float, sweeping: float) -> None:
        """Take note of a solved cell, solved before or not, of how long it has taken, and of how much of that
        after it was known where its moves lead."""
        if self._cells is not None:
            self._cells -= 1
        self._seconds[size, again], self._sweeping[size] = seconds, sweeping

    def learn_wins(self, size: int, seconds: float) -> None:
        """Take note of how long it has taken to find what is won in a cell of so many slots."""
        self._wins[size] = seconds

    def has_time(self, seconds: float, cells: int) -> bool:
        """Whether there is so much time, and so many cells may be solved."""
        if self._cells is not None and self._cells < cells + len(self._reserved):
            return False
        return seconds + self._seconds_reserved <= self.left

    def seconds_of(self, sizes: Iterable[int], again: bool = False) -> float:
        """Return about how many seconds cells of so many slots take, solved before or not."""
        return sum(self._seconds_of(size, again) for size in sizes)

    def seconds_of_wins(self, size: int) -> float:
        """Return about how many seconds it takes to find what is won in a cell of so many slots."""
        return self._wins.get(size, seconds_of("wins", size, self.threads))

    def _seconds_of(self, size: int, again: bool) -> float:
        first = self._seconds.get((size, False), seconds_of("cell", size))
        if not again:
            return first
        return self._seconds.get((size, True), min(first, _AGAIN * self._sweeping.get(size, first)))

    @property
    def _seconds_reserved(self) -> float:
        return sum(self._seconds_of(size, again) for size, again in self._reserved)


def memory_needed(size: int) -> int:
    """Return about how many bytes it takes to solve a cell of ``size`` slots for each side to move."""
    return memory_of("cell", size) + (RATES.process["cells"] << 20)


COMMAND: Final = (sys.executable, "-P", "-m", "tbgen", "solve")
"""``-P``: nothing is imported from the directory that the command is given in."""
KERNELS: Final = "tbgen.cells.cell_warmup"
"""The family of kernels that it takes."""
COMPILE: Final = (*COMMAND[:2], "-c", f"from {KERNELS} import compile_kernels; compile_kernels()")
"""What compiles them, so that it can be a step of its own."""
