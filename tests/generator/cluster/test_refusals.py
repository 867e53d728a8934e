"""Clusters that cannot do a build are refused in one sentence."""

import contextlib
import importlib
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tbgen.generator import estimate
from tbgen.generator.cluster import client, workers
from tbgen.generator.cluster.client import build_on_cluster
from tbgen.generator.cluster.workers import Worker, check_workers
from tbgen.generator.lock import LOCK_NAME
from tests.support.builds import Diary
from tests.support.cluster import KBVK

if TYPE_CHECKING:
    from distributed import LocalCluster


def refused(cluster: "LocalCluster", directory: Path, **options: Any) -> str:
    """The sentence with which a build is refused, and nothing built."""
    diary = Diary()
    with pytest.raises(TbgenError) as caught:
        build_on_cluster(
            [KBVK], directory, diary, cluster.scheduler_address, variant=Variant.R_MOBILITY, **options
        )
    assert diary.finished == []
    assert os.listdir(directory) == [LOCK_NAME]
    return str(caught.value)


def test_clusters_that_cannot_do_the_build(
    cluster: "LocalCluster", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(client, "estimate", lambda *rest: replace(estimate(*rest), memory=10**15))
        sentence = "KvK needs about 953,674,316 MiB of memory and no worker offers more than 7,629 MiB"
        assert sentence in refused(cluster, tmp_path)
    assert "MiB of memory and --memory allows 1 MiB, and 1 more" in refused(cluster, tmp_path, memory=1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(workers, "__version__", "9.9")
        assert "install that there" in refused(cluster, tmp_path)
    with monkeypatch.context() as patch:  # a worker that joins later
        patch.setattr(client, "__version__", "9.9")
        assert ", which has joined the build, has tbgen " in refused(cluster, tmp_path)
    with monkeypatch.context() as patch:
        elsewhere = tmp_path.parent / "elsewhere" / "probe"
        patch.setattr(client, "shared_probe", lambda _: contextlib.nullcontext(elsewhere))
        assert f"does not see the directory {elsewhere.parent} of the others" in refused(cluster, tmp_path)
    with monkeypatch.context() as patch:  # a worker without tbgen
        (tmp_path.parent / "only_here.py").write_text("def look_around(probe): pass\n")
        patch.syspath_prepend(tmp_path.parent)
        patch.setattr(workers, "look_around", importlib.import_module("only_here").look_around)
        sentence = refused(cluster, tmp_path)
        assert f"cannot build tables, install tbgen {workers.__version__} there: " in sentence
        assert "No module named 'only_here'" in sentence


def test_workers_must_say_how_much_memory_they_have() -> None:
    needs = [estimate(KBVK, Variant.R_MOBILITY)]
    worker = Worker("tcp://a:1", threads=1, memory=8e9, limit=0)
    check_workers([worker, replace(worker, memory=0)], needs)
    with pytest.raises(TbgenError, match="no worker says how much memory it has for tables"):
        check_workers([replace(worker, memory=0)], needs)
    with pytest.raises(TbgenError, match="Dask ends it beyond 3,815 MiB: start it with --memory-limit 0"):
        check_workers([worker, replace(worker, limit=4e9)], needs)


def test_a_scheduler_without_workers(tmp_path: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty:
        sentence = refused(empty, tmp_path, patience=0.2)
    assert sentence.startswith("the scheduler has no worker: start some with: dask worker tcp://")


@pytest.mark.parametrize("address", ["", "8786", "nonsense://host:8786", "tcp://host"])
def test_bad_addresses(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "KBvK", "--scheduler", address, "--dir", str(tmp_path)]) == 2
    assert "is not the address of a scheduler, such as tcp://host:8786\n" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_nobody_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(workers, "_CONNECTING", 0.3)
    assert main(["build", "KBvK", "--scheduler", "tcp://127.0.0.1:1", "--dir", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tbgen: no scheduler answers at tcp://127.0.0.1:1: start one with: ")
    assert error.count("\n") == 1


def test_without_dask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "tbgen.generator.cluster.client")
    assert main(["build", "KBvK", "--scheduler", "tcp://127.0.0.1:1", "--dir", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error == (
        "tbgen: a build with --scheduler needs distributed, which is not installed: "
        "install it with: pip install 'tbgen[cluster]'\n"
    )
