"""``tbgen solve --estimate``."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Capture, answer, document, said
from tests.support.solving import CASTLING, FEW, LOCKED, WALL


def test_a_position(capsys: Capture, tmp_path: Path) -> None:
    words = "solve", f"{FEW} G2.0", "--estimate", "--dir", str(tmp_path), "--threads", "1"
    lines = answer(capsys, *words).splitlines()
    assert lines[0] == "cells     6, in 6 pawn structures"
    assert lines[2].startswith("time      ")
    assert lines[2].endswith(" s on 1 thread")
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["pawns", "of", "White", "of", "Black", "2", "mobile", "time"]
    assert sum(int(line.split()[-3]) for line in table[1:]) == 6
    found = document(capsys, *words)
    assert (found["positions"], found["cells"], found["complete"]) == (1, 6, True)
    assert found["structures"][0].keys() == {"white", "black", "cells", "seconds"}
    assert sum(sum(each["cells"].values()) for each in found["structures"]) == 6


def test_promotions_beside_two_pieces(capsys: Capture, tmp_path: Path) -> None:
    words = "solve", "k7/7P/8/8/8/8/r7/K6R w", "--estimate", "--dir", str(tmp_path)
    lines = answer(capsys, *words).splitlines()
    assert lines[2].startswith("          and finally to 4 of five mobile men: 1")
    assert lines[2].endswith(" each")


def test_a_table_holds_it(capsys: Capture, three_men: Path) -> None:
    text = answer(capsys, "solve", "4k3/8/8/8/8/P7/8/4K3 w - - 0 1", "--estimate", "--dir", str(three_men))
    assert text == "cells     none: tables hold the position\n"


def test_an_ignored_score_is_told_without_the_source(
    capsys: Capture, three_men: Path, tmp_path: Path
) -> None:
    """Its sentence stands alone for one position, and after the name of the position among several."""
    fen, several = "4k3/8/8/8/8/P7/8/4K3 w - - 0 1 G4.5", tmp_path / "several.fen"
    several.write_text(f"{fen}\n{fen}\n")
    _, (told,) = said(capsys, 0, "solve", fen, "--estimate", "--dir", three_men)
    assert told.startswith("tbgen: the seventh field G4.5 does not count: the halfmove clock is 0")
    _, found = said(capsys, 0, "solve", several, "--estimate", "--dir", three_men)
    assert found == [told.replace("tbgen:", f"tbgen: {fen}:")] * 2


def test_many_positions(capsys: Capture, tmp_path: Path) -> None:
    """Cells needed by several positions count once; errors are reported, and the others are estimated."""
    file = tmp_path / "some.fen"
    file.write_text(f"{FEW}\n{FEW.replace(' w ', ' b ')} G3.0\n{CASTLING}\n")
    words = "solve", file, "--estimate", "--dir", tmp_path
    out, (told,) = said(capsys, 2, *words)
    assert out.startswith("cells     6, in 6 pawn structures\n")
    assert told.startswith(f"tbgen: {CASTLING}: the position has castling rights")
    found = json.loads(said(capsys, 2, *words, "--json")[0])
    assert (found["positions"], found["cells"]) == (2, 6)
    assert [error["fen"] for error in found["errors"]] == [CASTLING]


def test_long_lists_are_cut(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "solve", LOCKED, "--estimate", "--dir", str(tmp_path)
    text = answer(capsys, *words)
    structures = len(document(capsys, *words)["structures"])
    assert text.splitlines()[-1] == f"and {structures - 20} other structures"
    monkeypatch.setattr("tbgen.cli.solve.MAX_COUNTED_CELLS", 30)
    text = answer(capsys, "solve", WALL, "--estimate", "--mobile", "a1,a7", "--dir", str(tmp_path))
    assert text.startswith("cells     more than 30: of these 30, in ")
    assert "\ntime      more than " in text
