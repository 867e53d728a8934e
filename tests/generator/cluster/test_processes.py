"""A scheduler and workers as processes, started as docs/cluster.md says, and what may happen to them."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.generator.cluster.client import build_on_cluster
from tbgen.generator.lock import LOCK_NAME
from tbgen.retro.warmup import compile_kernels
from tbgen.store.format import table_path, tables_in
from tests.support.builds import Diary
from tests.support.cluster import KBVK, KBVKN, SUBS
from tests.support.processes import started, wait_for


@contextlib.contextmanager
def small_cluster(scratch: Path) -> Iterator[tuple[str, subprocess.Popen[str], subprocess.Popen[str]]]:
    """The address of a scheduler, its process, and that of its only worker."""
    compile_kernels()
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(
            started("dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        )
        address = wait_for(scheduler, "Scheduler at:", "stderr").split()[-1]
        options = ["--nthreads", "1", "--memory-limit", "0", "--resources", "memory=8e9"]
        options += ["--no-nanny", "--no-dashboard", "--local-directory", str(scratch)]
        worker = stack.enter_context(started("dask", "worker", address, *options))
        wait_for(worker, "Registered to:", "stderr")
        yield address, scheduler, worker


def test_an_interrupted_build(own: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The worker drops the table, and is free for the next build."""
    with small_cluster(tmp_path_factory.mktemp("scratch")) as (address, _, _):
        with started("tbgen", "build", "KBvKN", "--scheduler", address, "--dir", str(own)) as running:
            wait_for(running, "KBvKN: begun by the worker ", "stderr")
            running.send_signal(signal.SIGINT)
            output, error = running.communicate(timeout=120)
            assert (output, error.splitlines()[-1]) == ("", "tbgen: interrupted")
            assert running.returncode == 130
        build_on_cluster([KBVK], own, Diary(), address, variant=Variant.R_MOBILITY, force=True)
    assert sorted(os.listdir(own)) == sorted([LOCK_NAME, *(f"{name}.r.h5" for name in SUBS)])


def test_a_killed_client(own: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The worker drops the table as after Ctrl-C, and the next build removes what the client has left."""
    with small_cluster(tmp_path_factory.mktemp("scratch")) as (address, _, _):
        with started("tbgen", "build", "KBvKN", "--scheduler", address, "--dir", str(own)) as running:
            wait_for(running, "KBvKN: begun by the worker ", "stderr")
            running.kill()
        (left,) = own.glob("*.tmp-*")
        diary = Diary()
        build_on_cluster([KBVK], own, diary, address, variant=Variant.R_MOBILITY, force=True)
    assert diary.notes[0] == f"removed {left.name}, left by an interrupted build"
    assert sorted(os.listdir(own)) == sorted([LOCK_NAME, *(f"{name}.r.h5" for name in SUBS)])


def test_the_only_worker_is_gone(own: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with small_cluster(tmp_path_factory.mktemp("scratch")) as (address, _, worker):

        class Murderer(Diary):
            def begin(self, *_: object) -> None:
                worker.kill()

        murderer = Murderer()
        with pytest.raises(TbgenError, match=r"no worker is left for KBvKN, which needs about .* MiB"):
            build_on_cluster([KBVKN], own, murderer, address, variant=Variant.R_MOBILITY, patience=1)
        assert murderer.notes[1:] == ["no worker is left for KBvKN: waiting 1 s for one"]
    assert not table_path(own, "KBvKN", Variant.R_MOBILITY).exists()


def test_the_scheduler_is_gone(own: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        small_cluster(tmp_path_factory.mktemp("scratch")) as (address, scheduler, _),
        started("tbgen", "build", "KBvKN", "--scheduler", address, "--dir", str(own)) as running,
    ):
        wait_for(running, "KBvKN: begun by the worker ", "stderr")
        scheduler.kill()
        output, error = running.communicate(timeout=120)
    sentence = f"tbgen: the scheduler {address} is gone: what is finished is kept, start it and the"
    assert (running.returncode, output, error.splitlines()[-1]) == (1, "", f"{sentence} command again")
    assert set(tables_in(own, Variant.R_MOBILITY)) >= {Material.parse(name) for name in SUBS}
