"""Which positions can be played on, whether or not a game can reach them."""

import chess

from tbgen.errors import UsageError


def validate(board: chess.Board) -> None:
    """Check that play can go on from a position by the rules of chess.

    Too many men, checks that no game can give, and the like are welcome.

    :raises UsageError: saying what is wrong.
    """
    if board.uci_variant != "chess":
        raise UsageError(f"r-mobility is played by the moves of chess, not of {board.uci_variant}")
    for colour, side in ((chess.WHITE, "White"), (chess.BLACK, "Black")):
        kings = (board.kings & board.occupied_co[colour]).bit_count()
        if kings != 1:
            raise UsageError(
                f"{side} has {kings or 'no'} king{'s' * (kings > 1)}; each side needs exactly one"
            )
    if board.pawns & chess.BB_BACKRANKS:
        raise UsageError("a pawn stands on the first or last rank")
    if board.was_into_check():
        king, other = board.king(chess.WHITE), board.king(chess.BLACK)
        if king is not None and other is not None and chess.square_distance(king, other) == 1:
            raise UsageError("the kings stand next to each other")
        raise UsageError(f"{_side(not board.turn)} is in check although {_side(board.turn)} is to move")
    if board.castling_rights and board.castling_rights != board.clean_castling_rights():
        raise UsageError("there are castling rights without king and rook in their places")
    if board.ep_square is not None and not _possible_double_step(board, board.ep_square):
        square = chess.square_name(board.ep_square)
        raise UsageError(f"no pawn can just have passed {square}: write - for the en passant square")


def without_impossible_en_passant(board: chess.Board) -> bool:
    """Take an en passant square away that no pawn can just have passed, and tell whether there was one.

    No capture goes there, so python-chess and Lichess play on without it.
    """
    impossible = board.ep_square is not None and not _possible_double_step(board, board.ep_square)
    if impossible:
        board.ep_square = None
    return impossible


def _possible_double_step(board: chess.Board, square: chess.Square) -> bool:
    """Tell whether the last move can have been a pawn's double step over the square."""
    rank, forward = (5, -8) if board.turn else (2, 8)
    if chess.square_rank(square) != rank:
        return False
    empty = not board.occupied & (chess.BB_SQUARES[square] | chess.BB_SQUARES[square - forward])
    passed = board.pawns & board.occupied_co[not board.turn] & chess.BB_SQUARES[square + forward]
    return empty and bool(passed)


def _side(colour: chess.Color) -> str:
    return "White" if colour else "Black"
