"""Cells solved by two worker processes of Dask, some of which die."""

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import chess
import pytest

import tbgen
from tbgen.board.score import NONE
from tbgen.cells.bounds import LOWER, UPPER, WORST
from tbgen.cells.cell import Cell
from tbgen.cells.packing import pack, unpack
from tbgen.cli.main import main
from tbgen.cli.progress import ProgressLine
from tbgen.errors import TbgenError
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.budget import Budget
from tbgen.solve.cluster.cells import solve_cell
from tbgen.solve.cluster.client import StoppedClusterError, solve_on_cluster
from tbgen.solve.cluster.graph import tasks_below
from tbgen.solve.kept import KeptCells
from tbgen.solve.plan import roots_of
from tbgen.solve.structures import homes_below
from tbgen.solve.tables import Tables
from tests.support.paths import ROOT

sys.path.append(str(ROOT / "scripts"))
import check_kills

if TYPE_CHECKING:
    from distributed import LocalCluster

FEN = "8/2k5/2p5/2P5/8/3R4/8/3K4 w - - 0 1"
OTHER = "8/2k5/2p5/2P5/8/3B4/8/3K4 w - - 0 1"
MEMORY = 8 << 30
OFTEN = int(os.environ.get("TBGEN_TEST_OFTEN", "2"))
"""Kills of workers."""

pytestmark = pytest.mark.usefixtures("compiled")


def roots() -> list[Cell]:
    return roots_of(chess.Board(FEN), MEMORY, None)


@pytest.fixture(scope="module")
def cluster() -> Iterator["LocalCluster"]:
    with check_kills.workers(2) as workers:
        yield workers


@pytest.fixture(scope="module")
def alone(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cells below the position, solved one after the other by this process."""
    directory = tmp_path_factory.mktemp("alone")
    with Tablebase(small) as opened:
        tables = Tables(opened)
        before = tasks_below(roots(), tables.has_cell)
        for cell, rests_on in before.items():
            assert solve_cell(cell, rests_on, tables, directory, 1)
    return directory


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.slow
def test_killed_workers_change_no_bit(
    cluster: "LocalCluster", small: Path, alone: Path, tmp_path: Path
) -> None:
    """Each round begins with an empty directory, until so many workers were killed."""
    killed, rounds, chance = 0, 0, random.Random(1)
    while killed < OFTEN:
        directory = tmp_path / str(rounds)
        cluster.wait_for_workers(1, timeout=300)
        with check_kills.Killer(cluster, OFTEN - killed, chance) as killer:
            count = solve_on_cluster(roots(), [small], directory, cluster.scheduler_address)
        assert count == len(contents(alone)) > 5
        assert contents(directory) == contents(alone)
        killed, rounds = killed + killer.killed, rounds + 1


def test_the_command_goes_on_from_the_cells(
    cluster: "LocalCluster", small: Path, alone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is there is not solved again; the answer is that of one machine."""
    cells = tmp_path / "cells"
    cells.mkdir()
    for name, data in list(contents(alone).items())[1:]:
        (cells / name).write_bytes(data)
    times = {path.name: path.stat().st_mtime_ns for path in cells.iterdir()}
    options = ["--dir", str(small), "--cells", str(cells), "--time", "10m"]
    assert main(["solve", FEN, "--scheduler", cluster.scheduler_address, *options]) == 0
    there = {path.name: path.stat().st_mtime_ns for path in cells.iterdir() if path.name in times}
    assert there == times
    found = capsys.readouterr().out
    expected = tbgen.solve(FEN, tables=small, kept=KeptCells(alone), budget=Budget(seconds=600))
    assert f"position score  {expected.position_score}" in found
    value = expected.value
    assert (f"value           {value}" if value else f"{expected.lower}") in found


def test_what_cannot_be_done(cluster: "LocalCluster", small: Path, tmp_path: Path) -> None:
    with pytest.raises(TbgenError, match="no scheduler answers at"):
        solve_on_cluster(roots(), [small], tmp_path / "cells", "tcp://127.0.0.1:1")
    (tmp_path / "file").write_text("")
    with pytest.raises(TbgenError, match="is not a directory"):
        solve_on_cluster(roots(), [small], tmp_path / "file", cluster.scheduler_address)


@pytest.mark.slow
def test_a_scheduler_that_goes_away(small: Path, tmp_path: Path) -> None:
    with check_kills.workers(1) as workers:
        closing: list[Thread] = []

        def close(done: int, _: int) -> None:
            if not closing:
                closing.append(Thread(target=workers.close))
                closing[0].start()
                time.sleep(0.5)

        with pytest.raises(StoppedClusterError, match="is gone: what is finished is kept"):
            solve_on_cluster(roots(), [small], tmp_path, workers.scheduler_address, close)
        closing[0].join()
    assert list(tmp_path.glob("*.cell"))


@pytest.mark.parametrize("many", [False, True])
def test_an_interrupt_prints_what_is_proved_and_the_command_goes_on(
    many: bool,
    cluster: "LocalCluster",
    small: Path,
    alone: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cells, file = tmp_path / "cells", tmp_path / "positions.fen"
    file.write_text(FEN)
    words = ["solve", str(file) if many else FEN, "--dir", str(small), "--cells", str(cells), "--time", "10m"]
    words += ["--scheduler", cluster.scheduler_address]

    def interrupt(self: ProgressLine, text: str) -> None:
        if "below solved by workers" in text:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ProgressLine, "show", interrupt)
        assert main(words) == 130
    output = capsys.readouterr()
    assert ('"stopped_by": "interrupted"' if many else "stopped by      interrupted") in output.out
    assert output.err.splitlines()[-1] == "tbgen: interrupted"
    assert list(cells.glob("*.cell"))
    assert main(words) == 0
    kept = contents(cells)
    assert {name: kept[name] for name in contents(alone)} == contents(alone)


@pytest.mark.parametrize("many", [False, True])
def test_a_cluster_that_cannot_go_on(
    many: bool,
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is proved is printed, and then what is wrong."""

    def fail(*_: object) -> int:
        raise StoppedClusterError("the scheduler is gone")

    monkeypatch.setattr("tbgen.solve.cluster.client.solve_on_cluster", fail)
    (tmp_path / "positions.fen").write_text(FEN)
    words = ["solve", str(tmp_path / "positions.fen") if many else FEN, "--dir", str(small), "--json"]
    assert main([*words, "--cells", str(tmp_path / "cells"), "--scheduler", "tcp://x:1"]) == 1
    output = capsys.readouterr()
    answer = json.loads(output.out)
    assert (answer[0] if many else answer)["stopped_by"] == "interrupted"
    assert output.err.splitlines()[-1] == "tbgen: the scheduler is gone"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--results", "r.jsonl"], "--results is for many positions"),
        (["--total", "5m"], "--total is for many positions"),
        ([OTHER, "--line"], "--line is for one position"),
        ([OTHER, "--results", "."], "--results"),
    ],
)
def test_what_is_wrong_is_said_before_workers_begin(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody answers at this address."""
    assert main(["solve", FEN, *options, "--cells", str(tmp_path), "--scheduler", "tcp://127.0.0.1:1"]) in (
        1,
        2,
    )
    assert said in capsys.readouterr().err


def test_positions_that_mean_nothing_are_told_and_the_rest_goes_on(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without kings, or with a pawn on the last rank, there are no cells to solve; kept cells stay."""
    asked: list[list[Cell]] = []
    limits: list[int | None] = []
    monkeypatch.setattr(
        "tbgen.solve.cluster.client.solve_on_cluster", lambda roots, *_: asked.append([*roots])
    )

    def kept(directory: Path, most: int | None) -> KeptCells:
        limits.append(most)
        return KeptCells(directory, most)

    monkeypatch.setattr("tbgen.solve.budgeted.KeptCells", kept)
    wrong = [
        "8/pp3ppp/8/8/8/8/PP3PPP/8 w - - 0 1",
        "P3k3/8/8/8/8/8/PPP5/4K3 w - - 0 1",
        "4k3/8/8/8/8/8/8/8 w",
    ]
    (tmp_path / "positions.fen").write_text("\n".join([*wrong, FEN]))
    words = ["solve", str(tmp_path / "positions.fen"), "--dir", str(small), "--json", "--time", "1s"]
    assert main([*words, "--cells", str(tmp_path / "cells"), "--scheduler", "tcp://x:1"]) == 2
    answers = json.loads(capsys.readouterr().out)
    assert ["error" in answer for answer in answers] == [True, True, True, False]
    assert (asked, limits) == ([roots()], [None])


@pytest.mark.parametrize("options", [[], ["--cells", "x", "--verify"]])
def test_options(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", FEN, "--scheduler", "tcp://x:1", *options]) == 2
    assert "--scheduler needs --cells" in capsys.readouterr().err


def test_a_cell_that_cannot_be_kept_is_not_done(
    small: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where an older file is there that tells less, and stays."""
    with Tablebase(small) as opened:
        tables = Tables(opened)
        cell = next(iter(tasks_below(roots(), tables.has_cell)))
        whole = KeptCells(alone).get(cell)
        assert whole is not None
        bounds = unpack(whole, cell)
        value = bounds.value.copy()
        value[UPPER][value[UPPER] != NONE] = WORST[UPPER]
        KeptCells(tmp_path).put(cell, pack(replace(bounds, value=value, ends=(LOWER,))))
        before = contents(tmp_path)

        def refused(*_: object) -> int:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("tbgen.files.os.open", refused)
        with pytest.raises(TbgenError, match="no permission to write"):
            solve_cell(cell, (), tables, tmp_path, 1)
    assert contents(tmp_path) == before


def test_a_task_comes_after_all_that_it_may_rest_on(small: Path) -> None:
    """By captures, moves and promotions, directly or by way of cells that are no tasks."""
    with Tablebase(small) as opened:
        board = chess.Board("8/2k5/1p6/3p4/1P1P4/3R4/8/3K4 w - - 0 1")
        before = tasks_below(roots_of(board, MEMORY, None), Tables(opened).has_cell)
    seen: set[Cell] = set()
    for cell, rests_on in before.items():
        assert seen.issuperset(rests_on)
        direct = set(homes_below(cell, promotions=True))
        assert direct & before.keys() <= set(rests_on)
        seen.add(cell)
    assert any(len(set(rests_on) - set(homes_below(cell))) for cell, rests_on in before.items())


def test_a_task_comes_after_what_the_small_cells_solved_with_it_may_rest_on(small: Path) -> None:
    """A rook is captured by a pawn, which changes its file, and comes back by a promotion three cells on."""
    with Tablebase(small) as opened:
        held = Tables(opened).has_cell
        before = tasks_below(roots_of(chess.Board("8/2k5/2p5/1P6/8/3R4/8/3K4 w - - 0 1"), MEMORY, None), held)
        farther = 0
        for cell, rests_on in before.items():
            near, left, seen = set(homes_below(cell, promotions=True)), [cell], {cell}
            while left:
                for home in homes_below(left.pop()):
                    if len(home.mobile) < 3 and home not in seen and not held(home):
                        left.append(home)
                        seen.add(home)
            by_small = {after for each in seen for after in homes_below(each, promotions=True)}
            assert by_small & before.keys() <= set(rests_on)
            farther += len((by_small - near) & before.keys())
    assert farther
