"""The course of a build: what is finished, what is at work, and the reports on both."""

import time
from collections.abc import Callable
from typing import Final

from tbgen.board.material import Material
from tbgen.generator.estimate import Estimate
from tbgen.generator.one_table import BuildReporter, Built
from tbgen.generator.schedule import BuildSchedule, Limits

_SURE: Final = 60.0
"""Seconds of tables that are done from which on they tell how fast this machine is."""


class BuildCourse:
    """Tracks the progress of a build; single-threaded.

    Several tables may be at work; the reporter follows one until it ends, then another.
    """

    def __init__(
        self, schedule: BuildSchedule, reporter: BuildReporter, limits: Callable[[], Limits]
    ) -> None:
        """``limits`` says what the tables at work may take together, now and, as far as one knows, later."""
        self.schedule = schedule
        self.built: dict[Material, Built] = {}
        """The finished tables, in the order in which they were finished."""
        self.at_work: dict[Material, Estimate] = {}
        """The tables begun and not finished."""
        self.failure: BaseException | None = None
        """Why the build fails: no other table begins."""
        self._reporter, self._limits = reporter, limits
        self._foreseen = self._taken = _SURE
        self._begun: dict[Material, float] = {}
        """When tables were begun, in the order in which they were first."""
        self._shown: Material | None = None

    @property
    def is_finished(self) -> bool:
        """Whether all tables are."""
        return len(self.built) == len(self.schedule.todo)

    def outcome(self) -> list[Built]:
        """Return the finished tables, in the order in which they were finished.

        :raises BaseException: of the first table that failed, if one did.
        """
        if self.failure:
            raise self.failure
        return list(self.built.values())

    def fail(self, material: Material, error: BaseException, others: int) -> None:
        """A table cannot be built: the first one ends the build.

        :param others: how many other tables are at work, which are finished.
        """
        if self.failure is None:
            self.failure = error
            if others:
                self._reporter.note(f"{material} has failed; tables at work, to be finished: {others}")

    def begin(self, need: Estimate) -> None:
        """A table begins, or begins anew."""
        self.at_work[need.material], self._begun[need.material] = need, time.monotonic()
        self._show(need.material)

    def progress(self, material: Material, stage: str, done: int | None, total: int) -> None:
        """A table has got so far (:meth:`Reporter.progress`)."""
        if material == self._shown:
            others = [other.name for other in self.at_work if other != material]
            beside = f"beside {', '.join(others)}, " if others else ""
            self._reporter.progress(beside + stage, done, total)

    def finish(self, need: Estimate, built: Built) -> None:
        """A table is in place."""
        self.at_work.pop(need.material, None)
        self.built[need.material] = built
        self._foreseen += need.seconds
        self._taken += built.seconds
        self._reporter.done(built, self._seconds_left())
        self.drop(need.material)

    def drop(self, material: Material) -> None:
        """A table is at work no more."""
        self.at_work.pop(material, None)
        if self._shown == material:
            self._shown = None
            if self.at_work:
                self._show(min(self.at_work))

    def _show(self, material: Material) -> None:
        self._shown = material
        number = list(self._begun).index(material) + 1
        self._reporter.begin(material, number, len(self.schedule.todo), self._seconds_left())

    def _seconds_left(self) -> float:
        now = time.monotonic()
        at_work = {material: (need, now - self._begun[material]) for material, need in self.at_work.items()}
        pace = self._taken / self._foreseen
        return self.schedule.outlook(self._limits(), self.built, at_work, pace).seconds
