"""``tbgen build``: its answers, its log, and what it refuses."""

import io
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tbgen.board.material import Material, all_materials
from tbgen.board.variant import Variant
from tbgen.cli import bars
from tbgen.cli.build import Journal
from tbgen.cli.main import main
from tbgen.store.format import table_path, tables_in
from tests.support.builds import digest, logged
from tests.support.commands import Capture, logged_answer, said

pytestmark = pytest.mark.usefixtures("compiled")


def test_the_log(tmp_path: Path, capsys: Capture) -> None:
    """The log has complete lines with date and time, progress, elapsed and remaining time."""
    _, told = said(capsys, 0, "build", "KBvK", "--dir", tmp_path)
    left, size, took = r"about [\d.]+ s left", r"[\d.]+ [KMG]iB", r"[\d.]+ s"
    done = rf"done in {took}, {size}, process peak {size}"
    expected = [
        rf"2 tables to build in {re.escape(str(tmp_path))}: {left}",
        rf"KvK: 1 of 2, begun; {left}",
        rf"KvK: 1 of 2, {done}; ({left}|taking longer than estimated)",
        rf"KBvK: 2 of 2, begun; {left}",
        rf"KBvK: 2 of 2, {done}",
        rf"2 tables built in {took}, {size}, process peak {size}",
    ]
    lines = logged("".join(f"{line}\n" for line in told))
    for line, pattern in zip(lines, expected, strict=True):
        assert re.fullmatch(pattern, line), line


def test_the_log_of_a_table_that_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(bars, "_LOG_SECONDS", 0.0)
    assert main(["build", "KvK", "--dir", str(tmp_path)]) == 0
    lines = logged(capsys.readouterr().err)
    left = r"(about [\d.]+ s left|taking longer than estimated)"
    stage = (
        rf"KvK: 1 of 1, (reading sub-tables|phases 1 of 1|writing|layer \d+), at work for [\d.]+ s; {left}"
    )
    assert len([line for line in lines if re.fullmatch(stage, line)]) > 1


def test_stages_that_are_counted_show_their_number(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """The first layer is number 0."""
    monkeypatch.setattr(bars, "_LOG_SECONDS", 0.0)
    journal = Journal(Path("tables"), quiet=True)
    journal.begin(Material.parse("KBvK"), 1, 1, 60.0)
    for stage, done, total in (("layer", 0, 0), ("layer", 7, 0), ("phases", 0, 24), ("writing", None, 0)):
        journal.progress(stage, done, total)
    told = [line.split(", ")[1] for line in logged(capsys.readouterr().err) if "at work" in line]
    assert told == ["reading sub-tables", "layer 0", "layer 7", "phases 0 of 24", "writing"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal shows one line that is rewritten and removed, and totals at the end."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["build", "KvK", "--dir", str(tmp_path)]) == 0
    shown = terminal.getvalue().split("\r")
    assert shown[0] == ""
    assert shown[1].startswith("KvK: 1 of 1, ")
    assert shown[-2].strip() == ""
    assert re.fullmatch(r"1 table built in .*, process peak .*\n", shown[-1])


def test_a_line_is_no_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for columns, shown in ((20, "x" * 19), (0, "x" * 79)):
        monkeypatch.setattr(
            bars, "os", SimpleNamespace(get_terminal_size=lambda _, c=columns: SimpleNamespace(columns=c))
        )
        monkeypatch.setattr(terminal, "fileno", lambda: 2)
        with bars.ProgressLine() as line:
            line.show("x" * 200)
        assert terminal.getvalue().endswith(f"\r{shown}\r{' ' * len(shown)}\r")


def test_a_log_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The build continues without a log."""
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert main(["build", "KvK", "--dir", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert tables_in(tmp_path, Variant.R_MOBILITY) == all_materials(2)


def test_the_command(tmp_path: Path, three_men: Path, capsys: Capture) -> None:
    words = ["build", "kvkb", "--dir", str(tmp_path)]
    assert len(logged_answer(capsys, *words).splitlines()) == 3
    nothing = f"nothing to build: the requested tables are already in {tmp_path}\n"
    assert logged_answer(capsys, *words) == nothing
    assert len(logged_answer(capsys, *words, "--force").splitlines()) == 2
    assert digest(tmp_path, "KBvK") == digest(three_men, "KBvK")
    table_path(tmp_path, "KNvK", Variant.R_MOBILITY).mkdir()
    _, (told,) = said(capsys, 1, "build", "KNvK", "--force", "--dir", tmp_path)
    assert "KNvK.r.h5 is a directory, but has the name of a table: remove it, then build" in told


def test_an_estimate_builds_nothing(own: Path, capsys: Capture) -> None:
    absent = own / "absent"
    words = ["build", "--men", "4", "--estimate", "--jobs", "1", "--dir", str(absent)]
    assert "\n36 tables to build on " in logged_answer(capsys, *words)
    assert not absent.exists()
    before = sorted(os.listdir(own))
    assert "0 tables to build" in logged_answer(capsys, "build", "KBvK", "--estimate", "--dir", str(own))
    words = ["build", "KBvK", "KBNvK", "--force", "--estimate", "--dir", str(own)]
    assert "\n2 tables to build on " in logged_answer(capsys, *words)
    assert sorted(os.listdir(own)) == before
