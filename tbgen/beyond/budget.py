"""The budget of a solution: its limits, a meter of what remains, and the reasons to stop.

A solution of a position is found by solving *cells* one by one (docs/glossary.md). The size of a cell is its
number of *slots*, that is, of its positions with one side to move. This module loads no compiler.
"""

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, SupportsFloat

from tbgen.board.score import GScore
from tbgen.board.scoring import ScoreInterval
from tbgen.costs import RATES, memory_of, seconds_of
from tbgen.errors import UsageError, require_whole
from tbgen.system.memory import processor_count

__all__ = ["Budget", "SolvingInterruptedError", "Stop"]

_MIN_THREADS: Final = 2
"""Minimum number of threads for each of several positions that are solved side by side. Two threads solve a
cell nearly twice as fast as one."""
_MIN_BYTES: Final = 4 << 30
"""Minimum memory for each of several positions that are solved side by side, enough for cells of four mobile
men and their routes."""


def never_suffices(_bounds: ScoreInterval) -> bool:
    """Return False, for a caller that needs exact values."""
    return False


@dataclass(frozen=True)
class Budget:
    """Limits on the time, memory and work for solving one state.

    :ivar seconds: maximum time. Without this limit, solving ends when nothing remains to try.
    :ivar memory: maximum memory in bytes.
    :ivar cells: maximum number of cells to solve; None for no limit. A cell that is solved twice counts
        twice.
    :ivar threads: number of threads.
    :ivar suffice: returns whether bounds are narrow enough, so that solving ends. Exact values always are.
    :raises UsageError: if a number is too small.
    :raises TypeError: if an argument has a wrong type.
    """

    seconds: float = math.inf
    memory: int = 8 << 30
    cells: int | None = None
    threads: int = processor_count()
    suffice: Callable[[ScoreInterval], bool] = never_suffices

    def __post_init__(self) -> None:
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, SupportsFloat):
            raise TypeError(f"the seconds cannot be {type(self.seconds).__name__}: expected a number")
        if not self.seconds >= 0:
            raise UsageError(f"the seconds are {self.seconds}: expected 0 or more")
        require_whole("memory", self.memory, 0)
        require_whole("number of cells", self.cells or 0, 0)
        require_whole("number of threads", self.threads, 1)
        if not callable(self.suffice):
            raise TypeError(f"suffice cannot be {type(self.suffice).__name__}: expected a function of bounds")


class Stop(StrEnum):
    """Reason why solving ended before the value was proved. If several apply, the first one below counts."""

    INTERRUPT = "interrupted"
    """The answer is what had been proved when the search was interrupted or the cluster failed."""
    DECIDED = "points decided"
    """The bounds suffice, because all scores between them give the same points
    (``--solve-until-decided``). More time may narrow the interval."""
    TIME = "time"
    """``--time`` has run out, or the rest of it is too short for the remaining work. More time may narrow the
    interval."""
    MEMORY = "memory"
    """No further cell fits into ``--memory``, or the search for forcing moves has used up its share. More
    memory may narrow the interval, but more time will not."""
    CELLS = "number of cells"
    """The limit set in Python by ``Budget(cells=...)`` is reached."""
    TABLES = "missing tables"
    """Everything left to try needs tables that are missing."""
    NOTHING_LEFT = "nothing left to try"
    """More time or memory will not help, judging by the states of the play that were examined (at most
    2,400)."""


class SolvingInterruptedError(KeyboardInterrupt):
    """Raised when solving is interrupted.

    :ivar solution: the :class:`tbgen.Solution` with everything proved before the interrupt.
    :ivar interrupt: the original interrupt.
    """

    def __init__(self, solution: Any, interrupt: KeyboardInterrupt) -> None:
        super().__init__("solving was interrupted: the attribute solution has what was proved before")
        self.solution, self.interrupt = solution, interrupt


_SOLVE_AGAIN_TIME_RATIO: Final = 1.3
"""Estimated time to solve a cell again, divided by the time of its sweeps. The estimate is used until the
time has been measured. Looking up the exits adds little, because most of them were looked up the first
time."""


class OutOfBudgetError(Exception):
    """Raised if the next step needs more than remains of the budget.

    :ivar stop: the scarce resource: time, memory or cells.
    """

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop)
        self.stop = stop


class Meter:
    """Measures how much of a budget remains, and estimates the cost of further cells."""

    def __init__(self, budget: Budget) -> None:
        self._max_bytes, self.threads = budget.memory, budget.threads
        self._cells_left: float | None = budget.cells
        self._deadline = time.perf_counter() + budget.seconds
        self._suffice = budget.suffice
        self._is_decided = False
        self._cell_seconds: dict[tuple[int, bool], float] = {}
        """Maps a number of slots, and whether the cell was solved again, to the seconds of the last
        solution."""
        self._sweep_seconds: dict[int, float] = {}
        """Maps a number of slots to the seconds that the sweeps of the last solution took, not counting
        the look-ups of exits."""
        self._search_seconds: dict[int, float] = {}
        """Maps a number of slots to the seconds of the last search for forced mates in a cell of this
        size."""
        self._reserves: list[tuple[int, bool]] = []
        """For each cell with reserved time and memory: its number of slots, and whether it is solved
        again."""
        self.forcing_bytes = 0
        """Bytes that the search for forcing moves uses. :meth:`has_memory` adds them; its callers do not."""

    @property
    def seconds_left(self) -> float:
        """Remaining seconds; 0 if no further cell is allowed, or the bounds suffice."""
        return 0.0 if self.shortage is not Stop.TIME else self._deadline - time.perf_counter()

    @property
    def shortage(self) -> Stop:
        """The reason why :attr:`seconds_left` is 0: the bounds suffice, no further cell is allowed, or else
        time."""
        if self._is_decided:
            return Stop.DECIDED
        no_cells = self._cells_left is not None and self._cells_left <= 0
        return Stop.CELLS if no_cells else Stop.TIME

    def record_bounds(self, bounds: ScoreInterval) -> None:
        """Record the bounds of the state. If they differ and suffice, no time remains."""
        if not bounds.exact and self._suffice(bounds):
            self._is_decided = True

    @contextmanager
    def reserving(self, sizes: Iterable[int], repeated: bool = False) -> Iterator[None]:
        """Reserve time and memory for cells to be solved later, and count these cells against the limit.

        :param sizes: number of slots of each cell.
        :param repeated: whether the cells have been solved before.
        """
        earlier, self._reserves = self._reserves, [*self._reserves, *((size, repeated) for size in sizes)]
        try:
            yield
        finally:
            self._reserves = earlier

    def require_cell(self, size: int, repeated: bool) -> None:
        """Check that the budget allows solving a cell of ``size`` slots, for the first time or again.

        :raises OutOfBudgetError: if not enough time or cells remain.
        """
        self.require_seconds(self.seconds_for([size], repeated))
        if self._cells_left is not None and self._cells_left <= len(self._reserves):
            raise OutOfBudgetError(Stop.CELLS)

    def require_seconds(self, seconds: float) -> None:
        """Check that this number of seconds remains in addition to the reserved time.

        :raises OutOfBudgetError: if less time remains.
        """
        if self.seconds_left < seconds + self._seconds_reserved:
            raise OutOfBudgetError(self.shortage)

    def require_sweep_seconds(self, size: int) -> None:
        """Check that enough time remains for the sweeps of a cell of ``size`` slots.

        Called repeatedly while the exits are looked up, because the time of the look-ups is hard to predict.

        :raises OutOfBudgetError: if not enough time remains.
        """
        self.require_seconds(self._sweep_seconds.get(size, self.seconds_for([size]) / 2))

    def has_memory(self, nbytes: int) -> bool:
        """Return whether the budget allows using ``nbytes`` bytes in addition to :attr:`forcing_bytes`."""
        return nbytes + self.forcing_bytes <= self._max_bytes

    def has_memory_for(self, size: int, used_bytes: int) -> bool:
        """Return whether memory suffices for a cell of ``size`` slots and the reserved cells, one at a time.

        :param used_bytes: bytes already in use.
        """
        return self.has_memory(used_bytes + memory_needed(max([size, *(each for each, _ in self._reserves)])))

    def extend_time_limit(self, seconds: float) -> None:
        """Extend the time limit by the seconds that were spent on work that does not count."""
        self._deadline += seconds

    def record_cell(
        self, size: int, repeated: bool, seconds: float, sweep_seconds: float, count: float = 1
    ) -> None:
        """Record that a cell has been solved.

        :param repeated: whether the cell had been solved before.
        :param sweep_seconds: the part of ``seconds`` that followed the look-ups of exits.
        :param count: the number of cells that it counts as.
        """
        if self._cells_left is not None:
            self._cells_left -= count
        self._cell_seconds[size, repeated], self._sweep_seconds[size] = seconds, sweep_seconds

    def record_mate_search(self, size: int, seconds: float) -> None:
        """Record the time of a search for forced mates in a cell of ``size`` slots."""
        self._search_seconds[size] = seconds

    def allows(self, seconds: float, cell_count: int) -> bool:
        """Return whether this time and number of cells remain in addition to what is reserved."""
        if self._cells_left is not None and self._cells_left < cell_count + len(self._reserves):
            return False
        return seconds + self._seconds_reserved <= self.seconds_left

    def seconds_for(self, sizes: Iterable[int], repeated: bool = False) -> float:
        """Estimate the seconds to solve cells for the first time or again.

        :param sizes: number of slots of each cell.
        """
        return sum(self._cell_seconds_of(size, repeated) for size in sizes)

    def mate_search_seconds(self, size: int) -> float:
        """Estimate the seconds of a search for forced mates in a cell of ``size`` slots."""
        return self._search_seconds.get(size, seconds_of("wins", size, self.threads))

    def _cell_seconds_of(self, size: int, repeated: bool) -> float:
        first_time = self._cell_seconds.get((size, False), seconds_of("cell", size))
        if not repeated:
            return first_time
        return self._cell_seconds.get(
            (size, True), min(first_time, _SOLVE_AGAIN_TIME_RATIO * self._sweep_seconds.get(size, first_time))
        )

    @property
    def _seconds_reserved(self) -> float:
        return sum(self._cell_seconds_of(size, repeated) for size, repeated in self._reserves)


def memory_needed(size: int) -> int:
    """Estimate the memory in bytes for solving a cell of ``size`` slots for each side to move."""
    return memory_of("cell", size) + (RATES.min_mib["cells"] << 20)


_PYTHON: Final = (sys.executable, "-P", "-c")
"""Beginning of the command lines below. ``-P`` prevents imports from the current directory."""
_TIED: Final = "from tbgen.system.processes import end_with_parent; end_with_parent(); "
"""Beginning of Python programs that end with this process. Their standard input must be a pipe."""
SOLVE_COMMAND: Final = (*_PYTHON, f"{_TIED}from tbgen.cli import entry_point; entry_point()", "solve")
"""Beginning of the command line of a solving process, which ends with its parent."""


def solve_arguments(
    fen: str, accrued: GScore | None, budget: Budget, directory: Path | None, *options: str
) -> list[str]:
    """Return the arguments that follow :data:`SOLVE_COMMAND`. The answer is printed as JSON.

    :param accrued: the accrued score; None for that of the FEN.
    :param directory: the directory of the tables; None for the default directory.
    :param options: further options.
    """
    words = [fen, "--json", *options]
    words += ["--time", f"{budget.seconds:.1f}s", "--memory", f"{budget.memory >> 20}M"]
    words += [] if accrued is None else ["--accrued", str(accrued)]
    return words if directory is None else [*words, "--dir", str(directory)]


KERNEL_MODULE: Final = "tbgen.cells.cell_warmup"
"""Module that compiles the kernels needed for solving."""
COMPILE_COMMAND: Final = (*_PYTHON, f"{_TIED}from {KERNEL_MODULE} import ensure_compiled; ensure_compiled()")
"""Command line of a process that only compiles the kernels needed for solving, and ends with its parent."""


def process_count(threads: int, memory: int) -> int:
    """Return the number of positions to solve side by side with these threads, and this memory in bytes.

    >>> process_count(threads=2, memory=8 << 30), process_count(threads=16, memory=32 << 30)
    (1, 8)
    """
    return max(1, min(threads // _MIN_THREADS, memory // _MIN_BYTES))
