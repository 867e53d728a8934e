"""The kinds of men against python-chess."""

import random

import chess
import pytest

from tbgen.board.betza import described
from tbgen.board.kinds import KINDS, KING, PIECE_ORDER, PROMOTIONS, attacks, between, reach, ways
from tbgen.retro.movement import ORTHODOX

NUMBERS = range(len(KINDS))


@pytest.mark.parametrize("kind", NUMBERS, ids=PIECE_ORDER)
def test_men_attack_what_they_do_for_python_chess(kind: int) -> None:
    generator = random.Random(kind)
    piece = chess.Piece.from_symbol(PIECE_ORDER[kind])
    for square in range(64):
        board = chess.BaseBoard(None)
        board.set_piece_at(square, piece)
        assert reach(KINDS[kind])[square] == board.attacks_mask(square)
        for _ in range(20):
            for other in generator.sample(range(64), 12):
                if other != square:
                    board.set_piece_at(other, chess.Piece(chess.PAWN, chess.BLACK))
            assert attacks(KINDS[kind], square, board.occupied) == board.attacks_mask(square)
            board = chess.BaseBoard(None)
            board.set_piece_at(square, piece)


@pytest.mark.parametrize("kind", NUMBERS, ids=PIECE_ORDER)
def test_what_stands_in_between_is_in_the_way(kind: int) -> None:
    for start in range(64):
        for stop in range(64):
            passed = between(KINDS[kind], start, stop)
            if reach(KINDS[kind])[start] >> stop & 1:
                assert passed == (chess.between(start, stop) if KINDS[kind].rides else 0)
            else:
                assert passed == 0


def test_a_leap_passes_nothing_where_a_queen_would() -> None:
    alfil, queen = described("A"), KINDS[PIECE_ORDER.index("Q")]
    assert reach(alfil)[27] == sum(1 << square for square in (9, 13, 41, 45))
    assert between(alfil, 27, 45) == 0
    assert between(queen, 27, 45) == 1 << 36


@pytest.mark.parametrize("kind", NUMBERS, ids=PIECE_ORDER)
def test_kernels_have_the_squares_in_between(kind: int) -> None:
    for start in range(64):
        assert ORTHODOX.passed[kind, start].tolist() == [
            between(KINDS[kind], start, stop) for stop in range(64)
        ]


def test_the_king_comes_first_and_is_no_promotion() -> None:
    assert PIECE_ORDER[KING] == "K"
    assert {PIECE_ORDER[kind] for kind in PROMOTIONS} == {"Q", "R", "B", "N"}


def test_nothing_leaves_the_board() -> None:
    for kind in NUMBERS:
        for square in range(64):
            for way in ways(KINDS[kind], square):
                assert set(way) <= set(range(64)) - {square}
