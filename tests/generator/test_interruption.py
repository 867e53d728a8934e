"""Builds that are killed, interrupted, or not alone."""

import contextlib
import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.generator import build, estimate
from tbgen.generator.lock import LOCK_NAME
from tbgen.store.format import tables_in
from tbgen.store.reader import TableFile
from tests.support.builds import Diary, digest, logged
from tests.support.exhaustive import exhaustive, sample
from tests.support.processes import end, started, stopping, wait_for

pytestmark = pytest.mark.usefixtures("compiled")

KBVK = Material.parse("KBvK")


@pytest.mark.parametrize(
    "moment",
    ["accrued/rank", "replace", *exhaustive(["value", "ep/depth"])],
)
def test_a_killed_build_leaves_no_half_table(moment: str, three_men: Path, tmp_path: Path) -> None:
    """Whenever it is killed: the leftover is no table, and the next build removes it and goes on."""
    script = stopping("KBvK", moment, "os.kill(os.getpid(), signal.SIGKILL)")
    with started("-c", script, "build", "KBvK", "--dir", str(tmp_path)) as running:
        code, error = end(running)
    assert code == -signal.SIGKILL
    assert logged(error)[-1].startswith("KBvK: 2 of 2, begun; ")
    (leftover,) = tmp_path.glob("*.tmp-*")
    assert leftover.name.startswith("KBvK.r.h5.tmp-")
    assert tables_in(tmp_path, Variant.R_MOBILITY) == [Material.parse("KvK")]
    if moment != "replace":
        with pytest.raises(TbgenError, match=r"interrupted|damaged|truncated"):
            TableFile(leftover)
    diary = Diary()
    build([KBVK], tmp_path, diary, variant=Variant.R_MOBILITY)
    assert diary.begun == [("KBvK", 1, 1)]
    assert [note for note in diary.notes if leftover.name in note and note.startswith("removed ")]
    assert sorted(os.listdir(tmp_path)) == [LOCK_NAME, "KBvK.r.h5", "KvK.r.h5"]
    assert digest(tmp_path, "KBvK") == digest(three_men, "KBvK")


def test_builds_killed_again_and_again(three_men: Path, tmp_path: Path) -> None:
    """At whatever moment: finished tables stay, and in the end all are there and right."""
    rng, finished = random.Random(0), 0
    for _ in range(sample(3, 6)):
        with started("tbgen", "build", "--men", "3", "--dir", str(tmp_path)) as running:
            assert running.stderr
            next((line for line in running.stderr if "begun" in line), "")
            time.sleep(rng.uniform(0, 0.15))
            running.kill()
            output, _ = running.communicate()
        there = [material.name for material in tables_in(tmp_path, Variant.R_MOBILITY)]
        assert all(digest(tmp_path, name) == digest(three_men, name) for name in there)
        assert len(there) >= finished
        finished = len(there)
        assert {line.split()[0] for line in output.splitlines() if "plies" in line} <= {*there}
    diary = Diary()
    build(all_materials(3), tmp_path, diary, variant=Variant.R_MOBILITY)
    assert len(diary.finished) == 6 - finished
    assert sorted(os.listdir(tmp_path)) == sorted(
        [LOCK_NAME, *(f"{material}.r.h5" for material in all_materials(3))]
    )
    assert all(digest(tmp_path, m.name) == digest(three_men, m.name) for m in all_materials(3))


def test_a_build_killed_while_its_file_grows(own: Path) -> None:
    """From outside, with most of the file still to be written."""
    material = Material.parse("KBvKN")
    with started("tbgen", "build", "KBvKN", "--dir", str(own)) as running:
        while not any(path.stat().st_size for path in own.glob("*.tmp-*")):
            assert running.poll() is None
            time.sleep(0.002)
        running.kill()
        assert end(running)[0] == -signal.SIGKILL
    (leftover,) = own.glob("KBvKN.r.h5.tmp-*")
    assert 0 < leftover.stat().st_size < estimate(material, Variant.R_MOBILITY).disk
    assert material not in tables_in(own, Variant.R_MOBILITY)
    diary = Diary()
    (built,) = build([material], own, diary, variant=Variant.R_MOBILITY)
    assert [note for note in diary.notes if leftover.name in note]
    assert digest(own, "KBvKN") == built.info.digest
    assert not list(own.glob("*.tmp-*"))


@pytest.mark.parametrize(
    ("moment", "number", "said"),
    [
        ("solving", signal.SIGINT, "interrupted"),
        ("value", signal.SIGTERM, "terminated"),
        *exhaustive(
            [
                ("value", signal.SIGINT, "interrupted"),
                ("replace", signal.SIGINT, "interrupted"),
                ("solving", signal.SIGTERM, "terminated"),
                ("replace", signal.SIGTERM, "terminated"),
            ]
        ),
    ],
)
def test_an_interrupted_build(
    moment: str, number: signal.Signals, said: str, three_men: Path, tmp_path: Path
) -> None:
    """Ctrl-C, or SIGTERM, while layers are being solved or a file is being written."""
    stop = stopping("KBvKN", moment, "time.sleep(60)")
    program = ["tbgen"] if moment == "solving" else ["-c", stop]
    with started(*program, "build", "KBvKN", "--dir", str(tmp_path)) as running:
        wait_for(running, "KNvK" if moment == "solving" else "stopped")
        time.sleep(0.3)
        running.send_signal(number)
        code, error = end(running)
    assert (code, error.splitlines()[-1]) == (128 + number, f"tbgen: {said}")
    sums = logged(error.removesuffix(f"tbgen: {said}\n"))[-1]
    goes_on = "the same command, without --force, goes on from there"
    assert re.fullmatch(rf"stopped: 3 of 4 tables built in .*; {goes_on}", sums)
    assert set(tables_in(tmp_path, Variant.R_MOBILITY)) == {
        *all_materials(2),
        *map(Material.parse, ("KBvK", "KNvK")),
    }
    assert not list(tmp_path.glob("*.tmp-*"))


def test_two_builds_at_once(three_men: Path, tmp_path: Path) -> None:
    """The second waits, says for whom, and finds everything done."""
    script = stopping("KBvK", "replace", "sys.stdin.readline()")
    words = ["build", "KBvK", "--dir", str(tmp_path)]
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(started("-c", script, *words))
        wait_for(first, "stopped")
        second = stack.enter_context(started("tbgen", *words))
        assert second.stderr
        sentence = second.stderr.readline()
        waiting = f"another build is at work in {tmp_path} (process {first.pid}): waiting for it"
        assert logged(sentence) == [waiting]
        assert second.poll() is None
        assert first.stdin
        first.stdin.write("\n")
        first.stdin.flush()
        assert end(first)[0] == 0
        output, error = second.communicate(timeout=300)
        assert (second.returncode, error) == (0, "")
        assert output == f"nothing to build: the tables asked for are in {tmp_path}\n"
    assert digest(tmp_path, "KBvK") == digest(three_men, "KBvK")
