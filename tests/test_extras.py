"""Without its extras tbgen builds, probes, verifies, adjudicates, tags and scores."""

import os
import re
import subprocess
import sys
import tomllib
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
COMMAND = f"""
import sys
sys.modules.update(dict.fromkeys({PACKAGES}))  # none of them can be imported
from tbgen.cli import entry_point
entry_point()
"""
GAMES = str(DATA / "g01_exp_default.pgn")
ENGINES = ["--each", "depth=1", "--engine", "cmd=sh", "name=A", "--engine", "cmd=sh", "name=B"]
KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


def run(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TBGEN_DIR": str(place / "tables"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", COMMAND, *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=place, env=environment)


def test_all_extras_in_one() -> None:
    (entry,) = EXTRAS["all"]
    assert set(entry.removeprefix("tbgen[").removesuffix("]").split(",")) == set(EXTRAS) - {"all"}


def test_what_tbgen_does_alone(tmp_path: Path) -> None:
    for words, said in (
        (["build", "KBvK"], "KBvK"),
        (["probe", KBK, "--line"], "G1.5"),
        (["verify", "KBvK"], "proved"),
        (["adjudicate", KBK], "G1.5"),
        (["tag", GAMES, "-"], "RMobilityResult"),
        (["score", GAMES, "--format", "json"], "greedy"),
        (["info", "--manifest"], "KBvK"),
    ):
        done = run(tmp_path, *words)
        assert (done.returncode, said in done.stdout) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["report", "KvK", "--out", "site"], "report"),
        (["score", GAMES, "--format", "html"], "report"),
        (["tag", GAMES, "out.pgn.zst"], "zstd"),
        (["build", "KBvK", "--scheduler", "tcp://127.0.0.1:1"], "cluster"),
        (["serve", "--dir", "tables", "--port", "0"], "web"),
        (["match", "--pgn", "games.pgn", "--tournament", "swiss", *ENGINES], "match"),
        (["match", "--pgn", "games.pgn", "--live", "0", *ENGINES], "web"),
    ],
)
def test_what_needs_an_extra(words: list[str], extra: str, three_men: Path, tmp_path: Path) -> None:
    """One sentence with the command that brings it, and nothing is left behind."""
    (tmp_path / "tables").symlink_to(three_men)
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout) == (1, "")
    pattern = rf"tbgen: .* needs \w+, .* install it with: pip install 'tbgen\[{extra}\]'\n"
    assert re.fullmatch(pattern, done.stderr), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]
