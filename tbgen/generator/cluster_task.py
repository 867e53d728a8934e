"""Functions that run on the workers of a cluster: inspecting the worker, and building one table."""

import logging
import os
import socket
import time
from pathlib import Path
from typing import Any, Final

from distributed import Worker, get_worker

from tbgen import __version__
from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, TbgenError
from tbgen.generator.one_table import BuiltTable, build_table
from tbgen.store.format import table_path
from tbgen.system.files import temporary_path

MEMORY_RESOURCE: Final = "memory"
"""Name of the Dask resource for memory, in bytes, which workers offer and tables need."""

_MIN_MESSAGE_INTERVAL_SECONDS: Final = 0.5
"""Minimum time between two progress messages about a table."""

_VISIBILITY_TIMEOUT_SECONDS: Final = 90.0
"""Time within which a file renamed on one machine must become visible on the others.

Network file systems cache directories for up to a minute."""


class CancelledBuildError(TbgenError):
    """The build of the table was cancelled while it was running."""


def inspect_worker(marker: str, version: str, dask_worker: Worker) -> dict[str, Any]:
    """Describe this worker to a build that is about to begin.

    The result's ``name`` is the worker's, and ``threads`` is the number of threads for each table built
    there. ``problem`` says why the worker cannot join the build, in words that follow the worker's name, such
    as "cannot write to ..."; it is empty if the worker can join.

    :param marker: a file that the client has made in the shared directory.
    :param version: the version of tbgen on the client.
    :param dask_worker: this worker; supplied by Dask.
    """
    problem = worker_problem(Path(marker), version)
    return {"name": label_of(dask_worker), "threads": _threads_per_table(dask_worker), "problem": problem}


def build_table_on_worker(
    name: str, directory: str, *, version: str, marker: str, topic: str, threads: int | None, variant: Variant
) -> BuiltTable:
    """Build one table in the shared directory, as a Dask task.

    Messages are logged under ``topic``: dictionaries whose ``kind`` is ``begin``, ``note`` or ``progress``.

    :param threads: number of threads; None for this worker's share of the processors.
    :param variant: the variant of the table and its sub-tables.
    :raises TbgenError: if the table cannot be built. Unexpected exceptions are logged on the worker and
        converted to this error.
    """
    worker = get_worker()
    material = Material.parse(name)
    relay = _Relay(worker, name, topic)
    worker_name = label_of(worker)
    if problem := worker_problem(Path(marker), version):
        raise TbgenError(f"the worker {worker_name}, which has joined the build, {problem}")
    relay.send("begin", name=worker_name)
    try:
        for sub_table in sorted(material.successors()):
            if not wait_for_file(table_path(Path(directory), sub_table.name, variant)):
                raise MissingTableError(sub_table.name, Path(directory), variant)
        return build_table(material, Path(directory), relay, variant, threads or _threads_per_table(worker))
    except TbgenError:
        raise
    except MemoryError as error:
        raise TbgenError(f"not enough memory for {name} on the worker {worker_name}") from error
    except Exception as error:
        logging.getLogger("distributed.worker").exception("%s could not be built", name)
        raise TbgenError(
            f"{name} could not be built on the worker {worker_name}, whose log has the details: "
            f"{type(error).__name__} {first_line(error)}".rstrip()
        ) from error


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return str(error).partition("\n")[0]


class _Relay:
    """The reporter of a table on a worker, which forwards all reports to the client."""

    def __init__(self, worker: Worker, name: str, topic: str) -> None:
        self._worker = worker
        self._name = name
        self._topic = topic
        self._key = worker.get_current_task()
        self._last_sent_time = 0.0

    def send(self, kind: str, **fields: str | int | None) -> None:
        """Send the client a message about the table."""
        message = {"kind": kind, "key": self._key, "worker": self._worker.address, **fields}
        self._worker.log_event(self._topic, message)

    def note(self, text: str) -> None:
        """Forward a note."""
        self.send("note", text=text)

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Do nothing: the client itself reports when a table is begun."""

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Forward the progress of the table, or end its build if the task was cancelled.

        Dask cannot stop a running task from outside.

        :raises CancelledBuildError: if the task was cancelled.
        """
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise CancelledBuildError(f"the build of {self._name} was cancelled")
        now = time.monotonic()
        if now - self._last_sent_time >= _MIN_MESSAGE_INTERVAL_SECONDS:
            self._last_sent_time = now
            self.send("progress", stage=step, done=done, total=total)


def _threads_per_table(worker: Worker) -> int:
    """Return the number of processors that each table of a worker can use."""
    return max(1, (os.cpu_count() or 1) // int(worker.state.nthreads))


def label_of(worker: Worker) -> str:
    """Return a label of a worker for messages: its address and host."""
    return f"{worker.address} on {socket.gethostname()}"


def worker_problem(marker: Path, version: str) -> str:
    """Return why this worker cannot join a build, in words that follow the worker's name; empty if there
    is no problem."""
    if version != __version__:
        return f"has tbgen {__version__}, not {version}: install tbgen {version} there"
    if not marker.exists():
        return f"does not see the shared directory {marker.parent}: all machines must have it under this path"
    test_file = temporary_path(marker)
    try:
        test_file.touch()
        test_file.unlink()
    except OSError as error:
        return f"cannot write to {marker.parent} ({os.strerror(error.errno or 0)})"
    return ""


def wait_for_file(path: Path) -> bool:
    """Wait until a file made by another machine becomes visible here; return False after a timeout."""
    deadline = time.monotonic() + _VISIBILITY_TIMEOUT_SECONDS
    while path.name not in os.listdir(path.parent):  # listing asks the server; a look-up may not
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
