"""What runs on the workers of a cluster: a look around, and the building of one table."""

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
from tbgen.generator.one_table import Built, build_table
from tbgen.store.format import table_path
from tbgen.system.files import temporary_path

MEMORY: Final = "memory"
"""Name of the Dask resource that workers offer and tables need, in bytes."""

_EVERY: Final = 0.5
"""Seconds between two messages on how far a table has got."""

_APPEARANCE: Final = 90.0
"""Seconds that a network file system may take to show one machine what another has renamed: caches of
directories live up to a minute."""


class CancelledBuildError(TbgenError):
    """The build of the table at work was cancelled."""


def look_around(probe: str, version: str, dask_worker: Worker) -> dict[str, Any]:
    """Return what a build has to know of this worker before it begins.

    ``probe`` is a file that the client has made in the shared directory, ``version`` that of its tbgen; Dask
    passes the worker. In the answer, ``place`` names the worker, ``threads`` is how many each of the tables
    that are at work together may use, and ``problem`` the end of a sentence about the worker, or nothing.
    """
    problem = problem_of(Path(probe), version)
    return {"place": place_of(dask_worker), "threads": _threads(dask_worker), "problem": problem}


def make_table(
    name: str, directory: str, *, version: str, probe: str, topic: str, threads: int | None, variant: Variant
) -> Built:
    """Build one table in the shared directory, as a task of Dask; ``threads`` None for this worker's share.

    ``variant`` is that of the table and its sub-tables.

    What happens on the way is told under ``topic``, in dictionaries of the kinds begin, note and progress.

    :raises TbgenError: if it cannot be built; whatever else goes wrong is logged here, and becomes one too.
    """
    worker, material = get_worker(), Material.parse(name)
    relay, place = _Relay(worker, name, topic), place_of(worker)
    if problem := problem_of(Path(probe), version):
        raise TbgenError(f"the worker {place}, which has joined the build, {problem}")
    relay.send("begin", place=place)
    try:
        for sub_table in sorted(material.successors()):
            if not appears(table_path(Path(directory), sub_table.name, variant)):
                raise MissingTableError(sub_table.name, Path(directory), variant)
        return build_table(material, Path(directory), relay, variant, threads or _threads(worker))
    except TbgenError:
        raise
    except MemoryError as error:
        raise TbgenError(f"not enough memory for {name} on the worker {place}") from error
    except Exception as error:
        logging.getLogger("distributed.worker").exception("%s could not be built", name)
        raise TbgenError(
            f"{name} could not be built on the worker {place}, whose log says more: "
            f"{type(error).__name__} {first_line(error)}".rstrip()
        ) from error


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return str(error).partition("\n")[0]


class _Relay:
    """The reporter of a table on a worker: hands all on to the client."""

    def __init__(self, worker: Worker, name: str, topic: str) -> None:
        self._worker, self._name, self._topic = worker, name, topic
        self._key = worker.get_current_task()
        self._sent = 0.0

    def send(self, kind: str, **facts: str | int | None) -> None:
        """Send the client a message about the table."""
        message = {"kind": kind, "key": self._key, "worker": self._worker.address, **facts}
        self._worker.log_event(self._topic, message)

    def note(self, text: str) -> None:
        """Hand a sentence on."""
        self.send("note", text=text)

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Do nothing: the client knows more about the build."""

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        """Say how far the table has got, and stop if its build was cancelled.

        :raises CancelledBuildError: if the task has been cancelled; Dask cannot stop it from outside.
        """
        task = self._worker.state.tasks.get(self._key)
        if task is None or task.state == "cancelled":
            raise CancelledBuildError(f"the build of {self._name} was cancelled")
        now = time.monotonic()
        if now - self._sent >= _EVERY:
            self._sent = now
            self.send("progress", stage=step, done=done, total=total)


def _threads(worker: Worker) -> int:
    """Return a worker's share of the processors for one table."""
    return max(1, (os.cpu_count() or 1) // int(worker.state.nthreads))


def place_of(worker: Worker) -> str:
    """Return where a worker is, for a reader."""
    return f"{worker.address} on {socket.gethostname()}"


def problem_of(probe: Path, version: str) -> str:
    """Return what keeps this worker from the build, as the end of a sentence."""
    if version != __version__:
        return f"has tbgen {__version__}, not {version}: install that there"
    if not probe.exists():
        return f"does not see the directory {probe.parent} of the others: all must share it under this path"
    answer = temporary_path(probe)
    try:
        answer.touch()
        answer.unlink()
    except OSError as error:
        return f"cannot write to {probe.parent} ({os.strerror(error.errno or 0)})"
    return ""


def appears(path: Path) -> bool:
    """Wait until a file that is finished is seen here too; return whether it is."""
    deadline = time.monotonic() + _APPEARANCE
    while path.name not in os.listdir(path.parent):  # listing asks the server, looking up a name may not
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True
