"""``tbgen solve``."""

import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tbgen.board.score import NONE, GScore
from tbgen.cells.bounds import Bounds
from tbgen.cells.games import Games
from tbgen.cli.main import main
from tbgen.progress import SolveProgress, SolveStage
from tbgen.solve.budget import Stop
from tbgen.solve.cell_solver import CellSolver
from tbgen.solve.solution import Solution
from tests.support.commands import answer, failure

SVG = "{http://www.w3.org/2000/svg}"
PROMOTES = "8/8/P7/8/8/1k6/8/K7 w - - 0 1"
LOCKED = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72"


def test_an_exact_value(capsys: pytest.CaptureFixture[str], tables: Path) -> None:
    text = answer(capsys, "solve", *LOCKED.split(), "G4.5", "--dir", str(tables))
    assert "value           G4.5  (White holds it)" in text
    assert "depth           0 plies" in text
    assert "White           can force G4.5 (Black has 4 moves)" in text
    assert "g5    -G0.0 to -G0.5  resets" in text


def test_an_interval(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = answer(capsys, "solve", LOCKED, "--mobile", "E4", "--time", "1s", "--dir", str(tmp_path))
    assert re.search("^value           not known$", text, re.MULTILINE)
    assert "G0.0 and G0.0" not in text
    assert "cannot get better" not in text


def test_why_it_stopped(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory has ended the work, more time is of no use."""
    given = GScore("G4.5"), GScore("G4.5"), GScore("-G4.5"), GScore("G2.0"), None, (), 967
    words = "solve", LOCKED, "--dir", str(tmp_path)
    found: list[Solution] = []
    monkeypatch.setattr("tbgen.solve.solver.solve", lambda *_, **__: found.pop())
    for stop, line in (
        (Stop.TIME, "stopped by      time: more may narrow it (--time)"),
        (Stop.MEMORY, "stopped by      memory: more may narrow it (--memory)"),
        (Stop.NOTHING_LEFT, "stopped by      nothing left to try"),
    ):
        found.append(Solution(*given, stopped_by=stop))
        text = answer(capsys, *words)
        assert line in text.splitlines()
        assert "missing" not in text
    command = "tbgen build KPvKP KNPvK"
    found += 2 * [Solution(*given, stopped_by=Stop.TABLES, missing=("KPvKP", "KNPvK"), build=command)]
    text = answer(capsys, *words)
    assert "stopped by      missing tables" in text.splitlines()
    assert f"tables          some are missing that may narrow it: {command}" in text.splitlines()
    document = json.loads(answer(capsys, *words, "--json"))
    assert document["stopped_by"] == "missing tables"
    assert (document["missing_tables"], document["build"]) == (["KPvKP", "KNPvK"], command)


def test_how_far_it_has_come(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a reader on stderr, for a program in lines of JSON."""
    score = GScore("G2.0")
    given = score, score, GScore("-G4.5"), score
    stages = [
        SolveStage(*given[2:], 1),
        SolveStage(*given[2:], 3, 1200),
        SolveStage(*given[2:], 12, 24, 75.0),
    ]

    def solve(*_: object, progress: SolveProgress, **__: object) -> Solution:
        for stage in stages:
            progress(stage)
        return Solution(*given, None, (), 12, Stop.TIME)

    monkeypatch.setattr("tbgen.solve.solver.solve", solve)
    monkeypatch.setattr("tbgen.cli.progress._ELSEWHERE", 0.0)
    words = "solve", LOCKED, "--dir", str(tmp_path)
    assert main([*words]) == 0
    assert [line[20:] for line in capsys.readouterr().err.splitlines()] == [
        "between -G4.5 and G2.0, 1 cell solved",
        "between -G4.5 and G2.0, 3 of 1,203 cells solved",
        "between -G4.5 and G2.0, 12 of 36 cells solved, about 1 min 15 s left",
    ]
    told = answer(capsys, *words, "--json", "--stream").splitlines()[:-1]
    ends = {"lower": "-G4.5", "upper": "G2.0"}
    assert [json.loads(line) for line in told] == [
        {**ends, "cells": 1, "left": None, "seconds_left": None},
        {**ends, "cells": 3, "left": 1200, "seconds_left": None},
        {**ends, "cells": 12, "left": 24, "seconds_left": 75.0},
    ]


def test_an_interruption(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is proved by then is printed, as text and as JSON."""

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(CellSolver, "_solve_granted", interrupted)
    assert main(["solve", LOCKED, "--dir", str(tmp_path)]) == 130
    output = capsys.readouterr()
    assert "stopped by      interrupted" in output.out
    assert output.err == "tbgen: interrupted\n"
    assert main(["solve", LOCKED, "--dir", str(tmp_path), "--json", "--stream"]) == 130
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (document["stopped_by"], document["cells"]) == ("interrupted", 0)


BLOCKED = "solve", "4k3/8/p1p1p1p1/P1P1P1P1/8/8/8/RN2K2B w - - 0 1", "--mobile", "e1,e8", "--time", "1s"


KINGS = "solve", "7k/8/p1p1p1p1/P1P1P1P1/8/8/8/K7 w - - 0 1", "--mobile", "a1,h8", "--time", "5s"


def test_pictures_of_a_hold(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Every square of the changer has words: where the blocker stands, and how far it is."""
    folder = tmp_path / "pictures"
    words = (*KINGS, "--svg", str(folder), "--dir", str(tmp_path))
    document = json.loads(answer(capsys, *words, "--json"))
    assert [len(hold["squares"]) for hold in document["holds"]] == [16, 32]
    assert {path.name for path in folder.iterdir() if path.name.startswith("hold")} == {
        f"hold-{hold['holder']}.svg" for hold in document["holds"]
    }
    for hold in document["holds"]:
        assert hold["distances"].keys() <= hold["squares"].keys()
        drawn = ElementTree.parse(folder / f"hold-{hold['holder']}.svg").getroot()
        written = [element.text or "" for element in drawn.iter(f"{SVG}text")]
        stands = [text for text in written if not text.endswith(("ply", "plies"))]
        assert sorted(text.partition("+")[0] for text in stands) == sorted(
            stood[0] for stood in hold["squares"].values()
        )
        assert len(written) == len(hold["squares"]) + len(hold["distances"])
        title = drawn.find(f"{SVG}title")
        assert title is not None
        assert f"holds {'Black' if hold['holder'] == 'white' else 'White'}'s king to {hold['value']}." in str(
            title.text
        )
    text = answer(capsys, *words)
    far = [depth for hold in document["holds"] for depth in hold["distances"].values() if depth]
    assert ("Plies until it is" in text) == bool(far)


def test_pictures_of_the_ends(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One for each end that is proved: its words, the mobile men marked, and arrows for the first moves."""
    words = ("solve", PROMOTES, "--svg", str(tmp_path), "--dir", str(tmp_path), "--mobile", "a1,b3")
    document = json.loads(answer(capsys, *words, "--json", "--memory", "680M"))
    assert document["upper"] == "G0.0"
    assert document["claims"]["upper"] is None
    assert [path.name for path in tmp_path.glob("*.svg") if "hold" not in path.name] == ["lower.svg"]
    drawn = ElementTree.parse(tmp_path / "lower.svg").getroot()
    title = drawn.find(f"{SVG}title")
    assert title is not None
    assert str(title.text).startswith(f"{document['claims']['lower']}: 1. ")
    assert document["claims"]["lower"].startswith("White can ")
    arrows = [line for line in drawn.iter(f"{SVG}line") if "arrow" in line.get("class", "")]
    assert len(arrows) == min(4, len(document["plans"]["lower"])) > 0
    marked = [square for square in drawn.iter(f"{SVG}rect") if square.get("fill") == "#7fb069"]
    assert len(marked) == 2


def test_frozen_men_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Those of the cell that proves an end; none for an end that is not proved."""
    text = answer(capsys, *BLOCKED, "--dir", str(tmp_path))
    document = json.loads(answer(capsys, *BLOCKED, "--dir", str(tmp_path), "--json"))
    for side, end in (("White", "lower"), ("Black", "upper")):
        line = f"frozen          Ra1, Nb1, Bh1, for what {side} can be sure of"
        assert (line in text.splitlines()) == (document["claims"][end] is not None)
    assert any(document["claims"].values())


def test_what_stays_open_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ("solve", PROMOTES, "--dir", str(tmp_path), "--memory", "680M", "--time", "5s")
    document = json.loads(answer(capsys, *words, "--json"))
    (gap,) = document["gaps"]
    assert (gap["side"], gap["man"], gap["deed"]) == ("white", "a-pawn", "promotes")
    assert (gap["need"], gap["mobile_men"]) == ("memory", 3)
    assert re.fullmatch(
        r"White's a-pawn promotes in [\d,]+ positions?: needs 3 mobile men, [\d.]+ MiB", gap["text"]
    )
    assert document["narrowing"]["cells"] >= 4
    text = answer(capsys, *words)
    assert f"open            {gap['text']}" in text.splitlines()
    assert f"to be solved    {document['narrowing']['text']}" in text.splitlines()


def test_no_pictures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The answer is printed all the same."""
    words = ("solve", LOCKED, "--mobile", "e4", "--time", "1s", "--svg", str(tmp_path / "folder"))
    assert main([*words, "--dir", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert "there is nothing to show: nothing was proved" in output.err
    assert "value           not known" in output.out
    assert not (tmp_path / "folder").exists()
    (tmp_path / "file").write_text("")
    assert main([*KINGS, "--svg", str(tmp_path / "file" / "folder"), "--dir", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert "choose another directory with --svg" in output.err
    assert "White's king holds Black's king to" in output.out


def test_the_lines_of_an_interval_and_a_proof(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = (*BLOCKED, "--line", "--verify", "--dir", str(tmp_path))
    text = answer(capsys, *words)
    assert re.search(r"^proof           [\d,]+ cells?, [\d,]+ states proved$", text, re.MULTILINE)
    assert re.search(r"^line that shows the lower end, -?G\d+\.[05]: \d+ pl(y|ies)$", text, re.MULTILINE)
    assert "line that shows the upper end, " in text
    document = json.loads(answer(capsys, *words, "--json"))
    assert document["proof"]["cells"] == document["cells"] > 0
    assert document["proof"]["states"] > 64**2
    assert document["proof"]["sampled"] is None
    assert document["lines"].keys() == {"lower", "upper"}
    for ply in document["lines"]["lower"] + document["lines"]["upper"]:
        assert ply.keys() == {"uci", "san", "accrued", "depth"}


def test_the_line_of_an_exact_value(capsys: pytest.CaptureFixture[str], tables: Path) -> None:
    words = "solve", LOCKED, "--accrued", "G5.0", "--line", "--dir", str(tables)
    document = json.loads(answer(capsys, *words, "--json"))
    assert document["value"] == document["lower"] == document["upper"]
    assert document["accrued"] == "G5.0"
    assert {move["uci"]: move["zeroing"] for move in document["moves"]}["g4g5"]
    assert "lines" not in document
    assert "proof" not in document
    assert [ply["depth"] for ply in document["line"]] == list(range(len(document["line"])))[::-1]
    assert len(document["line"]) in (document["depth"], len(document["line"]))


def test_a_proof_that_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Games.solve

    def wrong(games: Games) -> Bounds:
        bounds = right(games)
        bounds.depth[bounds.value != NONE] += 1
        return bounds

    monkeypatch.setattr(Games, "solve", wrong)
    words = (*BLOCKED, "--verify", "--dir", str(tmp_path))
    assert " - - 0 1: the lower bound is not proved, " in failure(capsys, 1, *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--mobile", "e9"], "'e9' is not a square"),
        (["--mobile", "e4,e4"], "names a square twice"),
        (["--mobile", "g4"], "g4 has a pawn"),
        (["--time", "soon"], "'soon' is not a time"),
        (["--time", "0s"], "'0s' is not a time: give one such as 60s, 5m or 2h"),
        (["--time", "-5s"], "'-5s' is not a time: give one such as 60s, 5m or 2h"),
        (["--time=-5s"], "'-5s' is not a time: give one such as 60s, 5m or 2h"),
        (["--memory", "1"], "without a unit"),
        (["--threads", "0"], "whole number"),
        (["--rules", "wg"], "No such option '--rules'"),
    ],
)
def test_bad_input(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert sentence in failure(capsys, 2, "solve", LOCKED, *words, "--dir", str(tmp_path))


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """There is no choice of rules where there is none."""
    text = " ".join(answer(capsys, "solve", "--help").split())
    assert "FEN...|FILE the fields of one FEN, optionally with a seventh" in text
    assert "--time TIME" in text
    assert "--rules" not in text


def test_a_stream_of_json(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Intervals that never get wider, then the document."""
    lines = answer(capsys, "solve", LOCKED, "--json", "--stream", "--dir", str(tables)).splitlines()
    *intervals, document = map(json.loads, lines)
    assert {"value", "moves"} <= document.keys()
    for before, after in pairwise([*intervals, document]):
        assert GScore(before["lower"]) <= GScore(after["lower"])
        assert GScore(before["upper"]) >= GScore(after["upper"])


def test_a_stream_of_text_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert "give --json too" in failure(capsys, 2, "solve", LOCKED, "--stream")


SYZYGY = Path(__file__).parent.parent / "data" / "syzygy"


def test_syzygy_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = "solve", "4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1", "--time", "20s", "--line", "--dir", str(tmp_path)
    text = answer(capsys, *words, "--syzygy", str(SYZYGY))
    assert "value           -G0.0  (Black holds it)" in text
    assert "depth           not known" in text
    assert text.endswith("nothing more is known of what follows\n")


def test_no_syzygy_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert failure(capsys, 2, "solve", LOCKED, "--syzygy", str(tmp_path / "none")).endswith(
        "none is no directory: give the one that Syzygy files (.rtbw) lie in\n"
    )
