"""The script finds that solutions agree with tables, and when they do not."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.material import Material
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.budget import Budget
from tests.support.paths import ROOT

sys.path.append(str(ROOT / "scripts"))
import check_solve

pytestmark = pytest.mark.usefixtures("compiled")
SCRIPT = ROOT / "scripts" / "check_solve.py"
TASK = check_solve.Task(3, Budget(seconds=600.0, cells=6), None, verify=False)


def test_solutions_agree_and_the_run_goes_on(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    assert check_solve.run(tables, ["KNPvK", "KPvKP"], TASK, results) == 0
    said = capsys.readouterr().out
    assert said.startswith("KNPvK  agrees: 3 positions, ")
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    assert [row["material"] for row in rows] == ["KNPvK"] * 3 + ["KPvKP"] * 3
    assert any(row["exact"] for row in rows)
    monkeypatch.setattr(check_solve, "solve_one", lambda *_: pytest.fail("all is solved already"))
    assert check_solve.run(tables, ["KNPvK", "KPvKP"], TASK, results) == 0
    assert capsys.readouterr().out == said


def test_mobile_men_are_chosen_and_proved(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = replace(TASK, positions=1, mobile=2, verify=True)
    assert check_solve.run(tables, ["KBvKP"], task, None) == 0
    assert re.search(r"[1-9][0-9,]* states proved", capsys.readouterr().out)


@pytest.mark.parametrize(("field", "material"), [("value", "KBvKP"), ("depth", "KRvK")])
def test_a_contradiction_is_found(
    field: str,
    material: str,
    tables: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A depth is told where the tables leave nothing open."""
    real, men = Tablebase.probe, Material.parse(material).men

    def lie(self: Tablebase, board: Any, accrued: object = None) -> Any:
        told = real(self, board, accrued)  # type: ignore[arg-type]
        if len(board.piece_map()) < men:
            return told
        changes: dict[str, Any] = {"value": -told.value, "depth": (told.depth or 0) + 1}
        return replace(told, **{field: changes[field]})

    monkeypatch.setattr(Tablebase, "probe", lie)
    assert check_solve.run(tables, [material], TASK, None) == 1
    assert capsys.readouterr().out.split()[:2] == [material, "CONTRADICTS"]


def test_missing_tables(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--dir", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("error: table KPvKP is missing")
