"""Tables with described men on the command line and in Python: built, listed, proved and probed."""

import re
from pathlib import Path

import pytest

import tbgen
from tbgen.board.fen import parse_described
from tbgen.board.material import Material
from tbgen.index.table import AccruedForm
from tbgen.report.mating import MatingMarks, mating_potential
from tbgen.store.format import accrued_form_of
from tests.support.builds import without_accrued
from tests.support.commands import Capture, document, failure, said

FEN = "8/8/8/4K[WD]k1/8/8/8/8 b"

pytestmark = pytest.mark.usefixtures("compiled")


def test_tables_are_listed_and_proved(described_dir: Path, capsys: Capture) -> None:
    listed = document(capsys, "info", "--dir", str(described_dir))
    assert [table["material"] for table in listed["tables"]] == ["KvK", "K[R]vK", "K[WF]vK", "K[WD]vK"]
    for rules in ("r", "wg"):
        out, _ = said(capsys, 0, "verify", "k[wd]vk", "--rules", rules, "--dir", described_dir)
        assert "proved: 53,215 positions" in out


def test_a_described_rook_is_a_rook(described_dir: Path, three_men: Path) -> None:
    with tbgen.open_tablebase(described_dir) as tables, tbgen.open_tablebase(three_men) as chess:
        for fen in ("8/8/8/4KRk1/8/8/8/8 b", "8/8/2k5/8/8/8/1R6/K7 w - - 1 1 G5.5", "8/8/k1K5/8/8/8/8/1r6 b"):
            other = fen.replace("R", "[R]").replace("r", "[r]")
            one, described = chess.probe(fen), tables.probe(other)
            for fact in ("value", "depth", "accrued"):
                assert getattr(one, fact) == getattr(described, fact)
            moves, others = chess.moves(fen), tables.moves(other)
            assert [(move.uci, move.value, move.depth) for move in moves] == [
                (move.uci, move.value, move.depth) for move in others
            ]
        line = tables.line(parse_described(FEN).board)
        assert line[-1].san.endswith("#")
        positions = tables.table("K[WD]vK").positions(value="G0.0", depth=1)
        assert {str(tables.probe(board).value) for board in positions[:5].boards()} == {"G0.0"}


@pytest.mark.exhaustive
def test_what_men_can_mate(tmp_path: Path, capsys: Capture) -> None:
    """Shares and longest mates equal those of an independent program for classical chess."""
    built = tmp_path
    said(capsys, 0, "build", "kvk[DW]", "KRvK", "KQvK[WF]", "--dir", built)
    out, told = said(capsys, 0, "report", "--mating", "[wd],[WF] KRvK", "--dir", built)
    rows = [re.split("  +", line) for line in out.splitlines()]
    shown = {name: (*rest[:4], *rest[5:]) for name, *rest in rows}
    assert list(shown) == ["material", "KRvK", "K[WF]vK", "K[WD]vK", "KQvK[WF]"]
    assert shown["KRvK"][3:] == ("32 plies", "wins", "general win")
    assert shown["K[WF]vK"] == ("White", "100 %", "100 %", "36 plies", "wins", "general win")
    assert shown["K[WD]vK"] == ("White", "96.08 %", "87.47 %", "58 plies", "wins", "general win")
    assert shown["KQvK[WF]"] == ("White", "68.63 %", "51.74 %", "43 plies", "no: / 8", "sometimes")
    assert told[-1] == (
        "tbgen: 10 tables of these men not built: K[WF][WF]vK K[WD][WD]vK KQvK[WD] KRvK[WF] KRvK[WD] "
        "KBvK[WF] KBvK[WD] KNvK[WF] ..."
    )
    found = document(capsys, "report", "--mating", "[WF]", "--dir", str(built))
    assert [entry["material"] for entry in found["entries"]] == ["K[WF]vK", "KQvK[WF]"]
    assert found["entries"][1]["longest"] == {"white": 43, "black": 37}
    assert found["missing"][0] == "K[WF][WF]vK"
    tables = mating_potential("K[WD]vK", built, marks="tables")
    assert tables == mating_potential("K[WD]vK", built)
    assert mating_potential("K[WD]vK", built, marks=MatingMarks()).agrees is False
    assert mating_potential("KQvK[WF]", built, marks="tables").agrees is True
    with pytest.raises(
        tbgen.UsageError, match=r"'table' is not a set of marks: expected MatingMarks, or 'tables'"
    ):
        mating_potential("K[WD]vK", built, marks="table")  # type: ignore[arg-type]


@pytest.mark.exhaustive
def test_without_accrued_scores_as_with_five_men(
    described_dir: Path, tmp_path: Path, capsys: Capture
) -> None:
    """Tables of five men with described men store no accrued scores; layers are made on demand."""
    assert accrued_form_of(Material.parse("KN[WF]vKN")) is AccruedForm.NOTHING
    assert accrued_form_of(Material.parse("KQvK[WF]")) is AccruedForm.RUNS
    bare = without_accrued(described_dir, "K[WD]vK", tmp_path / "bare")
    asked = "8/8/8/8/8/8/8/K2k2[WD]1 w - - 1 1 -G1.5"
    refused = failure(capsys, 3, "probe", asked, "--dir", str(bare))
    assert "K[WD]vK was built without accrued scores: ask with --depths" in refused
    with tbgen.open_tablebase(bare, depths=True) as tables, tbgen.open_tablebase(described_dir) as full:
        for fen in (FEN, asked, asked.replace("-G1.5", "G1.0"), "8/8/8/8/8/8/3k4/K3[WD]3 w - - 1 1 -G1.5"):
            one, other = tables.probe(fen), full.probe(fen)
            assert (one.value, one.depth) == (other.value, other.depth), fen
    assert "proved: 53,215 positions" in said(capsys, 0, "verify", "K[WD]vK", "--dir", bare)[0]
