"""How one man holds another, for a reader: as text and as a picture."""

from collections.abc import Iterator

import chess

from tbgen.cli.answers import board_text
from tbgen.html.pictures import picture
from tbgen.solve.hold import Hold
from tbgen.text import plies


def hold_picture(board: chess.Board, hold: Hold) -> str:
    """Draw what :func:`hold_text` says, with the distances below."""
    others = _without(board, hold.blocker, hold.changer)
    words = {square: [_stands(stood)] for square, stood in hold.squares.items()}
    for square, depth in hold.distances.items():
        words[square].append(plies(depth))
    return picture(others, words, hold.squares, " ".join(_captions(board, hold)))


def _without(board: chess.Board, *squares: chess.Square) -> chess.BaseBoard:
    rest = chess.BaseBoard(board.board_fen())
    for square in squares:
        rest.remove_piece_at(square)
    return rest


def _captions(board: chess.Board, hold: Hold) -> Iterator[str]:
    """Say which king holds the other, and what the squares of the board show."""
    blocker, changer = (
        f"{chess.COLOR_NAMES[board.color_at(square) is True].capitalize()}'s "
        f"{chess.piece_name(board.piece_type_at(square) or chess.KING)}"
        for square in (hold.blocker, hold.changer)
    )
    yield f"{blocker} holds {changer} to {hold.value}."
    yield f"Where the blocker stands, with {changer} to move, by its square:"


def _stands(stood: tuple[chess.Square, ...]) -> str:
    more = f"+{len(stood) - 1}" if len(stood) > 1 else ""
    return f"{chess.square_name(stood[0])}{more}"


def hold_text(board: chess.Board, hold: Hold) -> Iterator[str]:
    """Yield a board that says for the changer's squares where the blocker stands, and one that says how far
    it is to what the holder gets."""
    rest = _without(board, hold.blocker, hold.changer)
    others = {square: piece.symbol() for square, piece in rest.piece_map().items()}
    yield from _captions(board, hold)
    yield from board_text(others | {square: _stands(stood) for square, stood in hold.squares.items()}, 5)
    if any(len(stood) > 1 for stood in hold.squares.values()):
        yield "+n: there, or on n other squares"
    if any(hold.distances.values()):
        yield f"Plies until it is {hold.value}:"
        yield from board_text(others | {square: str(depth) for square, depth in hold.distances.items()}, 5)
