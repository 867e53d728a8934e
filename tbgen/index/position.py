"""Conversion of boards to slots, which are the numbers of positions in their tables, and back."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import chess
from msgspec import Struct

from tbgen.board.fen import AnyBoard, DescribedBoard
from tbgen.board.kinds import MEN_LETTERS
from tbgen.board.material import MAX_MEN, Material
from tbgen.board.rules import mobility
from tbgen.board.rules import validate as validate_board
from tbgen.board.score import Signed
from tbgen.errors import UsageError
from tbgen.index.layout import (
    BLACK_TO_MOVE,
    MIRROR_FILES,
    SIDES,
    WHITE_TO_MOVE,
    Layout,
    Side,
    Slot,
    image_of,
    layout_of,
    mirror_rank,
)

if TYPE_CHECKING:
    from random import Random

PIECE_TYPES: Final = tuple(chess.PIECE_SYMBOLS.index(letter.lower()) for letter in MEN_LETTERS)
"""The python-chess piece type of each man of :data:`tbgen.board.kinds.MEN`."""


class Place(NamedTuple):
    """The place of a position in a table.

    :ivar ep_square: the target square of a legal en passant capture, as the table stores it; -1 if no such
        capture is legal.
    """

    layout: Layout
    side: Side
    slot: Slot
    ep_square: int


class Position(NamedTuple):
    """A position, located in its table."""

    shape: "Shape"
    side: Side
    """The side to move in the table, whose colours may be swapped."""
    slot: Slot
    """The canonical slot."""
    ep_square: int
    """Target square of a legal en passant capture, in the table's orientation; -1 if there is none."""
    score: Signed
    """The position score, with the colours of the board."""
    terminal: bool
    """Whether the position is mate or stalemate."""
    castling_board: chess.Board | None
    """The board if it has castling rights, else None. The table contains the position without the rights."""

    @property
    def place(self) -> Place:
        """The place of the position in its table."""
        return Place(self.shape.layout, self.side, self.slot, self.ep_square)


class Shape(Struct, frozen=True):
    """The material and layout of a board, which all boards with the same men share."""

    material: Material
    swapped: bool
    """Whether the table's White is the board's Black."""
    layout: Layout
    free_kinds: tuple[tuple[chess.PieceType, chess.Color], ...]
    """For each kind of free man, in the order of the layout: its type, and its colour on the board.

    The tuple is empty if any man is described (docs/glossary.md)."""


_shape_by_counts: dict[tuple[int, ...], Shape] = {}


def validate(board: AnyBoard) -> None:
    """Check that a table can contain the position, apart from castling rights.

    A king may be in check in a way that cannot arise in a game.

    :raises UsageError: if no table can contain the position.
    """
    if isinstance(board, DescribedBoard):
        _validate_described(board)
        return
    man_count = board.occupied.bit_count()
    if man_count > MAX_MEN:
        raise UsageError(f"the position has {man_count} men; tables have at most {MAX_MEN}, kings included")
    validate_board(board)


def _validate_described(board: DescribedBoard) -> None:
    """Check that a table can contain a position with described men.

    :raises UsageError: if no table can contain the position.
    """
    for colour, side in ((chess.WHITE, "White"), (chess.BLACK, "Black")):
        if board.king(colour) is None:
            raise UsageError(f"{side} has no king; each side needs exactly one")
    _material_of(board)
    if board.was_into_check():
        side, other = ("Black", "White") if board.turn else ("White", "Black")
        raise UsageError(f"{side} is in check although {other} is to move")


def _material_of(board: DescribedBoard) -> tuple[Material, bool]:
    """Return the material, and whether its canonical form swaps the colours."""
    white, black = (
        "".join(name for name, white in board.men.values() if white == side) for side in (True, False)
    )
    return Material.of_sides(white, black)


def _locate_described(board: DescribedBoard) -> Position:
    material, swapped = _material_of(board)
    layout = layout_of(material)
    squares = []
    for kind, colour in dict.fromkeys(zip(layout.kinds, layout.colours, strict=True)):
        man = material.kinds[kind].name, (colour == 0) != swapped
        squares += [square ^ (56 if swapped else 0) for square, other in board.men.items() if other == man]
    move_count = sum(1 for _ in board.legal_moves)
    without_check = not board.is_check()
    rank = 2 * move_count + without_check
    score: Any = ~rank if board.turn else rank
    side = SIDES[board.turn == swapped]
    shape = Shape(material, swapped, layout, ())
    return Position(shape, side, layout.slot(squares), -1, score, move_count == 0, None)


def locate(board: AnyBoard) -> Position:
    """Return the location of a valid board in its table, and its position score."""
    if isinstance(board, DescribedBoard):
        return _locate_described(board)
    shape = shape_of(board)
    layout, swapped = shape.layout, shape.swapped
    flip = 56 if swapped else 0
    squares = []
    for piece, colour in shape.free_kinds:
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
            ep_square = mirror_rank(board.ep_square) if swapped else board.ep_square
            # A placement with a white pawn beside a black pawn is never its own mirror image, so exactly one
            # of the placement and its mirror image is canonical.
            if (*white, *black) not in layout.phase_by_placement:
                ep_square = image_of(MIRROR_FILES, ep_square)
    else:
        slot = layout.slot(squares)
    move_count, is_check = mobility(board)
    rank = 2 * move_count + (not is_check)
    score: Any = ~rank if board.turn else rank  # a Signed; calling Signed would take time
    castling = board.copy(stack=False) if board.castling_rights else None
    return Position(shape, SIDES[board.turn == swapped], slot, ep_square, score, move_count == 0, castling)


def board_of(layout: Layout, side: Side, slot: Slot, ep_square: int | None = None) -> chess.Board:
    """Return the board of a slot, canonical or not, with the table's colours; the inverse of :func:`locate`.

    :param ep_square: target square of an en passant capture, in the table's orientation.
    :raises ValueError: if two men of the slot share a square.

    >>> layout = layout_of(Material.parse("KBvK"))
    >>> board_of(layout, BLACK_TO_MOVE, layout.slot([chess.A1, chess.C2, chess.F4])).fen()
    '8/8/8/8/5B2/8/2k5/K7 b - - 0 1'
    """
    free_squares, pawn_squares = layout.squares(slot)
    board = chess.Board(None)
    for square, kind, colour in zip(free_squares, layout.kinds, layout.colours, strict=True):
        board.set_piece_at(square, chess.Piece(PIECE_TYPES[kind], colour == 0))
    for index, square in enumerate(pawn_squares):
        board.set_piece_at(square, chess.Piece(chess.PAWN, index < layout.white_pawns))
    if board.occupied.bit_count() < layout.free_count + layout.pawns:
        raise ValueError(f"two men of slot {slot} of {layout.material} share a square")
    board.turn = bool(side == WHITE_TO_MOVE)  # numpy may have computed the side
    board.ep_square = ep_square
    return board


def any_board_of(layout: Layout, side: Side, slot: Slot, ep_square: int | None = None) -> AnyBoard:
    """Return the board of a slot, with the table's colours; the material may have described men.

    :raises ValueError: if two men of the slot share a square.
    """
    if not layout.material.is_described:
        return board_of(layout, side, slot, ep_square)
    free, _ = layout.squares(slot)
    names = [layout.material.kinds[kind].name for kind in layout.kinds]
    men = {
        square: (name, colour == 0) for square, name, colour in zip(free, names, layout.colours, strict=True)
    }
    if len(men) < layout.free_count:
        raise ValueError(f"two men of slot {slot} of {layout.material} share a square")
    return DescribedBoard(men, side == WHITE_TO_MOVE)


def random_positions(
    material: Material, rng: "Random", side: chess.Color | None = None
) -> Iterator[AnyBoard]:
    """Yield an endless sequence of random legal positions of a material, all of them equally likely.

    The colours are those of the canonical name.

    :param side: the side to move; None for either.
    """
    layout = layout_of(material)
    while True:
        mover = rng.choice(SIDES) if side is None else SIDES[not side]
        slot = Slot(rng.randrange(layout.size))
        with suppress(ValueError):  # two men share a square, or the position is not legal
            board = any_board_of(layout, mover, slot)
            validate(board)
            if locate(board).slot == slot:
                yield board


def en_passant_board(layout: Layout, phase: int, ep_square: int, slot_in_phase: int) -> chess.Board:
    """Return the board of a slot in an en passant configuration, which is a phase and a target square.

    :param slot_in_phase: slot within the phase.
    :raises ValueError: if two men of the slot share a square.
    """
    side = BLACK_TO_MOVE if ep_square < 32 else WHITE_TO_MOVE
    return board_of(layout, side, Slot(phase * layout.phase_size + slot_in_phase), ep_square)


def shape_of(board: chess.Board) -> Shape:
    """Return the material and layout of a board."""
    white, black = board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]
    counts = (
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
    shape = _shape_by_counts.get(counts)
    if shape is None:
        material, swapped = Material.of_board(board)
        layout = layout_of(material)
        men = dict.fromkeys(zip(layout.kinds, layout.colours, strict=True))
        free_kinds = tuple((PIECE_TYPES[kind], (colour == 0) != swapped) for kind, colour in men)
        shape = _shape_by_counts[counts] = Shape(material, swapped, layout, free_kinds)
    return shape
