"""``--solve`` of ``tbgen adjudicate``, ``tag`` and ``score``, mostly with a substitute for cells."""

import io
import json
import re
import shutil
from pathlib import Path

import pytest

from tbgen.beyond.budget import Budget
from tbgen.board.scoring import ScoreInterval
from tests.support.commands import Capture, said
from tests.support.exhaustive import exhaustive
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


def without_times(lines: list[str]) -> list[str]:
    """Return lines without durations."""
    return [re.sub(r"\d+\.\d s", "...", line) for line in lines]


def test_what_takes_least_comes_first(
    cells: Cells, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """The games stay in order; a position that occurs twice is solved once."""
    monkeypatch.setitem(cells.answers, FEW, cells.answers[LOCKED])
    monkeypatch.setitem(cells.answers, PIECES, cells.answers[LOCKED])
    games = [stopped(fen, "G4.5") for fen in (PIECES, WALL, FEW, PIECES)]
    for source, given in (("a.pgn", games[:2]), ("b.pgn", games[2:])):
        (place / source).write_text("".join(given))
    names = [str(place / "a.pgn"), str(place / "b.pgn")]
    for command in (["tag", *names, str(place / "out.pgn")], ["score", *names], ["adjudicate", *names]):
        cells.asked.clear()
        _, told = said(capsys, 0, *command, "--solve")
        fens = [asked.split()[0] for asked in cells.asked]
        assert fens == [fen.split()[0] for fen in (FEW, PIECES, WALL)]
        assert "positions of 4 stopped games that no table holds: 4 worked on" in " ".join(told)
    tagged = (place / "out.pgn").read_text()
    assert re.findall('FEN "(.*)"', tagged) == [PIECES, WALL, FEW, PIECES]


def test_budgets(cells: Cells, place: Path, capsys: Capture) -> None:
    words = "tag", place / "in.pgn", "-", "--solve", "--solve-time", "5m", "--solve-memory", "2GiB"
    for more, budgets in (
        ([], {Budget(300.0, 2 << 30)}),
        (["--solve-threads", "5"], {Budget(300.0, 2 << 30, threads=5)}),
    ):
        cells.budgets.clear()
        said(capsys, 0, *words, *more)
        assert set(cells.budgets) == budgets
    cells.budgets.clear()
    said(capsys, 0, *words, "--solve-until-decided")
    equal, unequal = map(ScoreInterval.parse, ("-G8.5 G7.5", "G3.0 G1.0"))
    assert {(budget.suffice(equal), budget.suffice(unequal)) for budget in cells.budgets} == {(True, False)}
    cells.budgets.clear()
    said(capsys, 0, *words, "--solve-total", "2m")
    assert cells.budgets[0].seconds == 120.0
    assert all(0 < budget.seconds <= 120.0 for budget in cells.budgets)
    _, told = said(capsys, 0, *words, "--solve-total", "0.000000001s")
    assert told[-2].endswith(": 1 unsolvable, 2 not begun within the time of --solve-total")


@pytest.mark.parametrize("jobs", ["1", *exhaustive(["2"])])
def test_an_interrupted_run_is_carried_on(cells: Cells, place: Path, jobs: str, capsys: Capture) -> None:
    """Proved results are not proved again, and the games are the same as without the interruption."""
    games = "".join(stopped(LOCKED, f"G{rank}.0") + MATE for rank in range(2, 8))
    source, kept = place / "in.pgn", place / "results.jsonl"
    source.write_text(games + MATE * 5)
    (place / "out.pgn").write_text("old")
    words = "tag", source, place / "out.pgn", "--solve", "--jobs", jobs
    cells.interrupted_after = 4
    assert said(capsys, 130, *words, "--solve-results", kept)[1] == [
        "tbgen: game 9 (A - B): the value is between G5.0 and G1.0 by what is proved so far",
        f"tbgen: the proved results are in {kept}: the same command continues from there",
        "tbgen: interrupted",
    ]
    assert (place / "out.pgn").read_text() == "old"
    assert {path.name for path in place.iterdir()} == {"in.pgn", "out.pgn", "results.jsonl"}
    assert kept.read_bytes().count(b"\n") == 1 + 4 + 1
    cells.interrupted_after = 10**9
    before = list(cells.asked)
    _, told = said(capsys, 0, *words, "--solve-results", kept)
    assert len(before) == 4
    assert len(cells.asked) == len(set(cells.asked)) == 6
    assert "2 worked on for ..., 4 solved before" in without_times(told)[0]
    carried_on = (place / "out.pgn").read_bytes()
    said(capsys, 0, *words)
    assert (place / "out.pgn").read_bytes() == carried_on
    assert len(cells.asked) == 12
    # No command solves a position again, unless more time may improve the result.
    for command, more, asked in (
        ("score", [], 12),
        ("adjudicate", [], 12),
        ("score", ["--solve-time", "61s", "--scoring", "winner"], 12),  # these points are proved
        ("score", ["--solve-time", "61s"], 18),
    ):
        said(capsys, 0, command, source, "--solve", "--solve-results", kept, *more)
        assert len(cells.asked) == asked


def test_an_interrupted_adjudication_says_what_is_proved(cells: Cells, place: Path, capsys: Capture) -> None:
    cells.interrupted_after = 0
    fen = "8/5K1p/8/8/6P1/1k2b2P/8/8 b - - 0 52"
    out, told = said(capsys, 130, "adjudicate", fen, "--solve")
    assert "result          G5.0  (White holds it)" in out.splitlines()
    assert "basis           nearest bound, not proven: between G5.0 and G1.0" in out.splitlines()
    assert told == ["tbgen: interrupted"]
    out, _ = said(capsys, 130, "adjudicate", fen, "--solve", "--json")
    assert json.loads(out)["bounds"] == {"lower": "G5.0", "upper": "G1.0"}
    names = [place / "in.pgn", place / "again.pgn"]
    shutil.copy(*names)
    out, told = said(capsys, 130, "adjudicate", *names, "--solve")
    assert len(out.splitlines()) == 8
    assert out.count("not proven: between G5.0 and G1.0") == 2
    left = "game 4 (A - B): the value is between G5.0 and G1.0 by what is proved so far"
    assert told == [f"tbgen: {names[0]}, {left}", "tbgen: interrupted"]
    said(capsys, 130, "adjudicate", *names, "--solve", "--require-proof")
    for command, *more in (("tag", place / "out.pgn"), ("score",)):
        _, told = said(capsys, 130, str(command), names[0], *more, "--solve", "--require-proof")
        assert told == [f"tbgen: {left}", "tbgen: interrupted"]
    assert not (place / "out.pgn").exists()


def test_progress(cells: Cells, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """Positions are solved before the games are adjudicated, if the games can be read twice."""
    monkeypatch.setattr("tbgen.cli.bars._LOG_SECONDS", 0.0)
    names = [str(place / name) for name in ("in.pgn", "out.pgn", "again.pgn")]

    def told(*words: str) -> list[str]:
        return [line[20:] for line in without_times(said(capsys, 0, *words, "--solve")[1])]

    beforehand = "solving game 3 (A - B), 3 of 3, about ... left: not known, 0 cells solved"
    lines = told("tag", *names[:2])
    assert "solving game 4 (A - B), 1 of 3: not known, 0 cells solved" in lines
    assert beforehand in lines
    assert beforehand in told("adjudicate", names[0])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(GAMES.encode()))))
    assert "solving game 3 (A - B): not known, 0 cells solved" in told("tag", "-", names[2])
    assert Path(names[2]).read_bytes() == Path(names[1]).read_bytes()
