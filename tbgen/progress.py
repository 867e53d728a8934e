"""Progress of long work on tables and positions: reporters, counts, and the estimated remaining time."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from tbgen.board.material import Material
from tbgen.board.score import GScore

Progress = Callable[[str, int | None, int], None]
"""Called with a step of the work, the amount done (None if it is not counted), and the total amount (0 if it
is unknown)."""
_PRIOR_SECONDS: Final = 20.0
"""Weight of the prior assumption that estimates are correct, in seconds of finished work."""


def silent(step: str, done: int | None, total: int) -> None:
    """Ignore progress."""


class SolveStage(NamedTuple):
    """The progress of solving a position."""

    lower: GScore
    """The proved lower bound of the value."""
    upper: GScore
    """The proved upper bound of the value."""
    cells: int = 0
    """Number of cells solved. A cell that is solved twice counts twice."""
    left: int | None = None
    """Number of cells that remain to be solved; None if unknown."""
    seconds_left: float | None = None
    """Estimated time for the remaining cells; None if unknown."""


SolveProgress = Callable[[SolveStage], None]
"""Called while a position is being solved."""


def ignore_solve_progress(stage: SolveStage) -> None:
    """Ignore progress."""


class SolveCounts(Struct):
    """Numbers of games by the outcome of solving their positions, and the time spent."""

    asked: int = 0
    """Number of all games whose positions were to be solved."""
    solved: int = 0
    """Number of games whose positions were attempted, whatever was proved."""
    known: int = 0
    """Number of games for which earlier results sufficed."""
    refused: int = 0
    """Number of games whose positions cannot be solved."""
    out_of_time: int = 0
    """Number of games for which no time remained."""
    seconds: float = 0.0
    """Time spent on solving."""


class Reporter(Protocol):
    """Receives reports on work on tables. It cannot influence results."""

    def note(self, text: str) -> None:
        """Report an event, such as a wait, removed leftovers, or kernels being compiled."""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Report that work on a material begins or resumes; it is material number ``number`` of ``count``.

        :param seconds_left: estimated time for all remaining work.
        """

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Report the progress of a step, as in :data:`Progress`.

        :param seconds_left: new estimate of the time for all remaining work; None if it is unchanged.
        """


class SilentReporter:
    """A reporter that ignores all reports."""

    def note(self, text: str) -> None:
        """Ignore an event."""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Ignore the start of work on a material."""

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Ignore progress."""


class Countdown:
    """Estimates the remaining time of a list of jobs; each job has steps with estimated times.

    :param seconds: estimated time of all jobs.
    """

    def __init__(self, seconds: float) -> None:
        self._total = seconds
        self._done = 0.0
        self._done_in_job = 0.0
        self._steps: Mapping[str, float] = {}
        self._begun: float | None = None

    def begin(self, steps: Mapping[str, float]) -> None:
        """Begin the next job. The clock starts with the first job."""
        if self._begun is None:
            self._begun = time.monotonic()
        self.finish()
        self._steps = steps

    def finish(self) -> None:
        """Finish the current job; skipped steps count as done."""
        self._done += sum(self._steps.values())
        self._steps = {}
        self._done_in_job = 0.0

    def reach(self, step: str, share: float) -> None:
        """Record that all earlier steps and a share of this step are done. An unknown step is ignored."""
        if step in self._steps:
            names = list(self._steps)
            earlier_seconds = sum(self._steps[name] for name in names[: names.index(step)])
            self._done_in_job = max(self._done_in_job, earlier_seconds + self._steps[step] * share)

    @property
    def seconds_left(self) -> float:
        """Estimated seconds for the remaining work, scaled by the pace of the work done so far."""
        done = self._done + self._done_in_job
        elapsed = 0.0 if self._begun is None else time.monotonic() - self._begun
        return max(0.0, self._total - done) * (_PRIOR_SECONDS + elapsed) / (_PRIOR_SECONDS + done)


class TimedProgress:
    """Reports jobs on materials, with the remaining time computed from estimates of their steps.

    :param seconds: estimated time of all jobs.
    :param materials: all materials, in the order of their numbers in reports.
    """

    def __init__(self, reporter: Reporter, seconds: float, materials: Sequence[Material]) -> None:
        self._reporter = reporter
        self._materials = materials
        self._countdown = Countdown(seconds)
        self._material: Material | None = None
        self._title = ""
        self.note = reporter.note

    def begin(self, material: Material, steps: Mapping[str, float], title: str = "") -> None:
        """Begin the next job. ``title`` distinguishes several jobs on the same material."""
        self._countdown.begin(steps)
        self._title = f"{title}, " if title else ""
        if material != self._material:
            self._material = material
            number = self._materials.index(material) + 1
            self._reporter.begin(material, number, len(self._materials), self._countdown.seconds_left)

    def progress(self, step: str, done: int | None, total: int) -> None:
        """Report the progress of a step of the current job, as in :data:`Progress`."""
        if done is not None and total:
            self._countdown.reach(step, done / total)
        self._reporter.progress(self._title + step, done, total, self._countdown.seconds_left)

    def finish(self) -> None:
        """Finish the current job."""
        self._countdown.finish()
