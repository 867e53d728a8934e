"""README.md and the pages of docs show what the commands print: the examples are run, and only times
and sizes may differ."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tbgen.cli.main import COMMANDS
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"

PAGES = "\n".join(
    [README, *((DOCS / name).read_text() for name in ("tour.md", "referee.md", "scoring.md", "report.md"))]
)
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)
EXAMPLES = [
    tuple(example.split("\n", 1)) for block in BLOCKS for example in re.split(r"^\$ ", block, flags=re.M)[1:]
]
"""Commands and what they print; ``...`` stands for anything."""

MACHINE = re.compile(r"\d+(\.\d+)? (s|KiB|MiB|GiB)\b|\d+ min \d+ s|\btbgen \d+\.\d+\.\d+")
"""What depends on the machine, on the version of zlib, and on the tbgen that has built the tables."""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TBGEN_DIR", raising=False)
    return tmp_path


def same(shown: str, printed: str) -> bool:
    """Whether two outputs are the same but for times, sizes, white space and what is left out."""
    masked = [MACHINE.sub("SOME", text) for text in (shown, printed)]
    return doctest.OutputChecker().check_output(*masked, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command[:40] for command, _ in EXAMPLES])
def test_commands(command: str, shown: str, directory: Path, request: pytest.FixtureRequest) -> None:
    (directory / "docs").symlink_to(DOCS)
    (directory / "tests").symlink_to(ROOT / "tests")
    fixture = "whole_game_tables" if "--rules wg" in command else "tables"
    if not command.startswith("tbgen build"):
        (directory / "data").symlink_to(request.getfixturevalue(fixture))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment)
    assert same(shown, done.stdout), done.stdout + done.stderr


def test_python(directory: Path, tables: Path) -> None:
    (directory / "data").symlink_to(tables)
    (directory / "docs").symlink_to(DOCS)
    (directory / "tests").symlink_to(ROOT / "tests")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", None, None)
    assert test.examples
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_every_command_has_an_example() -> None:
    assert [name for name in COMMANDS if not re.search(rf"^(\$ )?tbgen {name}\b", README, re.M)] == []
    assert len(README.split()) <= 1300


def test_no_example_is_lost() -> None:
    assert len(EXAMPLES) == PAGES.count("\n$ ") >= 10
    assert same("about 3 s\n", "about 4.2 s\n")
    assert not same("3 positions, 3 s\n", "4 positions, 3 s\n")
