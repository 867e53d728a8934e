"""Budgets of solutions: the limits, the meter of what remains, and the reasons to stop. Needs no compiler."""

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
    """Limits of solving a state."""

    seconds: float = math.inf
    """Time. Without a limit, solving ends when nothing remains to try."""
    memory: int = 8 << 30
    """Memory in bytes."""
    cells: int | None = None
    """Maximum number of solutions of cells, repeated solutions included; None for no limit."""
    threads: int = 2
    """Number of threads: one for each of the two games; further threads share the counting of moves."""


class Stop(StrEnum):
    """Reason why solving ended before the value was proved. If several apply, the first one listed counts."""

    INTERRUPT = "interrupted"
    TIME = "time"
    MEMORY = "memory"
    """Everything that remains to try takes more memory than the budget allows."""
    CELLS = "number of cells"
    TABLES = "missing tables"
    """Nothing remains to try without the missing tables."""
    NOTHING_LEFT = "nothing left to try"


class SolvingInterruptedError(KeyboardInterrupt):
    """Solving was interrupted.

    :ivar solution: the :class:`tbgen.Solution` with everything proved before the interrupt.
    :ivar interrupt: the interrupt itself.
    """

    def __init__(self, solution: Any, interrupt: KeyboardInterrupt) -> None:
        super().__init__(*interrupt.args)
        self.solution, self.interrupt = solution, interrupt


_RESOLVE_TIME_RATIO: Final = 1.3
"""Estimated ratio between the time to solve a cell again and the time of its sweeps, until it is measured.
Most exits have been looked up by then."""


class OutOfBudgetError(Exception):
    """The next step takes more than the budget has left.

    :ivar stop: the scarce resource: time, memory or cells.
    """

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop)
        self.stop = stop


class Meter:
    """Measures how much of a budget remains, and estimates the cost of further cells."""

    def __init__(self, budget: Budget) -> None:
        self._memory, self._cells, self.threads = budget.memory, budget.cells, budget.threads
        self._end = time.perf_counter() + budget.seconds
        self._seconds: dict[tuple[int, bool], float] = {}
        """Seconds that the last cell of a size took, by slots and by whether it was solved again."""
        self._sweep_seconds: dict[int, float] = {}
        """Seconds that the sweeps of the last cell of a size took, without looking up its exits, by slots."""
        self._wins_seconds: dict[int, float] = {}
        """Seconds that the last search for forced mates in a cell of a size took, by slots."""
        self._reserved: list[tuple[int, bool]] = []
        """Cells for which the budget is reserved: slots, and whether they are solved again."""
        self.forcing_bytes = 0
        """Bytes in use by the search for forcing moves, which callers do not count."""

    @property
    def seconds_left(self) -> float:
        """Remaining seconds; 0 if the number of cells is used up."""
        return 0.0 if self._cells == 0 else self._end - time.perf_counter()

    @property
    def shortage(self) -> Stop:
        """The resource that is used up if :attr:`seconds_left` is 0."""
        return Stop.CELLS if self._cells == 0 else Stop.TIME

    @contextmanager
    def reserving(self, sizes: Iterable[int], again: bool = False) -> Iterator[None]:
        """Reserve time and memory for cells that are to be solved afterwards, and count them in advance.

        :param sizes: slots of each cell.
        :param again: whether the cells have been solved before.
        """
        before, self._reserved = self._reserved, [*self._reserved, *((size, again) for size in sizes)]
        try:
            yield
        finally:
            self._reserved = before

    def require_cell(self, size: int, again: bool) -> None:
        """Check that the budget allows solving a cell of ``size`` slots, for the first time or again.

        :raises OutOfBudgetError: if not enough time or cells remain.
        """
        self.require_seconds(self.seconds_of([size], again))
        if self._cells is not None and self._cells <= len(self._reserved):
            raise OutOfBudgetError(Stop.CELLS)

    def require_seconds(self, seconds: float) -> None:
        """Check that this number of seconds remains.

        :raises OutOfBudgetError: if fewer remain.
        """
        if self.seconds_left < seconds + self._seconds_reserved:
            raise OutOfBudgetError(self.shortage)

    def require_rest_of(self, size: int) -> None:
        """Check that enough time remains for the sweeps of a cell of ``size`` slots.

        Called while the exits are looked up, since the time for that is hard to predict.

        :raises OutOfBudgetError: if not enough time remains.
        """
        self.require_seconds(self._sweep_seconds.get(size, self.seconds_of([size]) / 2))

    def has_memory(self, size: int) -> bool:
        """Return whether ``size`` bytes may be in use besides :attr:`forcing_bytes`."""
        return size + self.forcing_bytes <= self._memory

    def has_memory_for(self, size: int, kept: int) -> bool:
        """Return whether memory suffices for a cell of ``size`` slots, or the largest reserved cell, besides
        ``kept`` bytes in use."""
        return self.has_memory(kept + memory_needed(max([size, *(each for each, _ in self._reserved)])))

    def extend(self, seconds: float) -> None:
        """Extend the time by some seconds whose use does not count."""
        self._end += seconds

    def record(self, size: int, again: bool, seconds: float, sweeping: float) -> None:
        """Record that a cell has been solved.

        :param again: whether it had been solved before.
        :param sweeping: the part of ``seconds`` after its exits had been looked up.
        """
        if self._cells is not None:
            self._cells -= 1
        self._seconds[size, again], self._sweep_seconds[size] = seconds, sweeping

    def record_wins(self, size: int, seconds: float) -> None:
        """Record the time of a search for forced mates in a cell of ``size`` slots."""
        self._wins_seconds[size] = seconds

    def has_time(self, seconds: float, cells: int) -> bool:
        """Return whether these numbers of seconds and cells remain."""
        if self._cells is not None and self._cells < cells + len(self._reserved):
            return False
        return seconds + self._seconds_reserved <= self.seconds_left

    def seconds_of(self, sizes: Iterable[int], again: bool = False) -> float:
        """Estimate the time to solve cells of these sizes in slots, for the first time or again."""
        return sum(self._seconds_of(size, again) for size in sizes)

    def seconds_of_wins(self, size: int) -> float:
        """Estimate the time of a search for forced mates in a cell of ``size`` slots."""
        return self._wins_seconds.get(size, seconds_of("wins", size, self.threads))

    def _seconds_of(self, size: int, again: bool) -> float:
        first = self._seconds.get((size, False), seconds_of("cell", size))
        if not again:
            return first
        return self._seconds.get(
            (size, True), min(first, _RESOLVE_TIME_RATIO * self._sweep_seconds.get(size, first))
        )

    @property
    def _seconds_reserved(self) -> float:
        return sum(self._seconds_of(size, again) for size, again in self._reserved)


def memory_needed(size: int) -> int:
    """Estimate the memory in bytes for solving a cell of ``size`` slots for each side to move."""
    return memory_of("cell", size) + (RATES.process["cells"] << 20)


COMMAND: Final = (sys.executable, "-P", "-m", "tbgen", "solve")
"""Command line of a solving process. With ``-P`` nothing is imported from the current directory."""
KERNEL_FAMILY: Final = "tbgen.cells.cell_warmup"
"""The family of kernels that solving needs."""
COMPILE_COMMAND: Final = (
    *COMMAND[:2],
    "-c",
    f"from {KERNEL_FAMILY} import compile_kernels; compile_kernels()",
)
"""Command line that compiles these kernels, as a separate step."""
