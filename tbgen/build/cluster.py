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
from tbgen.build.estimate import Estimate, check_disk, estimate
from tbgen.build.fleet import check_memory, connected, gone, mib, shared_probe, survey, workers
from tbgen.build.lock import build_lock
from tbgen.build.remote import MEMORY, first_line, make_table
from tbgen.build.runner import Built, Reporter, missing
from tbgen.errors import TbgenError
from tbgen.material import Material
from tbgen.store.writer import remove_leftovers

_TICK: Final = 1.0
"""Seconds between two looks at the workers."""


def build_on_cluster(
    materials: Iterable[Material],
    directory: Path,
    reporter: Reporter,
    scheduler: str,
    *,
    force: bool = False,
    threads: int | None = None,
    patience: float = 30.0,
) -> list[Built]:
    """Build tables like :func:`tbgen.build.build`, on the workers of a Dask scheduler.

    :param directory: where all workers see it, under the same path.
    :param scheduler: its address, such as ``tcp://host:8786``.
    :param threads: of each table; None for the worker's processors shared among the tables it does at once.
    :param patience: seconds to wait for a worker, before the build and whenever none can go on with it.
    :raises TbgenError: if the cluster cannot do the build, or a table cannot be built; tables finished before
        are kept.
    """
    wanted, directory = list(materials), directory.absolute()
    if not force and not missing(wanted, directory):
        return []
    with connected(scheduler) as client, build_lock(directory, reporter.note):
        for path in remove_leftovers(directory):
            reporter.note(f"removed {path.name}, left by an interrupted build")
        todo = missing(wanted, directory, force=wanted if force else ())
        if not todo:
            return []
        with shared_probe(directory) as probe:
            share = survey(client, probe, patience)
            needs = {material: estimate(material, threads or share) for material in todo}
            check_memory(workers(client, scheduler), needs.values())
            check_disk(needs.values(), directory)
            task = partial(
                make_table, directory=str(directory), version=__version__, probe=str(probe), threads=threads
            )
            built = _Run(client, scheduler, reporter, patience, needs, task).run()
        remove_leftovers(directory)  # of workers that died on the way
        return built


@dataclass
class _Run:
    """One build: hands out tables whose sub-tables are finished, as many as the workers can do at once.

    Tables are handed out when they can begin, and not all at the start as a graph of tasks, because Dask does
    again what a dead worker has finished if others wait for its result, and because it counts a worker's
    death against all tasks in its queue; here the result is in the directory, and there is no queue.
    """

    client: Client
    scheduler: str
    reporter: Reporter
    patience: float
    needs: dict[Material, Estimate]
    """The tables to build, in build order."""
    task: "partial[Built]"

    news: "SimpleQueue[Future | dict[str, Any]]" = field(default_factory=SimpleQueue)
    """Tasks that have ended, and messages of workers."""
    flying: dict[Future, Material] = field(default_factory=dict)
    places: dict[Material, str] = field(default_factory=dict)
    """Where tables are at work, or were when their worker died."""
    built: dict[Material, Built] = field(default_factory=dict)
    failure: TbgenError | None = None
    stuck_since: float | None = None
    shown: Material | None = None
    """The table whose progress is shown."""

    def run(self) -> list[Built]:
        """Build all; return what was built in the order in which it was finished.

        :raises TbgenError: of the first table that failed, when the others at work have ended.
        """
        self.topic = f"tbgen-{secrets.token_hex(8)}"
        self.client.subscribe_topic(self.topic, lambda event: self.news.put(event[1]))
        try:
            slots = self._look()
            looked = time.monotonic()
            while True:
                self._hand_out(slots)
                if not self.flying:
                    break
                with contextlib.suppress(Empty):
                    self._hear(self.news.get(timeout=_TICK))
                if time.monotonic() - looked >= _TICK:
                    slots, looked = self._look(), time.monotonic()
        finally:
            if self.flying and self.client.status == "running":
                self.client.cancel(list(self.flying))
        if self.failure:
            raise self.failure
        return list(self.built.values())

    def _hand_out(self, slots: int) -> None:
        for material, need in self.needs.items():
            if self.failure or len(self.flying) >= slots:
                return
            waits = any(sub in self.needs and sub not in self.built for sub in material.successors())
            if waits or material in self.built or material in self.flying.values():
                continue
            future = self.client.submit(
                self.task,
                material.name,
                topic=self.topic,
                key=f"{material}-{secrets.token_hex(4)}",
                resources={MEMORY: need.memory},
                pure=False,
            )
            self.flying[future] = material
            future.add_done_callback(self.news.put)

    def _look(self) -> int:
        """Look at the workers; return how many tables they can do at once.

        :raises TbgenError: if none of the tables handed out has had a worker large enough for a while.
        """
        fleet = workers(self.client, self.scheduler)
        largest = max((worker.memory for worker in fleet), default=0)
        waiting = [material for material in self.flying.values() if self.needs[material].memory > largest]
        if not waiting or len(waiting) < len(self.flying):
            self.stuck_since = None
        elif self.stuck_since is None:
            self.stuck_since = time.monotonic()
            self.reporter.note(f"no worker is left for {waiting[0]}: waiting {self.patience:.0f} s for one")
        elif time.monotonic() - self.stuck_since > self.patience:
            raise TbgenError(
                f"no worker is left for {waiting[0]}, which needs about "
                f"{mib(self.needs[waiting[0]].memory)} of memory: start one and build again"
            )
        return max(1, sum(worker.threads for worker in fleet if worker.memory))

    def _hear(self, news: "Future | dict[str, Any]") -> None:
        if isinstance(news, Future):
            self._end(news)
            return
        material = Material.parse(news["material"])
        if material not in self.flying.values():
            return
        match news["kind"]:
            case "begin":
                again = (
                    f" again: its worker {self.places[material]} is gone" if material in self.places else ""
                )
                self.places[material] = news["place"]
                self.reporter.note(f"{material}: begun by the worker {news['place']}{again}")
                self._show(material)
            case "note":
                self.reporter.note(f"{material}: {news['text']}, on the worker {news['place']}")
            case "progress" if material == self.shown:
                others = [other.name for other in self.flying.values() if other != material]
                stage = f"{', '.join(others)} too; {news['stage']}" if others else news["stage"]
                self.reporter.progress(stage, news["done"], news["total"])

    def _show(self, material: Material) -> None:
        """Let the reporter follow one of the tables at work."""
        self.shown = material
        left = [need.seconds for table, need in self.needs.items() if table not in self.built]
        self.reporter.begin(
            material,
            list(self.needs).index(material) + 1,
            len(self.needs),
            max(*left, sum(left) / len(self.flying)),
        )

    def _end(self, future: Future) -> None:
        """Take note of a task that is finished, failed, or lost."""
        material = self.flying[future]
        if future.status == "finished":
            try:
                built = future.result(timeout=self.patience)
            except TimeoutError:  # the worker died with it: it is done again
                future.add_done_callback(self.news.put)
                return
            self.built[material] = built
            self.reporter.done(built)
        elif future.status == "error":
            self._fail(material, future.exception())
        elif self.failure is None:
            raise gone(self.scheduler)
        del self.flying[future]
        if self.shown == material and (others := set(self.flying.values()) & set(self.places)):
            self._show(min(others))

    def _fail(self, material: Material, error: BaseException) -> None:
        """Remember why the build fails, and drop what has not begun."""
        if isinstance(error, KilledWorker):
            error = TbgenError(
                f"{error.allowed_failures + 1} workers died at work on {material}, the last one "
                f"{error.last_worker.address}: see their logs; it may need more memory than the estimated "
                f"{mib(self.needs[material].memory)}"
            )
        if not isinstance(error, TbgenError):
            error = TbgenError(f"{material} could not be built: {first_line(error)}")
        if self.failure is None:
            self.failure = error
            idle = [future for future, other in self.flying.items() if other not in self.places]
            self.client.cancel(idle)
            others = len(self.flying) - len(idle) - 1
            if others:
                self.reporter.note(f"{material} has failed; tables at work that will be finished: {others}")
