"""The budget of a solution, and why one ends; a module of its own, so that setting one needs no compiler."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbgen.solve.solution import Solution

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

    :ivar solution: what is proved by then.
    :ivar interrupt: the interrupt itself.
    """

    def __init__(self, solution: Solution, interrupt: KeyboardInterrupt) -> None:
        super().__init__(*interrupt.args)
        self.solution, self.interrupt = solution, interrupt
