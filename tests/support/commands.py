"""Commands run in the process of the test, and their output."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tbgen.cli.main import main
from tests.support.builds import logged
from tests.support.paths import DATA

Capture = pytest.CaptureFixture[str]
"""The type of the fixture ``capsys``."""
RENEW = "TBGEN_TEST_RENEW"
"""The environment variable that is set where :func:`printed` writes files; their diff is then reviewed."""


def answer(capsys: Capture, *words: str) -> str:
    """Return the standard output of a command; check that it succeeds without standard error."""
    assert main(words) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def logged_answer(capsys: Capture, *words: str) -> str:
    """Return the standard output of a command; check that it succeeds, with a log as standard error."""
    assert main(words) == 0
    output = capsys.readouterr()
    logged(output.err)
    return output.out


def failure(capsys: Capture, code: int, *words: str) -> str:
    """Return the message of a command that fails."""
    assert main(words) == code
    sentence = capsys.readouterr().err
    assert sentence.startswith("tbgen: ")
    assert sentence.count("\n") == 1
    return sentence


def scored(capsys: Capture, *words: str) -> str:
    """Return the standard output of ``tbgen score``, run in this process only."""
    return answer(capsys, "score", "--jobs", "1", *words)


def document(capsys: Capture, *words: str) -> Any:
    """Return the document that a command prints with ``--json``; check that it succeeds."""
    return json.loads(answer(capsys, *words, "--json"))


def said(capsys: Capture, code: int, *words: str | Path) -> tuple[str, list[str]]:
    """Return the standard output and the lines of standard error of a command; check its exit code."""
    assert main([str(word) for word in words]) == code
    output = capsys.readouterr()
    return output.out, output.err.splitlines()


def printed(name: str, text: str) -> None:
    """Compare a text with a file of ``tests/data``; or write the file, see :data:`RENEW`."""
    path = DATA / f"{name}.txt"
    if RENEW in os.environ:
        path.write_text(text)
    assert text.splitlines() == path.read_text().splitlines(), f"review this diff, then set {RENEW}=1 once"
