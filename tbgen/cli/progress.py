"""Progress of long work on stderr: one line rewritten on a terminal, now and then a line elsewhere."""

import sys
import time
from typing import Final

_ON_TERMINAL: Final = 0.1
_ELSEWHERE: Final = 10.0


class ProgressLine:
    """Shows the latest text, no more often than a reader can follow."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = 0
        self._last = time.monotonic() if not self._terminal else 0.0

    def show(self, text: str) -> None:
        """Show a passing state."""
        now = time.monotonic()
        if now - self._last < (_ON_TERMINAL if self._terminal else _ELSEWHERE):
            return
        self._last = now
        if self._terminal:
            print("\r" + text.ljust(self._shown), end="", file=sys.stderr, flush=True)
            self._shown = len(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the passing line from a terminal."""
        if self._shown:
            print("\r" + " " * self._shown + "\r", end="", file=sys.stderr, flush=True)
            self._shown = 0


def duration(seconds: float) -> str:
    """Return a time for a reader.

    >>> duration(7.25), duration(95), duration(5000)
    ('7.2 s', '1 min 35 s', '1 h 23 min')
    """
    if seconds < 59.5:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"
