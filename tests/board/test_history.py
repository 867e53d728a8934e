"""The accrued score computed from the move stack of a board."""

import random
from collections.abc import Iterator
from itertools import islice

import chess

from tbgen.board.rules import FRESH, accrued_score
from tbgen.board.variant import Variant
from tests.support.random_boards import random_moves
from tests.support.refusals import refusal

KINGS = "8/8/8/2K3k1/8/8/8/8 w - - 0 1"
STARTS = [
    chess.STARTING_FEN,
    "8/2k5/8/3pP3/8/5N2/4K3/7r w - d6 0 20",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 7 9",
    "8/8/5k1K/5P2/8/8/8/8 w - - 30 60",
    "4k3/1P4P1/8/8/8/8/1p4p1/2N1K2N w - - 0 1",
]


def replayed(board: chess.Board) -> Iterator[tuple[chess.Board, dict[Variant, str]]]:
    """Yield the position after each move of a board, with accrued scores computed by python-chess."""
    past = board.root()
    best: dict[Variant, tuple[int, bool]] = {}
    for move in [None, *board.move_stack]:
        reset = move is not None and past.is_zeroing(move)
        if move is not None:
            past.push(move)
        own = 2 * past.legal_moves.count() + (not past.is_check()), not past.turn
        for variant in Variant:
            if variant not in best or (reset and variant is Variant.R_MOBILITY) or own[0] < best[variant][0]:
                best[variant] = own
        yield past, {variant: f"{'' if white else '-'}G{g / 2}" for variant, (g, white) in best.items()}


def by_replay(board: chess.Board, variant: Variant) -> str:
    *_, (_, found) = replayed(board)
    return found[variant]


def test_what_replaying_from_the_first_position_gives() -> None:
    for start in STARTS:
        rng = random.Random(start)
        board = chess.Board(start)
        for variant in Variant:
            assert accrued_score(board, variant) is None
        for move in random_moves(rng, board, 60, lambda *made: not chess.Board.is_zeroing(*made), 0.9):
            board.push(move)
        assert len(board.move_stack) > 15
        for past, expected in islice(replayed(board), 1, None):
            before = past.copy()
            for variant in Variant:
                assert str(accrued_score(past, variant)) == expected[variant], (past.fen(), variant)
            assert (past, past.move_stack) == (before, before.move_stack)


def test_first_holders_and_resets() -> None:
    board = chess.Board(KINGS)  # -G8.5 at first
    board.push_uci("c5d5")
    assert str(accrued_score(board, Variant.R_MOBILITY)) == "-G8.5"
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


def test_histories_that_are_no_play_are_refused() -> None:
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
        for variant in Variant:
            sentence = refusal(accrued_score, board, variant)
            assert sentence.startswith(f"the moves on the board's stack cannot have been played: {reason}")


def test_what_lies_before_a_reset_does_not_matter() -> None:
    board = chess.Board("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    board.push(chess.Move.null())
    board.push_uci("e8d8")
    board.push_uci("e2e4")
    assert str(accrued_score(board, Variant.R_MOBILITY)) == by_replay(board, Variant.R_MOBILITY)
    assert "0000 is not legal" in refusal(accrued_score, board, Variant.WHOLE_GAME)
    assert repr(FRESH) == "tbgen.FRESH"
