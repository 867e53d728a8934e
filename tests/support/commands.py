"""Commands run in the process of the test, and what they say."""

import json
from pathlib import Path
from typing import Any

import pytest

from tbgen.cli.main import main
from tests.support.builds import logged

Capture = pytest.CaptureFixture[str]
"""What tests know as ``capsys``."""


def answer(capsys: Capture, *words: str) -> str:
    """Standard output of a command that succeeds and says nothing else."""
    assert main(words) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def logged_answer(capsys: Capture, *words: str) -> str:
    """Standard output of a command that succeeds and says nothing else but what belongs in a log."""
    assert main(words) == 0
    output = capsys.readouterr()
    logged(output.err)
    return output.out


def failure(capsys: Capture, code: int, *words: str) -> str:
    """The sentence of a command that fails."""
    assert main(words) == code
    sentence = capsys.readouterr().err
    assert sentence.startswith("tbgen: ")
    assert sentence.count("\n") == 1
    return sentence


def scored(capsys: Capture, *words: str) -> str:
    """Standard output of ``tbgen score`` in this process alone."""
    return answer(capsys, "score", "--jobs", "1", *words)


def document(capsys: Capture, *words: str) -> Any:
    """What a command prints with ``--json``, if it succeeds and says nothing else."""
    return json.loads(answer(capsys, *words, "--json"))


def said(capsys: Capture, code: int, *words: str | Path) -> tuple[str, list[str]]:
    """Standard output of a command with an exit code, and its lines on standard error."""
    assert main([str(word) for word in words]) == code
    output = capsys.readouterr()
    return output.out, output.err.splitlines()
