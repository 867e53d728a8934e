"""The schedule and the progress of a build.

The build of a table starts when its sub-tables are finished and there is enough memory.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import Final

from tbgen.board.material import Material
from tbgen.generator.estimate import Estimate, combined_peak
from tbgen.generator.one_table import BuildReporter, BuiltTable

_PRIOR_SECONDS: Final = 60.0
"""Weight of the assumption that estimates are correct: it counts like finished tables that took this many
seconds, exactly as estimated."""


@dataclass(frozen=True)
class Limits:
    """The limits shared by all tables being built."""

    jobs: int
    """Maximum number of tables being built at once."""
    threads: int
    """Number of threads, which the tables share evenly; each table has at least one."""
    memory: int
    """Memory in bytes. A table built alone may exceed it: whether each table alone fits into memory is
    checked before the first build begins."""


@dataclass(frozen=True)
class BuildSchedule:
    """The order of a build.

    A schedule is immutable: the finished tables and the tables being built are arguments of its methods.
    """

    todo: Sequence[Material]
    """The tables to build, each after its sub-tables."""
    estimate: Callable[[Material, int], Estimate]
    """Returns the cost of a table for a number of threads."""
    copies: Mapping[Material, int] = field(default_factory=dict)
    """Size in bytes of each plain copy that the build keeps until its end, keyed by material."""

    def ready_tables(self, finished: Iterable[Material]) -> list[Material]:
        """Return the unfinished tables whose sub-tables are finished, including tables being built."""
        todo = set(self.todo).difference(finished)
        return [
            material
            for material in self.todo
            if material in todo and not todo & self._sub_tables_to_build[material]
        ]

    def tables_to_start(
        self, finished: Iterable[Material], in_progress: Mapping[Material, Estimate], limits: Limits
    ) -> list[Estimate]:
        """Return the estimates of the tables to start now, in addition to the tables being built.

        As many tables as possible start; each estimate states the table's share of the threads. If no table
        is being built, the first table starts even if it exceeds the memory limit.
        """
        ready_materials = [table for table in self.ready_tables(finished) if table not in in_progress]
        kept_bytes = self._kept_bytes(finished)
        for jobs in range(min(limits.jobs, len(in_progress) + len(ready_materials)), len(in_progress), -1):
            threads = max(1, limits.threads // jobs)
            estimates = list(in_progress.values())
            for material in ready_materials:
                estimate = self.estimate(material, threads)
                if not estimates or combined_peak([*estimates, estimate], kept_bytes) <= limits.memory:
                    estimates.append(estimate)
                if len(estimates) == jobs:
                    return estimates[len(in_progress) :]
        return []

    def outlook(
        self,
        limits: Limits,
        finished: Iterable[Material] = (),
        in_progress: Mapping[Material, tuple[Estimate, float]] | None = None,
        pace: float = 1.0,
    ) -> "Outlook":
        """Return the cost of the rest of a build, simulated with the estimates of its tables.

        :param finished: the finished tables.
        :param in_progress: the tables being built, each with the seconds since its build began.
        :param pace: ratio of actual to estimated time.
        """
        finished_tables = set(finished)
        running = dict[Material, Estimate]()
        seconds = 0.0
        peak_memory = 0
        max_jobs = 0
        end_times: list[tuple[float, Material]] = []
        for material, (estimate, elapsed) in (in_progress or {}).items():
            running[material] = estimate
            heappush(end_times, (max(0.0, estimate.seconds * pace - elapsed), material))
        while len(finished_tables) < len(self.todo):
            for estimate in self.tables_to_start(finished_tables, running, limits):
                running[estimate.material] = estimate
                heappush(end_times, (seconds + estimate.seconds * pace, estimate.material))
            peak_memory = max(peak_memory, combined_peak(running.values(), self._kept_bytes(finished_tables)))
            max_jobs = max(max_jobs, len(running))
            seconds, material = heappop(end_times)
            del running[material]
            finished_tables.add(material)
        return Outlook(seconds, peak_memory, max_jobs)

    def _kept_bytes(self, finished: Iterable[Material]) -> int:
        return sum(self.estimate(material, 1).kept_bytes for material in finished)

    @cached_property
    def _sub_tables_to_build(self) -> dict[Material, set[Material]]:
        """For each table to build, the sub-tables that also have to be built."""
        return {material: material.successors() & set(self.todo) for material in self.todo}


@dataclass(frozen=True)
class Outlook:
    """The estimated cost of the rest of a build."""

    seconds: float
    memory: int
    """Peak memory in bytes."""
    jobs: int
    """Greatest number of tables being built at once."""


class BuildProgress:
    """Tracks the progress of a build. The object is not thread-safe.

    Several tables may be built at once. The reporter shows one until its build ends, then another.
    """

    def __init__(
        self, schedule: BuildSchedule, reporter: BuildReporter, limits: Callable[[], Limits]
    ) -> None:
        """Begin to track a build.

        :param limits: returns the current limits. Forecasts assume that they will not change.
        """
        self.schedule = schedule
        self.built: dict[Material, BuiltTable] = {}
        """The finished tables, in the order in which they were finished."""
        self.in_progress: dict[Material, Estimate] = {}
        """The tables whose builds have begun and are not finished, with their estimates."""
        self.failure: BaseException | None = None
        """The first failure of a table. After this failure, no other table is started."""
        self._reporter = reporter
        self._limits = limits
        self._estimated_seconds = self._actual_seconds = _PRIOR_SECONDS
        self._start_times: dict[Material, float] = {}
        """When the build of each table last began. Keys are in the order in which the builds first began."""
        self._shown_table: Material | None = None

    @property
    def is_finished(self) -> bool:
        """Whether all tables are finished."""
        return len(self.built) == len(self.schedule.todo)

    def results(self) -> list[BuiltTable]:
        """Return the finished tables, in the order in which they were finished.

        :raises BaseException: the first failure of a table, if any.
        """
        if self.failure:
            raise self.failure
        return list(self.built.values())

    def fail(self, material: Material, error: BaseException) -> None:
        """Record that a table cannot be built.

        After the first failure, the build ends when the tables being built are finished.
        """
        if self.failure is None:
            self.failure = error
            if others := len(self.in_progress.keys() - {material}):
                self._reporter.note(f"{material} has failed; tables still at work: {others}")

    def begin(self, estimate: Estimate) -> None:
        """Record that the build of a table begins, or begins again."""
        self.in_progress[estimate.material] = estimate
        self._start_times[estimate.material] = time.monotonic()
        self._show(estimate.material)

    def progress(self, material: Material, stage: str, done: int | None, total: int) -> None:
        """Report the progress of a table if the reporter shows this table (:meth:`Reporter.progress`)."""
        if material == self._shown_table:
            others = [other.name for other in self.in_progress if other != material]
            self._reporter.progress((f"beside {', '.join(others)}, " if others else "") + stage, done, total)

    def finish(self, estimate: Estimate, built: BuiltTable) -> None:
        """Record and report a finished table."""
        self.in_progress.pop(estimate.material, None)
        self.built[estimate.material] = built
        self._estimated_seconds += estimate.seconds
        self._actual_seconds += built.seconds
        self._reporter.finish_table(built, self._seconds_left())
        self.drop(estimate.material)

    def drop(self, material: Material) -> None:
        """Record that a table is no longer being built, and show another table."""
        self.in_progress.pop(material, None)
        if self._shown_table == material:
            self._shown_table = None
            if self.in_progress:
                self._show(min(self.in_progress))

    def _show(self, material: Material) -> None:
        self._shown_table = material
        number = list(self._start_times).index(material) + 1
        self._reporter.begin(material, number, len(self.schedule.todo), self._seconds_left())

    def _seconds_left(self) -> float:
        now = time.monotonic()
        in_progress = {
            material: (estimate, now - self._start_times[material])
            for material, estimate in self.in_progress.items()
        }
        pace = self._actual_seconds / self._estimated_seconds
        return self.schedule.outlook(self._limits(), self.built, in_progress, pace).seconds
