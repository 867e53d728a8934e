"""Fixtures for tests of solving, among them one that makes it deterministic on every machine."""

from collections.abc import Sequence
from itertools import count
from types import SimpleNamespace

import pytest

from tbgen.beyond.budget import Meter
from tbgen.beyond.cell_solver import CellSolver
from tbgen.beyond.choices import CellTask
from tests.support.exhaustive import sample


@pytest.fixture(autouse=True)
def same_course(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells take as long as was expected, and no more states are looked at than tests have time for; what
    looks at more of them has its own tests."""
    record = Meter.record_cell

    def recorded(
        meter: Meter, size: int, repeated: bool, seconds: float, sweep_seconds: float, count: float = 1
    ) -> None:
        expected = meter.seconds_for([size], repeated), meter.seconds_for([size]) / 2
        record(meter, size, repeated, *expected, count)

    monkeypatch.setattr(Meter, "record_cell", recorded)
    monkeypatch.setattr(Meter, "record_mate_search", lambda *_: None)
    for name, few, full in (
        ("tbgen.beyond.search._MAX_STATES", 300, 2_400),
        ("tbgen.beyond.attempt.MAX_POSITIONS", 1_000, 32_000),
        ("tbgen.beyond.attempt.QUICK_MAX_POSITIONS", 100, 1_000),
        ("tbgen.beyond.gaps._MAX_EXAMINED_STATES", 20, 200),
    ):
        monkeypatch.setattr(name, sample(few, full))


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances by a second whenever it is read."""
    clock = SimpleNamespace(perf_counter=map(float, count()).__next__)
    for module in ("tbgen.beyond.cell_solver", "tbgen.beyond.budget"):
        monkeypatch.setattr(f"{module}.time", clock)


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> list[CellTask]:
    """The cells that are solved, in order."""
    solved: list[CellTask] = []
    right = CellSolver._solve_unchecked

    def noted(solver: CellSolver, each: Sequence[CellTask]) -> bool:
        solved.extend(each)
        return right(solver, each)

    monkeypatch.setattr(CellSolver, "_solve_unchecked", noted)
    return solved
