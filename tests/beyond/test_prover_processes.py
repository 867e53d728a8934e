"""Positions that are solved side by side in processes."""

from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path

import chess
import pytest

from tbgen.beyond.budget import Stop
from tbgen.beyond.jobs import Job, Solver
from tbgen.board.score import GScore
from tbgen.errors import TbgenError
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveStage
from tests.support.solving import LOCKED, WALL

pytestmark = pytest.mark.usefixtures("compiled")


FENS = "8/8/4k3/p7/P7/4K3/8/8 w - - 3 40", "8/5k2/8/p7/P7/4K3/8/8 b - - 3 40"


def jobs_of(tables: Tablebase, *fens: str) -> list[Job]:
    return [Job(chess.Board(fen), GScore("G2.0"), tables, lambda _: True) for fen in fens]


def test_answers_are_those_of_one_process(own: Path) -> None:
    """If a process is killed, its position can be solved later."""
    killed = list[BaseProcess]()

    def kill(stage: SolveStage) -> None:
        children = [child for child in active_children() if not killed]
        for child in children:
            child.kill()
            killed.append(child)

    with Tablebase(own) as tables:
        jobs = jobs_of(tables, *FENS)
        first = Solver(seconds=600.0, progress=kill, side_by_side=2)
        assert len(list(first.work_on(jobs))) == 2
        with pytest.raises(TbgenError, match="was killed"):
            list(map(first.result_of, jobs))
        alone = Solver(seconds=600.0)
        together = Solver(seconds=600.0, side_by_side=2)
        for solver in (alone, together):
            assert len(list(solver.work_on(jobs))) == 2
        assert [together.result_of(job) for job in jobs] == [alone.result_of(job) for job in jobs]
        assert together.counts.seconds > 0.0


@pytest.mark.parametrize("stop", [Stop.DECIDED, Stop.INTERRUPT])
def test_they_stop(stop: Stop, own: Path) -> None:
    """They stop when the bounds suffice, or when the solver is stopped, with the bounds proved so far."""
    is_decided = stop is Stop.DECIDED

    def show(stage: SolveStage) -> None:
        if active_children() and not is_decided:
            solver.stop()

    with Tablebase(own) as tables:
        jobs = jobs_of(tables, LOCKED, WALL)
        solver = Solver(seconds=600.0, until_decided=is_decided, progress=show, side_by_side=2)
        assert len(list(solver.work_on(jobs))) == 2
        assert [solver.stopped_by(job) for job in jobs] == [stop] * 2
        assert len(solver.unfinished) == (0 if is_decided else 2)
        assert all(solver.result_of(job) is not None for job in jobs)
