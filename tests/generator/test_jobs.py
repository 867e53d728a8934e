"""Several tables at work at once: the results are the same; a table that cannot be built ends the build."""

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli.build import Journal
from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tbgen.generator import BuiltTable, build, estimate, one_table
from tbgen.generator.estimate import combined_peak
from tbgen.generator.runner import LOCK_NAME
from tbgen.index.table import AccruedForm
from tbgen.retro import solver
from tbgen.store.format import table_path, tables_in
from tbgen.tables.files import open_table
from tests.support.builds import Diary, digest, logged, stored_as, with_free
from tests.support.commands import failure, logged_answer
from tests.support.exhaustive import exhaustive
from tests.support.packed_tables import PackedTables

pytestmark = pytest.mark.usefixtures("compiled")

R = Variant.R_MOBILITY
PIECES = ("KQvK", "KRvK", "KBvK", "KNvK")
"""The tables that can be at work at once when KvK exists."""
ALL = all_materials(3)
FOUR = [Material.parse(name) for name in PIECES]
FILES = sorted([LOCK_NAME, *(f"{material}.r.h5" for material in ALL)])


class Events(Diary):
    """Records the tables that begin and end, in one list."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[str] = []

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        super().begin(material, number, count, seconds_left)
        if f"{material} begins" not in self.events:
            self.events.append(f"{material} begins")

    def finish_table(self, built: BuiltTable, seconds_left: float) -> None:
        super().finish_table(built, seconds_left)
        self.events.append(f"{built.info.material} ends")


@pytest.fixture
def empty(three_men: Path, tmp_path: Path) -> Path:
    """A directory with KvK only."""
    shutil.copy(table_path(three_men, "KvK", R), tmp_path)
    return tmp_path


def when_solving(name: str, happens: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Call a function when the solver begins a table."""
    solve = solver.solve

    def solving(material: Material, *rest: Any, **options: Any) -> Any:
        if material.name == name:
            happens()
        return solve(material, *rest, **options)

    monkeypatch.setattr(solver, "solve", solving)


def failing(name: str, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the solver fail at one table."""

    def fail() -> None:
        raise error

    when_solving(name, fail, monkeypatch)


@pytest.mark.parametrize(("jobs", "threads"), [(2, 2), (6, 8), *exhaustive([(1, 3)])])
def test_any_number_of_jobs_and_threads_gives_the_same_tables(
    jobs: int, threads: int, three_men: Path, tmp_path: Path
) -> None:
    diary = Events()
    built = build(ALL, tmp_path, diary, variant=R, jobs=jobs, threads=threads)
    assert [table.info.material for table in built] == diary.finished
    assert sorted(diary.finished) == sorted(material.name for material in ALL)
    for table in built:
        name = table.info.material
        for sub in Material.parse(name).successors():
            assert diary.events.index(f"{sub} ends") < diary.events.index(f"{name} begins")
        assert table.info.parameters["threads"] <= threads
        assert table.info.digest == digest(tmp_path, name) == digest(three_men, name)
    assert sorted(os.listdir(tmp_path)) == FILES


@pytest.mark.parametrize("jobs", [3, *exhaustive([1])])
def test_packed_tables_at_once(jobs: int, tmp_path: Path, packed: PackedTables) -> None:
    """The content equals that of tables packed separately; plain copies are removed at the end."""
    with stored_as(AccruedForm.FUNCTIONS):
        built = build(ALL, tmp_path, Diary(), variant=R, jobs=jobs, threads=3)
    assert sorted(os.listdir(tmp_path)) == FILES
    digests = {table.info.material: table.info.digest for table in built}
    for name in ("KQvK", "KPvK"):
        with open_table(packed(name)) as file:
            assert file.info.digest == digests[name]


def test_no_copies_are_left_by_a_build_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KPvK uses plain copies of the others, which are removed; the packed tables are kept."""
    failing("KPvK", TbgenError("something is wrong"), monkeypatch)
    with stored_as(AccruedForm.FUNCTIONS), pytest.raises(TbgenError, match="something is wrong"):
        build(ALL, tmp_path, Diary(), variant=R, jobs=2)
    assert sorted(os.listdir(tmp_path)) == sorted({*FILES} - {"KPvK.r.h5"})


def test_tables_are_at_work_together(empty: Path) -> None:
    """As many tables as allowed are at work at once; the reporter shows one until it ends, then another."""
    diary = Events()
    build(ALL, empty, diary, variant=R, jobs=3, threads=3)
    assert diary.events[:3] == [f"{name} begins" for name in PIECES[:3]]
    assert diary.events[3].endswith(" ends")
    assert diary.events[-2:] == ["KPvK begins", "KPvK ends"]
    assert [number for name, number, _ in diary.begun if name == "KPvK"] == [5]
    assert any(stage.startswith("beside K") for stage in diary.stages)


def test_memory_decides_how_many(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables at work take no more memory than --memory allows, or than the machine has free."""
    monkeypatch.setattr(one_table, "resident_memory", lambda: 0)
    one = max(estimate(Material.parse(name), R, 4).memory for name in PIECES)
    two = combined_peak([estimate(Material.parse(name), R, 2) for name in PIECES[:2]])
    assert two > one
    for cap, free, at_once in ((one, 1 << 40, 1), (two, 0, 2), (None, one, 1), (None, 1 << 40, 4)):
        diary = Events()
        for place in ("tbgen.generator.runner.usable_memory", "tbgen.generator.one_table.usable_memory"):
            monkeypatch.setattr(place, lambda free=free: free)
        build(FOUR, empty, diary, variant=R, force=True, jobs=4, threads=4, memory=cap)
        assert diary.events[:at_once] == [f"{name} begins" for name in PIECES[:at_once]]
        assert diary.events[at_once].endswith(" ends")


def test_what_the_process_holds_besides_counts(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If returning unused memory is not enough, a table waits for those at work."""
    needs = [estimate(Material.parse(name), R, 2) for name in PIECES[:2]]
    given: list[str] = []
    monkeypatch.setattr(one_table, "trim_memory", lambda: given.append("back"))
    for held, room in ((0, True), (combined_peak(needs[:1]), True), (combined_peak(needs[:1]) + 1, False)):
        monkeypatch.setattr(one_table, "resident_memory", lambda held=held: held)
        assert one_table.fits_in_memory(needs[1], needs[:1], 0, combined_peak(needs)) == room
    assert given == ["back"]
    monkeypatch.setattr(one_table, "usable_memory", lambda: 2 * combined_peak(needs))
    for foreseen, back in ((combined_peak(needs) + 1, 1), (combined_peak(needs), 2)):
        assert one_table.fits_in_memory(needs[1], needs[:1], foreseen)  # the machine has as much
        assert len(given) == back
    monkeypatch.setattr("tbgen.generator.runner.fits_in_memory", lambda *_: False)
    diary = Events()
    build(FOUR, empty, diary, variant=R, jobs=4)
    assert diary.events == [f"{name} {what}" for name in PIECES for what in ("begins", "ends")]


def test_a_failing_table_does_not_lose_the_others(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing("KQvK", TbgenError("something is wrong"), monkeypatch)
    diary = Events()
    with pytest.raises(TbgenError, match="something is wrong"):
        build(ALL, empty, diary, variant=R, jobs=3)
    assert sorted(diary.finished) == ["KBvK", "KRvK"]
    assert diary.notes == ["KQvK has failed; tables still at work: 2"] or len(diary.notes) == 0
    assert {material.name for material in tables_in(empty, R)} == {"KvK", "KBvK", "KRvK"}
    monkeypatch.undo()
    build(ALL, empty, diary, variant=R, jobs=3)
    assert sorted(diary.finished[2:]) == ["KNvK", "KPvK", "KQvK"]


@pytest.mark.parametrize(("jobs", "remedy"), [("2", "with fewer --jobs"), ("1", "on a larger machine")])
def test_memory_that_runs_out(
    jobs: str, remedy: str, empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = threading.Event()
    failing("KQvK", MemoryError(), monkeypatch)
    # so that it is at work when the other fails
    when_solving("KRvK", lambda: waiting.wait(300), monkeypatch)
    monkeypatch.setattr(Journal, "note", lambda *_: waiting.set())
    words = ["build", "KQvK", "KRvK", "--jobs", jobs, "--dir", str(empty)]
    assert main(words) == 1
    sentence = f"tbgen: not enough memory for KQvK: build {remedy}"
    assert capsys.readouterr().err.splitlines()[-1] == sentence
    assert len(tables_in(empty, R)) == int(jobs)


def test_disk_is_checked_for_all_at_work(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Space that tables at work still need is not available to another table."""
    first, second = (estimate(Material.parse(name), R, 1).disk for name in PIECES[:2])
    with_free(monkeypatch, 10**9, first, first + second - 1)
    diary = Events()
    with pytest.raises(TbgenError, match="the disk is full: the 2 tables need about"):
        build(FOUR, empty, diary, variant=R, jobs=2)
    assert diary.events == ["KQvK begins", "KQvK ends"]
    assert diary.notes == ["KRvK has failed; tables still at work: 1"]


def test_an_interruption_in_python(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables at work end at their next report of progress, and leave no files."""
    interrupted = threading.Event()
    when_solving("KRvK", lambda: interrupted.wait(300), monkeypatch)

    class Interrupter(Diary):
        def progress(self, *_: object) -> None:
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        build(FOUR, empty, Interrupter(), variant=R, jobs=4)
    interrupted.set()
    while threading.active_count() > before:
        time.sleep(0.01)
    assert not list(empty.glob("*.tmp-*"))
    assert Material.parse("KRvK") not in tables_in(empty, R)
    build(FOUR, empty, Diary(), variant=R, jobs=4)
    assert len(tables_in(empty, R)) == 5


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default there is one table per thread; the log names the tables at work."""
    assert main(["build", "--men", "3", "--dir", str(tmp_path), "--threads", "3"]) == 0
    output = capsys.readouterr()
    rows = output.out.splitlines()[1:]
    assert sorted(row.split()[0] for row in rows) == sorted(material.name for material in ALL)
    told = [line.split(",")[0].split(";")[0] for line in logged(output.err)]
    first = told.index("KQvK: 2 of 6")
    assert told[first : first + 3] == ["KQvK: 2 of 6", "KRvK: 3 of 6", "KBvK: 4 of 6"]


def test_an_interrupted_command(
    empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says how to resume; with --force, without building finished tables again."""
    failing("KPvK", KeyboardInterrupt(), monkeypatch)
    for words, built, names in (
        ("--men 3", "4 of 5", ""),
        ("KBvK KPvK --force --jobs 1", "1 of 2", " if it names only KPvK"),
    ):
        assert main(["build", *words.split(), "--dir", str(empty)]) == 130
        *_, sums, _ = capsys.readouterr().err.splitlines()
        goes_on = f"the same command continues from there{names}"
        assert re.search(rf"stopped: {built} tables built in .*; {goes_on}$", sums)


def test_the_estimate_knows_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["build", "--men", "4", "--estimate", "--threads", "4", "--dir", str(tmp_path), "--jobs"]
    text = {n: logged_answer(capsys, *words, n).splitlines()[-1] for n in ("1", "2", "auto")}
    assert text["1"].startswith("36 tables to build on 4 threads: about ")
    assert text["2"].startswith("36 tables to build on 4 threads, up to 2 at once: about ")
    assert text["auto"].startswith("36 tables to build on 4 threads, up to 4 at once: about ")
    one, two, four = (json.loads(logged_answer(capsys, *words, n, "--json")) for n in ("1", "2", "4"))
    assert (one["jobs"], two["jobs"], four["jobs"]) == (1, 2, 4)
    assert max(table["memory"] for table in one["tables"]) < one["memory"] < two["memory"] < four["memory"]
    assert one["disk"] == two["disk"] == four["disk"]
    cap = f"{two['memory'] // 1024}K"
    narrow = json.loads(logged_answer(capsys, *words, "4", "--json", "--memory", cap))
    assert narrow["memory"] <= two["memory"]
    assert "on 4 threads, up to 4 at once, as memory allows: about " in logged_answer(
        capsys, *words, "4", "--memory", "650M"
    )


def test_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    for jobs in ("0", "513", "many"):
        sentence = failure(capsys, 2, "build", "KvK", "--jobs", jobs)
        assert f"expected a whole number from 1 to 512, not {jobs}" in sentence
    words = ["build", "KvK", "--scheduler", "tcp://nobody:1", "--jobs", "2"]
    assert "--jobs has no effect with --scheduler" in failure(capsys, 2, *words)
