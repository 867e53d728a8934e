"""Refusals of commands: an exit code, one sentence of tests/data/refusals.txt, and no other effect."""

import errno
import os
import re
import shlex
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.commands import Capture, failure
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
    Path("tbgen-set.json").symlink_to(os.devnull)
    os.link("in.pgn", "link.pgn")
    return tmp_path


@pytest.mark.usefixtures("place")
def test_directories_that_cannot_be_used(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """One sentence with advice, and one exit code for all commands that read tables."""

    def refuse(path: object, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        for command in ("serve", "engine", "report KvK --out x", "probe 8/8/8/4KBk1/8/8/8/8_b"):
            sentence = "tbgen: x/y cannot be read: Permission denied; choose another with --dir\n"
            assert failure(capsys, 2, *command.split(), "--dir", "x/y") == sentence
    monkeypatch.setattr(Path, "is_file", refuse)
    sentence = "tbgen: x/index.html: Permission denied; change its permissions, or choose another\n"
    assert failure(capsys, 1, "serve", "--report", "x") == sentence


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
            assert output.err[:-1].isprintable(), words
            assert sentence in output.err, words
            assert {path: path.read_bytes() for path in place.iterdir()} == before, words
