"""The choice of the next cells: first those ahead, with the pawns of one side standing still, then all below.

After promotions, forced mates by queens are found first.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.budget import Budget, Meter, SolvingInterruptedError
from tbgen.beyond.cell_solver import CellSolver
from tbgen.beyond.choices import MIN_COST_SLOTS, CellTask, Choice, Chooser
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.layers import CellLayers
from tbgen.beyond.ledger import Ledger
from tbgen.beyond.play import Play
from tbgen.beyond.promoted_cells import WonCells
from tbgen.beyond.solution import Solution
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.solver import solve
from tbgen.beyond.state_bounds import States
from tbgen.beyond.table_source import Tables
from tbgen.board.kinds import QUEEN
from tbgen.cells.cell import Cell, CellPosition

RACE = "8/8/8/8/3K3p/8/1P1k4/8 w - - 0 1"


@pytest.fixture
def wanted(tasks: list[CellTask], monkeypatch: pytest.MonkeyPatch) -> list[CellTask]:
    """The cells that are solved, in order; cells of two kings count as large."""
    for module in ("tbgen.beyond.cell_solver", "tbgen.beyond.choices", "tbgen.beyond.search"):
        monkeypatch.setattr(f"{module}.MAX_SMALL_SLOTS", 0)
    return tasks


def found(fen: str, tables: Path, cells: int | None = None, *, verify: bool = False) -> Solution:
    budget = Budget(memory=2 << 30, cells=cells)
    return solve(fen, "G9.0", tables=tables, budget=budget, verify=verify)


def test_cells_ahead_are_solved_at_one_end_and_proved(small: Path, wanted: list[CellTask]) -> None:
    assert found(RACE, small, 8, verify=True).proof is not None
    assert len({each.cell for each in wanted if len(each.ends) == 1}) > 3


@pytest.mark.usefixtures("wanted")
def test_a_bound_that_needs_no_pawn_moves_is_proved_soon(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten solutions prove a bound that would otherwise take fifty."""
    right = CellSolver._solve_unchecked

    def until_ten(solver: CellSolver, tasks: Sequence[CellTask]) -> bool:
        if solver.ledger.last_number == 10:
            raise KeyboardInterrupt
        return right(solver, tasks)

    monkeypatch.setattr(CellSolver, "_solve_unchecked", until_ten)
    lowest = []
    for is_last in (False, True):
        if is_last:
            monkeypatch.setattr(Chooser, "_find_ahead", lambda *_: None)
        with pytest.raises(SolvingInterruptedError) as caught:
            found(RACE, small)
        lowest.append(str(caught.value.solution.lower))
    assert lowest == ["-G5.5", "-G0.0"]


@pytest.fixture
def choices_of(small: Path) -> Iterator[Callable[..., list[Choice]]]:
    """Return the choices after promotions and a step of the pawn, with two mobile men besides a queen."""
    boards = [
        chess.Board(f"{first}/8/{third}/5p2/8/8/1k6/6K1 b - - 0 1")
        for first, third in (("N7", "8"), ("Q7", "8"), ("8", "P7"))
    ]
    with tbgen.open_tablebase(small) as opened:
        known = ExitBounds(Tables(opened), SolvedCells(), wins=WonCells(2))

        def choices(budget: Budget, given_up: Collection[Cell] = ()) -> list[Choice]:
            meter = Meter(budget)
            before = chess.Board("8/P7/8/5p2/8/8/1k6/6K1 w - - 0 1")
            root = CellPosition(before, int(before.kings)).cell.canonical()[0]
            ledger = Ledger(known, root)
            ledger.homes_refused_for_mates |= set(given_up)
            chooser = Chooser(known, meter, root, ledger)
            play = Play(States(known, CellLayers(known, meter, root, None)))
            for board in boards:
                after = CellPosition(board, int(board.kings))
                home = after.cell.canonical()[0]
                play.unsolved_cells[home] = after
                play.entered_from[home] = {root: {False}}
            return chooser.choices(play)

        yield choices


def test_forced_mates_by_a_queen_are_found_first(choices_of: Callable[..., list[Choice]]) -> None:
    """Then come all other cells, and last the promotions to other men."""
    *others, last = choices_of(Budget())
    (queen,) = (choice for choice in others if choice.promotion_homes and not choice.tasks)
    assert [choice.is_late for choice in others] == [False, False]
    assert last.is_late
    assert last.tasks[-1].cell.frozen[0].man.kind != QUEEN
    (home,) = queen.promotion_homes
    assert home.frozen[0].man.kind == QUEEN
    assert queen.cost > sum(max(cell.size, MIN_COST_SLOTS) * 2 for cell in queen.cells_above)
    again = choices_of(Budget(), given_up=[home])
    assert home in [choice.tasks[-1].cell for choice in again]
    apart = choices_of(Budget(seconds=0.0))
    assert all(choice.skips_dependencies and choice.tasks for choice in apart)


@pytest.mark.parametrize("seconds", [0.0, 1e3, 1e6])
def test_forced_mates_come_before_cells_that_take_as_long(
    seconds: float, choices_of: Callable[..., list[Choice]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (queen,) = (choice for choice in choices_of(Budget(seconds=1e5)) if not choice.tasks)
    monkeypatch.setattr("tbgen.beyond.choices.homes_of", lambda *_, **__: queen.promotion_homes)
    monkeypatch.setattr(Meter, "mate_search_seconds", lambda meter, size: seconds)
    step = next(choice for choice in choices_of(Budget(seconds=1e5)) if choice.tasks and not choice.is_late)
    assert step.promotion_homes == (() if seconds else queen.promotion_homes)
