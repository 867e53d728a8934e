"""Tables have the forced mates that FairyGen counts, with described men and with those of chess."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from tbgen.board.material import Material, described_kind
from tbgen.cli.main import main
from tbgen.probe.tablebase import open_tablebase
from tests.support.exhaustive import sample
from tests.support.paths import ROOT
from tests.support.script_modules import load_script

LINES = (ROOT / "tests" / "data" / "fairygen.csv").read_text().splitlines()
ROWS = list(csv.DictReader(line for line in LINES if not line.startswith("#")))
REPORT = """
K{}_K

WON.wtm    50116      1024
  0.         11       200
  1.          4         0
  2.         10         3
WON.btm      14         3
stalemate     0
LEGAL     56184
TOTAL     62496
"""


script = load_script("check_fairygen")


@pytest.fixture(scope="module")
def built(described_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all tables that FairyGen's counts are of, or few of them."""
    if not sample(0, 1):
        return described_dir
    directory = tmp_path_factory.mktemp("fairygen")
    names = dict.fromkeys(row["material"] for row in ROWS)
    assert main(["build", *names, "--dir", str(directory)]) == 0
    return directory


def test_tables_have_the_mates_of_fairygen(built: Path) -> None:
    rows = [row for row in ROWS if (built / f"{row['material']}.r.h5").exists()]
    with open_tablebase(built) as tables:
        for row in rows:
            counts = enumerate(map(int, row["positions"].split()))
            found = script.table_counts(tables, Material.parse(row["material"]), row["mates"] == "white")
            assert found == +Counter(dict(counts)), row["material"]
    assert sum(bool(row["positions"]) for row in rows) > sample(1, 15)


def test_men_in_the_words_of_fairygen() -> None:
    words = {"WF": "1,0,* 1,1,*", "BDD": "1,1,s* 2,0,s*", "RN": "2,1,* 1,0,s*", "Z": "3,2,*"}
    assert {letters: script.definition(described_kind(letters)) for letters in words} == words


def test_what_it_prints(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With programs that report what they are told, and wait as FairyGen does."""
    (counts,) = (row["positions"].split() for row in ROWS if row["material"] == "K[WD]vK")
    right = "".join(f"{number + 1:3}. {count}\n" for number, count in enumerate(counts)) + "TOTAL 62496\n"
    for text, code, said in ((right, 0, "agree"), (REPORT, 1, "DIFFER")):
        program = tmp_path / "3men"
        program.write_text(f"#!/bin/sh\ncat >rep2.txt <<end\n{text}end\nread move\n")
        program.chmod(0o755)
        assert script.main([str(tmp_path), str(built), "k[dw]vk"]) == code
        assert capsys.readouterr().out.split() == ["K[WD]vK", "White", "29", "moves", "176,460", said]
    assert script.report_counts(REPORT) == {0: 4, 1: 13}


def test_what_it_refuses(built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, code, says in (
        ("KPvK", 2, "KPvK is none of FairyGen's: give materials of three or four men without pawns"),
        ("K[WF]vK", 2, "3men is missing: compile EGTgen.c of FairyGen with -DMEN=3"),
    ):
        assert script.main([str(tmp_path), str(built), name]) == code
        assert says in capsys.readouterr().err
