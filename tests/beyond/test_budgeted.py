"""Solving many positions: order, time, and what is not solved again; most answers are made up."""

import threading
from pathlib import Path
from types import SimpleNamespace

import chess
import pytest

from tbgen.beyond.budget import Budget, SolvingInterruptedError, Stop
from tbgen.beyond.jobs import Job, Solver
from tbgen.beyond.provers import CellProver, SolveProof
from tbgen.beyond.results import Effort, SolveResults, StateName
from tbgen.beyond.search import Search
from tbgen.beyond.solution import Solution
from tbgen.beyond.solver import solve
from tbgen.board.score import GScore
from tbgen.board.scoring import ProvedBounds, ScoreInterval
from tbgen.cells.bounds import Bounds
from tbgen.cells.cell import Cell
from tbgen.cells.games import Games
from tbgen.errors import UsageError
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress, SolveStage
from tests.support.solving import CASTLING, FEW, LOCKED, WALL, Prover, StubProver, proved

BOARD = chess.Board(LOCKED)
G2, G4 = GScore("G2.0"), GScore("G4.0")


def interrupted(*_: object) -> SolveProof:
    """An attempt that is interrupted after it has proved bounds."""
    left = Solution(G2, G2, GScore("-G4.5"), G2, None, (), 3, Stop.INTERRUPT)
    raise SolvingInterruptedError(left, KeyboardInterrupt())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("tbgen.beyond.jobs.time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


@pytest.fixture
def tables(tmp_path: Path) -> Tablebase:
    """A directory without tables."""
    return Tablebase(tmp_path)


def test_exact_values_are_not_solved_again(tables: Tablebase) -> None:
    prover = Prover({LOCKED: [proved("G4.0 G4.0", 3)]})
    results = SolveResults()
    for seconds in (10.0, 1000.0):
        solver = Solver(seconds=seconds, results=results, prover=prover)
        assert solver.solve(BOARD, G4, tables) == proved("G4.0 G4.0", 3)
    assert len(prover.asked) == 1
    assert (solver.counts.asked, solver.counts.known, solver.counts.solved) == (1, 1, 0)


def test_it_stops_when_another_thread_says_so(tmp_path: Path) -> None:
    """The work ends before the next cell without calling ``interrupted``; the bounds proved so far remain."""
    shown: list[int] = []

    def watch(stage: SolveStage) -> None:
        shown.append(stage.cells)
        if stage.cells:
            other = threading.Thread(target=solver.stop)
            other.start()
            other.join()

    solver = Solver(seconds=600.0, results=SolveResults(), progress=watch)
    with Tablebase(tmp_path) as tables:
        found = solver.solve(chess.Board(WALL), GScore("-G3.5"), tables)
        assert [cells for cells in shown if cells] == [max(shown)]
        assert found is not None
        assert solver.stopped_by(Job(chess.Board(WALL), GScore("-G3.5"), tables)) is Stop.INTERRUPT
        told = len(shown)
        assert solver.solve(chess.Board(FEW), GScore("G9.0"), tables) is None
    assert len(shown) == told


def test_bounds_of_the_last_cell_remain_if_stopped_while_it_is_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Search.run

    def stopped(search: Search) -> Stop | None:
        found = run(search)
        solver.stop()
        return found

    monkeypatch.setattr(Search, "run", stopped)
    results = SolveResults()
    solver = Solver(seconds=600.0, results=results)
    with Tablebase(tmp_path) as tables:
        job = Job(chess.Board(FEW), GScore("G9.0"), tables)
        found = solver.solve(job.board, job.accrued, tables)
        assert found is not None
        assert results.get(job.state) == found


def test_bounds_that_are_good_enough_are_not_solved_again(tables: Tablebase) -> None:
    prover = Prover({LOCKED: [proved("G7.5 G7.0")]})
    results = SolveResults()
    Solver(seconds=1.0, results=results, prover=prover).solve(BOARD, G4, tables)
    more = Solver(seconds=9.0, results=results, prover=prover)
    seen = []

    def enough(bounds: ScoreInterval) -> bool:
        seen.append(str(bounds))
        return True

    assert more.solve(BOARD, G4, tables, enough) == proved("G7.5 G7.0")
    assert set(seen) == {"G7.5 G7.0"}
    assert len(prover.asked) == 1
    more.solve(BOARD, G4, tables, lambda _: False)
    assert len(prover.asked) == 2


def test_decided_positions_are_continued_where_they_are_open(
    tables: Tablebase, clock: SimpleNamespace
) -> None:
    """An attempt that ends because its bounds suffice counts as one of the time that it took."""
    asked: list[float] = []

    def prove(_: object, __: object, ___: object, budget: Budget, ____: object) -> SolveProof:
        asked.append(budget.seconds)
        found = proved("G7.5 G7.0")
        is_decided = budget.suffice(found.bounds)
        clock.now += 5.0 if is_decided else budget.seconds
        return SolveProof(found, Stop.DECIDED if is_decided else Stop.TIME)

    def solve(seconds: float, suffice: bool, until_decided: bool = True) -> Solver:
        prover = StubProver(prove)
        solver = Solver(seconds=seconds, results=results, prover=prover, until_decided=until_decided)
        solver.solve(BOARD, G4, tables, lambda _: suffice)
        return solver

    results = SolveResults()
    assert solve(60.0, suffice=True).stopped_by(Job(BOARD, G4, tables)) is Stop.DECIDED
    solve(90.0, suffice=True)
    assert asked == [60.0]
    solve(4.0, suffice=False)
    assert asked == [60.0]
    solve(6.0, suffice=False)
    solve(60.0, suffice=False)
    assert asked == [60.0, 6.0, 60.0]
    results = SolveResults()
    solve(60.0, suffice=True, until_decided=False)
    assert results.stopped_by(StateName.of(BOARD, G4)) is Stop.TIME


def test_only_more_time_memory_or_tables_lead_to_another_attempt(tmp_path: Path, tables: Tablebase) -> None:
    prover = Prover({LOCKED: [proved("-G4.5 G2.0"), proved("-G9.0 G1.0"), proved("G9.0 G3.0")]})
    results = SolveResults()

    def solve(seconds: float, memory: int) -> ProvedBounds | None:
        return Solver(seconds=seconds, memory=memory, results=results, prover=prover).solve(BOARD, G4, tables)

    assert solve(10.0, 4 << 30) == proved("-G4.5 G2.0")
    assert solve(10.0, 4 << 30) == solve(9.0, 1 << 30) == proved("-G4.5 G2.0")
    assert len(prover.asked) == 1
    assert solve(11.0, 4 << 30) == proved("-G9.0 G2.0")  # the intersection of both attempts
    assert solve(9.0, 5 << 30) == proved("G9.0 G3.0")
    assert solve(9.0, 5 << 30) == solve(11.0, 3 << 30) == proved("G9.0 G3.0")
    assert len(prover.asked) == 3
    (tmp_path / "KvK.r.h5").touch()
    assert solve(9.0, 1 << 30) == proved("G9.0 G3.0")
    assert len(prover.asked) == 4
    assert prover.budgets == [
        *(Budget(10.0, 4 << 30), Budget(11.0, 4 << 30), Budget(9.0, 5 << 30), Budget(9.0, 1 << 30))
    ]


def test_the_total_time_ends_it(
    tables: Tablebase, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positions get the remaining time; without any, earlier results are returned."""
    budgets: list[float] = []

    def prove(
        board: chess.Board, accrued: GScore, tables: Tablebase, budget: Budget, progress: SolveProgress
    ) -> SolveProof:
        budgets.append(budget.seconds)
        clock.now += budget.seconds
        return SolveProof(proved("-G4.5 G2.0"), Stop.TIME)

    def prepare(board: chess.Board, given: Tablebase) -> None:
        assert (board, given) == (BOARD, tables)
        clock.now += 1000.0  # compiling does not count

    prover = StubProver(prove)
    monkeypatch.setattr(prover, "prepare", prepare)
    results = SolveResults()
    results.add(StateName.of(chess.Board(WALL), G4), proved("-G5.0 G1.0"), Effort(1.0, 1, 0))
    solver = Solver(seconds=60.0, total_time=150.0, results=results, prover=prover)
    found = []
    for rank in range(2, 7):
        clock.now += 1000.0  # other work does not count
        found.append(solver.solve(BOARD, GScore(rank, True), tables))
    assert budgets == [60.0, 60.0, 30.0]
    assert found == [proved("-G4.5 G2.0")] * 3 + [None] * 2
    assert solver.solve(chess.Board(WALL), G4, tables) == proved("-G5.0 G1.0")
    course = solver.counts
    assert (course.asked, course.solved, course.out_of_time, course.seconds) == (6, 3, 3, 150.0)
    # The third one has had only half the time, so the next run tries it again, but not the others.
    again = Solver(seconds=60.0, results=results, prover=prover)
    for rank in range(2, 5):
        again.solve(BOARD, GScore(rank, True), tables)
    assert budgets[3:] == [60.0]


def test_what_cannot_be_solved_is_refused_each_time(tables: Tablebase) -> None:
    solver = Solver(prover=Prover({}))
    for _ in range(2):
        with pytest.raises(UsageError, match="castling rights"):
            solver.solve(chess.Board(CASTLING), GScore("G2.0"), tables)
    assert (solver.counts.asked, solver.counts.refused, solver.counts.solved) == (2, 2, 0)


def test_results_before_an_interruption_are_kept(tables: Tablebase) -> None:
    """They count as an attempt of the time that it took; the interruption is raised or passed on."""
    results, told, stub = SolveResults(), list[KeyboardInterrupt](), StubProver(interrupted)
    with pytest.raises(KeyboardInterrupt):
        Solver(results=results, prover=stub).solve(BOARD, G4, tables)
    assert results.get(StateName.of(BOARD, G4)) == proved("-G4.5 G2.0")
    assert Solver(interrupt=told.append, prover=stub).solve(BOARD, G4, tables) == proved("-G4.5 G2.0")
    assert len(told) == 1
    prover = Prover({LOCKED: [proved("G4.0 G4.0")]})
    assert Solver(results=results, prover=prover).solve(BOARD, G4, tables) == proved("G4.0 G4.0")


def test_progress(tables: Tablebase) -> None:
    """Earlier results are reported first."""
    told: list[str] = []
    prover = Prover({LOCKED: [proved("-G4.5 G2.0"), proved("-G9.0 G3.0")]})
    results = SolveResults()
    for seconds in (1.0, 2.0):
        Solver(
            seconds=seconds,
            results=results,
            progress=lambda stage: told.append(f"{stage.lower} {stage.upper}, {stage.cells}"),
            prover=prover,
        ).solve(BOARD, G4, tables)
    assert told == ["-G0.0 G0.0, 0", "-G4.5 G2.0, 1", "-G4.5 G2.0, 0", "-G9.0 G3.0, 1"]


def jobs_of(tables: Tablebase, *given: tuple[str, str]) -> list[Job]:
    return [Job(chess.Board(fen), GScore(accrued), tables) for fen, accrued in given]


def test_positions_are_given_more_and_more_time_where_it_helps(tables: Tablebase) -> None:
    """Without ``seconds``, a position is finished when its value is proved or more time would not help."""
    answers = [SolveProof(proved(text), Stop.TIME) for text in ("-G0.0 G4.0", "G9.0 G4.0", "G5.0 G5.0")]
    other = [SolveProof(proved("-G9.0 G9.0"), Stop.TIME), SolveProof(proved("-G9.0 G9.5"), Stop.NOTHING_LEFT)]
    given = {LOCKED.split()[0]: answers, WALL.split()[0]: other}
    asked: list[tuple[str, float]] = []

    def prove(board: chess.Board, _: object, __: object, budget: Budget, ___: object) -> SolveProof:
        asked.append((board.fen(), budget.seconds))
        return given[board.board_fen()].pop(0)

    results = SolveResults()
    jobs = jobs_of(tables, (WALL, "G1.0"), (LOCKED, "G4.0"), (WALL, "G1.0"))
    solver = Solver(seconds=None, results=results, prover=StubProver(prove))
    done = [job.board.fen() for job in solver.work_on(jobs)]
    assert asked == [(LOCKED, 60.0), (WALL, 60.0), (LOCKED, 240.0), (WALL, 240.0), (LOCKED, 960.0)]
    assert done == [WALL, LOCKED]
    assert [solver.result_of(job) for job in jobs[:2]] == [proved("-G9.0 G9.5"), proved("G5.0 G5.0")]
    assert [solver.stopped_by(job) for job in jobs] == [Stop.NOTHING_LEFT, None, Stop.NOTHING_LEFT]
    again = Solver(seconds=None, results=results, prover=Prover({}))
    assert [job.board.fen() for job in again.work_on(jobs)] == [WALL, LOCKED]


def test_the_time_of_all_is_used(tables: Tablebase, clock: SimpleNamespace) -> None:
    """Another run continues where the first one has ended, and begins with the cheapest positions."""
    asked: list[tuple[str, float]] = []

    def prove(board: chess.Board, _: object, __: object, budget: Budget, ___: object) -> SolveProof:
        asked.append((board.fen(), budget.seconds))
        clock.now += budget.seconds
        return SolveProof(proved("-G4.5 G2.0"), Stop.TIME)

    results = SolveResults()
    jobs = jobs_of(tables, (WALL, "G1.0"), (LOCKED, "G4.0"))
    solver = Solver(seconds=None, total_time=200.0, results=results, prover=StubProver(prove))
    assert [job.board.fen() for job in solver.work_on(jobs)] == [WALL, LOCKED]
    assert asked == [(LOCKED, 60.0), (WALL, 60.0), (LOCKED, 80.0)]
    assert [solver.stopped_by(job) for job in jobs] == [Stop.TIME, Stop.TIME]
    asked.clear()
    again = Solver(seconds=None, total_time=300.0, results=results, prover=solver.prover)
    assert len(list(again.work_on(jobs))) == 2
    assert asked == [(LOCKED, 240.0), (WALL, 60.0)]


def test_positions_that_need_no_work_come_at_once(tables: Tablebase) -> None:
    """Positions that cannot be solved do not stop the others. Bounds may be good enough for one job only."""
    prover = Prover({LOCKED: [proved("G4.0 G4.0")], WALL: [proved("-G3.5 G9.0"), proved("-G3.5 -G3.5")]})
    results = SolveResults()
    list(Solver(seconds=1.0, results=results, prover=prover).work_on(jobs_of(tables, (WALL, "G1.0"))))
    prover.asked.clear()
    jobs = jobs_of(tables, (CASTLING, "G2.0"), (LOCKED, "G4.0"), (WALL, "G1.0"))
    enough = Job(jobs[2].board, jobs[2].accrued, tables, lambda _: True)
    solver = Solver(results=results, prover=prover)
    done = [job.board.fen() for job in solver.work_on([*jobs[:2], enough])]
    assert done[0] == WALL
    assert set(done[1:]) == {LOCKED, CASTLING}
    assert len(prover.asked) == 2
    with pytest.raises(UsageError, match="castling rights"):
        solver.result_of(jobs[0])
    assert len(list(solver.work_on([enough, jobs[2]]))) == 1
    assert solver.result_of(enough) == proved("-G3.5 -G3.5")


def test_an_interruption_ends_the_work(tables: Tablebase) -> None:
    """All positions are yielded: the current one with its proved bounds, the others without any."""
    told = list[KeyboardInterrupt]()
    solver = Solver(interrupt=told.append, prover=StubProver(interrupted))
    jobs = jobs_of(tables, (WALL, "G1.0"), (LOCKED, "G4.0"))
    assert [job.state for job in solver.work_on(jobs)] == [job.state for job in jobs]
    assert [solver.result_of(job) for job in jobs] == [None, proved("-G4.5 G2.0")]
    assert [solver.stopped_by(job) for job in jobs] == [Stop.INTERRUPT, Stop.INTERRUPT]
    assert len(told) == 1


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("suffices", "stop"), [(True, Stop.DECIDED), (False, Stop.CELLS)])
def test_no_cell_is_solved_once_the_bounds_suffice(suffices: bool, stop: Stop, own: Path) -> None:
    shown: list[SolveStage] = []

    def suffice(bounds: ScoreInterval) -> bool:
        assert not bounds.exact  # the caller need not expect a value that contradicts what it knows
        return suffices

    budget = Budget(cells=40, suffice=suffice)
    solution = solve(LOCKED, "G4.5", tables=own, budget=budget, progress=shown.append)
    assert solution.stopped_by is stop
    assert (solution.cells == shown[0].cells) == suffices


@pytest.mark.usefixtures("compiled")
def test_cells_are_solved_once_for_all_positions(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second position of a cell takes no work, and its bounds are the same as when it is solved alone."""
    solved: list[Cell] = []
    right = Games.solve

    def counting(games: Games) -> Bounds:
        solved.append(games.cell)
        return right(games)

    monkeypatch.setattr(Games, "solve", counting)
    with Tablebase(own) as tables:
        given = ("8/8/4k3/p7/P7/4K3/8/8 w - - 3 40", "G2.0"), ("8/5k2/8/p7/P7/4K3/8/8 b - - 3 40", "G4.5")
        jobs = jobs_of(tables, *given)
        prover = CellProver()
        solver = Solver(seconds=600.0, prover=prover)
        assert len(list(solver.work_on(jobs))) == 2
        assert len(solved) == len(set(solved)) > 0
        assert all(map(prover.is_solved, solved))
        for job, (fen, accrued) in zip(jobs, given, strict=True):
            alone = solve(fen, accrued, tables=tables, budget=Budget(600.0))
            assert solver.result_of(job) == alone.proved
            assert alone.value is not None


def test_kernels_are_compiled_before_the_time_runs(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They solve positions without a table, and those with castling rights and a table."""
    compiled: list[None] = []
    monkeypatch.setattr("tbgen.cells.cell_warmup.ensure_compiled", lambda: compiled.append(None))
    rights = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    with Tablebase(own) as tables:
        for fen, count in ((rights.replace("K -", "- -"), 0), (rights, 1), (CASTLING, 1), (LOCKED, 2)):
            CellProver().prepare(chess.Board(fen), tables)
            assert len(compiled) == count, fen
