"""Flat files: they are written atomically and checked; existing undamaged ones are kept."""

import struct
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingTableError, NoTablesError, TbgenError
from tbgen.exchange import export as flat
from tbgen.exchange.export import ExportedTable, export
from tbgen.store.format import table_path
from tbgen.tables.open_table import OpenTable
from tests.support.builds import without_accrued

R = [Variant.R_MOBILITY]


def exported(directory: Path, target: Path, *names: str) -> list[ExportedTable]:
    return export(directory, target, R, [Material.parse(name) for name in names] or None)


def sections(path: Path) -> tuple[bytes, dict[str, bytes]]:
    """Return the header and the sections of a flat file, as docs/native.md describes them."""
    data = path.read_bytes()
    names = (*flat.Sections._fields, "checks")
    places = struct.iter_unpack("<QQ", data[80 : 80 + 16 * len(names)])
    return data[:4096], {name: data[at : at + size] for name, (at, size) in zip(names, places, strict=True)}


def test_a_file_has_what_the_table_has(three_men: Path, tmp_path: Path) -> None:
    (table,) = [each for each in exported(three_men, tmp_path, "KPvK") if each.file == "KPvK.r.flat"]
    path = tmp_path / table.file
    header, found = sections(path)
    with h5py.File(table_path(three_men, "KPvK", Variant.R_MOBILITY), locking=False) as file:
        for name, dataset in (("value", "value"), ("depth", "depth"), ("run_value", "accrued/value")):
            assert found[name] == file[dataset][...].tobytes()
        assert header[44:76].hex() == file.attrs["digest"].decode()
        mask, rank = file["accrued/mask"][...], file["accrued/rank"][...]
    assert found["run_mask"] == mask.tobytes()
    starts = np.frombuffer(found["run_start"], np.uint32)
    slots = np.unpackbits(mask.reshape(-1, 8), axis=1).sum(axis=1)
    ends = np.append(0, np.flatnonzero(rank >= 128) + 1)
    assert (starts == ends[np.cumsum(slots) - slots]).all()
    assert header[:12] == b"tbgflat\0\3\0\0\0"
    assert struct.unpack_from("<IQ", header, 12) == (
        zlib.crc32(header[:12] + bytes(4) + header[16:]),
        table.size,
    )
    assert (header[24:40].rstrip(b"\0"), header[40:43]) == (b"KPvK", b"\0\0\0")
    data, checks = path.read_bytes(), np.frombuffer(found["checks"], np.uint32)
    assert table.size == len(data) == 4096 * (1 + len(checks)) + 4 * len(checks)
    pages = [data[at : at + 4096] for at in range(4096, len(data), 4096)]
    assert checks.tolist() == list(map(zlib.crc32, pages))[: len(checks)]


def test_what_is_there_is_left_as_it_is(own: Path, tmp_path: Path) -> None:
    first = exported(own, tmp_path)
    assert [table.material for table in first] == all_materials(3)
    assert {(table.rules, table.is_new) for table in first} == {("r", True)}
    path = tmp_path / "KQvK.r.flat"
    before = {each.name: each.stat().st_mtime_ns for each in tmp_path.iterdir()}
    assert not any(table.is_new for table in exported(own, tmp_path))
    assert {each.name: each.stat().st_mtime_ns for each in tmp_path.iterdir()} == before
    sound = path.read_bytes()
    flipped = bytes([*sound[:9000], sound[9000] ^ 1, *sound[9001:]])
    for damaged in (sound[:-1], sound[:100] + b"x" + sound[101:], b"", sound[:50], flipped):
        path.write_bytes(damaged)
        assert [table.file for table in exported(own, tmp_path) if table.is_new] == [path.name]
        assert path.read_bytes() == sound


def test_tables_that_are_missing_or_damaged(own: Path, tmp_path: Path) -> None:
    with pytest.raises(NoTablesError):
        export(tmp_path, tmp_path / "flat", R)
    with pytest.raises(MissingTableError, match="KBNvK"):
        exported(own, tmp_path / "flat", "KQvK", "KBNvK")
    assert not (tmp_path / "flat").exists()
    path = table_path(own, "KQvK", Variant.R_MOBILITY)
    with h5py.File(path, "r+") as file:
        file["value"][1, 77] ^= 1
    with pytest.raises(DamagedTableError, match="value does not match"):
        exported(own, tmp_path / "flat", "KQvK")
    assert sorted(each.name for each in (tmp_path / "flat").iterdir()) == ["KvK.r.flat"]


def test_nothing_is_left_of_a_file_that_cannot_be_written(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in the way").touch()
    with pytest.raises(TbgenError, match="in the way"):
        exported(own, tmp_path / "in the way", "KvK")
    monkeypatch.setattr(flat, "_header", lambda *_: b"\0" * flat.PAGE_BYTES)
    monkeypatch.setattr(
        "tbgen.exchange.export.zlib.crc32", lambda *_: (_ for _ in ()).throw(OSError(28, "No space"))
    )
    with pytest.raises(TbgenError, match="the disk is full"):
        exported(own, tmp_path / "flat", "KvK")
    assert list((tmp_path / "flat").iterdir()) == []


def test_a_file_that_the_disk_has_changed_does_not_get_its_name(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = flat._header

    def spoilt(table: OpenTable, size: int, extents: list[tuple[int, int]]) -> bytes:
        (temporary,) = (tmp_path / "flat").iterdir()
        with temporary.open("r+b") as file:
            file.seek(extents[flat.Sections._fields.index("value")][0])
            file.write(b"\1")
        return header(table, size, extents)

    monkeypatch.setattr(flat, "_header", spoilt)
    with pytest.raises(DamagedTableError, match="check the disk"):
        exported(own, tmp_path / "flat", "KvK")
    assert list((tmp_path / "flat").iterdir()) == []


def test_a_table_without_accrued_scores_is_refused(own: Path, tmp_path: Path) -> None:
    """Earlier versions of tbgen could omit the accrued scores."""
    directory = without_accrued(own, "KQvK", tmp_path / "tables")
    with pytest.raises(DamagedTableError, match="built without accrued scores"):
        exported(directory, tmp_path / "flat", "KQvK")
