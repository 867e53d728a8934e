"""Files that version 0669d242 has kept are taken up: results, proofs, data of reports, solved cells."""

import shutil
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.kept import KeptCells
from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.report import read_report
from tbgen.report.data import SavedData
from tests.support.paths import DATA

KEPT = DATA / "kept"
BLOCKED = "8/8/8/1p1k4/1P6/8/3K4/8 w - - 0 1"
QUEEN = chess.Board("8/8/8/p7/P1k5/8/3K4/7Q w - - 0 1")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A copy of all of them."""
    return Path(shutil.copytree(KEPT, tmp_path / "kept"))


def test_results(kept: Path, three_men: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is solved again, so nothing is added."""
    file = kept / "results.jsonl"
    before = file.read_text()
    words = [BLOCKED, "8/1k6/8/p7/P7/8/8/1K6 w - - 4 40 G9.5"]
    assert main(["solve", *words, "--results", str(file), "--dir", str(three_men)]) == 0
    assert '"value": "G4.5"' in capsys.readouterr().out
    assert file.read_text() == before


def test_proofs(kept: Path, three_men: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["KBvK", "KvK", "--proofs", str(kept / "proofs.txt"), "--dir", str(three_men)]
    assert main(["verify", *words]) == 0
    assert capsys.readouterr().out.count("proved earlier") == 2


def test_data_of_a_report(kept: Path, three_men: Path) -> None:
    """They say what is counted anew."""
    found = SavedData(kept).report(Material.parse("KBvK"), Variant.R_MOBILITY)
    assert found == read_report(three_men, ["KBvK"]).tables[0]


@pytest.mark.usefixtures("compiled")
def test_a_solved_cell(kept: Path, tables: Path) -> None:
    cells = KeptCells(kept, warn=pytest.fail)
    solution = tbgen.solve(QUEEN, tables=tables, mobile=[chess.D2, chess.C4, chess.H1], kept=cells)
    assert (str(solution.value), solution.depth, solution.cells) == ("G0.0", 11, 0)
