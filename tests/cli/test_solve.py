"""``tbgen solve``."""

import json
from pathlib import Path

import pytest

from tests.support.commands import answer, failure

LOCKED = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72"


def test_an_exact_value(capsys: pytest.CaptureFixture[str], tables: Path) -> None:
    text = answer(capsys, "solve", *LOCKED.split(), "G4.5", "--dir", str(tables))
    assert "value           G4.5  (White holds it)" in text
    assert "depth           0 plies" in text
    assert "g5    -G0.0 to -G0.5  resets" in text
    words = "solve", LOCKED, "--accrued", "G4.5", "--json", "--dir", str(tables)
    document = json.loads(answer(capsys, *words))
    assert [document[key] for key in ("value", "lower", "upper", "accrued", "depth")] == ["G4.5"] * 4 + [0]
    assert {move["uci"]: move["zeroing"] for move in document["moves"]}["g4g5"]


def test_an_interval(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = answer(capsys, "solve", LOCKED, "--mobile", "E4", "--time", "1s", "--dir", str(tmp_path))
    assert "value           between -G0.0 and G0.0" in text
    assert "Black cannot get better than -G0.0; White cannot get better than G0.0" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--mobile", "e9"], "'e9' is not a square"),
        (["--mobile", "e4,e4"], "names a square twice"),
        (["--mobile", "g4"], "g4 has a pawn"),
        (["--time", "soon"], "'soon' is not a time"),
        (["--memory", "1"], "without a unit"),
        (["--rules", "wg"], "only r-mobility"),
        ([LOCKED], "one position at a time"),
    ],
)
def test_bad_input(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert sentence in failure(capsys, 2, "solve", LOCKED, *words, "--dir", str(tmp_path))
