"""Forced mates in cells, compared with a slow search and with tables."""

import random
import zlib
from functools import cache

import chess
import numpy as np
import pytest

from tbgen.cells.cell import Cell, mobile_squares, side_of
from tbgen.cells.kernels.wins import _DENSE_ROUNDS
from tbgen.cells.wins import solve_wins
from tbgen.index.layout import Side
from tbgen.moves.kernels.words import Words
from tests.support.exhaustive import exhaustive
from tests.support.reference_wins import slow_wins


@cache
def made_up(cell: Cell, side: Side) -> Words | None:
    """Return made-up wins of another cell, each position with the same probability; for some cells None."""
    rng = np.random.default_rng(zlib.crc32(repr((cell, int(side))).encode()))
    if rng.random() < 0.1:
        return None
    words = rng.integers(1 << 63, size=(4, cell.size // 64), dtype=np.uint64)
    return np.asarray(np.bitwise_or.reduce(words))


def pen(seed: int) -> chess.Board:
    """Return a board whose kings and pieces have few squares, beside pawns that can move or be captured."""
    rng = random.Random(seed)
    while True:
        board = chess.Board(None)
        room, wall, fill = rng.choice(((range(16), range(16, 24), 4), (range(40, 64), range(32, 40), 11)))
        for square in wall:
            board.set_piece_at(square, chess.Piece(chess.PAWN, chess.BLACK))
        for square in rng.sample([square for square in room if 8 <= square < 56], fill):
            board.set_piece_at(square, chess.Piece(chess.PAWN, rng.random() < 0.1))
        free = [square for square in room if board.piece_at(square) is None]
        men = "Kk" + rng.choice(("Q", "R", "B")) + rng.choice(("", "r", "b", "q", "R"))
        if len(free) > len(men):
            for square, man in zip(rng.sample(free, len(men)), men, strict=False):
                board.set_piece_at(square, chess.Piece.from_symbol(man))
            if not board.was_into_check():
                return board


@pytest.mark.parametrize("seed", [14, 36, 44, *exhaustive([7, 16, 29, 57])])
def test_wins_are_those_of_a_slow_search(seed: int) -> None:
    """In one or several parts: some of these cells are large, and take rounds after the first ones, which
    look at all words."""
    board = pen(seed)
    cell = Cell.of_board(board, mobile_squares(board))
    there, won = slow_wins(board, made_up)
    for levels in (False, True):
        wins = solve_wins(cell, made_up, with_rounds=levels, threads=2)
        assert {name for name, each in there.items() if wins.is_won(side_of(each.board), each.slot)} == won
    if seed in (29, 36, 57):
        assert cell.size >= 64**4
        assert wins.rounds.max() > _DENSE_ROUNDS
