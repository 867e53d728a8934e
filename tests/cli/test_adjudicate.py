"""``tbgen adjudicate``, and scorings on the command line."""

import io
import shutil
from pathlib import Path

import pytest

from tbgen.cli.adjudicate import AdjudicatedDocument
from tbgen.cli.main import main
from tbgen.cli.streams import prepare_streams
from tests.support.commands import Capture, answer, document, said
from tests.support.depths import forget_depths

pytestmark = pytest.mark.usefixtures("default_directory")

MATE = "1. f3 e5 2. g4 Qh4# 0-1\n\n"


def test_a_depth_that_is_not_stored(
    reference_dir: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A depth that is not stored is left out; the value is still exact, and no layer is made."""
    for name in ("KvK", "KBvK"):
        shutil.copy(reference_dir / f"{name}.r.h5", tmp_path)
    forget_depths(monkeypatch, tmp_path)
    stopped = "adjudicate", "1K6/3k3B/8/8/8/8/8/8 w - - 1 1 -G1.5", "--dir", str(tmp_path)
    out, (told,) = said(capsys, 0, *stopped, "--line")
    assert "basis           tablebase" in out.splitlines()
    assert "result          G5.5  (White holds it)" in out.splitlines()
    assert told.startswith("tbgen: the line cannot be shown: the line needs depths of accrued scores that")
    found = document(capsys, *stopped)
    assert (found["value"], found["basis"], found["depth"]) == ("G5.5", "tablebase", None)
    assert AdjudicatedDocument.read(found).builtins() == found
    assert not list(tmp_path.glob("*.layer.h5"))


def test_several_files(capsys: Capture, tmp_path: Path) -> None:
    other, again = (str(tmp_path / name) for name in ("8.pgn", "9.pgn"))
    for name in (other, again):
        Path(name).write_text(f'[White "\N{ESCAPE}[31m"]\n\n{MATE}')
    first, second = answer(capsys, "adjudicate", other, again).splitlines()
    assert first == second
    assert first.startswith("1. \N{REPLACEMENT CHARACTER}[31m - ?  0-1  accrued -G0.0  result -G0.0  (mate)")


def test_names_that_cannot_be_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, written = tmp_path / "x.pgn", io.BytesIO()
    path.write_text(f'[White "M\u00fcller"]\n\n{MATE}', encoding="utf-8")
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    prepare_streams()
    assert main(["adjudicate", str(path)]) == 0
    assert written.getvalue().startswith(b"1. M\\xfcller - ?")
