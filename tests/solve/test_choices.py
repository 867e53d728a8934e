"""What is solved next: first what one side is sure of while its pawns stand still, then all that is below."""

import pytest

import tbgen
from tbgen.solve.budget import Budget
from tbgen.solve.choices import ToSolve
from tbgen.solve.search import Search
from tbgen.solve.solution import Solution
from tbgen.solve.solver import solve

RACES = (
    "8/8/1p3k2/8/8/2K3P1/8/8 w - - 0 1",
    "7k/p7/8/8/8/6PP/8/K7 b - - 0 1",
    "8/1k3p2/8/8/P7/8/4K3/8 w - - 0 1",
)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[ToSolve]:
    """What is solved; cells of two kings count as large."""
    solved: list[ToSolve] = []
    right = Search._solve_granted

    def noted(search: Search, task: ToSolve) -> bool:
        solved.append(task)
        return right(search, task)

    monkeypatch.setattr(Search, "_solve_granted", noted)
    for module in ("choices", "search"):
        monkeypatch.setattr(f"tbgen.solve.{module}.SMALL", 0)
    return solved


def found(fen: str, tables: tbgen.Tablebase, cells: int | None = None, *, verify: bool = False) -> Solution:
    budget = Budget(seconds=3600.0, memory=2 << 30, cells=cells)
    return solve(fen, "G9.0", tables=tables, budget=budget, verify=verify)
