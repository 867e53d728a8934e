"""Reports on packed tables say what those on plain ones say."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tbgen.material import Material, closure
from tbgen.packed.plain import COPIES
from tbgen.report import read_report, save_report, write_report
from tbgen.report.data.saved import SavedData
from tbgen.store.format import table_path
from tbgen.variant import Variant
from tests.support.packed_tables import PackedTables

R = Variant.R_MOBILITY


def with_sub_tables(name: str, tables: Path, packed: PackedTables, directory: Path) -> Path:
    """A directory with a packed table and the plain ones that it rests on."""
    directory.mkdir()
    for material in closure([Material.parse(name)])[:-1]:
        shutil.copy(table_path(tables, material.name, R), directory)
    shutil.copy(packed(name), directory)
    return directory


@pytest.mark.parametrize(
    "name",
    ["KNvK", *(pytest.param(name, marks=pytest.mark.slow) for name in ("KPvK", "KBNvK", "KPvKP"))],
)
def test_a_report(name: str, tables: Path, packed: PackedTables, tmp_path: Path) -> None:
    """Accrued scores are counted from layers, not from runs."""
    pytest.importorskip("matplotlib")
    directory = with_sub_tables(name, tables, packed, tmp_path / "packed")
    sites = [(each, tmp_path / "sites" / each.name) for each in (directory, tables)]
    (mine,), (right,) = (write_report(each, [name], site, rules="r").tables for each, site in sites)
    assert (mine.form, right.form) == ("packed", "plain")
    assert mine.accrued == right.accrued is not None
    assert mine.bytes == table_path(directory, name, R).stat().st_size
    for record, expected in zip(mine.records, right.records, strict=True):
        # Play may be another as good, and is left out where it leads to depths that are hard to find.
        assert record.verified == bool(record.line or not record.depth)
        assert len(record.line) in (0, record.depth)
        assert replace(record, line=(), pgn="", verified=True) == replace(
            expected, line=(), pgn="", verified=True
        )
    fields = ("distribution", "endgame", "mating", "black_king")
    assert [getattr(mine, name) for name in fields] == [getattr(right, name) for name in fields]
    assert not (directory / COPIES).exists()


def test_saving_says_how_far_it_is(tables: Path, packed: PackedTables, tmp_path: Path) -> None:
    directory = with_sub_tables("KNvK", tables, packed, tmp_path / "packed")
    told: list[str] = []
    save_report(directory, ["KNvK"], tmp_path / "data", progress=lambda found: told.append(found.stage))
    steps = list(dict.fromkeys(stage.rpartition(" ")[0] for stage in told))
    assert steps == ["r, unpacking", "r, counted", "r, accrued scores", "r,"]
    assert told[-1] == "r, writing"
    assert SavedData(tmp_path / "data").table(Material.parse("KNvK"), R).accrued is not None


def test_lines_that_need_layers(tables: Path, packed: PackedTables, tmp_path: Path) -> None:
    """They are made where they are asked for, and only for lines that take them."""
    directory = with_sub_tables("KNvK", tables, packed, tmp_path / "packed")
    assert save_report(directory, ["KNvK"], tmp_path / "data", rules="r") == 1
    short = read_report(tmp_path / "data", saved=True)
    assert short.lines_left_out == 1
    assert not list(directory.glob("*.layer.h5"))
    for saved in (1, 0):
        assert save_report(directory, ["KNvK"], tmp_path / "data", rules="r", depths=True) == saved
    full = read_report(tmp_path / "data", saved=True)
    assert full.lines_left_out == 0
    assert len(list(directory.glob("*.layer.h5"))) == 1
    (before,), (after,) = (report.tables for report in (short, full))
    for one, other in zip(before.records, after.records, strict=True):
        assert other.verified
        assert len(other.line) == other.depth
        assert one == other or not one.line
