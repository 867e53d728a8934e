"""The page of surprising endings is made of its saved data, chosen from results of the benchmark."""

import json
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.scoring import points
from tbgen.errors import UsageError
from tests.support.script_modules import load_script

endings = load_script("endings")


def row(number: int, accrued: str, lower: str, upper: str, men: int = 6) -> dict[str, Any]:
    """A result of the benchmark: White's king moves to either side, and Black's comes along."""
    line = [{"uci": uci, "san": "", "accrued": lower, "depth": 0} for uci in ("e1d1", "e8d8")]
    exact = {"line": line} if lower == upper else {"lines": {"lower": line, "upper": line[:1]}}
    return {
        "event": "TCEC_Season_1_-_Test",
        "fen": f"4k3/8/8/8/8/8/8/4K3 w - - 0 {number}",
        **{"accrued": accrued, "men": men, "lower": lower, "upper": upper},
        "history": [[1.5, "-G0.0", "G0.0", 1], [2.5, lower, upper, 7]],
        "answer": {"cells": 9, "mobile": {"lower": ["e1"], "upper": ["e8"]}, **exact},
    }


ROWS = [
    row(1, "G3.0", "G3.0", "G3.0"),  # is what it looked like
    row(2, "G3.0", "-G0.0", "G3.0"),  # may be so
    row(3, "G3.0", "G1.0", "G0.0"),  # at least G1.0: an eighth more than the next but one
    row(4, "-G3.0", "G3.0", "G3.0"),  # turned
    row(5, "-G5.0", "-G2.0", "-G2.0"),
    row(6, "-G5.0", "G0.0", "G0.0", men=5),  # in tables
]


def results(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    path = tmp_path / "results.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    return path


def test_what_surprises_most_comes_first(tmp_path: Path) -> None:
    """By the points that are proved to change: those of White differ by what is worked out here."""
    found = endings.collected(results(tmp_path, [*ROWS, ROWS[0]]))
    assert (found.solved, found.narrowed) == (5, 3)
    assert [ending.fen.split()[-1] for ending in found.shown] == ["3", "5", "4"]
    assert [ending.surprise for ending in found.shown] == pytest.approx(
        [
            points(new).white - points(old).white
            for old, new in (("G3.0", "G1.0"), ("-G2.0", "-G5.0"), ("-G3.0", "G3.0"))
        ]
    )
    assert [ending.turned for ending in found.shown] == [False, False, True]
    first, second, _ = found.shown
    assert (first.mobile, len(first.line), first.seconds) == (["e1"], 2, 2.5)
    assert (second.mobile, len(second.line)) == (["e8"], 2)


def test_the_page_has_all_of_them(tmp_path: Path) -> None:
    data = tmp_path / "endings"
    endings.save(endings.collected(results(tmp_path, ROWS)), data)
    (data / "99.svg").touch()
    endings.write_page(data, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "## 1. From G3.0 to between G1.0 and G0.0" in text
    assert "Play towards G1.0: 3. Kd1 Kd8 (G1.0)." in text
    assert "Best play: 4. Kd1 Kd8 (G3.0)." in text
    assert "Proved after 2.5 s and 9 cells." in text
    assert sorted(path.name for path in data.glob("*.svg")) == ["01.svg", "02.svg", "03.svg"]
    assert "arrow" in (data / "01.svg").read_text()


@pytest.mark.parametrize("text", ["", "{}\n", "no JSON\n", json.dumps(row(1, "G1.0", "G1.0", "G1.0", men=5))])
def test_files_without_results(text: str, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text(text)
    with pytest.raises(UsageError, match=r"is no file of results|has no solved position"):
        endings.collected(tmp_path / "results.jsonl")
