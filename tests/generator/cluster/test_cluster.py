"""Building on a cluster: a scheduler and workers of Dask in this process, the same tables, and refusals."""

import contextlib
import importlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import h5py
import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.generator import build, cluster_build, cluster_workers, estimate
from tbgen.generator.cluster_build import build_on_cluster
from tbgen.generator.cluster_workers import Worker, check_workers
from tbgen.generator.runner import LOCK_NAME
from tbgen.store.format import table_path, tables_in
from tests.support.builds import Diary, digest, logged, with_free
from tests.support.cluster import KBVK, PaperClient, cluster_of_threads, with_kvk
from tests.support.commands import failure

if TYPE_CHECKING:
    from distributed import LocalCluster

R = Variant.R_MOBILITY


@pytest.fixture(scope="module")
def cluster() -> Iterator["LocalCluster"]:
    with cluster_of_threads() as local:
        yield local


def test_a_cluster_builds_the_same_tables(cluster: "LocalCluster", three_men: Path, tmp_path: Path) -> None:
    """Sub-tables are built first, and existing tables are skipped."""
    directory, diary, address = tmp_path / "new" / "tables", Diary(), cluster.scheduler_address
    built = build_on_cluster(all_materials(3), directory, diary, address, variant=R)
    names = [material.name for material in all_materials(3)]
    assert sorted(table.info.material for table in built) == sorted(diary.finished) == sorted(names)
    assert diary.finished.index("KPvK") > max(diary.finished.index(name) for name in ("KQvK", "KNvK"))
    assert sorted(os.listdir(directory)) == sorted([LOCK_NAME, *(f"{name}.r.h5" for name in names)])
    assert all(digest(directory, name) == digest(three_men, name) for name in names)
    assert len([note for note in diary.notes if ": begun by the worker tcp://" in note]) == 6
    assert {count for _, _, count in diary.begun} == {6}
    assert set(cluster.scheduler.task_prefixes) >= set(names)  # what the dashboard shows
    diary = Diary()
    assert build_on_cluster([KBVK], directory, diary, "tcp://nobody:1", variant=R) == []
    (again,) = build_on_cluster([KBVK], directory, diary, address, variant=R, force=True, threads=1)
    assert again.info.digest == digest(three_men, "KBvK")
    assert again.info.parameters["threads"] == 1
    assert diary.finished == ["KBvK"]


def test_the_rules_travel_with_the_tasks(cluster: "LocalCluster", tmp_path: Path) -> None:
    """Workers build tables of whole-game mobility from sub-tables of whole-game mobility."""
    shared, alone, wg = tmp_path / "shared", tmp_path / "alone", Variant.WHOLE_GAME
    built = build_on_cluster([KBVK], shared, Diary(), cluster.scheduler_address, variant=wg)
    assert [table.info.variant for table in built] == [wg] * 2
    assert tables_in(shared, R) == []
    expected = build([KBVK], alone, Diary(), variant=wg)
    assert [table.info.digest for table in built] == [table.info.digest for table in expected]


def test_a_damaged_sub_table(
    cluster: "LocalCluster", three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message about a damaged sub-table is the same as in a build without a cluster."""
    path = table_path(with_kvk(three_men, tmp_path), "KvK", R)
    with h5py.File(path) as file:
        offset = file["value"].id.get_chunk_info(0).byte_offset
    with path.open("r+b") as raw:
        raw.seek(offset)
        raw.write(b"damaged")
    with pytest.raises(DamagedTableError, match="KvK"):
        build_on_cluster([KBVK], tmp_path, Diary(), cluster.scheduler_address, variant=R)
    assert main(["build", "KBvK", "--scheduler", cluster.scheduler_address, "--dir", str(tmp_path)]) == 1
    *log, sentence = capsys.readouterr().err.splitlines(keepends=True)
    assert logged("".join(log))[0].startswith("KBvK: begun by the worker tcp://")
    assert sentence.startswith("tbgen: ")
    assert "tbgen build --force KvK" in sentence
    assert not list(tmp_path.glob("*.tmp-*"))


def test_a_disk_that_others_fill(
    cluster: "LocalCluster", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk has space for all tables at the start, and none when the second table begins."""
    with_free(monkeypatch, 10**9, 10**9, 10_000)
    with pytest.raises(
        TbgenError, match=r"the disk is full: KBvK needs about .* free some space and build again"
    ):
        build_on_cluster([KBVK], tmp_path, Diary(), cluster.scheduler_address, variant=R)
    assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KvK.r.h5"]


def test_the_command(
    cluster: "LocalCluster", three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["build", "KBvK", "--scheduler", cluster.scheduler_address, "--dir", str(tmp_path)]
    assert main([*words, "--json"]) == 0
    (_, table) = json.loads(capsys.readouterr().out)["built"]
    assert table["digest"] == digest(three_men, "KBvK")


def refused(cluster: "LocalCluster", directory: Path, **options: Any) -> str:
    """Return the message with which a build is refused; check that nothing was built."""
    diary = Diary()
    with pytest.raises(TbgenError) as caught:
        build_on_cluster([KBVK], directory, diary, cluster.scheduler_address, variant=R, **options)
    assert diary.finished == []
    assert os.listdir(directory) == [LOCK_NAME]
    return str(caught.value)


def test_clusters_that_cannot_do_the_build(
    cluster: "LocalCluster", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(cluster_build, "estimate", lambda *rest: replace(estimate(*rest), memory=10**15))
        sentence = "KvK needs about 953,674,316 MiB of memory and no worker offers more than 7,629 MiB"
        assert sentence in refused(cluster, tmp_path)
    assert "allows 1.00 MiB (too large as well: 1 other table)" in refused(cluster, tmp_path, memory=1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(cluster_workers, "__version__", "9.9")
        assert "install tbgen " in refused(cluster, tmp_path)
    with monkeypatch.context() as patch:  # a worker that joins later
        patch.setattr(cluster_build, "__version__", "9.9")
        assert ", which has joined the build, has tbgen " in refused(cluster, tmp_path)
    with monkeypatch.context() as patch:
        elsewhere = tmp_path.parent / "elsewhere" / "probe"
        patch.setattr(cluster_build, "shared_marker", lambda _: contextlib.nullcontext(elsewhere))
        assert f"does not see the shared directory {elsewhere.parent}: " in refused(cluster, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(cluster_workers, "inspect_worker", NotInstalled())
        sentence = refused(cluster, tmp_path)
        assert "cannot build tables: " in sentence
        assert "No module named 'only_here'" in sentence
        assert f"; install tbgen {cluster_workers.__version__} there" in sentence


class NotInstalled:
    """An object that workers cannot unpickle, as its module is not installed there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return importlib.import_module, ("only_here",)

    def __call__(self, *_: object) -> None:
        raise NotImplementedError


def test_workers_must_say_how_much_memory_they_have() -> None:
    needs = [estimate(KBVK, R)]
    worker = Worker("tcp://a:1", threads=1, memory=8e9, memory_limit=0)
    check_workers([worker, replace(worker, memory=0)], needs)
    with pytest.raises(TbgenError, match="no worker says how much memory it has for tables"):
        check_workers([replace(worker, memory=0)], needs)
    with pytest.raises(TbgenError, match="Dask kills it beyond 3,815 MiB: start it with --memory-limit 0"):
        check_workers([worker, replace(worker, memory_limit=4e9)], needs)


def test_a_scheduler_without_workers(tmp_path: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty:
        sentence = refused(empty, tmp_path, patience=0.2)
    assert sentence.startswith("the scheduler has no worker: start some with: dask worker tcp://")


def test_addresses_where_no_scheduler_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["build", "KBvK", "--dir", str(tmp_path), "--scheduler"]
    for address in ("", "8786", "nonsense://host:8786", "tcp://host"):
        sentence = failure(capsys, 2, *words, address)
        assert "is not the address of a scheduler, such as tcp://host:8786\n" in sentence
    monkeypatch.setattr(cluster_workers, "_CONNECT_TIMEOUT_SECONDS", 0.3)
    sentence = failure(capsys, 1, *words, "tcp://127.0.0.1:1")
    assert sentence.startswith("tbgen: no scheduler answers at tcp://127.0.0.1:1: start one with: ")
    assert os.listdir(tmp_path) == []


# Who gets which table


def test_workers_get_what_they_have_threads_and_memory_for() -> None:
    """A dead worker's table goes to the first worker with enough memory, for a limited number of attempts."""
    paper = PaperClient()
    needs = {
        material: replace(estimate(material, R), memory=memory)
        for material, memory in zip(all_materials(3), (1, 5, 5, 3, 2, 1), strict=True)
    }
    run: Any = cluster_build._ClusterBuild(paper, "tcp://s:1", Path(), Diary(), 30.0, needs, print)
    run.topic = ""
    small, large = Worker("small", 1, 5, 0), Worker("large", 2, 9, 0)
    run.workers = {"small": small, "large": large}
    run._assign_tables()
    assert paper.given == [("KvK", "large")]  # all others rest on it
    run.tasks.clear()
    run.tracker.built[Material.parse("KvK")] = SimpleNamespace(seconds=1.0)
    run._assign_tables()
    assert paper.given[1:] == [("KQvK", "large"), ("KRvK", "small"), ("KBvK", "large")]
    run._assign_tables()
    assert len(paper.given) == 4
    del run.workers["small"]
    run._assign_tables()
    assert paper.cancelled == []  # as long as nobody has room for it
    for tries in range(4):
        run.workers[f"new{tries}"] = replace(small, address=f"new{tries}")
        run._assign_tables()
        assert paper.given[-1] == ("KRvK", f"new{tries}")
        run._record_begin(Material.parse("KRvK"), f"new{tries}", f"new{tries} on host")
        del run.workers[f"new{tries}"]
    assert paper.cancelled == ["KRvK"] * 4
    run.workers["last"] = replace(small, address="last")
    run._assign_tables()
    assert len(paper.given) == 8
    assert "4 workers have died while building KRvK, the last one new3 on host: " in str(run.tracker.failure)
