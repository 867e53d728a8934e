"""Building on several machines: each missing table is a Dask task.

Workers build the tables in a shared directory. This needs the package ``distributed``, which the extra
``tbgen[cluster]`` installs (docs/cluster.md).
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
from tbgen.generator.cluster_task import MEMORY_RESOURCE, build_table_on_worker, first_line
from tbgen.generator.cluster_workers import (
    Worker,
    check_workers,
    connect,
    connected_workers,
    free_worker_address,
    inspect_workers,
    lost_scheduler_error,
    mib_text,
    shared_marker,
)
from tbgen.generator.estimate import Estimate, check_disk, check_memory, copy_sizes, estimate
from tbgen.generator.one_table import BuildReporter, BuiltTable
from tbgen.generator.runner import finish_if_done, prepared_build
from tbgen.generator.schedule import BuildProgress, BuildSchedule, Limits
from tbgen.system.files import remove_leftovers

_POLL_SECONDS: Final = 1.0
"""Interval at which the workers are polled."""

_MAX_ATTEMPTS: Final = 4
"""A table fails once this many workers have died while building it. This is Dask's default (one more than
``allowed-failures``)."""


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
) -> list[BuiltTable]:
    """Build tables and all missing sub-tables on the workers of a Dask scheduler; skip existing tables.

    :param directory: a directory that all workers see under the same path.
    :param scheduler: address of the scheduler, such as ``tcp://host:8786``.
    :param variant: the variant of the tables and their sub-tables.
    :param threads: number of threads for each table. If None, each worker's processors are shared among the
        tables that it builds at once.
    :param memory: bytes of memory that a table may need; None for what the largest worker offers.
    :param patience: seconds to wait for a suitable worker, before and during the build.
    :raises TbgenError: if the cluster is unsuitable, or a table cannot be built. Finished tables are kept.
    """
    targets = list(materials)
    directory = directory.absolute()
    if not force and finish_if_done(targets, directory, reporter, variant):
        return []
    with connect(scheduler) as client, prepared_build(targets, directory, reporter, variant, force) as todo:
        if not todo:
            return []
        with shared_marker(directory) as marker:
            max_threads = inspect_workers(client, marker, patience)
            estimates = {material: estimate(material, variant, threads or max_threads) for material in todo}
            check_workers(connected_workers(client, scheduler), estimates.values())
            if memory is not None:
                check_memory(estimates.values(), memory)
            check_disk(estimates.values(), directory, copy_sizes(todo, variant))
            build = partial(
                build_table_on_worker,
                directory=str(directory),
                version=__version__,
                marker=str(marker),
                threads=threads,
                variant=variant,
            )
            built = _ClusterBuild(client, scheduler, directory, reporter, patience, estimates, build).run()
        remove_leftovers(directory)  # temporary files of workers that have died
        return built


@dataclass
class _ClusterBuild:
    """One build on a cluster.

    A table is assigned to a worker with a free thread and enough memory once its sub-tables are finished.

    The tables are not passed to Dask as one graph of tasks, for three reasons. Dask repeats finished tasks of
    a dead worker if other tasks wait for their results. Dask counts a worker's death against all tasks in the
    worker's queue. And a task that needs a resource stays in a busy worker's queue even when another worker
    is free. Here, results are files in the directory, and the queues of workers stay empty.
    """

    client: Client
    scheduler: str
    directory: Path
    reporter: BuildReporter
    patience: float
    estimates: dict[Material, Estimate]
    """The tables to build, each after its sub-tables, with their costs."""
    build_function: "partial[BuiltTable]"

    reports: "SimpleQueue[Future | dict[str, Any]]" = field(default_factory=SimpleQueue)
    """Ended tasks, and messages from workers."""
    workers: dict[str, Worker] = field(default_factory=dict)
    """The workers by address, as of the last poll."""
    tasks: dict[Material, Future] = field(default_factory=dict)
    """The tasks of the tables that are assigned to workers."""
    addresses: dict[Material, str] = field(default_factory=dict)
    """The address of the worker to which each table was last assigned."""
    begun_by: dict[Material, list[str]] = field(default_factory=dict)
    """For each table, the names of the workers that have begun it; several if some of them have died."""
    stuck_since: float | None = None
    """Monotonic time since which no worker has had a table, None if some worker has a table."""

    tracker: BuildProgress = field(init=False)
    topic: str = field(init=False)
    """The topic of the workers' messages."""

    def __post_init__(self) -> None:
        schedule = BuildSchedule(list(self.estimates), lambda material, _: self.estimates[material])
        self.tracker = BuildProgress(schedule, self.reporter, self._limits)

    def _limits(self) -> Limits:
        """Return the total threads and memory that the workers offer."""
        workers = self.workers.values()
        jobs = max(1, sum(worker.threads for worker in workers))
        return Limits(jobs, threads=1, memory=int(sum(worker.memory for worker in workers)))

    def run(self) -> list[BuiltTable]:
        """Build all tables and return them in the order in which they were finished.

        :raises TbgenError: the error of the first failed table, once the other builds in progress have ended.
        """
        self.topic = f"tbgen-{secrets.token_hex(8)}"
        self.client.subscribe_topic(self.topic, lambda event: self.reports.put(event[1]))
        next_poll = time.monotonic()
        try:
            while self.tasks or not (self.tracker.failure or self.tracker.is_finished):
                if time.monotonic() >= next_poll:
                    workers = connected_workers(self.client, self.scheduler)
                    self.workers = {worker.address: worker for worker in workers}
                    self._assign_tables()
                    self._check_progress()
                    next_poll = time.monotonic() + _POLL_SECONDS
                with contextlib.suppress(Empty):
                    self._handle_report(self.reports.get(timeout=_POLL_SECONDS))
        finally:
            if self.tasks and self.client.status == "running":
                self.client.cancel(list(self.tasks.values()))
        return self.tracker.results()

    def _assign_tables(self) -> None:
        """Assign to workers all tables whose build can begin now.

        The tables of dead workers are assigned again, although Dask may have queued them on another worker.
        """
        for material in self.tracker.schedule.ready_tables(self.tracker.built):
            if self.tracker.failure or self.addresses.get(material) in self.workers:
                continue
            assigned = [(self.addresses[table], self.estimates[table].memory) for table in self.tasks]
            address = free_worker_address(self.workers.values(), assigned, self.estimates[material].memory)
            if address is None:
                continue
            if material in self.tasks:
                self.client.cancel([self.tasks.pop(material)])
            try:
                earlier_names = self.begun_by.get(material, [])
                if len(earlier_names) >= _MAX_ATTEMPTS:
                    raise self._deaths_error(material, len(earlier_names), earlier_names[-1])
                check_disk([self.estimates[material]], self.directory, {})
            except TbgenError as error:
                self._record_failure(material, error)
                return
            future = self.client.submit(
                self.build_function,
                material.name,
                topic=self.topic,
                key=f"{material}-{secrets.token_hex(4)}",
                workers=[address],
                allow_other_workers=True,
                resources={MEMORY_RESOURCE: self.estimates[material].memory},
                pure=False,
            )
            self.tasks[material] = future
            self.addresses[material] = address
            future.add_done_callback(self.reports.put)

    def _check_progress(self) -> None:
        """Check that a table is being built.

        :raises TbgenError: if no worker has had a table for ``patience`` seconds.
        """
        tables = self.tracker.schedule.ready_tables(self.tracker.built)
        if not tables or any(self.addresses[material] in self.workers for material in self.tasks):
            self.stuck_since = None
        elif self.stuck_since is None:
            self.stuck_since = time.monotonic()
            self.reporter.note(f"no worker is left for {tables[0]}: waiting {self.patience:.0f} s for one")
        elif time.monotonic() - self.stuck_since > self.patience:
            needed_text = mib_text(self.estimates[tables[0]].memory)
            raise self.tracker.failure or TbgenError(
                f"no worker is left for {tables[0]}, which needs about {needed_text} of memory: "
                "start one and build again"
            )

    def _handle_report(self, report: "Future | dict[str, Any]") -> None:
        key = report.key if isinstance(report, Future) else report["key"]
        material = next((table for table, future in self.tasks.items() if future.key == key), None)
        if material is None:
            return  # the table is finished, or was assigned to another worker
        if isinstance(report, Future):
            self._record_end(material, report)
            return
        match report["kind"]:
            case "begin":
                self._record_begin(material, report["worker"], report["name"])
            case "note":
                self.reporter.note(f"{material}: {report['text']}, on the worker {report['worker']}")
            case "progress":
                self.tracker.progress(material, report["stage"], report["done"], report["total"])

    def _record_begin(self, material: Material, address: str, worker_name: str) -> None:
        names = self.begun_by.setdefault(material, [])
        retry_text = f" again: its worker {names[-1]} is gone" if names else ""
        names.append(worker_name)
        self.addresses[material] = address
        self.reporter.note(f"{material}: begun by the worker {worker_name}{retry_text}")
        self.tracker.begin(self.estimates[material])

    def _record_end(self, material: Material, future: Future) -> None:
        """Record that a task has finished, has failed or is lost; then assign more tables to workers."""
        if future.status == "finished":
            try:
                built = future.result(timeout=self.patience)
            except TimeoutError:  # the worker died before sending the result: Dask repeats the task
                future.add_done_callback(self.reports.put)
                return
            del self.tasks[material]
            self.tracker.finish(self.estimates[material], built)
        else:
            del self.tasks[material]
            self.tracker.drop(material)
            if future.status == "error":
                self._record_failure(material, future.exception())
            elif self.tracker.failure is None:
                raise lost_scheduler_error(self.scheduler)
        self._assign_tables()

    def _record_failure(self, material: Material, error: BaseException) -> None:
        """Record the failure of a table, and cancel all tasks that have not begun."""
        if isinstance(error, KilledWorker):
            error = self._deaths_error(material, error.allowed_failures + 1, error.last_worker.address)
        if not isinstance(error, TbgenError):
            error = TbgenError(f"{material} could not be built: {first_line(error)}")
        if self.tracker.failure is None:
            waiting_materials = self.tasks.keys() - self.tracker.in_progress.keys() - {material}
            self.client.cancel([self.tasks[table] for table in waiting_materials])
        self.tracker.fail(material, error)

    def _deaths_error(self, material: Material, deaths: int, worker: str) -> TbgenError:
        return TbgenError(
            f"{deaths} workers have died while building {material}, the last one {worker}: see their logs; "
            f"the table may need more memory than the estimated {mib_text(self.estimates[material].memory)}"
        )
