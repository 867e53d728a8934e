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


@dataclass(frozen=True)
class Limits:
    """The limits shared by all tables being built."""

    jobs: int
    """Maximum number of tables being built at once."""
    threads: int
    """Number of threads, which the tables share evenly; each has at least one."""
    memory: int
    """Memory in bytes. A single table may exceed it: its memory is checked before the build begins."""


@dataclass(frozen=True)
class BuildSchedule:
    """The order of a build.

    A schedule is immutable: the finished tables and the tables being built are arguments of its methods.
    """

    todo: Sequence[Material]
    """The tables to build, in build order."""
    estimate: Callable[[Material, int], Estimate]
    """Returns the cost of a table for a number of threads."""
    copies: Mapping[Material, int] = field(default_factory=dict)
    """Size in bytes of each plain copy that the build keeps until its end, keyed by material."""

    def ready_tables(self, finished: Iterable[Material]) -> list[Material]:
        """Return the unfinished tables whose sub-tables are finished, including tables being built."""
        todo = set(self.todo).difference(finished)
        return [each for each in self.todo if each in todo and not todo & self._unbuilt_sub_tables[each]]

    def tables_to_start(
        self, finished: Iterable[Material], at_work: Mapping[Material, Estimate], limits: Limits
    ) -> list[Estimate]:
        """Return the estimates of the tables to start now, in addition to the tables being built.

        As many tables as possible start; the estimates state their shares of the threads. If no table is
        being built, the first table starts even if it exceeds the memory limit.
        """
        ready = [material for material in self.ready_tables(finished) if material not in at_work]
        kept_bytes = self._kept_bytes(finished)
        for jobs in range(min(limits.jobs, len(at_work) + len(ready)), len(at_work), -1):
            threads = max(1, limits.threads // jobs)
            tables = list(at_work.values())
            for material in ready:
                table = self.estimate(material, threads)
                if not tables or combined_peak([*tables, table], kept_bytes) <= limits.memory:
                    tables.append(table)
                if len(tables) == jobs:
                    return tables[len(at_work) :]
        return []

    def outlook(
        self,
        limits: Limits,
        finished: Iterable[Material] = (),
        at_work: Mapping[Material, tuple[Estimate, float]] | None = None,
        pace: float = 1.0,
    ) -> "Outlook":
        """Return the cost of the rest of a build, simulated with the estimates of its tables.

        :param finished: the finished tables.
        :param at_work: the tables being built, each with the seconds since its build began.
        :param pace: ratio of actual to estimated time.
        """
        finished_tables, running = set(finished), dict[Material, Estimate]()
        seconds, peak_memory, max_jobs = 0.0, 0, 0
        end_times: list[tuple[float, Material]] = []
        for material, (table, elapsed) in (at_work or {}).items():
            running[material] = table
            heappush(end_times, (max(0.0, table.seconds * pace - elapsed), material))
        while len(finished_tables) < len(self.todo):
            for table in self.tables_to_start(finished_tables, running, limits):
                running[table.material] = table
                heappush(end_times, (seconds + table.seconds * pace, table.material))
            peak_memory = max(peak_memory, combined_peak(running.values(), self._kept_bytes(finished_tables)))
            max_jobs = max(max_jobs, len(running))
            seconds, material = heappop(end_times)
            del running[material]
            finished_tables.add(material)
        return Outlook(seconds, peak_memory, max_jobs)

    def _kept_bytes(self, finished: Iterable[Material]) -> int:
        return sum(self.estimate(material, 1).kept_bytes for material in finished)

    @cached_property
    def _unbuilt_sub_tables(self) -> dict[Material, set[Material]]:
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


_PRIOR_SECONDS: Final = 60.0
"""Weight of the assumption that estimates are correct, expressed as seconds of finished tables."""


class BuildProgress:
    """Tracks the progress of a build; only one thread may use it.

    Several tables may be built at once. The reporter follows one table until it ends, then another.
    """

    def __init__(
        self, schedule: BuildSchedule, reporter: BuildReporter, limits: Callable[[], Limits]
    ) -> None:
        """Begin to track a build.

        :param limits: returns the present limits. Forecasts assume that they will not change.
        """
        self.schedule = schedule
        self.built: dict[Material, BuiltTable] = {}
        """The finished tables, in the order in which they were finished."""
        self.at_work: dict[Material, Estimate] = {}
        """The tables that have begun and are not finished."""
        self.failure: BaseException | None = None
        """The first failure of a table. After it, no other table is started."""
        self._reporter, self._limits = reporter, limits
        self._estimated_seconds = self._actual_seconds = _PRIOR_SECONDS
        self._start_times: dict[Material, float] = {}
        """When the build of each table last began. The order is that in which the builds first began."""
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
            if others := len(self.at_work.keys() - {material}):
                self._reporter.note(f"{material} has failed; tables still at work: {others}")

    def begin(self, table: Estimate) -> None:
        """Record that the build of a table begins, or begins again."""
        self.at_work[table.material], self._start_times[table.material] = table, time.monotonic()
        self._show(table.material)

    def progress(self, material: Material, stage: str, done: int | None, total: int) -> None:
        """Report the progress of a table if the reporter shows this table (:meth:`Reporter.progress`)."""
        if material == self._shown_table:
            others = [other.name for other in self.at_work if other != material]
            others_text = f"beside {', '.join(others)}, " if others else ""
            self._reporter.progress(others_text + stage, done, total)

    def finish(self, table: Estimate, built: BuiltTable) -> None:
        """Record and report a finished table."""
        self.at_work.pop(table.material, None)
        self.built[table.material] = built
        self._estimated_seconds += table.seconds
        self._actual_seconds += built.seconds
        self._reporter.done(built, self._seconds_left())
        self.drop(table.material)

    def drop(self, material: Material) -> None:
        """Record that a table is no longer being built, and show another table."""
        self.at_work.pop(material, None)
        if self._shown_table == material:
            self._shown_table = None
            if self.at_work:
                self._show(min(self.at_work))

    def _show(self, material: Material) -> None:
        self._shown_table = material
        number = list(self._start_times).index(material) + 1
        self._reporter.begin(material, number, len(self.schedule.todo), self._seconds_left())

    def _seconds_left(self) -> float:
        now = time.monotonic()
        at_work = {
            material: (table, now - self._start_times[material]) for material, table in self.at_work.items()
        }
        pace = self._actual_seconds / self._estimated_seconds
        return self.schedule.outlook(self._limits(), self.built, at_work, pace).seconds
