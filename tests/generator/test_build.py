"""Building: order, skipping, sameness, and every way in which a build can be cut short."""

import contextlib
import errno
import fcntl
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbgen.cli import progress
from tbgen.cli.main import main
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.generator import Accrued, Built, build, estimate, memory, missing
from tbgen.generator.lock import LOCK_NAME
from tbgen.generator.runner import build_table
from tbgen.material import Material, all_materials
from tbgen.retro.warmup import compile_kernels
from tbgen.store.format import table_path, tables_in
from tbgen.store.reader import TableFile
from tests.conftest import Silent
from tests.store.test_store import small_disk

KBVK = Material.parse("KBvK")
KPVK = Material.parse("KPvK")


class Diary(Silent):
    """Writes down what a build tells."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.begun: list[tuple[str, int, int]] = []
        self.finished: list[str] = []
        self.stages: set[str] = set()

    def note(self, text: str) -> None:
        self.notes.append(text)

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        assert seconds_left > 0
        self.begun.append((material.name, number, count))

    def progress(self, stage: str, done: int, total: int) -> None:
        self.stages.add(stage)

    def done(self, built: Built, seconds_left: float) -> None:
        assert seconds_left >= 0
        self.finished.append(built.info.material)


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """No build of these tests compiles kernels and says so."""
    compile_kernels()


@pytest.fixture
def own(three_men: Path, tmp_path: Path) -> Path:
    """A directory of our own with all tables of three men."""
    directory = tmp_path / "own"
    directory.mkdir()
    for material in all_materials(3):
        shutil.copy(table_path(three_men, material.name), directory)
    return directory


def digest(directory: Path, name: str) -> str:
    with TableFile(table_path(directory, name)) as file:
        file.check()
        return file.info.digest


def inodes(directory: Path) -> dict[str, int]:
    return {
        material.name: table_path(directory, material.name).stat().st_ino for material in tables_in(directory)
    }


# The API


def test_sub_tables_come_first_and_finished_tables_are_skipped(tmp_path: Path) -> None:
    directory, diary = tmp_path / "new" / "tables", Diary()
    assert missing([KBVK], directory) == [Material.parse("KvK"), KBVK]
    (first, second) = build([KBVK], directory, diary)
    assert diary.begun == [("KvK", 1, 2), ("KBvK", 2, 2)]
    assert diary.finished == ["KvK", "KBvK"]
    assert len(diary.stages) > 1
    assert sorted(os.listdir(directory)) == [LOCK_NAME, "KBvK.r.h5", "KvK.r.h5"]
    assert (first.info.material, second.info.material) == ("KvK", "KBvK")
    assert second.info.bytes == table_path(directory, "KBvK").stat().st_size
    assert second.info.max_depth == 46
    assert second.layers > 20
    assert second.seconds >= sum(second.stages[stage] for stage in ("sub-tables", "write"))
    before, diary = inodes(directory), Diary()
    assert build([KBVK], directory, diary) == []
    assert (diary.begun, diary.notes, inodes(directory)) == ([], [], before)


def test_force_builds_the_named_tables_alone(own: Path) -> None:
    before = inodes(own)
    assert missing([KBVK], own, force=[KBVK]) == [KBVK]
    built = build([KBVK], own, Diary(), force=True)
    assert [table.info.material for table in built] == ["KBvK"]
    after = inodes(own)
    assert {name for name in after if after[name] != before[name]} == {"KBvK"}


@pytest.mark.parametrize("name", ["KvK", "KNvK", "KPvK"])
def test_two_builds_give_the_same_digest(name: str, own: Path) -> None:
    before = digest(own, name)
    for threads in (1, 3):
        build([Material.parse(name)], own, Diary(), force=True, threads=threads)
        assert digest(own, name) == before


def test_accrued_scores_left_out(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All else stays as it is."""
    with TableFile(table_path(own, "KBvK")) as file:
        assert (file.info.accrued, file.info.runs) == (1, 56_507)
        value, depth = file.read_fresh()
    words = ["build", "KBvK", "--force", "--accrued", "none", "--json", "--dir", str(own)]
    (document,) = json.loads(answer(capsys, *words))["built"]
    assert document["accrued"] is False
    with TableFile(table_path(own, "KBvK")) as file:
        file.check()
        assert (file.info.accrued, file.info.runs) == (0, 0)
        assert np.array_equal((value, depth), file.read_fresh())
    (table,) = json.loads(answer(capsys, "info", "KBvK", "--json", "--dir", str(own)))["tables"]
    assert (table["accrued"], table["runs"]) == (False, 0)
    text = answer(capsys, "info", "KBvK", "--dir", str(own))
    assert "accrued runs   left out" in text
    assert f"longest depth  {table['max_depth']} plies" in text.splitlines()
    listed = [line.split() for line in answer(capsys, "info", "--dir", str(own)).splitlines()]
    assert ["left", "out"] in [words[4:6] for words in listed if words[:1] == ["KBvK"]]
    assert ["stored"] in [words[4:5] for words in listed if words[:1] == ["KNvK"]]


def test_accrued_scores_that_are_too_many(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default they are left out where a table has more runs than it may."""
    with TableFile(table_path(own, "KBvK")) as file:
        runs, fresh = file.info.runs, file.info.manifest.fresh
    for most, stored in ((runs - 1, 0), (2 * runs, 1)):
        monkeypatch.setattr(Accrued, "max_runs", lambda *_, most=most: most)
        (built,) = build([KBVK], own, Diary(), force=True)
        assert built.info.accrued == stored
        assert built.info.manifest.fresh == fresh


def test_which_tables_store_accrued_scores() -> None:
    large, small = Material.parse("KBNvKR"), Material.parse("KBNvK")
    assert [choice.max_runs(small) for choice in Accrued] == [None, 0, None]
    assert [choice.max_runs(large) for choice in Accrued] == [None, 0, 10 * 64**4]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KNNvK", "KBPvK", "KPvKP"])
def test_two_builds_of_four_men_give_the_same_digest(name: str, tables: Path, tmp_path: Path) -> None:
    material = Material.parse(name)
    for sub in material.successors():
        shutil.copy(table_path(tables, sub.name), tmp_path)
    build([material], tmp_path, Diary(), threads=3)
    assert digest(tmp_path, name) == digest(tables, name)


def test_a_damaged_sub_table_stops_the_build(own: Path) -> None:
    table_path(own, "KQvK").write_bytes(b"something else")
    table_path(own, "KPvK").unlink()
    with pytest.raises(DamagedTableError, match="tbgen build --force KQvK"):
        build([KPVK], own, Diary())
    assert not table_path(own, "KPvK").exists()
    build([Material.parse("KQvK")], own, Diary(), force=True)
    assert [table.info.material for table in build([KPVK], own, Diary())] == ["KPvK"]


def test_tables_finished_before_a_failure_are_kept(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KNvK", "KPvK"):
        table_path(own, name).unlink()
    replace = os.replace

    def failing(source: Path, target: Path) -> None:
        if "KPvK" in target.name:
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing)
        with pytest.raises(TbgenError, match=r"the disk is full: .*KPvK.* was not written"):
            build([KPVK], own, Diary())
    assert KPVK not in tables_in(own)
    assert Material.parse("KNvK") in tables_in(own)
    diary = Diary()
    build([KPVK], own, diary)
    assert (diary.begun, diary.notes) == ([("KPvK", 1, 1)], [])


def test_too_little_room_is_noticed_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 90, 10))
    with pytest.raises(TbgenError, match="the disk is full: the 2 tables need about"):
        build([KBVK], tmp_path, Diary())
    assert os.listdir(tmp_path) == [LOCK_NAME]


def test_a_disk_that_others_fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has room for all tables at the start, and none when the second is to begin."""
    usage = namedtuple("usage", "total used free")
    free = iter([10**9, 10**9, 10_000])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, next(free)))
    diary = Diary()
    with pytest.raises(TbgenError, match=r"the disk is full: KBvK needs about .* make room and build again"):
        build([KBVK], tmp_path, diary)
    assert (diary.begun, diary.finished) == ([("KvK", 1, 2)], ["KvK"])
    assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KvK.r.h5"]


def test_a_cap_on_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["build", "KBNvK", "--dir", str(tmp_path), "--memory"]
    assert main([*words, "512M"]) == 1
    sentence = capsys.readouterr().err
    assert sentence.startswith("tbgen: KvK needs about ")
    assert sentence.endswith(
        " MiB of memory and --memory allows 512 MiB, and 3 more of the tables to build exceed it: "
        "allow more, build with fewer --threads, or on a larger machine\n"
    )
    assert main([*words, "512M", "--estimate"]) == 1
    output = capsys.readouterr()
    assert "4 tables to build" in output.out
    assert output.err == sentence
    assert os.listdir(tmp_path) == [LOCK_NAME]
    assert "4 tables to build" in answer(capsys, *words, "1T", "--estimate")
    need = estimate(KBVK, threads=1).memory
    with pytest.raises(TbgenError, match=r"^KBvK needs about [\d,]+ MiB of memory and --memory allows"):
        build([KBVK], tmp_path, Diary(), threads=1, memory=need - 1)
    built = build([KBVK], tmp_path, Diary(), threads=1, memory=need)
    assert [table.info.material for table in built] == ["KvK", "KBvK"]


def test_leftovers_are_removed_even_if_nothing_is_missing(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of layers too; where that is not allowed, they stay and nothing is said."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    left = own / f"KBvK.r.G3.5.layer.h5.tmp-{socket.gethostname()}-{ended.pid}-0123abcd"
    left.touch()
    diary = Diary()

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        assert build([KBVK], own, diary) == []
    assert (diary.notes, left.exists()) == ([], True)
    assert build([KBVK], own, diary) == []
    assert (diary.notes, left.exists()) == ([f"removed {left.name}, left by an interrupted build"], False)
    assert not (own / LOCK_NAME).exists()


def test_only_the_command_keeps_memory(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs that build have their own mind on memory, and small tables are not worth it."""
    calls = []
    monkeypatch.setattr(memory, "keep_memory", lambda: calls.append("kept"))
    words = ["build", "KBvK", "--force", "--json", "--dir", str(own)]
    assert main(words) == 0
    monkeypatch.setattr(memory, "_LARGE", 1 << 20)
    build([KBVK], own, Diary(), force=True)
    build_table(KBVK, own, Diary(), 1)
    assert calls == []
    assert main([*words, "--estimate"]) == 0
    assert main(["build", "KBvK", "--dir", str(own)]) == 0
    assert calls == []
    assert main(words) == 0
    assert calls == ["kept"]


def test_a_machine_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda _: 1 << 14)
    with pytest.raises(TbgenError, match=r"this machine has 256 MiB, and 1 more .*: build on a larger one"):
        build([KBVK], tmp_path, Diary())


def test_directories_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    problem = r"(no tables can be written to|is not a directory).* with --dir"
    for directory in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/tables")):
        with pytest.raises(TbgenError, match=problem) as caught:
            build([KBVK], directory, Diary())
        assert caught.value.exit_code == 1
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(TbgenError, match="no tables can be written to"):
            build([KBVK], tmp_path, Diary())
        tmp_path.chmod(0o700)


def test_estimates_grow_with_the_table() -> None:
    small, large = (estimate(Material.parse(name)) for name in ("KBvK", "KBNvK"))
    assert 0 < small.seconds < large.seconds
    assert 0 < small.disk < large.disk
    assert 0 < small.memory < large.memory
    assert estimate(Material.parse("KBNvK"), threads=1).seconds > large.seconds


def test_estimates_know_whether_accrued_scores_are_stored(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default only some tables of five men leave them out."""
    for material in all_materials(5):
        stored, auto, left_out = (
            estimate(material, 2, choice).disk for choice in (Accrued.ALL, Accrued.AUTO, Accrued.NONE)
        )
        assert stored >= auto >= left_out
        assert stored > left_out
        assert material.men == 5 or stored == auto
    words = ["build", "KBvKN", "--dir", str(own), "--accrued"]
    stored, left_out = (
        json.loads(answer(capsys, *words, choice, "--estimate", "--json"))["disk"]
        for choice in ("all", "none")
    )
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, (stored + left_out) // 2))
    assert main([*words, "all"]) == 1
    assert "tbgen: the disk is full: KBvKN needs about" in capsys.readouterr().err
    assert main([*words, "none"]) == 0
    assert table_path(own, "KBvKN").stat().st_size == pytest.approx(left_out, rel=0.4)


# The command


LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (.*)\n")


def logged(error: str) -> list[str]:
    """What a log says, all lines of which have date and time."""
    found = [LOGGED.fullmatch(line) for line in error.splitlines(keepends=True)]
    assert all(found), error
    return [line[1] for line in found if line]


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Standard output of a command that succeeds and says nothing else but what belongs in a log."""
    assert main(words) == 0
    output = capsys.readouterr()
    logged(output.err)
    return output.out


def test_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whole lines with date and time; how far the build is, what it has taken and what is left."""
    assert main(["build", "KBvK", "--accrued", "none", "--dir", str(tmp_path)]) == 0
    left, size, took = r"about [\d.]+ s left", r"[\d.]+ [KMG]iB", r"[\d.]+ s"
    done = rf"done in {took}, {size} without accrued scores, peak memory {size}"
    expected = [
        rf"2 tables to build in {re.escape(str(tmp_path))}: {left}",
        rf"KvK: 1 of 2, begun; {left}",
        rf"KvK: 1 of 2, {done}; ({left}|taking longer than estimated)",
        rf"KBvK: 2 of 2, begun; {left}",
        rf"KBvK: 2 of 2, {done}",
        rf"2 tables built in {took}, {size}, peak memory {size}",
    ]
    lines = logged(capsys.readouterr().err)
    assert len(lines) == len(expected)
    for line, pattern in zip(lines, expected, strict=True):
        assert re.fullmatch(pattern, line), line


def test_the_log_of_a_table_that_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_ELSEWHERE", 0.0)
    assert main(["build", "KvK", "--dir", str(tmp_path)]) == 0
    lines = logged(capsys.readouterr().err)
    stage = (
        r"KvK: 1 of 1, (reading sub-tables|phases 1 of 1|writing|layer( \d+)?), at work for [\d.]+ s; .* left"
    )
    assert len([line for line in lines if re.fullmatch(stage, line)]) > 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line that is rewritten and removed, and the sum at the end."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["build", "KvK", "--dir", str(tmp_path)]) == 0
    shown = terminal.getvalue().split("\r")
    assert shown[0] == ""
    assert shown[1].startswith("KvK: 1 of 1, ")
    assert shown[-2].strip() == ""
    assert re.fullmatch(r"1 table built in .*, peak memory .*\n", shown[-1])


def test_a_log_that_cannot_be_written(tmp_path: Path) -> None:
    """The build goes on without it."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "tbgen", "build", "KvK", "--dir", str(tmp_path)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=full, text=True, cwd="/")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    assert tables_in(tmp_path) == all_materials(2)


def test_the_command(tmp_path: Path, three_men: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["build", "kvkb", "--dir", str(tmp_path)]
    title, first, second = answer(capsys, *words).splitlines()
    assert title.split() == ["material", "positions", "layers", "longest", "time", "size"]
    assert first.split()[:5] == ["KvK", "924", "32", "14", "plies"]
    assert second.startswith("KBvK ")
    assert answer(capsys, *words) == f"nothing to build: the tables asked for are in {tmp_path}\n"
    assert len(answer(capsys, *words, "--force").splitlines()) == 2
    assert digest(tmp_path, "KBvK") == digest(three_men, "KBvK")


def test_the_command_in_json(tmp_path: Path, three_men: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["build", "--men", "2", "KNvK", "--json", "--threads", "1", "--dir", str(tmp_path)]
    document = json.loads(answer(capsys, *words))
    assert document["directory"] == str(tmp_path)
    assert [table["material"] for table in document["built"]] == ["KvK", "KNvK"]
    table = document["built"][1]
    assert table["digest"] == digest(three_men, "KNvK")
    assert table["bytes"] == table_path(tmp_path, "KNvK").stat().st_size
    assert (table["positions"], table["max_depth"]) == (53_806, 44)
    assert table["peak_memory"] > 10 << 20
    assert set(table["stages"]) >= {"sub-tables", "write"}
    assert json.loads(answer(capsys, *words)) == {"directory": str(tmp_path), "built": []}


def test_an_estimate_builds_nothing(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = own / "absent"
    lines = answer(capsys, "build", "--men", "4", "--estimate", "--dir", str(absent)).splitlines()
    assert lines[0].split() == ["material", "time", "memory", "disk"]
    assert len(lines) == 38
    assert lines[-1].startswith("36 tables to build: about ")
    assert not absent.exists()
    before = sorted(os.listdir(own))
    assert "0 tables to build" in answer(capsys, "build", "KBvK", "--estimate", "--dir", str(own))
    words = ["build", "KBvK", "KBNvK", "--force", "--estimate", "--json", "--dir", str(own)]
    document = json.loads(answer(capsys, *words))
    assert [table["material"] for table in document["tables"]] == ["KBvK", "KBNvK"]
    assert document["disk"] == sum(table["disk"] for table in document["tables"])
    assert document["memory"] == max(table["memory"] for table in document["tables"])
    assert sorted(os.listdir(own)) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["KXvK"], "not a material name"),
        (["KBBNNvK"], "at most 5"),
        (["KKvK"], "exactly one king"),
        (["--men", "6"], "2 to 5 men"),
        (["--men", "1"], "2 to 5 men"),
        (["--men", "x"], "--men"),
        (["KBvK", "--threads", "0"], "at least 1"),
        (["KBvK", "--accrued", "some"], "choose from"),
        *(
            (["KBvK", f"--memory={size}"], "is not a size")
            for size in ("12", "0G", "-1G", "G", "1e3M", "12Gi B")
        ),
        ([], "nothing to build"),
        (["KBvK", "--nonsense"], "--nonsense"),
    ],
)
def test_bad_input(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "tables"
    assert main(["build", *words, "--dir", str(directory)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tbgen: ")
    assert error.count("\n") == 1
    assert sentence in error
    assert not directory.exists()


# Processes

SCRIPT = """
import os, signal, sys, time
import h5py
from tbgen.cli import entry_point

def stop():
    print("stopped", flush=True)
    {action}

replace, create = os.replace, h5py.Group.create_dataset

def replacing(source, target):
    if "{material}" in str(target) and "{moment}" == "replace":
        stop()
    replace(source, target)

def creating(group, name, *rest, **options):
    if "{material}" in group.file.filename and name == "{moment}":
        stop()
    return create(group, name, *rest, **options)

os.replace, h5py.Group.create_dataset = replacing, creating
entry_point()
"""


@contextlib.contextmanager
def process(*words: str, script: str = "", **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A build as a process of its own: the command, or a script around it.

    Started elsewhere, it finds the package where these tests do.
    """
    command = [sys.executable, *(["-c", script] if script else ["-m", "tbgen"]), "build", *words]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd="/",
        **options,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def stopping(material: str, moment: str, action: str) -> str:
    return SCRIPT.format(material=material, moment=moment, action=action)


def wait_for(running: subprocess.Popen[str], word: str) -> None:
    assert running.stdout
    for line in running.stdout:
        if line.startswith(word):
            return
    raise AssertionError(running.stderr.read() if running.stderr else "")


def end(running: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and standard error."""
    _, error = running.communicate(timeout=60)
    return running.returncode, error


@pytest.mark.parametrize(
    ("moment", "accrued"),
    [("value", "all"), ("accrued/rank", "all"), ("ep/depth", "none"), ("replace", "all")],
)
def test_a_killed_build_leaves_no_half_table(
    moment: str, accrued: str, three_men: Path, tmp_path: Path
) -> None:
    """Whenever it is killed: the leftover is no table, and the next build removes it and goes on."""
    script = stopping("KBvK", moment, "os.kill(os.getpid(), signal.SIGKILL)")
    with process("KBvK", "--accrued", accrued, "--dir", str(tmp_path), script=script) as running:
        code, error = end(running)
    assert code == -signal.SIGKILL
    assert logged(error)[-1].startswith("KBvK: 2 of 2, begun; ")
    (leftover,) = tmp_path.glob("*.tmp-*")
    assert leftover.name.startswith("KBvK.r.h5.tmp-")
    assert tables_in(tmp_path) == [Material.parse("KvK")]
    if moment != "replace":
        with pytest.raises(TbgenError, match=r"interrupted|damaged|truncated"):
            TableFile(leftover)
    diary = Diary()
    build([KBVK], tmp_path, diary)
    assert diary.begun == [("KBvK", 1, 1)]
    assert [note for note in diary.notes if leftover.name in note and note.startswith("removed ")]
    assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KBvK.r.h5", "KvK.r.h5"]
    assert digest(tmp_path, "KBvK") == digest(three_men, "KBvK")


def test_builds_killed_again_and_again(three_men: Path, tmp_path: Path) -> None:
    """At whatever moment: finished tables stay, and in the end all are there and right."""
    rng, finished = random.Random(0), 0
    for _ in range(6):
        with process("--men", "3", "--dir", str(tmp_path)) as running:
            assert running.stderr
            next((line for line in running.stderr if "begun" in line), "")
            time.sleep(rng.uniform(0, 0.15))
            running.kill()
            output, _ = running.communicate()
        there = [material.name for material in tables_in(tmp_path)]
        assert all(digest(tmp_path, name) == digest(three_men, name) for name in there)
        assert len(there) >= finished
        finished = len(there)
        assert {line.split()[0] for line in output.splitlines() if "plies" in line} <= {*there}
    diary = Diary()
    build(all_materials(3), tmp_path, diary)
    assert len(diary.finished) == 6 - finished
    assert sorted(os.listdir(tmp_path)) == sorted(
        [LOCK_NAME, *(f"{material}.r.h5" for material in all_materials(3))]
    )
    assert all(digest(tmp_path, m.name) == digest(three_men, m.name) for m in all_materials(3))


def test_a_build_killed_while_its_file_grows(own: Path) -> None:
    """From outside, with most of the file still to be written."""
    material = Material.parse("KBvKN")
    with process("KBvKN", "--dir", str(own)) as running:
        while not any(path.stat().st_size for path in own.glob("*.tmp-*")):
            assert running.poll() is None
            time.sleep(0.002)
        running.kill()
        assert end(running)[0] == -signal.SIGKILL
    (leftover,) = own.glob("KBvKN.r.h5.tmp-*")
    assert 0 < leftover.stat().st_size < estimate(material).disk
    assert material not in tables_in(own)
    diary = Diary()
    (built,) = build([material], own, diary)
    assert [note for note in diary.notes if leftover.name in note]
    assert digest(own, "KBvKN") == built.info.digest
    assert not list(own.glob("*.tmp-*"))


@pytest.mark.parametrize(
    ("moment", "number", "said"),
    [
        ("solving", signal.SIGINT, "interrupted"),
        ("value", signal.SIGINT, "interrupted"),
        ("replace", signal.SIGINT, "interrupted"),
        ("solving", signal.SIGTERM, "terminated"),
        ("replace", signal.SIGTERM, "terminated"),
    ],
)
def test_an_interrupted_build(
    moment: str, number: signal.Signals, said: str, three_men: Path, tmp_path: Path
) -> None:
    """Ctrl-C, or SIGTERM, while layers are being solved or a file is being written."""
    script = "" if moment == "solving" else stopping("KQvKR", moment, "time.sleep(60)")
    with process("KQvKR", "--dir", str(tmp_path), script=script) as running:
        wait_for(running, "KRvK" if moment == "solving" else "stopped")
        time.sleep(0.3)
        running.send_signal(number)
        code, error = end(running)
    assert (code, error.splitlines()[-1]) == (128 + number, f"tbgen: {said}")
    sums = logged(error.removesuffix(f"tbgen: {said}\n"))[-1]
    assert re.fullmatch(r"stopped: 3 of 4 tables built in .*; the same command goes on from there", sums)
    assert set(tables_in(tmp_path)) == {*all_materials(2), *map(Material.parse, ("KQvK", "KRvK"))}
    assert not list(tmp_path.glob("*.tmp-*"))


def test_a_file_system_without_locks(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build says so and goes on; whoever else may be at work, tables appear whole."""

    def without(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without)
    table_path(own, "KBvK").unlink()
    diary = Diary()
    build([KBVK], own, diary)
    assert diary.finished == ["KBvK"]
    assert diary.notes == [f"{own} has no file locks: see to it that no other build is at work there"]


def test_two_builds_at_once(three_men: Path, tmp_path: Path) -> None:
    """The second waits, says for whom, and finds everything done."""
    script = stopping("KBvK", "replace", "sys.stdin.readline()")
    words = ["KBvK", "--dir", str(tmp_path)]
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(process(*words, script=script))
        wait_for(first, "stopped")
        second = stack.enter_context(process(*words))
        assert second.stderr
        sentence = second.stderr.readline()
        waiting = f"another build is at work in {tmp_path} (process {first.pid}): waiting for it"
        assert logged(sentence) == [waiting]
        assert second.poll() is None
        assert first.stdin
        first.stdin.write("\n")
        first.stdin.flush()
        assert end(first)[0] == 0
        output, error = second.communicate(timeout=60)
        assert (second.returncode, error) == (0, "")
        assert output == f"nothing to build: the tables asked for are in {tmp_path}\n"
    assert digest(tmp_path, "KBvK") == digest(three_men, "KBvK")


def test_a_file_size_limit(three_men: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    with process("KBvK", "--dir", str(tmp_path), preexec_fn=limit) as running:
        code, error = end(running)
    assert code == 1
    *log, sentence = error.splitlines(keepends=True)
    assert logged("".join(log))[-1].startswith("stopped: 1 of 2 tables built in ")
    assert sentence.startswith(f"tbgen: {table_path(tmp_path, 'KBvK')} could not be written: File too large")
    assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KvK.r.h5"]


def test_a_full_disk(three_men: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fills up after the build has found it roomy enough."""
    monkeypatch.setattr("tbgen.generator.runner.check_disk", lambda *_: None)
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, 48):
        with pytest.raises(TbgenError, match=r"the disk is full: .*KBvK.* was not written") as caught:
            build([KBVK], disk, Diary())
        assert caught.value.exit_code == 1
        assert sorted(os.listdir(disk)) == [LOCK_NAME, "KvK.r.h5"]
    with small_disk(disk, 20):
        assert main(["build", "KBvK", "--dir", str(disk)]) == 1
