"""The examples of README.md and of pages of docs print what they show; only times and sizes may differ."""

import doctest
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from pkgutil import resolve_name
from unittest.mock import MagicMock, create_autospec

import pytest

import tbgen
from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.main import COMMANDS, main
from tbgen.games.outcome import Outcome
from tbgen.generator import build
from tests.support.builds import Silent
from tests.support.exhaustive import exhaustive
from tests.support.paths import ROOT
from tests.support.script_modules import load_script

Capture = pytest.CaptureFixture[str]
README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
SCRIPT = load_script("check_install")
"""Reads and compares examples in the same way where tbgen is installed."""
examples, same = SCRIPT.examples, SCRIPT.same

PAGES = "\n".join((DOCS / name).read_text() for name in ("tour.md", "referee.md", "scoring.md", "report.md"))

SHOWN: defaultdict[str, list[str]] = defaultdict(list)
"""Outputs shown on pages of docs, by command."""
for command, printed in examples(PAGES):
    SHOWN[command].append(printed)

PYTHON = {
    path.name: blocks
    for path in (ROOT / "README.md", *DOCS.glob("*.md"))
    if (blocks := re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL))
}
"""Examples in Python by page: with the answers shown, which each page must explain by itself, or without."""

pytestmark = pytest.mark.usefixtures("no_plots")
COMMAND = re.compile(r"((?P<before>.*) \| )?tbgen (?P<words>.*?)( (?P<joint>\||&&) (?P<after>.*))?")
"""A command of tbgen, and the commands of the shell before and after it."""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the files that examples name, except tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TBGEN_DIR", raising=False)
    for name in ("docs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def is_dear(command: str) -> bool:
    """Return whether a command takes seconds; other tests check its answers."""
    return bool(re.match(r"tbgen (solve|report KBBvK)", command))


@pytest.mark.parametrize("whole", [False, *exhaustive([True])])
def test_readme_from_top_to_bottom(
    whole: bool, directory: Path, tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Commands run in a directory with the results of the demo and of earlier commands."""
    demo = re.findall(r"^show (tbgen build .*)$", (ROOT / "scripts" / "demo").read_text(), re.MULTILINE)
    assert len(demo) == 1
    for command, shown in [*((each, "...") for each in demo), *examples(README)]:
        if command == "tbgen build --men 4" and not whole:  # these are its tables
            shutil.rmtree(directory / "data")
            (directory / "data").symlink_to(tables)
        elif whole or not is_dear(command):
            check(command, [shown], monkeypatch, capsys)


@pytest.mark.parametrize(
    "command",
    [*(each for each in SHOWN if not is_dear(each)), *exhaustive(sorted(filter(is_dear, SHOWN)))],
    ids=lambda command: command[:40],
)
def test_commands(
    command: str,
    directory: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    if not command.startswith("tbgen build"):
        if "--rules wg" in command:
            build([Material.parse("KPvK")], directory / "data", Silent(), variant=Variant.WHOLE_GAME)
        else:
            (directory / "data").symlink_to(request.getfixturevalue("tables"))
    check(command, SHOWN[command], monkeypatch, capsys)


def check(command: str, shown: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Run a command of tbgen in this process, and those before and after it in the shell."""
    parts = COMMAND.fullmatch(command)
    assert parts, command
    monkeypatch.setattr(sys, "stdin", io.StringIO(shell(parts["before"] or "")))
    capsys.readouterr()
    main(shlex.split(parts["words"]))
    printed, said = capsys.readouterr()
    if parts["after"]:
        after = shell(parts["after"], printed)
        printed = after if parts["joint"] == "|" else printed + after
    for text in shown:
        assert same(text, printed), printed + said


def shell(command: str, sent: str = "") -> str:
    """Return the output of a command of the shell."""
    return subprocess.run(["bash", "-c", command], input=sent, capture_output=True, text=True).stdout


def test_python(directory: Path, tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solving, which takes minutes, is replaced by functions that have the same parameters."""
    (directory / "data").symlink_to(tables)
    for name, blocks in PYTHON.items():
        shown = "\n".join(each for each in blocks if each.startswith(">>>"))
        test, said = doctest.DocTestParser().get_doctest(shown, {}, name, None, None), list[str]()
        assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)
        with monkeypatch.context() as patch:
            for place, answer in (
                ("tbgen.solve", tbgen.Solution),
                ("tbgen.games.referee.adjudicate", Outcome),
            ):
                replaced = create_autospec(resolve_name(place), return_value=MagicMock(spec=answer))
                patch.setattr(place, replaced)
            for plain in (each for each in blocks if not each.startswith(">>>")):
                exec(compile(plain, name, "exec"), {})


def test_every_command_has_an_example() -> None:
    assert [name for name in COMMANDS if not re.search(rf"^(\$ )?tbgen {name}\b", README, re.M)] == []


def test_no_example_is_lost() -> None:
    assert len(PYTHON) >= 8
    assert len([*examples(README + PAGES)]) == (README + PAGES).count("\n$ ") >= 10
    assert same("about 3 s\n", "about 4.2 s\n")
    assert not same("3 positions, 3 s\n", "4 positions, 3 s\n")
