"""Table files: what is written is read, and nothing damaged is ever taken for a table."""

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from tbgen.errors import DamagedTableError, MissingTableError, TbgenError
from tbgen.index.table import FRESH, LAST_RUN, Table
from tbgen.material import Material
from tbgen.score import NONE
from tbgen.store import writer
from tbgen.store.cache import ChunkCache
from tbgen.store.checksum import fletcher32
from tbgen.store.format import BLOCK, CHUNK_BYTES, layers_beside, table_path, tables_in
from tbgen.store.info import TableInfo
from tbgen.store.reader import TableFile
from tbgen.store.writer import write_table
from tests.support.paths import ROOT
from tests.support.reference_table import empty_table, reference_table


def random_table(name: str, seed: int = 0, *, depths: int = 60, density: float = 0.1) -> Table:
    """A table of noise, with runs in `density` of the slots of every holder and side."""
    rng = np.random.default_rng(seed)
    table = empty_table(Material.parse(name))
    layout = table.layout
    table.value = rng.integers(0, 20, (2, layout.size), np.uint8)
    table.value[rng.random(table.value.shape) < 0.3] = NONE
    table.depth = rng.integers(0, depths, (2, layout.size)).astype(np.uint16)
    has_runs = rng.random((2, 2, layout.size)) < density
    has_runs[0, 1, : layout.size // 2] = False
    table.run_mask = np.packbits(has_runs, axis=-1, bitorder="little").view("<u8").astype(np.uint64)
    counts = rng.integers(1, 4, np.count_nonzero(has_runs))
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    table.run_rank = (2 + 3 * within + rng.integers(0, 3, ends[-1])).astype(np.uint8)
    table.run_rank[ends - 1] |= LAST_RUN
    table.run_value = rng.choice(np.array([1, 3, 250, NONE, FRESH], np.uint8), ends[-1])
    table.run_depth = rng.integers(0, depths, ends[-1]).astype(np.uint16)
    if layout.white_pawns and layout.black_pawns:
        table.ep_config = np.array([[3, 16], [5, 40], [5, 41]], np.int32)
        table.ep_value = rng.integers(0, 20, (3, layout.phase_size), np.uint8)
        table.ep_depth = rng.integers(0, depths, (3, layout.phase_size)).astype(np.uint16)
    return table


def write(table: Table, path: Path) -> TableInfo:
    return write_table(table, path, version="0.1.0", build_seconds=1.5, parameters={"threads": 2})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A written table of KNvK."""
    path = table_path(tmp_path, "KNvK")
    write(random_table("KNvK"), path)
    return path


@pytest.mark.parametrize(
    ("name", "depths", "density"),
    [("KvK", 60, 0.1), ("KNvK", 300, 0.01), ("KNvK", 60, 0.9), ("KPvK", 60, 0.1), ("KPvKP", 300, 0.001)],
)
def test_what_is_written_is_read(name: str, depths: int, density: float, tmp_path: Path) -> None:
    table = random_table(name, depths=depths, density=density)
    path = table_path(tmp_path, name)
    info = write(table, path)
    assert os.listdir(tmp_path) == [path.name]
    assert info.positions == table.positions
    assert info.bytes == path.stat().st_size
    assert (info.tbgen_version, info.build_seconds, info.parameters) == ("0.1.0", 1.5, {"threads": 2})
    with TableFile(path) as file:
        file.check()
        assert file.info == info
        again = file.read()
        value, depth = file.read_fresh()
    for field in fields(Table):
        written, read = getattr(table, field.name), getattr(again, field.name)
        assert np.array_equal(written, read)
        assert getattr(written, "dtype", None) == getattr(read, "dtype", None)
    assert np.array_equal(value, table.value)
    assert np.array_equal(depth, table.depth)


@pytest.mark.parametrize("name", ["KvK", "KNvK", "KPvKP"])
def test_single_look_ups_agree_with_the_arrays(name: str, tmp_path: Path) -> None:
    table = random_table(name, density=0.02)
    path = table_path(tmp_path, name)
    write(table, path)
    size = table.layout.size
    slots = [0, size - 1, *(k for k in (BLOCK - 1, BLOCK, 8 * CHUNK_BYTES) if k < size)]
    slots += np.random.default_rng(1).integers(0, size, 300).tolist()
    with TableFile(path, cache=ChunkCache(3 * CHUNK_BYTES)) as file:
        for slot in slots:
            for side in (0, 1):
                fresh = int(table.value[side, slot]), int(table.depth[side, slot])
                assert file.fresh(side, slot) == fresh
        for code, runs in runs_of_slots(table, slots):
            for (side, slot), own in runs.items():
                fresh = int(table.value[side, slot]), int(table.depth[side, slot])
                assert file.accrued(side, slot, code) == expected(code, own, fresh)
        for row, (phase, square) in enumerate(table.ep_config.tolist()):
            for slot in (0, 17, table.layout.phase_size - 1):
                passing = int(table.ep_value[row, slot]), int(table.ep_depth[row, slot])
                assert file.en_passant(phase, square, slot) == passing
        assert file.en_passant(4, 40, 0) == (NONE, 0)


def runs_of_slots(
    table: Table, slots: list[int]
) -> Iterator[tuple[int, dict[tuple[int, int], list[tuple[int, int, int]]]]]:
    """For some accrued scores: the runs (rank, value, depth) of each (side, slot) for their holder."""
    bits = np.unpackbits(table.run_mask.astype("<u8").view(np.uint8), axis=-1, bitorder="little")
    first = np.concatenate([[0], np.flatnonzero(table.run_rank & LAST_RUN) + 1])
    number = (np.cumsum(bits) - bits.ravel()).reshape(bits.shape)
    for holder in (0, 1):
        found: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for side in (0, 1):
            for slot in slots:
                run = first[number[holder, side, slot]]
                stop = first[number[holder, side, slot] + 1] if bits[holder, side, slot] else run
                found[side, slot] = [
                    (int(table.run_rank[i]) % LAST_RUN, int(table.run_value[i]), int(table.run_depth[i]))
                    for i in range(run, stop)
                ]
        for rank in (2, 3, 5, 7, 30):
            yield 255 - rank if holder else rank, found


def expected(code: int, runs: list[tuple[int, int, int]], fresh: tuple[int, int]) -> tuple[int, int]:
    rank = min(code, 255 - code)
    valid = [(value, depth) for start, value, depth in runs if start <= rank]
    if not valid or valid[-1][0] == NONE:
        return code, 0
    return fresh if valid[-1][0] == FRESH else valid[-1]


def test_the_digest_depends_on_the_data_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table("KNvK")
    first = write(table, table_path(tmp_path, "KNvK"))
    monkeypatch.setattr(writer, "GZIP_LEVEL", 1)
    again = write_table(table, table_path(tmp_path, "KNvK"), version="9", build_seconds=9, threads=1)
    assert (first.digest, first.manifest) == (again.digest, again.manifest)
    assert first.bytes != again.bytes
    for field in ("value", "depth", "run_mask", "run_rank", "run_value", "run_depth"):
        array = getattr(table, field).copy()
        array.flat[-1] ^= 1
        if field == "run_mask":  # move the last bit, as their number has to stay
            array = table.run_mask[:, ::-1].copy()
        other = write(replace(table, **{field: array}), table_path(tmp_path, "KNvK"))
        assert other.digest != first.digest, field


@pytest.mark.parametrize("name", ["KNvK", "KPvKP"])
def test_the_fresh_digest_is_the_same_without_accrued_scores(name: str, tmp_path: Path) -> None:
    """Also where accrued scores have greater depths than a byte holds, and the fresh values have not."""
    table = random_table(name, density=0.001)
    table.run_depth += 300
    path = table_path(tmp_path, name)
    stored = write(table, path)
    left_out = write(
        replace(
            table,
            run_mask=np.zeros((2, 2, 0), np.uint64),
            run_rank=table.run_rank[:0],
            run_value=table.run_value[:0],
            run_depth=table.run_depth[:0],
        ),
        path,
    )
    assert (stored.accrued, left_out.accrued) == (1, 0)
    assert stored.max_depth > 256 > left_out.max_depth
    assert stored.manifest.fresh == left_out.manifest.fresh
    assert stored.digest != left_out.digest
    for field in ("value", "depth", *(("ep_config", "ep_value", "ep_depth") if name == "KPvKP" else ())):
        array = getattr(table, field).copy()
        array.flat[-1] ^= 1
        assert write(replace(table, **{field: array}), path).manifest.fresh != stored.manifest.fresh, field


def test_arrays_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    table = random_table("KNvK")
    for bad in (
        replace(table, depth=table.depth[:, 1:]),
        replace(table, run_value=table.run_value[1:]),
        replace(table, run_rank=table.run_rank % LAST_RUN),
    ):
        with pytest.raises(ValueError, match="table KNvK"):
            write(bad, table_path(tmp_path, "KNvK"))
    assert os.listdir(tmp_path) == []


def refused(path: Path, *words: str) -> None:
    """Opening and checking the file gives one sentence that has the words, names the file and a remedy."""
    with pytest.raises(DamagedTableError) as caught, TableFile(path, material=Material.parse("KNvK")) as file:
        file.check()
    sentence = str(caught.value)
    assert str(path) in sentence
    assert f"tbgen build --force KNvK --dir {path.parent}" in sentence
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


@pytest.mark.parametrize("part", [0, 1, 100, 5000, -1])
def test_a_truncated_file_is_refused(part: int, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:part])
    refused(path)


def test_a_foreign_file_is_refused(path: Path) -> None:
    path.write_bytes(b"1. e4 e5 2. Nf3 *\n" * 100)
    refused(path, "no HDF5 file")
    with h5py.File(path, "w") as file:
        file["value"] = np.zeros(10)
    refused(path, "no tbgen table")


@pytest.mark.parametrize(("make", "kind"), [(Path.mkdir, "a directory"), (os.mkfifo, "no ordinary file")])
def test_what_is_no_file_is_refused_at_once(make: Callable[[Path], None], kind: str, tmp_path: Path) -> None:
    path = table_path(tmp_path, "KNvK")
    make(path)
    with pytest.raises(DamagedTableError) as caught:
        TableFile(path)
    assert str(caught.value) == (
        f"{path} is {kind} and takes the place of a table: remove it, then build the table with: "
        f"tbgen build KNvK --dir {tmp_path}"
    )


def edit(change: Callable[[h5py.File], None], path: Path) -> None:
    with h5py.File(path, "r+") as file:
        change(file)


def set_attribute(name: str, value: object) -> Callable[[h5py.File], None]:
    return lambda file: file.attrs.__setitem__(name, value)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (set_attribute("format_version", 3), "format version 3 and this tbgen reads version 2"),
        (set_attribute("format_version", 1), "its format version 1 is that of an older tbgen"),
        (set_attribute("format_version", 1.5), "damaged"),
        (set_attribute("complete", 0), "interrupted"),
        (set_attribute("complete", [1, 1]), "damaged"),
        (set_attribute("rules", np.bytes_("x")), "its rules 'x' are unknown"),
        (lambda file: file.attrs.__delitem__("complete"), "interrupted"),
        (lambda file: file.attrs.__delitem__("digest"), "damaged"),
        (lambda file: file.__delitem__("ep/value"), "damaged"),
        (set_attribute("size", 3), "layout"),
        (set_attribute("material", np.bytes_("KBvK")), "layout"),
        (set_attribute("material", np.bytes_("KXvK")), "damaged"),
        (set_attribute("positions", [1, 2]), "positions"),
        (set_attribute("digest", np.bytes_("0" * 64)), "digest"),
        (lambda file: file["value"].__setitem__((1, 77), file["value"][1, 77] ^ 1), "value"),
        (lambda file: file["accrued/mask"].__setitem__((1, 0, 7), 255), "accrued/mask"),
        (lambda file: file["placements"].resize((1, 0)), ""),
    ],
)
def test_an_altered_file_is_refused(change: Callable[[h5py.File], None], word: str, path: Path) -> None:
    if word:
        edit(change, path)
        refused(path, word)
    else:
        with pytest.raises(TypeError):
            edit(change, path)


def test_a_table_under_another_name_is_refused(path: Path) -> None:
    other = path.with_name("KBvK.r.h5")
    path.rename(other)
    with pytest.raises(DamagedTableError, match="holds KNvK"):
        TableFile(other, material=Material.parse("KBvK"))


def test_a_table_under_a_name_of_other_rules_is_refused(path: Path) -> None:
    other = path.rename(path.with_name("KNvK.wg.h5"))
    with pytest.raises(DamagedTableError, match="it holds values for the rules 'r'"):
        TableFile(other)


def test_packing_that_was_changed_is_refused(path: Path) -> None:
    with TableFile(path) as file:
        value = file.read().value

    def repack(file: h5py.File) -> None:
        del file["value"]
        file.create_dataset("value", data=value, chunks=(1, 4096), compression="lzf")

    edit(repack, path)
    refused(path, "damaged")


def test_flipped_bits_of_chunks_are_noticed_by_single_look_ups(path: Path) -> None:
    whole = path.read_bytes()
    with h5py.File(path) as file:
        chunk = file["value"].id.get_chunk_info_by_coord((0, 0))
    for byte in [*range(4), *range(4, chunk.size, 97), chunk.size - 1]:
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[chunk.byte_offset + byte] ^= 1 << bit
            path.write_bytes(damaged)
            with TableFile(path) as file, pytest.raises(DamagedTableError, match="flipped bits"):
                file.fresh(0, 0)


def test_no_flipped_bit_anywhere_goes_unnoticed(path: Path) -> None:
    """A flip in what HDF5 never reads may pass; then every fact and every byte of data is as written."""
    whole = path.read_bytes()
    with TableFile(path) as file:
        info = file.info
    rng = np.random.default_rng(0)
    for byte in [*rng.integers(0, 8192, 300).tolist(), *rng.integers(0, len(whole), 100).tolist()]:
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with suppress(DamagedTableError), TableFile(path) as file:
            file.check()
            assert file.info == info


def test_a_missing_chunk_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MASK", "value")
    table = random_table("KNvK")
    table.value[0, :CHUNK_BYTES] = 0
    with pytest.raises(DamagedTableError, match="value has no chunk"):
        write(table, table_path(tmp_path, "KNvK"))
    assert os.listdir(tmp_path) == []


def test_the_checksum_is_that_of_hdf5(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with h5py.File(tmp_path / "sums.h5", "w") as file:
        for size in (1, 2, 3, 720, 7777, 65536):
            for data in (rng.integers(0, 256, size), np.zeros(size), np.full(size, 255)):
                stored = file.create_dataset(
                    None, data=data.astype(np.uint8), chunks=(size,), fletcher32=True
                )
                raw = bytes(stored.id.read_direct_chunk((0,))[1])
                assert fletcher32(raw[:-4]) == raw[-4:]


def test_files_that_cannot_be_opened(tmp_path: Path, path: Path) -> None:
    with pytest.raises(MissingTableError, match="table KRvK is missing"):
        TableFile(table_path(tmp_path, "KRvK"))
    with pytest.raises(TbgenError, match=f"{path} is not a directory"):
        TableFile(table_path(path, "KNvK"))
    if os.geteuid() != 0:
        path.chmod(0)
        with pytest.raises(TbgenError, match="no permission to read"):
            TableFile(path)


def test_a_file_that_the_process_has_open_otherwise(path: Path) -> None:
    with h5py.File(path), TableFile(path) as file:
        file.check()


def test_tables_in_a_directory(tmp_path: Path, path: Path) -> None:
    for name in ("KvKN.r.h5", "KQQQQvK.r.h5", "notes.r.h5", "KQvK.wg.h5", "KRvK.r.h5", "KBvK.r.h5.tmp-a-1-b"):
        (tmp_path / name).touch()
    assert [material.name for material in tables_in(tmp_path)] == ["KRvK", "KNvK"]


def test_a_new_table_does_away_with_the_layers_of_the_old_one(tmp_path: Path, path: Path) -> None:
    """Its own layers alone, and only once it is in place."""
    own = [path.with_name(f"KNvK.r.{part}.layer.h5") for part in ("-G3.5", "G12.0", "G2.0.17")]
    others = [
        path.with_name(name)
        for name in (
            "KNNvK.r.G3.5.layer.h5",
            "KBvKN.r.G3.5.layer.h5",
            "KNvK.x.G3.5.layer.h5",
            "KNvK.r.G3.5.layer.h5.tmp-host-7-0123abcd",
        )
    ]
    for layer in (*own, *others):
        layer.touch()
    assert layers_beside(path) == sorted(own)
    bad = replace(random_table("KNvK"), depth=np.zeros((2, 1), np.uint16))
    with pytest.raises(ValueError, match="table KNvK"):
        write(bad, path)
    assert layers_beside(path) == sorted(own)
    write(random_table("KNvK", seed=1), path)
    assert layers_beside(path) == []
    assert all(layer.exists() for layer in others)


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writer, "_write", full)
    with pytest.raises(TbgenError, match="the disk is full") as caught:
        write(random_table("KvK"), table_path(tmp_path, "KvK"))
    assert caught.value.exit_code == 1
    assert os.listdir(tmp_path) == []


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[None]:
    """A file system of that size, where the test may mount one."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tbgen-test", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no permission to mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("part", [0.02, 0.5, 0.9])
def test_a_really_full_disk(part: float, tmp_path: Path, path: Path) -> None:
    table = random_table("KNvK")
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, int(part * path.stat().st_size) >> 10):
        with pytest.raises(TbgenError, match="the disk is full"):
            write(table, table_path(disk, "KNvK"))
        assert os.listdir(disk) == []


@pytest.mark.parametrize("part", [0.001, 0.3, 0.8, 0.999])
def test_a_file_size_limit(part: float, tmp_path: Path, path: Path) -> None:
    """As a full disk, at the first byte, amid the data, and when HDF5 closes the file."""
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
        write(random_table("KvK"), table_path(tmp_path / "absent", "KvK"))
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(TbgenError, match="no permission to write"):
            write(random_table("KvK"), table_path(tmp_path, "KvK"))
        tmp_path.chmod(0o700)


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from tests.store.test_store import random_table, write
from tbgen.store import writer
compressed = writer._compressed
def deadly(pool, threads, dataset):
    for number, chunk in enumerate(compressed(pool, threads, dataset)):
        yield chunk
        if dataset.name == "depth" and number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
writer._compressed = deadly
write(random_table("KNvK"), Path(sys.argv[1]))
"""


def test_a_killed_writer_leaves_nothing_that_looks_like_a_table(tmp_path: Path) -> None:
    path = table_path(tmp_path, "KNvK")
    here = str(ROOT)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), here])
    assert killed.returncode < 0
    (left,) = tmp_path.iterdir()
    assert left != path
    assert tables_in(tmp_path) == []
    left.rename(path)
    refused(path)


def test_the_cache_is_bounded() -> None:
    cache = ChunkCache(100)
    for key in range(30):
        cache.put(key, bytes(10))
        cache.get(0)
    assert (len(cache), cache.size) == (10, 100)
    assert cache.get(0) == bytes(10)
    assert cache.get(1) is None
    cache.put(0, b"")
    assert cache.get(0) == bytes(10)


def test_counts_are_those_of_the_reference(reference_dir: Path) -> None:
    table = reference_table("KvK")
    with TableFile(table_path(reference_dir, "KvK")) as file:
        for counts, side in zip(file.counts(), table.value, strict=True):
            assert {score.code: count for score, count in counts.items()} == {
                code: np.count_nonzero(side == code) for code in np.unique(side).tolist() if code != NONE
            }
