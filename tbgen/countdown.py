"""How long work goes on still, by what it has taken so far."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

_SURE: Final = 20.0
"""Seconds that work has to be worth before it tells much about the rest."""


class Countdown:
    """Counts the time of jobs, each of which has steps that should take so many seconds.

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
