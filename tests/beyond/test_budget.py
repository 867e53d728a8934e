"""The meter of a budget, and how searches use what remains."""

import platform
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import chess
import numpy as np
import pytest

import tbgen
from tbgen.beyond.budget import Budget, Meter, OutOfBudgetError, Stop, memory_needed
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.layers import CellLayers
from tbgen.beyond.search import Search
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.table_source import Tables
from tbgen.board.score import GScore, code_of, to_signed
from tbgen.cells.bounds import Bounds
from tbgen.cells.cell import Cell, CellPosition, CellState
from tbgen.cells.games import Games
from tbgen.system.memory import resident_memory
from tests.support.same_bounds import is_same
from tests.support.solving import LOCKED, of_cells

SIZE = 64**2
RECORD = Meter.record_cell


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands still, while the times of cells are recorded."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("tbgen.beyond.budget.time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setattr(Meter, "record_cell", RECORD)
    return clock


def test_times_of_cells_are_recorded_by_size(clock: SimpleNamespace) -> None:
    meter = Meter(Budget(seconds=10.0))
    meter.require_cell(SIZE, repeated=False)
    meter.record_cell(SIZE, repeated=False, seconds=11.0, sweep_seconds=6.0)
    meter.require_cell(64, repeated=False)
    with pytest.raises(OutOfBudgetError):
        meter.require_cell(SIZE, repeated=False)
    meter.require_cell(SIZE, repeated=True)  # the time of its sweeps and 30 % more
    clock.now = 3.0
    with pytest.raises(OutOfBudgetError):
        meter.require_cell(SIZE, repeated=True)
    meter.record_cell(SIZE, repeated=True, seconds=4.0, sweep_seconds=4.0)
    meter.require_cell(SIZE, repeated=True)


@pytest.mark.parametrize(("again", "left"), [(False, 8.0), (True, 3.0)])
def test_time_is_reserved(again: bool, left: float, clock: SimpleNamespace) -> None:
    """For a cell that takes 8 seconds, and 3 again, besides one of 2 seconds, half of them for sweeps."""
    meter = Meter(Budget(seconds=100.0))
    meter.record_cell(SIZE, repeated=False, seconds=8.0, sweep_seconds=5.0)
    meter.record_cell(SIZE, repeated=True, seconds=3.0, sweep_seconds=2.0)
    meter.record_cell(64, repeated=False, seconds=2.0, sweep_seconds=1.0)
    with meter.reserving([SIZE], again):
        cell, rest = partial(meter.require_cell, 64, repeated=False), partial(meter.require_sweep_seconds, 64)
        for require, seconds in ((cell, 2.0), (rest, 1.0)):
            clock.now = 100.0 - left - seconds
            require()
            clock.now += 0.1
            with pytest.raises(OutOfBudgetError):
                require()
    meter.require_sweep_seconds(64)


def test_memory_and_cells_are_reserved() -> None:
    meter = Meter(Budget(memory=memory_needed(SIZE), cells=2))
    assert meter.has_memory_for(64, 1)
    with meter.reserving([SIZE]):
        meter.require_cell(64, repeated=False)
        assert meter.has_memory_for(64, 0)
        assert not meter.has_memory_for(64, 1)
        meter.record_cell(64, repeated=False, seconds=0.1, sweep_seconds=0.1)
        with pytest.raises(OutOfBudgetError):
            meter.require_cell(64, repeated=False)
    meter.require_cell(64, repeated=False)
    meter.record_cell(64, repeated=False, seconds=0.1, sweep_seconds=0.1)
    assert meter.seconds_left == 0.0


@pytest.mark.usefixtures("compiled")
def test_layers_are_the_same_whatever_is_dropped_to_free_memory(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fens = ("4k3/8/8/8/8/8/p7/1N2K3 b - - 0 1", "8/8/8/3k4/8/3K4/8/8 w - - 0 1")
    cells = [Cell.of_board(board, chess.SquareSet(board.kings)) for board in map(chess.Board, fens)]
    made: list[tuple[Cell, GScore]] = []
    right = Games.accrued_bounds

    def noted(games: Games, fresh: Bounds, accrued: GScore) -> Bounds:
        made.append((fresh.cell, accrued))
        return right(games, fresh, accrued)

    monkeypatch.setattr(Games, "accrued_bounds", noted)
    with tbgen.open_tablebase(own) as tables:
        known = ExitBounds(Tables(tables), SolvedCells())
        fresh = [Games(cell, known).solve() for cell in cells]
        for roomy in (True, False):
            memory = 8 << 30 if roomy else memory_needed(SIZE)
            layers = CellLayers(known, Meter(Budget(memory=memory)), cells[0], None)
            made.clear()
            for _ in range(2):
                for bounds, score in ((fresh[0], "G3.0"), (fresh[1], "-G4.5"), (fresh[0], "-G2.5")):
                    found = layers.layer(bounds, code_of(to_signed(GScore.parse(score))))
                    assert is_same(found, right(Games(bounds.cell, known), bounds, GScore.parse(score)))
                layers.free_memory(cells[0].size)
            assert len(made) == (3 if roomy else 6)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_memory_error_ends_the_search_with_what_is_proved(
    after: int, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, solved = Games.solve, []

    def solve(games: Games) -> Bounds:
        solved.append(games)
        if len(solved) > after:
            raise MemoryError
        return right(games)

    monkeypatch.setattr(Games, "solve", solve)
    solution = tbgen.solve("4k3/2p5/2P5/8/8/8/2B5/4K3 w - - 0 1", tables=own, budget=Budget())
    assert solution.value is None
    assert solution.cells == after
    assert solution.stopped_by is Stop.MEMORY


@pytest.mark.usefixtures("compiled")
def test_what_can_be_read_again_is_dropped_to_free_memory(own: Path) -> None:
    """The bounds are the same afterwards."""
    board = chess.Board("8/8/4k3/p7/P7/4K3/8/8 w - - 3 40")
    root = CellPosition(board, board.kings)
    cell = root.cell.canonical()[0]
    with tbgen.open_tablebase(own) as opened:
        known = ExitBounds(Tables(opened), SolvedCells())
        known.cells.add(Games(cell, known).solve())
        worth, kept = known.fresh_bounds(root), known.nbytes
        for memory, dropped in ((memory_needed(cell.size) + kept, False), (memory_needed(cell.size), True)):
            layers = CellLayers(known, Meter(Budget(memory=memory)), cell, None)
            assert (layers.free_memory(cell.size) < kept) == (known.nbytes < kept) == dropped
        assert cell in known.cells
        assert known.fresh_bounds(root) == worth
        assert known.nbytes > 0


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the allocator is another one")
def test_memory_of_freed_arrays_returns_to_the_system(tmp_path: Path) -> None:
    """Some arrays stay, so that the allocator keeps the memory between them."""
    board = chess.Board("8/8/4k3/p7/P7/4K3/8/8 w - - 3 40")
    cell = Cell.of_board(board, chess.SquareSet(board.kings))
    with tbgen.open_tablebase(tmp_path) as opened:
        known = ExitBounds(Tables(opened), SolvedCells())
        for memory, goes in ((64 << 30, False), (memory_needed(cell.size), True)):
            arrays = [np.ones(1 << 16, np.uint8) for _ in range(4000)]
            stay = arrays[::50]
            arrays.clear()
            before = resident_memory()
            CellLayers(known, Meter(Budget(memory=memory)), cell, None).free_memory(cell.size)
            assert (before - resident_memory() > 100 << 20) == goes
            assert stay


def test_a_cell_is_solved_again_with_what_was_found_below_it(tables: Path) -> None:
    """However many cells may be solved, the bounds of the position are all that follows from them."""
    board = chess.Board(LOCKED)
    position, accrued = CellPosition(board, int(board.kings)), GScore.parse("G4.5").code
    with tbgen.open_tablebase(tables) as opened:
        known = ExitBounds(Tables(opened), SolvedCells())

        def search(most: int) -> Search:
            meter = Meter(of_cells(most))
            return Search(known, CellState(position, accrued), meter, lambda *_: None)

        first = search(2)
        assert first.run() is Stop.CELLS
        assert 0 < first.solve_count <= 2
        known.cells.add(Games(first._cell, known).solve())
        assert search(0).answer() == first.answer()
