"""Refusals of commands: an exit code, one sentence of tests/data/refusals.txt, and no other effect."""

import re
import shlex
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.commands import Capture
from tests.support.paths import DATA, KOMI, MATCH
from tests.support.solving import LOCKED, WALL

ROWS: dict[str, list[re.Match[str]]] = {}
"""By command: words, the exit code if it is not 2, and a part of the sentence."""
for paragraph in (DATA / "refusals.txt").read_text().split("\n\n")[1:]:
    command, *lines = paragraph.strip().replace("{MATCH}", MATCH).replace("{NINES}", "9" * 400).split("\n")
    for line in lines:
        unescaped = line.encode().decode("unicode_escape")
        row = re.fullmatch(r"(.*?) ?-> (?:\((\d)\) )?(.*)", unescaped, re.DOTALL)
        assert row, line
        ROWS.setdefault(command.strip("[]"), []).append(row)


@pytest.fixture
def place(reference_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with files for the command lines; tables are elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TBGEN_DIR", str(reference_dir))
    Path("in.pgn").write_bytes(Path(KOMI).read_bytes())
    Path("some.fen").write_text(f"{WALL}\n{LOCKED}\n")
    Path("empty.fen").write_text("\n \n")
    return tmp_path


@pytest.mark.parametrize("commands", ROWS)
def test_what_is_refused(commands: str, place: Path, capsys: Capture) -> None:
    before = {path: path.read_bytes() for path in place.iterdir()}
    for command in commands.split(", "):
        for row in ROWS[commands]:
            words, code, sentence = row.groups()
            assert main([*command.split(), *shlex.split(words)]) == int(code or 2), words
            output = capsys.readouterr()
            assert (output.out, output.err.count("\n")) == ("", 1), words
            assert output.err.startswith("tbgen: "), words
            assert sentence in output.err, words
            assert {path: path.read_bytes() for path in place.iterdir()} == before, words
