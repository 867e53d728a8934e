"""Bounds of positions after moves out of a cell, from their next captures and pawn moves."""

import random
from itertools import islice
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.beyond.budget import Budget
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.promoted_cells import WonCells
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.table_source import Tables
from tbgen.board.score import NONE, GScore
from tbgen.board.scoring import ScoreInterval
from tbgen.cells.bounds import LOWER, UPPER, WORST, Bounds, side_after
from tbgen.cells.cell import Cell, CellPosition, mobile_squares
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.games import Games
from tbgen.cells.interval import Interval
from tbgen.cells.routes import Route, routes_of
from tbgen.index.layout import SIDES
from tbgen.probe.tablebase import Tablebase
from tests.support.exit_contract import check_source

pytestmark = pytest.mark.usefixtures("compiled")


def positions(route: Route, rng: random.Random, count: int) -> list[CellPosition]:
    """Return some legal positions that a route leads to."""
    cell = route.destination
    boards = (cell.board_of(side_after(route), rng.randrange(cell.size)) for _ in range(20 * count))
    valid = (board for board in boards if board is not None and board.is_valid())
    return [CellPosition(board, board.occupied & ~cell.standing_mask) for board in islice(valid, count)]


def best_reset(tables: Tablebase, board: chess.Board, end: int) -> int:
    """Return the value of the mover's best capture or pawn move, else the bound against a bare king."""
    bare = chess.WHITE if end == UPPER else chess.BLACK
    worth = WORST[end] if board.occupied_co[bare].bit_count() > 1 else (254, 1)[end]
    for move in board.legal_moves:
        if board.is_zeroing(move):
            after = board.copy(stack=False)
            after.push(move)
            if len(after.piece_map()) <= 3:
                code = tables.probe(after, tbgen.FRESH).value.code
                worth = max(worth, code) if end == UPPER else min(worth, code)
    return worth


class Unfinished(Tables):
    """Tables as a source that is neither exact nor final."""

    exact = final = False


@pytest.mark.parametrize("source", [Tables, Unfinished])
@pytest.mark.parametrize(
    "fen",
    [
        "8/2k5/8/8/8/8/2p5/1R3K2 w - - 0 1",
        "8/2P1k3/3r4/8/8/8/8/4K3 w - - 0 1",
        "1n6/P3k3/8/8/8/8/8/4K3 w - - 0 1",
        "4k3/8/8/8/8/8/p7/1N2K3 b - - 0 1",
        "4k3/3p4/8/4P3/8/8/8/4K3 b - - 0 1",
    ],
)
def test_one_ply_on(fen: str, source: type[Tables], own: Path) -> None:
    board, rng = chess.Board(fen), random.Random(fen)
    cell = Cell.of_board(board, mobile_squares(board))
    decided = 0
    with tbgen.open_tablebase(own) as tables:
        known = ExitBounds(source(tables), SolvedCells())
        for route in routes_of(frame_of_cell(cell)):
            end = LOWER if side_after(route) == 0 else UPPER
            if route.is_quiet or known.tables.has_cell(route.destination):
                continue
            block = known.block(route, end)
            assert known.block(route, 1 - end) is None
            for position in positions(route, rng, 30):
                expected = best_reset(tables, position.board, end)
                found = known.bound(route, end) if block is None else int(block.value[position.slot])
                if not position.is_over:
                    assert found == expected, position.board.fen()
                    assert known.fresh_bounds(position)[end] == expected
                    decided += expected != WORST[end]
    assert decided


def test_better_bounds_are_kept(small: Path) -> None:
    """The better bounds are kept in either order. Values, which may be read-only, replace any bounds."""
    board = chess.Board("8/8/8/8/3K3p/8/1P1k4/8 w - - 0 1")
    cell, cells = CellPosition(board, int(board.kings)).cell.canonical()[0], SolvedCells()
    with tbgen.open_tablebase(small) as tables:
        found = Games(cell, ExitBounds(Tables(tables), cells)).solve()
    value, depth = found.value.copy(), found.depth.copy()
    for end in (LOWER, UPPER):
        worse = value[end].copy()
        worse[worse != NONE] = WORST[end]
        both = np.stack([worse, value[UPPER]] if end == LOWER else [value[LOWER], worse])
        cells.add(Bounds(cell, both, depth.copy()))
    known = cells.get(cell)
    assert known is not None
    assert (known.value == value).all()
    cells.add(Bounds(cell, np.broadcast_to(value[:1], value.shape), np.broadcast_to(depth[:1], depth.shape)))
    assert cells.has_values(cell)
    assert check_source(cells, [Route(SIDES[0], 0, cell)], 29, None)[0] > 0


def test_fresh_bounds_of_a_source_narrow_a_position_whose_cell_is_solved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fen = "8/8/8/4k3/8/4K3/4P3/8 w - - 0 1"

    def narrowed() -> bool:
        solution = tbgen.solve(fen, tables=tmp_path, budget=Budget(cells=1))
        return solution.upper == claimed.upper and solution.cells == 1

    claimed = ScoreInterval(GScore.parse("-G0.5"), GScore.parse("G0.5"))
    assert not narrowed()
    bounds = Interval(*(score.code for score in claimed))
    monkeypatch.setattr(WonCells, "fresh_bounds", lambda source, position: bounds)
    assert narrowed()
