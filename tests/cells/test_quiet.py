"""The best quiet moves of a cell's positions, compared with python-chess."""

import random

import chess
import numpy as np
import pytest

from tbgen.cells.cell import Cell
from tbgen.index.layout import SIDES
from tbgen.probe.accrued_states import QuietMoves
from tests.support.exhaustive import exhaustive, sample


@pytest.mark.parametrize(
    ("fen", "mobile"),
    [
        ("4k3/8/3q4/8/8/2p5/1P6/R3K3 w - - 0 1", "e8d6"),
        ("4k3/8/3r1n2/8/4P3/8/8/R3K3 w - - 0 1", "e8f6"),
        ("4k2r/5p2/8/3B4/8/8/8/4K3 w - - 0 1", "d5"),
        *exhaustive(
            [
                ("4k3/8/3r1n2/8/4P3/8/8/R3K3 w - - 0 1", "e8d6"),
                ("4k2r/5p2/8/3B4/3N4/8/8/4K3 w - - 0 1", "e1d5"),
            ]
        ),
    ],
)
def test_the_best_is_found(fen: str, mobile: str) -> None:
    board = chess.Board(fen)
    squares = [chess.parse_square(mobile[at : at + 2]) for at in range(0, len(mobile), 2)]
    cell = Cell.of_board(board, squares)
    side = SIDES[not board.color_at(squares[0])]
    rng = random.Random(fen)
    after: list[chess.Board | None] = [cell.board_of(SIDES[1 - side], slot) for slot in range(cell.size)]
    there = [each is not None and not each.was_into_check() for each in after]
    merit = np.array([rng.randrange(1, 256) if ok else 0 for ok in there], np.uint8)
    found = QuietMoves(cell, side).best_merit(merit)
    assert len(set(found.tolist())) > 10
    still = cell.standing_mask
    for slot in rng.sample(range(cell.size), min(cell.size, sample(500, 1500))):
        position = cell.board_of(side, slot)
        if position is None or position.was_into_check():
            continue
        reached = [0]
        for move in position.legal_moves:
            inside = not still & chess.BB_SQUARES[move.from_square] and not position.is_zeroing(move)
            if inside:
                position.push(move)
                reached.append(int(merit[cell.slot(cell.squares_of(position))]))
                position.pop()
        assert found[slot] == max(reached), position.fen()
