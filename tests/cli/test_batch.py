"""``tbgen solve`` of many positions; cells are stood in for, but at the end."""

import io
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tbgen.board.interval import ProvedValue
from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tbgen.solve.budget import Budget
from tbgen.solve.results import Effort, SolveResults, StateName
from tests.support.commands import failure
from tests.support.processes import end, started, wait_for
from tests.support.solving import CASTLING, FEW, LOCKED, PIECES, WALL, Cells

LINES = f"{WALL} G3.0\n\n  {LOCKED.replace(' ', '_')}_G4.5\nfen\n{CASTLING}\n{WALL} G3.0\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Six lines: three positions, one of them twice and one that is not to be solved, and two others."""
    path = tmp_path / "some.fen"
    path.write_text(LINES)
    return path


def printed(capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """The documents printed line by line, and what stands on stderr."""
    output = capsys.readouterr()
    return list(map(json.loads, output.out.splitlines())), output.err.splitlines()


def test_a_file(cells: Cells, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bad line has its error, and the others go on."""
    assert main(["solve", str(file), "--time", "9s", "--scoring", "winner"]) == 2
    documents, said = printed(capsys)
    assert said == ["tbgen: 5 positions: 1 bounded, 2 exact, 2 with an error"]
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
    assert set(cells.budgets) == {Budget(9.0)}
    # One document has all in their order.
    assert main(["solve", str(file), "--time", "9s", "--json"]) == 2
    listed = json.loads(capsys.readouterr().out)
    assert [document["fen"] for document in listed] == [line.strip() for line in LINES.splitlines() if line]
    assert listed[0]["points"]["lower"] == listed[-1]["points"]["lower"]


def test_several_positions_and_standard_input(
    cells: Cells, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", *WALL.split(), "G3.0", *LOCKED.split(), "--time", "1s", "--accrued", "G2.0"]) == 0
    documents, _ = printed(capsys)
    assert {document["fen"] for document in documents} == {f"{WALL} G3.0", LOCKED}
    assert {asked.split()[1] for asked in cells.asked} == {"G2.0"}
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{WALL}\r\n{LOCKED}"))
    assert main(["solve", "-", "--time", "1s"]) == 0
    documents, _ = printed(capsys)
    assert {document["fen"] for document in documents} == {WALL, LOCKED}


def test_what_takes_least_comes_first(
    cells: Cells, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a time each has as much as helps."""
    for fen in (FEW, PIECES):
        monkeypatch.setitem(cells.answers, fen, ("G5.0", "G5.0", 1))
    file.write_text("\n".join((WALL, PIECES, FEW)))
    assert main(["solve", str(file)]) == 0
    documents, _ = printed(capsys)
    assert [document["fen"] for document in documents] == [FEW, PIECES, WALL]
    assert [budget.seconds for budget in cells.budgets] == [60.0, 60.0, 60.0]


def test_results_are_kept(
    cells: Cells, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interruption tells of all positions, and the same command goes on."""
    kept = tmp_path / "results.jsonl"
    words = ["solve", str(file), "--results", str(kept), "--time", "1s"]
    cells.interrupted_after = 2
    cells.answers[WALL] = ("G2.0", "G2.0", 4)
    assert main(words) == 130
    documents, said = printed(capsys)
    stops = {document["fen"]: document.get("stopped_by") for document in documents}
    assert (len(documents), stops[f"{WALL} G3.0"]) == (5, "interrupted")
    assert said[-2:] == [
        f"tbgen: what has been proved is in {kept}: the same command goes on from there",
        "tbgen: interrupted",
    ]
    cells.interrupted_after = 10**9
    assert main(words) == 2
    documents, _ = printed(capsys)
    refused = f"{CASTLING.split()[0]} "
    asked = [state for state in cells.asked if not state.startswith(refused)]
    assert len(asked) == len(set(asked)) == 2
    assert main(words) == 2
    assert [state for state in cells.asked if not state.startswith(refused)] == asked
    again, _ = printed(capsys)
    assert sorted(map(str, again)) == sorted(map(str, documents))


@pytest.mark.usefixtures("cells")
def test_what_is_known_is_printed_where_results_can_no_longer_be_kept(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right, added = SolveResults.add, list[object]()

    def add(results: SolveResults, state: StateName, found: ProvedValue, effort: Effort) -> None:
        added.append(state)
        if len(added) > 1:
            raise TbgenError("the disk is full")
        right(results, state, found, effort)

    monkeypatch.setattr(SolveResults, "add", add)
    words = ["solve", str(file), "--results", str(tmp_path / "results.jsonl"), "--json", "--time", "1s"]
    assert main(words) == 1
    output = capsys.readouterr()
    assert output.err.splitlines()[-1] == "tbgen: the disk is full"
    assert sum("error" not in document for document in json.loads(output.out)) >= 1


@pytest.mark.usefixtures("cells")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["none.fen"], "there is no file 'none.fen': expected a FEN, a file of FENs, or -"),
        (["."], "'.' cannot be read: Is a directory"),
        (["empty.fen"], "there is no position in empty.fen"),
        (["games.pgn.gz"], "games.pgn.gz has games: solve their final positions by: tbgen adjudicate"),
        (["some.fen", "more.fen"], "'some.fen more.fen' is neither a FEN nor one file of FENs"),
        (["some.fen", "--line"], "--line is for one position: leave it out, or give one FEN"),
        ([WALL, LOCKED, "--mobile", "a1"], "--mobile is for one position"),
        (["some.fen", "--stream", "--json"], "--stream is for one position"),
        ([WALL, "--total", "1h"], "--total is for many positions: leave it out, or give a file of them"),
        ([WALL, "--results", "x"], "--results is for many positions"),
        (["some.fen", "--results", "some.fen"], "name another file with --results"),
        (["some.fen", "--results", "."], "name one for results with --results"),
    ],
)
def test_bad_input(
    words: list[str],
    sentence: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(file.parent)
    Path("empty.fen").write_text("\n \n")
    said = failure(capsys, 1 if words == ["."] else 2, "solve", *words)
    assert sentence in said
    assert {path.name for path in file.parent.iterdir()} == {"some.fen", "empty.fen"}


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


@pytest.mark.usefixtures("compiled")
def test_a_run_that_is_killed_goes_on(own: Path, tmp_path: Path) -> None:
    """Real cells, with equal results, whatever is lost with a position at work."""
    file = tmp_path / "some.fen"
    file.write_text("\n".join(ENDINGS))
    words = ["solve", str(file), "--dir", str(own), "--time", "10m"]
    found = []
    for name, script in (("a", "from tbgen.cli import entry_point; entry_point()"), ("b", SLOW)):
        kept = [*words, "--results", str(tmp_path / name), "--cells", str(tmp_path / f"{name}-cells")]
        with started("-c", script, *kept) as running:
            if name == "b":
                wait_for(running, "slow")
                running.send_signal(signal.SIGKILL)
            code, _ = end(running)
        assert code == (-signal.SIGKILL if name == "b" else 0)
        found.append(kept)
    assert main(found[1]) == 0
    kept_lines = [
        {
            tuple(attempt[key] for key in ("position", "accrued", "lower", "upper", "depth"))
            for attempt in map(json.loads, (tmp_path / name).read_text().splitlines()[1:])
        }
        for name in ("a", "b")
    ]
    assert kept_lines[0] == kept_lines[1]
    assert len(kept_lines[0]) == 2
    assert all(lower == upper for *_, lower, upper, _ in kept_lines[0])
