"""Cells solved for values alone, compared with cells solved with depths."""

from itertools import product

import chess
import numpy as np
import pytest

from tbgen.board.score import NONE
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    BoundsGame,
    BoundsSource,
    CallbackBoundsSource,
    UnstorableCellError,
    pools_of_ends,
)
from tbgen.cells.cell import Cell, mobile_squares
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.games import solve_values
from tbgen.cells.routes import routes_of
from tbgen.compiler.jit import int64
from tbgen.retro import ranks
from tbgen.retro.workspace import workspace_of
from tests.support.exhaustive import exhaustive, sample
from tests.support.made_up_exits import MadeUp

SMALL = "8/8/8/8/8/k1p5/2P5/K7 w - - 0 1"
LARGER = "8/1p6/1P6/8/8/5k2/6p1/K6Q w - - 0 1"
KNOWLEDGE: list[BoundsSource] = [MadeUp(), CallbackBoundsSource()]


@pytest.mark.parametrize("fen", [SMALL, "k7/2r5/p7/P7/8/8/4P3/K7 w - - 0 1", *exhaustive([LARGER])])
def test_values_are_those_found_with_depths(fen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share the work of nearly every level; all exits may be without bounds."""
    monkeypatch.setattr(ranks, "_MIN_SHARED_WORDS", int64(2))
    board = chess.Board(fen)
    cell = Cell.of_board(board, mobile_squares(board))
    frame = frame_of_cell(cell)
    for end, knowledge in list(product(ENDS, KNOWLEDGE))[:: 1 if fen == SMALL else sample(3, 1)]:
        (pool,) = pools_of_ends(frame, routes_of(frame), knowledge, [end])
        expected = BoundsGame(frame, pool).solve().value
        assert (expected != NONE).sum() > 1000
        assert len(np.unique(expected)) > 10 or not isinstance(knowledge, MadeUp)
        for threads in (1, 3):
            assert np.array_equal(solve_values(cell, knowledge, end, threads), expected)


def test_a_cancelled_cell_is_not_finished() -> None:
    class OverError(Exception):
        pass

    def over() -> None:
        raise OverError

    board = chess.Board(SMALL)
    with pytest.raises(OverError):
        solve_values(Cell.of_board(board, mobile_squares(board)), CallbackBoundsSource(), LOWER, on_rank=over)


def test_a_cell_with_too_many_moves_is_refused() -> None:
    board = chess.Board("QQQQQ3/8/8/8/8/5k2/8/K7 w - - 0 1")
    with pytest.raises(UnstorableCellError, match="let fewer men be mobile"):
        solve_values(Cell.of_board(board, mobile_squares(board)), CallbackBoundsSource(), LOWER)


def test_each_part_of_a_sweep_counts_its_departures() -> None:
    board = chess.Board("8/8/8/8/7q/k1p5/2P5/K6Q w - - 0 1")
    frame = frame_of_cell(Cell.of_board(board, mobile_squares(board))).frame
    for workspace in (
        ranks.values_workspace(frame, 5),
        workspace_of(frame, True, np.zeros((0, 2), np.int64), 5),
    ):
        for attacker in workspace.attackers:
            assert len(attacker.departures.count) == len(attacker.scratch.front_sizes) == 5
