"""Table files: reading returns the content that was written."""

import os
from dataclasses import fields, replace
from pathlib import Path

import chess
import h5py
import numpy as np
import pytest

from tbgen import open_tablebase
from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.index.position import locate
from tbgen.index.table import Table
from tbgen.store import writer
from tbgen.store.cache import ChunkCache
from tbgen.store.checksum import fletcher32
from tbgen.store.format import table_path, tables_in
from tbgen.tables.files import open_table, write_table
from tbgen.tables.inventory import LongestState, deepest_state, inventory
from tests.support.exhaustive import exhaustive
from tests.support.random_tables import random_table, write
from tests.support.reference_table import empty_table


@pytest.mark.parametrize(
    ("name", "depths", "density"),
    [
        ("KvK", 60, 0.1),
        ("KNvK", 300, 0.01),
        ("KPvK", 60, 0.1),
        *exhaustive([("KNvK", 60, 0.9), ("KPvKP", 300, 0.001)]),
    ],
)
def test_what_is_written_is_read(name: str, depths: int, density: float, tmp_path: Path) -> None:
    table = random_table(name, depths=depths, density=density)
    path = table_path(tmp_path, name, Variant.R_MOBILITY)
    info = write(table, path)
    assert os.listdir(tmp_path) == [path.name]
    assert info.positions == table.position_counts
    assert info.bytes == path.stat().st_size
    assert (info.tbgen_version, info.build_seconds, info.parameters) == ("0.1.0", 1.5, {"threads": 2})
    with open_table(path) as file:
        file.check()
        assert file.info == info
        again = file.read()
    for field in fields(Table):
        written, read = getattr(table, field.name), getattr(again, field.name)
        assert np.array_equal(written, read)
        assert getattr(written, "dtype", None) == getattr(read, "dtype", None)


def test_the_digest_depends_on_the_data_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, path = random_table("KvK"), table_path(tmp_path, "KvK", Variant.R_MOBILITY)
    first = write(table, path)
    monkeypatch.setattr(writer, "GZIP_LEVEL", 1)
    again = write_table(table, path, version="9", build_seconds=9, threads=1)
    assert (first.digest, first.manifest) == (again.digest, again.manifest)
    assert first.bytes != again.bytes
    for field in ("value", "depth", "run_mask", "run_rank", "run_value", "run_depth"):
        array = getattr(table, field).copy()
        array.flat[-1] ^= 1
        if field == "run_mask":  # move the last bit, as their number has to stay
            array = table.run_mask[:, ::-1].copy()
        assert write(replace(table, **{field: array}), path).digest != first.digest, field


@pytest.mark.parametrize("name", ["KvK", *exhaustive(["KPvKP"])])
def test_the_fresh_digest_is_the_same_without_accrued_scores(name: str, tmp_path: Path) -> None:
    """The digest is the same even if only depths of accrued scores exceed a byte."""
    table = random_table(name, density=0.001 if name == "KPvKP" else 0.1)
    table.run_depth += 300
    path = table_path(tmp_path, name, Variant.R_MOBILITY)
    stored = write(table, path)
    bare = {name: getattr(table, name)[:0] for name in ("run_rank", "run_value", "run_depth")}
    left_out = write(replace(table, run_mask=np.zeros((2, 2, 0), np.uint64), **bare), path)
    assert (stored.stores_accrued, left_out.stores_accrued) == (1, 0)
    assert stored.max_depth > 256 > left_out.max_depth
    assert stored.manifest.fresh == left_out.manifest.fresh
    assert stored.digest != left_out.digest
    for field in ("value", "depth", *(("ep_config", "ep_value", "ep_depth") if name == "KPvKP" else ())):
        array = getattr(table, field).copy()
        array.flat[-1] ^= 1
        assert write(replace(table, **{field: array}), path).manifest.fresh != stored.manifest.fresh, field


def test_the_checksum_is_that_of_hdf5(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    chunks = []
    with h5py.File(tmp_path / "sums.h5", "w") as file:
        for size in (1, 2, 3, 720, 7777, 65536):
            for data in (rng.integers(0, 256, size), np.zeros(size), np.full(size, 255)):
                stored = file.create_dataset(
                    None, data=data.astype(np.uint8), chunks=(size,), fletcher32=True
                )
                chunks.append(bytes(stored.id.read_direct_chunk((0,))[1]))
    assert fletcher32([chunk[:-4] for chunk in chunks]) == [chunk[-4:] for chunk in chunks]
    assert fletcher32([]) == []
    assert fletcher32([b""]) == [bytes(4)]


def test_a_file_that_the_process_has_open_otherwise(path: Path) -> None:
    with h5py.File(path), open_table(path) as file:
        file.check()


def test_tables_in_a_directory(tmp_path: Path, path: Path) -> None:
    for name in ("KvKN.r.h5", "KQQQQvK.r.h5", "notes.r.h5", "KQvK.wg.h5", "KRvK.r.h5", "KBvK.r.h5.tmp-a-1-b"):
        (tmp_path / name).touch()
    assert [material.name for material in tables_in(tmp_path, Variant.R_MOBILITY)] == ["KRvK", "KNvK"]


def test_the_cache_is_bounded() -> None:
    cache = ChunkCache(100)
    for key in range(30):
        cache.put(key, bytes(10))
        cache.get(0)
    assert cache.size == 100
    assert [key for key in range(30) if cache.get(key)] == [0, *range(21, 30)]
    assert cache.get(0) == bytes(10)
    assert cache.get(1) is None
    cache.put(0, b"")
    assert (cache.get(0), cache.size) == (b"", 90)


def layout_version(raw: bytes, address: int) -> int:
    """Return the version of the data layout message (8) in the object header (version 2) at an address."""
    assert raw[address : address + 5] == b"OHDR\2"
    flags = raw[address + 5]
    at = address + 6 + 16 * (flags >> 5 & 1) + 4 * (flags >> 4 & 1)
    width = 1 << (flags & 3)
    at, end = at + width, at + width + int.from_bytes(raw[at : at + width], "little")
    while at < end and raw[at] != 8:
        at += 4 + 2 * (flags >> 2 & 1) + int.from_bytes(raw[at + 1 : at + 3], "little")
    return raw[at + 4 + 2 * (flags >> 2 & 1)]


def test_hdf5_114_reads_what_hdf5_2_writes(path: Path) -> None:
    """Files have superblock version 3 and layout version 4 of the HDF5 specification, which 1.14 supports."""
    raw = path.read_bytes()
    assert raw[8] == 3
    with h5py.File(path) as file:
        for name in ("value", "depth", "accrued/mask"):
            assert layout_version(raw, h5py.h5o.get_info(file[name].id).addr) == 4, name


def test_longest_states_take_as_long_as_said(reference_dir: Path) -> None:
    accrued = {}
    with open_tablebase(reference_dir) as tables:
        for entry in inventory(
            reference_dir, Variant.R_MOBILITY, tables_in(reference_dir, Variant.R_MOBILITY), counts=True
        ):
            assert entry.info is not None
            assert entry.longest is not None
            accrued[entry.material.name] = entry.longest.accrued
            found = tables.probe(chess.Board(entry.longest.fen), accrued=entry.longest.accrued)
            assert found.depth == entry.info.max_depth
    assert accrued == {"KvK": None, "KBvK": None, "KNvK": GScore("-G2.0")}


def test_a_longest_state_with_an_en_passant_right(tmp_path: Path) -> None:
    board = chess.Board("8/8/8/8/pP6/8/8/K1k5 b - b3 0 1")
    position, table = locate(board), empty_table(Material.parse("KPvKP"))
    phase, within = divmod(position.slot, table.layout.phase_size)
    table.ep_config = np.array([[phase, position.ep_square]], np.int32)
    table.ep_value = np.full((1, table.layout.phase_size), NONE, np.uint8)
    table.ep_depth = np.zeros((1, table.layout.phase_size), np.uint16)
    table.ep_value[0, within], table.ep_depth[0, within] = 3, 9
    write(table, path := table_path(tmp_path, "KPvKP", Variant.R_MOBILITY))
    with open_table(path) as file:
        assert deepest_state(file) == LongestState(board.fen(), None)
