"""The workers of a cluster as a build meets them: connected, looked at, and found fit or refused."""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from distributed import Client
from distributed.comm import CommClosedError, get_address_host_port

from tbgen import __version__
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.generator.cluster_task import MEMORY, first_line, look_around
from tbgen.generator.estimate import Estimate
from tbgen.store.format import SUFFIX
from tbgen.system.files import temporary_path

_CONNECTING: Final = 10.0
"""Seconds that the scheduler has to answer."""


@contextlib.contextmanager
def connected(scheduler: str) -> Iterator[Client]:
    """Hold a connection to the scheduler; what Dask would log about it is said by exceptions.

    :raises TbgenError: if no scheduler answers at the address, or it is gone.
    """
    with contextlib.ExitStack() as stack:
        for logger in map(logging.getLogger, ("distributed", "distributed.client")):
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        try:
            get_address_host_port(scheduler)  # what has no host or port would be noticed late, and at length
            client = Client(scheduler, timeout=_CONNECTING, set_as_default=False, name="tbgen")
        except ValueError as error:
            raise UsageError(
                f"{quote(scheduler)} is not the address of a scheduler, such as tcp://host:8786"
            ) from error
        except OSError as error:
            raise TbgenError(
                f"no scheduler answers at {scheduler}: start one with: dask scheduler (docs/cluster.md)"
            ) from error
        stack.callback(client.close, timeout=2)
        try:
            yield client
        except CommClosedError as error:
            raise gone(scheduler) from error


@contextlib.contextmanager
def shared_probe(directory: Path) -> Iterator[Path]:
    """Keep a file in the directory by which workers know that it is the same one."""
    probe = temporary_path(directory / f"cluster{SUFFIX}")  # so that a later build removes it if need be
    probe.touch()
    try:
        yield probe
    finally:
        for path in directory.glob(f"{probe.name}*"):  # answers of workers that were killed too
            path.unlink(missing_ok=True)


def survey(client: Client, probe: Path, patience: float) -> int:
    """Check that workers are there and fit for the build; return how many threads a table gets at most.

    :raises TbgenError: if not.
    """
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        raise TbgenError(
            f"the scheduler has no worker: start some with: dask worker {client.scheduler.address} "
            '--nthreads 1 --memory-limit 0 --resources "memory=8e9" (docs/cluster.md)'
        ) from None
    found: Mapping[str, Any] = client.run(look_around, str(probe), __version__, on_error="return")
    answers = {place: answer for place, answer in found.items() if not isinstance(answer, CommClosedError)}
    if not answers:  # all have died just now
        return survey(client, probe, patience)
    for address, answer in sorted(answers.items()):
        if isinstance(answer, Exception):
            raise TbgenError(
                f"the worker {address} cannot build tables, install tbgen {__version__} there: "
                f"{first_line(answer)}"
            )
        if answer["problem"]:
            raise TbgenError(f"the worker {answer['place']} {answer['problem']}")
    return max(int(answer["threads"]) for answer in answers.values())


@dataclass(frozen=True)
class Worker:
    """What the scheduler knows of a worker."""

    address: str
    threads: int
    """How many tables it does at once."""
    memory: float
    """Bytes that it offers as a resource."""
    limit: float
    """Bytes beyond which Dask ends it, 0 for none."""


def connected_workers(client: Client, scheduler: str) -> list[Worker]:
    """Return the workers that are connected.

    :raises TbgenError: if the scheduler is gone.
    """
    try:
        if client.status != "running":
            raise OSError(client.status)
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, TimeoutError) as error:
        raise gone(scheduler) from error
    return [
        Worker(
            address,
            int(facts["nthreads"]),
            float(facts["resources"].get(MEMORY, 0)),
            float(facts["memory_limit"] or 0),
        )
        for address, facts in sorted(workers.items())
    ]


def gone(scheduler: str) -> TbgenError:
    """Return what to raise where the scheduler does not answer any more."""
    return TbgenError(
        f"the scheduler {scheduler} is gone: what is finished is kept, start it and the command again"
    )


def check_workers(workers: list[Worker], needs: Iterable[Estimate]) -> None:
    """Check that every table fits some worker: Dask would leave it waiting without a word.

    :raises TbgenError: if one does not.
    """
    largest = max((worker.memory for worker in workers), default=0)
    if not largest:
        raise TbgenError(
            'no worker says how much memory it has for tables: start workers with --resources "memory=8e9" '
            "(bytes; docs/cluster.md)"
        )
    for worker in workers:
        if 0 < worker.limit < worker.memory:
            raise TbgenError(
                f"the worker {worker.address} offers {mib(worker.memory)} of memory, but Dask ends it beyond "
                f"{mib(worker.limit)}: start it with --memory-limit 0"
            )
    for need in needs:
        if need.memory > largest:
            raise TbgenError(
                f"{need.material} needs about {mib(need.memory)} of memory and no worker offers more than "
                f"{mib(largest)}: start one on a larger machine"
            )


def mib(size: float) -> str:
    """Return a number of bytes for a reader.

    >>> mib(5e9)
    '4,768 MiB'
    """
    return f"{size / (1 << 20):,.0f} MiB"
