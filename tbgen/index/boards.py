"""From a slot of a table back to a position."""

import chess

from tbgen.index.layout import PIECE_ORDER, Layout


def board_of(layout: Layout, side: int, slot: int, ep_square: int | None = None) -> chess.Board:
    """Return the position of a slot, with the side to move (0 White, 1 Black) and maybe an en passant right.

    >>> from tbgen.index.layout import layout_of
    >>> from tbgen.material import Material
    >>> layout = layout_of(Material.parse("KBvK"))
    >>> board_of(layout, 1, layout.slot([chess.A1, chess.C2, chess.F4])).fen()
    '8/8/8/8/5B2/8/2k5/K7 b - - 0 1'
    """
    free, pawns = layout.squares(slot)
    board = chess.Board(None)
    for square, kind, colour in zip(free, layout.kinds, layout.colours, strict=True):
        letter = PIECE_ORDER[kind]
        board.set_piece_at(square, chess.Piece.from_symbol(letter.lower() if colour else letter))
    for number, square in enumerate(pawns):
        board.set_piece_at(square, chess.Piece(chess.PAWN, number < layout.white_pawns))
    board.turn = side == 0
    board.ep_square = ep_square
    return board


def passing_board(layout: Layout, phase: int, ep_square: int, within: int) -> chess.Board:
    """Return the en passant position of a row of the table: ``within`` is the slot less the phase's first."""
    side = 1 if ep_square < 32 else 0
    return board_of(layout, side, phase * layout.phase_size + within, ep_square)
