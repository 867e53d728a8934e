"""The journal of a build: a row per finished table on stdout, progress or a dated log on stderr."""

import time
from contextlib import AbstractContextManager
from pathlib import Path

from tbgen.board.material import Material
from tbgen.cli.progress import ProgressLine
from tbgen.generator import Built
from tbgen.text import counted, duration, size_text


class Journal(AbstractContextManager["Journal"]):
    """The reporter of a build, for a reader at the terminal or of a log; a context."""

    def __init__(self, directory: Path, quiet: bool) -> None:
        """``quiet`` leaves stdout alone."""
        self._line = ProgressLine()
        self._directory = directory
        self._quiet = quiet
        self._table_begun = self._expected = 0.0
        self._table, self._count = "", 0
        self._begun_at: dict[Material, float] = {}
        self._built: list[Built] = []

    def note(self, text: str) -> None:
        """Print a sentence on stderr."""
        self._line.note(text)

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Log that the table begins, and remember what to show."""
        now = time.monotonic()
        self._expected = now + seconds_left
        self._table = f"{material}: {number} of {count}"
        if not self._begun_at:
            self._count = count
            self._line.log(f"{counted(count, 'table')} to build in {self._directory}: {self._left()}")
        if material not in self._begun_at:
            self._line.log(f"{self._table}, begun; {self._left()}")
        self._table_begun = self._begun_at.setdefault(material, now)
        self.progress("reading sub-tables", None, 0)

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Show table, stage, time spent on the table and time left for all."""
        how_far = "" if done is None else f" {done} of {total}" if total else f" {done}"
        spent = duration(time.monotonic() - self._table_begun)
        self._line.show(f"{self._table}, {step}{how_far}, at work for {spent}; {self._left()}")

    def done(self, built: Built, seconds_left: float) -> None:
        """Print the table's row on stdout, and log it."""
        self._line.clear()
        info = built.info
        self._expected = time.monotonic() + seconds_left
        self._built.append(built)
        if not self._quiet:
            self._print_row(built)
        left = f"; {self._left()}" if len(self._built) < self._count else ""
        without = "" if info.stores_accrued or not info.variant.layered else " without accrued scores"
        sizes = f"{size_text(info.bytes)}{without}, process peak {size_text(built.process_peak)}"
        number = f"{len(self._built)} of {self._count}"
        self._line.log(f"{info.material}: {number}, done in {duration(built.seconds)}, {sizes}{left}")

    def __exit__(self, *_: object) -> None:
        """End the journal with a sum, if anything was begun."""
        self._line.clear()
        if not self._begun_at:
            return
        tables = counted(self._count, "table")
        sums = f"built in {duration(time.monotonic() - min(self._begun_at.values()))}"
        if self._built:
            size, peak = (
                sum(built.info.bytes for built in self._built),
                max(built.process_peak for built in self._built),
            )
            sums += f", {size_text(size)}, process peak {size_text(peak)}"
        if len(self._built) == self._count:
            self._line.note(f"{tables} {sums}")
        else:
            again = "the same command, without --force, goes on from there"
            self._line.note(f"stopped: {len(self._built)} of {tables} {sums}; {again}")

    def _print_row(self, built: Built) -> None:
        info = built.info
        if len(self._built) == 1:
            print(f"{'material':10} {'positions':>12} {'layers':>6} {'longest':>11} {'time':>9} {'size':>11}")
        table = f"{info.material:10} {sum(info.positions) + info.ep_positions:12,} {built.layers:6}"
        costs = f"{built.seconds:7.2f} s {size_text(info.bytes):>11}"
        print(f"{table} {info.max_depth:5} plies {costs}", flush=True)

    def _left(self) -> str:
        left = self._expected - time.monotonic()
        return f"about {duration(left)} left" if left > 0 else "taking longer than estimated"
