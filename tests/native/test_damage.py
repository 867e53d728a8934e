"""Damaged flat files give error codes: no crash, and no wrong answer."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.native.conftest import PACKED, THREE, Build
from tests.support.native import COMPILERS, NATIVE, SANITIZED, answers, compiled, run

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


@pytest.fixture
def writable(few: Path, tmp_path: Path) -> Path:
    """Small tables, one of which is packed."""
    (place := tmp_path / "flat").mkdir()
    for name in THREE:
        shutil.copy(few / "flat" / f"{name}.r.flat", place)
    return place


def fuzzed(
    place: Path, rounds: int, build: Build, options: Sequence[str] = (), compilers: Sequence[str] = COMPILERS
) -> int:
    """Damage files again and again, and put them right, with the sanitizers of a compiler looking on; return
    how many answers were errors."""
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    program = build(place.with_name("fuzz"), NATIVE / "fuzz.c", (*SANITIZED, *options), tuple(compilers))
    found = re.fullmatch(
        rf"{rounds} rounds, \d+ answers, (\d+) of them errors\n", run(program, place, str(rounds), "1")
    )
    assert found
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    return int(found[1])


def test_damage_is_noticed(build: Build, writable: Path) -> None:
    """Hundreds of flipped bytes, and some files that are cut off."""
    assert fuzzed(writable, 60, build) > 60


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["clang", "gcc"])
@pytest.mark.parametrize(("options", "least"), [(("-O1",), 1_200), (("-O1", "-DTBGEN_FUZZING"), 10)])
def test_damage_of_packed_tables_stays_within_memory(
    name: str, options: tuple[str, ...], least: int, some_packed: Path, writable: Path
) -> None:
    """Also what gets past the checksums."""
    for each in {*THREE, *PACKED} - {"KPvKP"}:
        shutil.copy(some_packed / "flat" / f"{each}.r.flat", writable)
    assert fuzzed(writable, 2_500, compiled, options, [name]) > least


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
