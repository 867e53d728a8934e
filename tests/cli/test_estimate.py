"""``tbgen solve --estimate``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.commands import answer, failure
from tests.support.solving import CASTLING, FEW, LOCKED, WALL


def test_a_position(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = "solve", f"{FEW} G2.0", "--estimate", "--dir", str(tmp_path), "--threads", "1"
    lines = answer(capsys, *words).splitlines()
    assert lines[0] == "cells     6, in 6 pawn structures"
    assert lines[2].startswith("time      ")
    assert lines[2].endswith(" s on 1 thread")
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["pawns", "of", "White", "of", "Black", "2", "mobile", "time"]
    assert sum(int(line.split()[-3]) for line in table[1:]) == 6
    document = json.loads(answer(capsys, *words, "--json"))
    assert (document["positions"], document["cells"], document["complete"]) == (1, 6, True)
    assert document["structures"][0].keys() == {"white", "black", "cells", "seconds"}
    assert sum(sum(each["cells"].values()) for each in document["structures"]) == 6


def test_promotions_beside_two_pieces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = answer(
        capsys, "solve", "k7/7P/8/8/8/8/r7/K6R w", "--estimate", "--dir", str(tmp_path)
    ).splitlines()
    assert lines[2].startswith("          and at last to 4 of five mobile men: 1")
    assert lines[2].endswith(" each")


def test_a_table_holds_it(capsys: pytest.CaptureFixture[str], three_men: Path) -> None:
    text = answer(capsys, "solve", "4k3/8/8/8/8/P7/8/4K3 w - - 0 1", "--estimate", "--dir", str(three_men))
    assert text == "cells     none: tables hold the position\n"


def test_many_positions(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Cells that several need count once; errors are told, and the others go on."""
    file = tmp_path / "some.fen"
    file.write_text(f"{FEW}\n{FEW.replace(' w ', ' b ')} G3.0\n{CASTLING}\n")
    assert main(["solve", str(file), "--estimate", "--dir", str(tmp_path)]) == 2
    output = capsys.readouterr()
    assert output.out.startswith("cells     6, in 6 pawn structures\n")
    assert output.err.startswith(f"tbgen: {CASTLING}: the position has castling rights")
    assert main(["solve", str(file), "--estimate", "--json", "--dir", str(tmp_path)]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["positions"], document["cells"]) == (2, 6)
    assert [error["fen"] for error in document["errors"]] == [CASTLING]
    assert "castling rights" in failure(capsys, 2, "solve", CASTLING, "--estimate", "--dir", str(tmp_path))


def test_long_lists_are_cut(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "solve", LOCKED, "--estimate", "--dir", str(tmp_path)
    text = answer(capsys, *words)
    structures = len(json.loads(answer(capsys, *words, "--json"))["structures"])
    assert text.splitlines()[-1] == f"and {structures - 20} other structures"
    monkeypatch.setattr("tbgen.cli.estimate.MOST_CELLS", 30)
    text = answer(capsys, "solve", WALL, "--estimate", "--mobile", "a1,a7", "--dir", str(tmp_path))
    assert text.startswith("cells     more than 30: of these 30, in ")
    assert "\ntime      more than " in text


def test_it_takes_no_compiler(tmp_path: Path) -> None:
    script = "import sys; from tbgen.cli.main import main; main(sys.argv[1:]); print('numba' in sys.modules)"
    words = ["solve", FEW, "--estimate", "--dir", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
