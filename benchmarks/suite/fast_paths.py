"""Each hand-written fast path compared with python-chess, in seconds of CPU time of this process.

A fast path that is not faster is removed.
"""

import io
import time
from collections.abc import Callable
from typing import Any

import chess
import chess.pgn

from suite.material import games, random_boards

BY = ("tbgen", "python-chess")


class Compared:
    """The same work, done by both."""

    params = BY
    param_names = ("by",)
    timer = time.process_time


def game_positions() -> list[chess.Board]:
    """A thousand positions of games."""
    boards: list[chess.Board] = []
    with games(100).open() as file:
        while len(boards) < 1000 and (game := chess.pgn.read_game(file)):
            board = game.board()
            for ply, move in enumerate(game.mainline_moves()):
                board.push(move)
                if ply % 5 == 0:
                    boards.append(board.copy(stack=False))
    return boards[:1000]


def table_positions() -> list[chess.Board]:
    """A thousand positions of tables."""
    return random_boards("KBNvK", 500) + random_boards("KRPvK", 500)


class Fen(Compared):
    """2,000 FENs without castling rights."""

    def setup(self, by: str) -> None:
        from tbgen.board.fen import parse_fen

        boards = game_positions() + table_positions()
        for board in boards:
            board.castling_rights = 0
        self.fens = [board.fen() for board in boards]
        self.parse: Callable[[str], Any] = parse_fen if by == "tbgen" else chess.Board

    def time_parse(self, by: str) -> None:
        for fen in self.fens:
            self.parse(fen)


class Mobility:
    """Number of legal moves and check, of a thousand positions of games, or of tables."""

    params = (BY, ("games", "tables"))
    param_names = ("by", "of")
    timer = time.process_time

    def setup(self, by: str, of: str) -> None:
        from tbgen.board.rules import mobility

        self.boards = game_positions() if of == "games" else table_positions()
        self.count: Callable[[chess.Board], tuple[int, bool]]
        self.count = (
            mobility if by == "tbgen" else lambda board: (board.legal_moves.count(), board.is_check())
        )

    def time_count(self, by: str, of: str) -> None:
        for board in self.boards:
            self.count(board)


class San(Compared):
    """Moves of games from SAN, and all moves of positions of tables to SAN."""

    def setup(self, by: str) -> None:
        from tbgen.board.san import parse_san, sans_without_check_signs

        self.games: list[tuple[list[chess.Board], list[str]]] = []
        with games(100).open() as file:
            for _ in range(20):
                game = chess.pgn.read_game(file)
                assert game is not None
                board = game.board()
                boards = []
                sans = []
                for move in game.mainline_moves():
                    boards.append(board.copy(stack=False))
                    sans.append(board.san(move).rstrip("+#"))
                    board.push(move)
                self.games.append((boards, sans))
        self.boards = random_boards("KBNvK", 100) + random_boards("KRPvK", 100)
        self.moves = [list(board.legal_moves) for board in self.boards]
        self.parse = parse_san if by == "tbgen" else chess.Board.parse_san
        self.write: Callable[[chess.Board, list[chess.Move]], list[str]]
        self.write = (
            sans_without_check_signs if by == "tbgen" else lambda board, moves: [board.san(m) for m in moves]
        )

    def time_parse(self, by: str) -> None:
        for boards, sans in self.games:
            for board, san in zip(boards, sans, strict=True):
                self.parse(board, san)

    def time_write(self, by: str) -> None:
        for board, moves in zip(self.boards, self.moves, strict=True):
            self.write(board, moves)


class Pgn(Compared):
    """100 games: split with their tags, and read with their moves.

    Splitting need not be faster: it keeps every byte, which python-chess, reading headers and skipping moves,
    does not.
    """

    def setup(self, by: str) -> None:
        self.data = games(100).read_bytes()

    def time_split(self, by: str) -> None:
        from tbgen.games.pgn.splitter import split_games

        if by == "tbgen":
            found = sum(1 for _ in split_games(io.BytesIO(self.data)))
        else:
            text = io.StringIO(self.data.decode())
            found = 0
            while chess.pgn.read_headers(text) is not None:
                found += 1
        assert found == 100

    def time_read(self, by: str) -> None:
        from tbgen.games.pgn.reader import read_games

        if by == "tbgen":
            found = sum(game.error is None for game in read_games(io.BytesIO(self.data)))
        else:
            text = io.StringIO(self.data.decode())
            found = 0
            while (game := chess.pgn.read_game(text)) is not None:
                found += not game.errors
        assert found == 100
