"""The script finds that positions with castling rights agree with their moves, and when they do not."""

from pathlib import Path

import pytest

from tbgen.board.variant import Variant
from tests.support.lies import lie
from tests.support.script_modules import load_script

check_castling = load_script("check_castling")


def test_a_wrong_value_is_found(
    three_men: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is told of positions with castling rights, not of those without, is wrong."""
    assert check_castling.run(three_men, ["KRvK"], 1, 3, Variant.R_MOBILITY) == 0
    told = "KRvK   agrees: 3 positions with castling rights, 0 of them with an en passant right, "
    assert capsys.readouterr().out.startswith(told)
    lie(monkeypatch, "value", lambda board: bool(board.castling_rights))
    assert check_castling.run(three_men, ["KRvK"], 1, 3, Variant.R_MOBILITY) == 1
    assert "KRvK   DIFFERS in " in capsys.readouterr().out
