"""Proved tables that others rest on: large packed ones are unpacked once, and read from plain copies."""

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.cli.progress import TableProgress
from tbgen.errors import TbgenError
from tbgen.index.table import Table
from tbgen.packed.copies import COPIES, PlainCopies
from tbgen.probe.values import Values
from tbgen.progress import TimedProgress
from tbgen.store.format import table_path
from tbgen.verify import plan, proved, tables
from tests.support.packed_tables import PackedTables

Proved = Callable[[], list[str]]


@pytest.fixture
def directory(tables: Path, packed: PackedTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """KNNvK and KNvK packed, and KvK."""
    monkeypatch.setattr("tbgen.verify.packed.PROBES", 100)
    shutil.copy(table_path(tables, "KvK", Variant.R_MOBILITY), tmp_path)
    for name in ("KNvK", "KNNvK"):
        shutil.copy(packed(name), tmp_path)
    return tmp_path


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which tables are read whole from now on, none of them being small enough to be held in memory."""
    found: list[str] = []
    real = proved.read_sound

    def reading(file: Any, *rest: Any) -> Table:
        found.append(file.info.material)
        return real(file, *rest)

    for module in (plan, proved):
        monkeypatch.setattr(module, "SMALL", 0)
    for module in (proved, tables):
        monkeypatch.setattr(module, "read_sound", reading)
    return found


def verified(directory: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    code = main(["verify", "KNNvK", "--dir", str(directory), "--json", "--sample", "1000"])
    found = json.loads(capsys.readouterr().out)["tables"]
    assert [table["material"] for table in found] == ["KvK", "KNvK", "KNNvK"]
    assert not (directory / COPIES).exists()
    return code == 0 and all(table["proved"] for table in found)


def test_tables_that_others_rest_on_are_unpacked_once(
    directory: Path, unpacked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert verified(directory, capsys)
    assert unpacked.count("KNvK") == unpacked.count("KNNvK") == 1


def test_a_plain_table_is_read_without_what_it_rests_on(tables: Path, unpacked: list[str]) -> None:
    with closing(Values([tables], variant=Variant.R_MOBILITY, max_open=4, cache_bytes=0)) as values:
        proved_tables = proved.ProvedTables(values, (), 1, TimedProgress(TableProgress(), 0, ()))
        proved_tables.around(Material.parse("KNNvK"))
    assert unpacked == ["KNvK"]


def test_without_room_for_copies_they_are_unpacked_again(
    directory: Path,
    unpacked: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*arguments: object) -> None:
        raise TbgenError("no room")

    monkeypatch.setattr(PlainCopies, "keep", refuse)
    assert verified(directory, capsys)
    assert unpacked.count("KNvK") == 2


def test_a_damaged_copy_is_found(
    directory: Path,
    unpacked: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is proved with it."""
    keep = PlainCopies.keep

    def spoil(self: PlainCopies, table: Table, info: Any, threads: int) -> None:
        value = table.value.copy()
        value[0, value[0] == 7] = 9
        monkeypatch.setattr(table, "value", value)
        keep(self, table, info, threads)

    monkeypatch.setattr(PlainCopies, "keep", spoil)
    assert verified(directory, capsys)
    assert unpacked.count("KNvK") == 2
