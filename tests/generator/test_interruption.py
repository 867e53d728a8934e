"""Builds that are killed or interrupted, and concurrent builds."""

import os
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.generator import build
from tbgen.generator.runner import LOCK_NAME
from tbgen.store.format import tables_in
from tbgen.tables.files import open_table
from tests.support.builds import Diary, digest, logged
from tests.support.damage import killed
from tests.support.exhaustive import exhaustive
from tests.support.processes import end, started, stopping, wait_for

pytestmark = pytest.mark.usefixtures("compiled")

KBVK = Material.parse("KBvK")
R = Variant.R_MOBILITY


def test_builds_killed_again_and_again(three_men: Path, tmp_path: Path) -> None:
    """A temporary file is not taken for a table; the next build removes it, resumes, and succeeds."""
    wanted, built = all_materials(3), 0
    for name, moment, jobs in (
        ("KQvK", "value", 1),
        ("KQvK", "replace", 1),
        ("KBvK", "accrued/rank", 1),
        ("KNvK", "replace", 4),
        ("KPvK", "ep/depth", 2),
    ):
        killed(partial(build, wanted, tmp_path, Diary(), variant=R, jobs=jobs), name, moment)
        (leftover,) = tmp_path.glob(f"{name}.r.h5.tmp-*")
        if moment != "replace":
            with pytest.raises(TbgenError, match=r"interrupted|damaged|truncated"):
                open_table(leftover)
        there = [material.name for material in tables_in(tmp_path, R)]
        assert all(digest(tmp_path, name) == digest(three_men, name) for name in there)
        assert name not in there
        assert len(there) >= built
        built = len(there)
    assert built == 5
    diary = Diary()
    build(wanted, tmp_path, diary, variant=R)
    assert diary.begun == [("KPvK", 1, 1)]
    assert [note for note in diary.notes if leftover.name in note and note.startswith("removed ")]
    assert digest(tmp_path, "KPvK") == digest(three_men, "KPvK")
    assert sorted(os.listdir(tmp_path)) == sorted([LOCK_NAME, *(f"{material}.r.h5" for material in wanted)])


@pytest.mark.parametrize(
    ("moment", "number", "jobs"),
    [
        *exhaustive([("value", signal.SIGTERM, 4), ("value", signal.SIGINT, 1)]),
        *exhaustive([("replace", signal.SIGINT, 4), ("replace", signal.SIGTERM, 1)]),
    ],
)
def test_an_interrupted_build(moment: str, number: signal.Signals, jobs: int, tmp_path: Path) -> None:
    """An interruption while a table is written and others are at work leaves no files and no processes."""
    said = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    words = ["build", "--men", "3", "--jobs", str(jobs), "--dir", str(tmp_path)]
    with started("-c", stopping("KBvK", moment, "time.sleep(6000)"), *words) as running:
        wait_for(running, "stopped")
        assert list(tmp_path.glob("KBvK.r.h5.tmp-*"))
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        assert not children.exists() or children.read_text() == ""
        running.send_signal(number)
        code, error = end(running)
    assert (code, error.splitlines()[-1]) == (128 + number, f"tbgen: {said}")
    sums = logged(error.removesuffix(f"tbgen: {said}\n"))[-1]
    goes_on = "the same command continues from there"
    found = set(tables_in(tmp_path, R))
    assert re.fullmatch(rf"stopped: {3 if jobs == 1 else '[1-4]'} of 6 tables built in .*; {goes_on}", sums)
    assert {Material.parse("KvK")} <= found < {*all_materials(3)} - {KBVK}
    assert not list(tmp_path.glob("*.tmp-*"))


def test_two_builds_at_once(tmp_path: Path) -> None:
    """The second build waits, names the process that it waits for, and then finds all tables finished."""
    at_work, waiting = threading.Event(), threading.Event()

    class First(Diary):
        def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
            at_work.set()
            assert waiting.wait(300)

    class Second(Diary):
        def note(self, text: str) -> None:
            super().note(text)
            waiting.set()

    second = Second()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(build, [KBVK], tmp_path, First(), variant=R)
        assert at_work.wait(300)
        assert build([KBVK], tmp_path, second, variant=R) == []
        assert [built.info.material for built in first.result()] == ["KvK", "KBvK"]
    who = f"another build is at work in {tmp_path} (process {os.getpid()})"
    assert second.notes == [f"{who}: waiting for it"]
