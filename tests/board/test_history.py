"""The accrued score that a board's own moves tell."""

import random

import chess
import pytest

from tbgen.board.history import FRESH, accrued_score
from tbgen.board.variant import Variant
from tbgen.errors import UsageError

KINGS = "8/8/8/2K3k1/8/8/8/8 w - - 0 1"
VARIANTS = [Variant.R_MOBILITY, Variant.WHOLE_GAME]
STARTS = [
    chess.STARTING_FEN,
    "8/2k5/8/3pP3/8/5N2/4K3/7r w - d6 0 20",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 7 9",
    "8/8/5k1K/5P2/8/8/8/8 w - - 30 60",
    "4k3/1P4P1/8/8/8/8/1p4p1/2N1K2N w - - 0 1",
]


def by_replay(board: chess.Board, variant: Variant) -> str:
    """The accrued score by the rules, from the first position on, with python-chess alone."""
    past = board.root()
    rank, white = None, True
    for move in [None, *board.move_stack]:
        reset = move is not None and past.is_zeroing(move) and variant is Variant.R_MOBILITY
        if move is not None:
            past.push(move)
        own = 2 * past.legal_moves.count() + (not past.is_check())
        if rank is None or reset or own < rank:
            rank, white = own, not past.turn
    assert rank is not None
    return f"{'' if white else '-'}G{rank / 2}"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("start", STARTS)
def test_what_replaying_from_the_first_position_gives(start: str, variant: Variant) -> None:
    rng = random.Random(start)
    plies = 0
    for _ in range(4):
        board = chess.Board(start)
        assert accrued_score(board, variant) is None
        for _ in range(60):
            moves = list(board.legal_moves)
            if not moves:
                break
            quiet = [move for move in moves if not board.is_zeroing(move)]
            board.push(rng.choice(quiet if quiet and rng.random() < 0.9 else moves))
            before = board.copy()
            assert str(accrued_score(board, variant)) == by_replay(board, variant), board.fen()
            assert board == before
            assert board.move_stack == before.move_stack
        plies += len(board.move_stack)
    assert plies > 30


def test_the_first_holder_keeps_a_score() -> None:
    board = chess.Board(KINGS)  # -G8.5 at first
    board.push_uci("c5d5")
    assert str(accrued_score(board, Variant.R_MOBILITY)) == "-G8.5"


def test_resets() -> None:
    board = chess.Board("8/8/8/8/8/5k2/7q/7K w - - 0 1")
    board.push_uci("h1h2")
    assert str(accrued_score(board, Variant.R_MOBILITY)) == "G6.5"
    assert str(accrued_score(board, Variant.WHOLE_GAME)) == "-G1.0"


def test_a_history_that_is_cut_off_counts_from_where_it_begins() -> None:
    board = chess.Board(KINGS)
    for uci in ("c5d5", "g5h5", "d5e5", "h5g5"):
        board.push_uci(uci)
    shorter = board.copy(stack=2)
    assert str(accrued_score(board, Variant.R_MOBILITY)) == "G5.5"
    assert str(accrued_score(shorter, Variant.R_MOBILITY)) == by_replay(shorter, Variant.R_MOBILITY)
    assert accrued_score(board.copy(stack=False), Variant.R_MOBILITY) is None


@pytest.mark.parametrize("variant", VARIANTS)
def test_histories_that_are_no_play_are_refused(variant: Variant) -> None:
    null, jumped, turned, far = (chess.Board(KINGS) for _ in range(4))
    null.push(chess.Move.null())
    jumped.push(chess.Move.from_uci("c5f5"))
    turned.push_uci("c5d5")
    turned.turn = chess.WHITE
    far.push(chess.Move.null())
    far.push_uci("g5h4")
    far.push_uci("c5d5")
    for board, reason in (
        (null, "0000 is not legal in"),
        (jumped, "c5f5 is not legal in"),
        (turned, "c5d5 does not lead to"),
        (far, "0000 is not legal in"),
    ):
        with pytest.raises(UsageError, match=rf"the history of the board is no play: {reason}"):
            accrued_score(board, variant)


def test_what_lies_before_a_reset_does_not_matter() -> None:
    board = chess.Board("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    board.push(chess.Move.null())
    board.push_uci("e8d8")
    board.push_uci("e2e4")
    assert str(accrued_score(board, Variant.R_MOBILITY)) == by_replay(board, Variant.R_MOBILITY)
    with pytest.raises(UsageError, match="0000 is not legal"):
        accrued_score(board, Variant.WHOLE_GAME)


def test_the_sentinel() -> None:
    assert repr(FRESH) == "tbgen.FRESH"
