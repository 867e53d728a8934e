"""``tbgen solve`` of one position."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Never
from xml.etree import ElementTree

import chess
import pytest

from tbgen.beyond import solver
from tbgen.beyond.budget import Budget, Stop
from tbgen.beyond.cell_solver import CellSolver
from tbgen.beyond.gaps import Gap, Narrowing, Need
from tbgen.beyond.jobs import Solver
from tbgen.beyond.kept import DEFAULT_BYTES
from tbgen.beyond.ledger import ForwardProof
from tbgen.beyond.lines import Hold, PlanMove
from tbgen.beyond.solution import Solution, SolvedMove
from tbgen.beyond.statements import solution_document
from tbgen.board.fen import parse_fen
from tbgen.board.score import NONE, GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.cells.bounds import Bounds
from tbgen.cells.games import Games
from tbgen.cli.main import main
from tbgen.cli.solution import bound_picture, hold_text, solution_text
from tbgen.documents import json_text
from tbgen.errors import UsageError
from tbgen.probe.moves import LinePly
from tbgen.progress import SolveProgress, SolveStage
from tests.support.commands import Capture, answer, failure, printed, said
from tests.support.paths import DATA
from tests.support.solving import LOCKED, WALL

SVG = "{http://www.w3.org/2000/svg}"
ENDING = "8/8/4k3/p7/P7/4K3/8/8 w - - 3 40"
KNIGHT = "solve", "8/8/4k3/p7/P7/4K3/8/7N w - - 3 40", "--mobile", "e3,E6", "--line", "--verify"


class OneCell:
    """Solves one cell at most, and caches answers that several tests need."""

    def __init__(self) -> None:
        self._solve, self._known = solver.solve, dict[str, Solution]()

    def __call__(
        self, board: chess.Board, accrued: GScore, *, budget: Budget, progress: object, **options: Any
    ) -> Solution:
        """Answer."""
        question = f"{board.fen()} {accrued} {options}"
        if question not in self._known:
            self._known[question] = self._solve(board, accrued, budget=replace(budget, cells=1), **options)
        return self._known[question]


@pytest.fixture(scope="module")
def one_cell() -> OneCell:
    return OneCell()


@pytest.fixture
def tables(small: Path, one_cell: OneCell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put tables of up to three men into the default directory; other positions are answered by one cell."""
    monkeypatch.setenv("TBGEN_DIR", str(small))
    monkeypatch.setattr(solver, "solve", one_cell)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Solution]]:
    """Collect the solutions of all calls."""
    found: list[Solution] = []
    monkeypatch.setenv("TBGEN_DIR", "none")
    monkeypatch.setattr(solver, "solve", lambda *_, **__: found.pop(0))
    yield found
    assert found == []


@pytest.mark.usefixtures("tables")
def test_an_exact_value(capsys: Capture) -> None:
    """The score of the option is equivalent to that of the FEN."""
    text = answer(capsys, "solve", *ENDING.split(), "G2.0", "--line", "--verify")
    for line in (
        "value           G0.5  (White holds it)",
        "depth           29 plies",
        "White           can force G0.5 (Black is stalemated)",
        "Black           can keep White from anything better than G0.5",
        "solved          1 cell",
        "best play: 29 plies",
    ):
        assert line in text.splitlines()
    document = json.loads(
        answer(capsys, "solve", ENDING, "--accrued", "G2.0", "--line", "--verify", "--json")
    )
    assert document["value"] == document["lower"] == document["upper"] == "G0.5"
    assert (document["accrued"], document["depth"], document["stopped_by"]) == ("G2.0", 29, None)
    assert {move["zeroing"] for move in document["moves"]} == {False}
    assert [ply["depth"] for ply in document["line"]] == list(range(29))[::-1]
    assert "lines" not in document
    assert "proof" not in json.loads(answer(capsys, "solve", ENDING, "--json"))


@pytest.mark.usefixtures("tables")
def test_the_lines_of_an_interval_and_a_proof(capsys: Capture) -> None:
    """Frozen men are named for a proved bound only."""
    text = answer(capsys, *KNIGHT)
    document = json.loads(answer(capsys, *KNIGHT, "--json"))
    for line in (
        r"value           between G5.5 and G0.0",
        r"proof           [\d,]+ cells?, [\d,]+ states proved",
        r"line that shows the lower bound, G5.5: 1 ply",
        r"line that shows the upper bound, G0.0: \d+ pl(y|ies)",
    ):
        assert re.search(f"^{line}$", text, re.MULTILINE), line
    assert re.findall("frozen .*", text) == ["frozen          Nh1, in the proof of White's bound"]
    assert (document["claims"]["upper"], document["upper"]) == (None, "G0.0")
    assert document["stopped_by"] == "number of cells"
    assert document["proof"]["cells"] == document["cells"] == 1
    assert document["proof"]["states"] > 64**2
    assert document["proof"]["sampled"] is None
    assert document["lines"].keys() == {"lower", "upper"}
    for ply in document["lines"]["lower"] + document["lines"]["upper"]:
        assert ply.keys() == {"uci", "san", "accrued", "depth"}
    (gap,) = document["gaps"]
    assert (gap["side"], gap["man"], gap["deed"]) == ("white", "knight", "leaves h1")
    assert (gap["need"], gap["mobile_men"]) == ("mobile men", 3)
    assert f"open            {gap['text']}" in text.splitlines()


@pytest.mark.usefixtures("tables")
def test_pictures(capsys: Capture, tmp_path: Path) -> None:
    """Each proved bound has a picture with its claim, marked mobile men, and arrows for the first moves.

    In the picture of a hold every square of the changer has the blocker's square and the distance.
    """
    folder = tmp_path / "pictures"
    document = json.loads(answer(capsys, *KNIGHT, "--json", "--svg", str(folder)))
    holds = {hold["holder"]: hold for hold in document["holds"]}
    assert {path.name for path in folder.iterdir()} == {f"hold-{side}.svg" for side in holds} | {"lower.svg"}
    drawn = ElementTree.parse(folder / "lower.svg").getroot()
    title = drawn.find(f"{SVG}title")
    assert title is not None
    assert str(title.text).startswith(f"{document['claims']['lower']}: 40. ")
    arrows = [line for line in drawn.iter(f"{SVG}line") if "arrow" in line.get("class", "")]
    assert len(arrows) == min(4, len(document["plans"]["lower"])) > 0
    assert len([square for square in drawn.iter(f"{SVG}rect") if square.get("fill") == "#7fb069"]) == 2
    hold = holds["white"]
    assert hold["distances"].keys() <= hold["squares"].keys()
    assert len(hold["squares"]) > 8
    drawn = ElementTree.parse(folder / "hold-white.svg").getroot()
    written = [element.text or "" for element in drawn.iter(f"{SVG}text")]
    stands = [text.partition("+")[0] for text in written if not text.endswith(("ply", "plies"))]
    assert sorted(stands) == sorted(stood[0] for stood in hold["squares"].values())
    assert len(written) == len(hold["squares"]) + len(hold["distances"])
    title = drawn.find(f"{SVG}title")
    assert title is not None
    assert f"holds Black's king to {hold['value']}." in str(title.text)
    text = answer(capsys, *KNIGHT)
    assert f"White's king holds Black's king to {hold['value']}" in text
    assert ("Plies until the holder has" in text) == any(hold["distances"].values())
    assert main([*KNIGHT, "--svg", str(folder / "lower.svg" / "folder")]) == 1
    output = capsys.readouterr()
    assert "choose another directory with --svg" in output.err
    assert output.out == "", "it fails before the work"


GIVEN = Solution(GScore("G4.5"), GScore("G4.5"), GScore("-G4.5"), GScore("G2.0"), None, (), 967)
COMMAND = "tbgen build KPvKP KNPvK"
MOVES = (
    SolvedMove("g4g5", "g5", True, GScore("-G0.0"), GScore("-G0.5"), None),
    SolvedMove("e4d5", "Kd5", False, GScore("G4.5"), GScore("G4.5"), 3),
    SolvedMove("e4f5", "Kf5", False, GScore("-G0.0"), GScore("G0.0"), None),
)
GAPS = [Gap(True, "g-pawn", "promotes", number, Need.MEMORY, 3, 682 << 20, None) for number in (1, 2, 3, 4)]


LINE = (
    LinePly(chess.Move.from_uci("e4f5"), "Kf5", GScore("G4.5"), 1),
    LinePly(chess.Move.from_uci("e7d6"), "Kd6", GScore("-G4.5"), 0),
)
PLAN = tuple(PlanMove(ply.move, ply.san, ply.accrued) for ply in LINE)
EXACT = {"lower": GScore("-G4.5"), "upper": GScore("-G4.5")}
MADE_UP: dict[str, dict[str, Any]] = {
    "time": {"stopped_by": Stop.TIME},
    "memory": {"stopped_by": Stop.MEMORY, "mobile": ((chess.E4,), (chess.E4, chess.E7))},
    "nothing left": {
        "stopped_by": Stop.NOTHING_LEFT, "gaps": tuple(GAPS), "narrowing": Narrowing(7, 90.0, 1 << 30)
    },
    "tables": {"stopped_by": Stop.TABLES, "missing": ("KPvKP", "KNPvK"), "build": COMMAND, "moves": MOVES},
    "a sampled proof": {"proof": ForwardProof(1, 2000, 1), "gaps": tuple(GAPS[:2]), "plans": (PLAN, ())},
    "two lines": {"proof": ForwardProof(2, 1, 0), "lines": (LINE, LINE[:1])},
    "nothing": {"lower": GScore("-G0.0"), "upper": GScore("G0.0")},
    "best play": {**EXACT, "plans": (PLAN, PLAN), "line": LINE, "depth": 1},
    "forcing moves": {**EXACT, "plans": ((), PLAN), "line": LINE, "forcing": (False, True)},
}  # fmt: skip


def test_what_is_printed() -> None:
    """If memory has ended the work, the text does not suggest more time."""
    fen, texts = parse_fen(LOCKED), list[str]()
    for name, facts in MADE_UP.items():
        solution = replace(GIVEN, **facts)
        document = solution_document(LOCKED, solution, EXPONENTIAL)
        lines = list(solution_text(fen, solution, EXPONENTIAL))
        texts += [f"# {name}", *lines, json_text(document), ""]
    squares = {chess.D6: (chess.D4,), chess.E6: (chess.C4, chess.E4)}
    hold = Hold(chess.WHITE, GScore("G2.0"), chess.E4, chess.E7, squares, {chess.D6: 1, chess.E6: 0})
    printed("transcripts/solution", "\n".join([*texts, *hold_text(fen.board, hold)]) + "\n")


def test_arrows_of_later_moves_are_faint_and_beneath_the_others() -> None:
    moves = map(chess.Move.from_uci, ["e4f5", "e7d6", "f5e4", "d6e7", "e4f5"])
    plan = tuple(PlanMove(move, "", GScore("G4.5")) for move in moves)
    picture = bound_picture(chess.Board(LOCKED), "claim", plan, (chess.E4,))
    colours = re.findall('<line [^>]*stroke="(#[^"]*)"[^>]*class="arrow"', picture)
    assert colours == ["#00308860", "#15781b60", "#003088", "#15781b"]


def test_a_seventh_field_that_does_not_count_is_named(capsys: Capture, found: list[Solution]) -> None:
    found += [GIVEN]
    _, (sentence,) = said(capsys, 0, "solve", f"{LOCKED.replace('22 72', '0 72')} G2.5")
    assert sentence.startswith("tbgen: the seventh field G2.5 does not count: ")


def test_nothing_is_drawn_if_nothing_is_proved(capsys: Capture, found: list[Solution]) -> None:
    found += [replace(GIVEN, **MADE_UP["nothing"])]
    out, (sentence,) = said(capsys, 1, "solve", LOCKED, "--svg", "none")
    assert "there is nothing to show: nothing was proved" in sentence
    assert "value           not known" in out, "the answer is printed all the same"
    assert not list(Path("none").iterdir())


def test_how_far_it_has_come(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is text on stderr for people, and lines of JSON for programs."""
    ends = GScore("-G4.5"), GScore("G2.0")

    def solve(*_: object, progress: SolveProgress, **__: object) -> Solution:
        for numbers in ((1,), (3, 1200), (12, 24, 75.0)):
            progress(SolveStage(*ends, *numbers))
        return GIVEN

    monkeypatch.setattr(solver, "solve", solve)
    monkeypatch.setattr("tbgen.cli.bars._LOG_SECONDS", 0.0)
    assert main(["solve", LOCKED]) == 0
    assert [line[20:] for line in capsys.readouterr().err.splitlines()] == [
        "between -G4.5 and G2.0, 1 cell solved",
        "between -G4.5 and G2.0, 3 of 1,203 cells solved",
        "between -G4.5 and G2.0, 12 of 36 cells solved, about 1 min 15 s left",
    ]
    *told, document = map(json.loads, answer(capsys, "solve", LOCKED, "--json", "--stream").splitlines())
    assert told == [
        {"lower": "-G4.5", "upper": "G2.0", "cells": cells, "left": left, "seconds_left": seconds}
        for cells, left, seconds in ((1, None, None), (3, 1200, None), (12, 24, 75.0))
    ]
    assert {"value", "moves"} <= document.keys()


def test_what_options_set(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options reach the solver of one position, and that of many positions."""
    given: list[dict[str, Any]] = []
    made: list[Solver] = []

    def solve(*_: object, **options: Any) -> Solution:
        given.append(options)
        return GIVEN

    def work_on(solver: Solver, *_: object) -> Never:
        made.append(solver)
        raise UsageError("nothing is solved")

    monkeypatch.setattr(solver, "solve", solve)
    monkeypatch.setattr(Solver, "work_on", work_on)
    answer(capsys, "solve", LOCKED)
    words = ["--time", "5m", "--memory", "680M", "--threads", "3", "--dir", "x"]
    words += ["--cells", str(tmp_path), "--syzygy", str(DATA / "syzygy")]
    answer(capsys, "solve", LOCKED, "--mobile", "e4,e7", "--verify", *words)
    answer(capsys, "solve", LOCKED, "--mobile", "auto", "--line")
    shown = [(each["budget"], each["mobile"], each["verify"], each["line"]) for each in given]
    assert shown == [
        (Budget(), None, False, False),
        (Budget(300.0, 680 << 20, threads=3), [chess.E4, chess.E7], True, False),
        (Budget(), "auto", False, True),
    ]
    assert given[1]["tables"] == Path("x")
    assert [each["kept"] is not None for each in given] == [False, True, False]
    assert [each["sources"].file_count for each in given] == [0, 5, 0]
    failure(capsys, 2, "solve", LOCKED, WALL, "--total", "9h", "--jobs", "7", *words)
    (many,) = made
    assert (many.seconds, many.total_time, many.memory, many.threads) == (300.0, 32400.0, 680 << 20, 3)
    assert (many.side_by_side, many.prover.file_count) == (7, 5)
    assert many.prover.arguments[::2] == (tmp_path, DEFAULT_BYTES)


def test_an_interruption(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interruption the proved results are printed, as text and as JSON."""

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(CellSolver, "_solve_unchecked", interrupted)
    assert main(["solve", LOCKED, "--dir", str(tmp_path)]) == 130
    output = capsys.readouterr()
    assert "stopped by      interrupted" in output.out
    assert output.err == "tbgen: interrupted\n"
    assert main(["solve", LOCKED, "--dir", str(tmp_path), "--json", "--stream"]) == 130
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (document["stopped_by"], document["cells"]) == ("interrupted", 0)


def test_a_proof_that_fails(capsys: Capture, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Games.solve

    def wrong(games: Games) -> Bounds:
        bounds = right(games)
        bounds.depth[bounds.value != NONE] += 1
        return bounds

    monkeypatch.setattr(Games, "solve", wrong)
    words = "solve", ENDING, "--verify", "--dir", str(small)
    assert " - - 0 1: the lower bound is not proved, " in failure(capsys, 1, *words)
