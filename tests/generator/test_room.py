"""Memory and disk of builds: needs, limits, and shortages."""

import os
import sys
from pathlib import Path

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.costs import plain_copy_size
from tbgen.errors import TbgenError
from tbgen.generator import BuiltTable, Estimate, build, estimate, missing_tables, one_table
from tbgen.generator.runner import LOCK_NAME, schedule_of
from tbgen.index.layout import layout_of
from tbgen.index.table import AccruedForm
from tbgen.store.format import table_path
from tests.support.builds import Diary, stored_as, with_free
from tests.support.commands import logged_answer
from tests.support.exhaustive import sample

pytestmark = pytest.mark.usefixtures("compiled")

KBVK = Material.parse("KBvK")
R = Variant.R_MOBILITY


def test_too_little_room_is_noticed_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_free(monkeypatch, 10)
    with pytest.raises(TbgenError, match="the disk is full: the 2 tables need about"):
        build([KBVK], tmp_path, Diary(), variant=R)
    assert os.listdir(tmp_path) == [LOCK_NAME]


def test_a_disk_that_others_fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk has space for all tables at the start, and none when the second table begins."""
    with_free(monkeypatch, 10**9, 10**9, 10_000)
    diary = Diary()
    with pytest.raises(
        TbgenError, match=r"the disk is full: KBvK needs about .* free some space and build again"
    ):
        build([KBVK], tmp_path, diary, variant=R)
    assert (diary.begun, diary.finished) == ([("KvK", 1, 2)], ["KvK"])
    assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KvK.r.h5"]


def test_a_cap_on_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_table, "resident_memory", lambda: 0)
    words = ["build", "KBNvK", "--dir", str(tmp_path), "--memory"]
    assert main([*words, "128M"]) == 1
    sentence = capsys.readouterr().err
    assert sentence.startswith("tbgen: KvK needs about ")
    assert sentence.endswith(
        " MiB of memory and --memory allows 128.00 MiB (too large as well: 3 other tables): "
        "allow more, build with fewer --threads, or on a larger machine\n"
    )
    assert main([*words, "128M", "--estimate"]) == 1
    output = capsys.readouterr()
    assert "4 tables to build" in output.out
    assert output.err == sentence
    assert os.listdir(tmp_path) == [LOCK_NAME]
    assert "4 tables to build" in logged_answer(capsys, *words, "1T", "--estimate")
    need = estimate(KBVK, R, threads=1).memory
    with pytest.raises(TbgenError, match=r"^KBvK needs about [\d.]+ MiB of memory and --memory allows"):
        build([KBVK], tmp_path, Diary(), variant=R, threads=1, memory=need - 1)
    built = build([KBVK], tmp_path, Diary(), variant=R, threads=1, memory=need)
    assert [table.info.material for table in built] == ["KvK", "KBvK"]


def test_what_the_process_holds_already_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is checked at the start and before each table; here 1 GiB is used up after the first table."""
    holding = 0
    monkeypatch.setattr(one_table, "resident_memory", lambda: holding)
    need = estimate(KBVK, R).memory

    class Hog(Diary):
        def finish_table(self, built: BuiltTable, seconds_left: float) -> None:
            nonlocal holding
            super().finish_table(built, seconds_left)
            holding = 1 << 30

    hog, words = Hog(), "of memory, including what the process uses already, and --memory allows"
    for _ in range(2):  # before the second table, then at the start
        with pytest.raises(TbgenError, match=rf"^KBvK needs about [\d.]+ GiB {words}"):
            build([KBVK], tmp_path, hog, variant=R, memory=need)
        assert hog.finished == ["KvK"]


def test_a_machine_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tbgen.generator.estimate"], "total_memory", lambda: 1 << 27)
    with pytest.raises(TbgenError, match=r"machine has 128.00 MiB .*1 other table.: build on a larger one"):
        build([KBVK], tmp_path, Diary(), variant=R)


def test_directories_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    problem = r"(no tables can be written to|is not a directory).* with --dir"
    for directory in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/tables")):
        with pytest.raises(TbgenError, match=problem) as caught:
            build([KBVK], directory, Diary(), variant=R)
        assert caught.value.exit_code == 1
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(TbgenError, match="no tables can be written to"):
            build([KBVK], tmp_path, Diary(), variant=R)
        tmp_path.chmod(0o700)


def estimated(material: Material, form: AccruedForm) -> Estimate:
    """Return the estimate of a table in a form."""
    with stored_as(form):
        return estimate(material, R)


def test_estimates_know_what_is_stored(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of five men are packed, smaller ones plain with accrued scores."""
    forms = AccruedForm.RUNS, AccruedForm.NOTHING, AccruedForm.FUNCTIONS
    for material in all_materials(5)[:: sample(9, 1)]:
        plain, fresh, packed = (estimated(material, form) for form in forms)
        assert plain.disk > fresh.disk
        assert packed.disk < fresh.disk or material.men == 2
        assert estimate(material, R) == (packed if material.men == 5 else plain)
    material = Material.parse("KPvK")
    table_path(own, "KPvK", R).unlink()
    large, small = (estimated(material, form).disk for form in forms[:2])
    scratch = estimate(material, R).scratch
    assert scratch == 2 * 3 * layout_of(material).size
    with_free(monkeypatch, (large + small) // 2 + scratch)
    with pytest.raises(TbgenError, match="the disk is full: KPvK needs about"):
        build([material], own, Diary(), variant=R)
    with stored_as(AccruedForm.NOTHING):
        build([material], own, Diary(), variant=R)
    assert table_path(own, "KPvK", R).stat().st_size == pytest.approx(small, rel=0.6)


def test_the_disk_has_room_for_plain_copies(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build keeps plain copies of packed tables that its other tables depend on."""
    wanted = [Material.parse("KPvKN")]
    with stored_as(AccruedForm.FUNCTIONS):
        assert not schedule_of([Material.parse("KQvKN")], R).copies
        schedule = schedule_of(missing_tables(wanted, own, R), R)
        promoted = map(Material.parse, ("KQvKN", "KRvKN", "KBvKN", "KNvKN"))
        copied = {material: plain_copy_size(material, R) for material in promoted}
        assert schedule.copies == copied
        assert min(copied.values()) > 0
        disk = sum(schedule.estimate(material, 2).disk for material in schedule.todo)
        with_free(monkeypatch, disk + max(copied.values()))
        with pytest.raises(TbgenError, match="the disk is full: the 5 tables need about"):
            build(wanted, own, Diary(), variant=R)
