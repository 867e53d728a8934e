"""The kinds of men against python-chess."""

import random
import subprocess
import sys

import chess
import pytest

from tbgen.board.kinds import KINDS, KING, PIECE_ORDER, PROMOTIONS, attacks, between, reach, ways
from tbgen.retro.geometry import PASSED

NUMBERS = range(len(KINDS))


@pytest.mark.parametrize("kind", NUMBERS, ids=PIECE_ORDER)
def test_men_attack_what_they_do_for_python_chess(kind: int) -> None:
    generator = random.Random(kind)
    piece = chess.Piece.from_symbol(PIECE_ORDER[kind])
    for square in range(64):
        board = chess.BaseBoard(None)
        board.set_piece_at(square, piece)
        assert reach(kind)[square] == board.attacks_mask(square)
        for _ in range(20):
            for other in generator.sample(range(64), 12):
                if other != square:
                    board.set_piece_at(other, chess.Piece(chess.PAWN, chess.BLACK))
            assert attacks(kind, square, board.occupied) == board.attacks_mask(square)
            board = chess.BaseBoard(None)
            board.set_piece_at(square, piece)


@pytest.mark.parametrize("kind", NUMBERS, ids=PIECE_ORDER)
def test_what_stands_in_between_is_in_the_way(kind: int) -> None:
    for start in range(64):
        for stop in range(64):
            passed = between(kind, start, stop)
            if reach(kind)[start] >> stop & 1:
                assert passed == (chess.between(start, stop) if KINDS[kind].rides else 0)
            else:
                assert passed == 0


def test_a_leap_passes_nothing_where_a_queen_would() -> None:
    alfil = "A", ((2, 2), (2, -2), (-2, 2), (-2, -2))
    program = f"""
from tbgen.board import kinds
kinds.KINDS += (kinds.Kind(*{alfil}),)
from tbgen.retro.geometry import ATTACKS, PASSED
print(int(ATTACKS[-1, 27]), int(PASSED[-1, 27, 45]), int(PASSED[1, 27, 45]))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    targets = sum(1 << square for square in (9, 13, 41, 45))
    assert found.stdout.split() == [str(targets), "0", str(1 << 36)]


@pytest.mark.parametrize("kind", NUMBERS, ids=PIECE_ORDER)
def test_kernels_have_the_squares_in_between(kind: int) -> None:
    for start in range(64):
        assert PASSED[kind, start].tolist() == [between(kind, start, stop) for stop in range(64)]


def test_the_king_comes_first_and_is_no_promotion() -> None:
    assert PIECE_ORDER[KING] == "K"
    assert {PIECE_ORDER[kind] for kind in PROMOTIONS} == {"Q", "R", "B", "N"}


def test_nothing_leaves_the_board() -> None:
    for kind in NUMBERS:
        for square in range(64):
            for way in ways(kind, square):
                assert set(way) <= set(range(64)) - {square}
