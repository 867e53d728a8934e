"""Sets of mobile men, tried in turn, and holds of one man by another."""

import random
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.beyond.budget import Budget
from tbgen.beyond.structures import is_shut_in, mobile_sets_for_each_prover
from tbgen.board.score import GScore
from tests.support.exhaustive import sample

LOCKED = "7k/8/p1p1p1p1/P1P1P1P1/8/p1p1p1p1/P1P1P1P1/K7 w - - 0 1"
pytestmark = pytest.mark.usefixtures("compiled")


def test_sets_contain_all_men_of_the_opponent_of_the_prover() -> None:
    board = chess.Board("r3k3/8/8/8/8/8/PPP5/RN2K2R w - - 0 1")
    sets = list(mobile_sets_for_each_prover(board, 4))
    assert [len(each) for each in sets] == sorted(len(each) for each in sets)
    assert len(set(sets)) == len(sets)
    black = {chess.A8, chess.E8}
    white = set(chess.scan_forward(board.occupied_co[chess.WHITE] & ~board.pawns))
    for each in sets:
        assert black <= set(each) or white <= set(each)
        assert len(each) <= 4
    assert (chess.A8, chess.E8) in map(tuple, sets)
    assert {each for each in sets if len(each) == 4 and black <= set(each)} >= {
        tuple(sorted((*black, chess.E1, chess.H1))),
        tuple(sorted((*black, chess.A1, chess.B1))),
    }


def test_men_that_pawns_shut_in_may_stand_still() -> None:
    board = chess.Board("2b1k3/1p1p4/1P1P4/8/8/8/8/4K3 w - - 0 1")
    assert is_shut_in(board, chess.C8)
    assert not is_shut_in(board, chess.E8)
    assert (chess.E8,) in list(mobile_sets_for_each_prover(board, 4))


def test_many_sets_are_at_least_as_good_as_each(three_men: Path) -> None:
    fen = "4k3/8/p2n4/P7/8/8/8/2B1K3 w - - 0 1"
    budget = Budget(cells=sample(10, 60))
    found = tbgen.solve(fen, tables=three_men, budget=budget, mobile="auto")
    assert set(found.mobile[0]) | set(found.mobile[1])
    for squares in ([chess.E8, chess.D6], [chess.E1, chess.C1, chess.E8]):
        alone = tbgen.solve(fen, tables=three_men, budget=Budget(cells=sample(5, 20)), mobile=squares)
        assert found.lower >= alone.lower or found.upper <= alone.upper
        assert alone.lower <= found.upper
        assert found.lower <= alone.upper


def test_the_blocker_holds(three_men: Path) -> None:
    """After any move of the changer, the blocker can reach a square of the map, and concedes no more."""
    found = tbgen.solve(
        LOCKED, tables=three_men, mobile=[chess.A1, chess.H8], budget=Budget(cells=sample(10, 40))
    )
    assert found.holds
    rng = random.Random(5)
    for hold in found.holds:
        board = chess.Board(LOCKED)
        if board.turn != hold.holder:
            board.push(next(iter(board.legal_moves)))
        accrued: GScore = found.accrued
        for _ in range(60):
            stands = board.king(hold.holder)
            kings = [move for move in board.legal_moves if not board.is_zeroing(move)]
            if board.turn == hold.holder:
                kept = []
                for move in kings:
                    board.push(move)
                    changer = board.king(board.turn)
                    assert changer is not None
                    if move.to_square in hold.squares.get(changer, ()):
                        kept.append(move)
                    board.pop()
                assert kept, (board.fen(), stands)
                board.push(rng.choice(kept))
            else:
                assert stands in hold.squares[board.king(board.turn) or 0]
                if not kings:
                    break
                board.push(rng.choice(kings))
            own = GScore.of_board(board)
            accrued = own if own.rank < accrued.rank else accrued
            assert accrued >= hold.value if hold.holder else accrued <= hold.value
