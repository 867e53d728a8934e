"""Positions with described men, compared with python-chess if they move like men of chess."""

from random import Random

import chess

from tbgen.board.fen import DescribedBoard, is_fen, parse_described, parse_fen, parse_position
from tbgen.board.rules import position_score
from tbgen.board.variant import Variant
from tests.support.exhaustive import sample
from tests.support.refusals import refusal

FEN = "8/8/8/4K[WD]k1/8/8/8/8 b - - 0 1"


def twins(random: Random) -> tuple[chess.Board, DescribedBoard]:
    """Return a position of chess, and the same with the pieces described."""
    while True:
        board = chess.Board(None)
        men = [random.choice("QRBN") for _ in range(2)]
        squares = random.sample(range(64), 4)
        for square, name, white in zip(squares, ["K", "K", *men], [True, False, True, False], strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(name if white else name.lower()))
        board.turn = random.random() < 0.5
        if board.is_valid():
            fen = board.board_fen()
            for letter in "QRBN":
                fen = fen.replace(letter, f"[{letter}]").replace(letter.lower(), f"[{letter.lower()}]")
            return board, parse_described(f"{fen} {'w' if board.turn else 'b'}").board


def test_moves_are_those_of_chess_where_men_are() -> None:
    random = Random(0)
    for _ in range(sample(20, 60)):
        board, other = twins(random)
        for _ in range(6):
            moves = sorted(board.legal_moves, key=chess.Move.uci)
            assert sorted(other.legal_moves, key=chess.Move.uci) == moves
            assert other.is_check() == board.is_check()
            assert other.position_score() == position_score(board)
            if not moves:
                break
            move = random.choice(moves)
            assert other.is_zeroing(move) == board.is_zeroing(move)
            before = other.fen()
            other.push(move)
            assert (other.pop(), other.fen()) == (move, before)
            board.push(move)
            other.push(move)
        assert other.fen().split()[1:] == board.fen().split()[1:]


def test_the_accrued_score_is_the_best_since_the_last_capture() -> None:
    board = parse_described("8/8/8/4K[WD]k1/8/8/8/8 b").board
    scores = [board.position_score()]
    moves = ["g5g4", "e5e4", "g4g3", "e4e5"]
    for uci in moves:
        board.push(chess.Move.from_uci(uci))
        scores.append(board.position_score())
        assert board.accrued_score(Variant.R_MOBILITY) == min(scores, key=lambda score: score.rank)
    assert [move.uci() for move in board.move_stack] == moves
    assert scores[-1].rank > min(score.rank for score in scores)


def test_what_is_no_fen_is_refused() -> None:
    for text, reason in (
        ("8/8/8/4K[WD]k1/8/8/8/8", "expected pieces and side to move"),
        ("8/8/8/4K[WD]k1/8/8/8/8 x", "side to move is 'x'"),
        ("8/8/8/4K[WD]k1/8/8/8/8 b KQ -", "there is no castling"),
        ("8/8/8/4K[WD]k1/8/8/8/8 b - - 0 x", "a counter is not a whole number"),
        ("8/8/8/4K[WD]k1/8/8/8 b", "it has 7 rows, not 8"),
        ("8/8/8/4K[WD]k/8/8/8/8 b", "has 7 squares, not 8"),
        ("8/8/8/4K[WD]k11/8/8/8/8 b", "has 9 squares, not 8"),
        ("8/8/8/4K[WD]k1/P7/8/8/8 b", "there are no pawns"),
        ("8/8/8/4K[fW]k1/8/8/8/8 b", "no modifiers"),
    ):
        assert reason in refusal(parse_described, text), text


def test_only_tables_have_described_men() -> None:
    assert parse_position(FEN).board.fen() == FEN
    assert isinstance(parse_position("8/8/8/4KBk1/8/8/8/8 b").board, chess.Board)
    assert "which only tables support" in refusal(parse_fen, FEN)
    assert is_fen("8/8/8/4K[WD]k1/8/8/8/8 b")
    assert is_fen("8/8/8/4K[GHOST-2]k1/8/8/8/8 b")
