"""Files that version 0669d242 has kept are taken up: results, proofs, data of reports, solved cells."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import chess
import pytest

import tbgen
from tbgen.beyond.kept import KeptCells
from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.report import read_report, write_report
from tbgen.report.data import SavedData
from tests.support.paths import DATA
from tests.support.reports import blank_plots

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


def test_data_of_a_report(kept: Path, three_men: Path, tmp_path: Path) -> None:
    """They say what is counted anew; fields that were added since have defaults."""
    saved = document_of(kept)
    read = SavedData(kept).report(Material.parse("KBvK"), Variant.R_MOBILITY)
    for report in (read, read_report(three_men, ["KBvK"]).tables[0]):
        SavedData(tmp_path).save_table(report)
        assert common_part(document_of(tmp_path), saved) == saved


def test_pages_from_data_of_a_report(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages and CSV files show the defaults of fields that were added since."""
    monkeypatch.setattr("tbgen.report.site.draw_plots", blank_plots)
    assert len(write_report(kept, ["KBvK"], tmp_path / "site", saved=True).pages) == 5


def document_of(directory: Path) -> Any:
    return json.loads(gzip.decompress((directory / "KBvK.r.json.gz").read_bytes()))


def common_part(found: Any, saved: Any) -> Any:
    """Return a document without the keys that the saved document lacks."""
    if isinstance(found, dict) and isinstance(saved, dict):
        return {key: common_part(found[key], saved[key]) for key in found.keys() & saved.keys()}
    if isinstance(found, list) and isinstance(saved, list):
        return [common_part(*each) for each in zip(found, saved, strict=True)]
    return found


@pytest.mark.usefixtures("compiled")
def test_a_solved_cell(kept: Path, tables: Path) -> None:
    cells = KeptCells(kept, warn=pytest.fail)
    solution = tbgen.solve(QUEEN, tables=tables, mobile=[chess.D2, chess.C4, chess.H1], kept=cells)
    assert (str(solution.value), solution.depth, solution.cells) == ("G0.0", 11, 0)
