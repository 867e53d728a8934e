"""Intervals of positions beyond the tables, compared with larger tables."""

import gc
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import chess
import h5py
import pytest

import tbgen
from tbgen.beyond import knowledge
from tbgen.beyond import table_source as tables_as_sources
from tbgen.beyond.budget import Budget, SolvingInterruptedError, Stop, memory_needed
from tbgen.beyond.cell_solver import CellSolver
from tbgen.beyond.choices import CellTask
from tbgen.beyond.solution import Solution
from tbgen.beyond.solver import solve
from tbgen.beyond.structures import mobile_sets_to_try
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.cells.bounds import Block
from tbgen.cells.routes import Route
from tbgen.errors import UsageError
from tests.support.exhaustive import exhaustive, sample
from tests.support.packed_tables import PackedTables
from tests.support.random_boards import en_passant_board, random_board
from tests.support.solving import LOCKED, of_cells

MATERIALS = ["KPPvK", "KBvKP", "KRvKP", "KQvKP", "KRPvK", "KQPvK"]
DEARER = ["KPvKP", "KNvKP", "KNPvK", "KBPvK"]
KINGS = [chess.E4, chess.E7]
"""Of the position LOCKED."""
FINE = "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1"
SHUT = "4k3/8/2p5/p7/P1P5/8/8/4K3 w - - 0 1"


def score(rng: random.Random) -> GScore | None:
    return GScore(rng.randrange(2, 20), rng.random() < 0.5) if rng.random() < 0.7 else None


def check(tables: tbgen.Tablebase, board: chess.Board, accrued: GScore | None, found: Solution) -> None:
    """Compare the bounds of a position and of all its moves with the tables."""
    known = tables.probe(board, accrued)
    assert found.lower <= known.value <= found.upper
    assert (found.position_score, found.accrued) == (known.position_score, known.accrued)
    if found.value is not None and found.depth is not None:
        assert found.depth == known.depth
    moves = {move.uci: move for move in tables.moves(board, accrued)}
    assert moves.keys() == {move.uci for move in found.moves}
    for move in found.moves:
        assert move.lower <= moves[move.uci].value <= move.upper
        if move.lower == move.upper and move.depth is not None:
            assert move.depth == moves[move.uci].depth


@pytest.mark.parametrize("material", [*MATERIALS, *exhaustive(DEARER)])
def test_intervals_contain_what_tables_say(material: str, tables: Path, small: Path) -> None:
    rng = random.Random(material)
    with tbgen.open_tablebase(tables) as full:
        for _ in range(sample(1, 2)):
            board, accrued = random_board(rng, Material.parse(material)), score(rng)
            check(full, board, accrued, solve(board, accrued, tables=small, budget=of_cells(25)))


def test_en_passant(tables: Path, small: Path) -> None:
    rng = random.Random(3)
    with tbgen.open_tablebase(tables) as full:
        for _ in range(6):
            board = en_passant_board(rng)
            check(full, board, None, solve(board, tables=small, budget=of_cells(25)))


def test_more_work_never_widens(tables: Path, tasks: list[CellTask]) -> None:
    """In the end all cells are solved once, except the position's own, which is solved first and last."""
    before = None
    for cells in (0, 10, 300):
        tasks.clear()
        found = solve(SHUT, "G2.0", tables=tables, budget=of_cells(cells))
        assert found.cells <= cells
        assert before is None or before.lower <= found.lower <= found.upper <= before.upper
        before = found
    assert before is not None
    assert before.stopped_by is None
    assert str(before.value) == "-G8.5"
    root, *below, last = [task.cell for task in tasks]
    assert root == last
    assert len(set(below) - {root}) == len([cell for cell in below if cell != root]) > 20


def test_time_counts_while_exits_are_found(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking up a route may take longer than estimated."""
    clock, stored = SimpleNamespace(now=0.0), knowledge.ExitBounds.stored_block

    def slow(self: knowledge.ExitBounds, route: Route, end: int) -> Block | None:
        clock.now += 1.0
        return stored(self, route, end)

    monkeypatch.setattr(knowledge.ExitBounds, "stored_block", slow)
    for module in ("tbgen.beyond.cell_solver", "tbgen.beyond.budget"):
        monkeypatch.setattr(f"{module}.time", SimpleNamespace(perf_counter=lambda: clock.now))
    found = solve(LOCKED, "G4.5", tables=tables, budget=Budget(seconds=60.0, memory=2 << 30), mobile=KINGS)
    assert found.stopped_by is Stop.TIME
    assert found.cells > 0
    # Each game looks up its exits and finishes what it has begun, but begins nothing that takes too long.
    assert 30.0 <= clock.now <= 62.0


def test_tables_are_closed_afterwards(tables: Path) -> None:
    """They are closed at once, not by the garbage collector: another table may replace the file."""
    gc.collect()
    before = h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)
    gc.disable()
    try:
        assert solve(LOCKED, "G4.5", tables=tables, budget=of_cells(3)).cells > 0
        assert h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE) == before
    finally:
        gc.enable()


def test_a_position_of_a_table_is_answered_from_it(tables: Path) -> None:
    board = chess.Board("8/8/3k4/4p3/8/2B5/2K5/8 w - - 3 10")
    found = solve(board, "-G5.5", tables=tables)
    assert (str(found.value), found.depth, found.cells) == ("G1.5", 35, 0)


@pytest.mark.parametrize(
    ("fen", "accrued"),
    [("8/8/8/3kP3/8/1Kp5/8/8 w - - 1 1", "-G1.0"), ("8/Kp6/2k5/2P5/8/8/8/8 b - - 1 1", "-G1.0")],
)
def test_a_table_without_its_sub_tables(fen: str, accrued: str, tables: Path, tmp_path: Path) -> None:
    """The table has the fresh value of the position, but this is another state."""
    shutil.copy(tables / "KPvKP.r.h5", tmp_path)
    with tbgen.open_tablebase(tables) as full:
        fresh, value = (full.probe(fen, score).value for score in (tbgen.FRESH, accrued))
    assert fresh != value
    for cells in (0, 3):
        found = solve(fen, accrued, tables=tmp_path, budget=of_cells(cells))
        assert found.lower <= value <= found.upper


def test_a_capture_that_wins_leaves_moves_and_line_to_be_found(small: Path) -> None:
    found = solve("8/8/8/1k6/7p/8/8/K6Q w - - 0 1", tables=small, line=True)
    assert str(found.value) == "G0.0"
    assert found.line
    assert sum(move.lower == move.upper for move in found.moves) > 10


def test_mate_and_stalemate(small: Path, tmp_path: Path) -> None:
    for fen, value in (("7k/5KQ1/8/8/8/8/8/8 b - - 0 1", "G0.0"), ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "G0.5")):
        for tables in (small, tmp_path):
            found = solve(fen, tables=tables)
            assert (str(found.value), found.depth, found.moves) == (value, 0, ())
            assert (found.gaps, found.narrowing, found.plans) == ((), None, ((), ()))


def test_a_locked_position_takes_one_cell(tmp_path: Path) -> None:
    """No king can reach a pawn, so no move leaves the cell, and tables are of no use."""
    fen = "8/4k3/1p1p1p1p/pPpPpPpP/P1P1P1P1/8/4K3/8 w - - 0 1"
    found = solve(fen, tables=tmp_path)
    assert (str(found.value), found.depth, found.cells) == ("G5.5", 1, 1)
    swapped = solve(chess.Board(fen).mirror(), tables=tmp_path)
    assert (str(swapped.value), swapped.depth, swapped.cells) == ("-G5.5", 1, 1)


def test_cells_that_memory_does_not_allow_are_reported(tmp_path: Path) -> None:
    """Without tables a pawn may promote into a cell that is too large for the memory."""
    least = Budget(memory=memory_needed(64**2) + 1)
    found = solve("8/1k6/8/8/8/8/2K1P3/8 w - - 0 1", tables=tmp_path, budget=least)
    assert (found.value, found.stopped_by) == (None, Stop.MEMORY)


def test_sets_that_memory_does_not_allow_are_reported(tmp_path: Path) -> None:
    """Sets of two men fit into the memory; larger ones do not, and might narrow the interval."""
    fen, most = "4k3/8/p2n4/P7/8/8/8/2B1K3 w - - 0 1", memory_needed(64**2) + 1
    found = solve(fen, tables=tmp_path, budget=Budget(memory=most, cells=1), mobile="auto")
    assert (found.value, found.stopped_by) == (None, Stop.MEMORY)
    with pytest.raises(UsageError, match=r"2 mobile men takes .* and 100\.00 MiB are"):
        solve(fen, tables=tmp_path, budget=Budget(memory=100 << 20), mobile="auto")


def test_memory_chooses_the_men_that_are_mobile(tmp_path: Path) -> None:
    """Two pieces and two pawns: four mobile men take more than 2.5 GiB, so smaller sets are tried."""
    board = chess.Board("8/4k3/4r2p/8/8/4R1KP/8/8 w - - 3 40")
    assert mobile_sets_to_try(board, 8 << 30, None) == ([(16 + 4, 16 + 6, 40 + 4, 48 + 4)], True)
    for mobile in (None, "auto"):
        sets, all_fit = mobile_sets_to_try(board, 5 << 29, mobile)
        assert {len(squares) for squares in sets} == {2, 3}
        assert not all_fit
    # Five white men can move, which is too many for a bound of Black; sets for bounds of White remain.
    many = chess.Board("4k3/8/8/8/8/8/8/QRBNK3 w - - 0 1")
    assert mobile_sets_to_try(many, 5 << 29, None)[0]
    found = solve(board, tables=tmp_path, budget=Budget(memory=5 << 29, cells=1))
    assert found.cells == 1
    least = Budget(memory=5 << 29)
    for chosen, words in (([20, 22, 44, 52], "let fewer men be mobile"), ([0, 4, 9, 20], "a1 is empty")):
        with pytest.raises(UsageError, match=words):
            solve(board, tables=tmp_path, budget=least, mobile=chosen)


def test_missing_tables_are_named(small: Path, tmp_path: Path) -> None:
    """One command builds all tables that might narrow the interval, and their sub-tables with them."""
    fen = "8/1k6/8/8/8/8/2K1P3/8 w - - 0 1"
    found = solve(fen, tables=tmp_path, budget=Budget(cells=1))
    assert (found.missing, found.stopped_by) == (("KPvK",), Stop.CELLS)
    assert found.build == f"tbgen build KPvK --dir {tmp_path}"
    wall = "4k3/8/p1p1p1p1/PpPpPpPp/1P1P1P1P/8/8/2B1K3 w - - 0 1"
    found = solve(wall, tables=tmp_path, mobile=[chess.E1])
    assert (found.value, found.missing, found.stopped_by) == (None, (), Stop.NOTHING_LEFT)
    assert solve(fen, tables=small).missing == ()


def test_an_interruption_leaves_what_is_proved(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds are those of the cells solved before it."""
    solved, most, right = 0, 10, CellSolver._solve_unchecked

    def interrupted(solver: CellSolver, tasks: Sequence[CellTask]) -> bool:
        nonlocal solved
        solved += 1
        if solved > most:
            raise KeyboardInterrupt
        return right(solver, tasks)

    monkeypatch.setattr(CellSolver, "_solve_unchecked", interrupted)
    with pytest.raises(SolvingInterruptedError) as caught:
        solve(LOCKED, "G4.5", tables=small)
    found = caught.value.solution
    assert "the attribute solution has what was proved" in str(caught.value)
    assert (found.cells, found.stopped_by) == (most, Stop.INTERRUPT)
    solved, most = 0, 10**9
    again = solve(LOCKED, "G4.5", tables=small, budget=of_cells(10))
    assert found.lower <= again.lower <= again.upper <= found.upper
    assert {move.uci for move in found.moves} == {move.uci for move in again.moves}


@pytest.mark.usefixtures("ticking")
def test_small_cells_do_not_take_the_time_of_the_first(small: Path) -> None:
    """The position's own cell is solved even if all takes longer than expected: it contains a mate."""
    fen = "6k1/5ppp/8/8/8/8/5PPP/3Q2K1 w - - 0 1"
    found = solve(fen, tables=small, mobile=[chess.D1, chess.G8], budget=Budget(seconds=40.0))
    assert (str(found.value), found.moves[0].san, found.stopped_by) == ("G0.0", "Qd8#", None)


@pytest.mark.parametrize(
    ("fen", "options", "sentence"),
    [
        (FINE, {"mobile": [chess.D5]}, "d5 has a pawn"),
        (FINE, {"mobile": [chess.E2]}, "e2 is empty"),
        ("r3k3/8/8/8/8/8/PPP5/R3K2R w KQq - 0 1", {}, "at most 5 men"),
        (
            "4k3/8/8/8/8/8/PP6/4K2R w K - 0 1",
            {"budget": Budget(60.0)},
            "takes about 3 min 30 s and 3.23 GiB of memory, but only 1 min",
        ),
        (
            "4k3/8/8/8/8/2q5/2n5/4K2R w K - 0 1",
            {"budget": Budget(memory=1 << 29)},
            "12.0 s and 792.00 MiB of memory, but only 512.00 MiB are allowed: allow more",
        ),
        (
            "rnb1k3/8/8/8/8/8/PPP5/RNB1K2R w - - 0 1",
            {"mobile": [chess.A1, chess.B1, chess.C1, chess.E1, chess.E8]},
            "5 mobile men are more than the 4",
        ),
        ("r3k3/8/8/8/8/8/PPP5/4K2R w - - 0 1", {"budget": Budget(memory=1 << 27)}, "or allow more memory"),
        (FINE, {"accrued": "G0.5"}, "ends the game"),
    ],
)
def test_bad_input(fen: str, options: dict[str, object], sentence: str, small: Path) -> None:
    with pytest.raises(UsageError, match=sentence):
        solve(fen, tables=small, **options)  # type: ignore[arg-type]


def test_more_moves_than_ranks_can_count(small: Path) -> None:
    """Five queens may have more moves than eight bits can count: the cell is refused."""
    with pytest.raises(UsageError, match="scores beyond G63"):
        solve("6rk/6pp/8/8/8/QQQQQ3/8/K7 w - - 0 1", tables=small, mobile=[chess.A1, chess.H8])


def test_bounds_from_packed_tables(own: Path, packed: PackedTables, monkeypatch: pytest.MonkeyPatch) -> None:
    """A position of four men, whose captures and promotions lead to tables of three men."""
    monkeypatch.setattr(tables_as_sources, "MAX_PROBED_SLOTS", 0)
    fen = "8/1r6/8/4k3/8/1P2K3/8/8 b - - 0 60"
    expected = solve(fen, "G6.0", tables=own, budget=of_cells(2))
    for name in ("KPvK", "KRvK"):
        shutil.copy(packed(name), own)
    found = solve(fen, "G6.0", tables=own, budget=of_cells(2))
    assert found == expected
    assert found.lower > GScore.parse("-G0.0") or found.upper < GScore.parse("G0.0")
