"""``tbgen adjudicate``, and scorings on the command line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.store.format import table_path
from tests.support.depths import forget_depths

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
GAMES = f"""\
[White "A"]
[Black "B"]
[Result "1/2-1/2"]
[FEN "{BISHOP}"]

1... Kh5 2. Kf4 {{Draw by adjudication}} 1/2-1/2

[White "C"]
[Black "D"]
[Result "1-0"]
[Komi "G1.25"]

1. e4 {{Black resigns}} 1-0

[White "E"]
[Black "F"]

1. e4 e4 *

[White "G"]
[Black "H"]
[FEN "8/8/8/4KRk1/8/8/8/8 b - - 0 1"]

*
"""


@pytest.fixture(autouse=True)
def default_directory(reference_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBGEN_DIR", str(reference_dir))


@pytest.fixture
def games(tmp_path: Path) -> str:
    path = tmp_path / "games.pgn"
    path.write_text(GAMES)
    return str(path)


def test_a_depth_that_is_not_stored(
    reference_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left out, and the value is as exact; no layer is made."""
    for name in ("KvK", "KBvK"):
        shutil.copy(table_path(reference_dir, name, Variant.R_MOBILITY), tmp_path)
    forget_depths(monkeypatch, tmp_path)
    stopped = ["adjudicate", "1K6/3k3B/8/8/8/8/8/8 w - - 1 1 -G1.5", "--dir", str(tmp_path)]
    assert main([*stopped, "--line"]) == 0
    output = capsys.readouterr()
    assert "basis           tablebase" in output.out.splitlines()
    assert "result          G5.5  (White holds it)" in output.out.splitlines()
    assert output.err.startswith(
        "tbgen: the line cannot be shown: the line needs depths of accrued scores that"
    )
    assert main([*stopped, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["value"], document["basis"], document["depth"]) == ("G5.5", "tablebase", None)
    assert not list(tmp_path.glob("*.layer.h5"))


def test_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adjudicate", BISHOP, "--line"]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert "result          G1.5  (White holds it)" in lines
    assert "basis           tablebase, 4 plies to go" in lines
    assert lines[-5:-3] == ["best play: 4 plies", "  1... Kh5    G3.5"]
    assert output.err == ""


def test_a_position_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    seventh = BISHOP.replace("0 1", "3 9")
    assert main(["adjudicate", *seventh.split(), "-G1.0", "--json", "--line"]) == 0
    document = json.loads(capsys.readouterr().out)
    line = document.pop("line")
    assert document == {
        "fen": f"{seventh} -G1.0",
        "rules": "r",
        "fifty_move_rule": "improving",
        "bare_kings": True,
        "accrued": "-G1.0",
        "clock": 3,
        "value": "G5.5",
        "holder": "white",
        "basis": "tablebase",
        "ending": "",
        "proven": True,
        "depth": 12,
        "classical": "1/2-1/2",
        "scoring": "exponential",
        "cutoff": "G6.0",
        "komi": "G5.75",
        "points": {"white": 0.500244140625, "black": 0.499755859375},
    }
    assert len(line) == 12
    assert (line[-1]["accrued"], line[-1]["depth"]) == ("G5.5", 0)


def test_a_file(capsys: pytest.CaptureFixture[str], games: str) -> None:
    assert main(["adjudicate", games]) == 2
    output = capsys.readouterr()
    assert output.out.splitlines() == [
        "1. A - B  1/2-1/2  accrued G2.5  result G1.5  (tablebase, 2 plies to go)  points 0.5625-0.4375",
        "2. C - D  1-0  accrued G20.5  result G0.0  (resignation: Black resigns)  points 1.0000-0.0000",
        "4. G - H  *  accrued G4.0  result G4.0  (table missing, not proven)  points 0.5020-0.4980",
    ]
    broken, missing = output.err.splitlines()
    assert broken == "tbgen: game 3, line 18, ply 2: 'e4' is not a legal move"
    assert missing.startswith("tbgen: table KRvK is missing")


def test_a_file_as_json(capsys: pytest.CaptureFixture[str], games: str) -> None:
    assert main(["adjudicate", games, "--json", "--scoring", "komi", "--komi", "G9.75"]) == 2
    first, second, third, fourth = json.loads(capsys.readouterr().out)["games"]
    assert (first["number"], first["file_line"], first["white"], first["result"]) == (1, 1, "A", "1/2-1/2")
    assert (first["value"], first["basis"], first["clock"]) == ("G1.5", "tablebase", 2)
    assert (first["scoring"], first["points"]) == ("komi", {"white": 1.0, "black": 0.0})
    assert (second["value"], second["basis"]) == ("G0.0", "resignation")
    assert third == {
        "file": games,
        "number": 3,
        "file_line": 15,
        "white": "E",
        "black": "F",
        "result": "*",
        "error": "game 3, line 18, ply 2: 'e4' is not a legal move",
    }
    assert (fourth["basis"], fourth["proven"], fourth["missing"]) == ("table missing", False, "KRvK")


def test_missing_tables_can_be_errors(capsys: pytest.CaptureFixture[str], games: str) -> None:
    assert main(["adjudicate", games, "--require-tables"]) == 3
    output = capsys.readouterr()
    assert output.out.count("\n") == 2
    assert "game 4, line 20: table KRvK is missing" in output.err
    assert "build it with: tbgen build KRvK" in output.err


def test_a_proof_can_be_required(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What no table can hold is no missing table, and fails only if a proof is required."""
    path = tmp_path / "six.pgn"
    path.write_text('[FEN "8/8/8/4KRk1/4RR2/4R3/8/8 b - - 0 1"]\n\n*\n')
    for options in ([], ["--require-tables"]):
        assert main(["adjudicate", str(path), *options]) == 0
        assert "(played, not proven)" in capsys.readouterr().out
    assert main(["adjudicate", str(path), "--require-proof"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == (
        "tbgen: game 1, line 1: no table can prove the result: "
        "the position has 6 men; tables have at most 5, kings included\n"
    )
    assert main(["adjudicate", "8/8/8/4KRk1/8/8/8/8 b - - 0 1", "--require-proof"]) == 3
    assert "table KRvK is missing" in capsys.readouterr().err


def test_an_unknown_scoring_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    game = '[White "A"]\n[RMobilityScoring "Best of three"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n'
    path.write_text(2 * game)
    assert main(["adjudicate", str(path)]) == 0
    output = capsys.readouterr()
    assert output.out.count("(mate)  points 0.0000-1.0000") == 2
    assert output.err == (
        "tbgen: there is no scoring 'Best of three', which its tag names, so its points are exponential\n"
    )
    assert main(["adjudicate", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"][0]["unknown_scoring"] == "Best of three"


def test_a_line_that_cannot_be_shown_costs_nothing_else(
    capsys: pytest.CaptureFixture[str], reference_dir: Path, tmp_path: Path
) -> None:
    shutil.copy(reference_dir / "KBvK.r.h5", tmp_path)  # without KvK, which White's sacrifice leads to
    fen = f"{BISHOP.replace('0 1', '3 9')} -G1.0"
    assert main(["adjudicate", fen, "--line", "--dir", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert "result          G5.5  (White holds it)" in output.out
    assert output.err.startswith("tbgen: the line cannot be shown: table KvK is missing")


def test_several_files(capsys: pytest.CaptureFixture[str], games: str, tmp_path: Path) -> None:
    other = tmp_path / "8.pgn"
    other.write_text('[White "\N{ESCAPE}[31m"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
    again = tmp_path / "9.pgn"
    again.write_bytes(other.read_bytes())
    assert main(["adjudicate", str(other), str(again)]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert first.startswith("1. \N{REPLACEMENT CHARACTER}[31m - ?  0-1  accrued -G0.0  result -G0.0  (mate)")
    assert main(["adjudicate", games, str(other), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["games"]
    assert [(game["file"], game["number"]) for game in found][-2:] == [(games, 4), (str(other), 1)]


def test_names_that_cannot_be_printed(games: str, reference_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text('[White "M\u00fcller"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n', encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "tbgen", "adjudicate", str(path)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1. M\\xfcller - ?")


def test_rules(capsys: pytest.CaptureFixture[str]) -> None:
    fen = "8/8/8/8/3k4/8/2B5/K7 w - - 100 80 G2.5"

    def basis(*words: str) -> str:
        assert main(["adjudicate", fen, "--json", *words]) == 0
        return str(json.loads(capsys.readouterr().out)["basis"])

    assert basis() == basis("--fifty-move-rule", "legacy") == "fifty-move rule"
    assert basis("--fifty-move-rule", "none") == "tablebase"
    assert basis("--rules", "wg", "--fifty-move-rule", "none") == "table missing"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([BISHOP, "--scoring", "elo"], "'elo' is not a scoring: expected one of exponential"),
        ([BISHOP, "--cutoff", "-G6"], "'-G6' is not a cutoff: expected a G-score without sign"),
        ([BISHOP, "--komi=G5.3"], "'G5.3' is not a komi: expected moves in quarters"),
        ([BISHOP, "--scoring", "full", "--komi", "-G5.5"], "full points need a komi that no score equals"),
        ([BISHOP, "--fifty-move-rule", "fide"], "'fide' is not a 50-move rule: expected one of improving"),
        ([BISHOP.replace("0 1", "1 1 G9.3")], "'G9.3' is not a G-score"),
        ([BISHOP.replace("0 1", "1 1 -G0.0")], "the accrued score -G0.0 ends the game"),
        (["8/8/8/8/8/8/8/8 w - - 0 1"], "White has no king"),
        (["8/8/8/4KBk1/8/8/8/8 x - - 0 1"], "is not a FEN: expected 'w' or 'b'"),
        (["8/8/8/4KBk1/8/8/8/8"], "is not a FEN"),
        (["/dev/null"], "there is no game in /dev/null"),
        (["8/8/8/8/8/8/8 w - - 0 1"], "is not a FEN"),
        (["no_such_file.pgn"], "there is no file 'no_such_file.pgn': expected a PGN file"),
        ([BISHOP, "--rules", "x"], "there are no rules 'x'"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], words: list[str], sentence: str) -> None:
    assert main(["adjudicate", *words]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert sentence in output.err
    assert output.err.count("\n") == 1


def test_a_directory_is_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["adjudicate", str(tmp_path)]) == 2
    assert "is a directory: expected a PGN file" in capsys.readouterr().err


def test_probing_under_other_scorings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", BISHOP, "--json", "--scoring", "komi", "--komi", "G1.25"]) == 0
    assert json.loads(capsys.readouterr().out)["points"] == {"white": 0.0, "black": 1.0}
    assert main(["probe", BISHOP, "--scoring", "winner", "--cutoff", "G1.5"]) == 0
    assert "points          1/2-1/2  (White-Black)" in capsys.readouterr().out
    assert main(["probe", BISHOP, "--komi", "-G1.3"]) == 2
    assert "'-G1.3' is not a komi" in capsys.readouterr().err
