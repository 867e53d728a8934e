"""Cells solved by worker processes of Dask, some of which die."""

import json
import os
import random
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import chess
import pytest
from distributed import KilledWorker

import tbgen
from tbgen.beyond import cluster
from tbgen.beyond.cluster import StoppedClusterError, solve_cell, solve_on_cluster, tasks_below
from tbgen.beyond.jobs import roots_of
from tbgen.beyond.kept import KeptCells
from tbgen.beyond.structures import homes_of
from tbgen.beyond.table_source import Tables
from tbgen.board.score import NONE
from tbgen.cells.bounds import LOWER, UPPER, WORST
from tbgen.cells.cell import Cell
from tbgen.cells.packing import pack, unpack
from tbgen.cli.bars import ProgressLine
from tbgen.cli.main import main
from tbgen.errors import TbgenError
from tbgen.generator.cluster_workers import Worker
from tbgen.probe.tablebase import Tablebase
from tests.support.cluster import PaperClient, cluster_of_threads
from tests.support.disks import refuse
from tests.support.paths import ROOT

sys.path.append(str(ROOT / "scripts"))
import check_kills

FEN = "8/2k5/2p5/2P5/8/3R4/8/3K4 w - - 0 1"
OTHER = "8/2k5/2p5/2P5/8/3B4/8/3K4 w - - 0 1"
MEMORY = 8 << 30
OFTEN = int(os.environ.get("TBGEN_TEST_OFTEN", "2"))
"""Number of workers that are killed."""

pytestmark = pytest.mark.usefixtures("compiled")


def roots() -> list[Cell]:
    return roots_of(chess.Board(FEN), MEMORY, None)


@pytest.fixture(scope="module")
def alone(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the cells below the position, solved one by one in this process."""
    directory = tmp_path_factory.mktemp("alone")
    with Tablebase(small) as opened:
        tables = Tables(opened)
        before = tasks_below(roots(), tables.has_cell)
        for cell, below in before.items():
            assert solve_cell(cell, below, tables, directory, 1)
    return directory


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_killed_workers_change_no_bit(small: Path, alone: Path, tmp_path: Path) -> None:
    """Each round begins with an empty directory, until this number of workers has been killed."""
    killed, rounds, chance = 0, 0, random.Random(1)
    with check_kills.workers(2) as cluster:
        while killed < OFTEN:
            directory = tmp_path / str(rounds)
            cluster.wait_for_workers(1, timeout=300)
            with check_kills.Killer(cluster, OFTEN - killed, chance) as killer:
                count = solve_on_cluster(roots(), [small], directory, cluster.scheduler_address)
            assert count == len(contents(alone)) > 5
            assert contents(directory) == contents(alone)
            killed, rounds = killed + killer.killed, rounds + 1


def test_what_cannot_be_done(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TbgenError, match="is not a directory"):
        solve_on_cluster(roots(), [tmp_path], tmp_path / "file", "tcp://127.0.0.1:1")


def test_an_interrupt_prints_what_is_proved_and_the_command_can_be_repeated(
    small: Path,
    alone: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Solved cells are not solved again; the answer is that of one machine."""
    cells = tmp_path / "cells"
    words = ["solve", FEN, "--dir", str(small), "--cells", str(cells)]

    def interrupt(self: ProgressLine, text: str) -> None:
        if "below solved by workers" in text:
            raise KeyboardInterrupt

    with cluster_of_threads() as cluster:
        words += ["--scheduler", cluster.scheduler_address]
        with monkeypatch.context() as patched:
            patched.setattr(ProgressLine, "show", interrupt)
            assert main(words) == 130
        output = capsys.readouterr()
        assert "stopped by      interrupted" in output.out
        assert output.err.splitlines()[-1] == "tbgen: interrupted"
        times = {path: path.stat().st_mtime_ns for path in cells.glob("*.cell")}
        assert times
        assert main(words) == 0
    assert times.items() <= {path: path.stat().st_mtime_ns for path in cells.iterdir()}.items()
    kept = contents(cells)
    assert {name: kept[name] for name in contents(alone)} == contents(alone)
    expected = tbgen.solve(FEN, tables=small, kept=KeptCells(alone))
    assert expected.value is not None
    assert str(expected.value) in capsys.readouterr().out


def test_a_cluster_that_cannot_continue(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The proved bounds are printed, and then the error."""

    def fail(*_: object) -> int:
        raise StoppedClusterError("the scheduler is gone")

    monkeypatch.setattr("tbgen.beyond.cluster.solve_on_cluster", fail)
    (tmp_path / "positions.fen").write_text(FEN)
    words = ["solve", str(tmp_path / "positions.fen"), "--dir", str(small), "--json"]
    assert main([*words, "--cells", str(tmp_path / "cells"), "--scheduler", "tcp://x:1"]) == 1
    output = capsys.readouterr()
    assert json.loads(output.out)[0]["stopped_by"] == "interrupted"
    assert output.err.splitlines()[-1] == "tbgen: the scheduler is gone"


def test_errors_are_reported_before_workers_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody answers at this address."""
    monkeypatch.chdir(tmp_path)
    for options, said in (
        (["--cells", "x", "--results", "r.jsonl"], "--results is for many positions"),
        (["--cells", "x", OTHER, "--line"], "--line is for one position"),
        (["--cells", "x", OTHER, "--results", "."], "--results"),
        ([], "--scheduler needs --cells"),
        (["--cells", "x", "--verify"], "--scheduler needs --cells"),
    ):
        assert main(["solve", FEN, *options, "--scheduler", "tcp://127.0.0.1:1"]) in (1, 2), options
        assert said in capsys.readouterr().err


def test_invalid_positions_are_reported_and_the_others_solved(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Positions without kings, or with a pawn on the last rank, have no cells; kept cells remain."""
    asked: list[list[Cell]] = []
    limits: list[int | None] = []
    monkeypatch.setattr("tbgen.beyond.cluster.solve_on_cluster", lambda roots, *_: asked.append([*roots]))

    def kept(directory: Path, most: int | None) -> KeptCells:
        limits.append(most)
        return KeptCells(directory, most)

    monkeypatch.setattr("tbgen.beyond.provers.KeptCells", kept)
    wrong = [
        "8/pp3ppp/8/8/8/8/PP3PPP/8 w - - 0 1",
        "P3k3/8/8/8/8/8/PPP5/4K3 w - - 0 1",
        "4k3/8/8/8/8/8/8/8 w",
    ]
    (tmp_path / "positions.fen").write_text("\n".join([*wrong, FEN]))
    words = ["solve", str(tmp_path / "positions.fen"), "--dir", str(small), "--json", "--time", "0.001s"]
    assert main([*words, "--cells", str(tmp_path / "cells"), "--scheduler", "tcp://x:1"]) == 2
    answers = json.loads(capsys.readouterr().out)
    assert ["error" in answer for answer in answers] == [True, True, True, False]
    assert (asked, limits) == ([roots()], [None])


def test_a_cell_that_cannot_be_kept_is_not_finished(
    small: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same is true if an older, incomplete file exists and remains."""
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
        monkeypatch.setattr("tbgen.system.files.os.open", refuse)
        with pytest.raises(TbgenError, match=r"no permission to write.* choose another directory for cells$"):
            solve_cell(cell, (), tables, tmp_path, 1)
    assert contents(tmp_path) == before


def test_workers_get_cells_that_they_have_threads_and_memory_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cell waits at a worker, whose death would count against it. The cell of a dead worker goes to the
    first worker with enough memory, for a limited number of workers."""
    monkeypatch.setattr(cluster, "memory_needed", lambda size: 5)
    monkeypatch.setattr(cluster, "_MAX_DEATHS", 2)
    paper, cells = PaperClient(), [*homes_of(roots()[0])[:4]]
    run: Any = cluster._CellSubmitter(
        paper, "tcp://s:1", dict.fromkeys(cells, ()), set(), lambda *_: True, lambda *_: None, 30.0
    )
    small, large = Worker("small", 4, 9, 0), Worker("large", 4, 12, 0)
    run._submit_cells([small, large])
    assert paper.given == [(cells[0], "large"), (cells[1], "small"), (cells[2], "large")]
    run._drop_lost_tasks({"large"})
    run._submit_cells([large])
    assert (paper.cancelled, len(paper.given)) == (["cell"], 3)
    run._submit_cells([large, Worker("new", 1, 12, 0)])
    assert paper.given[3:] == [(cells[1], "new")]
    with pytest.raises(TbgenError, match=r"all workers that tried to solve .* died"):
        run._drop_lost_tasks({"large"})
    task = next(iter(run.running_tasks.values()))
    error = KilledWorker("cell", SimpleNamespace(address="large"), 3)
    task.future.status, task.future.exception = "error", lambda: error  # its worker has always restarted
    with pytest.raises(TbgenError, match=r"all workers that tried to solve .* died"):
        run._handle_ended(task.future)


def test_a_task_comes_after_all_cells_that_it_may_depend_on(small: Path) -> None:
    """By captures, moves and promotions of its own and of small cells solved with it, directly or by way of
    cells that are no tasks: a rook is captured by a pawn, which changes its file, and comes back."""
    board = chess.Board("8/2k5/2p5/1P6/8/3R4/8/3K4 w - - 0 1")
    with Tablebase(small) as opened:
        held = Tables(opened).has_cell
        before = tasks_below(roots_of(board, MEMORY, None), held)
        done, indirect, by_small = set[Cell](), 0, 0
        for cell, below in before.items():
            assert done.issuperset(below)
            done.add(cell)
            near, left, seen = set(homes_of(cell, promotions=True)), [cell], {cell}
            while left:
                new = {
                    home for home in homes_of(left.pop()) if len(home.mobile) < 3 and not held(home)
                } - seen
                left += new
                seen |= new
            farther = {after for each in seen for after in homes_of(each, promotions=True)}
            assert (near | farther) & before.keys() <= set(below)
            by_small += len((farther - near) & before.keys())
            indirect += len(set(below) - set(homes_of(cell)))
    assert indirect
    assert by_small
