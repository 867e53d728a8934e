"""The boards of the compiled search are those of python-chess."""

import random
from collections.abc import Iterator

import chess
import numpy as np

from tbgen.engine.kernels.board import (
    ACCRUED,
    CASTLING_MOVE,
    EN_PASSANT,
    KEY,
    PROMOTED_MASK,
    RANK,
    ROW_SIZE,
    TURN,
    complete_row,
    make_move,
    position_key,
)
from tests.support.random_boards import random_moves

ROWS, MOVES = np.zeros((8, ROW_SIZE), np.uint64), np.zeros((8, 256), np.int32)
BOARDS = (
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R2Pp1k/8/6P1/8 b - e3 0 1",
)
"""Positions with castling of all kinds, and with an en passant capture that would expose the king."""


def words_of(board: chess.Board) -> list[int]:
    """Return the sets of squares and the side to move, in the order of a row."""
    passing = (
        1 << board.ep_square if board.ep_square is not None and board.has_pseudo_legal_en_passant() else 0
    )
    men = board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings
    sides = board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]
    return [*men, *sides, board.clean_castling_rights(), passing, int(not board.turn)]


def set_up(board: chess.Board) -> None:
    ROWS[0] = 0
    ROWS[0, : TURN + 1] = words_of(board)
    ROWS[0, KEY] = position_key(ROWS, 0)


def move_of(board: chess.Board, move: int) -> chess.Move:
    """Convert a move to python-chess, with castling as in Chess960."""
    promoted = (move & PROMOTED_MASK) // (PROMOTED_MASK & -PROMOTED_MASK)
    return chess.Move(move & 63, move >> 6 & 63, promoted + 1 if promoted else None)


def is_rare(board: chess.Board, move: chess.Move) -> bool:
    return move.promotion is not None or board.is_castling(move)


def positions(seed: int, games: int) -> Iterator[chess.Board]:
    """Yield positions of random games from start positions of Chess960 and others."""
    rng = random.Random(seed)
    for number in range(games):
        if number % 4 == 0:
            board = chess.Board(BOARDS[number // 4 % 2])
        else:
            board = chess.Board.from_chess960_pos(rng.randrange(960))
        board.chess960 = True
        for move in random_moves(rng, board, 120, is_rare, 0.5):
            yield board
            board.push(move)
        yield board


def test_moves_and_what_they_lead_to_are_those_of_python_chess() -> None:
    """The whole row agrees, with the accrued score; the key is that of the same position set up afresh."""
    met = castled = passed = checks = 0
    for board in positions(39, 8):
        set_up(board)
        moves = [int(move) for move in MOVES[0, : complete_row(ROWS, 0, MOVES, 0)]]
        check = int(ROWS[0, RANK]) % 2 == 0
        assert check == board.is_check()
        assert len(moves) == len(set(moves))
        assert {move_of(board, move) for move in moves} == set(board.legal_moves), board.fen()
        for move in moves[:: 1 + met % 7]:
            make_move(ROWS, 0, move)
            after = board.copy(stack=False)
            after.push(move_of(board, move))
            assert ROWS[1, : TURN + 1].tolist() == words_of(after), (board.fen(), move)
            assert ROWS[1, KEY] == position_key(ROWS, 1)
            castled += move & CASTLING_MOVE != 0
        met, checks, passed = met + 1, checks + check, passed + (ROWS[0, EN_PASSANT] != 0)
    assert min(castled, passed, checks) > 4


def test_position_score_and_accrued_score() -> None:
    """White's G4.0 stays unless the position score is better; a better score belongs to its mover."""
    improved = 0
    for board in positions(7, 6):
        set_up(board)
        ROWS[0, ACCRUED] = 8 << 1
        complete_row(ROWS, 0, MOVES, 0)
        rank = 2 * board.legal_moves.count() + (not board.is_check())
        assert ROWS[0, RANK] == rank
        assert ROWS[0, ACCRUED] == (rank << 1 | int(board.turn) if rank < 8 else 8 << 1)
        improved += rank < 8
    assert improved > 5
