"""Progress of long work, shown on stderr: a line that is rewritten on a terminal, dated lines in a log."""

import os
import sys
import time
from contextlib import AbstractContextManager
from typing import Final

from tbgen.board.material import Material
from tbgen.board.scoring import ScoreInterval
from tbgen.cli.streams import redirect_to_null
from tbgen.progress import SolveStage
from tbgen.text import counted, duration, number

_TERMINAL_SECONDS: Final = 0.1
"""Minimum time in seconds between two lines of progress on a terminal."""
_LOG_SECONDS: Final = 60.0
"""Minimum time in seconds between two lines of progress in a log."""
_DEFAULT_COLUMNS: Final = 80
"""Assumed width of a terminal whose width is unavailable."""


class ProgressLine(AbstractContextManager["ProgressLine"]):
    """Shows the latest text, no more often than a reader can follow.

    As a context manager, it removes the text at the end. Errors in writing to stderr are ignored.
    """

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown_length = 0
        self._last_time = time.monotonic() if not self._terminal else 0.0

    def __exit__(self, *_: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        """Show a text until the next one replaces it. A text that comes too soon is ignored."""
        if time.monotonic() - self._last_time < (_TERMINAL_SECONDS if self._terminal else _LOG_SECONDS):
            return
        if self._terminal:
            self._last_time = time.monotonic()
            text = text[: _columns() - 1]
            self._print("\r" + text.ljust(self._shown_length), end="")
            self._shown_length = len(text)
        else:
            self.log(text)

    def log(self, text: str) -> None:
        """Print a line with date and time, unless stderr is a terminal."""
        if not self._terminal:
            self._last_time = time.monotonic()
            self._print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}")

    def note(self, text: str) -> None:
        """Print a line that is not replaced."""
        self.clear()
        if self._terminal:
            self._print(text)
        self.log(text)

    def clear(self) -> None:
        """Remove the progress line from a terminal."""
        if self._shown_length:
            self._print("\r" + " " * self._shown_length + "\r", end="")
            self._shown_length = 0

    def _print(self, text: str, end: str = "\n") -> None:
        try:
            print(text + end, end="", file=sys.stderr, flush=True)  # one write, so that no signal splits it
        except OSError:
            redirect_to_null(sys.stderr.fileno())


def stage_text(stage: SolveStage) -> str:
    """Return the progress of solving a position, as text: interval, cells, remaining time."""
    cell_text = counted(stage.cells, "cell")
    if stage.left is not None:
        cell_text = f"{number(stage.cells)} of {counted(stage.cells + stage.left, 'cell')}"
    text = f"{ScoreInterval(stage.lower, stage.upper).description}, {cell_text} solved"
    if stage.seconds_left is not None:
        text += f", about {duration(stage.seconds_left)} left"
    return text


def _columns() -> int:
    """Return the width of the terminal. A longer line would wrap, and could not be rewritten."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _DEFAULT_COLUMNS
    except (OSError, ValueError):
        return _DEFAULT_COLUMNS


class TableProgress:
    """A reporter that shows the current material, its step and the remaining time."""

    def __init__(self) -> None:
        self.line = ProgressLine()
        self.note = self.line.note
        self._table = ""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Set the table whose progress is shown."""
        self._table = f"{material} ({number} of {count})"

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Show the table, the step, the completed share of the step, and the remaining time."""
        share = "" if done is None or not total else f" {done / total:.0%}"
        remaining_text = "" if seconds_left is None else f", about {duration(seconds_left)} left"
        self.line.show(f"{self._table}: {step}{share}{remaining_text}")
