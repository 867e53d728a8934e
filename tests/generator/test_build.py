"""Building: order, skipping, sameness, and what stops a build."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.files import temporary_path
from tbgen.generator import build, missing
from tbgen.generator.lock import LOCK_NAME
from tbgen.index.table import AccruedForm
from tbgen.store.form import form_of
from tbgen.store.format import table_path, tables_in
from tbgen.store.reader import TableFile
from tests.support.builds import Diary, digest, stored_as
from tests.support.commands import logged_answer
from tests.support.exhaustive import exhaustive

pytestmark = pytest.mark.usefixtures("compiled")

KBVK = Material.parse("KBvK")
KPVK = Material.parse("KPvK")


def inodes(directory: Path) -> dict[str, int]:
    return {
        material.name: table_path(directory, material.name, Variant.R_MOBILITY).stat().st_ino
        for material in tables_in(directory, Variant.R_MOBILITY)
    }


def test_sub_tables_come_first_and_finished_tables_are_skipped(tmp_path: Path) -> None:
    directory, diary = tmp_path / "new" / "tables", Diary()
    assert missing([KBVK], directory, Variant.R_MOBILITY) == [Material.parse("KvK"), KBVK]
    (first, second) = build([KBVK], directory, diary, variant=Variant.R_MOBILITY)
    assert diary.begun == [("KvK", 1, 2), ("KBvK", 2, 2)]
    assert diary.finished == ["KvK", "KBvK"]
    assert len(diary.stages) > 1
    assert sorted(os.listdir(directory)) == [LOCK_NAME, "KBvK.r.h5", "KvK.r.h5"]
    assert (first.info.material, second.info.material) == ("KvK", "KBvK")
    assert second.info.bytes == table_path(directory, "KBvK", Variant.R_MOBILITY).stat().st_size
    assert second.info.max_depth == 46
    assert second.layers > 20
    assert second.seconds >= sum(second.stages[stage] for stage in ("sub-tables", "write"))
    before, diary = inodes(directory), Diary()
    assert build([KBVK], directory, diary, variant=Variant.R_MOBILITY) == []
    assert (diary.begun, diary.notes, inodes(directory)) == ([], [], before)


def test_force_builds_the_named_tables_alone(own: Path) -> None:
    before = inodes(own)
    assert missing([KBVK], own, Variant.R_MOBILITY, force=[KBVK]) == [KBVK]
    built = build([KBVK], own, Diary(), variant=Variant.R_MOBILITY, force=True)
    assert [table.info.material for table in built] == ["KBvK"]
    after = inodes(own)
    assert {name for name in after if after[name] != before[name]} == {"KBvK"}


@pytest.mark.parametrize("name", ["KvK", "KNvK", "KPvK"])
def test_two_builds_give_the_same_digest(name: str, own: Path) -> None:
    before = digest(own, name)
    for threads in (1, 3):
        build([Material.parse(name)], own, Diary(), variant=Variant.R_MOBILITY, force=True, threads=threads)
        assert digest(own, name) == before


def test_accrued_scores_left_out(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All else stays as it is."""
    with TableFile(table_path(own, "KBvK", Variant.R_MOBILITY)) as file:
        assert (file.info.stores_accrued, file.info.runs) == (1, 56_507)
        value, depth = file.read_fresh()
    with stored_as(AccruedForm.NOTHING):
        (built,) = build([KBVK], own, Diary(), variant=Variant.R_MOBILITY, force=True)
    assert not built.info.stores_accrued
    with TableFile(table_path(own, "KBvK", Variant.R_MOBILITY)) as file:
        file.check()
        assert (file.info.stores_accrued, file.info.runs) == (0, 0)
        assert np.array_equal((value, depth), file.read_fresh())
    (table,) = json.loads(logged_answer(capsys, "info", "KBvK", "--json", "--dir", str(own)))["tables"]
    assert (table["accrued"], table["runs"]) == (False, 0)
    text = logged_answer(capsys, "info", "KBvK", "--dir", str(own))
    assert "accrued runs   left out" in text
    assert f"longest depth  {table['max_depth']} plies, accrued scores not included" in text.splitlines()
    listed = [line.split() for line in logged_answer(capsys, "info", "--dir", str(own)).splitlines()]
    assert ["plain", "left", "out"] in [words[4:7] for words in listed if words[:1] == ["KBvK"]]
    assert ["plain", "stored"] in [words[4:6] for words in listed if words[:1] == ["KNvK"]]


def test_size_decides_the_form() -> None:
    forms = {name: form_of(Material.parse(name)) for name in ("KvK", "KBNvK", "KBNvKR")}
    assert forms == {"KvK": AccruedForm.RUNS, "KBNvK": AccruedForm.RUNS, "KBNvKR": AccruedForm.FUNCTIONS}
    with stored_as(AccruedForm.FUNCTIONS):
        assert form_of(Material.parse("KvK")) is AccruedForm.RUNS, "less than a block"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KNNvK", "KBPvK", *exhaustive(["KPvKP"])])
def test_two_builds_of_four_men_give_the_same_digest(name: str, tables: Path, tmp_path: Path) -> None:
    material = Material.parse(name)
    for sub in material.successors():
        shutil.copy(table_path(tables, sub.name, Variant.R_MOBILITY), tmp_path)
    build([material], tmp_path, Diary(), variant=Variant.R_MOBILITY, threads=3)
    assert digest(tmp_path, name) == digest(tables, name)


def test_a_damaged_sub_table_stops_the_build(own: Path) -> None:
    table_path(own, "KQvK", Variant.R_MOBILITY).write_bytes(b"something else")
    table_path(own, "KPvK", Variant.R_MOBILITY).unlink()
    with pytest.raises(DamagedTableError, match="tbgen build --force KQvK"):
        build([KPVK], own, Diary(), variant=Variant.R_MOBILITY)
    assert not table_path(own, "KPvK", Variant.R_MOBILITY).exists()
    build([Material.parse("KQvK")], own, Diary(), variant=Variant.R_MOBILITY, force=True)
    assert [table.info.material for table in build([KPVK], own, Diary(), variant=Variant.R_MOBILITY)] == [
        "KPvK"
    ]


def test_tables_finished_before_a_failure_are_kept(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KNvK", "KPvK"):
        table_path(own, name, Variant.R_MOBILITY).unlink()
    replace = os.replace

    def failing(source: Path, target: Path) -> None:
        if "KPvK" in target.name:
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing)
        with pytest.raises(TbgenError, match=r"the disk is full: .*KPvK.* was not written"):
            build([KPVK], own, Diary(), variant=Variant.R_MOBILITY)
    assert KPVK not in tables_in(own, Variant.R_MOBILITY)
    assert Material.parse("KNvK") in tables_in(own, Variant.R_MOBILITY)
    diary = Diary()
    build([KPVK], own, diary, variant=Variant.R_MOBILITY)
    assert (diary.begun, diary.notes) == ([("KPvK", 1, 1)], [])


def test_leftovers_are_removed_even_if_nothing_is_missing(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of layers too; where that is not allowed, they stay and nothing is said."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: ended.pid)
        left = temporary_path(own / "KBvK.r.G3.5.layer.h5")
    left.touch()
    diary = Diary()

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        assert build([KBVK], own, diary, variant=Variant.R_MOBILITY) == []
    assert (diary.notes, left.exists()) == ([], True)
    assert build([KBVK], own, diary, variant=Variant.R_MOBILITY) == []
    assert (diary.notes, left.exists()) == ([f"removed {left.name}, left by an interrupted build"], False)
    assert not (own / LOCK_NAME).exists()


def test_a_file_system_without_locks(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build says so and goes on; whoever else may be at work, tables appear whole."""

    def without(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without)
    table_path(own, "KBvK", Variant.R_MOBILITY).unlink()
    diary = Diary()
    build([KBVK], own, diary, variant=Variant.R_MOBILITY)
    assert diary.finished == ["KBvK"]
    assert diary.notes == [f"{own} has no file locks: see to it that no other build is at work there"]
