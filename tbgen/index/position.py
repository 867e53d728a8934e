"""Positions on their way into a table: what is refused, and which slot the others have."""

from dataclasses import dataclass
from typing import Final

import chess

from tbgen.board import validity
from tbgen.board.mobility import mobility
from tbgen.errors import UsageError
from tbgen.index.layout import Layout, layout_of
from tbgen.index.symmetry import MIRROR_FILES, apply, swap_colours
from tbgen.material import MAX_MEN, Material

_PIECES: Final = (chess.KING, chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)


@dataclass(frozen=True, slots=True)
class Position:
    """A position as its table sees it."""

    shape: "Shape"
    side: int
    """0 if the side to move is White in the table, else 1."""
    slot: int
    """Canonical slot."""
    ep_square: int
    """Target of a legal en passant capture as the table numbers it, -1 without such a right."""
    score: int
    """The position's own score, with the colours of the board, as in :mod:`tbgen.probe.signed`."""
    terminal: bool
    """Mate or stalemate."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What all boards with the same men have in common."""

    material: Material
    swapped: bool
    """Whether the table's White is the board's Black."""
    layout: Layout
    pieces: tuple[tuple[chess.PieceType, chess.Color], ...]
    """Type and colour on the board of the free men in layout order, like men once."""


_shapes: dict[tuple[int, ...], Shape] = {}


def validate(board: chess.Board) -> None:
    """Check that tables may hold the position; checks that no game could give are welcome.

    :raises UsageError: saying what is wrong.
    """
    men = board.occupied.bit_count()
    if men > MAX_MEN:
        raise UsageError(f"the position has {men} men; tables have at most {MAX_MEN}, kings included")
    if board.castling_rights:
        raise UsageError("the position has castling rights, and tables have none: write - in their place")
    validity.validate(board)


def locate(board: chess.Board) -> Position:
    """Return the place of a valid board in its table, and the position's own score."""
    shape = shape_of(board)
    layout, swapped = shape.layout, shape.swapped
    flip = 56 if swapped else 0
    squares = []
    for piece, colour in shape.pieces:
        mask = board.pieces_mask(piece, colour)
        while mask:
            squares.append((mask & -mask).bit_length() - 1 ^ flip)
            mask &= mask - 1
    ep_square = -1
    if layout.pawns:
        sides = (chess.BLACK, chess.WHITE) if swapped else (chess.WHITE, chess.BLACK)
        white, black = (
            sorted(square ^ flip for square in chess.scan_forward(board.pawns & board.occupied_co[colour]))
            for colour in sides
        )
        slot = layout.slot(squares, white + black)
        if board.ep_square is not None and board.has_legal_en_passant():
            ep_square = swap_colours(board.ep_square) if swapped else board.ep_square
            # Two pawns side by side are no mirror image of themselves: exactly one placement is canonical.
            if (*white, *black) not in layout.rows:
                ep_square = apply(MIRROR_FILES, ep_square)
    else:
        slot = layout.slot(squares)
    moves, check = mobility(board)
    rank = 2 * moves + (not check)
    return Position(
        shape, int(board.turn == swapped), slot, ep_square, ~rank if board.turn else rank, moves == 0
    )


def shape_of(board: chess.Board) -> Shape:
    """Return what the board has in common with all others of the same men."""
    white, black = board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]
    key = (
        (board.queens & white).bit_count(),
        (board.rooks & white).bit_count(),
        (board.bishops & white).bit_count(),
        (board.knights & white).bit_count(),
        (board.pawns & white).bit_count(),
        (board.queens & black).bit_count(),
        (board.rooks & black).bit_count(),
        (board.bishops & black).bit_count(),
        (board.knights & black).bit_count(),
        (board.pawns & black).bit_count(),
    )
    shape = _shapes.get(key)
    if shape is None:
        material, swapped = Material.of_board(board)
        layout = layout_of(material)
        men = dict.fromkeys(zip(layout.kinds, layout.colours, strict=True))
        pieces = tuple((_PIECES[kind], (colour == 0) != swapped) for kind, colour in men)
        shape = _shapes[key] = Shape(material, swapped, layout, pieces)
    return shape
