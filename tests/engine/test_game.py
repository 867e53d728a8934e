"""The game that ``position`` describes, and the queries of a search."""

import random
from itertools import pairwise

import chess
import pytest

from tbgen.board.rules import accrued_score
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.engine.game import extend, read_game
from tbgen.errors import UsageError
from tbgen.games.game_options import FiftyMoveRule
from tests.support.engines import game

KINGS = "8/8/8/2K3k1/8/8/8/8 w - - 5 1"


def test_the_accrued_score_is_that_of_the_moves() -> None:
    """The score is that of a board with the same moves, including resets."""
    rng, resets = random.Random(3), 0
    for _ in range(20):
        board = chess.Board()
        while len(board.move_stack) < 60 and any(board.legal_moves):
            board.push(rng.choice(list(board.legal_moves)))
        arbiter = read_game(["startpos", "moves", *(move.uci() for move in board.move_stack)])
        assert arbiter.accrued == accrued_score(board, Variant.R_MOBILITY)
        assert arbiter.live.fen() == board.fen()
        resets += board.halfmove_clock < 5
    assert resets > 3


def test_an_extended_game_is_as_if_read_afresh() -> None:
    """A game may be extended by any number of moves, also by none.

    If moves are undone or replaced, it is not extended and stays unchanged.
    """
    rng, board, start = random.Random(5), chess.Board(), ["startpos"]
    for _ in range(60):
        board.push(rng.choice(list(board.legal_moves)))
    moves = [move.uci() for move in board.move_stack]
    before, arbiter = start, read_game(start)
    for length in (0, 1, 3, 20, 20, 60):
        words = [*start, "moves", *moves[:length]]
        assert extend(arbiter, before, words)
        assert arbiter.played_positions == read_game(words).played_positions
        before = words
    fen = ["fen", *chess.STARTING_FEN.split(), "moves", *moves]
    for others in (start, before[:-1], fen, [*before[:-1], "0000"], [*before[:-1], "a1a1"]):
        assert not extend(arbiter, before, others)
        assert arbiter.played_positions == read_game(before).played_positions
    with pytest.raises(UsageError, match="is not a legal move"):
        extend(arbiter, before, [*before, "a1a1"])
    arbiter.pop()  # it is not as the command left it
    assert not extend(arbiter, before, [*before, "a2a3"])


def test_the_score_after_a_line_is_that_of_the_end_of_the_game() -> None:
    """The game ends at the third repetition, although a pawn moves after it; otherwise all moves count."""
    arbiter = game("8/8/8/7k/8/8/P7/K7 w - - 0 1")
    there_and_back = [chess.Move.from_uci(move) for move in ("a1b1", "h5g5", "b1a1", "g5h5")]
    pawn = chess.Move.from_uci("a2a4")
    repeated = arbiter.accrued_after(2 * there_and_back)
    assert arbiter.accrued_after([*there_and_back, *there_and_back, pawn]) == repeated
    assert arbiter.accrued_after([*there_and_back, pawn]) != repeated
    assert arbiter.position_count == 1


def test_the_accrued_score_is_that_of_the_fen_or_else_of_the_option() -> None:
    told = GScore("G3.5")
    for words, accrued, expected in (
        (f"fen {KINGS} G3.5", None, "G3.5"),
        (f"fen {KINGS}", None, "-G8.5"),
        ("fen 8/8/8/2K3k1/8/8/8/8 w - - 0 1 G3.5", None, "-G8.5"),
        (f"fen {KINGS} -G8.0 moves c5d5 g5h5 d5e5", None, "G5.5"),
        (f"fen {KINGS}", told, "G3.5"),
        (f"fen {KINGS} G2.5", told, "G2.5"),
        ("startpos", told, "-G20.5"),
        ("fen 8/8/8/2K3k1/8/8/4P3/8 w - - 5 1 moves e2e4", told, "G7.5"),
    ):
        said: list[str] = []
        assert str(read_game(words.split(), accrued=accrued, announce=said.append).accrued) == expected, words
        assert len(said) == ("0 1 G3.5" in words)


def test_errors_of_a_position() -> None:
    for words, said in (
        ("", "expected: position startpos"),
        ("fish", "expected: position startpos"),
        ("fen", "is not a FEN"),
        ("fen 8/8/8/8/8/8/8/8 w - - 0 1", "White has no king"),
        (f"fen {KINGS} G0.0", "ends the game"),
        (f"fen {KINGS} Gx", "is not a G-score"),
        ("fen 8/8/8/2Kk4/8/8/8/8 w - - 5 1", "the kings stand next to each other"),
        ("startpos moves e2e5", "'e2e5' is not a legal move"),
        ("startpos moves e2e4 0000", "'0000' is not a legal move"),
    ):
        with pytest.raises(UsageError, match=said):
            read_game(words.split())


def test_castling_is_read_in_both_ways_and_written_as_asked() -> None:
    words = ["fen", *["4k3/8/8/8/8/8/8/R3K2R", "w", "KQ", "-", "0", "1"], "moves"]
    for castled in ("e1g1", "e1h1"):
        assert read_game([*words, castled], chess960=True).live.king(chess.WHITE) == chess.G1
    for chess960, castled in ((True, "e1h1"), (False, "e1g1")):
        board = read_game(words, chess960=chess960).live
        assert castled in {board.uci(move) for move in board.legal_moves}


def test_a_repeated_state_differs_from_a_repeated_position() -> None:
    there = ["c5d5", "g5h5", "d5c5", "h5g5"]
    arbiter = game(KINGS, *there)
    assert arbiter.occurrences == 2
    assert not arbiter.repeats_since(0)  # the score is better now
    for uci in there:
        arbiter.push_uci(uci)
    assert arbiter.occurrences == 3
    assert arbiter.repeats_since(0)
    assert arbiter.repeats_since(4)
    assert not arbiter.repeats_since(5)


@pytest.mark.parametrize(
    ("rule", "clock", "seen"),
    [
        # The first move leaves Black fewer moves than he has had: progress.
        (FiftyMoveRule.IMPROVING, 90, [1, 2, 3]),
        (FiftyMoveRule.LEGACY, 90, [91, 92, 93]),
        (FiftyMoveRule.NONE, 0, [1, 2, 3]),
        (FiftyMoveRule.NONE, 250, [1, 2, 3]),
    ],
)
def test_an_engine_for_chess_sees_the_clock_of_the_game(
    rule: FiftyMoveRule, clock: int, seen: list[int]
) -> None:
    """The clock is not less than the number of moves in the history, which shows repetitions."""
    moves, found = ["f6g6", "h8g8", "a1b1"], []
    arbiter = read_game(["fen", *f"7k/8/5K2/8/8/8/8/R7 w - - {clock} 150 G3.5".split()], rule=rule)
    for number, move in enumerate(moves, 1):
        arbiter.push_uci(move)
        told = arbiter.board_for_chess()
        found.append(told.halfmove_clock)
        assert told.epd() == arbiter.live.epd()
        made = min(number, told.halfmove_clock)
        assert [each.uci() for each in told.move_stack] == moves[number - made : number]
        for _ in told.move_stack.copy():
            told.pop()
        assert told.halfmove_clock == seen[number - 1] - made
    assert found == seen


def test_an_engine_for_chess_sees_forty_plies() -> None:
    """Or the plies that a 50-move rule counts: to leave the king one move is progress under one rule."""
    files = ["abcde", "edcba"] * 2 + ["abcde"]
    path = [file + str(rank) for rank, row in enumerate(files, 1) for file in row]
    rook = [start + stop for start, stop in pairwise(path)]
    moves = [uci for number, move in enumerate(rook) for uci in (move, ("h8g8", "g8h8")[number % 2])]
    moves += ["e5g5", "h8h7"]
    words = ["fen", *["7k/8/5K2/8/8/8/8/R7", "w", "-", "-", "0", "1"], "moves", *moves]
    for rule, plies in ((FiftyMoveRule.NONE, 40), (FiftyMoveRule.IMPROVING, 40), (FiftyMoveRule.LEGACY, 50)):
        told = read_game(words, rule=rule).board_for_chess()
        assert told.halfmove_clock == len(told.move_stack) == plies
        assert [each.uci() for each in told.move_stack] == moves[-plies:]
