"""Values after promotions, compared with tables of one more man."""

import re
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.beyond.budget import Budget, Stop
from tbgen.beyond.choices import CellTask
from tbgen.beyond.gaps import Need
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.promoted_cells import PromotedCells, WonCells
from tbgen.beyond.solution import Solution
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.statements import gap_text
from tbgen.beyond.structures import QUEEN, homes_of, values_cost
from tbgen.beyond.table_source import Tables
from tbgen.board.kinds import PIECE_ORDER
from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, side_after
from tbgen.cells.cell import Cell, CellPosition, lineup_of_cell, mobile_squares
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.window import Interval
from tbgen.index.layout import MIRROR_RANKS
from tbgen.probe.tablebase import Tablebase
from tests.support.exhaustive import exhaustive

pytestmark = pytest.mark.usefixtures("compiled")


def known_of(tables: Tablebase, mobile: int, monkeypatch: pytest.MonkeyPatch) -> ExitBounds:
    """Bounds from tables, with few mobile men."""
    for module in ("cells.routes", "cells.cell", "beyond.gaps", "beyond.knowledge", "beyond.statements"):
        monkeypatch.setattr(f"tbgen.{module}.MAX_MOBILE", mobile)
    return ExitBounds(Tables(tables), SolvedCells(), wins=WonCells(mobile))


@pytest.fixture(autouse=True)
def other_homes() -> Iterator[None]:
    """Clear the caches of cells below, which depend on the number of mobile men."""
    homes_of.cache_clear()
    yield
    homes_of.cache_clear()


@pytest.fixture
def known(small: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitBounds]:
    """Bounds from tables of three men, with at most two mobile men."""
    with tbgen.open_tablebase(small) as tables:
        yield known_of(tables, 2, monkeypatch)


@pytest.fixture
def truth(four_men: Path) -> Iterator[Tables]:
    with tbgen.open_tablebase(four_men) as tables:
        yield Tables(tables)


def promotion(board: chess.Board, kind: int = QUEEN) -> Route:
    """Return the promotion to a kind of piece without a capture."""
    cell = Cell.of_board(board, mobile_squares(board))
    (route,) = (
        route
        for route in routes_of(lineup_of_cell(cell))
        if route.promoted_on is not None
        and route.side != board.turn
        and len(route.destination.mobile) == len(cell.mobile)
        and route.destination.frozen[0].man.kind == kind
    )
    return route


def solve_all(known: ExitBounds, route: Route) -> None:
    """Solve and keep the cells that a promotion leads to."""
    cells = known.promotions.cells_to_solve(route.destination)
    assert cells
    for bounds in known.promotions.solve(cells, route.destination.frozen[0].man.kind, known, 2):
        known.cells.add(bounds)
    assert known.promotions.cells_to_solve(route.destination) == []


@pytest.mark.parametrize(
    ("fen", "piece"),
    [*exhaustive([("8/P6k/8/8/8/8/8/K6R w - - 0 1", "R")]), ("k6b/8/8/8/8/8/4p3/6K1 b - - 0 1", "Q")],
)
def test_values_are_those_of_tables(
    fen: str, piece: str, small: Path, truth: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without further pawns, by cells of four mobile men; every position."""
    route = promotion(chess.Board(fen), PIECE_ORDER.index(piece))
    with tbgen.open_tablebase(small) as tables:
        known = known_of(tables, 3, monkeypatch)
        (cell,) = known.promotions.cells_to_solve(route.destination)
        assert cell.size == 64**4
        solve_all(known, route)
        for end in ENDS:
            block = known.cells.block(route, end)
            assert block is not None
            assert np.array_equal(block.value, truth.block(route, end).value)
        check_positions(known, route)


@pytest.mark.parametrize(
    ("fen", "cells", "share"),
    [
        ("8/P6k/8/5p2/8/8/8/6K1 w - - 0 1", 4, 0.99),
        *exhaustive(
            [("6k1/8/8/8/8/2P5/4p3/6K1 b - - 0 1", 5, 0.9), ("8/P6k/3p4/8/8/8/8/6K1 w - - 0 1", 5, 0.9)]
        ),
    ],
)
def test_bounds_contain_what_tables_say(
    fen: str, cells: int, share: float, known: ExitBounds, truth: Tables
) -> None:
    """The other side's pawn passes through several cells; captures end in tables; it has no promotions."""
    route = promotion(chess.Board(fen))
    assert len(known.promotions.cells_to_solve(route.destination)) == cells
    solve_all(known, route)
    lower, upper = (known.cells.block(route, end) for end in ENDS)
    assert lower is not None
    assert upper is not None
    told = truth.block(route, LOWER).value
    there = told != NONE
    assert np.array_equal(there, lower.value != NONE)
    assert np.array_equal(there, upper.value != NONE)
    assert (lower.value >= told).all()
    assert (upper.value <= told).all()
    exact = lower.value[there] == upper.value[there]
    assert exact.mean() > share
    assert (lower.depth[there][exact] != upper.depth[there][exact]).all()
    check_positions(known, route)


@pytest.mark.parametrize("codes", [(5, 3), (250, 244), *exhaustive([((11, 0),), ((255, 252),)])])
def test_a_window_leaves_what_matters(codes: tuple[int, int], known: ExitBounds, truth: Tables) -> None:
    """White has promoted, and wins soon, wins later, or is mated."""
    route, window = promotion(chess.Board("8/P6k/8/5p2/8/8/8/6K1 w - - 0 1")), Interval(*map(Code, codes))
    home, seen = route.destination, np.vectorize(window.nearest, otypes=[np.uint8])
    cells = known.promotions.cells_to_solve(home, lambda _: window)
    for bounds in known.promotions.solve(cells, QUEEN, known, 2, window_of=lambda _: window):
        known.cells.add(bounds)
    assert known.promotions.cells_to_solve(home, lambda _: window) == []
    assert known.promotions.cells_to_solve(home) == cells
    told = truth.block(route, LOWER).value
    there = told != NONE
    lower, upper = (known.cells.block(route, end) for end in ENDS)
    assert lower is not None
    assert upper is not None
    assert (lower.value >= told).all()
    assert (upper.value <= told).all()
    exact = seen(lower.value[there]) == seen(upper.value[there])
    assert exact.mean() > 0.99


def test_each_end_is_found_on_its_own(known: ExitBounds) -> None:
    """First the upper end of the whole cells, which the promoting side may hope for; then the lower end."""
    route = promotion(chess.Board("8/P6k/8/5p2/8/8/8/6K1 w - - 0 1"))
    apart = ExitBounds(known.tables, SolvedCells(), wins=WonCells(2))
    home, colours = route.destination.canonical()
    solve_all(known, route)
    both = known.cells.get(home)
    assert both is not None
    promoted = PromotedCells(known.tables, known.wins)
    for number, end in enumerate((UPPER, LOWER)):
        wanted = promoted.cells_to_solve(route.destination, ends=[end])
        assert len(wanted) == 4
        for bounds in promoted.solve(wanted, QUEEN, apart, 2, ends=[end]):
            apart.cells.add(bounds)
        assert promoted.cells_to_solve(route.destination, ends=[end]) == []
        assert bool(promoted.cells_to_solve(route.destination)) == (number == 0)
        found = apart.cells.get(home)
        assert found is not None
        own = 1 - end if colours & MIRROR_RANKS != (MIRROR_RANKS if route.side else 0) else end
        assert np.array_equal(found.value[own], both.value[own])
        if number == 0:
            assert found.ends == (own,)
            assert np.isin(found.value[1 - own], [WORST[1 - own], NONE]).all()
        else:
            assert np.array_equal(found.value, both.value)


def check_positions(known: ExitBounds, route: Route) -> None:
    """Compare blocks with the bounds of single positions."""
    rng, compared = np.random.default_rng(0), 0
    blocks = [known.cells.block(route, end) for end in ENDS]
    for slot in rng.integers(route.destination.size, size=300).tolist():
        board = route.destination.board_of(side_after(route), slot)
        if board is not None and not board.was_into_check():
            mobile = board.occupied & ~board.pawns & ~chess.BB_SQUARES[route.promoted_on or 0]
            ends = [int(block.value[slot]) for block in blocks if block is not None]
            assert known.cells.fresh_bounds(CellPosition(board, mobile)) == tuple(ends)
            compared += 1
    assert compared > 20


def test_nothing_is_said_of_the_side_that_has_promoted(known: ExitBounds) -> None:
    """No bounds are given for positions with that side to move again."""
    route = promotion(chess.Board("8/P6k/8/8/8/8/8/6K1 w - - 0 1"))
    solve_all(known, route)
    bounds = known.cells.get(route.destination.canonical()[0])
    assert bounds is not None
    side = route.side if route.destination.canonical()[1] < 2 else 1 - route.side
    there = bounds.value[LOWER, side] != NONE
    assert there.sum() > 1000
    for end in ENDS:
        assert (bounds.value[end, side, there] == WORST[end]).all()


def test_what_is_won_counts_too(known: ExitBounds) -> None:
    """Black's pawn may promote at once, which has no bounds; it may be captured, and White mates."""
    route = promotion(chess.Board("8/P6k/8/8/8/8/5p2/6K1 w - - 0 1"))
    solve_all(known, route)
    without = known.cells.block(route, LOWER)
    other = ExitBounds(known.tables, SolvedCells(), wins=WonCells(2))
    for cell in other.wins.cells_to_solve(route.destination):
        other.wins.solve(cell, other)
    solve_all(other, route)
    block, won = (each.block(route, LOWER) for each in (other.cells, other.wins))
    assert block is not None
    assert without is not None
    assert won is not None
    assert (block.value[won.value == 0] == 0).all()
    assert (without.value[won.value == 0] != 0).any()
    assert np.array_equal(block.value[won.value != 0], without.value[won.value != 0])


def test_the_cost_is_estimated(known: ExitBounds) -> None:
    promoted = known.promotions
    (alone,) = promoted.cells_to_solve(promotion(chess.Board("8/P6k/8/8/8/8/8/6K1 w - - 0 1")).destination)
    several = promoted.cells_to_solve(promotion(chess.Board("8/P6k/8/5p2/8/8/8/6K1 w - - 0 1")).destination)
    mobile = known.wins.mobile_count
    (seconds, memory), (more_seconds, more_memory) = (
        values_cost(each, mobile) for each in ([alone], several)
    )
    assert more_seconds == pytest.approx(2 * len(several) * seconds)
    assert more_memory > memory > 0


def test_an_interrupted_cell_is_not_kept(known: ExitBounds) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    promoted, route = known.promotions, promotion(chess.Board("8/P6k/8/8/8/8/8/6K1 w - - 0 1"))
    cells = promoted.cells_to_solve(route.destination)
    with pytest.raises(KeyboardInterrupt):
        list(promoted.solve(cells, QUEEN, known, 1, interrupt))
    assert promoted.cells_to_solve(route.destination) == cells


PAWN = "8/P7/8/8/8/8/5k2/K7 w - - 0 1"


@pytest.fixture
def few_mobile(monkeypatch: pytest.MonkeyPatch) -> None:
    """No forced mates are found, and few states are examined."""
    monkeypatch.setattr(WonCells, "cells_to_solve", lambda self, home: iter(()))
    monkeypatch.setattr("tbgen.beyond.search._MAX_STATES", 40)
    monkeypatch.setattr("tbgen.beyond.search._FIRST_STATES", 20)


@pytest.fixture
def kings(tmp_path: Path, four_men: Path) -> Path:
    """Return a directory with only the table of two men."""
    (tmp_path / "KvK.r.h5").symlink_to(four_men / "KvK.r.h5")
    return tmp_path


def solved(
    tables: Path, monkeypatch: pytest.MonkeyPatch, memory: int = 8 << 30, *, proved: bool = False
) -> tuple[Solution, ExitBounds]:
    """Solve the position with tables of two men and two mobile men."""
    with tbgen.open_tablebase(tables) as opened:
        known = known_of(opened, 2, monkeypatch)
        budget = Budget(memory=memory)
        return tbgen.solve(PAWN, tables=opened, known=known, budget=budget, verify=proved, line=True), known


def test_forced_mates_by_a_queen_count_at_once(
    kings: Path, tasks: list[CellTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other cells after promotions are solved."""
    monkeypatch.setattr("tbgen.beyond.cell_solver._MAX_SLOTS_BELOW", 0)
    solution, known = solved(kings, monkeypatch)
    assert str(solution.value) == "G0.0"
    assert tasks
    assert not any(task.cell.frozen for task in tasks)
    assert known.wins.nbytes > 0


@pytest.mark.usefixtures("few_mobile")
def test_promotions_that_keep_an_interval_open_are_solved(
    kings: Path, four_men: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    solution, _ = solved(kings, monkeypatch)
    with tbgen.open_tablebase(four_men) as tables:
        assert solution.value == tables.probe(PAWN).value
    assert solution.line is not None
    assert [ply.san for ply in solution.line] == ["a8=Q"]
    unproved, _ = solved(kings, monkeypatch, proved=True)
    assert unproved.value is None


@pytest.mark.usefixtures("few_mobile")
def test_the_cost_of_promotions_is_reported_if_memory_is_short(
    kings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Cell.of_board(chess.Board("Q7/8/8/8/8/8/5k2/K7 b - - 0 1"), [0, 13, 56])
    _, needed = values_cost([whole], 2)
    solution, _ = solved(kings, monkeypatch, needed - 1)
    assert solution.value is None
    assert solution.stopped_by is Stop.MEMORY
    gaps = [gap for gap in solution.gaps if gap.mobile == 3]
    assert gaps
    for gap in gaps:
        assert (gap.need, gap.memory) == (Need.MEMORY, needed)
        assert gap.seconds is not None
        assert re.search(r": needs 3 mobile men, [\d.]+ MiB, [\d.]+ s$", gap_text(gap))
