"""Which table of a build begins next: one whose sub-tables are finished, if there is memory for it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

from tbgen.board.material import Material
from tbgen.generator.estimate import Estimate, together


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
