"""The script finds that solutions agree with tables, and when they do not."""

import json
from pathlib import Path

import pytest

from tbgen.beyond.budget import Budget
from tests.support.lies import lie
from tests.support.script_modules import load_script, ran

check_solve = load_script("check_solve")
TASK = check_solve.Task(2, Budget(cells=4), None, verify=False)


def test_solutions_agree_and_the_run_goes_on(
    three_men: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    assert check_solve.run(three_men, ["KPvK", "KRvK"], TASK, results) == 0
    said = capsys.readouterr().out
    assert said.startswith("KPvK   agrees: 2 positions, ")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert [row["material"] for row in rows] == ["KPvK"] * 2 + ["KRvK"] * 2
    assert any(row["exact"] for row in rows)
    monkeypatch.setattr(check_solve, "solve_one", lambda *_: pytest.fail("all is solved already"))
    assert check_solve.run(three_men, ["KPvK", "KRvK"], TASK, results) == 0
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(("field", "material"), [("value", "KPvK"), ("depth", "KRvK")])
def test_a_contradiction_is_found(
    field: str,
    material: str,
    three_men: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A depth is told where the tables leave nothing open."""
    lie(monkeypatch, field, lambda board: len(board.piece_map()) == 3)
    assert check_solve.run(three_men, [material], TASK, None) == 1
    assert capsys.readouterr().out.split()[:2] == [material, "CONTRADICTS"]


@pytest.mark.parametrize(
    ("script", "material"),
    [("check_solve", "KPvKP"), ("check_castling", "KRvK"), ("check_en_passant", "KPvKP")],
)
def test_missing_tables(
    script: str, material: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of this script and of its like."""
    code, _, error = ran(capsys, load_script(script), "--dir", tmp_path)
    assert (code, error.startswith(f"error: table {material} is missing")) == (3, True)
