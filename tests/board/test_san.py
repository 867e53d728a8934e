"""Parsing of SAN: the fast path for ordinary moves agrees with python-chess, or leaves the move to it."""

import random
from itertools import product

import chess
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.board.san import parse_san
from tests.support.exhaustive import sample
from tests.support.random_boards import random_moves

POSITIONS = [
    chess.STARTING_FEN,
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
    "r3k2r/8/8/1r6/8/8/8/R3K2R w KQkq - 0 1",
    "4k3/1P4P1/8/8/8/8/1p4p1/2N1K2N w - - 0 1",
    "4k3/8/8/8/8/8/PPPPPPPP/4K3 w - - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "8/8/8/K2pP2r/8/8/8/7k w - d6 0 1",
    "4r2k/8/8/8/4N3/8/8/4K3 w - - 0 1",
    "4k3/8/8/b7/8/2N1N3/8/1N2K3 w - - 0 1",
    "8/Q3Q3/8/8/Q3Q3/8/1k4K1/8 w - - 0 1",
    "4k3/8/8/R6R/8/8/8/R3K2R w - - 0 1",
    "4k2r/8/8/8/8/8/3p4/R3K3 w Q - 0 1",
    "k7/8/8/8/8/8/5n2/3rK3 w - - 0 1",
]
CHESS960 = ["1k2r3/8/8/8/8/8/8/1R1K2R1 w BG - 0 1", "rk5r/8/8/8/8/8/8/RK5R b HAha - 0 1"]


def meaning(board: chess.Board, san: str) -> str:
    """Return the result of python-chess for a text, except that null moves are rejected."""
    try:
        return board.parse_san(san).uci().replace("0000", "error")
    except ValueError:
        return "error"


def check(board: chess.Board, san: str) -> None:
    try:
        found = parse_san(board, san).uci()
    except ValueError:
        found = "error"
    assert found == meaning(board, san), f"{san} in {board.fen()}"


def variants(board: chess.Board, move: chess.Move) -> list[str]:
    """Return correct, lenient and malformed notations of a move."""
    san = board.san(move).rstrip("+#")
    start, target = chess.square_name(move.from_square), chess.square_name(move.to_square)
    piece = (board.piece_at(move.from_square) or chess.Piece(chess.PAWN, True)).symbol().upper()
    piece = piece.replace("P", "")
    tail = san.partition("=")[2]
    texts = [san, san + "+", san.lower(), san.replace("x", ""), move.uci(), board.uci(move, chess960=True)]
    for origin in ("", start[0], start[1], start):
        for sign in ("", "x", "-"):
            texts += [f"{piece}{origin}{sign}{target}", f"{piece}{origin}{sign}{target}={tail or 'Q'}"]
    return [*texts, san.replace("O", "0"), san.replace("=", ""), piece + target[::-1], f"P{target}", san[:-1]]


def check_everywhere(board: chess.Board) -> None:
    for move in board.pseudo_legal_moves:
        for text in variants(board, move):
            check(board, text)


def test_positions() -> None:
    """In each position and its mirror image, moves of its men and of any men to any squares are parsed."""
    for fen in POSITIONS:
        board, rng = chess.Board(fen), random.Random(fen)
        parts = product(" NBRQK", (" ", "a", "1", "e1"), " x", chess.SQUARE_NAMES)
        texts = ["".join(each).replace(" ", "") for each in parts]
        for turned in rng.sample([board, board.mirror()], sample(1, 2)):
            check_everywhere(turned)
            for text in rng.sample(texts, sample(50, len(texts))):
                check(turned, text)


def test_chess960() -> None:
    for fen in CHESS960:
        board = chess.Board(fen, chess960=True)
        for turned in (board, board.mirror()):
            check_everywhere(turned)
            for text in ("O-O", "O-O-O", "0-0", "Kxb1", "Kxg1", "Kg1", "Kc1", "Kb1", "Rg1", "Rxd1"):
                check(turned, text)


@settings(max_examples=sample(4, 60))
@given(st.integers(0, 2**32), st.booleans())
def test_random_games(seed: int, chess960: bool) -> None:
    rng = random.Random(seed)
    board = chess.Board.from_chess960_pos(rng.randrange(960)) if chess960 else chess.Board()
    texts = ["e4", "Nf3", "O-O", "O-O-O", "exd5", "Qxf7", "e8=Q", "--", "Z0", "0000", "", "e9", "Kx"]
    for move in random_moves(rng, board, rng.randrange(100)):
        for text in rng.sample(variants(board, move), 4) + rng.sample(texts, 2):
            check(board, text)
        texts = [*texts[-60:], board.san(move).rstrip("+#")]
        board.push(move)
    check_everywhere(board)


@settings(max_examples=sample(7, 150))
@given(st.integers(0, 2**32), st.sampled_from(["QqNn", "RRrPp", "BbNNp", "PPppq", "QQQrr", "NNNbb"]))
def test_random_positions(seed: int, men: str) -> None:
    """Most of the random positions have pins and checks."""
    rng = random.Random(seed)
    while True:
        board = chess.Board(None)
        board.turn = rng.random() < 0.5
        for symbol, square in zip("Kk" + men, rng.sample(range(64), len(men) + 2), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(symbol))
        if board.is_valid():
            break
    check_everywhere(board)


@settings(max_examples=sample(40, 300))
@given(st.text(max_size=8) | st.from_regex(r"[PNBRQK]?[a-h]?[1-8]?[x-]?[a-h][1-8](=?[NBRQK])?[+#!?]{0,2}"))
def test_any_text(text: str) -> None:
    for board in map(chess.Board, POSITIONS):
        check(board, text)
