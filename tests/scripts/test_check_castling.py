"""The script finds that positions with castling rights agree with their moves, and when they do not."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase
from tests.support.exhaustive import exhaustive
from tests.support.script_modules import load_script, ran

check_castling = load_script("check_castling")


@pytest.mark.parametrize(
    ("place", "rules", "count", "names"),
    [
        ("three_men", "r", 3, ["KRvK"]),
        *exhaustive(("whole_game_tables", rules, 20, ["KRvK", "KRvKP", "KRvKR"]) for rules in ("r", "wg")),
    ],
)
def test_positions_agree(
    place: str,
    rules: str,
    count: int,
    names: list[str],
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--dir", request.getfixturevalue(place), "--positions", count, "--rules", rules)
    code, told, error = ran(capsys, check_castling, *words, *names)
    assert (code, error) == (0, "")
    wanted = "".join(
        f"{name:6} agrees: {2 * count} positions with castling rights, "
        "0 of them with an en passant right, [0-9.]+ s\n"
        for name in names
    )
    assert re.fullmatch(wanted, told)


def test_a_wrong_value_is_found(
    three_men: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is told of positions with castling rights, not of those without, is wrong."""
    real = Tablebase.probe

    def probe(self: Tablebase, position: Any, accrued: Any = None) -> Any:
        found = real(self, position, accrued)
        return replace(found, value=GScore("-G1.0")) if position.castling_rights else found

    monkeypatch.setattr(Tablebase, "probe", probe)
    assert check_castling.run(three_men, ["KRvK"], 1, 3, Variant.R_MOBILITY) == 1
    assert "KRvK   DIFFERS in " in capsys.readouterr().out
