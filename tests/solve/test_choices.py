"""What is solved next: first what one side is sure of while its pawns stand still, then all that is below."""

from pathlib import Path

import pytest

from tbgen.cells.bounds import ENDS
from tbgen.solve.budget import Budget, SolvingInterruptedError
from tbgen.solve.cell_solver import CellSolver
from tbgen.solve.choices import ToSolve
from tbgen.solve.solution import Solution
from tbgen.solve.solver import solve

RACE = "8/8/8/8/3K3p/8/1P1k4/8 w - - 0 1"
POSITIONS = (RACE, "8/8/1p3k2/8/8/2K3P1/8/8 w - - 0 1", "5K2/1p5P/8/1k6/8/8/8/8 b - - 0 1")
NEVER = 1 << 30


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[ToSolve]:
    """What is solved, in this order; cells of two kings count as large."""
    solved: list[ToSolve] = []
    right = CellSolver._solve_granted

    def noted(solver: CellSolver, each: ToSolve) -> bool:
        solved.append(each)
        return right(solver, each)

    monkeypatch.setattr(CellSolver, "_solve_granted", noted)
    for module in ("cell_solver", "choices", "search"):
        monkeypatch.setattr(f"tbgen.solve.{module}.SMALL", 0)
    return solved


def found(fen: str, tables: Path, *, verify: bool = False) -> Solution:
    budget = Budget(seconds=3600.0, memory=2 << 30)
    return solve(fen, "G9.0", tables=tables, budget=budget, verify=verify)


@pytest.mark.parametrize("fen", POSITIONS)
def test_what_lies_ahead_changes_no_result(
    fen: str, small: Path, wanted: list[ToSolve], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is solved at one end, and proved; what is solved afterwards is the same."""
    with_it = found(fen, small, verify=True)
    ahead = {each.cell for each in wanted if len(each.ends) == 1}
    assert len(ahead) > 3
    assert with_it.proof is not None
    whole = {each.cell for each in wanted if each.ends == ENDS}
    wanted.clear()
    monkeypatch.setattr("tbgen.solve.choices._MUCH", NEVER)
    without = found(fen, small, verify=True)  # for all scores, too
    assert whole <= {each.cell for each in wanted}
    assert (with_it.lower, with_it.upper) == (without.lower, without.upper)


@pytest.mark.usefixtures("wanted")
def test_what_a_side_is_sure_of_without_its_pawn_is_known_soon(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten solutions there is a bound for which it takes fifty otherwise."""
    right = CellSolver._solve_granted

    def until_ten(solver: CellSolver, each: ToSolve) -> bool:
        if solver.solved == 10:
            raise KeyboardInterrupt
        return right(solver, each)

    monkeypatch.setattr(CellSolver, "_solve_granted", until_ten)
    lowest = []
    for much in (3, NEVER):
        monkeypatch.setattr("tbgen.solve.choices._MUCH", much)
        with pytest.raises(SolvingInterruptedError) as caught:
            found(RACE, small)
        lowest.append(str(caught.value.solution.lower))
    assert lowest == ["-G5.5", "-G0.0"]
