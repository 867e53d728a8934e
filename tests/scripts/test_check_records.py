"""The published longest mates and numbers of positions, and the script that compares tables with them."""

from pathlib import Path

import numpy as np
import pytest

from tbgen.board.score import NONE, GScore
from tbgen.board.variant import Variant
from tbgen.store.format import table_path
from tbgen.tables.files import open_table, write_table
from tests.support.script_modules import load_script, ran

check_records = load_script("check_records")


def test_three_men_agree(three_men: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["KQvK", "KRvK", "KBvK", "KNvK", "KPvK"]
    assert check_records.run(three_men, names) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [[name, "agrees:"] for name in names]
    assert "8/8/8/8/4k3/8/1Q6/K7 b" in lines[0]


def test_differences_are_found(three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A longer mate of White, one of Black who has nothing to mate with, and a position less."""
    with open_table(table_path(three_men, "KRvK", Variant.R_MOBILITY)) as file:
        table = file.read()
    longest = np.flatnonzero((table.value[0] == 0) & (table.depth[0] == 31))
    lost = np.flatnonzero((table.value[1] == 0) & (table.depth[1] == 6))
    table.depth[0, longest[0]] = 33
    table.value[1, lost[0]], table.depth[1, lost[0]] = GScore.parse("-G0.0").code, 5
    table.value[1, lost[1]] = NONE
    write_table(table, table_path(tmp_path, "KRvK", Variant.R_MOBILITY), version="0.1.0", build_seconds=1.0)
    code, told, _ = ran(capsys, check_records, tmp_path)
    assert code == 1
    (line,) = told.splitlines()
    for part in (
        "DIFFERS",
        "33 (published 31) White to move",
        "5 (published 0) Black to move",
        "33 (published 32) of all",
        "28,055 (published 28,056) positions",
        " w - - 0 1",
    ):
        assert part in line


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for names, expected in (([], 3), (["KRvK"], 3), (["KvK"], 2), (["KX"], 2)):
        code, _, error = ran(capsys, check_records, tmp_path, *names)
        assert code == expected
        assert error.startswith("error: ")
