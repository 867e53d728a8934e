"""Positions in which an attempt fails for one reason, which the proved bounds must take into account."""

from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.budget import Budget
from tbgen.board.score import GScore
from tests.support.exhaustive import exhaustive, sample

pytestmark = pytest.mark.usefixtures("compiled")
PERPETUAL = "5rk1/5p1p/7Q/8/8/8/r4PPP/6K1 w - - 0 1"
"""White's queen checks on g5 and f6 for ever (docs/solve.md)."""


@pytest.mark.parametrize(
    "fen",
    [
        PERPETUAL,
        "5rk1/5p1p/7Q/r7/8/8/5PPP/6K1 w - - 0 1",
        *exhaustive(["5rk1/5p1p/7Q/8/8/2b5/5PPP/6K1 w - - 0 1"]),
    ],
)
def test_a_perpetual_check_breaks_where_the_checker_can_be_captured(fen: str, tmp_path: Path) -> None:
    """A rook on the fifth rank or a bishop on the long diagonal can capture; both stand still otherwise."""
    budget = Budget(memory=4 << 30, cells=sample(1, 8))
    found = tbgen.solve(fen, tables=tmp_path, mobile=[chess.H6, chess.G8], budget=budget)
    assert found.lower == GScore("G1.0") if fen == PERPETUAL else found.lower < GScore("G1.0")
    assert bool(found.holds) == (fen == PERPETUAL)


@pytest.mark.parametrize(
    ("fen", "with_it", "without"),
    [
        ("4k3/7p/3K4/6P1/8/8/8/8 b - - 0 1", "G5.5", "-G3.5"),
        *exhaustive([("8/kp1K4/8/P7/8/8/8/8 b - - 0 1", "G5.5", "-G0.0")]),
    ],
)
def test_en_passant_opens_the_way(fen: str, with_it: str, without: str, tables: Path, small: Path) -> None:
    """Black would step past White's pawn and be much better off, if it could not be captured in passing."""
    board = chess.Board(fen)
    (step,) = (move for move in board.legal_moves if abs(move.from_square - move.to_square) == 16)
    board.push(step)
    assert board.has_legal_en_passant()
    board.ep_square = None
    with tbgen.open_tablebase(tables) as known:
        assert str(known.probe(board, tbgen.FRESH).value) == without
        told = {move.uci: move.value for move in known.moves(fen)}
        assert str(known.probe(fen).value) == with_it
    found = tbgen.solve(fen, tables=small, budget=Budget(memory=4 << 30, cells=sample(4, 40)))
    assert found.lower <= GScore.parse(with_it) == found.upper
    assert all(move.lower <= told[move.uci] <= move.upper for move in found.moves)
