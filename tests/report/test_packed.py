"""Reports on packed tables equal those on plain ones."""

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from tbgen.board.material import Material, closure
from tbgen.board.variant import Variant
from tbgen.costs import BASE_MEMORY, layers_memory
from tbgen.errors import TbgenError
from tbgen.index.layout import layout_of
from tbgen.report import plan_report, read_report, save_report
from tbgen.report.records import count_omitted_lines
from tbgen.store.format import table_path
from tbgen.tables.library import COPIES_FOLDER
from tests.support.exhaustive import exhaustive
from tests.support.narrator import Narrator
from tests.support.packed_tables import PackedTables

R, WG = Variant.R_MOBILITY, Variant.WHOLE_GAME


def with_sub_tables(name: str, tables: Path, packed: PackedTables, directory: Path) -> Path:
    """A directory with a packed table and its plain sub-tables."""
    directory.mkdir()
    for material in closure([Material.parse(name)])[:-1]:
        shutil.copy(table_path(tables, material.name, R), directory)
    shutil.copy(packed(name), directory)
    return directory


@pytest.mark.parametrize("name", ["KNvK", *exhaustive(["KPvK", "KPvKP", "KBNvK"])])
def test_a_report(name: str, tables: Path, packed: PackedTables, tmp_path: Path) -> None:
    """Accrued scores are counted from layers instead of runs; the sub-tables are in another directory."""
    directory = tmp_path / "packed"
    directory.mkdir()
    shutil.copy(packed(name), directory)
    (mine,) = read_report([directory, tables], [name], rules="r", layers=True).tables
    (right,) = read_report(tables, [name], rules="r", layers=True).tables
    assert (mine.form, right.form) == ("packed", "plain")
    assert mine.accrued == right.accrued is not None
    assert mine.bytes == table_path(directory, name, R).stat().st_size
    assert sum(not record.line for record in mine.records if record.depth) <= 1
    for record, expected in zip(mine.records, right.records, strict=True):
        # Lines may differ, and are left out if they lead to depths that are hard to find.
        assert record.verified == bool(record.line or not record.depth)
        assert len(record.line) in (0, record.depth)
        one, other = (replace(each, line=(), pgn="", verified=True) for each in (record, expected))
        assert one == other
    fields = ("distribution", "endgame", "mating", "black_king")
    assert [getattr(mine, name) for name in fields] == [getattr(right, name) for name in fields]
    assert not (directory / COPIES_FOLDER).exists()


def both(tables: Path, packed: PackedTables, directory: Path) -> Path:
    """A directory with packed tables of KNvK for both variants, and their plain sub-tables."""
    with_sub_tables("KNvK", tables, packed, directory)
    shutil.copy(table_path(tables, "KvK", WG), directory)
    shutil.copy(packed("KNvK", WG), directory)
    return directory


def stages(directory: Path, data: Path, *, layers: bool = True) -> list[str]:
    """Save data, and return the messages."""
    told = Narrator()
    save_report(directory, ["KNvK"], data, layers=layers, reporter=told)
    assert min(told.left, default=0) >= 0
    return list(dict.fromkeys(step.rpartition(" ")[0] for step in told.steps))


def test_what_a_report_takes(tables: Path, packed: PackedTables, tmp_path: Path) -> None:
    directory = with_sub_tables("KNvK", tables, packed, tmp_path / "packed")
    without, layers = (
        plan_report(directory, ["KNvK"], layers=each).memory - BASE_MEMORY for each in (False, True)
    )
    size = layout_of(Material.parse("KNvK")).size
    assert without == 24 * size + 6 * layout_of(Material.parse("KvK")).size
    assert layers == max(without, 6 * size + layers_memory(layout_of(Material.parse("KNvK"))))
    assert 0 < plan_report(directory, ["KvK"]).memory - BASE_MEMORY < 1 << 20, "not packed"


@pytest.mark.exhaustive
def test_saving_goes_on_where_it_was_stopped(
    tables: Path, whole_game_tables: Path, packed: PackedTables, tmp_path: Path
) -> None:
    directory, data = both(tables, packed, tmp_path / "packed"), tmp_path / "data"
    counted = ["r, unpacking", "r, counted", "r, accrued scores"], ["wg, unpacking", "wg, counted"]
    first = stages(directory, data)
    assert first == [*counted[0], *counted[1], "both, compared", "r, lines", "wg, lines"]
    assert stages(directory, data) == []
    (data / "KNvK.difference.json.gz").unlink()
    assert stages(directory, data) == ["both, unpacking", "both, compared"]
    path = data / "KNvK.r.json.gz"
    whole = path.read_bytes()
    path.unlink()
    again = stages(directory, data)
    assert again == [*counted[0], "both, unpacking", "both, compared", "r, lines"]
    assert path.read_bytes() == whole
    assert stages(directory, data, layers=False) == []


def test_lines_that_need_layers(tables: Path, packed: PackedTables, tmp_path: Path) -> None:
    """Depths are computed on request, and only for lines that need them."""
    directory = with_sub_tables("KNvK", tables, packed, tmp_path / "packed")
    assert save_report(directory, ["KNvK"], tmp_path / "data", rules="r") == 1
    short = read_report(tmp_path / "data", saved=True)
    assert short.omitted_line_count == 1
    assert not list(directory.glob("*.layer.h5"))
    for saved in (1, 0):
        told = Narrator()
        options = {"rules": "r", "depths": True, "reporter": told}
        assert save_report(directory, ["KNvK"], tmp_path / "data", **options) == saved  # type: ignore[arg-type]
        assert "r, lines 0%" in told.steps
    full = read_report(tmp_path / "data", saved=True)
    assert full.omitted_line_count == 0
    assert len(list(directory.glob("*.layer.h5"))) == 1
    (before,), (after,) = (report.tables for report in (short, full))
    for one, other in zip(before.records, after.records, strict=True):
        assert other.verified
        assert len(other.line) == other.depth
        assert one == other or not one.line


@pytest.mark.exhaustive
def test_a_layer_that_cannot_be_made(
    tables: Path,
    packed: PackedTables,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The line of such a record is left out, and the rest of the report is complete."""

    def refuse(*arguments: object) -> None:
        raise TbgenError("the layer does not fit into memory")

    monkeypatch.setattr("tbgen.probe.depths.Layers.get", refuse)
    directory = with_sub_tables("KNvK", tables, packed, tmp_path / "packed")
    (table,) = read_report(directory, ["KNvK"], rules="r", depths=True).tables
    assert count_omitted_lines(table.records) == 1
    assert "the line of KNvK to G5.5 is left out: the layer does not fit into memory" in caplog.text
