"""A writer that fails leaves no file that could be taken for a table."""

import errno
import os
import resource
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.index.codes import LAST_RUN
from tbgen.store import writer
from tbgen.store.dataset import Corner, Dataset
from tbgen.store.format import layer_files_beside, table_path, tables_in
from tests.support.damage import killed, refused
from tests.support.disks import small_disk
from tests.support.exhaustive import exhaustive
from tests.support.random_tables import random_table, write


def test_arrays_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    table = random_table("KNvK")
    for bad in (
        {"depth": table.depth[:, 1:]},
        {"run_value": table.run_value[1:]},
        {"run_rank": table.run_rank % LAST_RUN},
    ):
        with pytest.raises(ValueError, match="table KNvK"):
            write(replace(table, **bad), table_path(tmp_path, "KNvK", Variant.R_MOBILITY))
    assert os.listdir(tmp_path) == []


def test_a_new_table_does_away_with_the_layers_of_the_old_one(tmp_path: Path, path: Path) -> None:
    """Only layers of the same table are removed, after the new table is in place."""
    own = [path.with_name(f"KNvK.r.{part}.layer.h5") for part in ("-G3.5", "G12.0", "G2.0.17")]
    names = ["KNNvK.r.G3.5.layer.h5", "KBvKN.r.G3.5.layer.h5", "KNvK.x.G3.5.layer.h5"]
    others = [path.with_name(name) for name in (*names, "KNvK.r.G3.5.layer.h5.tmp-host-7-0123abcd")]
    for layer in (*own, *others):
        layer.touch()
    assert layer_files_beside(path) == sorted(own)
    bad = replace(random_table("KNvK"), depth=np.zeros((2, 1), np.uint16))
    with pytest.raises(ValueError, match="table KNvK"):
        write(bad, path)
    assert layer_files_beside(path) == sorted(own)
    write(random_table("KNvK", seed=1), path)
    assert layer_files_beside(path) == []
    assert all(layer.exists() for layer in others)


Chunks = Iterator[tuple[Corner, bytes]]


def without_one(chunks: Chunks) -> Chunks:
    next(chunks)
    yield from chunks


def with_a_flipped_bit(chunks: Chunks) -> Chunks:
    corner, data = next(chunks)
    yield corner, bytes([*data[:20], data[20] ^ 1, *data[21:]])
    yield from chunks


def with_two_exchanged(chunks: Chunks) -> Chunks:
    """Exchange two chunks; both are undamaged, so only the digest reveals it."""
    (one, first), (other, second) = next(chunks), next(chunks)
    yield from [(one, second), (other, first)]
    yield from chunks


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [(without_one, "value has no chunk"), (with_a_flipped_bit, "value"), (with_two_exchanged, "value")],
)
def test_what_is_written_is_read_back_before_it_counts(
    harm: Callable[[Chunks], Chunks], sentence: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chunk that is written wrongly is noticed; the old table is kept."""
    compressed, before = writer._chunks_of, path.read_bytes()

    def harmed(dataset: Dataset, threads: int) -> Chunks:
        chunks = compressed(dataset, threads)
        return harm(chunks) if dataset.name == "value" else chunks

    monkeypatch.setattr(writer, "_chunks_of", harmed)
    for target in (path, table_path(path.parent, "KBvK", Variant.R_MOBILITY)):
        with pytest.raises(DamagedTableError, match=sentence):
            write(random_table(target.name.split(".")[0], seed=1), target)
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == before


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writer, "_write", full)
    with pytest.raises(TbgenError, match="the disk is full") as caught:
        write(random_table("KvK"), table_path(tmp_path, "KvK", Variant.R_MOBILITY))
    assert caught.value.exit_code == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("part", [0.5, *exhaustive([0.02, 0.9])])
def test_a_really_full_disk(part: float, tmp_path: Path, path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, int(part * path.stat().st_size) >> 10):
        with pytest.raises(TbgenError, match="the disk is full"):
            write(random_table("KNvK"), table_path(disk, "KNvK", Variant.R_MOBILITY))
        assert os.listdir(disk) == []


@pytest.mark.parametrize("part", [0.3, 0.999, *exhaustive([0.001, 0.8])])
def test_a_file_size_limit(part: float, tmp_path: Path, path: Path) -> None:
    """The limit acts like a full disk at the first byte, amid the data, or when HDF5 closes the file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(part * path.stat().st_size), hard))
    try:
        with pytest.raises(TbgenError, match="could not be written: File too large"):
            write(random_table("KNvK"), tmp_path / "again.h5")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == [path.name]


def test_directories_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TbgenError, match="No such file or directory"):
        write(random_table("KvK"), table_path(tmp_path / "absent", "KvK", Variant.R_MOBILITY))
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(TbgenError, match="no permission to write"):
            write(random_table("KvK"), table_path(tmp_path, "KvK", Variant.R_MOBILITY))
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("moment", ["accrued/mask", "replace", *exhaustive(["value", "ep/depth"])])
def test_a_killed_writer_leaves_nothing_that_looks_like_a_table(moment: str, tmp_path: Path) -> None:
    path = table_path(tmp_path, "KNvK", Variant.R_MOBILITY)
    killed(lambda: write(random_table("KNvK"), path), "KNvK", moment)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith("KNvK.r.h5.tmp-")
    assert tables_in(tmp_path, Variant.R_MOBILITY) == []
    if moment != "replace":
        refused(left.rename(path))
