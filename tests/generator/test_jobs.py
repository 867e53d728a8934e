"""Several tables at work at once: the same tables, and what happens where one of them cannot be built."""

import json
import os
import shutil
import signal
import threading
import time
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli import progress
from tbgen.cli.journal import Journal
from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tbgen.generator import Built, build, estimate, memory
from tbgen.generator.estimate import together
from tbgen.generator.lock import LOCK_NAME
from tbgen.index.table import AccruedForm
from tbgen.retro import solver
from tbgen.store.format import table_path, tables_in
from tests.support.builds import Diary, digest, logged, stored_as
from tests.support.commands import failure, logged_answer
from tests.support.exhaustive import exhaustive
from tests.support.processes import end, started, stopping, wait_for

pytestmark = pytest.mark.usefixtures("compiled")

VARIANT = Variant.R_MOBILITY
PIECES = ("KQvK", "KRvK", "KBvK", "KNvK")
"""What can be at work together when KvK is there."""


class Events(Diary):
    """Writes down in one list what begins and what ends."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[str] = []

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        super().begin(material, number, count, seconds_left)
        if f"{material} begins" not in self.events:
            self.events.append(f"{material} begins")

    def done(self, built: Built, seconds_left: float) -> None:
        super().done(built, seconds_left)
        self.events.append(f"{built.info.material} ends")


@pytest.fixture
def empty(three_men: Path, tmp_path: Path) -> Path:
    """A directory with KvK alone."""
    shutil.copy(table_path(three_men, "KvK", VARIANT), tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of tables of three men and of KBvKN, built one after the other on one thread."""
    directory = tmp_path_factory.mktemp("one")
    wanted = [*all_materials(3), Material.parse("KBvKN")]
    built = build(wanted, directory, Diary(), variant=VARIANT, jobs=1, threads=1)
    return {table.info.material: table.info.digest for table in built}


@pytest.fixture(scope="module")
def packed_digests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The digests of packed tables of three men, built one after the other on one thread."""
    directory = tmp_path_factory.mktemp("packed")
    with stored_as(AccruedForm.FUNCTIONS):
        built = build(all_materials(3), directory, Diary(), variant=VARIANT, jobs=1, threads=1)
    return {table.info.material: table.info.digest for table in built}


def failing(name: str, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the solver fail at one table."""
    solve = solver.solve

    def fail(material: Material, *rest: Any, **options: Any) -> Any:
        if material.name == name:
            raise error
        return solve(material, *rest, **options)

    monkeypatch.setattr(solver, "solve", fail)


@pytest.mark.parametrize(("jobs", "threads"), [(2, 2), (6, 8), *exhaustive([(1, 3)])])
def test_any_number_of_jobs_and_threads_gives_the_same_tables(
    jobs: int, threads: int, digests: dict[str, str], tmp_path: Path
) -> None:
    diary = Events()
    wanted = [*all_materials(3), Material.parse("KBvKN")]
    built = build(wanted, tmp_path, diary, variant=VARIANT, jobs=jobs, threads=threads)
    assert [table.info.material for table in built] == diary.finished
    assert sorted(diary.finished) == sorted(material.name for material in wanted)
    for table in built:
        for sub in Material.parse(table.info.material).successors():
            assert diary.events.index(f"{sub} ends") < diary.events.index(f"{table.info.material} begins")
        assert table.info.parameters["threads"] <= threads
        assert table.info.digest == digest(tmp_path, table.info.material) == digests[table.info.material]
    assert not list(tmp_path.glob("*.tmp-*"))


@pytest.mark.parametrize("jobs", [3, *exhaustive([1])])
def test_packed_tables_at_once(jobs: int, tmp_path: Path, packed_digests: dict[str, str]) -> None:
    """The same bytes of content, and no plain copies when the build has ended."""
    with stored_as(AccruedForm.FUNCTIONS):
        built = build(all_materials(3), tmp_path, Diary(), variant=VARIANT, jobs=jobs, threads=3)
    assert {table.info.material: table.info.digest for table in built} == packed_digests
    assert sorted(os.listdir(tmp_path)) == sorted([LOCK_NAME, *(f"{m}.r.h5" for m in all_materials(3))])


def test_no_copies_are_left_by_a_build_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed_digests: dict[str, str]
) -> None:
    """KPvK rests on plain copies of the others; what is packed stays."""
    failing("KPvK", TbgenError("something is wrong"), monkeypatch)
    with stored_as(AccruedForm.FUNCTIONS), pytest.raises(TbgenError, match="something is wrong"):
        build(all_materials(3), tmp_path, Diary(), variant=VARIANT, jobs=2)
    names = sorted({*packed_digests} - {"KPvK"})
    assert sorted(os.listdir(tmp_path)) == sorted([LOCK_NAME, *(f"{name}.r.h5" for name in names)])


def test_tables_are_at_work_together(empty: Path) -> None:
    """As many as there may be; the reporter follows one after the other."""
    diary = Events()
    build(all_materials(3), empty, diary, variant=VARIANT, jobs=3, threads=3)
    assert diary.events[:3] == [f"{name} begins" for name in PIECES[:3]]
    assert diary.events[3].endswith(" ends")
    assert diary.events[-2:] == ["KPvK begins", "KPvK ends"]
    assert [number for name, number, _ in diary.begun if name == "KPvK"] == [5]
    assert any(stage.startswith("beside K") for stage in diary.stages)


def test_memory_decides_how_many(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not more than --memory allows, nor more than the machine has free."""
    monkeypatch.setattr(memory, "held", lambda: 0)
    one = max(estimate(Material.parse(name), VARIANT, 4).memory for name in PIECES)
    two = together([estimate(Material.parse(name), VARIANT, 2) for name in PIECES[:2]])
    assert two > one
    for cap, free, at_once in ((one, 1 << 40, 1), (two, 0, 2), (None, one, 1), (None, 1 << 40, 4)):
        diary = Events()
        monkeypatch.setattr("tbgen.generator.runner.available", lambda free=free: free)
        monkeypatch.setattr(memory, "available", lambda free=free: free)
        wanted = list(map(Material.parse, PIECES))
        build(wanted, empty, diary, variant=VARIANT, force=True, jobs=4, threads=4, memory=cap)
        assert diary.events[:at_once] == [f"{name} begins" for name in PIECES[:at_once]]
        assert diary.events[at_once].endswith(" ends")


def test_what_the_process_holds_besides_counts(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where giving memory back does not help, a table waits for those at work."""
    needs = [estimate(Material.parse(name), VARIANT, 2) for name in PIECES[:2]]
    given: list[str] = []
    monkeypatch.setattr(memory, "give_back", lambda: given.append("back"))
    for held, room in ((0, True), (together(needs[:1]), True), (together(needs[:1]) + 1, False)):
        monkeypatch.setattr(memory, "held", lambda held=held: held)
        assert memory.has_room(needs[1], needs[:1], 0, together(needs)) == room
    assert given == ["back"]
    monkeypatch.setattr(memory, "available", lambda: 2 * together(needs))
    for foreseen, back in ((together(needs) + 1, 1), (together(needs), 2)):
        assert memory.has_room(needs[1], needs[:1], foreseen)  # the machine has as much
        assert len(given) == back
    monkeypatch.setattr("tbgen.generator.runner.has_room", lambda *_: False)
    diary = Events()
    build(list(map(Material.parse, PIECES)), empty, diary, variant=VARIANT, jobs=4)
    assert diary.events == [f"{name} {what}" for name in PIECES for what in ("begins", "ends")]


def test_a_failing_table_does_not_lose_the_others(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing("KQvK", TbgenError("something is wrong"), monkeypatch)
    diary = Events()
    with pytest.raises(TbgenError, match="something is wrong"):
        build(all_materials(3), empty, diary, variant=VARIANT, jobs=3)
    assert sorted(diary.finished) == ["KBvK", "KRvK"]
    assert diary.notes == ["KQvK has failed; tables at work, to be finished: 2"] or len(diary.notes) == 0
    assert {material.name for material in tables_in(empty, VARIANT)} == {"KvK", "KBvK", "KRvK"}
    monkeypatch.undo()
    build(all_materials(3), empty, diary, variant=VARIANT, jobs=3)
    assert sorted(diary.finished[2:]) == ["KNvK", "KPvK", "KQvK"]


@pytest.mark.parametrize(
    ("jobs", "sentence"),
    [
        ("2", "not enough memory for KQvK: build with fewer --jobs"),
        ("1", "not enough memory for KQvK: build on a larger machine"),
    ],
)
def test_memory_that_runs_out(
    jobs: str, sentence: str, empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = threading.Event()
    failing("KQvK", MemoryError(), monkeypatch)
    fail = solver.solve

    def solve(material: Material, *rest: Any, **options: Any) -> Any:
        if material.name == "KRvK":
            waiting.wait(300)  # so that it is at work when the other fails
        return fail(material, *rest, **options)

    monkeypatch.setattr(solver, "solve", solve)
    monkeypatch.setattr(Journal, "note", lambda *_: waiting.set())
    words = ["build", "KQvK", "KRvK", "--jobs", jobs, "--dir", str(empty)]
    assert main(words) == 1
    assert capsys.readouterr().err.splitlines()[-1] == f"tbgen: {sentence}"
    assert len(tables_in(empty, VARIANT)) == int(jobs)


def test_disk_is_checked_for_all_at_work(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What those at work have not written yet is not free for another."""
    usage = namedtuple("usage", "total used free")
    first, second = (estimate(Material.parse(name), VARIANT, 1).disk for name in PIECES[:2])
    free = iter([10**9, first, first + second - 1])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, next(free)))
    diary = Events()
    with pytest.raises(TbgenError, match="the disk is full: the 2 tables need about"):
        build(list(map(Material.parse, PIECES)), empty, diary, variant=VARIANT, jobs=2)
    assert diary.events == ["KQvK begins", "KQvK ends"]
    assert diary.notes == ["KRvK has failed; tables at work, to be finished: 1"]


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        *[("value", signal.SIGTERM), ("replace", signal.SIGKILL)],
        *exhaustive([("value", signal.SIGINT), ("replace", signal.SIGINT), ("replace", signal.SIGTERM)]),
        *exhaustive([("value", signal.SIGKILL)]),
    ],
)
def test_an_interruption(moment: str, number: signal.Signals, empty: Path) -> None:
    """While one table is being written and others are at work: nothing is left, and no other process."""
    script = stopping("KBvKN", moment, "time.sleep(60)")
    words = ["build", "KBvKN", "KPvK", "--jobs", "4", "--dir", str(empty)]
    with started("-c", script, *words) as running:
        wait_for(running, "stopped")
        assert list(empty.glob("KBvKN.r.h5.tmp-*"))
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        assert not children.exists() or children.read_text() == ""
        running.send_signal(number)
        code, error = end(running)
    if number == signal.SIGKILL:
        assert code == -number
        build([Material.parse("KvK")], empty, Diary(), variant=VARIANT)  # tidies up
    else:
        assert code == 128 + number
        assert "stopped: " in error
    assert not list(empty.glob("*.tmp-*"))
    assert Material.parse("KBvKN") not in tables_in(empty, VARIANT)


def test_an_interruption_in_python(empty: Path) -> None:
    """Tables at work end at their next report, and leave nothing."""

    class Interrupter(Diary):
        def progress(
            self, step: str, done: int | None, total: int, seconds_left: float | None = None
        ) -> None:
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        build(list(map(Material.parse, PIECES)), empty, Interrupter(), variant=VARIANT, jobs=4)
    wait_until(lambda: threading.active_count() <= before)
    assert not list(empty.glob("*.tmp-*"))
    found = set(tables_in(empty, VARIANT))
    build(list(map(Material.parse, PIECES)), empty, Diary(), variant=VARIANT, jobs=4)
    assert len(found) < 5 == len(tables_in(empty, VARIANT))


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_command(three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One table per thread by default; the log says what is at work."""
    words = ["build", "--men", "3", "--dir", str(tmp_path), "--threads", "3"]
    for more in ([], ["--jobs", "auto"], ["--jobs", "2"]):
        assert main([*words, *more]) == 0
        output = capsys.readouterr()
        rows = output.out.splitlines()[1:]
        assert sorted(row.split()[0] for row in rows) == sorted(m.name for m in all_materials(3))
        told = [line.split(",")[0].split(";")[0] for line in logged(output.err)]
        at_once = 2 if more == ["--jobs", "2"] else 3
        first = told.index("KQvK: 2 of 6")
        assert told[first : first + at_once] == [
            f"{name}: {number} of 6" for number, name in enumerate(PIECES[:at_once], 2)
        ]
        assert sorted(os.listdir(tmp_path)) == sorted([LOCK_NAME, *(f"{m}.r.h5" for m in all_materials(3))])
        for material in all_materials(3):
            assert digest(tmp_path, material.name) == digest(three_men, material.name)
            table_path(tmp_path, material.name, VARIANT).unlink()


def test_the_estimate_knows_how_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["build", "--men", "4", "--estimate", "--threads", "4", "--dir", str(tmp_path), "--jobs"]
    text = {n: logged_answer(capsys, *words, n).splitlines()[-1] for n in ("1", "2", "auto")}
    assert text["1"].startswith("36 tables to build: about ")
    assert text["2"].startswith("36 tables to build, up to 2 at once: about ")
    assert text["auto"].startswith("36 tables to build, up to 4 at once: about ")
    one, two, four = (json.loads(logged_answer(capsys, *words, n, "--json")) for n in ("1", "2", "4"))
    assert (one["jobs"], two["jobs"], four["jobs"]) == (1, 2, 4)
    assert max(table["memory"] for table in one["tables"]) < one["memory"] < two["memory"] < four["memory"]
    assert one["disk"] == two["disk"] == four["disk"]
    cap = f"{two['memory'] // 1024}K"
    narrow = json.loads(logged_answer(capsys, *words, "4", "--json", "--memory", cap))
    assert narrow["memory"] <= two["memory"]


def test_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    for jobs, what in (
        ("0", "expected a whole number from 1 to 512, not 0"),
        ("513", "expected a whole number from 1 to 512, not 513"),
        ("many", "expected a whole number from 1 to 512, not many"),
    ):
        assert what in failure(capsys, 2, "build", "KvK", "--jobs", jobs)
    words = ["build", "KvK", "--scheduler", "tcp://nobody:1", "--jobs", "2"]
    assert "--jobs means nothing with --scheduler" in failure(capsys, 2, *words)


def test_the_journal_follows_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each table is logged as begun once, and at work since then."""
    now = 100.0
    monkeypatch.setattr(progress, "_ELSEWHERE", 0.0)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    journal = Journal(Path("tables"), quiet=True)
    journal.begin(Material.parse("KBvK"), 1, 2, 60.0)
    now = 130.0
    journal.begin(Material.parse("KNvK"), 2, 2, 60.0)
    now = 150.0
    journal.begin(Material.parse("KBvK"), 1, 2, 60.0)
    journal.progress("writing", None, 0)
    lines = logged(capsys.readouterr().err)
    assert [line for line in lines if "begun" in line] == [
        "KBvK: 1 of 2, begun; about 1 min 00 s left",
        "KNvK: 2 of 2, begun; about 1 min 00 s left",
    ]
    assert lines[-1] == "KBvK: 1 of 2, writing, at work for 50.0 s; about 1 min 00 s left"
