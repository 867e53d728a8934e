"""The page about what the tables say is made of their saved data, and of nothing else."""

import re
from pathlib import Path

import pytest

from tbgen.report import save_report
from tests.support.script_modules import load_script, ran

overview = load_script("overview")


def test_few_tables_make_a_page(three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_report(three_men, ["KvK", "KBvK"], tmp_path / "data", rules="r")
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    (tmp_path / "docs" / "page").mkdir()
    old = tmp_path / "docs" / "page" / "old.svg"
    old.touch()
    assert ran(capsys, overview, "--data", tmp_path / "data", "--out", page) == (0, "", "")
    text = page.read_text()
    assert "| G1.5 | 46 | 3 | KBvK | `8/8/8/8/8/2k5/8/K2B4 b - - 0 1` |" in text
    assert "| KBvK | G1.5 | 96.2 % | G1.5 | 99.1 % | 46 plies, to G1.5 |" in text
    assert "No side that mates" not in text, "neither side can"
    assert "### KBvK: -G1.5 in 1 ply\n\nBlack has nothing but the king, and holds the score." in text
    assert "](page/KBvK.mG1.5.svg)" in text
    assert re.search(r"Black to move, `[^`]+`: \(G\d+\.\d\) 1\.\.\. \S+ \(-G1\.5\)", text), (
        "the start comes first"
    )
    assert not old.exists()


def test_without_data_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = ran(capsys, overview, "--data", tmp_path, "--out", tmp_path / "page.md")
    assert code == 3
    assert re.fullmatch(r"error: .* has no data of these tables; save them with: .*\n", error)
