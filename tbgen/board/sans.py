"""Moves in standard algebraic notation, all those of a position together."""

from collections.abc import Sequence

import chess


def sans_without_check(board: chess.Board, moves: Sequence[chess.Move]) -> list[str]:
    """Return the notation of all legal moves of a board without castling rights, less ``+`` and ``#``.

    python-chess would generate moves again for each, to see which are alike, and make it, to see whether it
    gives check, which the caller knows.
    """
    types = [board.piece_type_at(move.from_square) for move in moves]
    sources: dict[tuple[chess.PieceType | None, chess.Square], list[chess.Square]] = {}
    for move, kind in zip(moves, types, strict=True):
        sources.setdefault((kind, move.to_square), []).append(move.from_square)
    return [
        _san(board, move, kind, sources[kind, move.to_square])
        for move, kind in zip(moves, types, strict=True)
    ]


def _san(
    board: chess.Board, move: chess.Move, kind: chess.PieceType | None, sources: list[chess.Square]
) -> str:
    target = chess.SQUARE_NAMES[move.to_square]
    source = chess.SQUARE_NAMES[move.from_square]
    capture = "x" if board.is_capture(move) else ""
    if kind is None or kind == chess.PAWN:
        promotion = f"={chess.piece_symbol(move.promotion).upper()}" if move.promotion else ""
        return f"{source[0] if capture else ''}{capture}{target}{promotion}"
    others = [square for square in sources if square != move.from_square]
    if not others:
        source = ""
    elif all(square & 7 != move.from_square & 7 for square in others):
        source = source[0]
    elif all(square >> 3 != move.from_square >> 3 for square in others):
        source = source[1]
    return f"{chess.piece_symbol(kind).upper()}{source}{capture}{target}"
