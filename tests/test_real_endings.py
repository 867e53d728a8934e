"""The benchmark of stopped games counts what was proved by each time, and goes on where it was."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import real_endings as benchmark

FINAL = {"lower": "G2.0", "upper": "G2.0", "time": 300.0, "cells": 9}
"""Points were known after 40 s, the value after 100 s."""
HISTORY = [[5.0, "-G0.0", "G1.0", 1], [40.0, "G5.5", "G1.0", 3], [100.0, "G2.0", "G2.0", 9]]
BLOCKED = "4k3/p2p2p1/P2P2P1/8/8/8/8/3K4 w - - 0 1"
"""One cell tells its value."""


def position(men: int, pieces: int, number: int = 0) -> dict[str, Any]:
    return {"fen": f"{men} {pieces} {number}", "accrued": "G3.0", "men": men, "pieces": pieces}


def result(men: int, pieces: int, number: int = 0) -> dict[str, Any]:
    return {**position(men, pieces, number), **FINAL, "history": HISTORY}


def test_what_was_proved_by_a_time() -> None:
    """All counts by the time that was given; the process itself takes longer: Python has to start."""
    for seconds, ends in ((4, "-G0.0 G0.0"), (5, "-G0.0 G1.0"), (99, "G5.5 G1.0"), (100, "G2.0 G2.0")):
        assert str(benchmark.interval_after(result(6, 2), seconds)) == ends
    late = {**result(6, 2), "history": [[301.5, "G2.0", "G2.0", 9]]}
    assert not benchmark.interval_after(late, 299).exact
    assert benchmark.interval_after(late, 300).exact


def test_counts() -> None:
    """Of positions with few pieces by men, of those that were solved; of all, of all of them."""
    positions = [position(6, 2), position(6, 2, 1), position(12, 1), position(4, 1), position(7, 3)]
    solved = [result(6, 2), result(12, 1), result(4, 1)]
    known = {benchmark.name_of(each): each for each in solved}
    text = "\n".join(benchmark.counts(positions, known, [10.0, 60.0, 300.0])).replace("\xa0", " ")
    head, _, *rows = (line.split(" | ") for line in text.split("\n\n")[0].splitlines())
    by_men = {row[0].strip("| "): row[1:] for row in rows}
    assert head[3:6] == ["exact by 10.0 s", "exact by 1 min 00 s", "exact by 5 min 00 s"]
    assert by_men["6"] == ["2", "1", "0 (0 %)", "0 (0 %)", "1 (100 %)", "0 (0 %)", "1 (100 %)", "1 (100 %) |"]
    assert by_men["7"][:3] == ["0", "0", "0"]
    assert by_men["10+"][:2] == ["1", "1"]
    assert by_men["all"][:2] == ["3", "2"]
    assert "of all 5, decided by 10.0 s (table, value or points): 0 (0 %)" in text
    assert "of all 5, decided by 1 min 00 s (table, value or points): 3 (60.0 %)" in text
    assert text.endswith("solved: 3 of 5")


def test_a_half_is_random_and_always_the_same() -> None:
    positions = [position(6, 2, number) for number in range(101)]
    halves = [benchmark.chosen(positions, seed) for seed in (1, 1, 2)]
    assert halves[0] == halves[1] != halves[2]
    names = {benchmark.name_of(each) for each in halves[0]}
    assert len(names) == 51
    assert names < set(map(benchmark.name_of, positions))
    assert len(benchmark.chosen(positions, None)) == 101


@pytest.mark.exhaustive
@pytest.mark.slow
def test_it_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A result stays; one that had less time and is not exact is tried again; other men are left out."""
    given = [{"fen": BLOCKED, "accrued": "G8.0", "men": 4, "pieces": 0}, position(6, 2), position(7, 2)]
    before = [
        {**result(6, 2), "lower": "-G0.0", "time": 3600.0, "history": []},
        {**given[0], **FINAL, "lower": "-G0.0", "time": 0.5, "history": []},
    ]
    positions, results = tmp_path / "positions.jsonl", tmp_path / "results.jsonl"
    for path, rows in ((positions, given), (results, before)):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = [positions, "--dir", tmp_path, "--results", results, "--times", "1h", "--men", "4,6"]
    monkeypatch.setattr(sys, "argv", ["real_endings.py", *map(str, words), "--", "--mobile", "d1,e8"])
    benchmark.main()
    assert capsys.readouterr().out.splitlines()[-1] == "solved: 2 of 3"
    *rows, new = map(json.loads, results.read_text().splitlines())
    assert rows == before
    assert new["fen"] == BLOCKED
    assert new["history"][-1][1:3] == [new["lower"], new["upper"]] == 2 * [new["lower"]]
    assert new["answer"]["mobile"]["lower"] == ["d1", "e8"]
