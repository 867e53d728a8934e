"""Connecting to the workers of a cluster, inspecting them, and rejecting unsuitable ones."""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from distributed import Client
from distributed.comm import CommClosedError, get_address_host_port

from tbgen import __version__
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.generator.cluster_task import MEMORY_RESOURCE, first_line, inspect_worker
from tbgen.generator.estimate import Estimate
from tbgen.store.format import SUFFIX
from tbgen.system.files import temporary_path

_CONNECT_TIMEOUT_SECONDS: Final = 10.0
"""Time within which the scheduler has to answer."""


@contextlib.contextmanager
def connect(scheduler: str) -> Iterator[Client]:
    """Open a connection to the scheduler for the duration of the ``with`` statement.

    Dask's log is silenced meanwhile, because failures are reported as exceptions.

    :raises TbgenError: if no scheduler answers at the address, or the connection is lost.
    """
    with contextlib.ExitStack() as stack:
        for logger in map(logging.getLogger, ("distributed", "distributed.client")):
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        try:
            get_address_host_port(scheduler)  # reject a malformed address; Dask would only time out
            client = Client(scheduler, timeout=_CONNECT_TIMEOUT_SECONDS, set_as_default=False, name="tbgen")
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
            raise lost_scheduler_error(scheduler) from error


@contextlib.contextmanager
def shared_marker(directory: Path) -> Iterator[Path]:
    """Create a marker file in the directory for the duration of the ``with`` statement.

    Workers look for the file to check that they share the directory.
    """
    marker = temporary_path(directory / f"cluster{SUFFIX}")  # a later build removes leftovers with such names
    marker.touch()
    try:
        yield marker
    finally:
        for path in directory.glob(f"{marker.name}*"):  # including test files of workers that were killed
            path.unlink(missing_ok=True)


def inspect_workers(client: Client, marker: Path, wait_seconds: float) -> int:
    """Check that there are workers and all are suitable; return the greatest number of threads per table.

    :param wait_seconds: seconds to wait for the first worker.
    :raises TbgenError: if there is no worker, or some worker is unsuitable.
    """
    try:
        client.wait_for_workers(1, timeout=wait_seconds)
    except TimeoutError:
        raise TbgenError(
            f"the scheduler has no worker: start some with: dask worker {client.scheduler.address} "
            '--nthreads 1 --memory-limit 0 --resources "memory=8e9" (docs/cluster.md)'
        ) from None
    replies: Mapping[str, Any] = client.run(inspect_worker, str(marker), __version__, on_error="return")
    answers = {address: reply for address, reply in replies.items() if not isinstance(reply, CommClosedError)}
    if not answers:  # all workers have died in the meantime
        return inspect_workers(client, marker, wait_seconds)
    for address, reply in sorted(answers.items()):
        if isinstance(reply, Exception):
            raise TbgenError(
                f"the worker {address} cannot build tables: {first_line(reply)}; install tbgen "
                f"{__version__} there"
            )
        if reply["problem"]:
            raise TbgenError(f"the worker {reply['name']} {reply['problem']}")
    return max(int(reply["threads"]) for reply in answers.values())


@dataclass(frozen=True)
class Worker:
    """A worker as the scheduler describes it."""

    address: str
    threads: int
    """Number of Dask threads; each builds one table at a time."""
    memory: float
    """Bytes of memory that the worker offers as a resource."""
    memory_limit: float
    """Bytes of memory beyond which Dask kills the worker; 0 for no limit."""


def connected_workers(client: Client, scheduler: str) -> list[Worker]:
    """Return the connected workers.

    :raises TbgenError: if the connection to the scheduler is lost.
    """
    try:
        if client.status != "running":
            raise OSError(client.status)
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, TimeoutError) as error:
        raise lost_scheduler_error(scheduler) from error
    return [
        Worker(
            address,
            int(info["nthreads"]),
            float(info["resources"].get(MEMORY_RESOURCE, 0)),
            float(info["memory_limit"] or 0),
        )
        for address, info in sorted(workers.items())
    ]


def free_worker_address(
    workers: Iterable[Worker], assigned: Sequence[tuple[str, float]], memory: float
) -> str | None:
    """Return the address of the worker with the most free memory among those that can begin a task now.

    The result is None if there is no such worker.

    :param assigned: for each task assigned to a worker, the worker's address and the task's memory in bytes.
    :param memory: bytes of memory that the new task needs.
    """
    free_memory = {}
    for worker in workers:
        sizes = [size for address, size in assigned if address == worker.address]
        free_bytes = worker.memory - sum(sizes)
        if len(sizes) < worker.threads and free_bytes >= memory:
            free_memory[worker.address] = free_bytes
    return max(free_memory, key=lambda address: free_memory[address], default=None)


def lost_scheduler_error(scheduler: str) -> TbgenError:
    """Return the error for a scheduler that no longer answers."""
    return TbgenError(
        f"the scheduler {scheduler} is gone: finished work is kept; start the scheduler and the command again"
    )


def check_workers(workers: list[Worker], estimates: Iterable[Estimate]) -> None:
    """Check that each table fits into the memory of some worker; otherwise Dask would silently wait forever.

    :raises TbgenError: if a table fits no worker, or a worker's limits contradict each other.
    """
    largest_memory = max((worker.memory for worker in workers), default=0)
    if not largest_memory:
        raise TbgenError(
            'no worker says how much memory it has for tables: start workers with --resources "memory=8e9" '
            "(bytes; docs/cluster.md)"
        )
    for worker in workers:
        if 0 < worker.memory_limit < worker.memory:
            raise TbgenError(
                f"the worker {worker.address} offers {mib_text(worker.memory)} of memory, but Dask kills it "
                f"beyond {mib_text(worker.memory_limit)}: start it with --memory-limit 0"
            )
    for estimate in estimates:
        if estimate.memory > largest_memory:
            raise TbgenError(
                f"{estimate.material} needs about {mib_text(estimate.memory)} of memory and no worker offers "
                f"more than {mib_text(largest_memory)}: start one on a larger machine"
            )


def mib_text(size: float) -> str:
    """Return a number of bytes as text in MiB.

    >>> mib_text(5e9)
    '4,768 MiB'
    """
    return f"{size / (1 << 20):,.0f} MiB"
