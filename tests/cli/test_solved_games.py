"""``--solve`` of ``tbgen adjudicate``, ``tag`` and ``score``; cells are stood in for, but at the end."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tbgen.solve.budget import Budget
from tests.support.commands import answer, failure
from tests.support.exhaustive import exhaustive
from tests.support.processes import end, started, wait_for
from tests.support.solving import CASTLING, FEW, LOCKED, PIECES, WALL, Cells

MATE = '[White "A"]\n[Black "B"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n'


def stopped(fen: str, accrued: str) -> str:
    tags = f'[White "A"]\n[Black "B"]\n[FEN "{fen}"]\n[FENAccrued "{accrued}"]\n[Result "1/2-1/2"]\n'
    return f"{tags}\n1/2-1/2\n\n"


GAMES = stopped(LOCKED, "G4.5") + MATE + stopped(WALL, "G3.0") + stopped(CASTLING, "G2.0")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a file ``in.pgn`` of four games."""
    (tmp_path / "in.pgn").write_text(GAMES)
    return tmp_path


REFUSED = (
    "tbgen: game 4, line 22: the position cannot be solved: "
    "the position has castling rights: cells are solved without them"
)
SUMMARY = "tbgen: positions of 3 stopped games that no table holds: 2 worked on for ..., 1 not to be solved"


def without_times(said: str) -> list[str]:
    """Lines without how long something took."""
    return [re.sub(r"\d+\.\d s", "...", line) for line in said.splitlines()]


def test_tag(cells: Cells, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--solve"]
    assert main([*words, "--scoring", "winner"]) == 0
    assert without_times(capsys.readouterr().err) == [
        REFUSED,
        SUMMARY,
        "tbgen: 4 games tagged (1 mate, 1 solved, 1 bounded, 1 played)",
    ]
    tagged = (place / "out.pgn").read_text()
    assert '[RMobilityBasis "bounded"]\n[RMobilityAccrued "G4.5"]\n' in tagged
    assert tagged.count('[RMobilityBounds "G5.0 G4.0"]\n') == 1
    assert '[RMobilityResult "-G3.5"]\n[Points "0-1"]\n[RMobilityBasis "solved"]\n' in tagged
    assert cells.budgets[0] == Budget(60.0)
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bases"] == {"mate": 1, "solved": 1, "played": 2}
    assert document["unsolvable"] == {"the position has castling rights: cells are solved without them": 1}
    seconds = document["solving"].pop("seconds")
    assert 0 <= seconds < 60
    assert document["solving"] == {"asked": 3, "solved": 2, "known": 0, "refused": 1, "out_of_time": 0}


@pytest.mark.usefixtures("cells")
def test_score(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The standings count what each basis has decided; tags are believed."""
    words = ["score", str(place / "in.pgn"), "--solve"]
    assert main([*words, "--scoring", "winner"]) == 0
    output = capsys.readouterr()
    rows = [line.split() for line in output.out.splitlines()]
    for basis in ("mate", "solved", "bounded", "played"):
        assert [basis, "1"] in rows
    assert "What best play changed: games" in output.out
    assert without_times(output.err) == [REFUSED, SUMMARY]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["bases"] == {"mate": 1, "solved": 1, "played": 2}
    assert [game.get("bounds") for game in document["games"]] == [
        {"lower": "G5.0", "upper": "G4.0"},
        *[None] * 3,
    ]
    assert document["solving"]["asked"] == 3
    tagged = str(place / "tagged.pgn")
    assert main(["tag", str(place / "in.pgn"), tagged, "--solve"]) == 0
    capsys.readouterr()
    for scheme, decided in (("winner", 1), ("exponential", 0)):
        found = json.loads(answer(capsys, "score", tagged, "--json", "--scoring", scheme))
        assert found["bases"].get("bounded", 0) == decided
        assert found["games"][0]["bounds"] == {"lower": "G5.0", "upper": "G4.0"}
        assert "solving" not in found


@pytest.mark.usefixtures("cells")
def test_adjudicate_a_file(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["adjudicate", str(place / "in.pgn"), "--solve"]
    assert main(words) == 0
    output = capsys.readouterr()
    assert output.out.splitlines() == [
        "1. A - B  1/2-1/2  accrued G4.5  result G4.5  (played, not proven: between G5.0 and G4.0)  "
        "points 0.5010-0.4990",
        "2. A - B  0-1  accrued -G0.0  result -G0.0  (mate)  points 0.0000-1.0000",
        "3. A - B  1/2-1/2  accrued G3.0  result -G3.5  (solved, 4 plies to go)  points 0.4961-0.5039",
        "4. A - B  1/2-1/2  accrued G2.0  result G2.0  (played, not proven)  points 0.5312-0.4688",
    ]
    assert without_times(output.err) == [
        REFUSED.replace("game 4, line 22: ", ""),
        SUMMARY,
    ]
    assert main([*words, "--scoring", "winner", "--json"]) == 0
    first, _, third, fourth = json.loads(capsys.readouterr().out)["games"]
    assert (first["basis"], first["proven"], first["value"]) == ("bounded", True, "G4.5")
    assert (first["bounds"], first["depth"]) == ({"lower": "G5.0", "upper": "G4.0"}, None)
    assert (third["basis"], third["value"], third["depth"], "bounds" in third) == (
        "solved",
        "-G3.5",
        4,
        False,
    )
    assert "castling rights" in fourth["unsolvable"]
    assert main([*words, "--require-proof"]) == 1
    output = capsys.readouterr()
    assert [line[0] for line in output.out.splitlines()] == ["2", "3"]
    assert "game 1, line 1: no table can prove the result: the position has 6 men" in output.err
    assert "it is proved only to lie between G5.0 and G4.0" in output.err
    assert "nor can it be solved: the position has castling rights" in output.err


@pytest.mark.usefixtures("cells")
def test_adjudicate_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    text = answer(capsys, "adjudicate", f"{LOCKED} G4.5", "--solve", "--scoring", "winner")
    assert "basis           bounded: between G5.0 and G4.0" in text.splitlines()
    text = answer(capsys, "adjudicate", *WALL.split(), "G3.0", "--solve", "--require-proof")
    assert "result          -G3.5  (Black holds it)" in text.splitlines()
    assert "basis           solved, 4 plies to go" in text.splitlines()


def test_what_takes_least_comes_first(
    cells: Cells, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The games come out in their own order; a position that comes twice is solved once."""
    monkeypatch.setitem(cells.answers, FEW, cells.answers[LOCKED])
    monkeypatch.setitem(cells.answers, PIECES, cells.answers[LOCKED])
    games = [stopped(fen, "G4.5") for fen in (PIECES, WALL, FEW, PIECES)]
    for source, given in (("a.pgn", games[:2]), ("b.pgn", games[2:])):
        (place / source).write_text("".join(given))
    names = [str(place / "a.pgn"), str(place / "b.pgn")]
    for command in (["tag", *names, str(place / "out.pgn")], ["score", *names], ["adjudicate", *names]):
        cells.asked.clear()
        assert main([*command, "--solve"]) == 0
        fens = [asked.split()[0] for asked in cells.asked]
        assert fens == [fen.split()[0] for fen in (FEW, PIECES, WALL)]
        assert "positions of 4 stopped games that no table holds: 4 worked on" in capsys.readouterr().err
    tagged = (place / "out.pgn").read_text()
    assert re.findall('FEN "(.*)"', tagged) == [PIECES, WALL, FEW, PIECES]


def test_budgets(cells: Cells, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tag", str(place / "in.pgn"), "-", "--solve", "--solve-time", "5m", "--solve-memory", "2GiB"]
    assert main(words) == 0
    assert set(cells.budgets) == {Budget(300.0, 2 << 30)}
    cells.budgets.clear()
    assert main([*words, "--solve-threads", "5"]) == 0
    assert {budget.threads for budget in cells.budgets} == {5}
    cells.budgets.clear()
    assert main([*words, "--solve-total", "2m"]) == 0
    assert cells.budgets[0].seconds == 120.0
    assert all(60.0 < budget.seconds <= 120.0 for budget in cells.budgets)
    capsys.readouterr()
    assert main([*words, "--solve-total", "0.000000001s"]) == 0
    (said,) = without_times(capsys.readouterr().err)[-2:-1]
    assert said.endswith(": 1 not to be solved, 2 left when the time of --solve-total was over")


@pytest.mark.parametrize("jobs", ["2", *exhaustive(["1"])])
def test_an_interrupted_run_is_carried_on(
    cells: Cells, place: Path, jobs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it has proved is not proved again, and the games come out as without the interruption."""
    games = "".join(stopped(LOCKED, f"G{rank}.0") + MATE for rank in range(2, 8))
    (place / "in.pgn").write_text(games + MATE * 50)
    (place / "out.pgn").write_text("old")
    words = ["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--solve", "--jobs", jobs]
    kept = place / "results.jsonl"
    cells.interrupted_after = 4
    assert main([*words, "--solve-results", str(kept)]) == 130
    assert capsys.readouterr().err.splitlines() == [
        "tbgen: game 9 (A - B): the value is between G5.0 and G1.0 by what is proved so far",
        f"tbgen: what has been proved is in {kept}: the same command goes on from there",
        "tbgen: interrupted",
    ]
    assert (place / "out.pgn").read_text() == "old"
    assert {path.name for path in place.iterdir()} == {"in.pgn", "out.pgn", "results.jsonl"}
    assert kept.read_bytes().count(b"\n") == 1 + 4 + 1
    cells.interrupted_after = 10**9
    before = list(cells.asked)
    assert main([*words, "--solve-results", str(kept)]) == 0
    assert len(before) == 4
    assert len(cells.asked) == len(set(cells.asked)) == 6
    assert "2 worked on for ..., 4 known before" in without_times(capsys.readouterr().err)[0]
    carried_on = (place / "out.pgn").read_bytes()
    assert main(words) == 0
    assert (place / "out.pgn").read_bytes() == carried_on
    assert len(cells.asked) == 12
    # Nor is anything solved again, whatever the command, but for what more time may tell.
    assert main(["score", str(place / "in.pgn"), "--solve", "--solve-results", str(kept)]) == 0
    assert len(cells.asked) == 12
    assert main(["adjudicate", str(place / "in.pgn"), "--solve", "--solve-results", str(kept)]) == 0
    assert len(cells.asked) == 12
    more = ["--solve", "--solve-results", str(kept), "--solve-time", "61s"]
    assert main(["score", str(place / "in.pgn"), *more, "--scoring", "winner"]) == 0
    assert len(cells.asked) == 12  # for the points by this scoring are proved
    assert main(["score", str(place / "in.pgn"), *more]) == 0
    assert len(cells.asked) == 18


def test_an_interrupted_adjudication_says_what_is_proved(
    cells: Cells, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells.interrupted_after = 0
    fen = "8/5K1p/8/8/6P1/1k2b2P/8/8 b - - 0 52 G21.5"
    assert main(["adjudicate", fen, "--solve"]) == 130
    output = capsys.readouterr()
    assert "result          G5.0  (White holds it)" in output.out.splitlines()
    assert "basis           nearest bound, not proven: between G5.0 and G1.0" in output.out.splitlines()
    assert output.err == "tbgen: interrupted\n"
    assert main(["adjudicate", fen, "--solve", "--json"]) == 130
    assert json.loads(capsys.readouterr().out)["bounds"] == {"lower": "G5.0", "upper": "G1.0"}
    names = [str(place / "in.pgn"), str(place / "again.pgn")]
    shutil.copy(*names)
    assert main(["adjudicate", *names, "--solve"]) == 130
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 8
    assert output.out.count("not proven: between G5.0 and G1.0") == 2
    said = "game 4 (A - B): the value is between G5.0 and G1.0 by what is proved so far\ntbgen: interrupted\n"
    assert output.err == f"tbgen: {names[0]}, {said}"
    assert main(["adjudicate", *names, "--solve", "--require-proof"]) == 130
    capsys.readouterr()
    for command in (["tag", names[0], str(place / "out.pgn")], ["score", names[0]]):
        assert main([*command, "--solve", "--require-proof"]) == 130
        assert capsys.readouterr().err == f"tbgen: {said}"
    assert not (place / "out.pgn").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--solve-time", "5m"], "--solve-time has no effect alone: add --solve"),
        (["--solve-total", "5m"], "--solve-total has no effect alone: add --solve"),
        (["--solve-memory", "5G"], "--solve-memory has no effect alone: add --solve"),
        (["--solve-threads", "1"], "--solve-threads has no effect alone: add --solve"),
        (["--solve-results", "x"], "--solve-results has no effect alone: add --solve"),
        (["--solve-cells", "x"], "--solve-cells has no effect alone: add --solve"),
        (["--solve", "--rules", "wg"], "only r-mobility is solved beyond the tables"),
        (["--solve", "--solve-time", "soon"], "'soon' is not a time"),
        (["--solve", "--solve-total", "0s"], "'0s' is not a time"),
        (["--solve", "--solve-memory", "-1G"], "'-1G' is too small a size"),
        (["--solve", "--solve-results", "."], "'.' is no file"),
        (["--solve", "--solve-cells", "in.pgn"], "in.pgn is not a directory: choose another for cells"),
        (["--solve", "--solve-results", "in.pgn"], "'in.pgn' has no results that this version of tbgen"),
    ],
)
def test_bad_input(
    words: list[str],
    sentence: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    for command in (["tag", "in.pgn", "out.pgn"], ["score", "in.pgn"], ["adjudicate", "in.pgn"]):
        assert sentence in failure(capsys, 2, *command, *words)
    assert [path.name for path in place.iterdir()] == ["in.pgn"]
    assert (place / "in.pgn").read_text() == GAMES


def test_progress(
    cells: Cells, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Positions are solved before the games are gone through, as far as these can be read twice."""
    monkeypatch.setattr("tbgen.cli.progress._ELSEWHERE", 0.0)
    assert main(["tag", str(place / "in.pgn"), str(place / "out.pgn"), "--solve"]) == 0
    told = [line[20:] for line in without_times(capsys.readouterr().err)]
    assert "solving game 4 (A - B), 1 of 3: not known, 0 cells solved" in told
    assert "solving game 3 (A - B), 3 of 3, about ... left: not known, 0 cells solved" in told
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(GAMES.encode())))
    monkeypatch.setattr("sys.stdin", stream)
    assert main(["tag", "-", str(place / "again.pgn"), "--solve"]) == 0
    told = [line[20:] for line in without_times(capsys.readouterr().err)]
    assert "solving game 3 (A - B): not known, 0 cells solved" in told
    assert (place / "again.pgn").read_bytes() == (place / "out.pgn").read_bytes()
    assert main(["adjudicate", str(place / "in.pgn"), "--solve"]) == 0
    told = [line[20:] for line in without_times(capsys.readouterr().err)]
    assert "solving game 3 (A - B), 3 of 3, about ... left: not known, 0 cells solved" in told


SLOW = """
import sys, time
from tbgen.cli import entry_point
from tbgen.solve import solution, solver
from tbgen.board.score import GScore

def solve(board, accrued, **_):
    if str(accrued) == "G5.0":
        print("slow", flush=True)
        time.sleep(600)
    return solution.Solution(accrued, accrued, accrued, accrued, 0, (), 1)

solver.solve = solve
entry_point()
"""


@pytest.mark.parametrize(
    ("number", "jobs"),
    [
        *[(signal.SIGTERM, "2"), (signal.SIGKILL, "1")],
        *exhaustive([(signal.SIGINT, "1"), (signal.SIGINT, "2")]),
        *exhaustive([(signal.SIGTERM, "1"), (signal.SIGKILL, "2")]),
    ],
)
def test_a_process_that_is_ended(place: Path, number: signal.Signals, jobs: str) -> None:
    """In the middle of a position: OUT is as it was, and what was proved before is kept."""
    source, target, kept = (place / name for name in ("in.pgn", "out.pgn", "results.jsonl"))
    source.write_text("".join(stopped(LOCKED, f"G{rank}.0") for rank in range(2, 8)) + MATE * 50)
    target.write_text("old")
    words = ["tag", str(source), str(target), "--solve", "--solve-results", str(kept), "--jobs", jobs]
    with started("-c", SLOW, *words) as running:
        wait_for(running, "slow")
        running.send_signal(number)
        code, said = end(running)
    assert code == (-number if number is signal.SIGKILL else 128 + number)
    assert ("the same command goes on from there" in said) == (number is not signal.SIGKILL)
    assert "Traceback" not in said
    assert target.read_text() == "old"
    assert [json.loads(line)["accrued"] for line in kept.read_text().splitlines()[1:]] == [
        *("G2.0", "G3.0", "G4.0")
    ]


def test_whoever_solves_nothing_needs_no_compiler(place: Path) -> None:
    script = "import sys; from tbgen.cli.main import main; main(sys.argv[1:]); print('numba' in sys.modules)"
    command = [sys.executable, "-c", script, "tag", str(place / "in.pgn"), str(place / "out.pgn")]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TBGEN_DIR": "none"})
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


def test_real_cells(tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One position is solved exactly. Of the other it is proved that Black gets no better than -G3.5, which
    is what he has; and with a komi that he would have to beat with less, any result is White's win."""
    words = ["adjudicate", f"{LOCKED} G4.5", "--solve", "--solve-time", "10m", "--dir", str(tables)]
    text = answer(capsys, *words)
    assert "basis           solved, 0 plies to go" in text.splitlines()
    words = ["adjudicate", WALL, "--solve", "--solve-time", "4s", "--dir", str(tmp_path)]
    text = answer(capsys, *words, "--scoring", "komi", "--komi", "-G3.25", "--require-proof")
    lines = text.splitlines()
    assert "result          -G3.5  (Black holds it)" in lines
    assert [line for line in lines if line.startswith("basis           bounded: between -G3.5 and ")]
    assert "points          1-0 komi  (White-Black)" in lines
