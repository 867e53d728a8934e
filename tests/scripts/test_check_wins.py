"""The script finds that forced mates after promotions agree with tables, and when they do not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tbgen.board.material import Material
from tbgen.probe.tablebase import Tablebase
from tests.support.script_modules import load_script

check_wins = load_script("check_wins")


def test_a_wrong_mate_is_reported(
    tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Tablebase(tables) as opened:
        assert check_wins.check(tables, opened, Material.parse("KRvKP"), 3000)
    assert capsys.readouterr().out.startswith("KRvKP  agrees: ")
    compare = check_wins.compare
    monkeypatch.setattr(
        check_wins,
        "compare",
        lambda opened, wins, count: compare(opened, replace(wins, won=~np.zeros_like(wins.won)), count),
    )
    with Tablebase(tables) as opened:
        assert not check_wins.check(tables, opened, Material.parse("KRvKP"), 300)
    assert "KRvKP  CONTRADICTS " in capsys.readouterr().out
