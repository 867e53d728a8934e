"""``make -C native`` and CMake build what docs/native.md says."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.native import MINGW, NATIVE, compiler, run
from tests.support.paths import ROOT

SOURCES = {
    *("tbgen.h", "tbgen.c", "probe.c", "speed.c", "fuzz.c", "example.cpp", "Makefile", "CMakeLists.txt"),
}
BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


def needs(program: str) -> None:
    compiler()
    if not shutil.which(program):
        pytest.skip(f"there is no {program}")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the folder without what has been built there."""
    target = tmp_path / "native"
    target.mkdir()
    for name in SOURCES:
        shutil.copy(NATIVE / name, target)
    return target


def test_make(source: Path, three: Path, tmp_path: Path) -> None:
    """And then the program of the page, beside the folder, by its commands, as an engine's author would."""
    for program in ("make", "c++", "g++"):
        needs(program)
    run("make", "-C", source, "all", "CFLAGS=-O0 -Werror", "CXXFLAGS=-O0 -Werror")
    assert run(source / "probe", three / "flat", given=f"{BISHOP}\n") == "G1.5 4\n"
    assert run(source / "example", three / "flat", BISHOP).splitlines() == [
        *("value G1.5 in 4 plies", "g5h5 keeps it", "g5h4 keeps it", "g5h6 keeps it")
    ]
    assert run(source / "speed", three / "flat", given=f"{BISHOP}\n" * 10).startswith(
        "10 positions, 0 failed: "
    )
    page = (ROOT / "docs" / "native.md").read_text()
    program, _, commands, *_ = page.split("```cpp\n")[1].split("```")
    (tmp_path / "mine.cpp").write_text(program)
    (tmp_path / "flat").symlink_to(three / "flat")
    commands = commands.strip().replace("g++", "g++ -Wall -Wextra -Werror")
    told = run("sh", "-c", f"cd {shlex.quote(str(tmp_path))}\n{commands}")
    assert f"It prints `{told.strip()}`." in page
    assert told.strip() == "G1.5 in 4 plies"
    run("make", "-C", source, "clean")
    assert {path.name for path in source.iterdir()} == SOURCES


@pytest.mark.slow
@pytest.mark.exhaustive
def test_cmake(source: Path, three: Path, tmp_path: Path) -> None:
    needs("cmake")
    run("cmake", "-S", source, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "probe", three / "flat", given=f"{BISHOP}\n") == "G1.5 4\n"
    program = (ROOT / "docs" / "native.md").read_text().split("```cpp\n")[1].split("```")[0]
    (tmp_path / "mine.cpp").write_text(program)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(mine LANGUAGES C CXX)\nadd_subdirectory(native)\n"
        "add_executable(mine mine.cpp)\ntarget_link_libraries(mine PRIVATE tbgen)\n"
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "other", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    run("cmake", "--build", tmp_path / "other")
    assert "-O2" in (tmp_path / "other" / "compile_commands.json").read_text()
    (tmp_path / "flat").symlink_to(three / "flat")
    told = subprocess.run([tmp_path / "other" / "mine"], cwd=tmp_path, capture_output=True, text=True)
    assert told.stdout == "G1.5 in 4 plies\n"


def test_the_library_stays_small() -> None:
    """At most 2,100 lines of 110 characters, and an example of fifty."""
    lines = [line for name in ("tbgen.h", "tbgen.c") for line in (NATIVE / name).read_text().splitlines()]
    assert len(lines) <= 2100
    assert max(map(len, lines)) <= 110
    assert len((NATIVE / "example.cpp").read_text().splitlines()) <= 50


def test_windows(source: Path) -> None:
    """The command of docs/native.md builds all for Windows, by MinGW, and ``clean`` removes it."""
    for program in (MINGW, MINGW.replace("gcc", "g++")):
        needs(program)
    command = re.search(r"^make -C native (all CC=.*)$", (ROOT / "docs" / "native.md").read_text(), re.M)
    assert command
    run("make", "-C", source, *shlex.split(command[1]), "CFLAGS=-O0 -Werror", "CXXFLAGS=-O0 -Werror")
    for name in ("probe", "speed", "fuzz", "example"):
        assert (source / f"{name}.exe").read_bytes()[:2] == b"MZ"
    run("make", "-C", source, "clean")
    assert {path.name for path in source.iterdir()} == SOURCES
