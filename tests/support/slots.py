"""Boards of any slots of a table, decoded word by word as docs/format.md says it.

Of the package's index it uses the rows of placements alone, which a table file has as well.
"""

import chess

from tbgen.index.layout import Layout

TRIANGLE = tuple(map(chess.parse_square, ["a1", "b1", "c1", "d1", "b2", "c2", "d2", "c3", "d3", "d4"]))


def men_of(name: str) -> tuple[str, str]:
    """The attributes ``free_men`` and ``pawns`` of a table: symbols, White's in upper case."""
    white, black = name.split("v")
    black = black.lower()
    free = white[0] + black[0] + white[1:].rstrip("P") + black[1:].rstrip("p")
    return free, "P" * white.count("P") + "p" * black.count("p")


def board_at(layout: Layout, side: int, slot: int) -> chess.Board | None:
    """The board that any slot stands for, canonical or not, None if two men share a square."""
    free, pawns = men_of(layout.material.name)
    phase_size = (64 if pawns else 10) * 64 ** (len(free) - 1)
    phase, rest = divmod(slot, phase_size)
    squares: list[int] = []
    for _ in free[1:]:
        rest, square = divmod(rest, 64)
        squares.insert(0, square)
    king = rest if pawns else TRIANGLE[rest]
    board = chess.Board(None)
    board.turn = side == 0
    for symbol, square in zip(free + pawns, [king, *squares, *layout.placements[phase]], strict=True):
        if board.piece_at(square):
            return None
        board.set_piece_at(square, chess.Piece.from_symbol(symbol))
    return board
