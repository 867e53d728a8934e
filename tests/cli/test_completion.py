"""``tbgen completion``: what the shells complete."""

import pytest
from click.shell_completion import ShellComplete

from tbgen.cli.main import COMMANDS, COMPLETION_VARIABLE, tbgen
from tests.support.commands import answer, failure


def completed(*words: str) -> set[str]:
    """What a shell offers for the last word."""
    shell = ShellComplete(tbgen, {}, "tbgen", COMPLETION_VARIABLE)
    return {item.value for item in shell.get_completions(list(words[:-1]), words[-1])}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["b"], {"build"}),
        ([""], set(COMMANDS)),
        (["build", "KBNvK"], {"KBNvK", *(f"KBNvK{man}" for man in "QRBNP")}),
        (["verify", "KNNvKB"], {"KNNvKB"}),
        (["probe", "--no-m"], {"--no-moves"}),
        (["score", "--format", "m"], {"markdown"}),
        (["build", "KBvK", "--rules", "w"], {"wg"}),
        (["adjudicate", "--fifty-move-rule", "l"], {"legacy"}),
    ],
)
def test_what_is_completed(words: list[str], found: set[str]) -> None:
    assert completed(*words) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{COMPLETION_VARIABLE}={shell}_complete" in answer(capsys, "completion", shell)


def test_a_shell_that_asks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        (COMPLETION_VARIABLE, "bash_complete"),
        ("COMP_WORDS", "tbgen build KBNvKQ"),
        ("COMP_CWORD", "2"),
    ):
        monkeypatch.setenv(name, value)
    assert answer(capsys) == "plain,KBNvKQ\n"


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in failure(capsys, 2, "completion", "csh")
