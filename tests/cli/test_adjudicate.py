"""``tbgen adjudicate``, and scorings on the command line."""

import io
import json
import shutil
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tbgen.cli.streams import prepare_streams
from tests.support.commands import Capture, answer, document, failure, said
from tests.support.depths import forget_depths
from tests.support.paths import DATA

pytestmark = pytest.mark.usefixtures("default_directory")

BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
GAMES = (DATA / "stopped.pgn").read_text()
MATE = "1. f3 e5 2. g4 Qh4# 0-1\n\n"


@pytest.fixture
def games(tmp_path: Path) -> str:
    path = tmp_path / "games.pgn"
    path.write_text(GAMES)
    return str(path)


def test_a_depth_that_is_not_stored(
    reference_dir: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A depth that is not stored is left out; the value is still exact, and no layer is made."""
    for name in ("KvK", "KBvK"):
        shutil.copy(reference_dir / f"{name}.r.h5", tmp_path)
    forget_depths(monkeypatch, tmp_path)
    stopped = "adjudicate", "1K6/3k3B/8/8/8/8/8/8 w - - 1 1 -G1.5", "--dir", str(tmp_path)
    out, (told,) = said(capsys, 0, *stopped, "--line")
    assert "basis           tablebase" in out.splitlines()
    assert "result          G5.5  (White holds it)" in out.splitlines()
    assert told.startswith("tbgen: the line cannot be shown: the line needs depths of accrued scores that")
    found = document(capsys, *stopped)
    assert (found["value"], found["basis"], found["depth"]) == ("G5.5", "tablebase", None)
    assert not list(tmp_path.glob("*.layer.h5"))


def test_a_position(capsys: Capture) -> None:
    lines = answer(capsys, "adjudicate", BISHOP, "--line").splitlines()
    assert "result          G1.5  (White holds it)" in lines
    assert "basis           tablebase, 4 plies to go" in lines
    assert lines[-5:-3] == ["best play: 4 plies", "  1... Kh5    G3.5"]


def test_a_position_as_json(capsys: Capture) -> None:
    seventh = BISHOP.replace("0 1", "3 9")
    found = document(capsys, "adjudicate", *seventh.split(), "-G1.0", "--line")
    line = found.pop("line")
    assert found == {
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


def test_a_file(capsys: Capture, games: str) -> None:
    out, (broken, missing) = said(capsys, 2, "adjudicate", games)
    assert out.splitlines() == [
        "1. A - B  1/2-1/2  accrued G2.5  result G1.5  (tablebase, 2 plies to go)  points 0.5625-0.4375",
        "2. C - D  1-0  accrued G20.5  result G0.0  (resignation: Black resigns)  points 1.0000-0.0000",
        "4. G - H  *  accrued G4.0  result G4.0  (table missing, not proven)  points 0.5020-0.4980",
    ]
    assert broken == "tbgen: game 3, line 18, ply 2: 'e4' is not a legal move"
    assert missing.startswith("tbgen: table KRvK is missing")


def test_a_file_as_json(capsys: Capture, games: str) -> None:
    out, _ = said(capsys, 2, "adjudicate", games, "--json", "--scoring", "komi", "--komi", "G9.75")
    first, second, third, fourth = json.loads(out)["games"]
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


def test_tables_and_proofs_can_be_required(capsys: Capture, games: str, tmp_path: Path) -> None:
    """A position that no table can hold is not a missing table, and fails only if a proof is required."""
    out, (*_, last) = said(capsys, 3, "adjudicate", games, "--require-tables")
    assert out.count("\n") == 2
    assert "game 4, line 20: table KRvK is missing" in last
    assert "build it with: tbgen build KRvK" in last
    path = tmp_path / "six.pgn"
    path.write_text('[FEN "8/8/8/4KRk1/4RR2/4R3/8/8 b - - 0 1"]\n\n*\n')
    for options in ([], ["--require-tables"]):
        assert "(played, not proven)" in answer(capsys, "adjudicate", str(path), *options)
    assert said(capsys, 1, "adjudicate", path, "--require-proof") == (
        "",
        [
            "tbgen: game 1, line 1: no table can prove the result: "
            "the position has 6 men; tables have at most 5, kings included; "
            "try --solve, or omit --require-proof"
        ],
    )
    refused = failure(capsys, 3, "adjudicate", BISHOP.replace("B", "R"), "--require-proof")
    assert "table KRvK is missing" in refused


def test_an_unknown_scoring_is_told(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(2 * f'[White "A"]\n[RMobilityScoring "Best of three"]\n\n{MATE}')
    out, told = said(capsys, 0, "adjudicate", path)
    assert out.count("(mate)  points 0.0000-1.0000") == 2
    assert told == ["tbgen: the scoring 'Best of three' of its tag is unknown, so its points are exponential"]
    out, _ = said(capsys, 0, "adjudicate", path, "--json")
    assert json.loads(out)["games"][0]["unknown_scoring"] == "Best of three"


def test_a_line_that_cannot_be_shown_costs_nothing_else(
    capsys: Capture, reference_dir: Path, tmp_path: Path
) -> None:
    shutil.copy(reference_dir / "KBvK.r.h5", tmp_path)  # without KvK, which White's sacrifice leads to
    fen = f"{BISHOP.replace('0 1', '3 9')} -G1.0"
    out, (told,) = said(capsys, 0, "adjudicate", fen, "--line", "--dir", tmp_path)
    assert "result          G5.5  (White holds it)" in out
    assert told.startswith("tbgen: the line cannot be shown: table KvK is missing")


def test_several_files(capsys: Capture, games: str, tmp_path: Path) -> None:
    other, again = (str(tmp_path / name) for name in ("8.pgn", "9.pgn"))
    for name in (other, again):
        Path(name).write_text(f'[White "\N{ESCAPE}[31m"]\n\n{MATE}')
    first, second = answer(capsys, "adjudicate", other, again).splitlines()
    assert first == second
    assert first.startswith("1. \N{REPLACEMENT CHARACTER}[31m - ?  0-1  accrued -G0.0  result -G0.0  (mate)")
    found = json.loads(said(capsys, 2, "adjudicate", games, other, "--json")[0])["games"]
    assert [(game["file"], game["number"]) for game in found][-2:] == [(games, 4), (other, 1)]


def test_names_that_cannot_be_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, written = tmp_path / "x.pgn", io.BytesIO()
    path.write_text(f'[White "M\u00fcller"]\n\n{MATE}', encoding="utf-8")
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    prepare_streams()
    assert main(["adjudicate", str(path)]) == 0
    assert written.getvalue().startswith(b"1. M\\xfcller - ?")


def test_rules(capsys: Capture) -> None:
    fen = "8/8/8/8/3k4/8/2B5/K7 w - - 100 80 G2.5"
    for words, basis in (
        ([], "fifty-move rule"),
        (["--fifty-move-rule", "legacy"], "fifty-move rule"),
        (["--fifty-move-rule", "none"], "tablebase"),
        (["--rules", "wg", "--fifty-move-rule", "none"], "table missing"),
    ):
        out, _ = said(capsys, 0, "adjudicate", fen, "--json", *words)
        assert json.loads(out)["basis"] == basis


def test_probing_under_other_scorings(capsys: Capture) -> None:
    found = document(capsys, "probe", BISHOP, "--scoring", "komi", "--komi", "G1.25")
    assert found["points"] == {"white": 0.0, "black": 1.0}
    text = answer(capsys, "probe", BISHOP, "--scoring", "winner", "--cutoff", "G1.5")
    assert "points          1/2-1/2  (White-Black)" in text
