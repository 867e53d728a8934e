"""``tbgen completion``: what the shells complete."""

import subprocess
import sys

import pytest

from tbgen.cli.main import COMMANDS
from tests.support.commands import answer, failure

COMPLETE = """
eval "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMPREPLY=()
_shtab_tbgen
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> str:
    return answer(capsys, "completion", "bash")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["b"], {"build"}),
        ([""], set(COMMANDS)),
        (["build", "KBNvK"], {"KBNvK", *(f"KBNvK{man}" for man in "QRBNP")}),
        (["verify", "KNNvKB"], {"KNNvKB"}),
        (["probe", "--no-m"], {"--no-moves"}),
        (["score", "--format", "m"], {"markdown"}),
        (["build", "KBvK", "--rules", "w"], {"wg"}),
    ],
)
def test_what_bash_completes(words: list[str], completed: set[str], script: str) -> None:
    command = ["bash", "-c", COMPLETE, "bash", script, "tbgen", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert found >= completed if words == [""] else found == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_every_command_is_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "completion", shell)
    assert all(name in text for name in (*COMMANDS, "accrued", "fifty-move-rule", "KBNvK"))


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert "choose from" in failure(capsys, 2, "completion", "csh")


def test_without_the_extra(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert failure(capsys, 1, "completion", "bash") == (
        "tbgen: tbgen completion needs shtab, which is not installed: "
        "install it with: pip install 'tbgen[completion]'\n"
    )
