"""Building on many machines: every missing table is a task of Dask, done by workers that share a directory.

Needs the package ``distributed``, which the extra ``tbgen[cluster]`` brings (docs/cluster.md).
"""

import contextlib
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from distributed import Client, Future, KilledWorker

from tbgen import __version__
from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.generator.cluster_task import MEMORY, first_line, make_table
from tbgen.generator.cluster_workers import (
    Worker,
    check_workers,
    connected,
    connected_workers,
    gone,
    mib,
    shared_probe,
    survey,
)
from tbgen.generator.estimate import Estimate, check_disk, check_memory, copies, estimate
from tbgen.generator.one_table import BuildReporter, Built
from tbgen.generator.runner import is_done, locked
from tbgen.generator.schedule import BuildCourse, BuildSchedule, Limits
from tbgen.system.files import remove_leftovers

_TICK: Final = 1.0
"""Seconds between two looks at the workers."""

_TRIES: Final = 4
"""Workers that may die at work on a table, as with the default of Dask's ``allowed-failures``."""


def build_on_cluster(
    materials: Iterable[Material],
    directory: Path,
    reporter: BuildReporter,
    scheduler: str,
    *,
    variant: Variant,
    force: bool = False,
    threads: int | None = None,
    memory: int | None = None,
    patience: float = 30.0,
) -> list[Built]:
    """Build tables like :func:`tbgen.generator.build`, on the workers of a Dask scheduler.

    :param directory: where all workers see it, under the same path.
    :param scheduler: its address, such as ``tcp://host:8786``.
    :param variant: what the tables and their sub-tables are for.
    :param threads: of each table; None for the worker's processors shared among the tables it does at once.
    :param memory: bytes that a table may need; None for all that a worker offers.
    :param patience: seconds to wait for a worker, before the build and whenever none can go on with it.
    :raises TbgenError: if the cluster cannot do the build, or a table cannot be built; tables finished before
        are kept.
    """
    wanted, directory = list(materials), directory.absolute()
    if not force and is_done(wanted, directory, reporter, variant):
        return []
    with connected(scheduler) as client, locked(wanted, directory, reporter, variant, force) as todo:
        if not todo:
            return []
        with shared_probe(directory) as probe:
            share = survey(client, probe, patience)
            needs = {material: estimate(material, variant, threads or share) for material in todo}
            check_workers(connected_workers(client, scheduler), needs.values())
            if memory is not None:
                check_memory(needs.values(), memory)
            check_disk(needs.values(), directory, copies(todo, variant))
            task = partial(
                make_table,
                directory=str(directory),
                version=__version__,
                probe=str(probe),
                threads=threads,
                variant=variant,
            )
            built = _ClusterBuild(client, scheduler, directory, reporter, patience, needs, task).run()
        remove_leftovers(directory)  # of workers that died on the way
        return built


@dataclass
class _ClusterBuild:
    """One build: gives a table whose sub-tables are finished to a worker with a thread and the memory for it.

    Dask could be given all tables at the start as a graph of tasks. But it does again what a dead worker has
    finished if others wait for its result, counts a worker's death against all tasks in its queue, and leaves
    tasks that ask for a resource in the queue of a busy worker while another one has room. Here the result is
    in the directory, and the queues stay empty.
    """

    client: Client
    scheduler: str
    directory: Path
    reporter: BuildReporter
    patience: float
    needs: dict[Material, Estimate]
    """The tables to build, in build order."""
    task: "partial[Built]"

    reports: "SimpleQueue[Future | dict[str, Any]]" = field(default_factory=SimpleQueue)
    """Tasks that have ended, and messages of workers."""
    workers: dict[str, Worker] = field(default_factory=dict)
    """The workers by address, as they were a moment ago."""
    tasks: dict[Material, Future] = field(default_factory=dict)
    """The tables handed out."""
    places: dict[Material, str] = field(default_factory=dict)
    """The addresses of the workers that have them."""
    begun: dict[Material, list[str]] = field(default_factory=dict)
    """Where they were begun: once, unless the worker died."""
    stuck_since: float | None = None

    def __post_init__(self) -> None:
        schedule = BuildSchedule(list(self.needs), lambda material, _: self.needs[material])
        self.course = BuildCourse(schedule, self.reporter, self._limits)

    def _limits(self) -> Limits:
        """What the workers offer together."""
        workers = self.workers.values()
        return Limits(
            max(1, sum(each.threads for each in workers)), 1, int(sum(each.memory for each in workers))
        )

    def run(self) -> list[Built]:
        """Build all; return what was built in the order in which it was finished.

        :raises TbgenError: of the first table that failed, when the others at work have ended.
        """
        self.topic = f"tbgen-{secrets.token_hex(8)}"
        self.client.subscribe_topic(self.topic, lambda event: self.reports.put(event[1]))
        look_at = time.monotonic()
        try:
            while self.tasks or not (self.course.failure or self.course.is_finished):
                if time.monotonic() >= look_at:
                    workers = connected_workers(self.client, self.scheduler)
                    self.workers = {each.address: each for each in workers}
                    self._hand_out()
                    self._check_that_some_go_on()
                    look_at = time.monotonic() + _TICK
                with contextlib.suppress(Empty):
                    self._hear(self.reports.get(timeout=_TICK))
        finally:
            if self.tasks and self.client.status == "running":
                self.client.cancel(list(self.tasks.values()))
        return self.course.outcome()

    def _hand_out(self) -> None:
        """Give workers what they can do now, be it what a dead worker had and Dask has put into a queue."""
        for material in self.course.schedule.ready(self.course.built):
            if self.course.failure or self.places.get(material) in self.workers:
                continue
            address = self._room(material)
            if address is None:
                continue
            if material in self.tasks:
                self.client.cancel([self.tasks.pop(material)])
            try:
                tries = self.begun.get(material, [])
                if len(tries) >= _TRIES:
                    raise self._died(material, len(tries), tries[-1])
                check_disk([self.needs[material]], self.directory, {})
            except TbgenError as error:
                self._fail(material, error)
                return
            future = self.client.submit(
                self.task,
                material.name,
                topic=self.topic,
                key=f"{material}-{secrets.token_hex(4)}",
                workers=[address],
                allow_other_workers=True,
                resources={MEMORY: self.needs[material].memory},
                pure=False,
            )
            self.tasks[material], self.places[material] = future, address
            future.add_done_callback(self.reports.put)

    def _room(self, material: Material) -> str | None:
        """Return the worker with most memory left among those that can do a table now."""
        rooms = {}
        for address, worker in self.workers.items():
            at_work = [other for other in self.tasks if self.places[other] == address]
            memory = worker.memory - sum(self.needs[other].memory for other in at_work)
            if len(at_work) < worker.threads and memory >= self.needs[material].memory:
                rooms[address] = memory
        return max(rooms, key=rooms.__getitem__, default=None)

    def _check_that_some_go_on(self) -> None:
        """Check that a table is at work.

        :raises TbgenError: if none has had a worker for a while.
        """
        ready = self.course.schedule.ready(self.course.built)
        if not ready or any(self.places[material] in self.workers for material in self.tasks):
            self.stuck_since = None
        elif self.stuck_since is None:
            self.stuck_since = time.monotonic()
            self.reporter.note(f"no worker is left for {ready[0]}: waiting {self.patience:.0f} s for one")
        elif time.monotonic() - self.stuck_since > self.patience:
            raise self.course.failure or TbgenError(
                f"no worker is left for {ready[0]}, which needs about {mib(self.needs[ready[0]].memory)} of "
                "memory: start one and build again"
            )

    def _hear(self, news: "Future | dict[str, Any]") -> None:
        key = news.key if isinstance(news, Future) else news["key"]
        material = next((other for other, future in self.tasks.items() if future.key == key), None)
        if material is None:
            return  # it was finished, or given to another worker
        if isinstance(news, Future):
            self._end(material, news)
            return
        match news["kind"]:
            case "begin":
                self._begin(material, news["worker"], news["place"])
            case "note":
                self.reporter.note(f"{material}: {news['text']}, on the worker {news['worker']}")
            case "progress":
                self.course.progress(material, news["stage"], news["done"], news["total"])

    def _begin(self, material: Material, address: str, place: str) -> None:
        before = self.begun.setdefault(material, [])
        again = f" again: its worker {before[-1]} is gone" if before else ""
        before.append(place)
        self.places[material] = address
        self.reporter.note(f"{material}: begun by the worker {place}{again}")
        self.course.begin(self.needs[material])

    def _end(self, material: Material, future: Future) -> None:
        """Take note of a task that is finished, failed, or lost, and hand out what can be done now."""
        if future.status == "finished":
            try:
                built = future.result(timeout=self.patience)
            except TimeoutError:  # the worker died with it: it is done again
                future.add_done_callback(self.reports.put)
                return
            del self.tasks[material]
            self.course.finish(self.needs[material], built)
        else:
            del self.tasks[material]
            self.course.drop(material)
            if future.status == "error":
                self._fail(material, future.exception())
            elif self.course.failure is None:
                raise gone(self.scheduler)
        self._hand_out()

    def _fail(self, material: Material, error: BaseException) -> None:
        """Remember why the build fails, and drop what has not begun."""
        if isinstance(error, KilledWorker):
            error = self._died(material, error.allowed_failures + 1, error.last_worker.address)
        if not isinstance(error, TbgenError):
            error = TbgenError(f"{material} could not be built: {first_line(error)}")
        if self.course.failure is None:
            waiting = self.tasks.keys() - self.course.at_work.keys() - {material}
            self.client.cancel([self.tasks[other] for other in waiting])
        self.course.fail(material, error)

    def _died(self, material: Material, tries: int, last: str) -> TbgenError:
        return TbgenError(
            f"the worker at work on {material} died, and so did all others that tried ({tries} in all, "
            f"the last one {last}): see their logs; it may need more memory than the estimated "
            f"{mib(self.needs[material].memory)}"
        )
