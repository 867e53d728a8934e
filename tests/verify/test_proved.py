"""Proved sub-tables: large packed ones are unpacked once, and read from plain copies."""

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.bars import TableProgress
from tbgen.errors import TbgenError
from tbgen.index.table import Table
from tbgen.progress import TimedProgress
from tbgen.store.format import table_path
from tbgen.tables.library import COPIES_FOLDER, Library, PlainCopies
from tbgen.verify import directory as proving
from tbgen.verify import plan
from tests.verify.conftest import Verify

Proved = Callable[[], list[str]]


NAMES = "KvK", "KQvK", "KRvK", "KBvK", "KNvK", "KPvK"


@pytest.fixture
def directory(two_packed: Path, tables: Path) -> Path:
    """A directory with KNvK packed, KPvK, which depends on it, and the other tables of three men."""
    for name in {*NAMES} - {"KNvK"}:
        shutil.copy(table_path(tables, name, Variant.R_MOBILITY), two_packed)
    return two_packed


@pytest.fixture
def unpacked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the tables that are read from now on; no table is small enough to be cached."""
    found: list[str] = []
    real = proving.read_checked

    def reading(file: Any, *rest: Any) -> Table:
        found.append(file.info.material)
        return real(file, *rest)

    for module in (plan, proving):
        monkeypatch.setattr(module, "MAX_CACHED_TABLE_BYTES", 0)
    monkeypatch.setattr(proving, "read_checked", reading)
    return found


def check_proofs(verify: Verify) -> None:
    found = verify.tables("KPvK", "--sample", "1000")
    assert [(table["material"], table["proved"]) for table in found] == [(name, True) for name in NAMES]
    assert not (verify.directory / COPIES_FOLDER).exists()


@pytest.mark.usefixtures("directory")
def test_tables_that_others_rest_on_are_unpacked_once(unpacked: list[str], verify: Verify) -> None:
    check_proofs(verify)
    assert unpacked.count("KNvK") == unpacked.count("KPvK") == 1


def test_a_plain_table_is_read_without_what_it_rests_on(tables: Path, unpacked: list[str]) -> None:
    with Library(tables, Variant.R_MOBILITY) as library:
        proved_tables = proving.ProvedTables(library, (), 1, TimedProgress(TableProgress(), 0, ()))
        with ExitStack() as files:
            proved_tables.sources(Material.parse("KNNvK"), files)
    assert unpacked == ["KNvK"]


@pytest.mark.usefixtures("directory")
def test_without_room_for_copies_they_are_unpacked_again(
    unpacked: list[str], verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise TbgenError("no room")

    monkeypatch.setattr(PlainCopies, "write", refuse)
    check_proofs(verify)
    assert unpacked.count("KNvK") == 2


@pytest.mark.usefixtures("directory")
def test_a_damaged_copy_is_found(
    unpacked: list[str], verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table is not proved with a damaged copy of a sub-table."""
    write = PlainCopies.write

    def spoil(self: PlainCopies, table: Table, info: Any, threads: int) -> None:
        value = table.value.copy()
        value[0, value[0] == 7] = 9
        monkeypatch.setattr(table, "value", value)
        write(self, table, info, threads)

    monkeypatch.setattr(PlainCopies, "write", spoil)
    check_proofs(verify)
    assert unpacked.count("KNvK") == 2
