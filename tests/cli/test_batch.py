"""``tbgen solve`` of many positions; all tests but the last use a substitute for cells."""

import io
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tbgen.beyond.budget import Budget
from tbgen.beyond.results import SolveResults
from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tests.support.commands import Capture, said
from tests.support.processes import end, started, wait_for
from tests.support.solving import CASTLING, FEW, LOCKED, PIECES, WALL, Cells

LINES = f"{WALL} G3.0\n\n  {LOCKED.replace(' ', '_')}_G4.5\nfen\n{CASTLING}\n{WALL} G3.0\n"


TIME = "--time", "1h"
"""Options that set the time of a position, so that each is tried once."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of six lines: three positions, one of them twice and one unsolvable, and two other lines."""
    path = tmp_path / "some.fen"
    path.write_text(LINES)
    return path


def solved(capsys: Capture, code: int, *words: str | Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Run a command; return the documents printed line by line, and the lines on stderr."""
    out, told = said(capsys, code, "solve", *words)
    return list(map(json.loads, out.splitlines())), told


def test_a_file(cells: Cells, file: Path, capsys: Capture) -> None:
    """A bad line gets its error, and the others are solved."""
    documents, told = solved(capsys, 2, file, *TIME, "--scoring", "winner")
    assert told == ["tbgen: 5 positions: 1 bounded, 2 exact, 2 with an error"]
    by_fen = {document["fen"]: document for document in documents}
    assert by_fen[LOCKED.replace(" ", "_") + "_G4.5"] == {
        "fen": LOCKED.replace(" ", "_") + "_G4.5",
        "accrued": "G4.5",
        "value": None,
        "lower": "G5.0",
        "upper": "G4.0",
        "depth": None,
        "points": {"lower": {"white": 1.0, "black": 0.0}, "upper": {"white": 1.0, "black": 0.0}},
        "stopped_by": None,
    }
    exact = by_fen[f"{WALL} G3.0"]
    assert (exact["value"], exact["depth"], exact["lower"], exact["upper"]) == ("-G3.5", 4, *2 * ["-G3.5"])
    assert "is not a FEN" in by_fen["fen"]["error"]
    assert by_fen["fen"]["code"] == "bad_input"
    assert "castling rights" in by_fen[CASTLING]["error"]
    assert [document["fen"] for document in documents].count(f"{WALL} G3.0") == 2
    assert len(cells.asked) == 3
    assert set(cells.budgets) == {Budget(3600.0)}
    # One document has all answers in order.
    listed = json.loads(said(capsys, 2, "solve", file, *TIME, "--json")[0])
    assert [document["fen"] for document in listed] == [line.strip() for line in LINES.splitlines() if line]
    assert listed[0]["points"]["lower"] == listed[-1]["points"]["lower"]


def test_several_positions_and_standard_input(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    documents, _ = solved(capsys, 0, *WALL.split(), "G3.0", *LOCKED.split(), *TIME, "--accrued", "G2.0")
    assert {document["fen"] for document in documents} == {f"{WALL} G3.0", LOCKED}
    assert {asked.split()[1] for asked in cells.asked} == {"G2.0"}
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{WALL}\r\n{LOCKED}"))
    documents, _ = solved(capsys, 0, "-", *TIME)
    assert {document["fen"] for document in documents} == {WALL, LOCKED}


def test_what_takes_least_comes_first(
    cells: Cells, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Without --time, each position gets as much time as helps."""
    for fen in (FEW, PIECES):
        monkeypatch.setitem(cells.answers, fen, ("G5.0", "G5.0", 1))
    file.write_text("\n".join((WALL, PIECES, FEW)))
    documents, _ = solved(capsys, 0, file)
    assert [document["fen"] for document in documents] == [FEW, PIECES, WALL]
    assert [budget.seconds for budget in cells.budgets] == [60.0, 60.0, 60.0]


def test_results_are_kept(cells: Cells, file: Path, tmp_path: Path, capsys: Capture) -> None:
    """After an interruption all positions are reported, and the same command continues."""
    kept = tmp_path / "results.jsonl"
    words = file, "--results", kept, *TIME
    cells.interrupted_after = 2
    cells.answers[WALL] = ("G2.0", "G2.0", 4)
    documents, told = solved(capsys, 130, *words)
    stops = {document["fen"]: document.get("stopped_by") for document in documents}
    assert (len(documents), stops[f"{WALL} G3.0"]) == (5, "interrupted")
    assert told[-2:] == [
        f"tbgen: the proved results are in {kept}: the same command continues from there",
        "tbgen: interrupted",
    ]
    cells.interrupted_after = 10**9
    documents, _ = solved(capsys, 2, *words)
    refused = f"{CASTLING.split()[0]} "
    asked = [state for state in cells.asked if not state.startswith(refused)]
    assert len(asked) == len(set(asked)) == 2
    again, _ = solved(capsys, 2, *words)
    assert [state for state in cells.asked if not state.startswith(refused)] == asked
    assert sorted(map(str, again)) == sorted(map(str, documents))


@pytest.mark.usefixtures("cells")
def test_what_is_known_is_printed_where_results_can_no_longer_be_kept(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    right = SolveResults.add

    def add(*given: Any) -> None:
        right(*given)
        raise TbgenError("the disk is full")

    monkeypatch.setattr(SolveResults, "add", add)
    out, told = said(capsys, 1, "solve", file, "--results", tmp_path / "results.jsonl", "--json", *TIME)
    assert told[-1] == "tbgen: the disk is full"
    assert sum(document.get("lower") != document.get("upper") for document in json.loads(out)) == 1


SLOW = """
import sys, time
from tbgen.cli import entry_point
from tbgen.cells.games import Games

solve, solved = Games.solve, []

def slow(games):
    if solved:
        print("slow", flush=True)
        time.sleep(600)
    solved.append(games.cell)
    return solve(games)

Games.solve = slow
entry_point()
"""
ENDINGS = ["8/8/4k3/p7/P7/4K3/8/8 w - - 3 40 G2.0", "8/8/8/2p2k2/2P5/4K3/8/8 b - - 3 40 G2.0"]


@pytest.mark.exhaustive
def test_a_run_that_is_killed_goes_on(small: Path, tmp_path: Path) -> None:
    """With real cells, a killed and continued run has the same results; only the current position is lost."""
    file = tmp_path / "some.fen"
    file.write_text("\n".join(ENDINGS))
    words = ["solve", str(file), "--dir", str(small), *TIME]
    whole, killed = (
        [*words, "--results", str(tmp_path / name), "--cells", str(tmp_path / f"{name}-cells")]
        for name in ("a", "b")
    )
    with started("-c", SLOW, *killed) as running:
        wait_for(running, "slow")
        running.send_signal(signal.SIGKILL)
        assert end(running)[0] == -signal.SIGKILL
    assert main(killed) == main(whole) == 0
    facts = "position", "accrued", "lower", "upper", "depth"
    kept = [
        {tuple(map(json.loads(line).get, facts)) for line in (tmp_path / name).read_text().splitlines()[1:]}
        for name in ("a", "b")
    ]
    assert kept[0] == kept[1]
    assert len(kept[0]) == 2
    assert all(lower == upper for *_, lower, upper, _ in kept[0])
