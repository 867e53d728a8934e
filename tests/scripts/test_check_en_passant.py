"""The script finds that en passant positions agree with their moves, and when they do not."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import pytest

from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase
from tests.support.script_modules import load_script

check_en_passant = load_script("check_en_passant")


@pytest.mark.parametrize("field", ["value", "depth"])
def test_a_wrong_entry_is_found(
    field: str, tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is told of the positions themselves, not of those after their moves, is wrong now and then."""
    assert check_en_passant.run(tables, ["KPvKP"], 40, Variant.R_MOBILITY) == 0
    assert capsys.readouterr().out == "KPvKP  agrees: 40 positions with an en passant right\n"
    real = Tablebase.probe

    def lie(self: Tablebase, board: chess.Board, accrued: object = None) -> Any:
        told = real(self, board, accrued)  # type: ignore[arg-type]
        if not board.has_legal_en_passant() or board.king(chess.WHITE) not in (chess.C1, chess.C2):
            return told
        changes: dict[str, Any] = {"value": -told.value, "depth": told.depth + 1 if told.depth else 9}
        return replace(told, **{field: changes[field]})

    monkeypatch.setattr(Tablebase, "probe", lie)
    assert check_en_passant.run(tables, ["KPvKP"], 200, Variant.R_MOBILITY) == 1
    said = re.match(r"KPvKP  DIFFERS in (\d+), first .* 1: 200 positions", capsys.readouterr().out)
    assert said
    assert 0 < int(said[1]) < 50
