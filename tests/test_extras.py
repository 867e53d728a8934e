"""Without its extras tbgen builds, probes, verifies, adjudicates, tags and scores."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tbgen import extras
from tbgen.extras import MissingExtraError, install_command, needs_extra
from tests.support.exhaustive import exhaustive
from tests.support.paths import DATA, ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def name_of(entry: str) -> str:
    """A package as it is imported."""
    return re.split(r"[<>=~]", entry)[0].replace("-", "_")


PACKAGES = sorted(name_of(entry) for name, entries in EXTRAS.items() if name != "all" for entry in entries)
COMMANDS = f"""
import io, json, sys
sys.modules.update(dict.fromkeys({PACKAGES}))  # none of them can be imported
from tbgen.cli.main import main
answers = []
for words in json.loads(sys.argv[1]):
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    answers.append([main(words), *(each.buffer.getvalue().decode() for each in (sys.stdout, sys.stderr))])
json.dump(answers, sys.__stdout__)
"""
GAMES = str(DATA / "g01_exp_default.pgn")
ENGINES = ["--each", "depth=1", "--engine", "cmd=sh", "name=A", "--engine", "cmd=sh", "name=B"]
KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


def run(place: Path, commands: list[list[str]]) -> Iterator[tuple[list[str], int, str, str]]:
    """Commands of one process without extras, with their exit codes and what they print and say."""
    environment = {**os.environ, "TBGEN_DIR": str(place / "tables"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", COMMANDS, json.dumps(commands)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, env=environment)
    assert done.returncode == 0, done.stderr
    for words, answer in zip(commands, json.loads(done.stdout), strict=True):
        yield words, *answer


def test_all_extras_in_one() -> None:
    (entry,) = EXTRAS["all"]
    assert set(entry.removeprefix("tbgen[").removesuffix("]").split(",")) == set(EXTRAS) - {"all"}


@pytest.mark.exhaustive
def test_what_tbgen_does_alone(tmp_path: Path) -> None:
    expected = {
        "build": (["KBvK"], "KBvK"),
        "probe": ([KBK, "--line"], "G1.5"),
        "verify": (["KBvK"], "proved"),
        "adjudicate": ([KBK], "G1.5"),
        "tag": ([GAMES, "-"], "RMobilityResult"),
        "score": ([GAMES, "--format", "json"], "greedy"),
        "info": (["--manifest"], "KBvK"),
        "report": (["KvK", "--json"], '"records"'),
    }
    for words, code, printed, said in run(tmp_path, [[name, *expected[name][0]] for name in expected]):
        assert (code, expected[words[0]][1] in printed) == (0, True), said


def test_what_needs_an_extra(three_men: Path, tmp_path: Path) -> None:
    """One sentence with the command that brings it, and nothing is left behind; a page is without plots."""
    (tmp_path / "tables").symlink_to(three_men)
    scheduler = ["--scheduler", "tcp://127.0.0.1:1"]
    needed = [
        ("report", ["report", "KvK", "--out", "site"]),
        ("zstd", ["tag", GAMES, "out.pgn.zst"]),
        ("zstd", ["score", "games.pgn.zst"]),
        ("cluster", ["build", "KBvK", *scheduler]),
        ("cluster", ["solve", KBK, "--cells", "cells", *scheduler]),
        ("match", ["match", "--pgn", "games.pgn", "--tournament", "swiss", *ENGINES]),
    ]
    (tmp_path / "games.pgn.zst").write_bytes(b"(\xb5/\xfd")
    page = ["score", GAMES, "--format", "html"]
    *answers, (_, code, printed, said) = run(tmp_path, [*(words for _, words in needed), page])
    assert (code, "<h2>Standings</h2>" in printed, "<figure" in printed) == (0, True, False)
    assert re.fullmatch(r"tbgen: the page is without plots: a plot needs the package matplotlib .*\n", said)
    for (extra, _), (words, code, printed, said) in zip(needed, answers, strict=True):
        assert (code, printed) == (1, ""), words
        assert f" (extra {extra}), which is not installed: " in said
        packages = extras.packages_of(extra)
        assert said.endswith(f": {install_command(packages)}\n")
        assert {name_of(each) for each in packages} == {name_of(each) for each in EXTRAS[extra]} != set()
        assert said.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"tables", "games.pgn.zst"}


@pytest.mark.parametrize("tool", exhaustive(["venv", "venv --without-pip", "uv venv"]))
def test_the_command_that_is_named_installs(tool: str, tmp_path: Path) -> None:
    """In an environment of each kind, by a shell that has not activated it."""
    if not shutil.which(tool.partition(" ")[0]) and tool.startswith("uv"):
        pytest.skip("needs uv")
    make = tool.split() if tool.startswith("uv") else [sys.executable, "-m", *tool.split()]
    subprocess.run([*make, str(tmp_path / "own one")], check=True, capture_output=True)
    python, environment = tmp_path / "own one" / "bin" / "python", os.environ | {"PYTHONPATH": str(ROOT)}

    def answer(program: str) -> str:
        said = subprocess.run([python, "-c", program], capture_output=True, text=True, env=environment)
        return said.stdout.strip()

    command = answer("from tbgen.extras import install_command; print(install_command(['zstandard>=0.23']))")
    subprocess.run(command, shell=True, check=True, capture_output=True, cwd=tmp_path)
    assert answer("import zstandard; print(zstandard.__file__)").startswith(str(tmp_path))


def test_which_tool_installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"pipx", "uv", "pip", "ensurepip"}
    monkeypatch.setattr(extras, "find_spec", lambda name: name if name in there else None)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/a b/python")
    (tmp_path / "pipx_metadata.json").touch()
    for tool, command in {
        "pipx": "pipx inject tbgen 'x>=1'",
        "pip": "'/a b/python' -m pip install 'x>=1'",
        "uv": "uv pip install --python '/a b/python' 'x>=1'",
        "ensurepip": "'/a b/python' -m ensurepip && '/a b/python' -m pip install 'x>=1'",
        "": "python3 -m pip --python '/a b/python' install 'x>=1'",
    }.items():
        assert install_command(["x>=1"]) == command
        there.discard(tool)


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named by what an import lacks; a module that tbgen itself lacks is another matter."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with (
        pytest.raises(MissingExtraError, match=r"^a \.zst needs the package zstandard \(extra zstd\)"),
        needs_extra("a .zst", "zstd"),
    ):
        importlib.import_module("zstandard")
    with pytest.raises(ModuleNotFoundError), needs_extra("a report", "report"):
        importlib.import_module("tbgen.absent")
    monkeypatch.setattr("importlib.metadata.requires", lambda _: None)
    assert str(MissingExtraError("a file", "zstandard", "zstd")).endswith(" zstandard")


def test_a_package_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the variables of the package, if any are set."""
    with pytest.raises(ValueError, match="size changed") as caught:
        exec("raise ValueError('numpy.dtype size changed.')", {"__name__": "unsound"})
    assert str(extras.settings_error(caught.value)).endswith(" size changed): install it again")
    monkeypatch.setenv("UNSOUND_SIZE", "9")
    assert str(extras.settings_error(caught.value)).endswith(" size changed): correct or unset UNSOUND_SIZE")
