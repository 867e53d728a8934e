"""Without its extras tbgen builds, probes, verifies, adjudicates, tags and scores."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import DATA, ROOT

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PACKAGES = sorted(
    re.split(r"[<>=~]", entry)[0].replace("-", "_")
    for name, entries in EXTRAS.items()
    if name != "all"
    for entry in entries
)
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
    """One sentence with the command that brings it, and nothing is left behind."""
    (tmp_path / "tables").symlink_to(three_men)
    match = ["match", "--pgn", "games.pgn"]
    needed = [
        ("report", ["report", "KvK", "--out", "site"]),
        ("report", ["score", GAMES, "--format", "html"]),
        ("zstd", ["tag", GAMES, "out.pgn.zst"]),
        ("cluster", ["build", "KBvK", "--scheduler", "tcp://127.0.0.1:1"]),
        ("web", ["serve", "--dir", "tables", "--port", "0"]),
        ("match", [*match, "--tournament", "swiss", *ENGINES]),
        ("web", [*match, "--live", "0", *ENGINES]),
    ]
    answers = run(tmp_path, [words for _, words in needed])
    for (extra, _), (words, code, printed, said) in zip(needed, answers, strict=True):
        assert (code, printed) == (1, ""), words
        pattern = rf"tbgen: .* needs \w+, .* install it with: pip install 'tbgen\[{extra}\]'\n"
        assert re.fullmatch(pattern, said), said
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]
