"""Solving the positions in which games stopped and that no table holds: within budgets, and never twice."""

from tbgen.games.solving.results import Effort, Proved, Results, State, open_results
from tbgen.games.solving.solver import Solver

__all__ = ["Effort", "Proved", "Results", "Solver", "State", "open_results"]
