"""Building on several machines: each missing table is a task of Dask, done by a worker in a shared directory.

Needs the package ``distributed``, which the extra ``tbgen[cluster]`` installs (docs/cluster.md).
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
from tbgen.generator.cluster_task import MEMORY, build_table_on_worker, first_line
from tbgen.generator.cluster_workers import (
    Worker,
    check_workers,
    connected_workers,
    connection,
    lost_scheduler_error,
    mib_text,
    shared_probe,
    survey,
)
from tbgen.generator.estimate import Estimate, check_disk, check_memory, copy_sizes, estimate
from tbgen.generator.one_table import BuildReporter, Built
from tbgen.generator.runner import is_done, locked
from tbgen.generator.schedule import BuildProgress, BuildSchedule, Limits
from tbgen.system.files import remove_leftovers

_POLL_SECONDS: Final = 1.0
"""Interval at which the workers are polled."""

_MAX_ATTEMPTS: Final = 4
"""Number of workers that a table may kill, as by default in Dask (``allowed-failures``)."""


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

    :param directory: a directory that all workers see under the same path.
    :param scheduler: address of the scheduler, such as ``tcp://host:8786``.
    :param variant: the variant of the tables and their sub-tables.
    :param threads: threads for each table; None for the worker's processors, shared by the tables that it
        builds at once.
    :param memory: bytes of memory that a table may need; None for all that a worker offers.
    :param patience: seconds to wait for a suitable worker, before and during the build.
    :raises TbgenError: if the cluster is unsuitable, or a table cannot be built; finished tables are kept.
    """
    wanted, directory = list(materials), directory.absolute()
    if not force and is_done(wanted, directory, reporter, variant):
        return []
    with connection(scheduler) as client, locked(wanted, directory, reporter, variant, force) as todo:
        if not todo:
            return []
        with shared_probe(directory) as probe:
            share = survey(client, probe, patience)
            estimates = {material: estimate(material, variant, threads or share) for material in todo}
            check_workers(connected_workers(client, scheduler), estimates.values())
            if memory is not None:
                check_memory(estimates.values(), memory)
            check_disk(estimates.values(), directory, copy_sizes(todo, variant))
            task = partial(
                build_table_on_worker,
                directory=str(directory),
                version=__version__,
                probe=str(probe),
                threads=threads,
                variant=variant,
            )
            built = _ClusterBuild(client, scheduler, directory, reporter, patience, estimates, task).run()
        remove_leftovers(directory)  # temporary files of workers that have died
        return built


@dataclass
class _ClusterBuild:
    """One build; assigns each table whose sub-tables are finished to a worker with a free thread and memory.

    The tables are not passed to Dask as one graph of tasks, for three reasons. Dask repeats finished tasks of
    a dead worker if other tasks wait for their results. It counts a worker's death against all tasks in its
    queue. And it leaves tasks that need a resource in the queue of a busy worker while another one is free.
    Here results are files in the directory, and the queues of workers stay empty.
    """

    client: Client
    scheduler: str
    directory: Path
    reporter: BuildReporter
    patience: float
    estimates: dict[Material, Estimate]
    """The tables to build, in build order, with their costs."""
    task: "partial[Built]"

    reports: "SimpleQueue[Future | dict[str, Any]]" = field(default_factory=SimpleQueue)
    """Tasks that have ended, and messages of workers."""
    workers: dict[str, Worker] = field(default_factory=dict)
    """The workers by address, as of the last poll."""
    tasks: dict[Material, Future] = field(default_factory=dict)
    """The tasks of the tables that are assigned to workers."""
    addresses: dict[Material, str] = field(default_factory=dict)
    """The address of the worker to which each table was last assigned."""
    attempts: dict[Material, list[str]] = field(default_factory=dict)
    """For each table, the workers that have begun it; several if workers have died."""
    stuck_since: float | None = None
    """The time since which no worker has had a table; None if one has."""

    def __post_init__(self) -> None:
        schedule = BuildSchedule(list(self.estimates), lambda material, _: self.estimates[material])
        self.course = BuildProgress(schedule, self.reporter, self._limits)

    def _limits(self) -> Limits:
        """Return the total threads and memory that the workers offer."""
        workers = self.workers.values()
        return Limits(
            max(1, sum(each.threads for each in workers)), 1, int(sum(each.memory for each in workers))
        )

    def run(self) -> list[Built]:
        """Build all tables and return them in the order in which they were finished.

        :raises TbgenError: the error of the first table that failed, after the others being built have ended.
        """
        self.topic = f"tbgen-{secrets.token_hex(8)}"
        self.client.subscribe_topic(self.topic, lambda event: self.reports.put(event[1]))
        next_poll = time.monotonic()
        try:
            while self.tasks or not (self.course.failure or self.course.is_finished):
                if time.monotonic() >= next_poll:
                    workers = connected_workers(self.client, self.scheduler)
                    self.workers = {each.address: each for each in workers}
                    self._assign_tables()
                    self._check_progress()
                    next_poll = time.monotonic() + _POLL_SECONDS
                with contextlib.suppress(Empty):
                    self._handle(self.reports.get(timeout=_POLL_SECONDS))
        finally:
            if self.tasks and self.client.status == "running":
                self.client.cancel(list(self.tasks.values()))
        return self.course.results()

    def _assign_tables(self) -> None:
        """Assign to workers all tables that can begin now.

        These include the tables of dead workers, which Dask may have put into another worker's queue.
        """
        for material in self.course.schedule.ready(self.course.built):
            if self.course.failure or self.addresses.get(material) in self.workers:
                continue
            address = self._free_worker(material)
            if address is None:
                continue
            if material in self.tasks:
                self.client.cancel([self.tasks.pop(material)])
            try:
                attempts = self.attempts.get(material, [])
                if len(attempts) >= _MAX_ATTEMPTS:
                    raise self._died(material, len(attempts), attempts[-1])
                check_disk([self.estimates[material]], self.directory, {})
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
                resources={MEMORY: self.estimates[material].memory},
                pure=False,
            )
            self.tasks[material], self.addresses[material] = future, address
            future.add_done_callback(self.reports.put)

    def _free_worker(self, material: Material) -> str | None:
        """Return the address of the worker with the most free memory, of those that can begin a table now."""
        free_memory = {}
        for address, worker in self.workers.items():
            at_work = [other for other in self.tasks if self.addresses[other] == address]
            memory = worker.memory - sum(self.estimates[other].memory for other in at_work)
            if len(at_work) < worker.threads and memory >= self.estimates[material].memory:
                free_memory[address] = memory
        return max(free_memory, key=free_memory.__getitem__, default=None)

    def _check_progress(self) -> None:
        """Check that a table is being built.

        :raises TbgenError: if no worker has had a table for ``patience`` seconds.
        """
        ready = self.course.schedule.ready(self.course.built)
        if not ready or any(self.addresses[material] in self.workers for material in self.tasks):
            self.stuck_since = None
        elif self.stuck_since is None:
            self.stuck_since = time.monotonic()
            self.reporter.note(f"no worker is left for {ready[0]}: waiting {self.patience:.0f} s for one")
        elif time.monotonic() - self.stuck_since > self.patience:
            needed = mib_text(self.estimates[ready[0]].memory)
            raise self.course.failure or TbgenError(
                f"no worker is left for {ready[0]}, which needs about {needed} of memory: start one and "
                "build again"
            )

    def _handle(self, report: "Future | dict[str, Any]") -> None:
        key = report.key if isinstance(report, Future) else report["key"]
        material = next((other for other, future in self.tasks.items() if future.key == key), None)
        if material is None:
            return  # the table is finished, or was assigned to another worker
        if isinstance(report, Future):
            self._end(material, report)
            return
        match report["kind"]:
            case "begin":
                self._begin(material, report["worker"], report["place"])
            case "note":
                self.reporter.note(f"{material}: {report['text']}, on the worker {report['worker']}")
            case "progress":
                self.course.progress(material, report["stage"], report["done"], report["total"])

    def _begin(self, material: Material, address: str, place: str) -> None:
        before = self.attempts.setdefault(material, [])
        again = f" again: its worker {before[-1]} is gone" if before else ""
        before.append(place)
        self.addresses[material] = address
        self.reporter.note(f"{material}: begun by the worker {place}{again}")
        self.course.begin(self.estimates[material])

    def _end(self, material: Material, future: Future) -> None:
        """Record a task that has finished, failed or been lost, and assign the tables that can begin now."""
        if future.status == "finished":
            try:
                built = future.result(timeout=self.patience)
            except TimeoutError:  # the worker died before sending the result: Dask repeats the task
                future.add_done_callback(self.reports.put)
                return
            del self.tasks[material]
            self.course.finish(self.estimates[material], built)
        else:
            del self.tasks[material]
            self.course.drop(material)
            if future.status == "error":
                self._fail(material, future.exception())
            elif self.course.failure is None:
                raise lost_scheduler_error(self.scheduler)
        self._assign_tables()

    def _fail(self, material: Material, error: BaseException) -> None:
        """Record the failure of a table, and cancel the tasks that have not begun."""
        if isinstance(error, KilledWorker):
            error = self._died(material, error.allowed_failures + 1, error.last_worker.address)
        if not isinstance(error, TbgenError):
            error = TbgenError(f"{material} could not be built: {first_line(error)}")
        if self.course.failure is None:
            waiting = self.tasks.keys() - self.course.at_work.keys() - {material}
            self.client.cancel([self.tasks[other] for other in waiting])
        self.course.fail(material, error)

    def _died(self, material: Material, attempts: int, last: str) -> TbgenError:
        return TbgenError(
            f"{attempts} workers have died while building {material}, the last one {last}: see their logs; "
            f"the table may need more memory than the estimated {mib_text(self.estimates[material].memory)}"
        )
