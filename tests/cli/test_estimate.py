"""``tbgen solve --estimate``."""

from pathlib import Path

import pytest

from tests.support.commands import Capture, answer, document
from tests.support.solving import LOCKED, WALL


def test_long_lists_are_cut(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "solve", LOCKED, "--estimate", "--dir", str(tmp_path)
    text = answer(capsys, *words)
    structures = len(document(capsys, *words)["structures"])
    assert text.splitlines()[-1] == f"and {structures - 20} other structures"
    monkeypatch.setattr("tbgen.cli.solve.MAX_COUNTED_CELLS", 30)
    text = answer(capsys, "solve", WALL, "--estimate", "--mobile", "a1,a7", "--dir", str(tmp_path))
    assert text.startswith("cells     more than 30: of these 30, in ")
    assert "\ntime      more than " in text
