"""Thresholds after promotions, compared with tables of one more man."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import chess
import msgspec
import numpy as np
import pytest

import tbgen
from tbgen.beyond.budget import Budget, Stop
from tbgen.beyond.choices import CellTask
from tbgen.beyond.gaps import Need
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.promoted_cells import WonCells
from tbgen.beyond.solution import Solution
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.statements import gap_text
from tbgen.beyond.structures import homes_of, wholes_cost
from tbgen.beyond.table_source import Tables
from tbgen.board.kinds import KIND_LETTERS, QUEEN
from tbgen.board.score import NONE, Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, side_after
from tbgen.cells.cell import Cell, CellPosition, lineup_of_cell, mobile_squares
from tbgen.cells.packing import legal_slots
from tbgen.cells.routes import Route, routes_of
from tbgen.cells.threshold import Threshold
from tbgen.costs import RATES, StepRate
from tbgen.probe.tablebase import Tablebase
from tests.support.exhaustive import exhaustive
from tests.support.exit_contract import check_source

pytestmark = pytest.mark.usefixtures("compiled")


def known_of(tables: Tablebase, mobile: int, monkeypatch: pytest.MonkeyPatch) -> ExitBounds:
    """Bounds from tables, with few mobile men."""
    for module in (
        "cells.routes",
        "cells.cell",
        "cells.threshold",
        "beyond.gaps",
        "beyond.layers",
        "beyond.statements",
    ):
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


THRESHOLDS = [
    Threshold(end, Code(code))
    for end, code in ((UPPER, 3), (UPPER, 5), (LOWER, 3), (LOWER, 249), (UPPER, 254))
]
"""As seen after the promotion, by both sides and at both ends."""


def solve_all(known: ExitBounds, route: Route, thresholds: Iterable[Threshold] = THRESHOLDS) -> int:
    """Try thresholds after a promotion; return the number of whole cells for each."""
    home, counts = route.destination, set()
    while (task := known.promotions.next_task(home, thresholds)) is not None:
        solved = list(known.promotions.solve(task, known.proofs, 2))
        assert solved == task.cells
        counts.add(len(solved))
    (count,) = counts
    return count


def check_proofs(known: ExitBounds, route: Route, truth: Tables) -> float:
    """Compare with tables what is proved; return the share of the claims that are right and proved."""
    side, right, proved_count, rng = side_after(route), 0, 0, np.random.default_rng(0)
    legal = legal_slots(route.destination)[side]
    value = np.where(legal, truth.block(route, LOWER).value, NONE)
    for end in ENDS:
        for threshold, words in known.promotions.proofs_after(route, end):
            proved = np.unpackbits(words.view(np.uint8), bitorder="little").view(bool) & legal
            claims = legal & (value <= threshold.bound if end == LOWER else value >= threshold.bound)
            assert not (proved & ~claims).any(), threshold
            right, proved_count = right + int(claims.sum()), proved_count + int(proved.sum())
    blocks = [known.promotions.block(route, end) for end in ENDS]
    for slot in rng.choice(np.flatnonzero(legal), 100).tolist():
        board = route.destination.board_of(side, slot)
        assert board is not None
        mobile = board.occupied & ~board.pawns & ~chess.BB_SQUARES[route.promoted_on or 0]
        told = [
            WORST[end] if block is None or block.value[slot] == NONE else Code(int(block.value[slot]))
            for end, block in enumerate(blocks)
        ]
        assert known.promotions.fresh_bounds(CellPosition(board, mobile)) == tuple(told)
    return proved_count / right


@pytest.mark.parametrize(
    ("fen", "piece"),
    [*exhaustive([("8/P6k/8/8/8/8/8/K6R w - - 0 1", "R")]), ("k6b/8/8/8/8/8/4p3/6K1 b - - 0 1", "Q")],
)
def test_thresholds_are_those_of_tables(
    fen: str, piece: str, small: Path, truth: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without further pawns, in cells of four mobile men whose ranks are not kept; every position."""
    route = promotion(chess.Board(fen), KIND_LETTERS.index(piece))
    with tbgen.open_tablebase(small) as tables:
        known = known_of(tables, 3, monkeypatch)
        assert solve_all(known, route) == 1
        assert check_proofs(known, route, truth) == 1


@pytest.mark.parametrize(
    ("fen", "cells", "share"),
    [
        ("8/P6k/8/5p2/8/8/8/6K1 w - - 0 1", 4, 0.99),
        *exhaustive(
            [("6k1/8/8/8/8/2P5/4p3/6K1 b - - 0 1", 5, 0.9), ("8/P6k/3p4/8/8/8/8/6K1 w - - 0 1", 5, 0.9)]
        ),
    ],
)
def test_what_is_proved_is_what_tables_say(
    fen: str, cells: int, share: float, known: ExitBounds, truth: Tables
) -> None:
    """The other side's pawn passes through several cells; captures end in tables; it has no promotions."""
    route = promotion(chess.Board(fen))
    assert solve_all(known, route) == cells
    assert check_proofs(known, route, truth) > share


def test_thresholds_keep_the_contract_of_exit_sources(known: ExitBounds) -> None:
    route = promotion(chess.Board("8/P6k/8/5p2/8/8/8/6K1 w - - 0 1"))
    solve_all(known, route)
    told, universally = check_source(known.promotions, [route], 61, None)
    assert told > 100
    assert universally == 0


def test_mirrored_promotions_share_thresholds(known: ExitBounds, truth: Tables) -> None:
    """First for one, then for its mirror image, and both times for both."""
    route, mirrored = (
        promotion(chess.Board(f"{rank}/8/8/8/8/6K1 w - - 0 1")) for rank in ("8/P6k/8", "8/k6P/8")
    )
    solve_all(known, route, THRESHOLDS[:2])
    solve_all(known, mirrored, THRESHOLDS[2:])
    for each in (route, mirrored):
        assert known.promotions.next_task(each.destination, THRESHOLDS) is None
        assert sum(1 for end in ENDS for _ in known.promotions.proofs_after(each, end)) == len(THRESHOLDS)
        assert check_proofs(known, each, truth) == 1


def test_what_the_promoting_side_may_hope_for_comes_first(known: ExitBounds) -> None:
    for fen in ("8/P6k/8/8/8/8/8/6K1 w - - 0 1", "6k1/8/8/8/8/8/p6K/8 b - - 0 1"):
        route = promotion(chess.Board(fen))
        thresholds = [Threshold(LOWER, Code(5)), Threshold(UPPER, Code(3))]
        task = known.promotions.next_task(route.destination, thresholds)
        assert task is not None
        assert task.threshold.end == UPPER, fen
        assert known.promotions.next_task(task.cells[0], thresholds) is None, "no home of a promotion"


def test_the_cost_is_estimated(known: ExitBounds) -> None:
    def cost(fen: str) -> tuple[int, float, int]:
        task = known.promotions.next_task(promotion(chess.Board(fen)).destination, THRESHOLDS)
        assert task is not None
        return len(task.cells), *wholes_cost(task.cells, known.wins.mobile_count)

    alone, several = cost("8/P6k/8/8/8/8/8/6K1 w - - 0 1"), cost("8/P6k/8/5p2/8/8/8/6K1 w - - 0 1")
    assert several[1] == pytest.approx(several[0] * alone[1])
    assert several[2] > alone[2] > 0


def test_an_interrupted_cell_is_not_kept(known: ExitBounds) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    promoted, route = known.promotions, promotion(chess.Board("8/P6k/8/8/8/8/8/6K1 w - - 0 1"))
    task = promoted.next_task(route.destination, THRESHOLDS)
    assert task is not None
    with pytest.raises(KeyboardInterrupt):
        list(promoted.solve(task, known.proofs, 1, interrupt))
    assert promoted.next_task(route.destination, THRESHOLDS) == task
    assert not promoted.knows(route)


def test_looking_ahead_finds_what_is_proved_later(known: ExitBounds) -> None:
    """After Black's pawn move, White proves more by a promotion once the whole cells have been solved."""
    board = chess.Board("8/P6k/8/8/5p2/8/8/6K1 b - - 0 1")
    after = Cell.of_board(chess.Board("8/P6k/8/8/8/5p2/8/6K1 w - - 0 1"), [chess.G1, chess.H7])
    routes = list(routes_of(lineup_of_cell(Cell.of_board(board, mobile_squares(board)))))
    (step,) = (route for route in routes if route.destination == after)
    weak, strong = Threshold(LOWER, Code(5)), Threshold(LOWER, Code(3))

    def proved_count() -> int:
        proved = known.proofs(step, strong)
        return 0 if isinstance(proved, bool) else int(np.bitwise_count(proved).sum())

    route = promotion(chess.Board("8/P6k/8/8/8/5p2/8/6K1 w - - 0 1"))
    solve_all(known, route, [weak])
    count = proved_count()
    solve_all(known, route, [strong])
    assert proved_count() > count


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
    rates = {
        **RATES.steps,
        "whole cell": StepRate(nanoseconds=20, memory=100),
    }  # more than for an ordinary cell
    monkeypatch.setattr("tbgen.costs.RATES", msgspec.structs.replace(RATES, steps=rates))
    _, needed = wholes_cost([whole], 2)
    solution, _ = solved(kings, monkeypatch, needed - 1)
    assert solution.value is None
    assert solution.stopped_by is Stop.MEMORY
    gaps = [gap for gap in solution.gaps if gap.mobile == 3]
    assert gaps
    for gap in gaps:
        assert (gap.need, gap.memory) == (Need.MEMORY, needed)
        assert gap.seconds is not None
        assert re.search(r": needs 3 mobile men, [\d.]+ MiB, [\d.]+ s$", gap_text(gap))
