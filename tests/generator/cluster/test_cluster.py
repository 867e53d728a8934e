"""Building on a cluster: two worker processes of Dask, the same tables, and all that can go wrong."""

import json
import os
import shutil
import signal
import time
from collections import namedtuple
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import h5py
import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.generator import build, estimate
from tbgen.generator.cluster import client
from tbgen.generator.cluster.client import build_on_cluster
from tbgen.generator.cluster.workers import Worker
from tbgen.generator.lock import LOCK_NAME
from tbgen.store.format import table_path, tables_in
from tests.support.builds import Diary, digest, logged
from tests.support.cluster import KBVK, KBVKN, SUBS, copy_subs
from tests.support.disks import small_disk
from tests.support.exhaustive import exhaustive

if TYPE_CHECKING:
    from distributed import LocalCluster


@pytest.fixture(scope="module")
def local(three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with KBvKN and its sub-tables, built without a cluster."""
    directory = tmp_path_factory.mktemp("local")
    copy_subs(three_men, directory)
    build([KBVKN], directory, Diary(), variant=Variant.R_MOBILITY)
    return directory


class Killer(Diary):
    """Kills the worker that is at work on KBvKN, at a moment of its work, and sees that it was in time."""

    def __init__(self, cluster: "LocalCluster", directory: Path, moment: str) -> None:
        super().__init__()
        cluster.wait_for_workers(2, timeout=300)  # one killed before may not be replaced yet
        self.pids = {nanny.worker_address: nanny.pid for nanny in cluster.workers.values()}
        self.path = table_path(directory, "KBvKN", Variant.R_MOBILITY)
        self.moment = moment
        self.killed: list[str] = []
        self.thread: Thread | None = None

    def note(self, text: str) -> None:
        super().note(text)
        if text.startswith("KBvKN: begun") and not self.killed:
            self.killed = [text.split()[5]]
            if self.moment == "writing":
                self.thread = Thread(target=self.kill_while_writing)
                self.thread.start()

    def progress(self, step: str, done: int | None, total: int, seconds_left: float | None = None) -> None:
        super().progress(step, done, total)
        if self.moment == "solving" and len(self.killed) == 1:
            self.kill()

    def kill_while_writing(self) -> None:
        deadline = time.monotonic() + 300
        while not list(self.path.parent.glob(f"{self.path.name}.tmp-*")) and time.monotonic() < deadline:
            time.sleep(0.002)
        self.kill()

    def kill(self) -> None:
        os.kill(self.pids[self.killed[0]], signal.SIGKILL)
        self.killed.append("dead" if not self.path.exists() else "too late")


def test_a_cluster_builds_the_same_tables(cluster: "LocalCluster", three_men: Path, tmp_path: Path) -> None:
    """Sub-tables first; what is there is skipped."""
    directory, diary = tmp_path / "new" / "tables", Diary()
    built = build_on_cluster(
        all_materials(3), directory, diary, cluster.scheduler_address, variant=Variant.R_MOBILITY
    )
    names = [material.name for material in all_materials(3)]
    assert sorted(table.info.material for table in built) == sorted(diary.finished) == sorted(names)
    assert diary.finished.index("KPvK") > max(diary.finished.index(name) for name in ("KQvK", "KNvK"))
    assert sorted(os.listdir(directory)) == sorted([LOCK_NAME, *(f"{name}.r.h5" for name in names)])
    assert all(digest(directory, name) == digest(three_men, name) for name in names)
    assert len([note for note in diary.notes if ": begun by the worker tcp://" in note]) == 6
    assert {count for _, _, count in diary.begun} == {6}
    assert set(cluster.scheduler.task_prefixes) >= set(names)  # what the dashboard shows
    diary = Diary()
    assert build_on_cluster([KBVK], directory, diary, "tcp://nobody:1", variant=Variant.R_MOBILITY) == []
    (again,) = build_on_cluster(
        [KBVK], directory, diary, cluster.scheduler_address, variant=Variant.R_MOBILITY, force=True, threads=1
    )
    assert again.info.digest == digest(three_men, "KBvK")
    assert again.info.parameters["threads"] == 1
    assert diary.finished == ["KBvK"]


def test_the_rules_travel_with_the_tasks(cluster: "LocalCluster", tmp_path: Path) -> None:
    """Tables for whole-game mobility rest on sub-tables for it, wherever they are built."""
    shared, alone = tmp_path / "shared", tmp_path / "alone"
    built = build_on_cluster([KBVK], shared, Diary(), cluster.scheduler_address, variant=Variant.WHOLE_GAME)
    assert [table.info.variant for table in built] == [Variant.WHOLE_GAME] * 2
    assert tables_in(shared, Variant.R_MOBILITY) == []
    assert [table.info.digest for table in built] == [
        table.info.digest for table in build([KBVK], alone, Diary(), variant=Variant.WHOLE_GAME)
    ]


@pytest.mark.parametrize("moment", ["writing", *exhaustive(["solving"])])
def test_a_killed_worker(moment: str, cluster: "LocalCluster", own: Path, local: Path) -> None:
    """Its table is done again, and nothing is left of the first try."""
    killer = Killer(cluster, own, moment)
    built = build_on_cluster([KBVKN], own, killer, cluster.scheduler_address, variant=Variant.R_MOBILITY)
    assert killer.killed[1:] == ["dead"]
    assert [table.info.material for table in built] == ["KBvKN"]
    begun = [note for note in killer.notes if note.startswith("KBvKN: begun")]
    assert len(begun) == 2
    assert f"again: its worker {killer.killed[0]} on " in begun[1]
    assert begun[1].split()[5] != killer.killed[0]
    assert digest(own, "KBvKN") == digest(local, "KBvKN")
    assert sorted(os.listdir(own)) == sorted([LOCK_NAME, *(f"{name}.r.h5" for name in (*SUBS, "KBvKN"))])


def test_a_table_that_kills_its_workers(
    cluster: "LocalCluster", own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    killer = Killer(cluster, own, "solving")
    with pytest.raises(TbgenError, match=r"at work on KBvKN died.* \(1 in all, the last one tcp://"):
        build_on_cluster([KBVKN], own, killer, cluster.scheduler_address, variant=Variant.R_MOBILITY)
    cluster.wait_for_workers(2, timeout=300)


def test_a_damaged_sub_table(cluster: "LocalCluster", own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a worker finds wrong is said in the same sentence as in a build without a cluster."""
    with h5py.File(table_path(own, "KNvK", Variant.R_MOBILITY)) as file:
        offset = file["value"].id.get_chunk_info(0).byte_offset
    with table_path(own, "KNvK", Variant.R_MOBILITY).open("r+b") as raw:
        raw.seek(offset)
        raw.write(b"damaged")
    with pytest.raises(DamagedTableError, match="KNvK"):
        build_on_cluster([KBVKN], own, Diary(), cluster.scheduler_address, variant=Variant.R_MOBILITY)
    assert main(["build", "KBvKN", "--scheduler", cluster.scheduler_address, "--dir", str(own)]) == 1
    *log, sentence = capsys.readouterr().err.splitlines(keepends=True)
    assert logged("".join(log))[0].startswith("KBvKN: begun by the worker tcp://")
    assert sentence.startswith("tbgen: ")
    assert "tbgen build --force KNvK" in sentence
    assert not list(own.glob("*.tmp-*"))


def test_a_full_disk(cluster: "LocalCluster", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a worker finds it, where the client did not foresee it."""
    monkeypatch.setattr(client, "check_disk", lambda *_: None)
    with small_disk(tmp_path, 48):
        with pytest.raises(TbgenError, match=r"the disk is full: .*KBvK.* was not written") as caught:
            build_on_cluster([KBVK], tmp_path, Diary(), cluster.scheduler_address, variant=Variant.R_MOBILITY)
        assert caught.value.exit_code == 1
        assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KvK.r.h5"]


def test_a_disk_that_others_fill(
    cluster: "LocalCluster", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has room for all tables at the start, and none when the second is to begin."""
    usage = namedtuple("usage", "total used free")
    free = iter([10**9, 10**9, 10_000])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, next(free)))
    with pytest.raises(TbgenError, match=r"the disk is full: KBvK needs about .* make room and build again"):
        build_on_cluster([KBVK], tmp_path, Diary(), cluster.scheduler_address, variant=Variant.R_MOBILITY)
    assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KvK.r.h5"]


def test_the_command(
    cluster: "LocalCluster", three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["build", "KBvK", "--scheduler", cluster.scheduler_address, "--dir", str(tmp_path)]
    assert main(words) == 0
    title, first, second = capsys.readouterr().out.splitlines()
    assert title.split() == ["material", "positions", "layers", "longest", "time", "size"]
    assert first.split()[:5] == ["KvK", "924", "32", "14", "plies"]
    assert second.startswith("KBvK ")
    assert main([*words, "--json", "--force"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["built"]
    assert table["digest"] == digest(three_men, "KBvK")
    assert not (tmp_path / ".unpacked").exists()


# Who gets which table


@dataclass(frozen=True)
class PaperFuture:
    key: str

    def add_done_callback(self, _: object) -> None:
        pass


class PaperClient:
    """Takes tasks and has nobody to do them."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str]] = []
        self.cancelled: list[str] = []

    def submit(self, task: object, name: str, **options: Any) -> Any:
        self.given.append((name, options["workers"][0]))
        return PaperFuture(options["key"])

    def cancel(self, futures: list[Any]) -> None:
        self.cancelled += [future.key.split("-")[0] for future in futures]


def test_workers_get_what_they_have_threads_and_memory_for() -> None:
    """A dead worker's table goes to whoever has room first, and not for ever."""
    paper = PaperClient()
    needs = {
        Material.parse(name): replace(estimate(Material.parse(name), Variant.R_MOBILITY), memory=memory)
        for name, memory in (("KvK", 1), ("KQvK", 5), ("KRvK", 5), ("KBvK", 3), ("KNvK", 2), ("KPvK", 1))
    }
    run: Any = client._ClusterBuild(paper, "tcp://s:1", Path(), Diary(), 30.0, needs, print)
    run.topic = ""
    small, large = Worker("small", 1, 5, 0), Worker("large", 2, 9, 0)
    run.workers = {"small": small, "large": large}
    run._hand_out()
    assert paper.given == [("KvK", "large")]  # all others rest on it
    run.tasks.clear()
    run.course.built[Material.parse("KvK")] = SimpleNamespace(seconds=1.0)
    run._hand_out()
    assert paper.given[1:] == [("KQvK", "large"), ("KRvK", "small"), ("KBvK", "large")]
    run._hand_out()
    assert len(paper.given) == 4
    del run.workers["small"]
    run._hand_out()
    assert paper.cancelled == []  # as long as nobody has room for it
    for tries in range(4):
        run.workers[f"new{tries}"] = small
        run._hand_out()
        assert paper.given[-1] == ("KRvK", f"new{tries}")
        run._begin(Material.parse("KRvK"), f"new{tries}", f"new{tries} on host")
        del run.workers[f"new{tries}"]
    assert paper.cancelled == ["KRvK"] * 4
    run.workers["last"] = small
    run._hand_out()
    assert len(paper.given) == 8
    assert "the worker at work on KRvK died, and so did all others that tried (4 in all" in str(
        run.course.failure
    )
