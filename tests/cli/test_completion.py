"""``tbgen completion``: the completions of shells."""

import pytest
from click.shell_completion import ShellComplete

from tbgen.cli.main import COMMANDS, COMPLETION_VARIABLE, tbgen
from tests.support.commands import Capture, answer


def test_what_is_completed() -> None:
    shell = ShellComplete(tbgen, {}, "tbgen", COMPLETION_VARIABLE)
    for words, found in (
        (["b"], {"build"}),
        ([""], set(COMMANDS)),
        (["build", "KBNvK"], {"KBNvK", *(f"KBNvK{man}" for man in "QRBNP")}),
        (["verify", "KNNvKB"], {"KNNvKB"}),
        (["probe", "--no-m"], {"--no-moves"}),
        (["score", "--format", "m"], {"markdown"}),
        (["build", "KBvK", "--rules", "w"], {"wg"}),
        (["adjudicate", "--fifty-move-rule", "l"], {"legacy"}),
    ):
        assert {item.value for item in shell.get_completions(words[:-1], words[-1])} == found, words


def test_a_shell_that_asks(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPLETION_VARIABLE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "tbgen build KBNvKQ")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert answer(capsys) == "plain,KBNvKQ\n"
