"""A scheduler and a worker as processes, started as docs/cluster.md says, and what may happen to them."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.generator import BuiltTable
from tbgen.generator.cluster_build import build_on_cluster
from tbgen.generator.runner import LOCK_NAME
from tbgen.store.format import table_path
from tests.support.builds import Diary, digest
from tests.support.cluster import KBVK, small_cluster, with_kvk
from tests.support.processes import started, wait_for

R = Variant.R_MOBILITY


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tbgen.generator.cluster_workers._CONNECT_TIMEOUT_SECONDS", 300.0)
    return tmp_path_factory.mktemp("scratch")


def build_kbvk(directory: Path, diary: Diary, address: str, patience: float = 30.0) -> list[BuiltTable]:
    return build_on_cluster([KBVK], directory, diary, address, variant=R, patience=patience)


@pytest.mark.exhaustive
def test_an_interrupted_build_and_a_killed_worker(three_men: Path, tmp_path: Path, scratch: Path) -> None:
    """The worker drops the table of the interrupted build; the killed worker's table is built again.

    No temporary files are left."""
    with_kvk(three_men, tmp_path)
    with small_cluster(scratch) as (address, _, _):
        with started("tbgen", "build", "KBvK", "--scheduler", address, "--dir", str(tmp_path)) as running:
            wait_for(running, "KBvK: begun by the worker ", "stderr")
            running.send_signal(signal.SIGINT)
            output, error = running.communicate(timeout=600)
        assert (running.returncode, output, error.splitlines()[-1]) == (130, "", "tbgen: interrupted")
        assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KvK.r.h5"]

        class Killer(Diary):
            def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
                super().begin(material, number, count, seconds_left)
                if (scratch / "held").exists():
                    (scratch / "held").unlink()
                    os.kill(pid_of_worker(address), signal.SIGKILL)

        killer = Killer()
        (built,) = build_kbvk(tmp_path, killer, address, patience=600)
        first, second = (note for note in killer.notes if note.startswith("KBvK: begun"))
        assert f"again: its worker {first.split()[5]} on " in second
        assert built.info.digest == digest(tmp_path, "KBvK") == digest(three_men, "KBvK")
        assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KBvK.r.h5", "KvK.r.h5"]


def pid_of_worker(address: str) -> int:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        (pid,) = client.run(os.getpid).values()
    return int(pid)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dies", ["worker", "scheduler"])
def test_the_only_worker_or_the_scheduler_is_gone(
    dies: str, three_men: Path, tmp_path: Path, scratch: Path
) -> None:
    with small_cluster(scratch) as (address, scheduler, worker):

        class Murderer(Diary):
            def begin(self, *_: object) -> None:
                if dies == "worker":
                    pid = pid_of_worker(address)
                    worker.kill()  # its nanny, after which it may end by itself
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                else:
                    scheduler.kill()

        murderer = Murderer()
        sentence = {
            "worker": r"no worker is left for KBvK, which needs about .* MiB",
            "scheduler": f"the scheduler {address} is gone: finished work is kept; start the scheduler",
        }[dies]
        with pytest.raises(TbgenError, match=sentence):
            build_kbvk(with_kvk(three_men, tmp_path), murderer, address, patience=1)
        if dies == "worker":
            assert murderer.notes[1:] == ["no worker is left for KBvK: waiting 1 s for one"]
    assert not table_path(tmp_path, "KBvK", R).exists()
