"""Progress of long work on tables: its reporter, and how much time is left."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from tbgen.board.material import Material
from tbgen.board.score import GScore

Progress = Callable[[str, int | None, int], None]
"""Called with a step of the work, how much of it is done (None if it is not counted), and its total (0 if
that is unknown)."""


def silent(step: str, done: int | None, total: int) -> None:
    """Ignore progress."""


class SolveStage(NamedTuple):
    """How far the solving of a position has come."""

    lower: GScore
    upper: GScore
    """The ends of what the value is proved to lie between."""
    cells: int = 0
    """How many cells have been solved, those solved again counted again."""
    left: int | None = None
    """How many more are known to be needed; None where that is not known."""
    seconds_left: float | None = None
    """What these should take."""


SolveProgress = Callable[[SolveStage], None]
"""Called while a position is being solved."""


def silent_solving(stage: SolveStage) -> None:
    """Ignore progress."""


class Reporter(Protocol):
    """Receives the news of work on tables; nothing it does changes a result."""

    def note(self, text: str) -> None:
        """Something worth a line: a wait, leftovers removed, kernels being compiled."""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Material ``number`` of ``count`` begins, or progress is about it from now on; all the work that is
        left should take about ``seconds_left``."""

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """A step has got this far, as :data:`Progress` says it.

        :param seconds_left: what all that is left should take, where it is known anew.
        """


class SilentReporter:
    """Ignores all news."""

    def note(self, text: str) -> None:
        """Ignore it."""

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Ignore it."""

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Ignore it."""


_SURE: Final = 20.0
"""Seconds that work has to be worth before it tells much about the rest."""


class Countdown:
    """Counts the time of jobs; each job has steps that should take so many seconds.

    :param seconds: what all jobs together should take.
    """

    def __init__(self, seconds: float) -> None:
        self._total, self._done, self._within = seconds, 0.0, 0.0
        self._steps: Mapping[str, float] = {}
        self._begun: float | None = None

    def begin(self, steps: Mapping[str, float]) -> None:
        """Go on to the next job; time counts from the first one on."""
        if self._begun is None:
            self._begun = time.monotonic()
        self.finish()
        self._steps = steps

    def finish(self) -> None:
        """The job is done; steps of it that were passed over count as done."""
        self._done += sum(self._steps.values())
        self._steps, self._within = {}, 0.0

    def reach(self, step: str, share: float) -> None:
        """A share of a step is done, and the steps before it; one that the job has not takes no time."""
        if step in self._steps:
            names = list(self._steps)
            before = sum(self._steps[name] for name in names[: names.index(step)])
            self._within = max(self._within, before + self._steps[step] * share)

    @property
    def seconds_left(self) -> float:
        """How many seconds it takes still, roughly: the rest takes as much longer than it should as what is
        done, once that is worth more than some seconds."""
        done = self._done + self._within
        passed = 0.0 if self._begun is None else time.monotonic() - self._begun
        return max(0.0, self._total - done) * (_SURE + passed) / (_SURE + done)


class TimedProgress:
    """Reports jobs on materials with the time that is left, by the seconds that their steps should take.

    :param seconds: what all jobs together should take.
    :param materials: all materials, by which they are numbered.
    """

    def __init__(self, reporter: Reporter, seconds: float, materials: Sequence[Material]) -> None:
        self._reporter, self._materials = reporter, materials
        self._countdown = Countdown(seconds)
        self._material: Material | None = None
        self._title = ""
        self.note = reporter.note

    def begin(self, material: Material, steps: Mapping[str, float], title: str = "") -> None:
        """Go on to the next job; ``title`` tells it from others on the same material."""
        self._countdown.begin(steps)
        self._title = f"{title}, " if title else ""
        if material != self._material:
            self._material = material
            number = self._materials.index(material) + 1
            left = self._countdown.seconds_left
            self._reporter.begin(material, number, len(self._materials), left)

    def progress(self, step: str, done: int | None, total: int) -> None:
        """A step of the job has got this far, as :data:`Progress` says it."""
        if done is not None and total:
            self._countdown.reach(step, done / total)
        self._reporter.progress(self._title + step, done, total, self._countdown.seconds_left)

    def finish(self) -> None:
        """The job is done."""
        self._countdown.finish()
