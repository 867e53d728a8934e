"""Which table of a build begins next, and the course of the build: what is finished, what is at work.

One begins whose sub-tables are finished, if there is memory for it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import Final

from tbgen.board.material import Material
from tbgen.generator.estimate import Estimate, together
from tbgen.generator.one_table import BuildReporter, Built


@dataclass(frozen=True)
class Limits:
    """What the tables that are at work at one time may take together."""

    jobs: int
    """How many tables."""
    threads: int
    """Threads, which the tables share evenly; each has at least one."""
    memory: int
    """Bytes; a table alone may take more, for what it needs is checked before a build begins."""


@dataclass(frozen=True)
class BuildSchedule:
    """The order of a build. Nothing in here changes: what is finished and what is at work is passed in."""

    todo: Sequence[Material]
    """The tables to build, in build order."""
    estimate: Callable[[Material, int], Estimate]
    """What a table needs on some number of threads."""
    copies: Mapping[Material, int] = field(default_factory=dict)
    """Bytes of the plain copies that the build keeps until it ends, by material."""

    def ready(self, finished: Iterable[Material]) -> list[Material]:
        """Return the tables that are not finished and whose sub-tables are, those at work among them."""
        left = set(self.todo).difference(finished)
        return [material for material in self.todo if material in left and not left & self._needed[material]]

    def to_begin(
        self, finished: Iterable[Material], at_work: Mapping[Material, Estimate], limits: Limits
    ) -> list[Estimate]:
        """Return what is to begin now beside the tables at work, with its number of threads.

        As many tables as there can be, and the threads are shared among so many; where nothing is at work
        and nothing would fit, the first table begins alone.
        """
        ready = [material for material in self.ready(finished) if material not in at_work]
        kept = self._kept(finished)
        for at_once in range(min(limits.jobs, len(at_work) + len(ready)), len(at_work), -1):
            threads = max(1, limits.threads // at_once)
            needs = list(at_work.values())
            for material in ready:
                need = self.estimate(material, threads)
                if not needs or together([*needs, need], kept) <= limits.memory:
                    needs.append(need)
                if len(needs) == at_once:
                    return needs[len(at_work) :]
        return []

    def outlook(
        self,
        limits: Limits,
        finished: Iterable[Material] = (),
        at_work: Mapping[Material, tuple[Estimate, float]] | None = None,
        pace: float = 1.0,
    ) -> "Outlook":
        """Foresee the rest of a build by the estimates of its tables.

        :param at_work: with the seconds since each began.
        :param pace: how many times its estimate a table takes.
        """
        done, working = set(finished), dict[Material, Estimate]()
        now, memory, most = 0.0, 0, 0
        ends: list[tuple[float, Material]] = []
        for material, (need, spent) in (at_work or {}).items():
            working[material] = need
            heappush(ends, (max(0.0, need.seconds * pace - spent), material))
        while len(done) < len(self.todo):
            for need in self.to_begin(done, working, limits):
                working[need.material] = need
                heappush(ends, (now + need.seconds * pace, need.material))
            memory = max(memory, together(working.values(), self._kept(done)))
            most = max(most, len(working))
            now, material = heappop(ends)
            del working[material]
            done.add(material)
        return Outlook(now, memory, most)

    def _kept(self, finished: Iterable[Material]) -> int:
        return sum(self.estimate(material, 1).kept for material in finished)

    @cached_property
    def _needed(self) -> dict[Material, set[Material]]:
        """Of every table to build the sub-tables that are to be built too."""
        return {material: material.successors() & set(self.todo) for material in self.todo}


@dataclass(frozen=True)
class Outlook:
    """What the rest of a build takes, as far as can be foreseen."""

    seconds: float
    memory: int
    """The most bytes at one time."""
    jobs: int
    """The most tables at one time."""


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

    def fail(self, material: Material, error: BaseException) -> None:
        """A table cannot be built: the first one ends the build, when the others at work are finished."""
        if self.failure is None:
            self.failure = error
            if others := len(self.at_work.keys() - {material}):
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
