"""Clusters of Dask for small builds."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.generator import cluster_workers
from tbgen.retro.solver_warmup import compile_kernels
from tbgen.store.format import table_path
from tests.support.processes import started, wait_for

if TYPE_CHECKING:
    from distributed import LocalCluster

KBVK = Material.parse("KBvK")

HOLDING = """
import time
from pathlib import Path
from tbgen.generator import cluster_task
from tbgen.generator.one_table import build_table

def held(material, directory, relay, *rest):
    while material.name == "KBvK" and Path(__file__).with_name("held").exists():
        relay.progress("held", None, 0)
        time.sleep(0.02)
    return build_table(material, directory, relay, *rest)

cluster_task.build_table = held
"""
"""Lets workers be at work on KBvK, without an end, while there is a file ``held``."""


@contextlib.contextmanager
def cluster_of_threads() -> Iterator["LocalCluster"]:
    """A scheduler and two workers in this process."""
    from distributed import LocalCluster  # here, since it takes every process of the tests a second

    compile_kernels()
    with (
        pytest.MonkeyPatch.context() as patient,
        LocalCluster(
            n_workers=2,
            processes=False,
            protocol="tcp://",
            threads_per_worker=1,
            memory_limit=0,
            resources={"memory": 8e9},
            dashboard_address=":0",
            silence_logs=50,
        ) as local,
    ):
        patient.setattr(cluster_workers, "_CONNECT_TIMEOUT_SECONDS", 300.0)
        yield local


@contextlib.contextmanager
def small_cluster(scratch: Path) -> Iterator[tuple[str, subprocess.Popen[str], subprocess.Popen[str]]]:
    """The address of a scheduler, its process, and that of the nanny of its only worker, as docs/cluster.md
    says."""
    compile_kernels()
    (scratch / "holding.py").write_text(HOLDING)
    (scratch / "held").touch()
    with contextlib.ExitStack() as stack:
        where = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        scheduler = stack.enter_context(started("dask", "scheduler", *where))
        address = wait_for(scheduler, "Scheduler at:", "stderr").split()[-1]
        options = ["--nthreads", "1", "--memory-limit", "0", "--resources", "memory=8e9", "--no-dashboard"]
        options += ["--preload", str(scratch / "holding.py"), "--local-directory", str(scratch)]
        worker = stack.enter_context(started("dask", "worker", address, *options))
        wait_for(worker, "Registered to:", "stderr")
        yield address, scheduler, worker


def with_kvk(tables: Path, directory: Path) -> Path:
    """A directory with the sub-table of KBvK."""
    shutil.copy(table_path(tables, "KvK", Variant.R_MOBILITY), directory)
    return directory


class PaperClient:
    """A client that accepts tasks and never runs them."""

    def __init__(self) -> None:
        self.given: list[tuple[object, str]] = []
        self.cancelled: list[str] = []

    def submit(self, task: object, target: object, *_: object, **options: Any) -> Any:
        self.given.append((target, options["workers"][0]))
        return SimpleNamespace(key=options["key"], add_done_callback=lambda _: None)

    def cancel(self, futures: list[Any]) -> None:
        self.cancelled += [future.key.split("-")[0] for future in futures]
