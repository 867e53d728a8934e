"""Damaged flat files give error codes: no crash, and no wrong answer."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.native.conftest import PACKED, THREE
from tests.support.exhaustive import sample
from tests.support.native import NATIVE, SANITIZED, answers, compiled

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


@pytest.fixture
def writable(three: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(three / "flat", tmp_path / "flat"))


@pytest.fixture
def packed_ones(some_packed: Path, tmp_path: Path) -> Path:
    """Small packed tables, and what they rest on."""
    (place := tmp_path / "packed").mkdir()
    for name in {*THREE, *PACKED} - {"KPvKP"}:
        shutil.copy(some_packed / "flat" / f"{name}.r.flat", place)
    return place


def fuzzed(place: Path, flat: Path, rounds: int, name: str, *options: str) -> int:
    """Damage files again and again with the sanitizers of a compiler looking on; return how many answers were
    errors."""
    program = compiled(place / "fuzz", NATIVE / "fuzz.c", [*SANITIZED, *options], [name])
    done = subprocess.run([program, flat, str(rounds), "1"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found = re.fullmatch(r"(\d+) rounds, \d+ answers, (\d+) of them errors\n", done.stdout)
    assert found
    assert int(found[1]) == rounds
    return int(found[2])


@pytest.mark.parametrize("name", ["clang", "gcc"])
def test_damage_is_noticed(name: str, writable: Path, packed_ones: Path, tmp_path: Path) -> None:
    """More than a thousand flipped bytes, and dozens of files that are cut off."""
    for place, rounds in ((writable, sample(280, 10_000)), (packed_ones, sample(140, 5_000))):
        before = {path.name: path.read_bytes() for path in place.iterdir()}
        assert fuzzed(tmp_path, place, rounds, name) > rounds
        assert {path.name: path.read_bytes() for path in place.iterdir()} == before


@pytest.mark.parametrize("name", ["clang", "gcc"])
def test_what_gets_past_the_checksums_stays_within_memory(
    name: str, packed_ones: Path, tmp_path: Path
) -> None:
    assert fuzzed(tmp_path, packed_ones, sample(200, 10_000), name, "-DTBGEN_FUZZING") > 50


def test_a_damaged_file_is_an_error_only_of_its_positions(probe: Path, writable: Path) -> None:
    path = writable / "KBvK.r.flat"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = subprocess.run([probe, "--check", writable], input="", capture_output=True, text=True)
    assert (done.returncode, done.stderr.split(":")[:2]) == (1, ["probe", " KBvK"])
    assert answers(probe, writable, ["8/8/8/4KQk1/8/8/8/8 b - - 0 1"])[0][0] in "G-"
    path.write_bytes(data[:5000])
    assert answers(probe, writable, [BISHOP])[0].startswith("error: KBvK: a table that this takes is damaged")


def test_sound_files_pass_the_check(probe: Path, three: Path) -> None:
    assert answers(probe, three / "flat", [], "--check") == []


def test_a_file_under_another_name_is_refused(probe: Path, writable: Path) -> None:
    (writable / "KNvK.r.flat").replace(writable / "KBvK.r.flat")
    assert "damaged" in answers(probe, writable, [BISHOP])[0]
    assert len(list(writable.iterdir())) == len(THREE) - 1
