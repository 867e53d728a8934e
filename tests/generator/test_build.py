"""Building: order, skipped tables, reproducible results, and failures."""

import errno
import fcntl
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.generator import build, missing_tables
from tbgen.generator.runner import LOCK_NAME
from tbgen.index.table import AccruedForm
from tbgen.store.format import accrued_form_of, table_path, tables_in
from tbgen.system.files import temporary_path
from tbgen.tables.files import open_table
from tests.support.builds import Diary, digest, stored_as
from tests.support.commands import logged_answer

pytestmark = pytest.mark.usefixtures("compiled")

R = Variant.R_MOBILITY
KBVK = Material.parse("KBvK")
KPVK = Material.parse("KPvK")


def inodes(directory: Path) -> dict[str, int]:
    names = [material.name for material in tables_in(directory, R)]
    return {name: table_path(directory, name, R).stat().st_ino for name in names}


def test_sub_tables_come_first_and_finished_tables_are_skipped(tmp_path: Path) -> None:
    directory, diary = tmp_path / "new" / "tables", Diary()
    assert missing_tables([KBVK], directory, R) == [Material.parse("KvK"), KBVK]
    assert missing_tables(map(Material.parse, ("KBvKB", "KNPvK")), directory, R)[-2].name == "KNPvK"
    (first, second) = build([KBVK], directory, diary, variant=R)
    assert (diary.begun, diary.finished) == ([("KvK", 1, 2), ("KBvK", 2, 2)], ["KvK", "KBvK"])
    assert len(diary.stages) > 1
    assert sorted(os.listdir(directory)) == [LOCK_NAME, "KBvK.r.h5", "KvK.r.h5"]
    assert (first.info.material, second.info.material) == ("KvK", "KBvK")
    assert second.info.bytes == table_path(directory, "KBvK", R).stat().st_size
    assert second.info.max_depth == 46
    assert second.layer_count > 20
    assert second.seconds >= sum(second.stages[stage] for stage in ("sub-tables", "write"))
    before, diary = inodes(directory), Diary()
    assert build([KBVK], directory, diary, variant=R) == []
    assert (diary.begun, diary.notes, inodes(directory)) == ([], [], before)
    path = table_path(directory, "KvK", R)
    path.unlink()
    path.symlink_to(path)  # a link to itself is no table
    assert [table.info.material for table in build([KBVK], directory, Diary(), variant=R)] == ["KvK"]


def test_force_builds_the_named_tables_alone(own: Path) -> None:
    before = inodes(own)
    assert missing_tables([KBVK], own, R, forced=[KBVK]) == [KBVK]
    built = build([KBVK], own, Diary(), variant=R, force=True)
    assert [table.info.material for table in built] == ["KBvK"]
    after = inodes(own)
    assert {name for name in after if after[name] != before[name]} == {"KBvK"}


def test_two_builds_give_the_same_digest(own: Path) -> None:
    for name, threads in (("KvK", 3), ("KNvK", 3), ("KPvK", 1), ("KPvK", 3)):
        before = digest(own, name)
        build([Material.parse(name)], own, Diary(), variant=R, force=True, threads=threads)
        assert digest(own, name) == before


def test_accrued_scores_left_out(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Apart from the accrued scores, the table is the same."""
    with open_table(table_path(own, "KBvK", R)) as file:
        assert (file.info.stores_accrued, file.info.runs) == (1, 56_507)
        before = file.read()
    with stored_as(AccruedForm.NOTHING):
        (built,) = build([KBVK], own, Diary(), variant=R, force=True)
    assert not built.info.stores_accrued
    with open_table(table_path(own, "KBvK", R)) as file:
        file.check()
        assert (file.info.stores_accrued, file.info.runs) == (0, 0)
        after = file.read()
    assert np.array_equal((before.value, before.depth), (after.value, after.depth))
    (table,) = json.loads(logged_answer(capsys, "info", "KBvK", "--json", "--dir", str(own)))["tables"]
    assert (table["accrued"], table["runs"]) == (False, 0)
    text = logged_answer(capsys, "info", "KBvK", "--dir", str(own))
    assert "accrued runs   left out" in text
    assert f"longest depth  {built.info.max_depth} plies, accrued scores not included" in text.splitlines()


def test_size_decides_the_form() -> None:
    forms = {name: accrued_form_of(Material.parse(name)) for name in ("KvK", "KBNvK", "KBNvKR")}
    assert forms == {"KvK": AccruedForm.RUNS, "KBNvK": AccruedForm.RUNS, "KBNvKR": AccruedForm.FUNCTIONS}
    with stored_as(AccruedForm.FUNCTIONS):
        assert accrued_form_of(Material.parse("KvK")) is AccruedForm.RUNS, "less than a block"


def test_a_damaged_sub_table_stops_the_build(own: Path) -> None:
    table_path(own, "KQvK", R).write_bytes(b"something else")
    table_path(own, "KPvK", R).unlink()
    with pytest.raises(DamagedTableError, match="tbgen build --force KQvK"):
        build([KPVK], own, Diary(), variant=R)
    assert not table_path(own, "KPvK", R).exists()
    build([Material.parse("KQvK")], own, Diary(), variant=R, force=True)
    (built,) = build([KPVK], own, Diary(), variant=R)
    assert built.info.material == "KPvK"


def test_tables_finished_before_a_failure_are_kept(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KNvK", "KPvK"):
        table_path(own, name, R).unlink()
    replace = os.replace

    def failing(source: Path, target: Path) -> None:
        if "KPvK" in target.name:
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing)
        with pytest.raises(TbgenError, match=r"the disk is full: .*KPvK.* was not written"):
            build([KPVK], own, Diary(), variant=R)
    assert KPVK not in tables_in(own, R)
    assert Material.parse("KNvK") in tables_in(own, R)
    diary = Diary()
    build([KPVK], own, diary, variant=R)
    assert (diary.begun, diary.notes) == ([("KPvK", 1, 1)], [])


def test_leftovers_are_removed_even_if_nothing_is_missing(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leftovers of layers are removed too; without permission they are kept silently."""
    with subprocess.Popen(["true"]) as ended:
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
        assert build([KBVK], own, diary, variant=R) == []
    assert (diary.notes, left.exists()) == ([], True)
    assert build([KBVK], own, diary, variant=R) == []
    assert (diary.notes, left.exists()) == ([f"removed {left.name}, left by an interrupted build"], False)
    assert not (own / LOCK_NAME).exists()


def test_a_file_system_without_locks(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build prints a warning and continues; finished tables are renamed into place in any case."""

    def without(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without)
    table_path(own, "KBvK", R).unlink()
    diary = Diary()
    build([KBVK], own, diary, variant=R)
    assert diary.finished == ["KBvK"]
    assert diary.notes == [f"{own} has no file locks: make sure that no other build is at work there"]
