"""The script finds that en passant positions agree with their moves, and when they do not."""

import re
from pathlib import Path

import chess
import pytest

from tbgen.board.variant import Variant
from tests.support.lies import lie
from tests.support.script_modules import load_script

check_en_passant = load_script("check_en_passant")


@pytest.mark.parametrize("field", ["value", "depth"])
def test_a_wrong_entry_is_found(
    field: str, tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is told of the positions themselves, not of those after their moves, is wrong now and then."""
    assert check_en_passant.run(tables, ["KPvKP"], 40, Variant.R_MOBILITY) == 0
    assert capsys.readouterr().out == "KPvKP  agrees: 40 positions with an en passant right\n"
    kings = chess.C1, chess.C2
    lie(monkeypatch, field, lambda board: board.has_legal_en_passant() and board.king(chess.WHITE) in kings)
    assert check_en_passant.run(tables, ["KPvKP"], 200, Variant.R_MOBILITY) == 1
    said = re.match(r"KPvKP  DIFFERS in (\d+), first .* 1: 200 positions", capsys.readouterr().out)
    assert said
    assert 0 < int(said[1]) < 50
