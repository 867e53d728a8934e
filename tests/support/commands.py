"""Commands run in the process of the test, and what they say."""

import pytest

from tbgen.cli.main import main
from tests.support.builds import logged


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Standard output of a command that succeeds and says nothing else."""
    assert main(words) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def logged_answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Standard output of a command that succeeds and says nothing else but what belongs in a log."""
    assert main(words) == 0
    output = capsys.readouterr()
    logged(output.err)
    return output.out


def failure(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    """The sentence of a command that fails."""
    assert main(words) == code
    sentence = capsys.readouterr().err
    assert sentence.startswith("tbgen: ")
    assert sentence.count("\n") == 1
    return sentence


def scored(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Standard output of ``tbgen score`` in this process alone."""
    return answer(capsys, "score", "--jobs", "1", *words)
