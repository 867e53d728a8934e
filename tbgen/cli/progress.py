"""Progress of long work on stderr: one line rewritten on a terminal, dated lines for a log elsewhere."""

import os
import sys
import time
from contextlib import AbstractContextManager
from typing import Final

from tbgen.board.material import Material
from tbgen.board.scoring import ScoreInterval
from tbgen.cli.streams import discard
from tbgen.progress import SolveStage
from tbgen.text import counted, duration, number

_ON_TERMINAL: Final = 0.1
_ELSEWHERE: Final = 60.0
"""Seconds without a line after which a passing state is worth one."""
_USUAL: Final = 80
"""Letters in a line of a terminal that does not tell."""


class ProgressLine(AbstractContextManager["ProgressLine"]):
    """Shows the latest text, no more often than a reader can follow; a context that leaves none.

    A stderr that cannot be written does not stop the work.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = 0
        self._last = time.monotonic() if not self._terminal else 0.0

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        """Show a passing state."""
        if time.monotonic() - self._last < (_ON_TERMINAL if self._terminal else _ELSEWHERE):
            return
        if self._terminal:
            self._last = time.monotonic()
            text = text[: _columns() - 1]
            self._print("\r" + text.ljust(self._shown), end="")
            self._shown = len(text)
        else:
            self.log(text)

    def log(self, text: str) -> None:
        """Print a line with date and time, but not on a terminal."""
        if not self._terminal:
            self._last = time.monotonic()
            self._print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}")

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.clear()
        if self._terminal:
            self._print(text)
        self.log(text)

    def clear(self) -> None:
        """Remove the passing line from a terminal."""
        if self._shown:
            self._print("\r" + " " * self._shown + "\r", end="")
            self._shown = 0

    def _print(self, text: str, end: str = "\n") -> None:
        try:
            print(text + end, end="", file=sys.stderr, flush=True)  # in one piece, whatever interrupts
        except OSError:
            discard(sys.stderr.fileno())


def stage_text(stage: SolveStage) -> str:
    """Say how far the solving of a position has come: interval, cells, time left."""
    cells = counted(stage.cells, "cell")
    if stage.left is not None:
        cells = f"{number(stage.cells)} of {counted(stage.cells + stage.left, 'cell')}"
    text = f"{ScoreInterval(stage.lower, stage.upper).words}, {cells} solved"
    if stage.seconds_left is not None:
        text += f", about {duration(stage.seconds_left)} left"
    return text


def _columns() -> int:
    """Return how many letters a line of the terminal has: longer lines would not be rewritten."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _USUAL
    except (OSError, ValueError):
        return _USUAL


class TableProgress:
    """A reporter that shows the material at work, its step and the time that is left."""

    def __init__(self) -> None:
        self.line = ProgressLine()
        self.note = self.line.note
        self._table = ""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Remember what to show."""
        self._table = f"{material} ({number} of {count})"

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Show table, step, its share done and the time that is left."""
        share = "" if done is None or not total else f" {done / total:.0%}"
        left = "" if seconds_left is None else f", about {duration(seconds_left)} left"
        self.line.show(f"{self._table}: {step}{share}{left}")
